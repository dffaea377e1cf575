package cmd_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// startWatched runs evenodd up, one of whose players is a program. It returns handles of all processes of the league,
// once it plays.
func startWatched(t *testing.T, args ...string) (p *process, all []handle) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bot.sh"), []byte("#!/bin/sh\nwhile read -r question; do echo even; done\n"), 0o700))
	entrants := strings.Replace(fourPlayers, "strategy: contrarian", "exec: ./bot.sh", 1)
	p = startUp(t, dir, entrants, append(args, "--force")...)
	p.await(t, `"event_type":"ROUND_COMPLETED"`)
	for _, pid := range descendants(t, p.cmd.Process.Pid) {
		fd, err := unix.PidfdOpen(pid, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		all = append(all, handle(fd))
	}
	require.Greater(t, len(all), 1, "the child and the program")
	return p, all
}

// descendants returns the processes that a process has started, and those that these have started.
func descendants(t *testing.T, of int) (found []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	require.NoError(t, err)
	for _, file := range files {
		for _, text := range strings.Fields(readText(t, file)) {
			child, err := strconv.Atoi(text)
			require.NoError(t, err)
			found = append(append(found, child), descendants(t, child)...)
		}
	}
	return found
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
	p, all := startWatched(t, "--pace", "3s")
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
	p, all := startWatched(t, "--pace", "3s")
	p.kill(t)
	for _, h := range all {
		assert.True(t, h.ended(t, patience))
	}
}

// The programs of players end with the child, and the next child starts them again.
func TestKilledChildLeavesNoProgram(t *testing.T) {
	t.Parallel()
	p, all := startWatched(t, "--pace", "1s", "--strict")
	require.NoError(t, p.killChild(t, 1, time.Millisecond))
	for _, h := range all {
		assert.True(t, h.ended(t, patience))
	}
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	checkTable(t, p.stdout.String(), 3)
}

// onTerminal runs evenodd on a terminal of its own. What it prints is in stderr; keyboard is for its input.
func onTerminal(t *testing.T, dir string, args ...string) (p *process, keyboard io.Writer) {
	t.Helper()
	master, terminal := cmd.OpenTerminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	p = newProcess("evenodd", args, cancel)
	p.cmd = exec.CommandContext(ctx, "evenodd", args...)
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = dir, terminal, terminal, terminal
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	copied := make(chan struct{})
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
		p.code = p.cmd.ProcessState.ExitCode()
		_ = terminal.Close()
		<-copied
	}()
	go func() {
		defer close(copied)
		_, _ = io.Copy(&p.stderr, master) // fails when no process has the terminal open
	}()
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
	page := p.await(t, `\nWatch the league in a browser: (\S+)\r\n(?s).*[█▀▄].* evenodd player --name NAME --manager `)[1]
	p.await(t, `\n'evenodd league token' prints the admin token\.\r\n`)
	start(t, "player", "--port", "0", "--manager", url, "--name", "Ada", "--strategy", "even")
	start(t, "player", "--port", "0", "--manager", url, "--name", "Bob", "--strategy", "odd")
	p.await(t, `(?s)2 players, 1 referee.*(?:Ada, Bob|Bob, Ada).*Start with 2 players\? Press Enter\.`)
	_, err := keyboard.Write([]byte("\n"))
	require.NoError(t, err)
	p.await(t, `\x1b\[JThe league starts now: players 2, referees 1\.\r\n(?s).*\nround 1 began\r\nR1M1: P0\d (Ada|Bob) won against P0\d (Ada|Bob)`)
	p.await(t, `\nChampion: (Ada|Bob) \(P0\d\) with 3 points\r\nThe page stays until Ctrl-C\.\r\n`)
	status, _ := get(t, page, "")
	assert.Equal(t, http.StatusOK, status)
	_, err = keyboard.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	assert.Zero(t, p.awaitExit(t), "the exit code is that of the league")
	assert.NotRegexp(t, `adm-|process id|has ended|Run the same command|event_type`, p.stderr.String())
}

// On a terminal agents print lines for people: who they are, each match with its result and the names, the last table.
func TestAgentsOnATerminalTellTheirMatches(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--exit-when-done")
	dir := t.TempDir()
	ada, _ := onTerminal(t, dir, "player", "--port", "0", "--manager", m.url, "--name", "Ada", "--strategy", "even")
	whistle, _ := onTerminal(t, dir, "referee", "--port", "0", "--manager", m.url, "--name", "Whistle")
	m.join(t, "player", "--name", "Bob", "--strategy", "odd")
	assert.Zero(t, ada.awaitExit(t))
	assert.Zero(t, whistle.awaitExit(t))
	assert.Regexp(t, `\ARegistered as P0\d Ada in league_2025_even_odd at http://\S+/mcp\.\r\n`+
		`R1M1: (won against|lost to) P0\d Bob: P0\d chose (even|odd), number was \d+ \((even|odd)\)\r\n`+
		`╭(?s).*Points.* Ada .*╯\r\nP0\d: 1 played, .* Champion: (Ada|Bob) \(P0\d\)`, ada.stderr.String())
	assert.Regexp(t, `\ARegistered as REF01 Whistle in league_2025_even_odd at http://\S+/mcp\.\r\n`+
		`R1M1: P0\d (Ada won against P0\d Bob|Bob won against P0\d Ada): P0\d chose .*\r\nREF01: 1 match conducted\.`,
		whistle.stderr.String())
}
