package conversations

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// announced are the matches of all rounds, as a player was told of them.
func (w *world) announced(to string) []protocol.AnnouncedMatch {
	var matches []protocol.AnnouncedMatch
	for _, e := range w.said(protocol.NotifyRound.Name, to) {
		matches = append(matches, read[protocol.RoundAnnouncement](e.message).Matches...)
	}
	return matches
}

// fixtures writes matches as "R1M1 P01-P02".
func fixtures(matches []protocol.AnnouncedMatch) []string {
	list := make([]string, len(matches))
	for i, m := range matches {
		list[i] = fmt.Sprintf("%s %s-%s", m.MatchID, m.PlayerAID, m.PlayerBID)
	}
	return list
}

// balance counts the matches of each referee.
func balance(matches []protocol.AnnouncedMatch) map[string]int {
	count := map[string]int{}
	for _, m := range matches {
		count[m.RefereeID]++
	}
	return count
}

func TestFourPlayersPlayTheTableOfTheSpecification(t *testing.T) { // 003 table 9
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 2)
		w.referee("REF01")
		w.referee("REF02")
		w.players(4)
		end := w.finish()
		for _, host := range []string{"p01", "p02", "p03", "p04"} {
			matches := w.announced(host)
			assert.Equal(t, []string{
				"R1M1 P01-P02", "R1M2 P03-P04", "R2M1 P01-P03", "R2M2 P02-P04", "R3M1 P01-P04", "R3M2 P02-P03",
			}, fixtures(matches))
			assert.Equal(t, map[string]int{"REF01": 3, "REF02": 3}, balance(matches))
			for _, m := range matches {
				assert.Equal(t, protocol.RefereeAuthAccessToken, m.RefereeAuth)
				assert.Equal(t, endpointOf(strings.ToLower(m.RefereeID)), m.RefereeEndpoint)
				assert.Equal(t, "even_odd", m.GameType)
			}
		}
		for _, record := range w.manager.Results() {
			i := slices.IndexFunc(w.announced("p01"), func(m protocol.AnnouncedMatch) bool { return m.MatchID == record.MatchID })
			assert.Equal(t, w.announced("p01")[i].RefereeID, record.RefereeID)
		}
		assert.Equal(t, 3, end.TotalRounds)
		assert.Equal(t, 6, end.TotalMatches)
	})
}

func TestMatchesAreSharedByWhatARefereeCanDo(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(6, 2)
		w.referee("REF01", capacity(1))
		w.referee("REF02", capacity(2))
		w.players(6)
		w.finish()
		assert.Equal(t, map[string]int{"REF01": 5, "REF02": 10}, balance(w.announced("p01")))
	})
}

func TestFivePlayersHaveAByeEach(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(5, 1)
		w.referee("REF01")
		w.players(5)
		w.finish()
		byes := map[string]int{}
		for _, e := range w.said(protocol.NotifyRound.Name, "p01") {
			q := read[protocol.RoundAnnouncement](e.message)
			assert.Len(t, q.Matches, 2)
			for n := range 5 {
				id := protocol.PlayerID(n + 1)
				if !strings.Contains(strings.Join(fixtures(q.Matches), " "), id) {
					byes[id]++
				}
			}
		}
		assert.Equal(t, map[string]int{"P01": 1, "P02": 1, "P03": 1, "P04": 1, "P05": 1}, byes)
		for _, row := range w.final.FinalStandings {
			assert.Equal(t, 4, row.Played, "a bye is not played")
			assert.Equal(t, row.Played, row.Wins+row.Draws+row.Losses)
			assert.Equal(t, 3*row.Wins+row.Draws, row.Points)
		}
	})
}

func TestASecondLegSwapsTheSeats(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(3, 1, func(o *league.Options) { o.Legs = 2 })
		w.referee("REF01")
		w.players(3)
		w.finish()
		assert.Equal(t, []string{
			"R1M1 P01-P02", "R2M1 P01-P03", "R3M1 P02-P03", "R4M1 P02-P01", "R5M1 P03-P01", "R6M1 P03-P02",
		}, fixtures(w.announced("p03")))
		assert.Len(t, w.manager.Results(), 6)
	})
}

