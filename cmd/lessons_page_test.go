package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// simulated is the part of the JSON of a simulation that the figures of docs/lessons.md are about.
type simulated struct {
	Matches   int
	Standings []struct {
		PlayerID        string `json:"player_id"`
		Strategy        string
		Played, Points  int
		Wins, Losses    int
		TechnicalLosses int `json:"technical_losses"`
	}
	Statistics struct {
		Equality struct{ P float64 }
	}
	Results []struct{ Status string }
}

// program runs a command line of the page, and returns its output.
func program(t *testing.T, line string) string {
	t.Helper()
	var out, problems bytes.Buffer
	require.Zero(t, Execute(t.Context(), "test", strings.Fields(line), &out, &problems), "%s\n%s", line, problems.String())
	return out.String()
}

func simulatedBy(t *testing.T, line string) (s simulated) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(program(t, line+" --format json")), &s))
	return s
}

// lost counts the matches that ended with a technical loss.
func (s *simulated) lost() (n int) {
	for _, r := range s.Results {
		if r.Status == protocol.StatusTechnicalLoss {
			n++
		}
	}
	return n
}

// pointsOf returns the points per match of a strategy.
func (s *simulated) pointsOf(strategy string) float64 {
	points, played := 0, 0
	for _, r := range s.Standings {
		if r.Strategy == strategy {
			points, played = points+r.Points, played+r.Played
		}
	}
	return float64(points) / float64(played)
}

// The figures of docs/lessons.md are those that its commands give.
func TestFiguresOfTheLessonsAreThoseOfTheirCommands(t *testing.T) {
	text, err := os.ReadFile("../docs/lessons.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(text)), " ")
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 120)
	prose, _, found := strings.Cut(page, "## Figures")
	require.True(t, found)
	commands := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\[\d+\]) \| (.*) \|$`).FindAllStringSubmatch(string(text), -1) {
		commands[row[1]] = regexp.MustCompile("`([^`]+)`").FindStringSubmatch(row[2])[1]
		assert.Contains(t, prose, row[1], "no sentence has this figure")
	}
	for _, figure := range regexp.MustCompile(`\[\d+\]`).FindAllString(prose, -1) {
		assert.Contains(t, commands, figure, "no command gives this figure")
	}
	command := func(figure, name string) string {
		line, is := strings.CutPrefix(commands[figure], "evenodd ")
		require.True(t, is && strings.HasPrefix(line, name), "%s: %s", figure, commands[figure])
		return line
	}
	says := func(format string, values ...any) {
		t.Helper()
		assert.Contains(t, page, fmt.Sprintf(format, values...))
	}

	dir := t.TempDir()
	withRetries := func(n int) simulated { // [1]
		folder := filepath.Join(dir, fmt.Sprint("cup", n))
		program(t, "init "+folder)
		file := filepath.Join(folder, "config", "system.json")
		system, err := os.ReadFile(file)
		require.NoError(t, err)
		system = bytes.ReplaceAll(system, []byte(`"max_retries": 3`), fmt.Appendf(nil, `"max_retries": %d`, n))
		require.NoError(t, os.WriteFile(file, system, 0o600))
		return simulatedBy(t, strings.Replace(command("[1]", "simulate"), "--data cup", "--data "+folder, 1))
	}
	without, with := withRetries(0), withRetries(3)
	says("%d of %d matches end with a technical loss without retries, and %d of %d with them [1]", without.lost(), without.Matches, with.lost(), with.Matches)

	faults, err := os.ReadFile("../docs/faults.md") // [3]
	require.NoError(t, err)
	known := regexp.MustCompile(`(?m)^\| [\w.-]+ \| .* \| (?:under )?(\d+) (s|min) \|$`).FindAllStringSubmatch(string(faults), -1)
	seconds := 0.0
	for _, row := range known {
		seconds += numbersIn(row[1])[0] * map[string]float64{"s": 1, "min": 60}[row[2]]
	}
	says("in more than %d ways", len(known)/50*50)
	says("The leagues with these faults last more than %d hours", int(seconds/3600))

	crash := simulatedBy(t, command("[4]", "simulate"))
	says("of the %d matches of a league, only the %d of the absent player", crash.Matches, crash.lost())
	for _, r := range crash.Standings {
		assert.Equal(t, r.PlayerID == "P03", r.TechnicalLosses > 0, r.PlayerID)
	}

	cup := filepath.Join(dir, "audited")
	program(t, strings.Replace(command("[5]", "simulate"), "--data cup", "--data "+cup, 1))
	assert.Contains(t, program(t, "audit "+cup), "audited 28 matches")
	says("the audit of a league of 28 matches recomputes all of them and has no findings [5]")

	differences := differencesOfPage(t)
	says("Five documents answer %d questions", len(differences))

	same := program(t, command("[7]", "simulate")) // over HTTP
	for _, transport := range []string{"wire", "memory"} {
		assert.Equal(t, same, program(t, strings.Replace(command("[7]", "simulate"), "--transport http", "--transport "+transport, 1)))
	}

	luck := simulatedBy(t, command("[8]", "simulate"))
	says("Four of them gain %.2f points a match among four random players, who gain %.2f [8]", luck.pointsOf("contrarian"), luck.pointsOf("random"))
	says("finds no better player (p = %.2f)", luck.Statistics.Equality.P)
	played := 0
	for _, r := range simulatedBy(t, command("[9]", "simulate")).Standings {
		if r.Strategy == "perfect" {
			assert.Zero(t, r.Losses)
			played += r.Played
		}
	}
	says("`perfect` loses none of its %d matches", played)
	four := simulatedBy(t, command("[10]", "simulate"))
	assert.Equal(t, []string{"lookahead", "lookahead"}, []string{four.Standings[0].Strategy, four.Standings[1].Strategy})
	assert.LessOrEqual(t, four.Statistics.Equality.P, 0.05)
	hands := simulatedBy(t, command("[11]", "simulate"))
	best := hands.Standings[0]
	says("`%s` beats `%s` in %d of %d matches", best.Strategy, hands.Standings[1].Strategy, best.Wins, best.Played)

	names, err := os.ReadFile("../docs/third-party-agents.md")
	require.NoError(t, err)
	assert.Len(t, regexp.MustCompile("(?m)^\\| `start_match` \\|").FindAll(names, -1), 5)
	authors := regexp.MustCompile(`(?m)^\| ([A-P]) \|`).FindAll(names, -1)
	says("Programs of %d authors", len(authors))
	assert.True(t, slices.IsSortedFunc(authors, bytes.Compare))

	for _, figure := range []string{"[2]", "[3]", "[6]"} { // these tests exist, and check what the page says
		call := regexp.MustCompile(`go test \./(\S+) -run '?([^' ]+)`).FindStringSubmatch(strings.ReplaceAll(commands[figure], `\|`, "|"))
		require.NotNil(t, call, commands[figure])
		files, err := filepath.Glob(filepath.Join("..", call[1], "*_test.go"))
		require.NoError(t, err)
		var sources []byte
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			sources = append(sources, source...)
		}
		for _, test := range strings.Split(call[2], "|") {
			assert.Regexp(t, `\nfunc `+test, string(sources), figure)
		}
	}
}
