package journalfile

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// After a failed write, Append and Sync return the failure, and the file has all events
// that were synced before.
func TestFailedWriteIsReturnedToAllCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, _, _, err := Open(path, nil)
	require.NoError(t, err)
	created := &journal.Created{SchemaVersion: journal.SchemaVersion, LeagueID: "L", Legs: 1, Tiebreakers: []string{"points"}}
	require.NoError(t, j.Append("2026-01-01T00:00:00.000Z", created))
	require.NoError(t, j.Sync(1))
	_, _, more, err := j.Events(2, 1)
	require.NoError(t, err)
	require.NoError(t, j.file.Close(), "all writes fail from here on")

	var told sync.WaitGroup
	told.Go(func() { assert.ErrorContains(t, j.Failed(), "cannot write the journal") })
	for range 16 {
		told.Go(func() {
			if j.Append("2026-01-01T00:00:00.000Z", &journal.AgentRegistered{AgentID: "P01", Role: protocol.RolePlayer}) == nil {
				seq, _ := j.Last()
				assert.ErrorContains(t, j.Sync(seq), "Nothing that was acknowledged is lost")
			}
		})
	}
	told.Wait()
	require.ErrorContains(t, j.Append("2026-01-01T00:00:00.000Z", created), "cannot write the journal")
	require.NoError(t, j.Sync(1), "the first event was on disk before")
	<-more
	lines, _, _, err := j.Events(2, 1)
	assert.Empty(t, lines, "an event that is not on disk is not read")
	require.ErrorContains(t, err, "cannot write the journal")
	require.ErrorContains(t, j.Close(), "cannot write the journal")

	again, state, torn, err := Open(path, nil)
	require.NoError(t, err)
	assert.Nil(t, torn)
	assert.Equal(t, 1, state.Events)
	require.NoError(t, again.Close())
}
