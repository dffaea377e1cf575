package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A queriedLeague is over, and its manager still answers.
type queriedLeague struct {
	url, data string
	tokens    []string // of all agents
}

func newQueriedLeague(t *testing.T) *queriedLeague {
	t.Helper()
	q := &queriedLeague{data: filepath.Join(t.TempDir(), "SHARED")}
	m := startManager(t, "--players", "3", "--referees", "1")
	q.url = m.url
	for _, name := range []string{"Whistle", "Alpha", "Beta", "Gamma"} {
		role, id := "player", map[string]string{"Alpha": "P01", "Beta": "P02", "Gamma": "P03"}[name]
		if name == "Whistle" {
			role, id = "referee", "REF01"
		}
		m.join(t, role, "--name", name, "--id", id, "--data", q.data)
	}
	m.await(t, "The league is over; ")
	q.tokens = tokensIn(t, q.data)
	require.Len(t, q.tokens, 4)
	return q
}

// tokensIn returns the tokens of the agents of a data folder.
func tokensIn(t *testing.T, data string) (tokens []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(data, "private", "*-*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		var identity struct {
			AuthToken string `json:"auth_token"`
		}
		require.NoError(t, json.Unmarshal([]byte(readText(t, path)), &identity))
		require.NotEmpty(t, identity.AuthToken)
		tokens = append(tokens, identity.AuthToken)
	}
	return tokens
}

// ask runs a query, and returns its output and its exit code. No token is ever in
// either.
func (q *queriedLeague) ask(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	code, stdout, stderr = runIn(t, t.TempDir(), env, append([]string{"league", "--manager", q.url}, args...)...)
	for _, token := range q.tokens {
		assert.NotContains(t, stdout+stderr, token)
	}
	return stdout, stderr, code
}

// mustPrint returns the output of a successful query.
func (q *queriedLeague) mustPrint(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := q.ask(t, nil, append([]string{"--data", q.data, "--id", "P01"}, args...)...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	return stdout
}

// mustPrintJSON runs a query with --format json, and returns the document and its data.
func (q *queriedLeague) mustPrintJSON(t *testing.T, args ...string) (document, data object) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(q.mustPrint(t, append(args, "--format", "json")...)), &document))
	assert.Equal(t, "1.0.0", document["schema_version"])
	assert.Equal(t, "league_2025_even_odd", document["league_id"])
	return document, document["data"].(object)
}

