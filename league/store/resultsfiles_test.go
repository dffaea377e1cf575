package store_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// appendText appends to a file, or begins it.
func appendText(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestResultsFilesFollowWhatIsAppended(t *testing.T) {
	folder := store.Folder(t.TempDir())
	const league = "league_1"
	files := folder.NewResultsFiles(league)
	path := folder.Results(league, "REF01")
	header, err := json.Marshal(&store.ResultsHeader{SchemaVersion: store.SchemaVersion, LeagueID: league, RefereeID: "REF01"})
	require.NoError(t, err)
	line := func(match, state string) string {
		return `{"match_id":"` + match + `","attempt":1,"state":"` + state + `"}`
	}
	records := func(match string) string {
		t.Helper()
		found, err := files.Records(match, 1)
		if err != nil {
			require.ErrorIs(t, err, fs.ErrNotExist)
			return ""
		}
		var lines []string
		for _, one := range found {
			lines = append(lines, string(one))
		}
		return strings.Join(lines, "\n")
	}

	assert.Empty(t, records("R1M1"), "no file")
	appendText(t, path, string(header)+"\n"+line("R1M1", "FINISHED")+"\n"+line("R1M2", "FINI"))
	assert.Equal(t, line("R1M1", "FINISHED"), records("R1M1"))
	assert.Empty(t, records("R1M2"), "its line is incomplete")
	require.NoError(t, os.WriteFile(path, []byte(string(header)+"\n"+line("R1M1", "FINISHED")+"\n"+line("R1M2", "FINISHED")+"\n"), 0o600))
	appendText(t, path, line("R1M1", "ACKNOWLEDGED")+"\n")
	assert.Equal(t, line("R1M2", "FINISHED"), records("R1M2"))
	assert.Equal(t, line("R1M1", "FINISHED")+"\n"+line("R1M1", "ACKNOWLEDGED"), records("R1M1"))

	require.NoError(t, os.WriteFile(path, []byte(string(header)+"\n"+line("R1M3", "FINISHED")+"\n"), 0o600))
	assert.Equal(t, line("R1M3", "FINISHED"), records("R1M3"), "the file has become shorter")
	assert.Empty(t, records("R1M1"))
	appendText(t, folder.Delivered(league, "REF01"), string(header)+"\n"+line("R1M3", "DELIVERED")+"\n"+line("R1M4", "DELIVERED")+"\n")
	assert.Equal(t, line("R1M3", "FINISHED"), records("R1M3"), "the referee's own file has precedence")
	assert.Equal(t, line("R1M4", "DELIVERED"), records("R1M4"))
	require.NoError(t, os.Remove(path))
	assert.Equal(t, line("R1M3", "DELIVERED"), records("R1M3"))
}
