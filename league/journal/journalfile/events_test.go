package journalfile_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
)

// Reopened or not, a journal returns its lines from any number on.
func TestEventsAreLinesOfTheFile(t *testing.T) {
	raw := written(t)
	want := bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	const before = 5
	j, _, _, err := journalfile.Open(path, nil)
	require.NoError(t, err)
	for i, e := range events() {
		if i == before {
			require.NoError(t, j.Close())
			j, _, _, err = journalfile.Open(path, nil)
			require.NoError(t, err)
		}
		require.NoError(t, j.Append(when, e))
	}
	last, _ := j.Last()
	require.NoError(t, j.Sync(last))
	for from := 1; from <= last; from++ {
		for _, limit := range []int{1, 3, 100} {
			lines, newest, _, err := j.Events(from, limit)
			require.NoError(t, err)
			assert.Equal(t, last, newest)
			assert.Equal(t, want[from-1:min(last, from-1+limit)], lines, "%d from %d", limit, from)
		}
	}
	lines, _, more, err := j.Events(last+1, 1)
	require.NoError(t, err)
	assert.Empty(t, lines)
	require.NoError(t, j.Append(when, &journal.TailLost{Head: "h"}))
	<-more
	lines, _, _, err = j.Events(last+1, 1)
	require.NoError(t, err)
	assert.Len(t, lines, 1)
	_, _, more, err = j.Events(last+2, 1)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	<-more
	_, _, _, err = j.Events(last+2, 1)
	require.ErrorContains(t, err, "closed")
}

func TestEventsAreLimitedInBytes(t *testing.T) {
	j, _, _, err := journalfile.Open(filepath.Join(t.TempDir(), "journal.jsonl"), nil)
	require.NoError(t, err)
	require.NoError(t, j.Append(when, events()[0]))
	for range 3 {
		require.NoError(t, j.Append(when, &journal.TailLost{Head: string(bytes.Repeat([]byte("h"), 200<<10))}))
	}
	require.NoError(t, j.Sync(4))
	for from, want := range []int{1: 2, 2: 1, 3: 1, 4: 1} {
		if from > 0 {
			lines, _, _, err := j.Events(from, 100)
			require.NoError(t, err)
			assert.Len(t, lines, want, from)
		}
	}
	require.NoError(t, j.Close())
}
