package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
)

// A screen is a terminal of so many columns.
type screen struct {
	bytes.Buffer
	width int
}

func (s *screen) columns() int { return s.width }

// A printedTable has the arguments of printTable.
type printedTable struct {
	header []string
	rows   [][]any
}

// tablesOfCommands are tables as commands print them.
func tablesOfCommands() map[string]printedTable {
	name := "A team with a long name"
	return map[string]printedTable{
		"standings": {[]string{"Rank", "Player", "Name", "Strategy", "Played", "W", "D", "L", "Technical", "Points", "Buchholz"},
			[][]any{{1, "P01", name, "contrarian", 10, 5, 3, 2, 1, 18, 40}, {2, "P02", "חיה", "even", 10, 5, 2, 3, 0, 17, 38}}},
		"schedule": {[]string{"Round", "Match", "Player A", "Player B", "Referee", "Status", "Winner", "Remark"},
			[][]any{{1, "R1M1", "P01 " + name, "P02 " + name, "REF01", "COMPLETED", "P01", "ruled by the organiser"}}},
		"settings": {[]string{"Command", "Setting", "Value", "From"},
			[][]any{{"manager", "registration-timeout", "/a/long/path/without/any/space/in/its/name", "EVENODD_REGISTRATION_TIMEOUT"}}},
		"status": {[]string{"Agent", "Name", "State", "Failures", "Reason"},
			[][]any{{"P03", name, "suspended", 3, "it did not answer the last three invitations in time"}}},
	}
}

func TestTablesFitIntoTheTerminal(t *testing.T) {
	for name, one := range tablesOfCommands() {
		for _, width := range []int{60, 80, 120} {
			t.Run(fmt.Sprintf("%s at %d columns", name, width), func(t *testing.T) {
				s := &screen{width: width}
				require.NoError(t, printTable(s, one.header, one.rows))
				lines := strings.Split(strings.TrimSpace(s.String()), "\n")
				end := 0
				for end < len(lines) && !strings.HasPrefix(lines[end], "╰") {
					end++
				}
				require.Less(t, end, len(lines), "no lower border:\n%s", s)
				for _, line := range lines[:end+1] {
					assert.Equal(t, lipgloss.Width(lines[0]), lipgloss.Width(line), "a border is broken:\n%s", s)
					assert.LessOrEqual(t, lipgloss.Width(line), width, "a line is too wide:\n%s", s)
				}
				assert.Len(t, lines, end+1)
			})
		}
	}
}

func TestOutputThatIsNoTerminalHasAllColumns(t *testing.T) {
	for name, one := range tablesOfCommands() {
		var file bytes.Buffer
		wide := &screen{width: 500}
		require.NoError(t, printTable(&file, one.header, one.rows))
		require.NoError(t, printTable(wide, one.header, one.rows))
		assert.Equal(t, wide.String(), file.String(), name)
	}
}

func TestReportOfACheckFitsIntoTheTerminal(t *testing.T) {
	text := strings.Repeat("the agent answers within five seconds ", 4)
	report := &check.Report{Role: "player", URL: "http://localhost:8101/mcp", Findings: []check.Finding{
		{Requirement: check.Requirement{ID: "P-REG-01", Level: check.Must, Text: text}, Verdict: check.Pass, Detail: strings.Repeat("x", 200)},
	}}
	for _, width := range []int{40, 60, 80, 120} {
		s := &screen{width: width}
		require.NoError(t, printReport(s, report))
		for line := range strings.Lines(s.String()) {
			assert.LessOrEqual(t, lipgloss.Width(strings.TrimSuffix(line, "\n")), width, "%s", s)
		}
		assert.Equal(t, 4, strings.Count(s.String(), "seconds"), "%s", s)
		assert.Equal(t, 200, strings.Count(s.String(), "x"), "%s", s)
	}
}

// A spreadsheet calculates cells that begin with these characters.
func TestNoCellOfCSVIsAFormula(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"=1+1", "@SUM(A1)", "+1-2", "-2+3", "-1.5", "+4", "-", "a=b", ""}}
	require.NoError(t, printCSV(&out, rows))
	assert.Equal(t, "'=1+1,'@SUM(A1),'+1-2,'-2+3,-1.5,+4,'-,a=b,\n", out.String())
}
