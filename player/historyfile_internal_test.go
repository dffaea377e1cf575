package player

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
	"evenodd/player/strategy"
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

// A player that is given its matches may have signed others, if a power cut has emptied its file.
func TestPlayerWithAnEmptyFileMayHaveSigned(t *testing.T) {
	for text, complete := range map[string]bool{"": false, "missing": true} {
		d := memdisk.New(memdisk.Options{}).Process()
		folder := store.Folder{Disk: d, Path: "data"}
		path := store.HistoryLines(folder.History("P01"))
		require.NoError(t, d.MkdirAll(filepath.Dir(path), 0o755))
		if text == "" {
			f, err := d.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		random, err := strategy.New("random")
		require.NoError(t, err)
		p, err := New(Options{Options: membership.Options{Name: "A", Folder: folder, Clock: protocol.SystemClock()},
			Strategy: random, Past: []store.HistoryMatch{{}}})
		require.NoError(t, err)
		_, _, all := p.open(&membership.Membership{AgentID: "P01", LeagueID: "cup"}, true)
		assert.Equal(t, complete, all, "a file that is %q", text)
	}
}
