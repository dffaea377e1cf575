package cmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A spreadsheet calculates cells that begin with these characters.
func TestNoCellOfCSVIsAFormula(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"=1+1", "@SUM(A1)", "+1-2", "-2+3", "-1.5", "+4", "-", "a=b", ""}}
	require.NoError(t, printCSV(&out, rows))
	assert.Equal(t, "'=1+1,'@SUM(A1),'+1-2,'-2+3,-1.5,+4,'-,a=b,\n", out.String())
}
