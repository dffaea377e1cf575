package browsertest

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// A journalFile is the journal of a finished league, which becomes as long as a test says: as
// if the league was running.
type journalFile struct {
	t     *testing.T
	path  string
	lines [][]byte
	size  int // in lines
}

// rewound returns the journal of a league in a data folder, cut to a number of lines.
func rewound(t *testing.T, folder string, size int) *journalFile {
	t.Helper()
	j := &journalFile{t: t, path: store.Folder(folder).Journal(leagueOf(t, folder))}
	text, err := os.ReadFile(j.path)
	require.NoError(t, err)
	j.lines = slices.Collect(bytes.Lines(text))
	require.NoError(t, os.WriteFile(j.path, nil, 0o600))
	j.growTo(size)
	return j
}

// growTo appends lines until the journal has so many.
func (j *journalFile) growTo(size int) {
	j.t.Helper()
	file, err := os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(j.t, err)
	defer func() { require.NoError(j.t, file.Close()) }()
	for ; j.size < min(size, len(j.lines)); j.size++ {
		_, err := file.Write(j.lines[j.size])
		require.NoError(j.t, err)
	}
}

// find returns the number of lines up to the nth with a text.
func (j *journalFile) find(text string, n int) int {
	j.t.Helper()
	for i, line := range j.lines {
		if bytes.Contains(line, []byte(text)) {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	j.t.Fatalf("the journal has too few lines with %s", text)
	return 0
}
