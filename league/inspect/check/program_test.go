package check_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
	"evenodd/league/lists"
	"evenodd/league/program"
)

// checkedGame examines a game of testdata/games with changes of its source: pairs of an old text and a new one.
func checkedGame(t *testing.T, name string, changes ...string) *check.Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../testdata/games", name+".py"))
	require.NoError(t, err)
	for i := 0; i < len(changes); i += 2 {
		require.Contains(t, string(text), changes[i], "the source has changed")
	}
	folder := t.TempDir()
	changed := strings.NewReplacer(changes...).Replace(string(text))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "game.py"), []byte(changed), 0o600))
	programs := program.Programs{Environ: os.Environ(), Env: []string{"GORACE"}, Folder: folder}
	open := func(ctx context.Context) (*program.Game, error) {
		return program.Open(ctx, "python3 game.py", &programs, zerolog.Nop())
	}
	report, err := check.Game(t.Context(), "python3 game.py", open, time.Minute)
	require.NoError(t, err)
	return report
}

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: games in Python, because there is no python3 here")
	}
}

func TestGamesOfThisRepositoryPass(t *testing.T) {
	needPython(t)
	for name, skipped := range map[string]int{"nim": 4, "memory": 3, "word_chain": 7, "twenty_one_questions": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checkedGame(t, name)
			assert.True(t, r.Conforms(), "%+v", r.Causes)
			assert.Equal(t, skipped, r.Count(check.Skipped), "%+v", r.Findings)
		})
	}
}

// Each requirement can fail, with a sentence that names the history or the member.
func TestBrokenGamesFail(t *testing.T) {
	needPython(t)
	for _, tt := range []struct{ name, game, from, to, id, want string }{
		{"a description beyond the limits", "nim", `"max_turns": 12`, `"max_turns": 500`, "G-DES-01",
			"answered wrongly: max_turns: must be a whole number from 1 to 400, not 500"},
		{"no end", "nim", `if not any(heaps):`, `if False:`, "G-ANS-01", "to_move.A.options: must be a list of 1 to"},
		{"a crash", "nim", `number, _, _, heap`, `number, _, heap`, "G-ANS-01",
			"ended before it answered: exit status 1; the last line on " +
				"standard error was \"ValueError: too many values to unpack"},
		{"too many turns", "nim", "\"max_turns\": 12,  # of a match\n    \"max_moves\": 6, ",
			"\"max_turns\": 3,\n    \"max_moves\": 3, ", "G-END-01",
			"the match is not over after 3 turns"},
		{"too many turns if each takes the first option", "nim", `"max_turns": 12`, `"max_turns": 11`, "G-END-01",
			"the match is not over after 11 turns"},
		{"a question that is too large", "nim", "def play():", `DESCRIPTION["rules"] *= 12
dumps = json.dumps
setattr(json, "dumps", lambda a: dumps({**a, "to_move": {s: {**q, "view": "x" * 5800} for s, q in a["to_move"].items()}} if "to_move" in a else a))


def play():`, "G-END-01",
			`more than the 10 KB of a message: set "large": true`},
		{"an option that it refuses", "nim", `if move not in asked[side]["options"]:`,
			`if move not in asked[side]["options"] or move == "1 from heap 1":`, "G-OPT-01",
			"it refuses the options and draws of its own answers: entry"},
		{"options in a random order", "nim", `"options": options,`,
			`"options": __import__("random").sample(options, len(options)),`,
			"G-SAM-01", "differently than before: its answer must depend on nothing but the history"},
		{"options in the order of a set", "nim", `"options": options,`, `"options": list(set(options)),`, "G-SAM-02",
			"a new process says something else"},
		{"any move", "nim", `if move not in asked[side]["options"]:`, `if False:`, "G-ILL-01",
			"it gives no answer to the history"},
		{"any side", "nim", `if side not in asked:`, `if False:`, "G-ILL-02", "it gives no answer to the history"},
		{"entries after the end", "nim", `return next(iter(entry), None), "the match is over"`, `return None`, "G-ILL-03",
			"entry"},
		{"draws that are not due", "nim", `if "draw" in entry or "draw" in state:`, `if "draw" in entry: return None
    if "draw" in state:`, "G-ILL-04", "it"},
		{"an index from 1", "nim", `"index": index,`, `"index": max(index - 1, 0),`, "G-ILL-07", "the index counts from 0"},
		{"draws out of range", "memory", `not 0 <= number < state["draw"]`, `False`, "G-ILL-05", "it"},
		{"an answer after half a turn", "twenty_one_questions", `return {**self.state, "to_move": rest}`, `return self.state`,
			"G-TWO-01",
			"alone"},
		{"an illegal example", "word_chain", `[:5] or ["pass"]`, `[:5] + ["unicorn"]`, "G-OPT-01",
			`it refuses its example "unicorn" (unicorn is no animal of the list), after the history [`},
		{"half a turn", "twenty_one_questions", `not (last and entry)`, `False`, "G-ILL-06", "it accepts entry"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := checkedGame(t, tt.game, tt.from, tt.to)
			assert.False(t, r.Conforms())
			failed := lists.Filter(r.Findings, func(f check.Finding) bool { return f.Verdict == check.Fail })
			named := fmt.Sprint(lists.Map(failed, func(f check.Finding) string { return f.ID + ": " + f.Detail }))
			assert.Contains(t, named, tt.id+": ")
			assert.Contains(t, named, tt.want)
			for _, f := range failed {
				assert.NotEmpty(t, f.Hint, f.ID)
			}
		})
	}
}

