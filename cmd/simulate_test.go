package cmd_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// run calls the program in this process.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cmd.Execute(ctx, "test", args, &out, &err)
	return code, out.String(), err.String()
}

// hashOf returns a hash of an output.
func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func TestSameSeedGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	players, matches, repetitions := "16", 16*15/2, 1
	if testAll() {
		players, matches, repetitions = "50", 50*49/2, 2
	}
	var first string
	for _, transport := range []string{"memory", "wire", "http"} {
		for _, concurrency := range []string{"1", "64"} {
			for repetition := range repetitions {
				name := fmt.Sprintf("%s, %s at once, repetition %d", transport, concurrency, repetition)
				code, stdout, stderr := run(t.Context(), "simulate", "--players", players, "--seed", "7", "--format", "json",
					"--quiet", "--transport", transport, "--concurrency", concurrency)
				require.Zero(t, code, "%s: %s", name, stderr)
				assert.Empty(t, stderr, name)
				if first == "" {
					first = stdout
					assert.Equal(t, matches, strings.Count(first, `"match_id"`))
				}
				require.Equal(t, hashOf(first), hashOf(stdout), "%s: another league", name)
			}
		}
	}
}

func TestInterruptedSimulationSaysHowToRunItAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		seed string // told in the end; "" for a new one
	}{
		{"with a seed", []string{"--seed", "7", "--log-level", "info"}, "7"},
		{"with a new seed", nil, ""},
		{"over HTTP", []string{"--transport", "http", "--players", "300", "--seed", "8", "--log-level", "info"}, "8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"simulate", "--players", "10000"}, tt.args...)...)
			if tt.seed == "" {
				tt.seed = p.await(t, `^Seed: (\d+)\n`)[1]
			} else {
				p.await(t, `"event_type":"REGISTERED"`)
			}
			p.endByInterrupt(t)
			assert.Empty(t, p.stdout.String(), "half a league is no result")
			assert.True(t, strings.HasSuffix(p.stderr.String(),
				"evenodd: interrupted. Run it again with --seed "+tt.seed+" for the same league.\n"), p.stderr.String())
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		code, stdout, stderr := run(ctx, "simulate", "--seed", "7", "--quiet")
		assert.Equal(t, 130, code)
		assert.Empty(t, stdout)
		assert.Equal(t, "evenodd: interrupted. Run it again with --seed 7 for the same league.\n", stderr)
	})
}

func TestUnfinishedLeagueUntilASignificantResultHasLargestNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "simulate", "--until-significant", "--players", "2", "--pace", "1h", "--data", dir, "--log-level", "info")
	p.await(t, `"event_type":"LEAGUE_STARTED"`)
	p.endByInterrupt(t)
	assert.Contains(t, p.stderr.String(), "evenodd: interrupted. 0 of at most 200 matches were recorded. Resume with: ")
	_, stdout, _ := run(t.Context(), "league", "status", "--data", dir)
	assert.Contains(t, stdout, "Round 0 of at most 200. Results: 0 of at most 200 matches.\n")
}

// A fullDisk fails every write.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	for _, args := range [][]string{
		{"simulate", "--seed", "7", "--quiet", "--format", "table"},
		{"simulate", "--seed", "7", "--quiet", "--format", "json"},
		{"config"},
		{"schema"},
		{"schema", "--methods"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			assert.Equal(t, 1, cmd.Execute(t.Context(), "test", args, fullDisk{}, &stderr))
			assert.Contains(t, stderr.String(), errFull.Error())
		})
	}
}

func TestLogsOfASimulationGoToStandardErrorAlone(t *testing.T) {
	t.Parallel()
	p := start(t, "simulate", "--players", "3", "--seed", "7", "--log-level", "debug", "--format", "csv")
	require.Zero(t, p.awaitExit(t))
	assert.NotContains(t, p.stdout.String(), "{")
	agents := map[string]bool{}
	for _, line := range logLines(t, p.stderr.String()) {
		line.check(t)
		agents[line.AgentID] = true
	}
	for _, agent := range []string{"league_manager", "referee:REF01", "player:P01", "player:P03"} {
		assert.True(t, agents[agent], agent)
	}
}

// A thirdPartyPlayer is a third-party player.
type thirdPartyPlayer struct {
	url   string
	stamp string // of its answers; "" for the time
}

// startThirdPartyPlayer starts a player that answers the requests of a match, and refuses notices.
func startThirdPartyPlayer(t *testing.T, choice string) *thirdPartyPlayer {
	t.Helper()
	g := &thirdPartyPlayer{}
	g.url = serveAgent(t, func(_ context.Context, method string, params object) object {
		answer := answerOf("P01", choice, method, params)
		if answer != nil && g.stamp != "" {
			answer["timestamp"] = g.stamp
			if answer["arrival_timestamp"] != nil {
				answer["arrival_timestamp"] = g.stamp
			}
		}
		return answer
	})
	return g
}

// freeListenFlags lists the flags for a manager of a simulation at a free port that waits for no
// player.
func freeListenFlags(t *testing.T) []string {
	t.Helper()
	return []string{"simulate", "--seed", "7", "--port", freePort(t), "--wait", "0s"}
}

