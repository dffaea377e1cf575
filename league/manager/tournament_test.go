package manager_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// What agents are told about rounds is what was played.
func TestAgentsLearnTheRoundsOfATournament(t *testing.T) {
	for _, tournament := range []journal.Tournament{{Algorithm: pairing.Swiss}, {Algorithm: pairing.Knockout}} {
		for _, kind := range []string{leaguetest.Memory, leaguetest.HTTP} {
			t.Run(tournament.Format()+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := leaguetest.NewWorld(t, kind, zerolog.Nop())
					w.StartManager(5, 2, func(o *league.Options) { o.Tournament = &tournament })
					w.Referee("REF01")
					w.Referee("REF02")
					w.Players(5)
					end := w.Finish()
					w.Close()
					w.CheckMessages()

					completed := w.Calls(protocol.NotifyRoundCompleted.Name, "p01")
					require.Len(t, completed, end.TotalRounds)
					for i, e := range completed {
						next := fmt.Sprint(i + 2)
						if i+1 == end.TotalRounds {
							next = "null"
						}
						assert.Contains(t, string(e.Message), `"next_round_id":`+next+`,`)
					}
					assert.Len(t, w.Manager.Results(), end.TotalMatches)
					assert.Equal(t, end.FinalStandings[0].PlayerID, end.Champion.PlayerID)
					for _, a := range w.Agents() {
						if a.Player == nil {
							continue
						}
						record := a.Player.Record()
						row := standingOf(t, end.FinalStandings, a.ID)
						assert.Equal(t, []any{row.ShownRank(), row.Tied}, []any{record.Rank, record.Tied})
						assert.Equal(t, []int{row.Played, row.Wins, row.Losses, row.Draws, row.Points},
							[]int{record.Stats.TotalMatches, record.Stats.Wins, record.Stats.Losses, record.Stats.Draws, record.Points}, "byes are no matches")
						assert.Equal(t, tournament.IsSwiss(), row.Byes != nil)
					}
				})
			})
		}
	}
}

func TestManagerWarnsOfNamesInTheSeedingThatNoPlayerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
		w.StartManager(2, 1, func(o *league.Options) {
			o.Tournament = &journal.Tournament{Algorithm: pairing.Knockout, Seeding: []string{"Nobody", "Agent P02"}}
			o.Log = zerolog.New(zerolog.SyncWriter(&log))
		})
		w.Referee("REF01")
		w.Players(2)
		w.Finish()
		w.Close()
		assert.Contains(t, log.String(), `"missing":["Nobody"],"event_type":"`+protocol.EventSeedsMissing+`"`)
		assert.Equal(t, "P02", w.Manager.Results()[0].PlayerA, "the higher seed")
	})
}
