package cmd_test

import (
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
	dir := folderOf(t, map[string]string{"play.py": moduleScript})
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
		"same: True\nmatch: True <pre>\nreport: <iframe True\nwrong: True\n", p.stdout.String())
}
