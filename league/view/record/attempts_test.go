package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A match file that the manager wrote is no attempt with a transcript: a report must not show an empty conversation.
func TestMatchFileOfTheManagerIsNoTranscript(t *testing.T) {
	dir := store.Folder(t.TempDir())
	require.NoError(t, store.WriteDerived(dir.Match("cup", "R1M1"), &store.Match{
		SchemaVersion: store.SchemaVersion, LeagueID: "cup", RoundID: 1, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01",
		WrittenBy: store.WrittenByManager, Transcript: []store.Exchange{}, Lifecycle: store.Lifecycle{State: store.StateAcknowledged},
	}))
	_, err := dir.LoadMatch("cup", "R1M1")
	require.NoError(t, err)
	unreadable, err := record.NewFolder(dir, "cup").Attempts(func(doc *store.Match) error {
		t.Errorf("%s is visited", doc.MatchID)
		return nil
	})
	require.NoError(t, err)
	assert.Zero(t, unreadable)
}
