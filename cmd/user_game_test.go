package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gameFolder is a folder with Nim and other games, which are Nim with a change.
func gameFolder(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: games in Python, because there is no python3 here")
	}
	text, err := os.ReadFile("../testdata/games/nim.py")
	require.NoError(t, err)
	folder, nim := t.TempDir(), string(text)
	for name, change := range map[string][2]string{
		"nim":     {},
		"other":   {"takes the last stick wins", "who has the last stick wins"},
		"evenodd": {`"type": "nim"`, `"type": "even_odd"`},
		"dies": {"            self.history.append",
			"            if len(self.history) == 1: sys.exit(\"no more\")\n            self.history.append"},
		"illegal": {"            problem = wrong(", "            problem = (\"A\", \"no\") if index == 1 else wrong("},
		"random":  {`"options": options,`, `"options": __import__("random").sample(options, len(options)),`},
		"late": {`"max_turns": 12,  # of a match` + "\n" + `    "max_moves": 6, `,
			`"max_turns": 2,` + "\n" + `    "max_moves": 2, `},
		"two": {`entry = yield {`, `entry = yield {"draw": 6, `},
	} {
		changed := strings.Replace(nim, change[0], change[1], 1)
		require.True(t, name == "nim" || changed != nim, name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".py"), []byte(changed), 0o600))
	}
	return folder
}

// inGames runs a command line in a folder, and returns its output, that on standard error, and its exit code.
func inGames(t *testing.T, folder string, args ...string) (out, problem string, code int) {
	t.Helper()
	result, err := runInWorker(commandLine{folder, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		args})
	require.NoError(t, err)
	return string(result.Stdout), string(result.Stderr), result.Code
}

func TestLeagueOfAProgramIsResumedAndAuditedWithIt(t *testing.T) {
	t.Parallel()
	folder := gameFolder(t)
	const nim = "exec:python3 nim.py"
	_, problem, code := inGames(t, folder, "simulate", "--game", nim, "--players", "3", "--seed", "7", "--data", "d")
	require.Zero(t, code, problem)
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, "d"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NotContains(t, string(text), "nim.py", "%s names a program", path)
		return err
	}))
	const needs = `league_2025_even_odd plays nim, version 1, which is a program with the digest [0-9a-f]{64}: name that program with --game`
	for _, args := range [][]string{
		{"simulate", "--resume"}, {"simulate", "--resume", "--game", "exec:python3 other.py"},
	} {
		_, problem, code = inGames(t, folder, append(args, "--data", "d")...)
		assert.NotZero(t, code, args)
		assert.Regexp(t, needs, problem, args)
	}
	_, problem, code = inGames(t, folder, "simulate", "--resume", "--data", "d", "--game", nim)
	assert.Zero(t, code, problem)
	out, _, code := inGames(t, folder, "audit", "d", "--strict")
	assert.Equal(t, 4, code, "the results were not judged")
	assert.Regexp(t, `the rules of nim are those of a program, which is not given.* version "1", with the digest [0-9a-f]{64}`, out)
	out, problem, code = inGames(t, folder, "audit", "d", "--strict", "--views", "--game", nim)
	assert.Zero(t, code, problem)
	assert.Contains(t, out, "no findings")
	out, problem, code = inGames(t, folder, "replay", "R1M1", "--data", "d", "--board", "--game", nim)
	assert.Zero(t, code, problem)
	assert.Contains(t, out, "from heap")
}

// No player loses because of a program: the simulation ends with a sentence, without a result.
func TestBrokenGamesCostNoPlayerAMatch(t *testing.T) {
	t.Parallel()
	folder := gameFolder(t)
	for name, want := range map[string]string{
		"dies":    "the game nim ended before it answered: exit status 1\n",
		"illegal": "refuses entry 1 of a history to which it led",
		"late":    "the match is not over after 2 turns",
		"two":     "the game nim answered wrongly: must have exactly one of to_move, draw, winner and illegal, has to_move and draw",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, problem, code := inGames(t, folder, "simulate", "--game", "exec:python3 "+name+".py", "--players", "2",
				"--seed", "1",
				"--log-level", "disabled")
			assert.Equal(t, 1, code)
			assert.Contains(t, problem, "the program of the game nim failed 3 times, the last time at ")
			assert.Contains(t, problem, want)
			assert.Empty(t, out)
		})
	}
}

