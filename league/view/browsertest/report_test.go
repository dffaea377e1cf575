package browsertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reported writes the report of a league in a format, and returns its file.
func reported(t *testing.T, folder, format string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report."+format)
	start(t, "report", folder, "--format", format, "-o", file).succeeds()
	return file
}

func TestReportOpensFromDiskWithTheNumbersOfItsJSON(t *testing.T) {
	needsChromium(t)
	folder := played(t, "--faults", "drop=0.1,garbage=0.05")
	p := open(t, "file://"+reported(t, folder, "html"), desktop)
	type row struct {
		PlayerID    string `json:"player_id"`
		DisplayName string `json:"display_name"`
		Points      int    `json:"points"`
		Losses      int    `json:"losses"`
	}
	var want struct{ Standings []row }
	text, err := os.ReadFile(reported(t, folder, "json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	require.Len(t, want.Standings, 4)
	assert.Equal(t, want.Standings, get[[]row](p, `[...document.querySelectorAll('table.standings tbody tr')].map(row => {
		const column = name => row.cells[[...row.closest('table').tHead.rows[0].cells].findIndex(cell => cell.textContent == name)].textContent;
		return {player_id: row.id.replace('row-', ''), display_name: row.querySelector('.who bdi').textContent,
			points: Number(column('Points')), losses: Number(column('L'))};
	})`))
	p.do(chromedp.Focus(chromedp.CSS("#only")), chromedp.KeyEvent(kb.ArrowDown))
	p.await(`document.querySelectorAll('li[data-match][hidden]').length == 3`) // the player of the first option has 3 of 6 matches
	p.do(chromedp.Click(chromedp.CSS(`[data-line="P01"]`)))
	p.await(`document.getElementById('line-P01').hasAttribute('hidden')`)
	p.assertReadable("report")
}
