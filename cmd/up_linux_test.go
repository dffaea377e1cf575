package cmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A handle refers to a process, also after its end.
type handle int

// watchAll returns handles of all processes of evenodd up, once they take part.
func (p *process) watchAll(t *testing.T) (all []handle) {
	t.Helper()
	for _, name := range []string{"manager", "Referee-1 (referee)", "Referee-2 (referee)", "Alice (player)", "Bot-1 (player)", "Bot-2 (player)", "Zoé (player)"} {
		fd, err := unix.PidfdOpen(p.awaitPID(t, name, 1), 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		all = append(all, handle(fd))
	}
	p.await(t, `"event_type":"THE_LEAGUE_BEGINS"`)
	return all
}

// ended tells whether the process ends within a time.
func (h handle) ended(t *testing.T, within time.Duration) bool {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h), Events: unix.POLLIN}}, int(within.Milliseconds()))
		if err != unix.EINTR {
			require.NoError(t, err)
			return n == 1
		}
	}
}

func TestInterruptedUpLeavesNoProcess(t *testing.T) {
	t.Parallel()
	p := startUp(t, t.TempDir(), fourPlayers, "--pace", "1h")
	all := p.watchAll(t)
	for _, h := range all {
		require.False(t, h.ended(t, 0))
	}
	p.endByInterrupt(t)
	for _, h := range all {
		assert.True(t, h.ended(t, 0))
	}
	assert.Empty(t, p.stdout.String())
	assert.Regexp(t, `\nevenodd: interrupted\. All processes are stopped\. Run the same command again to resume; the league is in \S+/SHARED\.\n$`, p.stderr.String())
	assert.NotContains(t, p.stderr.String(), "starts again")
}

// Nobody stops the processes, so they end by themselves.
func TestKilledUpLeavesNoProcess(t *testing.T) {
	t.Parallel()
	p := startUp(t, t.TempDir(), fourPlayers, "--pace", "1h")
	all := p.watchAll(t)
	p.kill(t)
	for _, h := range all {
		assert.True(t, h.ended(t, patience))
	}
}
