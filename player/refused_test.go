package player_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// sayOne is a question for a word.
var sayOne = protocol.MoveRequest{MoveType: "say", Text: 20, Context: map[string]any{
	"turn": 1, "view": "Say a word.", "examples": []any{"one", "two", "three", "four", "five", "six"},
}}

// A player decides a question for free text anew after the referee has refused its answer, and says so in its history.
// It does so three times, and not for another text, another match or options.
func TestRefusedTextIsReplaced(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p, c := signingPlayer(w, folder)
		say := func() *protocol.GameMoveResponse {
			answer, err := c.Ask("talk", w.Clock.Timestamp(), &sayOne)
			require.NoError(t, err)
			return answer
		}
		first := say()
		c.Refuse("another word", "not a word")
		assert.Equal(t, first, stripped(say(), first), "another text was refused")
		last := first.MoveData.Choice
		for n := 1; n <= 3; n++ {
			c.Refuse(last, "not a word, got \""+last+"\"")
			c.Refuse(last, "not a word, got \""+last+"\"") // delivered twice
			answer := say()
			assert.NotEqual(t, last, answer.MoveData.Choice)
			assert.Equal(t, answer.Signature, say().Signature)
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Decisions, n+1)
			d := &h.Decisions[n]
			assert.True(t, d.Statement("P01").Verify(p.Player.PublicKey(), answer.Signature))
			require.Len(t, d.Decision.Refused, n)
			assert.Equal(t, store.RefusedText{Choice: last, Reason: "not a word"}, d.Decision.Refused[n-1])
			last = answer.MoveData.Choice
		}
		c.Refuse(last, "not a word")
		assert.Equal(t, last, say().MoveData.Choice, "a fourth refusal")
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 4)

		p.Stop()
		again := w.NewPlayerIn("P01", folder, nil)
		require.NoError(t, again.Player.Register(w.Context))
		c.To = again
		assert.Equal(t, last, say().MoveData.Choice, "after a restart")
	})
}

// stripped is an answer with the envelope of another one.
func stripped(a, envelope *protocol.GameMoveResponse) *protocol.GameMoveResponse {
	a.Envelope = envelope.Envelope
	return a
}

// A refused option proves nothing but that the referee is dishonest: the player signs no other.
func TestRefusedOptionIsNotReplaced(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		_, c := signingPlayer(w, folder)
		move := func() string {
			answer, err := c.Move(w.Clock.Timestamp(), "one", "two", "three", "four", "five", "six")
			require.NoError(t, err)
			return answer.MoveData.Choice
		}
		first := move()
		for range 5 {
			c.Refuse(first, "not a move")
			assert.Equal(t, first, move())
		}
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 1)
	})
}
