package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// unstartedLeague returns a folder with a league that has not started.
func unstartedLeague(t *testing.T) store.Folder {
	t.Helper()
	dir := store.Folder(t.TempDir())
	j, _, _, err := journalfile.Open(dir.Journal("cup"), nil)
	require.NoError(t, err)
	require.NoError(t, j.Append("2026-01-01T00:00:00.000Z", &journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: "cup", GameType: "even_odd", Legs: 1,
		Scoring: protocol.Scoring{Win: 3, Draw: 1}, Tiebreakers: []string{"points"},
	}))
	for _, id := range []string{"P01", "P02"} {
		require.NoError(t, j.Append("2026-01-01T00:00:00.000Z", &journal.AgentRegistered{
			AgentID: id, Role: protocol.RolePlayer, DisplayName: "Player " + id, Endpoint: "http://localhost/mcp", Generation: 1,
		}))
	}
	require.NoError(t, j.Close())
	return dir
}

// damageJournal flips a byte of the second line of the journal.
func damageJournal(t *testing.T, dir store.Folder) {
	t.Helper()
	raw, err := os.ReadFile(dir.Journal("cup"))
	require.NoError(t, err)
	changed := strings.Replace(string(raw), "Player P01", "Player P0\x31 the Great", 1)
	require.NoError(t, os.WriteFile(dir.Journal("cup"), []byte(changed), 0o600))
}

// runCommand runs one command as the root command does.
func runCommand(t *testing.T, construct func(streams) *cobra.Command, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	c := construct(streams{&b, &b})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return b.String(), err
}

func TestAuditOfACorrectLeagueHasNoFindings(t *testing.T) {
	out, err := runCommand(t, newAudit, string(unstartedLeague(t)))
	require.NoError(t, err)
	assert.Equal(t, "audited 0 matches of league cup: no findings; not started\n", out)
}

func TestAuditNamesEachFinding(t *testing.T) {
	dir := unstartedLeague(t)
	damageJournal(t, dir)
	out, err := runCommand(t, newAudit, string(dir))
	assert.Equal(t, exitFound, exitCode(err))
	assert.EqualError(t, err, "1 finding")
	assert.Contains(t, out, "data/leagues/cup/journal.jsonl:3: hash_chain: it does not follow the line before")
	assert.Contains(t, out, "audited 0 matches of league cup: 1 finding; not started\n")

	out, err = runCommand(t, newAudit, string(dir), "--format", "json")
	assert.Equal(t, exitFound, exitCode(err))
	var report struct {
		SchemaVersion string `json:"schema_version"`
		Dir           string `json:"dir"`
		OK            bool   `json:"ok"`
		Leagues       []struct {
			LeagueID string `json:"league_id"`
			State    string `json:"state"`
			Findings []struct {
				Rule string `json:"rule"`
				File string `json:"file"`
				Line int    `json:"line"`
			} `json:"findings"`
		} `json:"leagues"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, "1.0.0", report.SchemaVersion)
	assert.Equal(t, string(dir), report.Dir)
	assert.False(t, report.OK)
	require.Len(t, report.Leagues, 1)
	assert.Equal(t, "WAITING_FOR_REGISTRATIONS", report.Leagues[0].State)
	require.Len(t, report.Leagues[0].Findings, 1)
	assert.Equal(t, 3, report.Leagues[0].Findings[0].Line)
}

func TestAuditReportsWrongArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"--format", "xml", "."}} {
		_, err := runCommand(t, newAudit, args...)
		assert.Equal(t, exitUsage, exitCode(err))
	}
	_, err := runCommand(t, newAudit, t.TempDir())
	require.ErrorContains(t, err, "no league in")
	_, err = runCommand(t, newAudit, "nowhere")
	require.ErrorContains(t, err, "there is no folder nowhere: name the --data folder of a league")
	_, err = runCommand(t, newAudit, "--league-id", "other", string(unstartedLeague(t)))
	require.ErrorContains(t, err, `no league "other"`)
}
