package manager_test

import (
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// fillDisk makes every write to the open journal fail with ENOSPC.
func fillDisk(x *leaguetest.ManagerRun) {
	leaguetest.FillDisk(x.World.T, x.Folder.Journal(leaguetest.LeagueID))
}

// If the journal cannot be written, no report is acknowledged and the manager ends with an
// error that names the journal. With free disk space, the next manager gets the repeated
// report.
func TestReportIsNotAcknowledgedOnAFullDisk(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.RefereeWithFiles("REF01", files)
		w.Players(4, leaguetest.WithDelays(0, 3*leaguetest.Second, 0))
		w.WaitUntil(1 * leaguetest.Second)
		fillDisk(x)
		<-x.Done
		assert.Equal(t, 3, int(w.Now()/leaguetest.Second))
		assert.Nil(t, x.Final)
		require.ErrorIs(t, x.Err, syscall.ENOSPC)
		assert.Contains(t, x.Err.Error(), "the journal")
		assert.Contains(t, x.Err.Error(), folder.Journal(leaguetest.LeagueID))
		w.WaitUntil(6 * leaguetest.Second)
		reports := w.Calls(protocol.ReportMatchResult.Name)
		assert.GreaterOrEqual(t, len(reports), 4, "the referee retries")
		for _, e := range reports {
			assert.Equal(t, -32603, e.ProtocolError().RPC)
			assert.NotContains(t, e.Err.Error(), folder.Path, "local paths are not sent to other agents")
		}
		assert.Equal(t, []string{leaguetest.AttemptFile(1), leaguetest.LeagueID + "/R1M2-a1.json"}, leaguetest.MatchFiles(t, files))
		x.Agent.Stop()
		require.ErrorIs(t, x.CloseFiles(), syscall.ENOSPC)

		w.WaitUntil(20 * leaguetest.Second)
		x = w.StartManagerIn(folder, 4, 1)
		state := finish(x)
		assert.Len(t, w.Calls(protocol.Invite.Name), 12, "no match is played twice")
		for _, m := range state.Matches() {
			assert.Len(t, m.Attempts, 1)
		}
	})
}

func TestRegistrationAndStartFailOnAFullDisk(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1)
		w.Referee("REF01")
		w.Players(2)
		w.PingOnly("alpha")
		synctest.Wait() // the agents have answered the manager's pings
		fillDisk(x)
		_, err := startLeague(w, x.Manager.AdminToken())
		require.Error(t, err)
		assert.Equal(t, -32603, protocol.AsError(err).RPC)
		<-x.Done
		require.ErrorIs(t, x.Err, syscall.ENOSPC)
		x.Agent.Stop()
		require.Error(t, x.CloseFiles())

		x = w.StartManagerIn(x.Folder, 0, 1)
		assert.Equal(t, "WAITING_FOR_REGISTRATIONS", x.Manager.Status().State)
		fillDisk(x)
		_, err = w.Apply(w.Application("Alpha"))
		require.Error(t, err)
		assert.Equal(t, -32603, protocol.AsError(err).RPC)
		<-x.Done
		require.ErrorIs(t, x.Err, syscall.ENOSPC)
		x.Agent.Stop()
		require.Error(t, x.CloseFiles())

		x = w.StartManagerIn(x.Folder, 3, 1)
		r := w.Player("Alpha", leaguetest.WithoutID)
		assert.Equal(t, "P03", r.Player.ID())
		finish(x)
	})
}

// What is not on disk may be decided otherwise after a restart: another referee, or an attempt with the same number.
func TestNothingIsToldOnAFullDisk(t *testing.T) {
	for name, test := range map[string]struct {
		pause func(o *manager.Options) // before the event
		call  string                   // that tells of it
	}{
		"announcement of a round": {func(o *manager.Options) { o.Pace = 2 }, protocol.NotifyRound.Name},
		"offer of a match":        {func(o *manager.Options) { o.AnnounceLead = 2 }, protocol.StartMatch.Name},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, test.pause)
			w.Referee("REF01")
			w.Players(2)
			w.WaitUntil(1 * leaguetest.Second)
			require.NotEqual(t, "WAITING_FOR_REGISTRATIONS", x.Manager.Status().State)
			fillDisk(x)
			<-x.Done
			require.ErrorIs(t, x.Err, syscall.ENOSPC)
			assert.Empty(t, w.Calls(test.call))
			x.Agent.Stop()
			require.Error(t, x.CloseFiles())
		})
	}
}

func TestDecisionIsNotAcknowledgedOnAFullDisk(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
		w.Referee("REF01")
		w.Players(4, leaguetest.WithDelays(0, 3*leaguetest.Second, 0))
		w.WaitUntil(1 * leaguetest.Second)
		fillDisk(x)
		_, err := w.TryToOrganise(protocol.CommandPause)
		require.Error(t, err)
		assert.Equal(t, -32603, protocol.AsError(err).RPC)
		<-x.Done
		require.ErrorIs(t, x.Err, syscall.ENOSPC)
		x.Agent.Stop()
		require.Error(t, x.CloseFiles())
	})
}
