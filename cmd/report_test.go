package cmd_test

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A faultyLeague is a simulated league with faults of players and of a referee.
func faultyLeague(t *testing.T) (data string) {
	t.Helper()
	data = t.TempDir()
	p := start(t, "simulate", "--players", "8", "--seed", "4", "--data", data, "--quiet",
		"--faults", "drop=0.1,garbage=0.1,crash=P03@R2-R4,hang=P05@R3,referee-crash=REF02@R2")
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	return data
}

// printed is what a command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	p := start(t, args...)
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	return p.stdout.String()
}

// A reportDocument is the part of a report that tests read.
type reportDocument struct {
	Standings []struct {
		PlayerID        string `json:"player_id"`
		TechnicalLosses int    `json:"technical_losses"`
	} `json:"standings"`
	Matches []struct {
		MatchID string  `json:"match_id"`
		Status  string  `json:"status"`
		Winner  *string `json:"winner_player_id"`
		A       string  `json:"player_A_id"`
		B       string  `json:"player_B_id"`
	} `json:"matches"`
	Faults []struct {
		AgentID     string `json:"agent_id"`
		Kind        string `json:"kind"`
		Remedy      string `json:"remedy"`
		Count       int    `json:"count"`
		Occurrences []struct {
			MatchID string `json:"match_id"`
		} `json:"occurrences"`
		Lost int `json:"technical_losses"`
	} `json:"faults"`
	Transcripts []struct {
		MatchID string `json:"match_id"`
	} `json:"transcripts"`
}

// Each technical loss of the table is the consequence of one fault with its cause.
func TestReportExplainsEachTechnicalLoss(t *testing.T) {
	t.Parallel()
	data := faultyLeague(t)
	var r reportDocument
	require.NoError(t, json.Unmarshal([]byte(printed(t, "report", data, "--format", "json")), &r))
	lost, kinds := map[string]int{}, map[string]int{}
	for _, g := range r.Faults {
		lost[g.AgentID] += g.Lost
		kinds[g.Kind]++
		assert.LessOrEqual(t, g.Lost, g.Count)
		if g.Kind != "forfeit" && g.Kind != "local" {
			assert.NotEmpty(t, g.Remedy, "%+v", g)
		}
	}
	total := 0
	for _, row := range r.Standings {
		assert.Equal(t, row.TechnicalLosses, lost[row.PlayerID], row.PlayerID)
		total += row.TechnicalLosses
	}
	assert.Positive(t, total)
	for _, kind := range []string{"answer", "notice", "forfeit", "attempt"} {
		assert.Positive(t, kinds[kind], kind)
	}

	// Each technical loss that a referee reported has its conversation.
	shown := map[string]bool{}
	for _, one := range r.Transcripts {
		shown[one.MatchID] = true
	}
	page := printed(t, "report", data, "-o", "-")
	for _, m := range r.Matches {
		if m.Status != "TECHNICAL_LOSS" {
			continue
		}
		row := regexp.MustCompile(`(?s)<tr id="` + m.MatchID + `".*?</tr>`).FindString(page)
		assert.NotEqual(t, shown[m.MatchID], strings.Contains(row, "is suspended"), m.MatchID) // forfeited, or played
	}
	// The HTML blames the same agents as often.
	for _, g := range r.Faults {
		assert.Contains(t, html.UnescapeString(page), fmt.Sprintf(`data-agent="%s" data-kind="%s"`, g.AgentID, g.Kind))
	}
	assert.Len(t, regexp.MustCompile(`data-kind="`).FindAllString(page, -1), len(r.Faults))
	assert.Equal(t, hashOf(page), hashOf(printed(t, "report", data, "-o", "-")))
	assert.NotContains(t, page, "memory://")
	assert.Less(t, len(page), 300_000)
}

// The sheet of an agent has all its faults, those of its opponents not.
func TestSheetHasTheFaultsOfItsAgent(t *testing.T) {
	t.Parallel()
	data := faultyLeague(t)
	var all, sheet reportDocument
	require.NoError(t, json.Unmarshal([]byte(printed(t, "report", data, "--format", "json")), &all))
	require.NoError(t, json.Unmarshal([]byte(printed(t, "report", data, "--format", "json", "--agent", "P05")), &sheet))
	own := 0
	for _, g := range all.Faults {
		if g.AgentID == "P05" {
			own++
		}
	}
	assert.Positive(t, own)
	assert.Len(t, sheet.Faults, own)
	assert.Len(t, sheet.Matches, 7)
	text := printed(t, "report", data, "--format", "text", "--agent", "P05")
	assert.Regexp(t, `\n    R3M\d, try 1, \S+Z: no answer in time\n`, text)
	assert.Contains(t, text, "was suspended: it did not answer in its last 3 matches")
}

// The report of a running league tells nothing of matches without a result, of which the results
// files have transcripts already.
func TestReportOfRunningLeagueKeepsRunningMatchesSecret(t *testing.T) {
	t.Parallel()
	data := faultyLeague(t)
	path := filepath.Join(data, "data", "leagues", "league_2025_even_odd", "journal.jsonl")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	transcripts := 0
	for events := 1; events < len(lines); events += 9 {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines[:events], "")), 0o600))
		var r reportDocument
		text := printed(t, "report", data, "--format", "json")
		require.NoError(t, json.Unmarshal([]byte(text), &r))
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
		if !strings.Contains(text, `"completed_at"`) {
			assert.NotContains(t, text, `"seed"`)
			assert.Contains(t, text, `"state": "unknown"`) // standings.json is of the whole journal
		}
		assert.Contains(t, printed(t, "report", data, "-o", "-"), "</html>")
		assert.NotEmpty(t, printed(t, "report", data, "--format", "text"))
	}
	assert.Positive(t, transcripts)
}
