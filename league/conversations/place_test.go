package conversations

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// applying sends an application in the background.
func (w *world) applying(q *protocol.LeagueRegisterRequest) <-chan *protocol.LeagueRegisterResponse {
	answered := make(chan *protocol.LeagueRegisterResponse, 1)
	w.running.Go(func() {
		r, err := w.apply(q)
		if assert.NoError(w.t, err) {
			answered <- r
		}
	})
	return answered
}

// TestTheSameRegistrationWhileItIsDecided gets the answer of the first: the
// manager still waits for the agent to listen.
func TestTheSameRegistrationWhileItIsDecided(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		q := w.application("Alpha")
		first := w.applying(q)
		w.at(1 * second)
		second1 := w.applying(q)
		w.at(2 * second)
		w.listener("alpha")
		a, b := <-first, <-second1
		assert.Equal(t, protocol.StatusAccepted, a.Status)
		assert.Equal(t, a.PlayerID, b.PlayerID)
		assert.Equal(t, a.AuthToken, b.AuthToken)
		assert.Equal(t, 1, w.manager.Status().Players)
	})
}

// TestAPlaceThatIsOnlyReserved is not taken: who comes meanwhile waits for the
// decision, and gets the place when nobody listened at the first endpoint.
func TestAPlaceThatIsOnlyReserved(t *testing.T) {
	for _, test := range []struct {
		name    string
		players int
		second  string // the name of the second applicant
		listens bool   // the first one
		refused protocol.Code
	}{
		{"the last place, given back", 1 + 1, "Beta", false, ""},
		{"the last place, taken", 1 + 1, "Beta", true, protocol.ErrLateRegistration},
		{"a name, given back", 0, "Alpha", false, ""},
		{"a name, taken", 0, "Alpha", true, protocol.ErrDuplicateName},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(test.players, 1)
				w.referee("REF01")
				w.player("P09")
				w.listener("beta")
				first := w.applying(w.application("Alpha"))
				w.at(1 * second)
				q := w.application("Beta")
				q.PlayerMeta.DisplayName = test.second
				next := w.applying(q)
				w.at(2 * second)
				if test.listens {
					w.listener("alpha")
				}
				assert.Equal(t, test.listens, (<-first).Status == protocol.StatusAccepted)
				r := <-next
				assert.Equal(t, string(test.refused), r.ErrorCode)
				assert.Equal(t, test.refused == "", r.Status == protocol.StatusAccepted)
			})
		})
	}
}

// TestAnEndpointThatNobodyCouldCall is refused at the door: in an assignment it
// would break every match of the player.
func TestAnEndpointThatNobodyCouldCall(t *testing.T) {
	for _, endpoint := range []string{"http://:8101/mcp", "http://[fe80::1%25eth0]/mcp", "http:///mcp", "localhost:8101"} {
		t.Run(endpoint, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				q := w.application("Alpha")
				q.PlayerMeta.ContactEndpoint = endpoint
				r, err := w.apply(q)
				require.NoError(t, err)
				assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
			})
		})
	}
}

// TestANameThatSteersATerminal is no name: it is printed on other agents'
// screens.
func TestANameThatSteersATerminal(t *testing.T) {
	for _, name := range []string{"a\nb", "a\x1b[31mb", "a\u202eb", "a\x7fb", "a\u0085b"} {
		t.Run(strconv.Quote(name), func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				w.listener("alpha")
				q := w.application("Alpha")
				q.PlayerMeta.DisplayName = name
				_, err := w.apply(q)
				assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			})
		})
	}
}

// TestARefereeThatIsGone loses its match to another after three glances, long
// before the longest match is over.
func TestARefereeThatIsGone(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		gone := w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.at(1 * second)
		gone.stop()
		w.finish()
		assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
		assert.Less(t, w.now(), 60*time.Second)
	})
}

// TestARefereeThatDoesNotTakeTheMatch cannot report it either.
func TestARefereeThatDoesNotTakeTheMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", does(protocol.StartMatch.Name, editing("status", protocol.StatusBusy)))
		w.referee("REF02", w.idle())
		w.players(2)
		w.at(10 * second)
		_, err := w.report(w.wins("REF01"))
		assertRefused(t, err, protocol.ErrMatchNotFound, 5002)
		_, err = w.report(w.wins("REF02"))
		require.NoError(t, err)
	})
}
