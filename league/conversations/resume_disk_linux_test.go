package conversations

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// fillDisk lets every write to the open journal fail as on a full disk: behind
// its descriptor is another file from now on.
func (x *tenure) fillDisk() {
	t := x.w.t
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	path, err := filepath.EvalSymlinks(x.folder.Journal(leagueID))
	require.NoError(t, err)
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	replaced := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			require.NoError(t, syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC))
			replaced++
		}
	}
	require.Equal(t, 1, replaced)
}

// What cannot be written down has not happened: no report is acknowledged, the
// manager ends and names its journal, and on a disk with room the next one gets
// the report that its referee has repeated ever since.
func TestAJournalOnAFullDisk(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder, files := folderOf(t), folderOf(t)
		x := w.tenure(folder, 4, 1)
		w.writer("REF01", files)
		w.players(4, slow(0, 3*second, 0))
		w.at(1 * second)
		x.fillDisk()
		<-x.over
		assert.Equal(t, 3, int(w.now()/second))
		assert.Nil(t, x.final)
		require.ErrorIs(t, x.failed, syscall.ENOSPC)
		assert.Contains(t, x.failed.Error(), "the journal")
		assert.Contains(t, x.failed.Error(), folder.Journal(leagueID))
		w.at(6 * second)
		reports := w.said(protocol.ReportMatchResult.Name)
		assert.GreaterOrEqual(t, len(reports), 4, "the referee asks again")
		for _, e := range reports {
			assert.Equal(t, -32603, e.failure().RPC)
			assert.NotContains(t, e.err.Error(), string(folder), "it is nobody else's business")
		}
		assert.Equal(t, []string{attemptFile(1), leagueID + "/attempts/R1M2.a1.REF01.json"}, filesOf(t, files))
		x.actor.stop()
		require.ErrorIs(t, x.close(), syscall.ENOSPC)

		w.at(20 * second)
		x = w.tenure(folder, 4, 1)
		x.finish()
		assert.Len(t, w.said(protocol.Invite.Name), 12, "nothing is played twice")
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		for m := range state.Matches() {
			assert.Len(t, m.Attempts, 1)
		}
	})
}

// Nor is anybody registered, or a league started.
func TestNothingIsPromisedOnAFullDisk(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 0, 1)
		w.referee("REF01")
		w.players(2)
		w.listener("alpha")
		synctest.Wait() // the agents have answered the manager's pings
		x.fillDisk()
		q := &protocol.ToolRequest{}
		q.AuthToken = x.manager.AdminToken()
		_, err := protocol.StartLeague.Call(w.life, w.stranger, w.manage(), q)
		require.Error(t, err)
		assert.Equal(t, -32603, protocol.AsError(err).RPC)
		<-x.over
		require.ErrorIs(t, x.failed, syscall.ENOSPC)
		x.actor.stop()
		require.Error(t, x.close())

		x = w.tenure(folder, 0, 1)
		assert.Equal(t, "WAITING_FOR_REGISTRATIONS", x.manager.Status().State)
		x.fillDisk()
		_, err = w.apply(w.application("Alpha"))
		require.Error(t, err)
		assert.Equal(t, -32603, protocol.AsError(err).RPC)
		<-x.over
		require.ErrorIs(t, x.failed, syscall.ENOSPC)
		x.actor.stop()
		require.Error(t, x.close())

		x = w.tenure(folder, 3, 1)
		r := w.player("Alpha", withoutID)
		assert.Equal(t, "P03", r.player.ID())
		x.finish()
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}
