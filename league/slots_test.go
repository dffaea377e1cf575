package league_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
)

func TestRegistrationWithAnInvalidEndpointIsRejected(t *testing.T) {
	for _, endpoint := range []string{"http://:8101/mcp", "http://[fe80::1%25eth0]/mcp", "http:///mcp", "localhost:8101", "http://localhost:0/mcp", "http://localhost:65536/mcp"} {
		t.Run(endpoint, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1)
				q := w.Application("Alpha")
				q.PlayerMeta.ContactEndpoint = endpoint
				r, err := w.Apply(q)
				require.NoError(t, err)
				assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
			})
		})
	}
}

// A display name is printed on terminals, so it must not contain control characters.
func TestDisplayNameWithControlCharactersIsRejected(t *testing.T) {
	for _, name := range []string{"a\nb", "a\x1b[31mb", "a\u202eb", "a\x7fb", "a\u0085b"} {
		t.Run(strconv.Quote(name), func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1)
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				q.PlayerMeta.DisplayName = name
				_, err := w.Apply(q)
				leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			})
		})
	}
}

// The manager pings the referee of a match and reassigns the match after three unanswered
// pings.
func TestMatchOfAnUnreachableRefereeIsReassigned(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		gone := w.Referee("REF01", w.OnlyAccepting())
		w.Referee("REF02")
		w.Players(2)
		w.WaitUntil(1 * leaguetest.Second)
		gone.Stop()
		w.Finish()
		assert.Equal(t, "REF02", w.Manager.Results()[0].RefereeID)
		assert.Less(t, w.Now(), 60*time.Second)
	})
}

func TestBusyRefereeMayNotReport(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.EditAnswer("status", protocol.StatusBusy)))
		w.Referee("REF02", w.OnlyAccepting())
		w.Players(2)
		w.WaitUntil(10 * leaguetest.Second)
		_, err := w.Report(w.WinReport("REF01"))
		leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 5002)
		_, err = w.Report(w.WinReport("REF02"))
		require.NoError(t, err)
	})
}
