package cmd_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// organise sends a command of the organiser by HTTP, and returns the answer.
func (m *manager) organise(t *testing.T, command string, members ...string) object {
	t.Helper()
	return call(t, m.url, decisionOf(t, m.admin(t), m.health(t)["league_id"].(string), command, members...))
}

// decisionOf is a call with a command of the organiser.
func decisionOf(t *testing.T, token, league, command string, members ...string) string {
	t.Helper()
	params := map[string]string{
		"auth_token": token, "league_id": league, "command": command, "by": "A. Smith", "reason": "so decided",
	}
	for i := 0; i < len(members); i += 2 {
		params[members[i]] = members[i+1]
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "method": "organise_league", "params": params, "id": 1})
	require.NoError(t, err)
	return string(body)
}

// health returns what GET /healthz of the manager shows.
func (m *manager) health(t *testing.T) (health object) {
	t.Helper()
	status, body := fetch(t, http.MethodGet, strings.TrimSuffix(m.url, "/mcp")+"/healthz", nil)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal(body, &health))
	return health
}

func TestDecisionsOfAnOrganiserOutliveTheManagerProcess(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	args := []string{"--players", "3", "--data", data, "--pace", "1s", "--exit-when-done"}
	m := awaitManager(t, startProcess(t, append([]string{"manager", "--port", "0"}, args...)...))
	done := m.organise(t, "pause")["result"].(object)
	assert.Equal(t, "DONE", done["status"])
	assert.Equal(t, "the league paused by A. Smith: so decided. Running matches finish, and no round begins before the league is resumed.", done["about"])
	m.join(t, "referee", "--data", data)
	for range 3 {
		m.join(t, "player", "--data", data)
	}
	m.await(t, `"event_type":"LEAGUE_STARTED"`)
	assert.Equal(t, true, m.health(t)["paused"])
	leagueError(t, m.organise(t, "pause"), 4005, "E008", "INVALID_MATCH_STATE")
	m.organise(t, "resume")
	m.await(t, `"event_type":"ROUND_COMPLETED"`)
	m.organise(t, "pause")
	done = m.organise(t, "rematch", "match_id", "R1M1")["result"].(object)
	assert.Contains(t, done["about"], "a rematch of R1M1 ordered by A. Smith")
	m.kill(t)

	u, err := url.Parse(m.url)
	require.NoError(t, err)
	m = &manager{process: start(t, append([]string{"manager", "--port", u.Port()}, args...)...), url: m.url}
	m.await(t, ` resumes: round 1 of 3`)
	assert.Equal(t, []any{true, 1.0}, []any{m.health(t)["paused"], m.health(t)["round"]})
	leagueError(t, m.organise(t, "rematch", "match_id", "R1M1"), 4005, "E008", "INVALID_MATCH_STATE")
	m.organise(t, "resume")
	m.await(t, `"event_type":"REMATCH_BEGINS"`)
	m.organise(t, "withdraw", "agent_id", "P03")
	require.Zero(t, m.awaitExit(t))

	audit := mustRun(t, "audit", data)
	for _, want := range []string{"the league paused by A. Smith", "a rematch of R1M1 ordered by A. Smith", "P03 withdrawn by A. Smith"} {
		assert.Contains(t, audit, want)
	}
}

// Of several organisers that make the same decision at once, one succeeds. The others are told
// by whom it was made.
func TestOneOfSeveralOrganisersMakesADecision(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "SHARED")
	startManager(t, "--data", data)
	organisers := map[string]*process{}
	for _, name := range []string{"Ann", "Ben", "Cid", "Dee"} {
		organisers[name] = start(t, "league", "pause", "--data", data, "--by", name)
	}
	var winner string
	var refused []string
	for name, p := range organisers {
		if p.awaitExit(t) == 0 {
			assert.Empty(t, winner, "one decision")
			winner = name
		} else {
			refused = append(refused, p.stderr.String())
		}
	}
	require.NotEmpty(t, winner)
	require.Len(t, refused, 3)
	for _, text := range refused {
		assert.Contains(t, text, "the league is paused already, by "+winner+" at ")
	}
	assert.Contains(t, mustRun(t, "league", "status", "--data", data), "Paused by "+winner+" since ")
}

// withCode starts an agent that has its code from the environment.
func (k *storedLeague) withCode(t *testing.T, role, name, code string) *process {
	t.Helper()
	return launch(t, t.TempDir(), []string{"EVENODD_REGISTRATION_CODE=" + code}, "evenodd",
		role, "--port", "0", "--name", name, "--data", k.data.Path, "--manager", k.url, "--log-level", "debug")
}

