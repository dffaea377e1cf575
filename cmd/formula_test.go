package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A spreadsheet calculates cells that begin with these characters.
func TestNoCellOfCSVIsAFormula(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"=1+1", "@SUM(A1)", "+1-2", "-2+3", "-1.5", "+4", "-", "a=b", ""}}
	require.NoError(t, printCSV(&out, slices.Values(rows)))
	assert.Equal(t, "'=1+1,'@SUM(A1),'+1-2,'-2+3,-1.5,+4,'-,a=b,\n", out.String())
}

// The manager compares the names of a roster with those of agents.
func TestRosterKeepsNamesAsTheyAre(t *testing.T) {
	var out strings.Builder
	require.NoError(t, printCodes(&out, []string{"=x"}, ""))
	assert.Contains(t, out.String(), "\n=x,")
}
