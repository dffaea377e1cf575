package manager_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// standings.json contains a result within 200 ms.
func TestStandingsAreWrittenAfterEveryResult(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		results := func() int {
			s, err := store.Read[store.Standings](folder.Standings(leaguetest.LeagueID))
			require.NoError(t, err)
			return s.Version
		}
		w.Referee("REF01", leaguetest.WithCapacity(2), w.OnlyAccepting())
		w.Players(4)
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				w.WaitUntil(w.Now() + leaguetest.Second)
				id := protocol.MatchID{Round: round, Number: number}.String()
				players := pairOf(w, id)
				_, err := w.Report(w.ReportOf("REF01", id, nil, players[0], players[1], 1, 1))
				require.NoError(t, err, id)
				w.WaitUntil(w.Now() + 200*time.Millisecond)
				assert.Equal(t, 2*(round-1)+number, results())
			}
		}
		x.Finish()
		require.NoError(t, x.CloseFiles())
		w.CheckFiles(folder)
	})
}

// agents.json lists the registered agents with endpoint and state.
func TestRegisteredAgentsAreListedInAFile(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 3, 1, func(o *league.Options) { o.MaxPlayers = 3 })
		w.Referee("REF01", leaguetest.WithCapacity(2))
		w.Player("P02")
		_, err := w.Apply(w.Application("Silent"))
		require.NoError(t, err)
		w.WaitUntil(leaguetest.Second)
		agents := func() *store.Agents {
			doc, err := store.Read[store.Agents](folder.Agents(leaguetest.LeagueID))
			require.NoError(t, err)
			return doc
		}
		began := "2000-01-01T00:00:00.000Z"
		assert.Equal(t, []store.Agent{{
			RefereeID: "REF01", DisplayName: "Agent REF01", Endpoint: "http://ref01:8000/mcp", Version: "1.0.0", ProtocolVersion: protocol.Version,
			GameTypes: []string{"even_odd"}, MaxConcurrent: 2, RegisteredAt: began, Answered: true, State: "REGISTERED",
		}}, agents().Referees)
		player := store.Agent{
			PlayerID: "P02", DisplayName: "Agent P02", Endpoint: "http://p02:8000/mcp", Version: "1.0.0", ProtocolVersion: protocol.Version,
			GameTypes: []string{"even_odd"}, RegisteredAt: began, Answered: true, State: "REGISTERED",
		}
		silent := player
		silent.PlayerID, silent.DisplayName, silent.Endpoint, silent.Answered = "P01", "Silent", "http://silent:8000/mcp", false
		assert.Equal(t, []store.Agent{silent, player}, agents().Players)
		raw, err := os.ReadFile(folder.Agents(leaguetest.LeagueID))
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "tok-")

		w.PingOnly("silent")
		w.Player("P03", leaguetest.WithDelays(leaguetest.Second, leaguetest.Second, 0))
		w.WaitUntil(3600 * time.Millisecond) // the sixth ping was answered at 3.15 s
		for _, a := range agents().Players {
			assert.Equal(t, "ACTIVE", a.State, a.PlayerID)
		}
		x.Finish()
		assert.Equal(t, "SHUTDOWN", agents().Players[1].State)
	})
}

// A third-party referee writes no match file here, so the manager writes it with the report.
func TestMatchFileOfAThirdPartyRefereeIsWrittenWithItsReport(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		w.StartManagerIn(folder, 2, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		_, err := w.Report(w.WinReport("REF01"))
		require.NoError(t, err)
		doc, err := store.Read[store.Match](folder.Match(leaguetest.LeagueID, "R1M1"))
		require.NoError(t, err)
		assert.Equal(t, store.WrittenByManager, doc.WrittenBy)
		assert.Equal(t, "P01", *doc.Result.WinnerPlayerID)
	})
}