func TestGamesThatAreRefused(t *testing.T) {
	t.Parallel()
	folder := gameFolder(t)
	for game, want := range map[string]string{
		"exec:python3 evenodd.py": "the game python3 evenodd.py has the type even_odd, which is that of a game of evenodd: give it another type",
		"exec:python3 missing.py": "the game python3 missing.py ended before it answered: exit status 2",
		"exec:./missing":          "game exec:./missing: program ./missing not found",
		"exec:":                   "game exec: needs a program, such as exec:./game",
		"nim":                     "rock_paper_scissors, tic_tac_toe or exec:PROGRAM",
	} {
		_, problem, code := inGames(t, folder, "simulate", "--game", game, "--players", "2")
		assert.NotZero(t, code, game)
		assert.Contains(t, problem, want)
	}
}

func TestCheckGame(t *testing.T) {
	t.Parallel()
	folder := gameFolder(t)
	out, problem, code := inGames(t, folder, "check", "game", "python3 nim.py")
	assert.Zero(t, code, problem)
	assert.Contains(t, out, "12 passed, 0 failed")
	out, _, code = inGames(t, folder, "check", "game", "python3 random.py", "--format", "json")
	assert.Equal(t, 4, code)
	assert.Regexp(t, `"id": ?"G-SAM-01"[^}]*"verdict": ?"fail"`, out)
	out, _, code = inGames(t, folder, "check", "game", "python3 evenodd.py")
	assert.Equal(t, 4, code)
	assert.Regexp(t, `FAIL +G-DES-01 [^\n]*\n +has the type even_odd, which is that of a game of evenodd: give it another type`, out)
	_, problem, code = inGames(t, folder, "check", "game", "python3", "nim.py")
	assert.Equal(t, 2, code)
	assert.Contains(t, problem, "check game takes a command line as one argument: evenodd check game 'python3 nim.py'")
	_, problem, code = inGames(t, folder, "check", "gam", "python3 nim.py")
	assert.Equal(t, 2, code)
	assert.Contains(t, problem, `unknown role "gam": must be one of player, referee, manager, game (did you mean game?)`)
	_, problem, code = inGames(t, folder, "check", "game", "./missing")
	assert.Equal(t, 2, code)
	assert.Contains(t, problem, "program ./missing not found")
}

// The game that the command writes passes its own test, the kit, and a league.
func TestNewGamesInOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language, command string
		test, any         []string // all tests of the game, and those for any game
	}{
		{"python", "python3 pick_stones.py", []string{"python3", "-m", "unittest"}, []string{"-k", "AnyGame"}},
		{"javascript", "node pick_stones.mjs", []string{"node", "--test"}, []string{"--test-name-pattern", "any game"}},
	} {
		t.Run(tt.language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.test[0]); err != nil {
				t.Skipf("NOT TESTED: a new game in %s, because there is no %s here", tt.language, tt.test[0])
			}
			folder := t.TempDir()
			out, problem, code := inGames(t, folder, "new", "game", "--lang", tt.language, "pick_stones")
			require.Zero(t, code, problem)
			assert.Contains(t, out, "created pick_stones/")
			assert.Contains(t, problem, "evenodd check game '"+tt.command+"'")
			folder = filepath.Join(folder, "pick_stones")
			passes := func(command []string) (string, bool) {
				test := exec.CommandContext(t.Context(), command[0], command[1:]...)
				test.Dir = folder
				text, err := test.CombinedOutput()
				return string(text), err == nil
			}
			text, ok := passes(tt.test)
			require.True(t, ok, text)
			out, problem, code = inGames(t, folder, "check", "game", tt.command)
			assert.Zero(t, code, "%s%s", out, problem)
			out, problem, code = inGames(t, folder, "simulate", "--game", "exec:"+tt.command, "--players", "4", "--seed", "1")
			assert.Zero(t, code, problem)
			assert.Contains(t, out, "Champion: ")
			source := filepath.Join(folder, strings.Fields(tt.command)[1])
			changed := strings.NewReplacer("stones, side = 12", "stones, side = 9", "[stones, side] = [12",
				"[stones, side] = [9").
				Replace(readText(t, source))
			require.NoError(t, os.WriteFile(source, []byte(changed), 0o600))
			_, ok = passes(tt.test)
			assert.False(t, ok, "the game has changed")
			text, ok = passes(append(tt.test, tt.any...))
			assert.True(t, ok, text)
		})
	}
}

// What the games in Python share is the same everywhere.
func TestNewGameHasTheCodeOfTheExamples(t *testing.T) {
	const from, to = "# From here on the file is the same", "class Match:"
	part := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, rest, found := strings.Cut(string(text), from)
		require.True(t, found)
		shared, _, found := strings.Cut(rest, "\n\nmatches = []")
		if !found {
			shared, _, found = strings.Cut(rest, "\n\ndef main")
		}
		require.True(t, found)
		require.Contains(t, shared, to)
		return shared
	}
	assert.Equal(t, part("../testdata/games/nim.py"), part("starter/game/python/game.py.tmpl"))
}
