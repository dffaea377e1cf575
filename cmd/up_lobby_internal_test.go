package cmd

import (
	"fmt"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/lists"
	"evenodd/league/view/page"
)

func TestLobbyFitsTheTerminal(t *testing.T) {
	l := &lobby{
		title: "Spring Cup", count: "40 of 57 players, 1 referee", ends: "Start with 39 players? Press Enter.",
		joining: page.Joining{Manager: "http://192.0.2.7:8000/mcp", Page: "http://192.0.2.7:8000/"},
		silent:  []string{"P40 Far is not reached: connection refused. Nothing listens there."},
	}
	for i := range 39 {
		l.players = append(l.players, fmt.Sprintf("Team %d", i+1))
	}
	for i := range 17 {
		l.missing = append(l.missing, fmt.Sprintf("Late\x1b[2J %d", i+1))
	}
	for _, tt := range []struct {
		columns, rows int
		code          bool
	}{{40, 14, false}, {50, 60, false}, {80, 24, true}, {80, 19, false}, {120, 40, true}, {300, 100, true}} {
		block := l.draw(tt.columns, tt.rows)
		text := strings.Join(block, "\n")
		assert.Less(t, len(block), tt.rows, "%v", tt)
		for _, row := range block {
			assert.Less(t, lipgloss.Width(row), tt.columns, "%v: %q", tt, row)
		}
		assert.Equal(t, tt.code, strings.Contains(text, "▀"), "%v", tt)
		for _, part := range []string{"Spring Cup", "http://192.0.2.7:8000/", "40 of 57 players", "Team 1", "not reached", "Not here yet: ", "Press Enter."} {
			assert.Contains(t, text, part, "%v", tt)
		}
		assert.NotContains(t, text, "\x1b[2J", "%v", tt)
		if tt.columns == 40 {
			assert.Regexp(t, `and \d+ more`, text)
		}
		if tt.columns == 300 {
			assert.NotRegexp(t, `and \d+ more`, text)
		}
	}
	l.joining.Local = true
	assert.NotContains(t, strings.Join(l.draw(120, 40), "\n"), "▀", "no other computer reaches the address of a code")
}

func TestListSaysHowMuchDoesNotFit(t *testing.T) {
	names := lists.Map(strings.Fields("a b c d e f g h"), func(name string) string { return strings.Repeat(name, 10) })
	assert.Equal(t, []string{"Here: aaaaaaaaaa, bbbbbbbbbb,", "cccccccccc and 5 more"}, fitted("Here: ", names, 30, 2))
	assert.Len(t, fitted("", names, 30, 4), 4)
	assert.NotContains(t, strings.Join(fitted("", names, 30, 9), " "), "more")
	first, more := fitting(names, 11)
	assert.Len(t, first, 5)
	assert.Equal(t, 3, more)
	first, more = fitting(names, 3)
	require.Len(t, first, 1, "a small terminal scrolls")
	assert.Equal(t, 7, more)
}

func TestCodeWithoutColoursIsLightOnADarkTerminal(t *testing.T) {
	plain, coloured := codeRows("http://192.0.2.7:8000/", false), codeRows("http://192.0.2.7:8000/", true)
	require.Len(t, plain, len(coloured))
	assert.NotContains(t, strings.Join(plain, ""), "\x1b")
	assert.Equal(t, strings.Repeat("█", lipgloss.Width(coloured[0])), plain[0], "the margin is light")
	assert.Contains(t, coloured[0], strings.Repeat(" ", lipgloss.Width(plain[0])))
}
