package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// picture is what a terminal shows after a program has printed a text on it, without the empty rows at the end.
func picture(text string, columns, rows int) (shown []string) {
	screen := make([][]rune, rows)
	blank := func(from, to, left int) {
		for y := from; y < to; y++ {
			screen[y] = append(screen[y][:min(left, len(screen[y]))], []rune(strings.Repeat(" ", columns-left))...)
			left = 0
		}
	}
	blank(0, rows, 0)
	x, y := 0, 0
	down := func() {
		if y++; y == rows {
			y--
			screen = append(screen[1:], []rune(strings.Repeat(" ", columns)))
		}
	}
	control := regexp.MustCompile(`^\x1b\[(\d*)([A-Z])`)
	for len(text) > 0 {
		if found := control.FindStringSubmatch(text); found != nil {
			text = text[len(found[0]):]
			switch n, _ := strconv.Atoi(found[1]); found[2] {
			case "A":
				y = max(y-n, 0)
			case "K":
				blank(y, y+1, x)
			case "J":
				if blank(y, y+1, x); n == 2 {
					blank(0, rows, 0)
				} else {
					blank(y+1, rows, 0)
				}
			case "H":
				x, y = 0, 0
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		switch text = text[size:]; r {
		case '\r':
			x = 0
		case '\n':
			down()
		default:
			if x == columns {
				down()
				x = 0
			}
			screen[y][x] = r
			x++
		}
	}
	for _, row := range screen {
		shown = append(shown, strings.TrimRight(string(row), " "))
	}
	for len(shown) > 0 && shown[len(shown)-1] == "" {
		shown = shown[:len(shown)-1]
	}
	return shown
}

// A block of rows stays below the lines of a terminal, also when the user types, and after a change of the size.
func TestBlockIsRedrawnInPlace(t *testing.T) {
	screen, tty := OpenTerminal(t)
	defer func() { _, _ = tty.Close(), screen.Close() }()
	text, columns, rows := "", 0, 0
	resize := func(width, height int) {
		require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}))
		columns, rows = width, height
	}
	reader := bufio.NewReader(screen)
	shows := func(why string, want ...string) {
		t.Helper()
		_, err := tty.WriteString("\a")
		require.NoError(t, err)
		printed, err := reader.ReadString('\a')
		require.NoError(t, err)
		text += strings.TrimSuffix(printed, "\a")
		assert.Equal(t, want, picture(text, columns, rows), why)
	}
	p := pin(tty)
	require.NotNil(t, p)
	resize(20, 8)
	note := streams{err: p}.note
	note("one")
	p.draw([]string{"A", "B", "Enter?"})
	shows("below lines", "one", "A", "B", "Enter?")
	note("two")
	p.draw([]string{"A", "", "B", "C", "Enter?"})
	shows("larger, below another line", "one", "two", "A", "", "B", "C", "Enter?")
	before := text
	p.draw([]string{"A", "", "B", "C", "Enter?"})
	shows("the same", "one", "two", "A", "", "B", "C", "Enter?")
	assert.Equal(t, before, text, "an equal block writes nothing")
	_, err := screen.WriteString("x\n") // as typed
	require.NoError(t, err)
	echo, err := reader.ReadString('\n') // the terminal shows it, and scrolls
	require.NoError(t, err)
	text += echo
	p.enteredLine()
	p.draw([]string{"A", "D", "Enter?"})
	shows("smaller, after Enter", "one", "two", "A", "D", "Enter?")
	for i := range 5 {
		note("line %d", i)
	}
	shows("the first lines have left", "line 0", "line 1", "line 2", "line 3", "line 4", "A", "D", "Enter?")
	resize(30, 6)
	p.draw([]string{"A", "D", "Enter?"})
	text = text[:0]
	shows("in a smaller terminal", "line 3", "line 4", "A", "D", "Enter?")
	p.remove()
	note("end")
	shows("without a block", "line 3", "line 4", "end")
}
