package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

// simulated is the part of the JSON of a simulation that the figures of docs/lessons.md are about.
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
	var out, problems bytes.Buffer
	require.Zero(t, Execute(t.Context(), "test", strings.Fields(line+" --format json"), &out, &problems), "%s\n%s", line, problems.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), &s))
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

// The figures of docs/lessons.md about simulations are those that its commands give.
func TestFiguresOfTheLessonsAreThoseOfTheirCommands(t *testing.T) {
	text, err := os.ReadFile("../docs/lessons.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(text)), " ")
	commands := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| \\[(\\d+)\\] \\| `evenodd (simulate [^`]+)`").FindAllStringSubmatch(string(text), -1) {
		commands[row[1]] = row[2]
	}
	says := func(format string, values ...any) {
		t.Helper()
		assert.Contains(t, page, fmt.Sprintf(format, values...))
	}
	withRetries := func(n int) simulated {
		folder := t.TempDir()
		file := filepath.Join(folder, "config", "system.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"retry_policy": {"max_retries": %d}}`, n), 0o600))
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
