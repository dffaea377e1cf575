package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	hexText    = regexp.MustCompile(`\b[0-9a-f]{12,}\b`)
	speed      = regexp.MustCompile(`in [\w.]+, [\d,]+ matches/s`)
	lineNumber = regexp.MustCompile(`jsonl:\d+|\bline \d+`)
	cutHash    = regexp.MustCompile(`[0-9a-f]{12}…`)
)

// docs/checking-a-league.md and docs/report.md show a session: each command after "$ ", and what
// it prints. Hashes differ each time, because journals contain times. So a hash of the page stands
// for the one that the program printed in its place.
func TestCheckingALeaguePageShowsWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	runSession(t, "checking-a-league.md", 8)
}

func TestReportPageShowsWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	runSession(t, "report.md", 5)
}

// runSession runs the commands of a page, and compares what they print with the page.
func runSession(t *testing.T, page string, least int) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the page has shell commands")
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	require.NoError(t, err)
	dir, known, commands := t.TempDir(), map[string]string{}, 0
	same := func(text string) string {
		return hexText.ReplaceAllStringFunc(text, func(hash string) string {
			for page, printed := range known {
				if strings.HasPrefix(page, hash) {
					return printed[:len(hash)]
				}
			}
			return hash
		})
	}
	for _, block := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, session := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(session, "\n")
			commands++
			run := exec.CommandContext(t.Context(), "sh", "-c", same(command))
			run.Dir = dir
			printed, err := run.CombinedOutput() // findings exit with 4, and then say so
			require.NotNil(t, run.ProcessState, "%v", err)
			got := hexText.FindAllString(string(printed), -1)
			for i, hash := range hexText.FindAllString(want, -1) {
				if _, old := known[hash]; !old && len(hash) == 64 && i < len(got) {
					known[hash] = got[i]
				}
			}
			assert.Equal(t, withoutVariation(same(want)), withoutVariation(string(printed)), command)
		}
	}
	assert.Greater(t, commands, least)
}

// withoutVariation returns a text without what differs from league to league: the speed, the
// order of the matches of a round in a file, and hashes that are cut off.
func withoutVariation(text string) string {
	for _, differs := range []*regexp.Regexp{speed, lineNumber, cutHash} {
		text = differs.ReplaceAllString(text, "*")
	}
	return strings.TrimRight(text, "\n")
}
