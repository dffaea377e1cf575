//go:build unix

package external

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/program"
)

// quick is the limit of bots that do not answer, which run already. Other bots have the limit long.
const (
	quick = 1500 * time.Millisecond
	long  = time.Minute
)

// A testBot is a bot with its log.
type testBot struct {
	*bot
	log *log
}

// openScript starts a bot that is a shell script. Its $1 is a folder with a pipe named alive.
func openScript(t *testing.T, script string, limit time.Duration, settings ...func(*program.Programs)) *testBot {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "bot.sh")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "alive"), 0o600))
	s, l := open(t, fmt.Sprintf("exec:sh '%s' '%s'", file, folder), func(tools *Tools) {
		tools.Timeout = limit
		for _, set := range settings {
			set(&tools.Programs)
		}
	})
	return &testBot{s.(*bot), l}
}

func (b *testBot) asked(t *testing.T, matchID string) (string, error) {
	t.Helper()
	v := view(matchID)
	v.Within = b.limit * 5 / 4 // of which the first answer has four fifths, or more
	return b.Choose(t.Context(), v)
}

func (b *testBot) answers(t *testing.T, want string) {
	t.Helper()
	choice, err := b.asked(t, "R1M1")
	require.NoError(t, err, b.log)
	assert.Equal(t, want, choice)
}

func TestBotIsStartedOnce(t *testing.T) {
	t.Parallel()
	b := openScript(t, `n=0; while read -r q; do n=$((n+1)); [ $((n%2)) = 1 ] && echo even || echo '{"choice":"odd"}'; done`, 0)
	for range 5 {
		b.answers(t, "even")
		b.answers(t, "odd")
	}
	assert.Regexp(t, `^exec:sh .*: 10 questions, 0 without an answer; started 1 time$`, b.Account())
}

func TestBotReceivesTheView(t *testing.T) {
	t.Parallel()
	b := openScript(t, `: > "$1/alive"; read -r q; echo "$q" > "$1/question"; echo odd`, 3*time.Second)
	_, err := io.ReadAll(alive(t, b)) // waits until the bot runs
	require.NoError(t, err)
	v := documented()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = b.Choose(ctx, v)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(filepath.Dir(b.program.Args[0]), "question"))
	require.NoError(t, err)
	want, err := encodeRequest(requestOf(new(documented()), 0))
	require.NoError(t, err)
	assert.Equal(t, string(want)+"\n", regexp.MustCompile(`"time_limit_ms":\d+`).ReplaceAllString(string(got), `"time_limit_ms":0`))
}

