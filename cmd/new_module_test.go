package cmd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleScript plays three functions, one of which fails, in four games.
const moduleScript = `
import json, random, evenodd

def first(question):
    return question["valid_options"][0]

def chance(question):
    return {"choice": random.Random(question["seed"]).choice(question["valid_options"]), "reason": "luck"}

def broken(question):
    if question["round_id"] == 2:
        raise ValueError("no idea")
    return first(question)

def play(game, **options):
    return evenodd.league([first, chance, {"name": "Broken", "play": broken}], game, seed=7, bot_timeout="2m", **options)

for game in ["even_odd", "rock_paper_scissors", "tic_tac_toe", "connect_four"]:
    result = play(game)
    print(game, len(result.matches), [r["display_name"] for r in sorted(result.standings, key=lambda r: r["player_id"])],
          sorted(r["strategy"] for r in result.ratings), len(result.head_to_head),
          [(e["player"], e["match_id"], e["traceback"].splitlines()[-1]) for e in result.errors])

def cards(question):
    assert "view" not in question["context"]
    return "bet" if question["view"]["card"] == "K" and "bet" in question["valid_options"] else first(question)

def sticks(question):
    assert question["rules"].startswith("Nim. ") and len(question["view"]["heaps"]) == 3
    return first(question)

for function, name in [(cards, "kuhn_poker"), (sticks, "exec:python3 nim.py")]:
    r = evenodd.league([function, "random"], name, seed=7)
    print("view:", len(r.matches), r.errors, "P01" in r.match("R1M1"))
print("same:", play(game).document == result.document)
print("match:", 'answered "error: ValueError: no idea"' in result.match("R2M1"), result.match("R2M1")._repr_html_()[:5])
print("report:", result.report()._repr_html_()[:7], "Broken" in result.report())
try:
    evenodd.league([first, "luck"])
except RuntimeError as problem:
    print("wrong:", 'unknown strategy "luck"' in str(problem))
`

func TestPythonModulePlaysFunctions(t *testing.T) {
	t.Parallel()
	needTool(t, "python3")
	nim, err := os.ReadFile(filepath.Join(root, "testdata", "games", "nim.py"))
	require.NoError(t, err)
	dir := folderOf(t, map[string]string{"play.py": moduleScript, "nim.py": string(nim)})
	assert.Equal(t, "created "+filepath.Join(dir, "evenodd.py")+"\n", mustRun(t, "new", "python-module", dir))
	code, _, stderr := run(t.Context(), "new", "python-module", dir)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "exists already")
	p := launch(t, dir, nil, "python3", "play.py")
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	const players = ` 3 ['first', 'chance', 'Broken'] ['function broken', 'function chance', 'function first'] 6 `
	const failed = `[('Broken', 'R2M1', 'ValueError: no idea')]` + "\n"
	assert.Equal(t, "even_odd"+players+failed+"rock_paper_scissors"+players+failed+"tic_tac_toe"+players+failed+
		"connect_four"+players+failed+
		"view: 1 [] True\nview: 1 [] True\nsame: True\nmatch: True <pre>\nreport: <iframe True\nwrong: True\n",
		p.stdout.String())
}

// slowScript plays functions that fail in one round each. Asleep goes on when Fine is asked in the next round. The
// other functions have time for their answers on a busy machine too: only Asleep waits for the end of the limit.
const slowScript = `
import evenodd, json, sys, threading

woken = threading.Event()

def first(question):
    return question["valid_options"][0]

def asleep(question):
    if question["round_id"] == 2:
        woken.wait()
    return first(question)

def exits(question):
    if question["round_id"] == 1:
        sys.exit("enough")
    return first(question)

def unreadable(question):
    return {"choice": object() if question["round_id"] == 1 else first(question)}

def long(question):
    return "x" * 100000 if question["round_id"] == 1 else first(question)

def prints(question):
    print("y" * 10000, file=sys.stderr)
    return first(question)

def fine(question):
    if question["round_id"] == 3:
        woken.set()
    return first(question)

result = evenodd.league([asleep, exits, unreadable, long, prints, fine], seed=1, bot_timeout="4s", data="data", concurrency=3)
print(sorted((r["display_name"], r["technical_losses"]) for r in result.standings))
print(sorted((e["player"], e["match_id"][:2], e["traceback"].splitlines()[-1].split(":")[0]) for e in result.errors))
`

func TestPythonModuleGoesOnAfterAFunctionThatIsTooSlow(t *testing.T) {
	t.Parallel()
	needTool(t, "python3")
	dir := folderOf(t, map[string]string{"play.py": slowScript, "data/config/system.json": `{"retry_policy": {"max_retries": 0}}`})
	mustRun(t, "new", "python-module", dir)
	p := launch(t, dir, nil, "python3", "play.py")
	require.Zero(t, p.awaitExit(t))
	assert.Equal(t, `[('asleep', 1), ('exits', 1), ('fine', 0), ('long', 1), ('prints', 0), ('unreadable', 1)]
[('asleep', 'R2', 'TimeoutError'), ('exits', 'R1', 'SystemExit'), `+
		`('long', 'R1', 'ValueError'), ('unreadable', 'R1', 'TypeError')]
`, p.stdout.String())
}

// stuckScript plays a function that never returns in the last round. Its first answer has the referee's time.
const stuckScript = `
import evenodd, threading

def stuck(question):
    if question["round_id"] == 2:
        threading.Event().wait()
    return first(question)

def first(question):
    return question["valid_options"][0]

result = evenodd.league([stuck, first], seed=1, legs=2, bot_timeout="2s", data="data")
print([r["technical_losses"] for r in result.standings if r["display_name"] == "stuck"])
print([(e["match_id"], e["traceback"].split(":")[0]) for e in result.errors if e["player"] == "stuck"])
`

func TestPythonModuleEndsTheLeagueOfAFunctionThatNeverReturns(t *testing.T) {
	t.Parallel()
	needTool(t, "python3")
	dir := folderOf(t, map[string]string{"play.py": stuckScript,
		"data/config/system.json": `{"retry_policy": {"max_retries": 0}}`})
	mustRun(t, "new", "python-module", dir)
	p := launch(t, dir, nil, "python3", "play.py")
	require.Zero(t, p.awaitExit(t))
	assert.Equal(t, "[1]\n[('R2M1', 'TimeoutError')]\n", p.stdout.String())
}
