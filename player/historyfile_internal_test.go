package player

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
)

// A decision in a rematch is durable before it is sent, also after a sync that has failed before.
func TestHistoryThatWasSyncedIsWholeAfterAFailedSync(t *testing.T) {
	o := memdisk.Options{}
	o.Chances[faults.FailedSync] = 0.3
	failed := 0
	for o.Seed = range 60 {
		machine := memdisk.New(o)
		member := &membership.Membership{AgentID: "P01", LeagueID: "cup"}
		d := historyFile{disk: machine.Process(), path: "history.json", member: member}
		require.NoError(t, d.write("A", []any{&store.HistoryMatch{Attempt: 1}}))
		for d.syncAll() != nil {
			failed++
		}
		machine.PowerCut()
		h, _, _, err := store.ReadHistoryLines(machine.Process(), store.HistoryLines(d.path))
		require.NoError(t, err, "seed %d", o.Seed)
		require.Len(t, h.Matches, 1)
	}
	assert.Positive(t, failed)
}