// secretRoster writes a roster of two players and a referee.
func secretRoster(t *testing.T) string {
	t.Helper()
	return tempFile(t, "class.csv",
		"name,code,role\nAlpha,sekret-alpha,\nBeta,sekret-beta1,\nWhistle,sekret-whistle,referee\n")
}

func TestRosterAdmitsItsAgentsAcrossARestart(t *testing.T) {
	t.Parallel()
	k := newStoredLeague(t)
	flags := []string{"--roster", secretRoster(t), "--log-level", "debug"}
	m := k.manager(t, flags...)
	m.await(t, `League \S+ at \S+ waits for 2 players and 1 referee\.`)
	agents := []*process{k.withCode(t, "referee", "Whistle", "sekret-whistle"), k.withCode(t, "player", "Alpha", "sekret-alpha")}
	m.await(t, `(?s)agent answered its first ping.*agent answered its first ping`)

	squatter := start(t, "player", "--port", "0", "--name", "Beta", "--manager", k.url, "--data", t.TempDir(), "--registration-code", "sekret-guess")
	assert.Equal(t, 1, squatter.awaitExit(t))
	assert.Contains(t, squatter.stderr.String(), `registration refused: registration_code is not that of "Beta"`)
	const meta = `"player_meta":{"display_name":"Beta","version":"1.0.0","game_types":["even_odd"],"contact_endpoint":"http://localhost:1/mcp"}`
	const envelope = `"protocol":"league.v2","message_type":"LEAGUE_REGISTER_REQUEST","sender":"player:beta","timestamp":"2026-01-01T00:00:00Z","conversation_id":"c1",`
	_, third := post(t, k.url, `{"jsonrpc":"2.0","id":1,"method":"register_player","params":{`+envelope+meta+`}}`)
	assert.Contains(t, string(third), `"REJECTED"`)
	assert.Contains(t, string(third), "registration_code is missing, and this league admits only the agents of its roster")
	_, tool := post(t, k.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"register_player","arguments":{`+
		envelope+meta+`,"registration_code":"sekret-alpha"}}}`)
	assert.Contains(t, string(tool), "registration_code is not that of", "a third-party form passes the code on")
	assert.NotContains(t, string(tool), "Alpha", "the refusal does not say whose code it is")
	_, health := fetch(t, http.MethodGet, strings.TrimSuffix(k.url, "/mcp")+"/healthz", nil)
	assert.Contains(t, string(health), `"roster":{"players":2,"referees":1}`)

	m.endByInterrupt(t)
	again := k.manager(t, flags...)
	again.await(t, `resumes: 1 players and 1 referees have registered`)
	agents = append(agents, k.withCode(t, "player", "Beta", "sekret-beta1"))
	require.Zero(t, again.awaitExit(t), again.stderr.String())
	for _, p := range agents {
		require.Zero(t, p.awaitExit(t), p.stderr.String())
		assert.NotContains(t, p.stderr.String(), "sekret")
	}
	mustRun(t, "audit", k.data.Path)
	assert.NotContains(t, m.stderr.String()+again.stderr.String()+squatter.stderr.String(), "sekret")
	for path, text := range textsIn(t, k.data.Path) {
		assert.NotContains(t, text, "sekret", path)
	}
}

// The commands and the roster of docs/leagues.md play a league.
func TestRosterOfTheGuidePlaysALeague(t *testing.T) {
	t.Parallel()
	page := sectionOf(t, "docs/leagues.md", "The roster")
	folder := folderOf(t, map[string]string{"class.csv": blocksOf(page, "csv")[0]})
	port := freePort(t)
	var all []*process
	for line := range strings.Lines(blocksOf(page, "sh")[0]) {
		words := strings.Fields(line)
		var env []string
		if strings.Contains(words[0], "=") {
			env, words = words[:1], words[1:]
		}
		more := []string{"--port", "0", "--manager", "http://localhost:" + port + "/mcp"}
		if words[1] == "manager" {
			more = []string{"--port", port}
		}
		all = append(all, launch(t, folder, env, words[0], append(words[1:], more...)...))
	}
	require.Len(t, all, 4)
	awaitSuccess(t, all...)
	assert.Contains(t, all[0].stdout.String(), "Champion: ")
}

func TestManagerStartsItsLeagueAtATime(t *testing.T) {
	t.Parallel()
	k := newStoredLeague(t)
	soon := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) // as soon as two players have answered
	m := k.manager(t, "--start-at", soon)
	m.await(t, `League \S+ at \S+ starts at \d{4}-\d\d-\d\d \d\d:\d\d \S+\.`)
	m.await(t, `The time of the start is past`)
	awaitSuccess(t, append(k.agents(t, 2), m)...)
	mustRun(t, "audit", k.data.Path)
}