func TestEveryAgentIsToldInOrder(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 2)
		w.referee("REF01")
		w.referee("REF02")
		w.players(4)
		w.finish()
		round := []string{protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted}
		forPlayers := append(slices.Repeat(round, 3), protocol.TypeLeagueCompleted)
		forReferees := append(slices.Repeat(round[2:], 3), protocol.TypeLeagueCompleted)
		for _, id := range []string{"P01", "P02", "P03", "P04", "REF01", "REF02"} {
			host, want := strings.ToLower(id), forPlayers
			if strings.HasPrefix(id, "REF") {
				want = forReferees
			}
			var got []string
			for _, e := range w.record.all(func(e *exchange) bool { return e.from == theBoss && e.to == host }) {
				if e.method == protocol.Ping.Name {
					assert.Empty(t, e.bearer)
					continue
				}
				assert.Equal(t, w.credential(id), e.bearer, "%s to %s", e.method, host)
				require.NoError(t, e.err)
				if e.method != protocol.StartMatch.Name {
					got = append(got, e.Type())
				}
			}
			assert.Equal(t, want, got, id)
		}
	})
}

func TestTheEndOfARound(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1)
		w.referee("REF01")
		w.player("P01", choosing("even"))
		w.player("P02", choosing("odd"))
		w.player("P03", choosing("even"))
		w.player("P04", does(protocol.Invite.Name, editing("accept", false)))
		end := w.finish()
		ends := w.said(protocol.NotifyRoundCompleted.Name, "p01")
		require.Len(t, ends, 3)
		for i, e := range ends {
			q := read[protocol.RoundCompleted](e.message)
			assert.Equal(t, i+1, q.RoundID)
			assert.Equal(t, fmt.Sprintf("conv-round-%d-complete", i+1), q.ConversationID)
			assert.Equal(t, []int{2, 2}, []int{*q.MatchesCompleted, *q.MatchesPlayed})
			assert.Equal(t, 1, q.Summary.TechnicalLosses, "P04 refuses")
			assert.Equal(t, 2, q.Summary.TotalMatches)
			assert.Equal(t, 1, q.Summary.Wins+q.Summary.Draws)
			draws := []int{0, 1, 0}[i] // R2M1 is P01 against P03, who both choose even
			assert.Equal(t, draws, q.Summary.Draws)
			if i < 2 {
				require.NotNil(t, q.NextRoundID)
				assert.Equal(t, i+2, *q.NextRoundID)
			} else {
				assert.Contains(t, string(e.message), `"next_round_id":null`)
			}
		}
		updates := w.said(protocol.UpdateStandings.Name, "p01")
		require.Len(t, updates, 3)
		for i, e := range updates {
			q := read[protocol.StandingsUpdate](e.message)
			assert.Equal(t, i+1, q.RoundID)
			assert.Equal(t, 4, q.TotalPlayers)
			for n, row := range q.Standings {
				assert.Equal(t, n+1, row.Rank)
				assert.Equal(t, i+1, row.Played)
			}
		}
		assert.Equal(t, read[protocol.StandingsUpdate](updates[2].message).Standings, end.FinalStandings)
		assert.Equal(t, "conv-league-complete", end.ConversationID)
		first := end.FinalStandings[0]
		assert.Equal(t, protocol.Champion{PlayerID: first.PlayerID, DisplayName: first.DisplayName, Points: first.Points}, end.Champion)
		assert.Equal(t, []int{3, 6, 4}, []int{end.TotalRounds, end.TotalMatches, end.TotalPlayers})
		assert.Equal(t, "P04", end.FinalStandings[3].PlayerID)
		for _, host := range []string{"p01", "p02", "p03", "p04", "ref01"} {
			assert.Equal(t, end, read[protocol.LeagueCompleted](w.only(protocol.NotifyLeagueCompleted.Name, host).message))
		}
	})
}

func TestStandingsAfterEveryMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1, func(o *league.Options) { o.EveryMatch = true })
		w.referee("REF01")
		w.players(4)
		w.finish()
		for _, host := range []string{"p01", "p04"} {
			recorded := 0
			for _, e := range w.said(protocol.UpdateStandings.Name, host) {
				played := 0
				for _, row := range read[protocol.StandingsUpdate](e.message).Standings {
					played += row.Played
				}
				assert.GreaterOrEqual(t, played/2, recorded, "the table only grows")
				recorded = played / 2
			}
			assert.Equal(t, 6, recorded)
			assert.Len(t, w.said(protocol.UpdateStandings.Name, host), 6+3)
		}
	})
}

func TestARoundIsAnnouncedAheadOfItsMatches(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(3, 1, func(o *league.Options) { o.AnnounceLead = 60 * second })
		w.referee("REF01")
		w.players(3)
		w.finish()
		assert.Equal(t, []int{0, 60, 120}, seconds(w.said(protocol.NotifyRound.Name, "p01")))
		assert.Equal(t, []int{60, 120, 180}, seconds(w.said(protocol.StartMatch.Name)))
	})
}

// seconds are when calls were made, as whole seconds.
func seconds(calls []exchange) []int {
	list := make([]int, len(calls))
	for i := range calls {
		list[i] = int(calls[i].at / second)
	}
	return list
}
