//go:build unix

package cmd_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The time to answer a question for a move is 1 s. A response counts until 1 s after the
// deadline, which messages cut to seconds.
const (
	stopLength  = 2200 * time.Millisecond
	stopLeagues = 4
	stopMatches = 5 // of a league
)

// Referees are stopped 20 times while the answer to their question is under way to them, as
// by SIGSTOP or by closing a laptop. They read the answer after the deadline.
func TestStoppedRefereeRecordsNoLateAnswer(t *testing.T) {
	t.Parallel()
	for n := range stopLeagues {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			data := dataFolder(t, map[string]string{"leagues/" + crashLeague + ".json": `{"timeouts": {"move_timeout_sec": 1}}`})
			m := startManager(t, "--data", data, "--players", "2", "--legs", strconv.Itoa(stopMatches), "--exit-when-done")
			referee := m.join(t, "referee", "--data", data)
			s := &refereeStopper{referee: referee.cmd.Process, asked: map[string]bool{}}
			s.join(t, m, "P01")
			s.join(t, m, "P02") // the league begins
			require.Zero(t, m.awaitExit(t), m.stderr.String())
			require.Zero(t, referee.awaitExit(t), referee.stderr.String())
			assert.Equal(t, int32(stopMatches), s.stops.Load())
			voids := strings.Count(referee.stderr.String(), `"event_type":"`+protocol.EventAttemptVoid+`"`)
			assert.GreaterOrEqual(t, voids, stopMatches, "each answer arrives after the stop")
			assert.Contains(t, output(t, "audit", data), strconv.Itoa(stopMatches)+" matches of league "+crashLeague+": no findings")
		})
	}
}

// A refereeStopper is a league's players. The first question for a move in each match stops
// the referee for a while, and is answered while the referee is stopped.
type refereeStopper struct {
	referee *os.Process
	stops   atomic.Int32

	mu    sync.Mutex
	asked map[string]bool // by match
}

// join registers a player.
func (s *refereeStopper) join(t *testing.T, m *manager, id string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string `json:"method"`
			Params object `json:"params"`
			ID     int    `json:"id"`
		}
		if json.NewDecoder(r.Body).Decode(&call) != nil {
			return
		}
		answer := object{
			"protocol": "league.v2", "sender": "player:" + id, "timestamp": time.Now().UTC().Format(time.RFC3339), "status": "ok",
			"conversation_id": call.Params["conversation_id"], "auth_token": "none", "match_id": call.Params["match_id"], "player_id": id,
		}
		switch call.Method {
		case "handle_game_invitation":
			answer["message_type"], answer["arrival_timestamp"], answer["accept"] = "GAME_JOIN_ACK", answer["timestamp"], true
		case "choose_parity":
			answer["message_type"], answer["parity_choice"] = "CHOOSE_PARITY_RESPONSE", "even"
			s.stopOnce(t, call.Params["match_id"].(string))
		}
		text, err := json.Marshal(object{"jsonrpc": "2.0", "id": call.ID, "result": answer})
		assert.NoError(t, err)
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	registered := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, server.URL+"/mcp",
		"Agent Alpha", "Stopper "+id, "player:alpha", "player:"+id))
	require.Equal(t, id, registered["player_id"])
}

// stopOnce stops the referee at the first question of a match, and lets it go on later.
func (s *refereeStopper) stopOnce(t *testing.T, match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[match] {
		return
	}
	s.asked[match] = true
	assert.NoError(t, s.referee.Signal(syscall.SIGSTOP))
	assert.True(t, awaitStop(s.referee.Pid), "the referee has ended")
	s.stops.Add(1)
	time.AfterFunc(stopLength, func() { _ = s.referee.Signal(syscall.SIGCONT) }) // it has ended if the test failed
}

// awaitStop waits until a child process is stopped, which is a moment after the signal, and
// later on a busy machine. It reports false if the process ended instead.
func awaitStop(pid int) bool {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil && status.Stopped()
		}
	}
}
