package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A thirdPartyPlayer is a third-party player.
type thirdPartyPlayer struct {
	url    string
	choice string
	accept bool
	stamp  string // of its answers; "" for the time of the request

	mu    sync.Mutex
	heard []string // the methods, in order
}

// startThirdPartyPlayer starts a player that answers the requests of a match, and refuses notices.
func startThirdPartyPlayer(t *testing.T, choice string) *thirdPartyPlayer {
	t.Helper()
	g := &thirdPartyPlayer{choice: choice, accept: true}
	s := httptest.NewServer(http.HandlerFunc(g.answer))
	t.Cleanup(s.Close)
	g.url = s.URL + "/mcp"
	return g
}

func (g *thirdPartyPlayer) answer(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ID     int    `json:"id"`
		Method string `json:"method"`
		Params object `json:"params"`
	}
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/mcp" || json.Unmarshal(body, &q) != nil {
		http.NotFound(w, r)
		return
	}
	g.mu.Lock()
	g.heard = append(g.heard, q.Method)
	g.mu.Unlock()
	stamp := q.Params["timestamp"]
	if g.stamp != "" {
		stamp = g.stamp
	}
	result := object{
		"protocol": "league.v2", "sender": "player:P01", "timestamp": stamp, "conversation_id": q.Params["conversation_id"],
		"auth_token": q.Params["auth_token"], "match_id": q.Params["match_id"], "player_id": "P01",
	}
	switch q.Method {
	case "handle_game_invitation":
		result["message_type"], result["arrival_timestamp"], result["accept"] = "GAME_JOIN_ACK", stamp, g.accept
	case "choose_parity":
		result["message_type"], result["parity_choice"] = "CHOOSE_PARITY_RESPONSE", g.choice
	default:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}`, q.ID)
		return
	}
	_ = json.NewEncoder(w).Encode(object{"jsonrpc": "2.0", "id": q.ID, "result": result})
}

// freeListenFlags lists the flags for a manager of a simulation at a free port that waits for no
// player.
func freeListenFlags(t *testing.T) []string {
	t.Helper()
	return []string{"simulate", "--seed", "7", "--listen", "localhost:" + freePort(t), "--wait", "0s"}
}

// externalJSON is the part of the output about external players.
type externalJSON struct {
	Standings []struct {
		PlayerID string `json:"player_id"`
		Name     string `json:"display_name"`
		Strategy string `json:"strategy"`
		Endpoint string `json:"endpoint"`
		Played   int    `json:"played"`
	} `json:"standings"`
	Results  []object `json:"results"`
	Losses   []object `json:"losses"`
	Breaches []object `json:"breaches"`
}

func TestExternalPlayerPlaysInASimulation(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "odd")
	code, stdout, stderr := run(t.Context(), append(freeListenFlags(t), "--player", g.url, "--players", "5", "--format", "json", "--strict", "--quiet")...)
	require.Zero(t, code, stderr)
	var league externalJSON
	require.NoError(t, json.Unmarshal([]byte(stdout), &league))
	require.Len(t, league.Standings, 5)
	for _, row := range league.Standings {
		if row.PlayerID != "P01" {
			assert.Empty(t, row.Endpoint)
			continue
		}
		assert.Equal(t, []any{strings.TrimSuffix(strings.TrimPrefix(g.url, "http://"), "/mcp"), "external", g.url, 4}, []any{row.Name, row.Strategy, row.Endpoint, row.Played})
	}
	for _, m := range league.Results {
		if chosen, plays := m["choices"].(object)["P01"]; plays {
			assert.Equal(t, "odd", chosen)
		}
	}
	assert.Empty(t, league.Losses)
	assert.Empty(t, league.Breaches)
	asked := 0
	for _, method := range g.heard {
		if method == "choose_parity" {
			asked++
		}
	}
	assert.Equal(t, 4, asked)
}

func TestSimulationReportsTechnicalLossesOfAnExternalPlayer(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "\x1b[31mmaybe")
	g.stamp = "2026-01-02T03:04:05"
	args := append(freeListenFlags(t), "--player", g.url, "--players", "2", "--strict", "--log-level", "error")
	code, stdout, stderr := run(t.Context(), args...)
	assert.Equal(t, 3, code)
	host := strings.TrimSuffix(strings.TrimPrefix(g.url, "http://"), "/mcp")
	_, below, found := strings.Cut(stdout, "\nChampion: Player 02 (P02) with 3 points\n")
	require.True(t, found, stdout)
	assert.Equal(t, `No match has been decided by play yet: nothing can be said about the players.
Technical losses:
  R1M1  P01 (`+host+`): P01 sent no valid CHOOSE_PARITY_RESPONSE (E004) - P02 wins by default
        E004 INVALID_PARITY_CHOICE: choice must be "even" or "odd", got "\x1b[31mmaybe"
        last answer to choose_parity, after 4 failures: {"message_type":"CHOOSE_PARITY_RESPONSE","timestamp":"2026-01-02T03:04:05","match_id":"R1M1","player_id":"P01","parity_choice":"\u001b[31mmaybe"}