func TestSimulationReportsTechnicalLossesOfAnExternalPlayer(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "\x1b[31mmaybe")
	g.stamp = "2026-01-02T03:04:05"
	args := append(freeListenFlags(t), "--player", g.url, "--players", "2", "--strict", "--log-level", "error")
	code, stdout, stderr := run(t.Context(), args...)
	assert.Equal(t, 3, code)
	host := strings.TrimSuffix(strings.TrimPrefix(g.url, "http://"), "/mcp")
	_, below, found := strings.Cut(stdout, "\nChampion: random 2 (P02) with 3 points\n")
	require.True(t, found, stdout)
	assert.Equal(t, `No match has been decided by play yet: nothing can be said about the players.
Technical losses:
  R1M1  P01 `+host+`: P01 sent no valid CHOOSE_PARITY_RESPONSE (E004) - P02 wins by default
        E004 INVALID_PARITY_CHOICE: choice must be "even" or "odd", got "\x1b[31mmaybe"
        last answer to choose_parity, after 4 failures: {"message_type":"CHOOSE_PARITY_RESPONSE","timestamp":"2026-01-02T03:04:05","match_id":"R1M1","player_id":"P01","parity_choice":"\u001b[31mmaybe"}
To see what the player should have replied: evenodd check player `+g.url+`
Accepted, with a warning:
  P01 `+host+`: timestamp: a UTC time of the form YYYY-MM-DDTHH:MM:SSZ, 4 times
  P01 `+host+`: timestamp: a UTC time of the form YYYY-MM-DDTHH:MM:SSZ (and 1 more), once
`, below)
	assert.Contains(t, stderr, "evenodd: 1 technical loss\n")

	_, stdout, _ = run(t.Context(), append(args, "--format", "json")...)
	require.NoError(t, conform(stdout, outsideContract))
}

// outsideContract has the additional members of --format json for external players.
const outsideContract = `{
	"type": "object",
	"required": ["schema_version", "standings", "losses", "breaches"],
	"properties": {
		"schema_version": {"const": "1.0.0"},
		"standings": {"items": {"properties": {"endpoint": {"type": "string", "format": "uri"}}}},
		"losses": {"minItems": 1, "items": {
			"type": "object", "additionalProperties": false,
			"required": ["match_id", "round_id", "player_id", "reason"],
			"properties": {
				"match_id": {"type": "string"}, "round_id": {"type": "integer"}, "player_id": {"type": "string"}, "reason": {"type": "string"},
				"error_code": {"type": "string", "pattern": "^E0"}, "error_name": {"type": "string"}, "detail": {"type": "string"},
				"method": {"type": "string"}, "failures": {"type": "integer", "minimum": 1}, "answer": {"type": "string"}
			}
		}},
		"breaches": {"minItems": 1, "items": {
			"type": "object", "additionalProperties": false,
			"required": ["player_id", "problem", "count"],
			"properties": {"player_id": {"type": "string"}, "problem": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}
		}}
	}
}`

// Players of this program register by themselves, and end with the league.
func TestPlayersOfThisProgramAsExternalPlayers(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	place := "localhost:" + port
	var players []*process
	args := []string{"simulate", "--seed", "7", "--players", "3", "--port", port, "--wait", "1m", "--format", "json", "--strict"}
	for _, name := range []string{"Alpha", "Beta"} {
		p := start(t, "player", "--port", "0", "--manager", "http://"+place+"/mcp", "--name", name, "--data", "")
		url := p.await(t, `"endpoint":"([^"]+)"`)[1]
		players, args = append(players, p), append(args, "--player", url)
	}
	code, stdout, stderr := run(t.Context(), args...)
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "External players can register at http://"+place+"/mcp for 1m0s; --wait 0s skips this.\n")
	var league struct {
		Standings []struct {
			Name     string `json:"display_name"`
			Strategy string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &league))
	var names []string
	for _, row := range league.Standings {
		names = append(names, row.Name+" "+row.Strategy)
	}
	assert.ElementsMatch(t, []string{"Alpha external", "Beta external", "Player 03 random"}, names)
	for _, p := range players {
		assert.Zero(t, p.awaitExit(t), p.stderr.String())
		assert.Regexp(t, `^P0[12]: 2 played, .* of 3 with \d points?\.`, p.stdout.String())
	}
}

// Only the players of the command line can register.
func TestExternalPlayerRegistersByItself(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "even")
	p := start(t, "simulate", "--player", g.url, "--seed", "7", "--wait", "1m", "--port", "0")
	place := p.await(t, `External players can register at (http://localhost:\d+/mcp) for 1m0s`)[1]
	spy := resultOf(t, place, example(t, registerPlayer, examplePlayer, "http://localhost:9/mcp"))
	assert.Equal(t, []any{"REJECTED", "E014"}, []any{spy["status"], spy["error_code"]})
	own := resultOf(t, place, example(t, registerPlayer, examplePlayer, g.url))
	assert.Equal(t, "P01", own["player_id"])
	assert.Zero(t, p.awaitExit(t), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "│ Agent Alpha │ external │")
}

func TestInterruptedLeagueWithExternalPlayers(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "even")
	p := start(t, "simulate", "--player", g.url, "--seed", "7", "--wait", "1m", "--port", "0")
	p.await(t, `External players can register`)
	p.endByInterrupt(t)
	assert.Contains(t, p.stderr.String(), "evenodd: interrupted. A league with external players cannot be resumed; start a new one.\n")
	assert.Empty(t, p.stdout.String())
}
