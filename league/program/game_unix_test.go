//go:build unix

package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
)

const (
	describesNim = `{"type":"nim","version":"1","display_name":"Nim","rules":"Take.","move_types":["take"],"max_turns":12,"max_move":16}`
	asksA        = `{"to_move":{"A":{"options":["1","2"],"view":"3 left"}}}`
)

// gameScript starts a game that is a shell script with the name of a folder in $1. It answers a question in $q by the
// code.
func gameScript(t *testing.T, code string) (*Game, *log, error) {
	t.Helper()
	return scriptGame(t, `while read -r q; do case "$q" in *describe*) echo '`+describesNim+`';; *) `+code+`;; esac; done`)
}

func scriptGame(t *testing.T, script string) (*Game, *log, error) {
	t.Helper()
	folder, l := scriptFolder(t, script), &log{}
	programs := l.programs()
	programs.Folder = folder
	g, err := Open(t.Context(), "sh script.sh .", &programs, zerolog.New(l))
	if err == nil {
		t.Cleanup(g.Close)
	}
	return g, l, err
}

func moved(moves ...string) (history []rules.Entry) {
	for i, move := range moves {
		var e rules.Entry
		e.Moves[i%2] = move
		history = append(history, e)
	}
	return history
}

func TestGameAnswers(t *testing.T) {
	t.Parallel()
	g, l, err := gameScript(t, `echo "Hello from a library"; echo "$q" >> questions; echo '`+asksA+`'`)
	require.NoError(t, err)
	assert.Equal(t, rules.Info{Type: "nim", Version: "1", DisplayName: "Nim", Rules: "Take.", MoveTypes: []string{"take"},
		MaxMoves: 12, MaxMove: 16}, g.Rules().Info())
	assert.Equal(t, 12, g.Rules().MaxTurns())
	zero := 0
	history := []rules.Entry{{Draw: &zero}, {Moves: [2]string{"1", "<2>"}}, {Moves: [2]string{"", "x"}}}
	state, err := g.Ask(t.Context(), history)
	require.NoError(t, err)
	assert.Equal(t, []string{"1", "2"}, state.ToMove[rules.SideA].Options)
	_, err = g.Ask(t.Context(), nil)
	require.NoError(t, err)
	asked, err := os.ReadFile(filepath.Join(g.command.Folder, "questions"))
	require.NoError(t, err)
	assert.Equal(t, `{"history":[{"draw":0},{"A":"1","B":"<2>"},{"B":"x"}]}`+"\n"+`{"history":[]}`+"\n", string(asked))
	g.Close()
	assert.Contains(t, l.String(), `"GAME_CHATTERED"`)
	_, err = g.Ask(t.Context(), nil)
	assert.ErrorIs(t, err, ErrClosed)
}

func TestBrokenGames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, code string
		kind       Kind
		want       string
	}{
		{"it dies", `echo "Error: line 7" >&2; exit 3`, Ended,
			"the game nim ended before it answered: exit status 3; the last line on standard error was"},
		{"endless chatter", `exec yes "line 7 $(head -c 60000 /dev/zero | tr '\0' x)"`, TooLarge,
			`the game nim printed 16 MB and no answer; it printed "line 7 xxx`},
		{"100 MB", `head -c 100000000 /dev/zero`, TooLarge, "the game nim printed a line of more than 256 KB"},
		{"300 KB of JSON", `printf '{"x":"'; head -c 300000 /dev/zero | tr '\0' x; echo '"}'`, TooLarge,
			"printed a line of more than 256 KB"},
		{"bad JSON", `echo '{"to_move": '`, Unreadable, `the game nim answered wrongly: is not valid JSON`},
		{"two members at once", `echo '{"winner":"A","reason":"x","illegal":{"index":0,"side":"A","reason":"x"}}'`,
			Unreadable,
			"the game nim answered wrongly: must have exactly one of to_move, draw, winner and illegal, has winner and illegal"},
		{"options that are too long", `echo '{"to_move":{"A":{"options":["12345678901234567"],"view":""}}}'`, Unreadable,
			`to_move.A.options[0]: must be a text of 1 to 16 bytes, not "12345678901234567"`},
		{"another answer when asked again",
			`[ -e again ] && x=2; : > again; echo '{"to_move":{"A":{"options":["1'$x'"],"view":""}}}'`, Contradict,
			"the game nim answered a history of length 1 differently than before: its answer must depend on nothing but the history"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, l, err := gameScript(t, tt.code)
			require.NoError(t, err, l)
			_, err = g.Ask(t.Context(), moved("1"))
			if err == nil && tt.kind == Contradict {
				_, err = g.Ask(t.Context(), moved("1"))
			}
			var failed *Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, tt.kind, failed.Kind)
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, failed.Cause(), "line 7", "what it printed stays on this computer")
		})
	}
}

