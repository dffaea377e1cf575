package conversations

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A referee that has heard the answer to its invitation asks on, whatever
// happened to the player in between.
func TestAPlayerThatWasRestartedInAMatchRevealsItsEntropy(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.boss()
		p := w.lives("P01", folder, choosing("even"))
		first, second := w.conducts(p, "R1M1", 3), w.conducts(p, "R1M2", 1)
		committed := map[*conductor]string{}
		for _, c := range []*conductor{first, second} {
			joined, err := c.invite()
			require.NoError(t, err)
			committed[c] = joined.EntropyCommitment
		}
		p.stop()
		p = w.lives("P01", folder, choosing("even"))

		chosen, err := first.choose()
		require.NoError(t, err)
		entropy, ok := protocol.ParseSecret(chosen.Entropy)
		require.True(t, ok)
		assert.Equal(t, committed[first], protocol.EntropyCommitment("R1M1", "P01", entropy))
		assert.Equal(t, first.token, chosen.AuthToken)
		joined, err := first.invite()
		require.NoError(t, err)
		assert.Equal(t, committed[first], joined.EntropyCommitment, "invited again it answers as before")
		_, err = first.over(8)
		require.NoError(t, err)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, p.player.Record().Stats)
		_, err = first.choose()
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)

		moved, err := second.move("2000-01-01T00:00:30Z", "rock")
		require.NoError(t, err, "of any game")
		entropy, ok = protocol.ParseSecret(moved.Entropy)
		require.True(t, ok)
		assert.Equal(t, committed[second], protocol.EntropyCommitment("R1M2", "P01", entropy))
	})
}

func TestWhoMayNotAskAPlayerThatWasRestarted(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *world, c *conductor)
		code   protocol.Code
	}{
		{"somebody without a token", func(_ *world, c *conductor) { c.token = "" }, protocol.ErrMatchNotFound},
		{"somebody with another token", func(w *world, c *conductor) { c.token = w.access("P02", "R1M1", 1, "REF01") }, protocol.ErrMatchNotFound},
		{"a referee under another name", func(_ *world, c *conductor) { c.sender = "REF02" }, protocol.ErrMatchNotFound},
		{"the referee of another match", func(_ *world, c *conductor) { c.matchID = "R1M2" }, protocol.ErrMatchNotFound},
		{"the referee of another attempt", func(_ *world, c *conductor) { c.attempt = 2 }, protocol.ErrMatchNotFound},
		{"the referee of an attempt that is over", func(w *world, c *conductor) {
			_, err := w.conducts(c.to, "R1M1", 2).over(8)
			require.NoError(w.t, err)
		}, protocol.ErrInvalidMatchState},
		{"the referee of an attempt before the one that it is in", func(w *world, c *conductor) {
			_, err := w.conducts(c.to, "R1M1", 2).choose()
			require.NoError(w.t, err)
		}, protocol.ErrTokenInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := store.Folder(t.TempDir())
				w.boss()
				w.lives("P01", folder).stop()
				c := w.conducts(w.lives("P01", folder), "R1M1", 1)
				test.change(w, c)
				_, err := c.choose()
				assert.Equal(t, test.code, protocol.AsError(err).Code)
			})
		})
	}
}

// A question may come before the player has been let in again.
func TestAQuestionToAPlayerThatIsComingBack(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		boss := w.boss()
		p := w.lives("P01", folder, choosing("even"))
		_, err := w.conducts(p, "R1M1", 1).invite()
		require.NoError(t, err)
		p.stop()
		boss.stop()
		p = w.resident("P01", folder, nil, choosing("even"))
		w.later(5*second, func() { w.boss() })
		w.running.Go(func() { assert.NoError(t, p.player.Register(w.life)) })
		time.Sleep(time.Second)
		chosen, err := w.conducts(p, "R1M1", 1).choose()
		require.NoError(t, err)
		assert.Equal(t, "even", chosen.ParityChoice)
		assert.GreaterOrEqual(t, w.now(), 5*second)
	})
}

// TestAMatchGoesOnWithAPlayerThatCrashes is the whole of it: the player dies
// when it is asked for its choice, or when it is told the result, and its
// match ends like any other.
func TestAMatchGoesOnWithAPlayerThatCrashes(t *testing.T) {
	for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
		t.Run(method, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := store.Folder(t.TempDir())
				w.startManager(2, 1)
				w.referee("REF01")
				var crashed, restarted *actor
				crashed = w.lives("P01", folder, does(method, inTurn(func(c *call) (jsontext.Value, error) {
					if method == protocol.Invite.Name { // it has answered, but nobody heard
						_, _ = c.answer()
					}
					w.running.Go(func() {
						crashed.stop()
						time.Sleep(time.Second)
						restarted = w.lives("P01", folder)
					})
					return nil, errHangUp
				})))
				w.player("P02")
				w.finish()
				require.NotNil(t, restarted)
				require.NoError(t, restarted.player.Close())
				results := w.manager.Results()
				require.Len(t, results, 1)
				assert.NotEqual(t, protocol.StatusTechnicalLoss, results[0].Status)
				if method == protocol.NotifyMatchResult.Name {
					return // told once, and never again
				}
				assert.Equal(t, 1, restarted.player.Record().Stats.TotalMatches)
				assert.Len(t, historyOf(t, folder, "P01").Matches, 1)
			})
		})
	}
}
