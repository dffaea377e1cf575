package conversations

import (
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// standings.json has each result 200 ms after it, and the whole round before
// anybody hears that it is over.
func TestStandingsAreWrittenAfterEveryResult(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1)
		results := func() int {
			s, err := store.Read[store.Standings](folder.Standings(leagueID))
			require.NoError(t, err)
			return s.Version
		}
		w.referee("REF01", capacity(2), w.idle())
		w.players(4, does(protocol.NotifyRoundCompleted.Name, func(c *call) (jsontext.Value, error) {
			assert.Equal(t, 2*read[protocol.RoundCompleted](c.message).RoundID, results())
			return c.answer()
		}))
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				w.at(w.now() + second)
				id := protocol.MatchID{Round: round, Number: number}.String()
				players := w.pairOf(id)
				_, err := w.report(w.verdict("REF01", id, nil, players[0], players[1], 1, 1))
				require.NoError(t, err, id)
				w.at(w.now() + 200*time.Millisecond)
				assert.Equal(t, 2*(round-1)+number, results())
			}
		}
		x.finish()
		assert.Len(t, w.said(protocol.NotifyRoundCompleted.Name, "p01"), 3)
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}

// agents.json lists who is registered, where, and in which state.
func TestRegisteredAgentsAreListedInAFile(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 3, 1, func(o *league.Options) { o.MaxPlayers = 3 })
		w.referee("REF01", capacity(2))
		w.player("P02")
		_, err := w.apply(w.application("Silent"))
		require.NoError(t, err)
		w.at(second)
		agents := func() *store.Agents {
			doc, err := store.Read[store.Agents](folder.Agents(leagueID))
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
		raw, err := os.ReadFile(folder.Agents(leagueID))
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "tok-")

		w.listener("silent")
		w.player("P03", slow(second, second, 0))
		w.at(3600 * time.Millisecond) // the sixth ping was answered at 3.15 s
		for _, a := range agents().Players {
			assert.Equal(t, "ACTIVE", a.State, a.PlayerID)
		}
		x.finish()
		assert.Equal(t, "SHUTDOWN", agents().Players[1].State)
	})
}

// The file of a match that a third-party referee conducted is there with its
// report: that referee keeps none here.
func TestMatchFileOfAThirdPartyRefereeIsWrittenWithItsReport(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		w.tenure(folder, 2, 1)
		w.outsider("REF01", w.accepting)
		w.players(2)
		w.at(second)
		_, err := w.report(w.wins("REF01"))
		require.NoError(t, err)
		doc, err := store.Read[store.Match](folder.Match(leagueID, "R1M1"))
		require.NoError(t, err)
		assert.Equal(t, store.WrittenByManager, doc.WrittenBy)
		assert.Equal(t, "P01", *doc.Result.WinnerPlayerID)
	})
}
