package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A terminal is a pseudo-terminal, and what programs print on it.
type terminal struct {
	*os.File

	printed chan string // up to each \n or \r, without these
}

// OpenTerminal opens a pseudo-terminal: what a program prints on the terminal appears on the screen.
func OpenTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return screen, tty
}

// newTerminal opens a terminal of so many columns.
func newTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	screen, tty := OpenTerminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: columns}))
	printed := make(chan string, 10_000)
	go func() {
		defer close(printed)
		lines := bufio.NewScanner(screen)
		lines.Split(func(data []byte, _ bool) (int, []byte, error) {
			if end := strings.IndexAny(string(data), "\r\n"); end >= 0 {
				return end + 1, data[:end], nil
			}
			return 0, nil, nil
		})
		for lines.Scan() {
			printed <- lines.Text()
		}
	}()
	t.Cleanup(func() { _, _ = tty.Close(), screen.Close() })
	return &terminal{tty, printed}
}

// await returns what is printed until something matches the pattern.
func (p *terminal) await(t *testing.T, pattern string) (all []string) {
	t.Helper()
	for one := range p.printed {
		if all = append(all, one); regexp.MustCompile(pattern).MatchString(one) {
			return all
		}
	}
	require.Fail(t, "nothing matches", "%s: %q", pattern, all)
	return nil
}

func TestHelpFitsTheTerminal(t *testing.T) {
	for _, columns := range []int{50, 100} {
		screen := newTerminal(t, uint16(columns))
		require.Zero(t, Execute(t.Context(), "test", []string{"report", "--help"}, screen.File, screen.File))
		longest := 0
		for _, line := range screen.await(t, "Usage:") {
			longest = max(longest, len(line))
		}
		assert.LessOrEqual(t, longest, columns)
		assert.Greater(t, longest, columns-15)
	}
}

func TestInterruptedSimulationShowsItsProgressAndMessageOnLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	screen := newTerminal(t, 80)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- Execute(ctx, "test", []string{"simulate", "--players", "8", "--seed", "7", "--pace", "400ms"}, screen.File, screen.File)
	}()
	screen.await(t, `^\x1b\[Kmatches: \d+ of 28 in \d+s, about \d+s left$`)
	interrupt()
	require.Equal(t, exitInterrupted, <-ended)
	lines := screen.await(t, `^(\x1b\[K)?evenodd: interrupted\. Run it again with --seed 7 for the same league\.$`)
	require.GreaterOrEqual(t, len(lines), 2)
	assert.Empty(t, lines[len(lines)-2], "the end of the line before")
}

// The time after which commands show their progress is short here, but long enough for a first part of the work.
func TestLongWorkShowsItsProgress(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	require.Zero(t, Execute(t.Context(), "test", []string{"simulate", "--players", "8", "--quiet", "--data", data},
		io.Discard, io.Discard))
	for pattern, line := range map[string][]string{
		`matches audited: \d+ of 28 in 0s`: {"audit", data},
		`reading the league: 0s`:           {"report", data, "--format", "csv"},
		`^\x1b\[Kreading the league: 0s`:   {"simulate", "--resume", "--data", data},
	} {
		screen := newTerminal(t, 80)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { // the work may be done before the first line
			defer close(ended)
			for ctx.Err() == nil {
				root := newRoot("test", streams{out: io.Discard, err: screen.File, longWork: time.Millisecond})
				root.SetArgs(line)
				_ = root.ExecuteContext(ctx)
			}
		}()
		screen.await(t, pattern)
		end()
		<-ended
	}
}

func TestHelpThatCannotBeWrittenFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	for _, line := range []string{"audit --help", "help up", "--version", "completion bash"} {
		var problems strings.Builder
		require.Equal(t, exitFailed, Execute(t.Context(), "test", strings.Fields(line), full, &problems), line)
		assert.Regexp(t, `^evenodd: .*write /dev/full: no space left on device\n$`, problems.String(), line)
	}
}
