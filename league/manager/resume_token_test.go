package manager_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// withTokenTTL makes tokens valid for an hour.
func withTokenTTL(o *league.Options) { o.TokenTTL = time.Hour }

// statusWith queries the league's status with a token.
func statusWith(w *leaguetest.World, id, token string) error {
	q := w.Query(id, protocol.QueryStatus)
	q.AuthToken = token
	_, err := q.Send()
	return err
}

// An expired token only authorizes the request of a new token. That request is idempotent
// until the new token is used.
func TestExpiredTokenOnlyRenewsItself(t *testing.T) {
	for _, test := range []struct {
		name string
		next bool // the manager restarts after the expiry
	}{{"under the same manager", false}, {"under the next manager", true}} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 0, 1, withTokenTTL)
				restart := func() {
					if test.next {
						x.Kill()
						x = w.StartManagerIn(folder, 0, 1, withTokenTTL)
					}
				}
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				first, err := w.Apply(q)
				require.NoError(t, err)
				old := first.AuthToken
				w.WaitUntil(time.Hour)
				require.NoError(t, statusWith(w, "P01", old))
				w.WaitUntil(time.Hour + leaguetest.Second)
				restart()
				err = statusWith(w, "P01", old)
				leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 6001)
				assert.Contains(t, err.Error(), "register again")

				q.AuthToken, q.ConversationID = old, "conv-again"
				for range 2 { // the first response is lost
					renewed, err := w.Apply(q)
					require.NoError(t, err)
					require.Equal(t, protocol.StatusAccepted, renewed.Status)
					assert.Equal(t, "P01", *renewed.PlayerID)
					assert.Equal(t, w.TokenOf("P01", 2), renewed.AuthToken)
					restart()
				}
				require.Error(t, statusWith(w, "P01", old))
				require.NoError(t, statusWith(w, "P01", w.TokenOf("P01", 2)))
				_, err = w.Apply(q)
				leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)

				q.AuthToken = w.TokenOf("P01", 2)
				same, err := w.Apply(q)
				require.NoError(t, err)
				assert.Equal(t, q.AuthToken, same.AuthToken, "the token has not expired")
				w.WaitUntil(2*time.Hour + 2*leaguetest.Second)
				restart()
				require.Error(t, statusWith(w, "P01", q.AuthToken))
				third, err := w.Apply(q)
				require.NoError(t, err)
				assert.Equal(t, w.TokenOf("P01", 3), third.AuthToken)
				require.NoError(t, statusWith(w, "P01", third.AuthToken))
				kinds := w.EventTypes(folder)
				assert.Equal(t, 2, count(kinds, "agent_returned"))
			})
		})
	}
}

// A referee with an expired token may still report its assigned matches.
func TestLeagueContinuesAfterItsTokensExpired(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		hourly := func(o *league.Options) { o.TokenTTL, o.Pace = time.Hour, 50*time.Minute }
		x := w.StartManagerIn(folder, 4, 1, hourly)
		w.RefereeWithFiles("REF01", files)
		w.Players(4)
		x.Finish()
		assert.Equal(t, 150*time.Minute, w.Now())
		require.Error(t, statusWith(w, "P01", w.Token("P01")), "all other calls need a new token")
		require.NoError(t, x.CloseFiles())
		w.CheckFiles(folder)
	})
}

// Tokens have the configured length, and all derived credentials still work.
func TestTokensHaveTheConfiguredLength(t *testing.T) {
	for _, length := range []int{22, 30, protocol.MaxTokenLength} {
		t.Run(string(rune('0'+length/10))+"…", func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				withLength := func(o *league.Options) { o.TokenLength = length }
				x := w.StartManagerIn(folder, 4, 1, withLength)
				w.Referee("REF01")
				w.Players(2)
				w.PingOnly("alpha")
				r, err := w.Apply(w.Application("Alpha"))
				require.NoError(t, err)
				full := w.Token("P03")
				assert.Equal(t, full[:len("tok-p03-")+length], r.AuthToken)
				assert.Len(t, r.AuthToken, len("tok-p03-")+length)
				require.NoError(t, statusWith(w, "P03", r.AuthToken))
				if length < protocol.MaxTokenLength {
					require.Error(t, statusWith(w, "P03", full))
				}
				x.Kill()
				x = w.StartManagerIn(folder, 3, 1, withLength)
				x.Finish()
				for _, r := range x.Manager.Results() {
					if r.PlayerB != "P03" { // P03 only answers pings
						assert.NotEqual(t, protocol.StatusTechnicalLoss, r.Status)
					}
				}
			})
		})
	}
}
