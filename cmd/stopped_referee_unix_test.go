//go:build unix

package cmd_test

import (
	"context"
	"errors"
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
)

// The time to answer a question for a move is 1 s. A response counts until 1 s after the
// deadline, which messages cut to seconds.
const (
	stopLength  = 2200 * time.Millisecond
	stopLeagues = 2
	stopMatches = 4 // of a league
)

// Referees are stopped 8 times while the answer to their question is under way to them, as
// by SIGSTOP or by closing a laptop. They read the answer after the deadline.
func TestStoppedRefereeRecordsNoLateAnswer(t *testing.T) {
	t.Parallel()
	for n := range stopLeagues {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			data := folderOf(t, map[string]string{
				"config/leagues/" + crashLeague + ".json": `{"timeouts": {"move_timeout_sec": 1}}`,
			})
			m := startManager(t, "--data", data, "--players", "2", "--legs", strconv.Itoa(stopMatches), "--exit-when-done")
			referee := startProcess(t, "referee", "--port", "0", "--manager", m.url, "--data", data)
			s := &refereeStopper{referee: referee.cmd.Process, asked: map[string]bool{}}
			s.join(t, m, "P01")
			s.join(t, m, "P02") // the league begins
			awaitSuccess(t, m.process, referee)
			assert.Equal(t, int32(stopMatches), s.stops.Load())
			voids := strings.Count(referee.stderr.String(), `"event_type":"`+"ATTEMPT_VOID"+`"`)
			assert.GreaterOrEqual(t, voids, stopMatches, "each answer arrives after the stop")
			audited := strconv.Itoa(stopMatches) + " matches of league " + crashLeague + ": no findings"
			assert.Contains(t, mustRun(t, "audit", data), audited)
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
	endpoint := serveAgent(t, func(_ context.Context, method string, params object) object {
		answer := answerOf(id, "even", method, params)
		if method == "choose_parity" {
			s.stopOnce(t, params["match_id"].(string))
		}
		if answer == nil {
			answer = object{"status": "ok"}
		}
		return answer
	})
	registered := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, endpoint,
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
