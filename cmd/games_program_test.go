package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
	games "evenodd/league/program"
	"evenodd/rules"
)

// shippedGames are the games of testdata/games.
var shippedGames = []struct {
	name    string
	command []string // the interpreter, then files of testdata/games
	players string   // of a league
}{
	{"nim", []string{"python3", "nim.py"}, "6"},
	{"hex", []string{"python3", "hex.py"}, "4"},
	{"memory", []string{"python3", "memory.py"}, "4"},
	{"word_chain", []string{"python3", "word_chain.py"}, "4"},
	{"twenty_one_questions", []string{"python3", "twenty_one_questions.py"}, "4"},
	{"chess", []string{"node", "chess.mjs"}, "2"},
	{"tutorial_tic_tac_toe", []string{"node", "boardgame.mjs", "boardgame-tictactoe.mjs"}, "4"},
	{"blackjack_for_two", []string{"node", "boardgame.mjs", "boardgame-blackjack.mjs"}, "4"},
}

// gameProgram returns the command line of a game of testdata/games. It ends the test if the game cannot run.
func gameProgram(t *testing.T, words []string) string {
	t.Helper()
	needTool(t, words[0])
	dir, err := filepath.Abs(filepath.Join("..", "testdata", "games"))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil && words[0] == "node" {
		cmd.NotTested(t, "needs Node 20 and 'npm ci --prefix testdata/games'")
	}
	line := words[0]
	for _, file := range words[1:] {
		line += " " + filepath.Join(dir, file)
	}
	return line
}

// Each game passes its examination, and plays a league in memory and over HTTP, whose audit repeats every match and
// every view.
func TestGamesThatAreProgramsPlayLeagues(t *testing.T) {
	t.Parallel()
	for _, tt := range shippedGames {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			game := gameProgram(t, tt.command)
			if tt.name != "chess" || testAll() { // which is examined with whole matches of 400 turns
				mustRun(t, "check", "game", game)
			}
			data := filepath.Join(t.TempDir(), "cup")
			league := []string{"simulate", "--game", "exec:" + game, "--players", tt.players, "--strategies", "random",
				"--seed", "7", "--format", "json"}
			inMemory := mustRun(t, append(league, "--data", data)...)
			overHTTP := mustRun(t, append(league, "--sign", "--transport", "http")...)
			assert.Equal(t, hashOf(inMemory), hashOf(overHTTP))
			assert.Contains(t, inMemory, `"`+tt.name+`"`)
			audited := mustRun(t, "audit", data, "--game", "exec:"+game, "--views", "--strict")
			assert.Contains(t, audited, "no findings")
		})
	}
}

// A manager, a referee and two players play each game as processes. Only manager and referee have the program; a player
// that has it, too, checks what it is shown.
func TestProcessesPlayEachGame(t *testing.T) {
	t.Parallel()
	for _, tt := range shippedGames {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.name != "memory" { // which hides something and is drawn
				longTest(t)
			}
			game, dir := "exec:"+gameProgram(t, tt.command), t.TempDir()
			agent := func(args ...string) *process {
				args = append(args, "--port", "0", "--data", "SHARED")
				return launch(t, dir, nil, "evenodd", args...)
			}
			m := awaitManager(t, agent("manager", "--game", game, "--players", "2", "--legs", "2", "--exit-when-done"))
			referee := agent("referee", "--manager", m.url, "--game", game)
			plain := agent("player", "--manager", m.url, "--strategy", "random", "--name", "Ada", "--game", tt.name)
			checks := agent("player", "--manager", m.url, "--strategy", "random", "--name", "Bob", "--game", game)
			awaitSuccess(t, m.process, referee, plain, checks)
			assert.Contains(t, m.stdout.String(), "\nChampion: ")
			assert.NotContains(t, checks.stderr.String(), `"level":"ERROR"`)
			audited := mustRun(t, "audit", filepath.Join(dir, "SHARED"), "--game", game, "--views", "--strict")
			assert.Regexp(t, "audited 2 matches of league .*: no findings", audited)
		})
	}
}

// A process that has all agents is killed in each round, about when its matches are played. Each match has one result,
// nobody loses technically, and the audit repeats each with every view.
func TestLeagueWhoseProcessIsKilledResumesEachGame(t *testing.T) {
	t.Parallel()
	for i, tt := range shippedGames {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				longTest(t)
			}
			game, dir := gameProgram(t, tt.command), t.TempDir()
			p := startUp(t, dir, fourPlayers, "--game", "exec:"+game, "--pace", "1s", "--strict", "--new-league")
			for round := 1; round <= 3; round++ {
				p.await(t, fmt.Sprintf(`"round_id":%d,.*"event_type":"ROUND_ANNOUNCEMENT_SENT"`, round))
				require.NoError(t, p.killChild(t, round, 50*time.Millisecond))
			}
			require.Zero(t, p.awaitExit(t), p.stderr.String())
			checkTable(t, p.stdout.String(), 3)
			audited := mustRun(t, "audit", filepath.Join(dir, "SHARED"), "--game", "exec:"+game, "--views", "--strict")
			assert.Regexp(t, "audited 6 matches of league .*: no findings", audited)
		})
	}
}

