package conversations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// lasting makes tokens that last for an hour.
func lasting(o *league.Options) { o.TokenTTL = time.Hour }

// tokenOf is a token of a later generation than the first.
func (w *world) tokenOf(id string, generation int) string {
	return protocol.DeriveToken(w.secret, leagueID, id, generation)
}

// status asks for the league's status with a token.
func (w *world) status(id, token string) error {
	q := w.query(id, protocol.QueryStatus)
	q.AuthToken = token
	_, err := q.send()
	return err
}

// A token has its time. When that is over it is good for nothing but to get the
// next, whose answer may be lost; and for not even that when the next was used.
func TestATokenThatHasExpired(t *testing.T) {
	for _, test := range []struct {
		name string
		next bool // the manager is another one when the token has expired
	}{{"under the same manager", false}, {"under the next", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 0, 1, lasting)
				restart := func() {
					if test.next {
						x.kill()
						x = w.tenure(folder, 0, 1, lasting)
					}
				}
				w.listener("alpha")
				q := w.application("Alpha")
				first, err := w.apply(q)
				require.NoError(t, err)
				old := first.AuthToken
				w.at(time.Hour)
				require.NoError(t, w.status("P01", old))
				w.at(time.Hour + second)
				restart()
				err = w.status("P01", old)
				assertRefused(t, err, protocol.ErrTokenInvalid, 6001)
				assert.Contains(t, err.Error(), "register again")

				q.AuthToken, q.ConversationID = old, "conv-again"
				for range 2 { // the first answer is lost
					renewed, err := w.apply(q)
					require.NoError(t, err)
					require.Equal(t, protocol.StatusAccepted, renewed.Status)
					assert.Equal(t, "P01", *renewed.PlayerID)
					assert.Equal(t, w.tokenOf("P01", 2), renewed.AuthToken)
					restart()
				}
				require.Error(t, w.status("P01", old))
				require.NoError(t, w.status("P01", w.tokenOf("P01", 2)))
				_, err = w.apply(q)
				assertRefused(t, err, protocol.ErrTokenInvalid, 12)

				q.AuthToken = w.tokenOf("P01", 2)
				same, err := w.apply(q)
				require.NoError(t, err)
				assert.Equal(t, q.AuthToken, same.AuthToken, "it has its time before it")
				w.at(2*time.Hour + 2*second)
				restart()
				require.Error(t, w.status("P01", q.AuthToken))
				third, err := w.apply(q)
				require.NoError(t, err)
				assert.Equal(t, w.tokenOf("P01", 3), third.AuthToken)
				require.NoError(t, w.status("P01", third.AuthToken))
				kinds := w.kinds(folder)
				assert.Equal(t, 2, count(kinds, "agent_returned"))
			})
		})
	}
}

// A league that outlasts its tokens goes on: what a referee says of a match that
// it was handed counts.
func TestALeagueThatOutlastsItsTokens(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder, files := folderOf(t), folderOf(t)
		hourly := func(o *league.Options) { o.TokenTTL, o.Pace = time.Hour, 50*time.Minute }
		x := w.tenure(folder, 4, 1, hourly)
		w.writer("REF01", files)
		w.players(4)
		x.finish()
		assert.Equal(t, 150*time.Minute, w.now())
		require.Error(t, w.status("P01", w.token("P01")), "for all else they register again")
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}

// The secret part of a token is as long as the league wants it, and all that is
// made of it fits.
func TestTheLengthOfTokens(t *testing.T) {
	for _, length := range []int{22, 30, protocol.MaxTokenLength} {
		t.Run(string(rune('0'+length/10))+"…", func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				short := func(o *league.Options) { o.TokenLength = length }
				x := w.tenure(folder, 4, 1, short)
				w.referee("REF01")
				w.players(2)
				w.listener("alpha")
				r, err := w.apply(w.application("Alpha"))
				require.NoError(t, err)
				full := w.token("P03")
				assert.Equal(t, full[:len("tok-p03-")+length], r.AuthToken)
				assert.Len(t, r.AuthToken, len("tok-p03-")+length)
				require.NoError(t, w.status("P03", r.AuthToken))
				if length < protocol.MaxTokenLength {
					require.Error(t, w.status("P03", full))
				}
				x.kill()
				x = w.tenure(folder, 3, 1, short)
				x.finish()
				for _, r := range x.manager.Results() {
					if r.PlayerB != "P03" { // which only listens
						assert.NotEqual(t, protocol.StatusTechnicalLoss, r.Status)
					}
				}
			})
		})
	}
}