func TestWrongGamesAreNotOpened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, want string }{
		{"no description", `read -r q; echo '{}'; read -r q`,
			"the game sh script.sh . answered wrongly: type: must be 1 to 40 characters"},
		{"it ends", `echo "no module named chess" >&2; exit 1`,
			`the game sh script.sh . ended before it answered: exit status 1; the last line on standard error was "no module named chess"`},
	} {
		_, _, err := scriptGame(t, tt.script)
		require.ErrorContains(t, err, tt.want, tt.name)
	}
	_, err := Open(t.Context(), "./nothing", &Programs{}, zerolog.Nop())
	require.ErrorContains(t, err, "game exec:./nothing: program ./nothing not found")
}

// A hang ends with the caller here, because a test does not wait for ten seconds. The next question goes to a new
// process.
func TestGameThatHangs(t *testing.T) {
	t.Parallel()
	g, _, err := gameScript(t, `[ -e later ] && { echo '`+asksA+`'; continue; }; : > later; : > alive; sleep 1000`)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := g.Ask(ctx, nil)
		asked <- err
	}()
	pipe, err := os.ReadFile(filepath.Join(g.command.Folder, "alive")) // waits until the program has the question
	require.NoError(t, err)
	assert.Empty(t, pipe)
	cancel()
	require.ErrorIs(t, <-asked, context.Canceled)
	_, err = g.Ask(t.Context(), nil)
	require.NoError(t, err)
}

// A process that something else has killed costs nothing.
func TestKilledGameIsAskedAgain(t *testing.T) {
	t.Parallel()
	g, _, err := gameScript(t, `[ -e killed ] || { : > killed; kill -9 $$; }; echo '`+asksA+`'`)
	require.NoError(t, err)
	_, err = g.Ask(t.Context(), nil)
	require.NoError(t, err)
}

// The processes of a game answer several questions at the same time, and each keeps its match.
func TestGameAnswersSeveralQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	g, _, err := gameScript(t, `echo '`+asksA+`'`)
	require.NoError(t, err)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for n := range 20 {
				_, err := g.Ask(context.Background(), moved(strings.Repeat("1", n%3+1)))
				assert.NoError(t, err)
			}
		})
	}
	asking.Wait()
	assert.LessOrEqual(t, len(g.idle), cap(g.slots))
}

func TestQuestionsOfAMatchGoToOneProcess(t *testing.T) {
	nim := &Runner{}
	a, b := &worker{nim, moved("1", "2")}, &worker{nim, moved("1", "3")}
	g := &Game{idle: []*worker{a, b}}
	for _, tt := range []struct {
		history []rules.Entry
		want    *worker
	}{{moved("1", "3", "1"), b}, {moved("1", "2"), a}, {moved("1"), a}, {moved("4"), a}} {
		g.idle = []*worker{a, b}
		assert.Same(t, tt.want, g.take(tt.history), "%v", tt.history)
	}
	one, another := 1, 1
	assert.True(t, sameEntry(rules.Entry{Draw: &one}, rules.Entry{Draw: &another}))
	assert.False(t, sameEntry(rules.Entry{Draw: &one}, rules.Entry{}))
}

func TestDigestCoversEachFile(t *testing.T) {
	folder := t.TempDir()
	programs := Programs{Folder: folder}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("a.py", "a")
	write("b.py", "b")
	digests := map[string]string{}
	for _, line := range []string{"python3 a.py", "python3 b.py", "python3 a.py b.py", "python3 b.py a.py",
		"python3 -m a"} {
		digest, err := programs.digest(line)
		require.NoError(t, err)
		assert.Empty(t, digests[digest], line)
		digests[digest] = line
	}
	same, err := programs.digest("python3 -X dev '" + filepath.Join(folder, "a.py") + "' --level 3")
	require.NoError(t, err)
	assert.Equal(t, "python3 a.py", digests[same], "options and folders do not count")
	write("a.py", "changed")
	changed, err := programs.digest("python3 a.py")
	require.NoError(t, err)
	assert.NotEqual(t, same, changed)
}

// The games of testdata/games play a match by their first options.
func TestGamesOfThisRepository(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: the games in Python, because there is no python3 here")
	}
	for _, name := range []string{"nim", "hex", "memory", "twenty_one_questions"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &log{}
			programs := l.programs()
			programs.Folder, _ = filepath.Abs("../../testdata/games")
			g, err := Open(t.Context(), fmt.Sprintf("python3 %s.py", name), &programs, zerolog.New(l))
			require.NoError(t, err, l)
			t.Cleanup(g.Close)
			c, chance := rules.Begin(g.Rules()), rules.Chance{}
			for !c.Over() {
				switch {
				case c.Awaits():
					state, err := g.Ask(t.Context(), c.History())
					require.NoError(t, err)
					c, err = c.Told(state)
					require.NoError(t, err)
				case c.Outcomes() > 0:
					c = c.Settle("R1M1", &chance)
				default:
					side := c.ToMove()[0]
					c, err = c.Move(side, c.Ask(side).Options[0])
					require.NoError(t, err)
				}
			}
			assert.NotEmpty(t, c.Judge(chance).Reason([2]string{"P01", "P02"}))
		})
	}
}
