package conversations

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// TestAnEndpointThatNobodyCouldCall is refused at the door: in an assignment it
// would break every match of the player.
func TestAnEndpointThatNobodyCouldCall(t *testing.T) {
	for _, endpoint := range []string{"http://:8101/mcp", "http://[fe80::1%25eth0]/mcp", "http:///mcp", "localhost:8101", "http://localhost:0/mcp", "http://localhost:65536/mcp"} {
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
