package store_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

// A meddledDisk calls a function after the first renaming.
type meddledDisk struct {
	disk.Disk

	then func()
}

func (d *meddledDisk) Rename(from, to string) error {
	err := d.Disk.Rename(from, to)
	if then := d.then; then != nil {
		d.then = nil
		then()
	}
	return err
}

// A referee writes the file of its attempt while the manager makes it that of the match.
func TestRefusedResultIsNotWrittenOverOneThatCounts(t *testing.T) {
	f := store.In(t.TempDir())
	doc := store.Match{Header: store.NewHeader("2025-01-01T00:00:00Z"), LeagueID: "league", MatchID: "R1M1", Attempt: 1}
	refused := doc
	refused.Lifecycle.State, doc.Lifecycle.State = protocol.StateDisputed, protocol.StateAcknowledged
	require.NoError(t, f.WriteAttempt(&refused))
	f.Disk = &meddledDisk{Disk: f.Disk, then: func() { assert.NoError(t, f.WriteAttempt(&refused)) }}
	require.NoError(t, f.CountAttempt(&doc))
	counts, err := f.LoadMatch("league", "R1M1")
	require.NoError(t, err)
	assert.Equal(t, protocol.StateAcknowledged, counts.Lifecycle.State)
}