func TestAgentAsksARunningManager(t *testing.T) {
	t.Parallel()
	q := newQueriedLeague(t)
	t.Run("text", func(t *testing.T) {
		assert.Regexp(t, `(?s)│ Rank │ Player │ Name +│ Played │.*│ +1 │ P0\d +│ \w+ +│ +2 │`, q.mustPrint(t, "standings"))
		assert.Regexp(t, `│ +3 │ R3M1 +│ P02 +│ P03 +│ http://localhost:\d+/mcp │ (WIN|DRAW) +│`, q.mustPrint(t, "schedule"))
		assert.Regexp(t, `(?s)R1M1.*R2M1.*R3M1`, q.mustPrint(t, "schedule", "--round", "all"))
		assert.Regexp(t, `│ next_match │ null +│`, q.mustPrint(t, "next-match"))
		assert.Regexp(t, `(?s)│ player_id +│ P01 .*│ display_name +│ Alpha .*│ played +│ 2 .*│ state +│ SHUTDOWN `, q.mustPrint(t, "stats"))
		assert.Regexp(t, `(?s)│ referee_id +│ REF01 .*│ display_name +│ Whistle .*│ state +│ SHUTDOWN `, q.mustPrint(t, "stats", "--player-id", "REF01"))
		assert.Regexp(t, `(?s)│ state +│ LEAGUE_COMPLETED +│.*│ recorded +│ 3 .*│ games +│ \["even_odd",`, q.mustPrint(t, "status"))
	})
	t.Run("json", func(t *testing.T) {
		document, data := q.mustPrintJSON(t, "standings")
		assert.Equal(t, "GET_STANDINGS", document["query_type"])
		assert.Len(t, data["standings"], 3)
		assert.EqualValues(t, 3, data["total_players"])
		_, data = q.mustPrintJSON(t, "schedule", "--round", "all")
		assert.Equal(t, "all", data["round_id"])
		assert.Len(t, data["matches"], 3)
	})
	t.Run("tokens", func(t *testing.T) {
		_, stderr, code := q.ask(t, nil, "status", "--data", q.data)
		assert.Equal(t, 2, code)
		assert.Contains(t, stderr, "evenodd: "+filepath.Join(q.data, "private")+" has the tokens of P01 Alpha, P02 Beta, P03 Gamma and REF01 Whistle: choose one with --id\n")
		_, stderr, code = q.ask(t, nil, "status", "--data", q.data, "--id", "P09")
		assert.Equal(t, 2, code)
		assert.Contains(t, stderr, "evenodd: --id: "+filepath.Join(q.data, "private")+" has no agent \"P09\"; did you mean P01 Alpha, P02 Beta or P03 Gamma?\n")
		stdout, stderr, code := q.ask(t, nil, "status", "--data", q.data, "--id", "REF01")
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, "LEAGUE_COMPLETED")
		_, stderr, code = q.ask(t, []string{"EVENODD_TOKEN=tok-p01-x"}, "status", "--data", q.data, "--id", "P01")
		assert.Zero(t, code, "the command line wins: %s", stderr)
		wrong := q.tokens[0] + "x"
		_, stderr, code = q.ask(t, []string{"EVENODD_TOKEN=" + wrong}, "status")
		assert.Equal(t, 1, code)
		assert.Regexp(t, `\Aevenodd: the query to the manager at \S+ failed: E012 AUTH_TOKEN_INVALID: auth_token is not that of a registered agent; `+
			`the agent is no longer registered there: register it again, or use the token of another with --id or EVENODD_TOKEN\n\z`, stderr)
	})
	t.Run("refused", func(t *testing.T) {
		_, stderr, code := q.ask(t, nil, "schedule", "--round", "9", "--data", q.data, "--id", "P01")
		assert.Equal(t, 1, code)
		assert.Equal(t, "evenodd: the manager at "+q.url+" refused the query: E006 MATCH_NOT_FOUND: round_id 9: the league has 3 rounds\n", stderr)
		_, stderr, code = q.ask(t, []string{"EVENODD_TOKEN=" + q.tokens[0]}, "status", "--league-id", "cup")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "refused the query: E017 LEAGUE_NOT_FOUND: ")
		elsewhere := &queriedLeague{url: "http://localhost:" + freePort(t) + "/mcp", tokens: q.tokens}
		_, stderr, code = elsewhere.ask(t, []string{"EVENODD_TOKEN=" + q.tokens[0]}, "status")
		assert.Equal(t, 1, code)
		assert.Regexp(t, `\Aevenodd: E009 CONNECTION_ERROR: nobody listens at \S+: .*: start the manager, or set --manager to another\n\z`, stderr)
		_, stderr, code = elsewhere.ask(t, nil, "status", "--data", q.data, "--id", "P01")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "has no agent that registered with the manager at "+elsewhere.url+": ", "a token is for the manager that issued it")
	})
	t.Run("another manager of the same league", func(t *testing.T) { // as far as its address tells
		other := &queriedLeague{url: strings.Replace(q.url, "127.0.0.1", "localhost", 1), tokens: q.tokens}
		require.NotEqual(t, q.url, other.url)
		_, stderr, code := other.ask(t, nil, "status", "--data", q.data, "--id", "P01", "--league-id", "league_2025_even_odd")
		assert.Equal(t, 1, code)
		assert.Equal(t, "evenodd: no token: "+filepath.Join(q.data, "private")+` has no agent of league "league_2025_even_odd" that registered with the manager at `+
			other.url+": set --manager to its URL, --data to the folder of an agent, or EVENODD_TOKEN\n", stderr)
		stdout, stderr, code := other.ask(t, []string{"EVENODD_TOKEN=" + q.tokens[0]}, "status", "--league-id", "league_2025_even_odd")
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, "LEAGUE_COMPLETED")
	})
	t.Run("settings", func(t *testing.T) {
		env := []string{"EVENODD_MANAGER=" + q.url, "EVENODD_DATA=" + q.data, "EVENODD_ID=P01"}
		code, _, stderr := runIn(t, t.TempDir(), env, "league", "status")
		require.Zero(t, code, stderr)
		assert.NoError(t, os.WriteFile(filepath.Join(q.data, "private", "player-damaged.json"), []byte("{"), 0o600))
		assert.Contains(t, q.mustPrint(t, "status"), "LEAGUE_COMPLETED", "what is no identity is left out")
	})
}

// As the help says, the URL of the manager comes from the data folder, also for an agent that has it in common with it.
func TestAgentFindsTheManagerOfItsFolder(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	m := startManager(t, "--players", "2", "--referees", "1", "--data", data)
	m.url = strings.Replace(m.url, "127.0.0.1", "localhost", 1)
	m.join(t, "referee", "--data", data)
	m.join(t, "player", "--count", "2", "--name", "Bot", "--data", data)
	m.await(t, "The league is over; ")
	assert.Regexp(t, `│ player_id +│ P01 `, mustRun(t, "league", "stats", "--data", data, "--id", "P01"))
}

// The tables of agents and organisers have all players, not only the 100 rows of one answer.
func TestTablesOfALargeLeagueHaveAllPlayers(t *testing.T) {
	t.Parallel()
	const players = 102 // the manager answers with 100 rows at most
	data, agents := t.TempDir(), t.TempDir()
	m := startManager(t, "--players", strconv.Itoa(players), "--tournament", "swiss", "--rounds", "1", "--data", data)
	m.join(t, "referee", "--max-concurrent", "10")
	m.join(t, "player", "--count", strconv.Itoa(players), "--name", "Bot", "--data", agents)
	m.await(t, "The league is over; ")
	for _, command := range [][]string{
		{"league", "standings", "--manager", m.url, "--data", agents, "--id", "P01"},
		{"league", "standings", "--data", data},
	} {
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(`│ (P\d{2,3}) +│`).FindAllStringSubmatch(mustRun(t, command...), -1) {
			ids[id[1]] = true
		}
		assert.Len(t, ids, players, "%v", command)
	}
}