// A failure of a bot costs one question. It answers the next one, restarted if necessary.
func TestBotFailureCostsOneQuestion(t *testing.T) {
	t.Parallel()
	const (
		later = `while read -r q; do echo even; done`
		twice = `[ -e "$1/before" ] && { ` + later + `; exit; }; : > "$1/before"; : > "$1/alive"; read -r q; `
	)
	for _, tt := range []struct {
		name, script string
		want         string
		starts       int
	}{
		{"it hangs", twice + `sleep 1000`, "did not answer in time", 2},
		{"it hangs with a child process", twice + `sleep 1000 & sleep 1000 & wait`, "did not answer in time", 2},
		{"it does not flush", twice + `{ printf even; sleep 1000; }`, "did not answer in time", 2},
		{"it prints text and hangs", twice + `echo Let me see; sleep 1000`, `did not answer in time (after its start it has the referee's 2s; later answers have --bot-timeout, 1.5s); it printed "Let me see" instead`, 2},
		{"it fails", twice + `echo "  File bot.py, line 3" >&2; echo "NameError: name" >&2; exit 3`,
			`ended before it answered: exit status 3; the last line on standard error was "NameError: name"`, 2},
		{"it ends", twice + `exit 0`, "ended before it answered: exit status 0", 2},
		{"it is killed", twice + `kill -9 $$`, "ended before it answered: signal: killed", 2},
		{"it closes its output", twice + `exec >&-; sleep 1000`, "has closed its standard output", 2},
		{"a line that is too long", twice + `head -c 70000 /dev/zero | tr '\0' x; echo; sleep 1000`, "printed a line of more than 64 KB", 2},
		{"endless zeros", twice + `exec cat /dev/zero`, "printed a line of more than 64 KB", 2},
		{"endless lines", twice + `exec yes "$(head -c 60000 /dev/zero | tr '\0' x) and more"`, "printed 16 MB and no answer", 2},
		{"bytes that are not UTF-8", twice + `printf '\377\376\n'; ` + later, "which is not a legal choice", 1},
		{"an illegal choice", twice + `echo evne; ` + later, `answered "evne"`, 1},
		{"broken JSON", twice + `echo '{"choice"'; ` + later, "with invalid JSON", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limit := long
			if strings.Contains(tt.want, "in time") {
				limit = quick
			}
			b := openScript(t, tt.script, limit)
			_, err := io.ReadAll(alive(t, b)) // waits until the bot runs, which takes time on a busy machine
			require.NoError(t, err)
			_, err = b.asked(t, "R1M1")
			require.ErrorContains(t, err, "the bot exec:sh ")
			require.ErrorContains(t, err, tt.want)
			b.limit = long
			b.answers(t, "even")
			assert.Equal(t, tt.starts, b.program.Starts())
			assert.Equal(t, 1, b.failed)
		})
	}
}

// These deviations cost no question.
func TestToleratedAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		replyOf      string // in the log
		starts       int
	}{
		{"a greeting", `echo "Hello, I am a bot"; while read -r q; do echo even; done`, `"stdout":"Hello, I am a bot"`, 1},
		{"text before each answer", `while read -r q; do echo; echo "I think so"; echo even; done`, `"stdout":"I think so"`, 1},
		{"much text before each answer", `while read -r q; do yes "$(printf %02000d 0) is no answer" | head -n 100; echo even; done`, `"stdout":"0000`, 1},
		{"much text after each answer", `while read -r q; do echo even; echo "well: $q" | sed p; done`, `"stdout":"well`, 1},
		{"a byte-order mark, and lines that end as on Windows", `while read -r q; do printf '\357\273\277{"choice":"even"}\r\n'; done`, "", 1},
		{"text on standard error", `while read -r q; do echo deep thoughts >&2; echo even; done`, `"stderr":"deep thoughts"`, 1},
		{"it exits after each answer", `read -r q; echo even`, "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := openScript(t, tt.script, 0)
			for range 3 {
				b.answers(t, "even")
			}
			b.Close() // all it replyOf is logged then
			assert.Contains(t, b.log.String(), tt.replyOf)
			assert.Equal(t, tt.starts, b.program.Starts())
			assert.Zero(t, b.failed)
		})
	}
}

// The program needs longer than its usual limit for its first answer.
func TestFirstAnswerHasTheRefereesTime(t *testing.T) {
	t.Parallel()
	const script = `read -r q; echo "$q" >&2; sleep 0.9; echo even; while read -r q; do sleep 1000; done`
	b := openScript(t, script, 800*time.Millisecond)
	question := func() (string, error) {
		v := view("R1M1")
		v.Within = long
		return b.Choose(t.Context(), v)
	}
	for starts := range 2 {
		choice, err := question()
		require.NoError(t, err, "after start %d", starts+1)
		assert.Equal(t, "even", choice)
		_, err = question()
		require.ErrorContains(t, err, "did not answer in time (--bot-timeout, 800ms); an answer is one line, and flushed")
	}
	assert.Equal(t, 2, b.program.Starts())
	b.Close()
	assert.Contains(t, b.log.String(), `\"time_limit_ms\":59000`)
}

