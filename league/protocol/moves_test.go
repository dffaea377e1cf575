package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

func TestMoveFormOfEachGame(t *testing.T) {
	own := protocol.MoveFormOf(evenodd.Type)
	assert.Equal(t, evenodd.Type, own.GameType)
	assert.Equal(t, evenodd.MoveType, own.Method.Name)
	assert.Equal(t, evenodd.Game{}.Start().Ask(0).Options, own.Options)
	assert.Equal(t, "odd", own.ChoiceIn(protocol.ParseObject([]byte(`{"parity_choice":"odd","move_data":{"choice":"4"}}`))))

	shared := protocol.MoveFormOf("tic_tac_toe")
	assert.Empty(t, shared.GameType)
	assert.Equal(t, protocol.MakeMove.Name, shared.Method.Name)
	assert.Equal(t, "4", shared.ChoiceIn(protocol.ParseObject([]byte(`{"parity_choice":"odd","move_data":{"choice":"4"}}`))))
	assert.Empty(t, shared.ChoiceIn(protocol.ParseObject([]byte(`{"move_data":"4"}`))))

	assert.Same(t, own, protocol.MoveFormBy(protocol.ChooseParity.Name))
	assert.Same(t, shared, protocol.MoveFormBy(protocol.MakeMove.Name))
	assert.False(t, protocol.AsksForMove(protocol.Invite.Name))
}

func TestParityIsThatOfTheGame(t *testing.T) {
	for number := range 12 {
		assert.Equal(t, evenodd.Parity(number), protocol.Parity(number))
	}
}
