package simulation

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/transport"
)

// playOrganised plays a league, orders a rematch of R1M1 before round 2, or none, and audits
// the files.
func playOrganised(t *testing.T, concurrency int, rematches int) *Result {
	t.Helper()
	folder := store.In(t.TempDir())
	files, _, err := manager.OpenFiles(folder, benchLeague, false, nil)
	require.NoError(t, err)
	o := benchmarkLeague(6, Memory)
	o.Concurrency, o.Files = concurrency, files
	net := newNetwork(Memory)
	secret, err := folder.Secret(benchLeague, true)
	require.NoError(t, err)
	begun := 0
	o.RoundBegins = func(int) {
		if begun++; begun < 2 || begun > 1+rematches {
			return
		}
		q := &protocol.OrganiseRequest{LeagueID: benchLeague, Command: protocol.CommandRematch, By: "A. Smith", MatchID: "R1M1"}
		q.AuthToken = protocol.AdminToken(protocol.ManagerKeysOf(secret).Admin, benchLeague)
		_, err := protocol.OrganiseLeague.Call(t.Context(), net, protocol.Peer{Endpoint: Memory + "://manager/mcp"}, q)
		assert.NoError(t, err)
	}
	r, err := runOn(t.Context(), o, net)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	report, err := audit.Run(folder, audit.Options{Games: o.Games})
	require.NoError(t, err)
	assert.Empty(t, report.Leagues[0].Findings)
	return r
}

// A withdrawn player does not register again when a league resumes.
func TestLeagueWithAWithdrawnPlayerResumes(t *testing.T) {
	t.Parallel()
	folder := store.In(t.TempDir())
	play := func(ctx context.Context, begins func(round int, net network)) error {
		files, _, err := manager.OpenFiles(folder, benchLeague, false, nil)
		require.NoError(t, err)
		o, net := benchmarkLeague(4, Memory), newNetwork(Memory)
		o.Files, o.RoundBegins = files, func(round int) { begins(round, net) }
		_, err = runOn(ctx, o, net)
		require.NoError(t, files.Close())
		return err
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	require.ErrorIs(t, play(ctx, func(round int, net network) {
		if round == 2 {
			secret, err := folder.Secret(benchLeague, true)
			assert.NoError(t, err)
			q := &protocol.OrganiseRequest{LeagueID: benchLeague, Command: protocol.CommandWithdraw, By: "A. Smith", Reason: "it left", AgentID: "P04"}
			q.AuthToken = protocol.AdminToken(protocol.ManagerKeysOf(secret).Admin, benchLeague)
			_, err = protocol.OrganiseLeague.Call(t.Context(), net, protocol.Peer{Endpoint: Memory + "://manager/mcp"}, q)
			assert.NoError(t, err)
			stop()
		}
	}), context.Canceled)
	require.NoError(t, play(t.Context(), func(int, network) {}))
}

// matchesOf are the matches without the times.
func matchesOf(r *Result) []record.Match {
	return lists.Map(slices.Collect(r.Matches()), func(m record.Match) record.Match {
		m.ReportedAt, m.Annulled = "", nil
		return m
	})
}

func TestRematchInASimulationIsDrawnAnewAndRepeatable(t *testing.T) {
	t.Parallel()
	draw := func(r *Result) string {
		m := matchesOf(r)[0]
		require.Equal(t, "R1M1", m.MatchID)
		return m.Reason
	}
	first, once, twice := playOrganised(t, 1, 0), playOrganised(t, 1, 1), playOrganised(t, 1, 2)
	assert.NotEqual(t, draw(first), draw(once))
	assert.NotEqual(t, draw(once), draw(twice), "each rematch is drawn anew")
	assert.Equal(t, matchesOf(first)[1:3], matchesOf(once)[1:3], "the other matches of the round are as before")
	again := playOrganised(t, 16, 1)
	assert.Equal(t, matchesOf(once), matchesOf(again))
	assert.Equal(t, once.Players, again.Players)
}

// lateAnswers delivers the answer to the only report after the league is over.
type lateAnswers struct {
	network
	over chan struct{}
}

func (n *lateAnswers) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	if r.Method == protocol.NotifyLeagueCompleted.Name && r.Endpoint == Memory+"://P01/mcp" {
		close(n.over)
	}
	answer, timing, err := n.network.Call(ctx, r)
	if r.Method == protocol.ReportMatchResult.Name {
		<-n.over
		err = protocol.SystemClock().Sleep(ctx, 20*time.Millisecond)
	}
	return answer, timing, err
}

// The match file of a league that ends without a fault has the acknowledgement of its result.
func TestRefereeReadsItsLastAcknowledgement(t *testing.T) {
	t.Parallel()
	folder := store.In(t.TempDir())
	files, _, err := manager.OpenFiles(folder, benchLeague, false, nil)
	require.NoError(t, err)
	o := benchmarkLeague(2, Memory)
	o.Files = files
	_, err = runOn(t.Context(), o, &lateAnswers{newNetwork(Memory), make(chan struct{})})
	require.NoError(t, err)
	require.NoError(t, files.Close())
	doc, err := folder.LoadMatch(benchLeague, "R1M1")
	require.NoError(t, err)
	assert.Equal(t, protocol.StateAcknowledged, doc.Lifecycle.State)
}