func TestErrorOfASlowStartNamesBothLimits(t *testing.T) {
	t.Parallel()
	b := openScript(t, `sleep 1000`, time.Minute)
	v := view("R1M1")
	v.Within = 10 * time.Millisecond
	_, err := b.Choose(t.Context(), v)
	require.ErrorContains(t, err, "did not answer in time (after its start it has the referee's 1s; later answers have --bot-timeout, 1m0s)")
}

func TestTimeForAnAnswerOfAProgram(t *testing.T) {
	for _, tt := range []struct {
		name         string
		bot          time.Duration // --bot-timeout
		window       time.Duration // 0 for one that the referee does not say
		usual, first time.Duration
	}{
		{"usual", 5 * time.Second, 30 * time.Second, 5 * time.Second, 29 * time.Second},
		{"a short window", 5 * time.Second, 2 * time.Second, 1600 * time.Millisecond, 1600 * time.Millisecond},
		{"a long limit", time.Hour, 30 * time.Second, 24 * time.Second, 29 * time.Second},
		{"no window", 5 * time.Second, 0, 5 * time.Second, 29 * time.Second},
		{"no window, and a long limit", time.Hour, 0, time.Hour, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view("R1M1")
			v.Within = tt.window
			limits := (&bot{limit: tt.bot}).limitsFor(context.Background(), v)
			usual, _ := limits.of(false)
			first, _ := limits.of(true)
			assert.Equal(t, []time.Duration{tt.usual, tt.first}, []time.Duration{usual, first})
		})
	}
	bound, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	limits := (&bot{limit: time.Minute}).limitsFor(bound, view("R1M1"))
	assert.Less(t, limits.first, 900*time.Millisecond, "the caller's context ends earlier")
}

func TestQuestionsAreSequential(t *testing.T) {
	t.Parallel()
	b := openScript(t, `while read -r q; do echo "$q" | sed 's/.*"valid_options":\["\([^"]*\)".*/\1/'; done`, 30*time.Second)
	var asking sync.WaitGroup
	for n := range 20 {
		asking.Go(func() {
			v := view("R1M1")
			v.Options = []string{fmt.Sprintf("move-%d", n)}
			choice, err := b.Choose(context.Background(), v)
			assert.NoError(t, err)
			assert.Equal(t, v.Options[0], choice)
		})
	}
	asking.Wait()
	assert.Equal(t, 1, b.program.Starts())
}

// alive opens the pipe. Reading ends when no process of the bot holds it open any more.
func alive(t *testing.T, b *testBot) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(filepath.Dir(b.program.Args[0]), "alive"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestClosedBotIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	b := openScript(t, `while read -r q; do echo even; done`, 0)
	b.answers(t, "even")
	b.Close()
	b.Close()
	for range 10 { // chance must not have it started again
		_, err := b.asked(t, "R1M1")
		assert.ErrorIs(t, err, program.ErrClosed)
	}
	assert.Equal(t, 1, b.program.Starts())
}

func TestCloseAbandonsAQuestion(t *testing.T) {
	t.Parallel()
	b := openScript(t, `read -r q; : > "$1/alive"; sleep 1000`, time.Hour)
	answer := choose(t.Context(), b, "R1M1")
	_, err := io.ReadAll(alive(t, b)) // waits until the bot has the question
	require.NoError(t, err)
	go b.Close()
	assert.ErrorIs(t, (<-answer).err, program.ErrClosed)
}

func TestBotHasItsFullTimeAfterTheCallerGivesUp(t *testing.T) {
	t.Parallel()
	b := openScript(t, `read -r q; : > "$1/alive"; echo even; while read -r q; do echo odd; done`, long)
	ctx, leave := context.WithCancel(t.Context())
	answer := choose(ctx, b, "R1M1")
	require.Eventually(t, func() bool { return len(b.turn) == 0 }, long, time.Millisecond)
	leave()
	_, err := io.ReadAll(alive(t, b)) // waits until the bot has the question
	require.NoError(t, err)
	assert.Equal(t, outcome{"even", nil}, <-answer, "the repeated question has an answer")
	b.answers(t, "odd")
}
