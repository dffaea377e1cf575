package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mustRun returns what a command prints in this process. It must succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t.Context(), args...)
	require.Zero(t, code, "%v: %s", args, stderr)
	return stdout
}

// A reportDocument is the part of a report that tests read.
type reportDocument struct {
	Standings []struct {
		PlayerID        string `json:"player_id"`
		TechnicalLosses int    `json:"technical_losses"`
	}
	Matches []struct {
		MatchID string `json:"match_id"`
		Status  string
	}
	Faults []struct {
		AgentID      string `json:"agent_id"`
		Kind, Remedy string
		Occurrences  []ofMatch
		Lost         int `json:"technical_losses"`
	}
	Transcripts []ofMatch
}

type ofMatch struct {
	MatchID string `json:"match_id"`
}

func readReport(t *testing.T, data string, args ...string) (r reportDocument, text string) {
	t.Helper()
	text = mustRun(t, append([]string{"report", data, "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	return r, text
}

// The report of a league with faults of players and of a referee.
func TestReportOfALeagueWithFaults(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	mustRun(t, "simulate", "--players", "8", "--seed", "4", "--data", data, "--quiet",
		"--faults", "drop=0.1,garbage=0.1,crash=P03@R2-R4,hang=P05@R3,referee-crash=REF02@R2")
	r, _ := readReport(t, data)
	page := mustRun(t, "report", data, "-o", "-")
	lost, kinds, own := map[string]int{}, map[string]int{}, 0
	for _, g := range r.Faults {
		lost[g.AgentID] += g.Lost
		kinds[g.Kind]++
		if g.AgentID == "P05" {
			own++
		}
		if g.Kind != "forfeit" && g.Kind != "local" {
			assert.NotEmpty(t, g.Remedy, "%+v", g)
		}
		assert.Contains(t, html.UnescapeString(page), fmt.Sprintf(`data-agent="%s" data-kind="%s"`, g.AgentID, g.Kind))
	}
	assert.Equal(t, len(r.Faults), strings.Count(page, `data-kind="`))
	for _, kind := range []string{"answer", "notice", "forfeit", "attempt"} {
		assert.Positive(t, kinds[kind], kind)
	}
	for _, row := range r.Standings {
		assert.Equal(t, row.TechnicalLosses, lost[row.PlayerID], "each technical loss of %s is explained", row.PlayerID)
	}
	shown := map[string]bool{}
	for _, one := range r.Transcripts {
		shown[one.MatchID] = true
	}
	for _, m := range r.Matches {
		if m.Status == "TECHNICAL_LOSS" {
			row := regexp.MustCompile(`(?s)<li id="result-` + m.MatchID + `".*?</li>`).FindString(page)
			assert.NotEqual(t, shown[m.MatchID], strings.Contains(row, "forfeited"), "%s was forfeited, or has a transcript", m.MatchID)
		}
	}
	assert.NotContains(t, page, "memory://")
	assert.Less(t, len(page), 260_000)

	sheet, _ := readReport(t, data, "--agent", "P05")
	assert.Len(t, sheet.Faults, own, "its own faults")
	assert.Len(t, sheet.Matches, 7)
	text := mustRun(t, "report", data, "--format", "text", "--agent", "P05")
	assert.Regexp(t, `\n    R3M\d, 4 tries, [-0-9]+ [0-9:]+ \S+: no answer in time\n`, text)
	assert.Contains(t, text, "was suspended: it did not answer in its last 3 matches")
	checkRunningReports(t, data)
}

// checkRunningReports cuts the journal off: the report of a running league tells nothing of matches
// without a result, of which the results files have transcripts already.
func checkRunningReports(t *testing.T, data string) {
	t.Helper()
	path := filepath.Join(data, "data", "leagues", crashLeague, "journal.jsonl")
	lines := strings.SplitAfter(readText(t, path), "\n")
	transcripts := 0
	for events := 1; events < len(lines); events += 40 {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines[:events], "")), 0o600))
		r, text := readReport(t, data)
		ended := map[string]bool{}
		for _, m := range r.Matches {
			ended[m.MatchID] = m.Status != "RUNNING" && m.Status != "SCHEDULED"
		}
		for _, one := range r.Transcripts {
			assert.True(t, ended[one.MatchID], one.MatchID)
			transcripts++
		}
		for _, g := range r.Faults {
			for _, one := range g.Occurrences {
				assert.True(t, ended[one.MatchID], one.MatchID)
			}
		}
		assert.NotContains(t, text, `"seed"`)
		assert.Contains(t, text, `"state": "unknown"`) // standings.json is of the whole journal
		assert.Contains(t, mustRun(t, "report", data, "-o", "-"), "</html>")
	}
	assert.Positive(t, transcripts)
}

