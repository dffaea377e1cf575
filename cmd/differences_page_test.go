package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	table "evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A difference is a row of the table in docs/protocol.md.
type difference struct{ question, sources, choice string }

func differencesOfPage(t *testing.T) (rows []difference) {
	t.Helper()
	page, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Where the specification differs\n")
	require.True(t, found)
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") {
			require.Len(t, cells, 3, line)
			rows = append(rows, difference{strings.TrimPrefix(cells[0], "| "), cells[1], strings.TrimSuffix(cells[2], " |")})
		}
	}
	require.NotEmpty(t, rows)
	assert.Equal(t, difference{"question", "sources", "choice"}, rows[0])
	return rows[1:]
}

// numbersIn returns the numbers of a text in order.
func numbersIn(text string) (numbers []float64) {
	for _, n := range regexp.MustCompile(`\d+(?:\.\d+)?`).FindAllString(text, -1) {
		value, _ := strconv.ParseFloat(n, 64) // matches the expression
		numbers = append(numbers, value)
	}
	return numbers
}

// differenceChecks compare the choices that name a number or a setting with the program, by the
// beginning of the question.
func differenceChecks(t *testing.T) map[string]func(t *testing.T, choice string) {
	rules, err := config.NewLoader("", known()).Rules(defaultLeague)
	require.NoError(t, err)
	l, retry := rules.League, rules.Retry
	names := func(parts ...string) func(*testing.T, string) {
		return func(t *testing.T, choice string) {
			for _, part := range parts {
				assert.Contains(t, choice, part)
			}
		}
	}
	inFolder := func(path string) string {
		return "`" + filepath.ToSlash(strings.TrimPrefix(path, string(filepath.Separator))) + "`"
	}
	id := func(path string) string {
		return strings.NewReplacer("LEAGUE", "<league_id>", "AGENT", "<agent_id>").Replace(path)
	}
	root := store.Folder(string(filepath.Separator))
	return map[string]func(t *testing.T, choice string){
		"how a match starts": names("`"+protocol.StartMatch.Name+"`", protocol.StartMatch.Request, "`"+protocol.StartMatch.Aliases[1]+"`"),
		"attempts and retries": func(t *testing.T, choice string) {
			assert.Equal(t, []float64{float64(retry.MaxRetries)}, numbersIn(choice))
			assert.Contains(t, choice, []string{"one", "two", "three", "four", "five"}[retry.MaxRetries]+":")
			assert.Equal(t, retry.MaxRetries, protocol.DefaultRetryPolicy().MaxRetries)
		},
		"pauses between retries": func(t *testing.T, choice string) {
			assert.Contains(t, choice, "`backoff_strategy` `"+retry.Backoff+"` and `delay_sec` "+strconv.FormatFloat(retry.Delay, 'g', -1, 64)+" ")
			assert.Contains(t, choice, "2, 4 and 8 s, then every 8 s, for calls to the manager")
		},
		"time to acknowledge GAME_OVER": func(t *testing.T, choice string) {
			assert.Equal(t, protocol.NotifyMatchResult.Timeout, time.Duration(numbersIn(choice)[0])*time.Second)
			assert.InDelta(t, numbersIn(choice)[0], rules.Timeouts.Protocol().GameOver, 0)
		},
		"sides in the schedule": func(t *testing.T, choice string) {
			assert.Equal(t, []float64{9}, numbersIn(choice))
			names("the lower id is `"+protocol.RolePlayerA+"`")(t, choice)
			schedule, err := decide.CreateSchedule(&journal.Created{Legs: 2}, []string{"P01", "P02"}, 0)
			require.NoError(t, err)
			assert.Equal(t, "P01", schedule.Matches[0].PlayerAID)
			assert.Equal(t, "P02", schedule.Matches[1].PlayerAID, "the second leg")
		},
		"numbers of error codes": func(t *testing.T, _ string) {
			assert.Equal(t, "MISSING_REQUIRED_FIELD", protocol.ErrMissingField.Name())
			assert.Equal(t, "INVALID_TIMESTAMP", protocol.ErrInvalidTimestamp.Name())
		},
		"endpoints that do not answer yet": names("`registration_grace_sec` " + strconv.Itoa(l.RegistrationGrace)),
		"registered agents":                names(id(inFolder(root.Agents("LEAGUE"))), "`"+filepath.ToSlash(strings.TrimPrefix(config.NewLoader("", known()).Path(&config.Agents{}), string(filepath.Separator)))+"`"),
		"level of a warning":               names("`" + zerolog.LevelFieldMarshalFunc(zerolog.WarnLevel) + "`"),
		"paths of logs": names(
			id(inFolder(filepath.Join(root.LeagueLogs("LEAGUE"), "league"+store.LogEnd))), id(inFolder(filepath.Join(root.AgentLogs(), "AGENT"+store.LogEnd))),
			inFolder(openSystemLog(string(filepath.Separator), nil).path)),
		"ids": func(t *testing.T, _ string) { assert.Equal(t, "P01", protocol.PlayerID(1)) },
		"duplicate names": func(t *testing.T, choice string) {
			assert.True(t, l.UniqueDisplayNames)
			names("`unique_display_names: false`")(t, choice)
		},
		"`protocol_version`": func(t *testing.T, choice string) {
			assert.Contains(t, choice, "2.0.0 to "+protocol.Version+";")
			assert.Equal(t, 2, strings.Count(choice, protocol.Version))
		},
		"times": func(t *testing.T, _ string) {
			for _, accepted := range []string{"2026-03-01T10:00:00+00:00", "2026-03-01T10:00:00.5Z"} {
				assert.True(t, protocol.ValidTimestamp(accepted))
			}
			assert.Regexp(t, `:\d\dZ$`, protocol.FormatTimestamp(time.Now()))
		},
		"time between an announcement": names("`announce_lead_sec` "+strconv.Itoa(l.AnnounceLead)+";", "60 s"),
		"standings after each match": func(t *testing.T, choice string) {
			assert.Equal(t, config.BroadcastRound, l.Broadcast)
			names("`broadcast: "+config.BroadcastMatch+"`")(t, choice)
		},
		"order of the table": func(t *testing.T, choice string) {
			assert.True(t, strings.HasPrefix(choice, strings.Join(l.Scoring.Tiebreakers, ", ")+", id;"))
			assert.Equal(t, table.DefaultScoring().Tiebreakers, l.Scoring.Tiebreakers)
		},
		"messages of more than 10 KB": func(t *testing.T, choice string) {
			assert.Equal(t, []float64{protocol.MaxStandings, maxRequest >> 10, protocol.MaxAnnounced}, numbersIn(choice))
		},
		"missing members of a reply": func(t *testing.T, choice string) {
			assert.Equal(t, config.RepliesByMeaning, l.Replies)
			names("`replies: "+config.RepliesStrict+"`")(t, choice)
		},
	}
}

