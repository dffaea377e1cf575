package cmd_test

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"evenodd/cmd"
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
	p.await(t, `"event_type":"LEAGUE_STARTED"`)
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

// onTerminal runs evenodd on a terminal of its own. What it prints is in stderr; keyboard is for its input.
func onTerminal(t *testing.T, dir string, args ...string) (p *process, keyboard io.Writer) {
	t.Helper()
	master, terminal := cmd.OpenTerminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	p = newProcess("evenodd", args, cancel)
	p.cmd = exec.CommandContext(ctx, "evenodd", args...)
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = dir, terminal, terminal, terminal
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
		p.code = p.cmd.ProcessState.ExitCode()
		_ = terminal.Close()
	}()
	go func() { _, _ = io.Copy(&p.stderr, master) }() // fails when nobody has the terminal open
	p.endWith(t)
	t.Cleanup(func() { _ = master.Close() })
	return p, master
}

// On a terminal evenodd up shows the league, starts it when somebody presses Enter, and stays until Ctrl-C. The
// terminal of a class is projected: it has no secret.
func TestUpOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, keyboard := onTerminal(t, dir, "up", "--host", "0.0.0.0", "--port", "0", "--referees", "1")
	p.await(t, `\AAnybody who reaches this computer may join, and take any name; `)
	url := p.await(t, `\nLeague \S+ at (http://\S+/mcp) waits for its start by the organiser\.\r\n`)[1]
	page := p.await(t, `\nWatch the league in a browser: (\S+)\r\n(?s).*[█▀▄]`)[1]
	p.await(t, `\n'evenodd league token' prints the admin token\.\r\n`)
	start(t, "player", "--port", "0", "--manager", url, "--name", "Ada", "--strategy", "even")
	start(t, "player", "--port", "0", "--manager", url, "--name", "Bob", "--strategy", "odd")
	p.await(t, `\nP0\d Ada registered as a player\r\n(?s:.*\n)?Start with 2 players\? Press Enter\.\r\n`)
	_, err := keyboard.Write([]byte("\n"))
	require.NoError(t, err)
	p.await(t, `\nThe league starts now: players 2, referees 1\.\r\n(?s).*\nround 1 began\r\nR1M1: P0\d (Ada|Bob) won against P0\d (Ada|Bob)`)
	p.await(t, `\nChampion: (Ada|Bob) \(P0\d\) with 3 points\r\nThe page stays until Ctrl-C\.\r\n`)
	status, _ := get(t, page, "")
	assert.Equal(t, http.StatusOK, status)
	_, err = keyboard.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	assert.Zero(t, p.awaitExit(t), "the exit code is that of the league")
	assert.NotRegexp(t, `adm-|process id|has ended|Run the same command|event_type`, p.stderr.String())
}