// The report on a program that crashes names the place in its source, and has no hint about JSON.
func TestCrashOfAGameNamesItsPlace(t *testing.T) {
	needPython(t)
	for _, tt := range []struct{ name, from, to, id, place string }{
		{"in a match", "number, _, _, heap", "number, _, heap", "G-ANS-01", `game.py, line \d+, after the history \[`},
		{"in a library", `print(json.dumps(answer)`, `print(json.dumps({"a": {1}} if "history" in question else answer)`,
			"G-ANS-01", `game.py, line \d+, after`},
		{"at the start", "import json", "import jsno", "G-DES-01", `game.py, line \d+$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := checkedGame(t, "nim", tt.from, tt.to)
			failed := lists.Filter(r.Findings, func(f check.Finding) bool { return f.ID == tt.id })[0]
			assert.Equal(t, check.Fail, failed.Verdict)
			assert.Regexp(t, "the last line on standard error was .*, the last place in a source file /.*"+tt.place,
				failed.Detail)
			assert.Contains(t, failed.Hint, "The program crashed: ")
		})
	}
}

// A draw that one side alone sees makes a game hidden. In Memory both see each card that is turned.
func TestDrawThatOneSideSeesNeedsHidden(t *testing.T) {
	needPython(t)
	for game, want := range map[string]check.Verdict{"twenty_one_questions": check.Warn, "memory": check.Pass} {
		t.Run(game, func(t *testing.T) {
			t.Parallel()
			changes := []string{`    "hidden": True,`, ""}
			if game == "twenty_one_questions" {
				changes = append(changes, `, "secret": True`, "")
			}
			r := checkedGame(t, game, changes...)
			assert.True(t, r.Conforms(), "%+v", r.Causes)
			found := lists.Filter(r.Findings, func(f check.Finding) bool { return f.ID == "G-VIE-01" })[0]
			assert.Equal(t, want, found.Verdict, found.Detail)
			if want == check.Warn {
				assert.Regexp(t, `the draw in entry [01] of .* changes what side [AB] sees, and not what side [AB] sees`,
					found.Detail)
			}
		})
	}
}

// A game for words without examples, of which no text is known that it allows, is not examined: a warning says so.
func TestGameThatAllowsNoTriedTextIsNotExamined(t *testing.T) {
	needPython(t)
	r := checkedGame(t, "word_chain", `"text": 20, "examples": examples,`, `"text": 3,`)
	assert.Equal(t, 1, r.Count(check.Warn))
	for _, f := range r.Findings {
		switch f.ID {
		case "G-OPT-01":
			assert.Equal(t, check.Skipped, f.Verdict)
			assert.Contains(t, f.Detail, "no text that was tried is legal")
		case "G-END-01":
			assert.Equal(t, check.Warn, f.Verdict)
			assert.Contains(t, f.Detail, `add "examples" to the questions`)
		}
	}
}

func TestCommandLineOfAGameIsChecked(t *testing.T) {
	open := func(ctx context.Context) (*program.Game, error) {
		return program.Open(ctx, "./nothing", &program.Programs{}, zerolog.Nop())
	}
	_, err := check.Game(t.Context(), "./nothing", open, time.Minute)
	require.ErrorContains(t, err, "program ./nothing not found")
}