// Engines of which one is known to be stronger play with limits that are short.
func TestChessEnginesPlayALeague(t *testing.T) {
	longTest(t)
	t.Parallel()
	for _, engine := range []string{"stockfish", "gnuchess"} {
		if _, err := os.Stat("/usr/games/" + engine); err != nil {
			needTool(t, engine)
		}
	}
	needTool(t, "python3")
	game := "exec:" + gameProgram(t, []string{"node", "chess.mjs"})
	uci, err := filepath.Abs("../testdata/bots/uci.py")
	require.NoError(t, err)
	bot := "exec:python3 " + uci
	data := filepath.Join(t.TempDir(), "cup")
	var league struct {
		Standings []struct {
			PlayerID       string `json:"player_id"`
			Points, Played int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "simulate", "--game", game, "--legs", "10", "--seed", "7",
		"--data", data,
		"--format", "json", "--players", "4", "--strategies", strings.Join([]string{
			bot + " stockfish --level 20 --nodes 300", bot + " stockfish --level 0 --nodes 300",
			bot + " gnuchess --uci --movetime 2", "random"}, ","))), &league))
	points := map[string]int{}
	for _, row := range league.Standings {
		points[row.PlayerID] = row.Points
		assert.Equal(t, 30, row.Played)
	}
	strong, weak, other, random := points["P01"], points["P02"], points["P03"], points["P04"]
	assert.Greater(t, strong, weak)
	assert.Greater(t, min(weak, other), random)
	audited := mustRun(t, "audit", data, "--game", game, "--strict")
	assert.Contains(t, audited, "audited 60 matches of league league_2025_even_odd: no findings")
}

// The numbers of legal sequences of moves from the start of chess are known:
// https://www.chessprogramming.org/Perft_Results
func TestLegalMovesOfChess(t *testing.T) {
	t.Parallel()
	chess, err := games.Open(t.Context(), gameProgram(t, []string{"node", "chess.mjs"}), &games.Programs{}, zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(chess.Close)
	state := func(history []rules.Entry) *rules.State {
		t.Helper()
		s, err := chess.Ask(t.Context(), history)
		require.NoError(t, err)
		return s
	}
	var count func(history []rules.Entry, depth int) int
	count = func(history []rules.Entry, depth int) (sequences int) {
		side := rules.Side(len(history) % 2)
		options := state(history).ToMove[side].Options
		if depth == 1 {
			return len(options)
		}
		for _, option := range options {
			e := rules.Entry{}
			e.Moves[side] = option
			sequences += count(append(history[:len(history):len(history)], e), depth-1)
		}
		return sequences
	}
	assert.Equal(t, 8902, count(nil, 3))

	// history returns the entries of moves in turn.
	history := func(moves string) (list []rules.Entry) {
		for i, move := range strings.Fields(moves) {
			e := rules.Entry{}
			e.Moves[i%2] = move
			list = append(list, e)
		}
		return list
	}
	for name, tt := range map[string]struct {
		moves  string
		winner rules.Side
		reason string
	}{
		"mate":       {"f2f3 e7e5 g2g4 d8h4", rules.SideB, "{A} is checkmated"},
		"repetition": {"g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8", rules.NoSide, "threefold repetition"},
		"stalemate": {"e2e3 a7a5 d1h5 a8a6 h5a5 h7h5 h2h4 a6h6 a5c7 f7f6 c7d7 e8f7 d7b7 d8d3 b7b8 d3h7 b8c8 f7g6 c8e6",
			rules.NoSide, "stalemate"},
	} {
		s := state(history(tt.moves))
		assert.True(t, s.Over, name)
		assert.Equal(t, tt.winner, s.Winner, name)
		assert.Equal(t, tt.reason, s.Reason, name)
	}
	for name, tt := range map[string]struct{ moves, option string }{
		"castling":      {"e2e4 e7e5 g1f3 b8c6 f1c4 f8c5", "e1g1"},
		"long castling": {"d2d4 d7d5 b1c3 b8c6 c1f4 c8f5 d1d2 d8d7", "e1c1"},
		"en passant":    {"e2e4 a7a6 e4e5 d7d5", "e5d6"},
		"promotion":     {"a2a4 b7b5 a4b5 a7a6 b5a6 h7h6 a6a7 h6h5", "a7b8n"},
	} {
		moves := history(tt.moves)
		assert.Contains(t, state(moves).ToMove[rules.SideA].Options, tt.option, name)
	}
	refused := state(history("e2e4 e7e5 e1g1 a7a6"))
	require.NotNil(t, refused.Illegal)
	assert.Equal(t, rules.Illegal{Index: 2, Side: rules.SideA, Reason: `"e1g1" is not legal`}, *refused.Illegal)
}

// A bot whose first text in each turn is refused writes another one, and wins. It signs both; the audit compares its
// history, which says so: two signed moves in answer to one question would be a finding.
func TestRefusedTextsOfABotPassTheAudit(t *testing.T) {
	t.Parallel()
	game, dir := gameProgram(t, []string{"python3", "word_chain.py"}), t.TempDir()
	bot := filepath.Join(dir, "bot.py")
	require.NoError(t, os.WriteFile(bot, []byte(`import json, sys
for line in sys.stdin:
    q = json.loads(line)
    legal = q.get("refused", {}).get("reason") == "unicorn is no animal of the list"
    print(json.dumps({"choice": q["examples"][0] if legal else "unicorn"}), flush=True)
`), 0o600))
	data := filepath.Join(dir, "cup")
	mustRun(t, "simulate", "--game", "exec:"+game, "--players", "2", "--strategies", "exec:python3 "+bot+",random",
		"--seed", "1",
		"--sign", "--data", data)
	folder := filepath.Join(data, "data", "players")
	audit := []string{"audit", data, "--game", "exec:" + game, "--views", "--histories", folder}
	assert.Contains(t, mustRun(t, append(audit, "--strict")...), "no findings")
	path := filepath.Join(folder, "P01", "history.jsonl")
	history, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(history), `"refused":[{"choice":"unicorn","reason":"unicorn is no animal of the list"}]`)
	assert.NotContains(t, string(history), "TECHNICAL")
}
