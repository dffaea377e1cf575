package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// The table of docs/protocol.md with the differences of the specification has the names and numbers that
// the program has.
func TestDifferencesOfTheSpecificationAreDecided(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Where the specification differs\n")
	require.True(t, found)
	rules, err := config.NewLoader("", known()).Rules(defaultLeague)
	require.NoError(t, err)
	l, retry := rules.League, rules.Retry
	root := store.Folder("/")
	path := func(path string) string {
		path = strings.TrimPrefix(filepath.ToSlash(path), "/")
		return "`" + strings.NewReplacer("LEAGUE", "<league_id>", "AGENT", "<agent_id>").Replace(path) + "`"
	}
	for question, parts := range map[string][]any{
		"how a match starts":               {protocol.StartMatch.Name, protocol.StartMatch.Request, "`" + protocol.StartMatch.Aliases[1] + "`"},
		"attempts and retries":             {fmt.Sprint("`max_retries` ", retry.MaxRetries), fmt.Sprint("`max_retries` ", protocol.DefaultRetryPolicy().MaxRetries)},
		"pauses between retries":           {fmt.Sprintf("`backoff_strategy` `%s` and `delay_sec` %v ", retry.Backoff, retry.Delay)},
		"time to acknowledge GAME_OVER":    {fmt.Sprint(protocol.NotifyMatchResult.Timeout.Seconds(), " s;"), fmt.Sprint(rules.Timeouts.Protocol().GameOver, " s;")},
		"sides in the schedule":            {"the lower id is `" + protocol.RolePlayerA + "`"},
		"endpoints that do not answer yet": {fmt.Sprint("`registration_grace_sec` ", l.RegistrationGrace, " ")},
		"registered agents":                {path(root.Agents("LEAGUE")), path(config.NewLoader("", known()).Path(&config.Agents{}))},
		"paths of logs": {path(filepath.Join(root.LeagueLogs("LEAGUE"), "league"+store.LogEnd)),
			path(filepath.Join(root.AgentLogs(), "AGENT"+store.LogEnd)), path(openSystemLog("/", testLogs, nil).path)},
		"duplicate names":             {fmt.Sprintf("`unique_display_names: %v`", !l.UniqueDisplayNames)},
		"`protocol_version`":          {"2.0.0 to " + protocol.Version + ";", "means " + protocol.Version},
		"time between an":             {fmt.Sprint("`announce_lead_sec` ", l.AnnounceLead, ";")},
		"standings after each match":  {"after every " + l.Broadcast, "`broadcast: " + journal.BroadcastMatch + "`"},
		"order of the table":          {"| " + strings.Join(l.Scoring.Tiebreakers, ", ") + ", id;"},
		"messages of more than 10 KB": {fmt.Sprint("at most ", protocol.MaxStandings, " rows"), fmt.Sprint("exceed ", maxRequest>>10, " KB"), fmt.Sprint("beyond ", protocol.MaxAnnounced, " players")},
		"missing members of a reply":  {"`replies: " + protocol.RepliesStrict + "`"},
	} {
		_, row, found := strings.Cut(section, "\n| "+question)
		if !assert.True(t, found, "no row about %s", question) {
			continue
		}
		row, _, _ = strings.Cut(row, "\n")
		for _, part := range parts {
			assert.Contains(t, row, part, question)
		}
	}
}
