package cmd

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy/external"
)

// The table of docs/protocol.md with the differences of the specification has the names and numbers that
// the program has.
func TestDifferencesOfTheSpecificationAreDecided(t *testing.T) {
	_, section, found := strings.Cut(readFile(t, "../docs/protocol.md"), "\n## Where the specification differs\n")
	require.True(t, found)
	rules, err := config.NewLoader("", known()).Rules(defaultLeague)
	require.NoError(t, err)
	l, retry := rules.League, rules.Retry
	root := store.In("/")
	path := func(path string) string {
		path = strings.TrimPrefix(filepath.ToSlash(path), "/")
		return "`" + strings.NewReplacer("LEAGUE", "<league_id>", "AGENT", "<agent_id>").Replace(path) + "`"
	}
	inLog := func(component, rest string) string { // the members of a line of a log
		const line = `{"message_type":"","conversation_id":"","message":"","event_type":"","agent_id":"","level":"","timestamp":"","x":1}`
		names := lists.Map(protocol.ParseObject(arranged([]byte(line), component)), func(m league.Member[jsontext.Value]) string {
			return "`" + m.Name + "`"
		})
		require.Equal(t, rest, names[len(names)-1])
		return strings.Join(names[:6], ", ") + ", and " + strings.Join(names[6:8], ", ")
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
		"form of tokens":              {"`tok-p01-`", fmt.Sprint(protocol.MaxTokenLength, " random")},
		"compact times":               {"E021"},
		"`time_remaining`":            {"in `retry_info`"},
		"receivers of ROUND_":         {"| players and referees"},
		"`query_params`":              {"optional"},
		"state of a player":           {"WAITING_FOR_ROUND", "SHUTDOWN"},
		"numbers of matches":          {"R1M1, R1M2, R2M1"},
		"E005":                        {"`" + protocol.ErrPlayerNotRegistered.Name() + "`", string(protocol.ErrTimeout), string(protocol.ErrConnection)},
		"members of log lines":        {inLog(protocol.RolePlayer, "`data`"), inLog(protocol.ManagerSender, "`details`"), "are in `data`", "in `details`"},
		"scope of the circuit":        {"for each endpoint", "60 s after 5 failures"},
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

// The page of the protocol tells the kinds of moves of games. Games that it does not list are
// allowed.
func TestProtocolPageHasTheMovesOfGames(t *testing.T) {
	_, section, found := strings.Cut(readFile(t, "../docs/protocol.md"), "\n### GAME_MOVE_CALL\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n### ")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `([a-z_]+)` \\|").FindAllStringSubmatch(section, -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		game, err := games().Game(row[1])
		require.NoError(t, err)
		assert.Equal(t, []string{row[2]}, game.Info().MoveTypes, row[1])
	}
}

const gamesPage = "../docs/games.md"

func TestGamesPageNamesEveryStrategy(t *testing.T) {
	_, table, found := strings.Cut(readFile(t, gamesPage), "\n| strategy | choice | use it |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		named = append(named, row[1])
	}
	assert.Equal(t, strings.Split(external.Names(true), ", "), named, "docs/games.md has a row for each strategy, in the order of the list")
}

// 'go test ./cmd -run TestGamesPage -update' writes the results into the page.
func TestGamesPageShowsWhatItsCommandsPrint(t *testing.T) {
	page, commands := readFile(t, gamesPage), 0
	block := regexp.MustCompile("(?s)```sh\nevenodd ([^\n]+)\n```\n\n<!-- generated -->\n```text\n(.*?)```\n")
	shown := block.ReplaceAllStringFunc(page, func(text string) string {
		commands++
		line := block.FindStringSubmatch(text)[1]
		return "```sh\nevenodd " + line + "\n```\n\n<!-- generated -->\n```text\n" + mustPrint(t, strings.Fields(line)...) + "```\n"
	})
	assert.Equal(t, 6, commands)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(gamesPage, []byte(shown), 0o644))
		return
	}
	assert.Equal(t, shown, page, "run 'go test ./cmd -run TestGamesPage -update' and read the change")
}

