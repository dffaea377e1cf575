package cmd_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// organise sends a command of the organiser by HTTP, and returns the answer.
func (m *manager) organise(t *testing.T, command string, members ...string) object {
	t.Helper()
	params := map[string]string{"auth_token": m.admin, "league_id": m.league(t), "command": command, "by": "A. Smith", "reason": "so decided"}
	for i := 0; i < len(members); i += 2 {
		params[members[i]] = members[i+1]
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "organise_league", "params": params, "id": 1})
	require.NoError(t, err)
	return call(t, m.url, string(body))
}

// league returns the id of the manager's league.
func (m *manager) league(t *testing.T) string {
	t.Helper()
	return m.health(t)["league_id"].(string)
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
	m := startManager(t, args...)
	done := m.organise(t, "pause")["result"].(object)
	assert.Equal(t, "DONE", done["status"])
	assert.Equal(t, "the league paused by A. Smith: so decided. Running matches finish, and no round begins before the league is resumed.", done["about"])
	m.join(t, "referee", "--data", data)
	for range 3 {
		m.join(t, "player", "--data", data)
	}
	m.await(t, `"event_type":"THE_LEAGUE_BEGINS"`)
	assert.Equal(t, true, m.health(t)["paused"])
	leagueError(t, m.organise(t, "pause"), 4005, "E008", "INVALID_MATCH_STATE")
	m.organise(t, "resume")
	m.await(t, `"event_type":"ROUND_COMPLETED"`)
	m.organise(t, "pause")
	done = m.organise(t, "rematch", "match_id", "R1M1")["result"].(object)
	assert.Contains(t, done["about"], "a rematch of R1M1 ordered by A. Smith")
	require.NoError(t, m.cmd.Process.Kill())
	<-m.done

	u, err := url.Parse(m.url)
	require.NoError(t, err)
	token := m.admin
	m = &manager{process: start(t, append([]string{"manager", "--port", u.Port()}, args...)...), url: m.url}
	m.admin = m.await(t, `(?s) resumes: round 1 of 3.*Admin token for start_league: (adm-\S+)\n`)[1]
	assert.Equal(t, token, m.admin, "the admin token outlives the process")
	assert.Equal(t, []any{true, 1.0}, []any{m.health(t)["paused"], m.health(t)["round"]})
	leagueError(t, m.organise(t, "rematch", "match_id", "R1M1"), 4005, "E008", "INVALID_MATCH_STATE")
	m.organise(t, "resume")
	m.await(t, `"event_type":"REMATCH_BEGINS"`)
	m.organise(t, "withdraw", "agent_id", "P03")
	require.Zero(t, m.awaitExit(t))

	audit := output(t, "audit", data)
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
	assert.Contains(t, output(t, "league", "status", "--data", data), "Paused by "+winner+" since ")
}
