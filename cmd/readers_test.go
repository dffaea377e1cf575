package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
	"evenodd/league/view/report"
)

// printedBy runs a command line in this process. It returns the exit code, and what the command prints.
func printedBy(t *testing.T, args ...string) (code int, out, problem string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Execute(t.Context(), "test", args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// mustPrint returns what a command prints. It must succeed.
func mustPrint(t *testing.T, args ...string) string {
	t.Helper()
	code, out, problem := printedBy(t, args...)
	require.Zero(t, code, "%v: %s", args, problem)
	return out
}

// mustSimulate simulates a league, and returns its folder.
func mustSimulate(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	mustPrint(t, append([]string{"simulate", "--seed", "7", "--quiet", "--data", dir}, args...)...)
	return dir
}

func TestAuditNotesSettingsThatHaveChangedSinceTheStart(t *testing.T) {
	dir := t.TempDir()
	mustPrint(t, "init", dir)
	mustPrint(t, "simulate", "--players", "2", "--quiet", "--data", dir)
	const clean = "audited 1 match of league " + defaultLeague + ": no findings"
	assert.Equal(t, clean+"\n", mustPrint(t, "audit", dir))
	games, system, added := filepath.Join(dir, "config", "games", "games_registry.json"), filepath.Join(dir, "config", "system.json"),
		filepath.Join(dir, "config", "added.json")
	writeFile(t, strings.Replace(readFile(t, system), `"move_timeout_sec": 30`, `"move_timeout_sec": 29`, 1), system)
	require.NoError(t, os.Remove(games))
	writeFile(t, "{}", added)
	audited := mustPrint(t, "audit", dir)
	assert.Contains(t, audited, "config/system.json: note: config: this file has been changed since the league started (line ")
	assert.Contains(t, audited, "config/games/games_registry.json: note: config: this file is missing since the league started (line ")
	assert.Contains(t, audited, "config/added.json: note: config: this file has been added since the league started (line ")
	assert.Contains(t, audited, clean+", 3 notes\n")
}

func TestAuditNamesEachFinding(t *testing.T) {
	dir := mustSimulate(t, "--players", "2")
	assert.Equal(t, "audited 1 match of league "+defaultLeague+": no findings\n", mustPrint(t, "audit", dir))

	standings := store.In(dir).Standings(defaultLeague)
	writeFile(t, strings.Replace(readFile(t, standings), `"points": `, `"points": 7`, 1), standings)
	code, out, problem := printedBy(t, "audit", dir)
	assert.Equal(t, exitFound, code)
	assert.Equal(t, "evenodd: 1 finding\n", problem)
	assert.Regexp(t, "data/leagues/"+defaultLeague+`/standings.json:\d+: standings: `, out)
	assert.Contains(t, out, "audited 1 match of league "+defaultLeague+": 1 finding\n")

	code, out, _ = printedBy(t, "audit", dir, "--format", "json")
	assert.Equal(t, exitFound, code)
	var report struct {
		SchemaVersion string `json:"schema_version"`
		Dir           string `json:"dir"`
		OK            bool   `json:"ok"`
		Leagues       []struct {
			State    string `json:"state"`
			Findings []struct {
				Rule string `json:"rule"`
				File string `json:"file"`
			} `json:"findings"`
		} `json:"leagues"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Len(t, report.Leagues, 1)
	require.Len(t, report.Leagues[0].Findings, 1)
	assert.Equal(t, []string{"1.0.0", dir, "LEAGUE_COMPLETED", "standings"},
		[]string{report.SchemaVersion, report.Dir, report.Leagues[0].State, report.Leagues[0].Findings[0].Rule})
	assert.False(t, report.OK)
}

func TestReadersOfALeagueExplainWrongArguments(t *testing.T) {
	dir := mustSimulate(t, "--players", "2", "--faults", "referee-crash=REF01@R1")
	given := mustSimulate(t, "--players", "4")
	matches := filepath.Join(given, "data", "matches", "league_2025_even_odd")
	require.NoError(t, os.Rename(filepath.Join(matches, "R2M1.json"), filepath.Join(matches, "R2M1-a1.json")))
	require.NoError(t, os.Rename(filepath.Join(matches, "R2M2.json"), filepath.Join(matches, "R2M2-a2.json")))
	require.NoError(t, os.WriteFile(filepath.Join(matches, "R2M2-a10.json"), nil, 0o600))
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"audit", 2, "accepts 1 arg(s)"},
		{"audit a b", 2, "accepts 1 arg(s)"},
		{"audit --format xml .", 2, "must be text or json"},
		{"audit " + t.TempDir(), 1, "no league in"},
		{"audit nowhere", 1, "there is no folder nowhere: name the --data folder of a league"},
		{"audit --league-id other " + dir, 1, `no league "other"`},
		{"replay R7M1 --data " + dir, 1, "has no file of match R7M1 in "},
		{"replay R2M1 --data " + given, 1, "R2M1 in " + filepath.Join(given, "data", "matches", "league_2025_even_odd") +
			"; attempt 1 was given up, or its result does not count: --attempt 1 shows it"},
		{"replay R2M2 --data " + given, 1,
			"; 2 attempts were given up, or their results do not count: --attempt 10 shows the last"},
		{"replay ../x --data " + dir, 2, "want an id such as R1M2, or two players and a round"},
		{"replay R1M1 --attempt 9 --data " + dir, 1, "there is no file of attempt 9 at R1M1"},
		{"replay R1M1 --league-id x --data " + dir, 1, `no league "x"`},
		{"replay R1M1 --data " + filepath.Join(dir, "missing"), 1, "there is no folder"},
		{"replay R1M1 --format xml --data " + dir, 2, "must be text or json"},
		{"replay", 2, "name a match by its id, such as R1M1, or by two players and a round"},
		{"replay random_1 random_2 1 --data " + dir, 2, `no agent "random_1"; did you mean P01 random 1 or P02 random 2?`},
	} {
		code, out, problem := printedBy(t, strings.Fields(tt.args)...)
		assert.Equal(t, tt.code, code, tt.args)
		assert.Empty(t, out)
		assert.Contains(t, problem, tt.want, tt.args)
	}
}

func TestReplayShowsTheConversationOfAMatch(t *testing.T) {
	dir := mustSimulate(t, "--players", "4", "--faults", "crash=P03@R1-R3,referee-crash=REF01@R1")
	replay := func(args ...string) string {
		return mustPrint(t, append([]string{"replay", "--data", dir}, args...)...)
	}
	played := replay("R1M1")
	for _, want := range []string{
		`R1M1 of Even/Odd League: round 1, attempt \d, conducted by REF0\d Referee 0\d \(ACKNOWLEDGED\)`,
		`\d\d:\d\d:\d\d\.\d{3} .* REF0\d → P01 random 1  GAME_INVITATION: you are PLAYER_A against P0\d\n`,
		`\+\d+\.\d{3}s  P01 random 1 → REF0\d  GAME_JOIN_ACK: I accept`,
		`which matches its commitment`, `as the result says\.`, `Result: (WIN|DRAW)`, `Points: P01 random 1: \d, P02 random 2: \d\.`,
	} {
		assert.Regexp(t, want, played)
	}
	assert.Equal(t, played, replay("Random 2", "player:Player 01", "R1"), "by the names of the players")
	assert.Contains(t, replay("R1M1", "--attempt", "1"), "attempt 1")
	var told struct {
		Conversation []map[string]any `json:"conversation"`
		Draw         map[string]any   `json:"draw"`
	}
	require.NoError(t, json.Unmarshal([]byte(replay("R1M1", "--format", "json")), &told))
	assert.GreaterOrEqual(t, len(told.Conversation), 14)
	assert.Equal(t, true, told.Draw["commitment_holds"])
}

// A simulation and the files that it leaves give the same statistics.
func TestStatisticsOfASimulationAreThoseOfItsFiles(t *testing.T) {
	for name, flags := range map[string]string{
		"another game":        "--players 5 --legs 4 --game tic_tac_toe --strategies perfect,random,random,random,random",
		"with technical loss": "--players 11 --faults crash=P03@R2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			simulate := func(format string) string {
				line := "simulate --seed 7 --quiet --new-league --format " + format + " " + flags
				return mustPrint(t, append(strings.Fields(line), "--data", data)...)
			}
			var output struct {
				Statistics json.RawMessage `json:"statistics"`
			}
			require.NoError(t, json.Unmarshal([]byte(simulate("json")), &output))
			l := record.NewLeague()
			require.NoError(t, l.Update(t.Context(), record.NewFolder(store.In(data), defaultLeague), nil))
			fromFiles := l.Results(games()).Statistics()
			text, err := json.Marshal(fromFiles)
			require.NoError(t, err)
			assert.JSONEq(t, string(text), string(output.Statistics))
			assert.True(t, strings.HasSuffix(simulate("table"), "\n"+fromFiles.Told+"\n"), "the last line of the table")
		})
	}
}

// Both know whether the rules of the game treat the sides alike.
func TestPageShowsTheRatingsOfTheReport(t *testing.T) {
	folder, id := store.In("../testdata/leagues/finished"), "league_2025_even_odd"
	r, err := report.Read(t.Context(), folder, report.Options{LeagueID: id, Games: games()})
	require.NoError(t, err)
	shown, err := newLeaguePage(page.NewFolder(folder, id), page.Options{})
	require.NoError(t, err)
	defer shown.end()
	mux := http.NewServeMux()
	for _, m := range shown.mounts {
		mux.Handle(m.Pattern, m.Handler)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/statistics", http.NoBody))
	for _, one := range r.Statistics.Ratings {
		assert.Contains(t, w.Body.String(), fmt.Sprintf(`aria-label="%d to %d"`, int(math.Round(one.Low)), int(math.Round(one.High))), one.PlayerID)
	}
}

// The agents of a new league do not show the tokens that they had in the old one.
func TestNewLeagueInTheSameFolderLogsNoWarning(t *testing.T) {
	dir := mustSimulate(t, "--players", "2")
	code, _, problem := printedBy(t, "simulate", "--players", "2", "--data", dir, "--new-league")
	require.Zero(t, code, problem)
	assert.NotContains(t, problem, "WARN")
	code, _, problem = printedBy(t, "audit", dir)
	assert.Zero(t, code, problem)
}