// The table has each difference that we know, its sources, and the choice of the program.
func TestDifferencesOfTheSpecificationAreDecided(t *testing.T) {
	rows, checks := differencesOfPage(t), differenceChecks(t)
	settings := map[string]bool{} // the names of all members of the files of a data folder
	for _, file := range []any{&config.System{}, &config.League{}} {
		text, err := json.Marshal(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(string(text), -1) {
			settings[name[1]] = true
		}
	}
	used := map[string]bool{}
	for _, row := range rows {
		assert.Regexp(t, `^00[0-4] §\d+(\.\d+)*(, §\d+(\.\d+)*)*(; 00[0-4] §\d+(\.\d+)*(, §\d+(\.\d+)*)*)*$`, row.sources, row.question)
		assert.NotEmpty(t, row.choice, row.question)
		checked := false
		for question, check := range checks {
			if strings.HasPrefix(row.question, question) && (question != "ids" || row.question == "ids") && (question != "times" || row.question == "times") {
				assert.False(t, used[question], "two rows begin with %q", question)
				used[question], checked = true, true
				t.Run(question, func(t *testing.T) { check(t, row.choice) })
			}
		}
		named := regexp.MustCompile(`\d (s|KB|rows|players)\b`).MatchString(row.choice) ||
			slices.ContainsFunc(regexp.MustCompile(`[a-z_]+`).FindAllString(row.choice, -1), func(word string) bool { return strings.Contains(word, "_") && settings[word] })
		assert.True(t, checked || !named || row.question == "`protocol_version`", "%s: the test does not compare the number or the setting of the choice", row.question)
	}
	assert.Len(t, used, len(checks), "a check has no row")
	for _, topic := range []string{
		"attempts and retries", "GAME_OVER: 5 or 10 s", "table 9 or table 16", "fixed or exponential", "WARN or WARNING", "paths of logs",
		"`agents_config.json` or `agents.json`", "`provided_token`", "INIT", "endpoints that do not answer yet",
	} {
		assert.True(t, slices.ContainsFunc(rows, func(d difference) bool { return strings.Contains(d.question, topic) }), "no row about %s", topic)
	}
}