To see what the player should have replied: evenodd check player `+g.url+`
Accepted, but not spec-compliant:
  P01 (`+host+`): timestamp: a UTC time of the form YYYY-MM-DDTHH:MM:SSZ, 4 times
  P01 (`+host+`): timestamp: a UTC time of the form YYYY-MM-DDTHH:MM:SSZ (and 1 more), once
`, below)
	assert.Contains(t, stderr, "evenodd: 1 technical loss: P01 1\n")

	_, stdout, _ = run(t.Context(), append(args, "--format", "json")...)
	var league externalJSON
	require.NoError(t, json.Unmarshal([]byte(stdout), &league))
	require.Len(t, league.Losses, 1)
	assert.Equal(t, []any{"R1M1", 1.0, "P01", "E004", "INVALID_PARITY_CHOICE", "choose_parity", 4.0}, []any{
		league.Losses[0]["match_id"], league.Losses[0]["round_id"], league.Losses[0]["player_id"],
		league.Losses[0]["error_code"], league.Losses[0]["error_name"], league.Losses[0]["method"], league.Losses[0]["failures"],
	})
	const local = "timestamp: a UTC time of the form YYYY-MM-DDTHH:MM:SSZ"
	assert.Equal(t, []object{{"player_id": "P01", "problem": local, "count": 4.0},
		{"player_id": "P01", "problem": local + " (and 1 more)", "count": 1.0}}, league.Breaches)
	conforms, err := compileSchema(outsideContract)
	require.NoError(t, err)
	var document any
	require.NoError(t, json.Unmarshal([]byte(stdout), &document))
	require.NoError(t, conforms.Validate(document))
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

func TestExternalPlayerThatRefusesInvitations(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "even")
	g.accept = false
	code, stdout, stderr := run(t.Context(), append(freeListenFlags(t), "--player", g.url, "--players", "2")...)
	require.Zero(t, code, stderr)
	assert.Regexp(t, `\nTechnical losses:\n  R1M1  P01 \([^)]+\): P01 refused the invitation - P02 wins by default\n        last answer to handle_game_invitation: \{.*"accept":false\}\nTo see what the player should have replied: evenodd check player http://[^ ]+\n$`, stdout)
}

// Players of this program register by themselves, and end with the league.
func TestPlayersOfThisProgramAsExternalPlayers(t *testing.T) {
	t.Parallel()
	place := "localhost:" + freePort(t)
	var players []*process
	args := []string{"simulate", "--seed", "7", "--players", "3", "--listen", place, "--wait", "1m", "--format", "json", "--strict"}
	for _, name := range []string{"Alpha", "Beta"} {
		p := start(t, "player", "--port", "0", "--manager", "http://"+place+"/mcp", "--name", name, "--data", "")
		url := p.await(t, `"endpoint":"([^"]+)"`)[1]
		players, args = append(players, p), append(args, "--player", url)
	}
	code, stdout, stderr := run(t.Context(), args...)
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "External players can register at http://"+place+"/mcp for 1m0s; --wait 0s skips this.\n")
	var league externalJSON
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

func TestMissingExternalPlayerIsAnError(t *testing.T) {
	t.Parallel()
	url := "http://localhost:" + freePort(t) + "/mcp"
	code, stdout, stderr := run(t.Context(), append(freeListenFlags(t), "--player", url)...)
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "evenodd: nobody listens at "+url+": start the agent, and look at its port\n", stderr)
}

// If another program has the default address of managers, the simulation registers the
// players. If another program has the port of --listen, the command fails.
func TestTakenListenAddressOfASimulation(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "even")
	taken := strings.TrimSuffix(strings.TrimPrefix(g.url, "http://"), "/mcp")
	code, _, stderr := run(t.Context(), "simulate", "--player", g.url, "--listen", taken, "--quiet")
	assert.Equal(t, 1, code)
	assert.Equal(t, "evenodd: "+taken+" is taken by another program: choose another address with --listen\n", stderr)

	p := start(t, "simulate", "--player", g.url, "--seed", "7", "--wait", "1m", "--listen", "localhost:0")
	place := p.await(t, `External players can register at (http://localhost:\d+/mcp) for 1m0s`)[1]
	status, body := fetch(t, http.MethodGet, strings.TrimSuffix(place, "/mcp")+"/healthz", nil)
	assert.Equal(t, http.StatusOK, status, string(body))
	spy := resultOf(t, place, example(t, registerPlayer, examplePlayer, "http://localhost:9/mcp"))
	assert.Equal(t, "REJECTED", spy["status"])
	assert.Equal(t, "E014", spy["error_code"])
	own := resultOf(t, place, example(t, registerPlayer, examplePlayer, g.url))
	assert.Equal(t, "P01", own["player_id"])
	assert.Zero(t, p.awaitExit(t), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "│ Agent Alpha │ external │")
}

func TestInterruptedLeagueWithExternalPlayers(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "even")
	p := start(t, "simulate", "--player", g.url, "--seed", "7", "--wait", "1m", "--listen", "localhost:0")
	p.await(t, `External players can register`)
	p.interrupt(t)
	assert.Equal(t, 130, p.awaitExit(t))
	assert.Contains(t, p.stderr.String(), "evenodd: interrupted. A league with external players cannot be resumed; start a new one.\n")
	assert.Empty(t, p.stdout.String())
}