// joinWordReferee registers a referee that asks no player and reports that the first wins.
func joinWordReferee(t *testing.T, m *manager) {
	t.Helper()
	var token string
	endpoint := serveAgent(t, func(_ context.Context, method string, params object) object {
		if method != "start_match" {
			return object{"status": "ok"}
		}
		a, b := params["player_A"].(object)["player_id"].(string), params["player_B"].(object)["player_id"].(string)
		report := object{
			"protocol": "league.v2", "message_type": "MATCH_RESULT_REPORT", "sender": "referee:REF01", "timestamp": time.Now().UTC().Format(time.RFC3339),
			"conversation_id": "conv-report", "auth_token": token, "league_id": params["league_id"], "round_id": params["round_id"],
			"match_id": params["match_id"], "game_type": "even_odd", "result": object{"winner": a, "score": object{a: 3, b: 0}},
		}
		body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "report_match_result", "params": report})
		assert.NoError(t, err)
		go func() {
			response, err := http.Post(m.url, "application/json", bytes.NewReader(body))
			if assert.NoError(t, err) {
				assert.NoError(t, response.Body.Close())
			}
		}()
		return object{"status": "ACCEPTED", "message_type": "MATCH_ASSIGNMENT_ACK", "match_id": params["match_id"]}
	})
	token = resultOf(t, m.url, example(t, registerReferee, exampleReferee, endpoint))["auth_token"].(string)
}

// The table, the exports, the report, the pages and the audit say which results rest on the word
// of a referee alone.
func TestResultsOnTheWordOfARefereeAreMarked(t *testing.T) {
	t.Parallel()
	data, page := t.TempDir(), filepath.Join(t.TempDir(), "report.html")
	m := startManager(t, "--players", "2", "--legs", "2", "--data", data, "--exit-when-done")
	joinWordReferee(t, m)
	for _, name := range []string{"Alpha", "Beta"} {
		m.join(t, "player", "--name", name, "--data", data)
	}
	const sentence = "2 results rest on the word of referee REF01 Referee Alpha alone."
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Contains(t, m.stdout.String(), sentence)
	assert.Equal(t, 1, strings.Count(m.stderr.String(), "RESULT_STATED"), "one warning for the referee")
	assert.Contains(t, mustRun(t, "league", "standings", "--data", data), sentence)
	assert.Contains(t, mustRun(t, "league", "schedule", "--data", data), "rests on the word of its referee")
	assert.Equal(t, 2, strings.Count(mustRun(t, "league", "export", "--data", data, "--format", "csv"), ",stated\n"))

	text := mustRun(t, "report", data, "--format", "text")
	assert.Contains(t, text, sentence)
	assert.Contains(t, text, "Not rated: 2 results on the word of a referee alone.")
	assert.NotContains(t, text, "No agent failed")
	mustRun(t, "report", data, "-o", page)
	assert.Contains(t, readText(t, page), sentence)
	assert.Equal(t, 2, strings.Count(readText(t, page), `title="rests on the word of its referee"`))
	assert.NotContains(t, readText(t, page), "No agent failed")

	assert.Contains(t, mustRun(t, "audit", data), "2 results rest on the word of referee REF01 alone")
	strict := start(t, "audit", "--strict", data)
	assert.Equal(t, 4, strict.awaitExit(t))
	assert.Contains(t, strict.stderr.String(), "evenodd: results that rest on the word of a referee alone: 2")
}
