package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// The positions of a match follow from its legal moves alone.
func TestPositionsFollowTheLegalMoves(t *testing.T) {
	games := rules.NewRegistry(evenodd.Game{}, connectfour.Game{}, tictactoe.Game{})
	for _, tt := range []struct {
		name, game string
		moves      []string // of P01 and P02 in turn
		words      []string // of the steps after the first position
		mistakes   []string
	}{
		{"no move", "tic_tac_toe", nil, nil, nil},
		{"the words of a move are those of its game", "connect_four", []string{"1", "7"}, []string{"P01 column 1", "P02 column 7"}, nil},
		{"the rest of an illegal move is not known", "tic_tac_toe", []string{"4", "4", "0"}, []string{"P01 cell 4"}, nil},
		{"only the first mistake of a player is marked", "tic_tac_toe", []string{"4", "1", "7", "3", "6", "8"},
			[]string{"P01 cell 4", "P02 cell 1 ?", "P01 cell 7 ?", "P02 cell 3", "P01 cell 6", "P02 cell 8"},
			[]string{"move 2 ? P02 gave away a draw; better: cell 0", "move 3 ? P01 gave away a win; better: cell 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := matchOf()
			doc.GameType = tt.game
			for i, move := range tt.moves {
				doc.Moves = append(doc.Moves, protocol.PlayerMove{PlayerID: []string{"P01", "P02"}[i%2], Move: move})
			}
			c := record.ConversationOf(doc, games)
			var words []string
			for i := range c.Steps {
				if i > 0 {
					words = append(words, c.Steps[i].Words())
					assert.Len(t, c.Steps[i].Changed, 1)
				}
			}
			assert.Equal(t, tt.words, words)
			assert.Equal(t, tt.mistakes, c.Mistakes())
		})
	}
}
