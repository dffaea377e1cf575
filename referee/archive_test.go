package referee

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

const stamp = "2025-01-15T10:30:00Z"

// writeMatch writes the file of a match of league L.
func writeMatch(t *testing.T, folder store.Folder, matchID string) {
	t.Helper()
	require.NoError(t, store.Write(folder.Match("L", matchID), &store.Match{MatchID: matchID}))
}

func archived(t *testing.T, folder store.Folder) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(string(folder), "archive", "*"))
	require.NoError(t, err)
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

func TestArchiveMovesTheMatchFilesOfAnOlderLeague(t *testing.T) {
	old := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		before  func(t *testing.T, folder store.Folder)
		between func(t *testing.T, folder store.Folder)
		moved   bool
	}{
		{name: "no files"},
		{
			name: "files", moved: true,
			before: func(t *testing.T, folder store.Folder) { writeMatch(t, folder, "R1M1") },
		},
		{
			name:    "files written after the registration began",
			between: func(t *testing.T, folder store.Folder) { writeMatch(t, folder, "R1M1") },
		},
		{
			name: "a file added later", before: func(t *testing.T, folder store.Folder) {
				writeMatch(t, folder, "R1M1")
				require.NoError(t, os.Chtimes(folder.Matches("L"), old, old))
			},
			between: func(t *testing.T, folder store.Folder) { writeMatch(t, folder, "R1M2") },
		},
		{
			name: "an attempt added later", before: func(t *testing.T, folder store.Folder) {
				require.NoError(t, store.Write(folder.Attempt("L", "R1M1", 1, "REF01"), &store.Match{}))
				require.NoError(t, os.Chtimes(folder.Attempts("L"), old, old))
			},
			between: func(t *testing.T, folder store.Folder) {
				require.NoError(t, store.Write(folder.Attempt("L", "R1M1", 1, "REF02"), &store.Match{}))
			},
		},
		{
			name: "files of another league", before: func(t *testing.T, folder store.Folder) {
				require.NoError(t, store.Write(folder.Match("another", "R1M1"), &store.Match{}))
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := store.Folder(t.TempDir())
			if test.before != nil {
				test.before(t, folder)
			}
			matches := folder.OldMatches()
			if test.between != nil {
				test.between(t, folder)
			}
			into, err := matches.Archive("L", stamp)
			require.NoError(t, err)
			if !test.moved {
				assert.Empty(t, into)
				assert.Empty(t, archived(t, folder))
				return
			}
			assert.Equal(t, []string{"L-2025-01-15T103000Z-matches"}, archived(t, folder))
			assert.FileExists(t, filepath.Join(into, "R1M1.json"))
			assert.NoDirExists(t, folder.Matches("L"))
		})
	}
}

func TestConcurrentRefereesArchiveOnce(t *testing.T) {
	folder := store.Folder(t.TempDir())
	writeMatch(t, folder, "R1M1")
	var archiving sync.WaitGroup
	for range 8 {
		matches := folder.OldMatches()
		archiving.Go(func() {
			_, err := matches.Archive("L", stamp)
			assert.NoError(t, err)
		})
	}
	archiving.Wait()
	assert.Len(t, archived(t, folder), 1)
	writeMatch(t, folder, "R1M1")
	into, err := folder.OldMatches().Archive("L", stamp)
	require.NoError(t, err)
	assert.Equal(t, "L-2025-01-15T103000Z-matches-2", filepath.Base(into), "two archives within a second")
}

// A new league may have the name of the last one, and its matches then have the same names.
func TestMatchesOfAnEarlierLeagueAreForgotten(t *testing.T) {
	over, running := &match{matchID: "R1M1", attempt: 1, final: &protocol.MatchResultReport{}}, &match{matchID: "R1M2", attempt: 1}
	r := &Referee{matches: map[string]*match{"R1M1": over, "R1M2": running}, reported: []string{"R1M1"}, confirmed: 1}
	r.forgetMatches()
	assert.Empty(t, r.matches, "they are played in the new league")
	assert.Empty(t, r.reported)
	assert.True(t, running.over(), "it ends")
	running.record(nil, true, "") // into no file
}