// simulated is the part of the JSON of a simulation that the figures of docs/detailed-report.md are about.
type simulated struct {
	Matches   int
	Standings []struct {
		Strategy                     string
		Played, Points, Wins, Losses int
	}
	Statistics struct {
		Equality struct{ P float64 }
	}
	Results []struct{ Status string }
}

func simulatedBy(t *testing.T, line string) (s simulated) {
	t.Helper()
	printed := mustPrint(t, strings.Fields(line+" --format json")...)
	require.NoError(t, json.Unmarshal([]byte(printed), &s))
	return s
}

// lost counts the matches that ended with a technical loss.
func (s *simulated) lost() (n int) {
	for _, r := range s.Results {
		if r.Status == league.StatusTechnicalLoss {
			n++
		}
	}
	return n
}

// of sums up the rows of a strategy.
func (s *simulated) of(strategy string) (played, losses int, points float64) {
	for _, r := range s.Standings {
		if r.Strategy == strategy {
			played, losses, points = played+r.Played, losses+r.Losses, points+float64(r.Points)
		}
	}
	return played, losses, points / float64(played)
}

// The figures of docs/detailed-report.md about simulations are those that its commands give.
func TestFiguresOfTheReportAreThoseOfTheirCommands(t *testing.T) {
	t.Parallel()
	text := readFile(t, "../docs/detailed-report.md")
	page := strings.Join(strings.Fields(text), " ")
	commands := map[string]string{}
	simulations := regexp.MustCompile("(?m)^\\| \\[(\\d+)\\] \\| `evenodd (simulate [^`]+)`")
	for _, row := range simulations.FindAllStringSubmatch(text, -1) {
		commands[row[1]] = row[2]
	}
	says := func(format string, values ...any) {
		t.Helper()
		assert.Contains(t, page, fmt.Sprintf(format, values...))
	}
	withRetries := func(n int) simulated {
		folder := t.TempDir()
		writeFile(t, fmt.Sprintf(`{"retry_policy": {"max_retries": %d}}`, n), folder, "config/system.json")
		return simulatedBy(t, strings.Replace(commands["1"], "--data cup", "--data "+folder, 1))
	}
	without, with := withRetries(0), withRetries(3)
	says("%d of %d matches end with a technical loss without retries, and %d of %d with them [1]", without.lost(), without.Matches, with.lost(), with.Matches)
	crash := simulatedBy(t, commands["4"])
	says("of the %d matches of a league, only the %d of the absent player", crash.Matches, crash.lost())
	luck := simulatedBy(t, commands["8"])
	_, _, contrarian := luck.of("contrarian")
	_, _, random := luck.of("random")
	says("Four of them gain %.2f points a match among four random players, who gain %.2f [8]", contrarian, random)
	says("finds no better player (p = %.2f)", luck.Statistics.Equality.P)
	perfect := simulatedBy(t, commands["9"])
	played, losses, _ := perfect.of("perfect")
	assert.Zero(t, losses)
	says("`perfect` loses none of its %d matches", played)
	four := simulatedBy(t, commands["10"])
	assert.Equal(t, []string{"lookahead", "lookahead"}, []string{four.Standings[0].Strategy, four.Standings[1].Strategy})
	assert.LessOrEqual(t, four.Statistics.Equality.P, 0.05)
	hands := simulatedBy(t, commands["11"])
	best := hands.Standings[0]
	says("`%s` beats `%s` in %d of %d matches", best.Strategy, hands.Standings[1].Strategy, best.Wins, best.Played)
}

// The report of 003 §6.5.1 has the parts that the specification asks for.
func TestDetailedReportHasItsParts(t *testing.T) {
	page, at := readFile(t, "../docs/detailed-report.md"), 0
	for _, part := range []string{
		"# Detailed report\n", "## Architecture and implementation\n", "## Difficulties and their solutions\n",
		"## Chosen strategies and reasons\n", "## Development and testing\n", "## Conclusions\n", "## Recommendations for improvement\n",
	} {
		found := strings.Index(page[at:], part)
		require.GreaterOrEqual(t, found, 0, part)
		at += found
	}
}
