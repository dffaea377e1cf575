package manager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// announced returns the matches of all rounds that were announced to a player.
func announced(w *leaguetest.World, to string) []protocol.AnnouncedMatch {
	var matches []protocol.AnnouncedMatch
	for _, e := range w.Calls(protocol.NotifyRound.Name, to) {
		matches = append(matches, leaguetest.Decode[protocol.RoundAnnouncement](e.Message).Matches...)
	}
	return matches
}

// pairings formats matches as "R1M1 P01-P02".
func pairings(matches []protocol.AnnouncedMatch) []string {
	list := make([]string, len(matches))
	for i, m := range matches {
		list[i] = fmt.Sprintf("%s %s-%s", m.MatchID, m.PlayerAID, m.PlayerBID)
	}
	return list
}

// matchesPerReferee counts the matches of each referee.
func matchesPerReferee(matches []protocol.AnnouncedMatch) map[string]int {
	count := map[string]int{}
	for _, m := range matches {
		count[m.RefereeID]++
	}
	return count
}

func TestFourPlayersPlayTheScheduleOfTheSpecification(t *testing.T) { // 003 table 9
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 2)
		w.Referee("REF01")
		w.Referee("REF02")
		w.Players(4)
		end := w.Finish()
		for _, host := range []string{"p01", "p02", "p03", "p04"} {
			matches := announced(w, host)
			assert.Equal(t, []string{
				"R1M1 P01-P02", "R1M2 P03-P04", "R2M1 P01-P03", "R2M2 P02-P04", "R3M1 P01-P04", "R3M2 P02-P03",
			}, pairings(matches))
			assert.Equal(t, map[string]int{"REF01": 3, "REF02": 3}, matchesPerReferee(matches))
			for _, m := range matches {
				assert.Equal(t, protocol.RefereeAuthAccessToken, m.RefereeAuth)
				assert.Equal(t, leaguetest.EndpointOf(strings.ToLower(m.RefereeID)), m.RefereeEndpoint)
				assert.Equal(t, "even_odd", m.GameType)
			}
		}
		for _, record := range leaguetest.Results(w.Manager) {
			i := slices.IndexFunc(announced(w, "p01"), func(m protocol.AnnouncedMatch) bool { return m.MatchID == record.MatchID })
			assert.Equal(t, announced(w, "p01")[i].RefereeID, record.RefereeID)
		}
		assert.Equal(t, 3, end.TotalRounds)
		assert.Equal(t, 6, end.TotalMatches)
	})
}

func TestAnnouncementOfALargeLeagueListsTheMatchOfItsReceiver(t *testing.T) {
	for _, test := range []struct {
		players int
		listed  int // in the announcement to a player with a match
		total   int // total_matches
	}{{protocol.MaxAnnounced, 50, 0}, {protocol.MaxAnnounced + 1, 1, 50}} {
		leaguetest.RunInMemory(t, fmt.Sprint(test.players), func(t *testing.T, w *leaguetest.World) {
			w.StartManager(test.players, 1, func(o *manager.Options) { o.AnnounceLead = 3600 })
			w.Referee("REF01", leaguetest.WithCapacity(10))
			w.Players(test.players)
			w.WaitUntil(300 * time.Millisecond)
			byes := 0
			for n := range test.players {
				id := league.PlayerID(n + 1)
				calls := w.Calls(protocol.NotifyRound.Name, strings.ToLower(id))
				require.NotEmpty(t, calls, id)
				q := leaguetest.Decode[protocol.RoundAnnouncement](calls[0].Message)
				assert.Equal(t, test.total, q.TotalMatches)
				require.NotNil(t, q.Matches)
				if len(q.Matches) == 0 {
					byes++
					continue
				}
				assert.Len(t, q.Matches, test.listed)
				assert.True(t, slices.ContainsFunc(q.Matches, func(m protocol.AnnouncedMatch) bool { return m.PlayerAID == id || m.PlayerBID == id }))
			}
			assert.Equal(t, test.players%2, byes)
		})
	}
}

func TestNotificationsArriveInOrder(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 2)
		w.Referee("REF01")
		w.Referee("REF02")
		w.Players(4)
		w.Finish()
		round := []string{protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted}
		forPlayers := append(slices.Repeat(round, 3), protocol.TypeLeagueCompleted)
		forReferees := append(slices.Repeat(round[2:], 3), protocol.TypeLeagueCompleted)
		for _, id := range []string{"P01", "P02", "P03", "P04", "REF01", "REF02"} {
			host, want := strings.ToLower(id), forPlayers
			if strings.HasPrefix(id, "REF") {
				want = forReferees
			}
			var got []string
			for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool { return e.From == leaguetest.ManagerHost && e.To == host }) {
				if e.Method == protocol.Ping.Name {
					assert.Empty(t, e.Bearer)
					continue
				}
				assert.Equal(t, w.ManagerCredential(id), e.Bearer, "%s to %s", e.Method, host)
				require.NoError(t, e.Err)
				if e.Method != protocol.StartMatch.Name {
					got = append(got, e.Type())
				}
			}
			assert.Equal(t, want, got, id)
		}
	})
}

func TestRoundCompletedHasSummaryAndStandings(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1)
		w.Referee("REF01")
		w.Player("P01", leaguetest.WithStrategy("even"))
		w.Player("P02", leaguetest.WithStrategy("odd"))
		w.Player("P03", leaguetest.WithStrategy("even"))
		w.Player("P04", leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("accept", false)))
		end := w.Finish()
		ends := w.Calls(protocol.NotifyRoundCompleted.Name, "p01")
		require.Len(t, ends, 3)
		for i, e := range ends {
			q := leaguetest.Decode[protocol.RoundCompleted](e.Message)
			assert.Equal(t, i+1, q.RoundID)
			assert.Equal(t, fmt.Sprintf("conv-round-%d-complete", i+1), q.ConversationID)
			assert.Equal(t, []int{2, 2}, []int{*q.MatchesCompleted, *q.MatchesPlayed})
			assert.Equal(t, 1, q.Summary.TechnicalLosses, "P04 rejects its invitation")
			assert.Equal(t, 2, q.Summary.TotalMatches)
			assert.Equal(t, 1, q.Summary.Wins+q.Summary.Draws)
			draws := []int{0, 1, 0}[i] // R2M1: P01 and P03 both choose even
			assert.Equal(t, draws, q.Summary.Draws)
			if i < 2 {
				require.NotNil(t, q.NextRoundID)
				assert.Equal(t, i+2, *q.NextRoundID)
			} else {
				assert.Contains(t, string(e.Message), `"next_round_id":null`)
			}
		}
		updates := w.Calls(protocol.UpdateStandings.Name, "p01")
		require.Len(t, updates, 3)
		for i, e := range updates {
			q := leaguetest.Decode[protocol.StandingsUpdate](e.Message)
			assert.Equal(t, i+1, q.RoundID)
			assert.Equal(t, 4, q.TotalPlayers)
			for n, row := range q.Standings {
				assert.Equal(t, n+1, row.Rank)
				assert.Equal(t, i+1, row.Played)
			}
		}
		assert.Equal(t, leaguetest.Decode[protocol.StandingsUpdate](updates[2].Message).Standings, end.Rows())
		assert.Equal(t, "conv-league-complete", end.ConversationID)
		first := end.FinalStandings[0]
		champion := end.Champion
		champion.Reason = ""
		assert.Equal(t, league.Champion{PlayerID: first.PlayerID, DisplayName: first.DisplayName, Points: first.Points}, champion)
		assert.Equal(t, first.Tied, strings.HasPrefix(end.Champion.Reason, "shared by "+first.PlayerID+" and "), "the reason is %q", end.Champion.Reason)
		assert.Equal(t, []int{3, 6, 4}, []int{end.TotalRounds, end.TotalMatches, end.TotalPlayers})
		assert.Equal(t, "P04", end.FinalStandings[3].PlayerID)
		for _, host := range []string{"p01", "p02", "p03", "p04", "ref01"} {
			assert.Equal(t, end, leaguetest.Decode[protocol.LeagueCompleted](w.OnlyCall(protocol.NotifyLeagueCompleted.Name, host).Message))
		}
	})
}

func TestStandingsAreSentAfterEveryMatchOnRequest(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1, func(o *manager.Options) { o.Broadcast = journal.BroadcastMatch })
		w.Referee("REF01")
		w.Players(4)
		w.Finish()
		for _, host := range []string{"p01", "p04"} {
			recorded := 0
			for _, e := range w.Calls(protocol.UpdateStandings.Name, host) {
				played := 0
				for _, row := range leaguetest.Decode[protocol.StandingsUpdate](e.Message).Standings {
					played += row.Played
				}
				assert.GreaterOrEqual(t, played/2, recorded, "the number of results only grows")
				recorded = played / 2
			}
			assert.Equal(t, 6, recorded)
			assert.Len(t, w.Calls(protocol.UpdateStandings.Name, host), 6+3)
		}
	})
}

func TestRoundIsAnnouncedBeforeItsMatches(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1, func(o *manager.Options) { o.AnnounceLead = 60 })
		w.Referee("REF01")
		w.Players(3)
		w.Finish()
		assert.Equal(t, []int{0, 60, 120}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p01")))
		assert.Equal(t, []int{60, 120, 180}, leaguetest.Seconds(w.Calls(protocol.StartMatch.Name)))
	})
}

const day = 24 * time.Hour

// startedAt is how long after the beginning of the test the league started.
func startedAt(w *leaguetest.World, state *journal.State) time.Duration {
	w.T.Helper()
	require.NotNil(w.T, state.Started)
	return w.SinceStart(state.Rounds[0].AnnouncedAt)
}

func TestLeagueStartsAtItsTimeAcrossRestarts(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		at := w.Clock.Now().Add(3 * day)
		timed := func(o *manager.Options) {
			o.StartAt, o.RegistrationUntil = protocol.FormatTimestamp(at), protocol.FormatTimestamp(at.Add(-day))
		}
		x := w.StartManagerIn(folder, 0, 5, timed)
		w.RefereeWithFiles("REF01", folder)
		w.Player("P01")
		assert.Equal(t, protocol.FormatTimestamp(at), x.Manager.Status().StartAt)
		assert.Equal(t, protocol.FormatTimestamp(at.Add(-day)), x.Manager.Status().RegistrationUntil)
		w.WaitUntil(day)
		x.Kill()
		w.WaitUntil(day + time.Hour)
		x = w.StartManagerIn(folder, 0, 5, timed)
		w.Player("P02")
		w.PingOnly("late")
		w.WaitUntil(2*day + time.Second)
		late := w.Application("Late")
		r := mustApply(w, late)
		assert.Equal(t, string(protocol.ErrLateRegistration), r.ErrorCode)
		assert.Contains(t, *r.Reason, "registration ended at "+protocol.FormatTimestamp(at.Add(-day)))
		w.WaitUntil(3*day - time.Second)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		state := finish(x)
		assert.Equal(t, 3*day, startedAt(w, state))
		assert.Equal(t, protocol.FormatTimestamp(at), state.Configuration.StartAt)
		assert.Equal(t, protocol.FormatTimestamp(at.Add(-day)), state.Configuration.RegistrationUntil)
		assert.Empty(t, x.Manager.Status().StartAt, "it has started")
	})
}

func TestOrganisersTimeReplacesTheManagers(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		began := w.Clock.Now()
		timed := func(o *manager.Options) { o.StartAt = protocol.FormatTimestamp(began.Add(time.Hour)) }
		x := w.StartManagerIn(folder, 2, 1, timed)
		w.Organise(protocol.CommandStart, leaguetest.StartAt(began.Add(5*time.Hour)))
		done := w.Organise(protocol.CommandStart, leaguetest.StartAt(began.Add(2*day)))
		assert.Equal(t, 3, done.Event)
		assert.Equal(t, "The league starts at "+protocol.FormatTimestamp(began.Add(2*day))+" with the agents that have answered then.", done.About)
		w.RefereeWithFiles("REF01", folder)
		w.Players(2) // as many as the manager waits for
		w.WaitUntil(day)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		assert.Equal(t, protocol.FormatTimestamp(began.Add(2*day)), x.Manager.Status().StartAt)
		x.Kill()
		x = w.StartManagerIn(folder, 2, 1, timed)
		state := finish(x)
		assert.Equal(t, 2*day, startedAt(w, state))
		assert.Equal(t, "A. Smith", state.StartPlanned.By)
	})
}

func TestOrganiserStartsTheLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1)
		_, err := w.TryToOrganise(protocol.CommandStart)
		require.ErrorContains(t, err, "0 players and 0 referees have answered: a league needs 2 players and 1 referee")
		w.RefereeWithFiles("REF01", x.Folder)
		w.Player("P01")
		done := w.Organise(protocol.CommandStart, leaguetest.StartAt(w.Clock.Now().Add(-time.Hour)))
		assert.Equal(t, "The league starts as soon as enough players and a referee have answered.", done.About)
		w.WaitUntil(time.Hour)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		w.Organise(protocol.CommandStart, leaguetest.StartAt(w.Clock.Now().Add(day)))
		w.Player("P02", leaguetest.WithDelays(leaguetest.Second, 0, 0)) // the league is under way at the second start
		synctest.Wait()
		done, err = w.TryToOrganise(protocol.CommandStart)
		require.NoError(t, err)
		assert.Equal(t, "The league starts now: players 2, referees 1.", done.About)
		synctest.Wait()
		_, err = w.TryToOrganise(protocol.CommandStart)
		require.ErrorContains(t, err, "the league has started")
		state := finish(x)
		assert.Equal(t, time.Hour, startedAt(w, state))
		assert.Contains(t, strings.Join(w.EventTypes(x.Folder), " "), "decided started")
	})
}

// What agents are told about rounds is what was played.
func TestAgentsLearnTheRoundsOfATournament(t *testing.T) {
	for _, tournament := range []journal.Tournament{{Algorithm: pairing.Swiss}, {Algorithm: pairing.Knockout}} {
		t.Run(tournament.Format(), func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(5, 2, withTournament(&tournament))
				w.Referee("REF01")
				w.Referee("REF02")
				players := w.Players(5)
				end := w.Finish()
				completed := w.Calls(protocol.NotifyRoundCompleted.Name, "p01")
				require.Len(t, completed, end.TotalRounds)
				for i, e := range completed {
					next := fmt.Sprint(i + 2)
					if i+1 == end.TotalRounds {
						next = "null"
					}
					assert.Contains(t, string(e.Message), `"next_round_id":`+next+`,`)
				}
				assert.Len(t, leaguetest.Results(w.Manager), end.TotalMatches)
				assert.Equal(t, end.FinalStandings[0].PlayerID, end.Champion.PlayerID)
				for _, a := range players {
					record := a.Player.Record()
					row := standingOf(t, end.Rows(), a.ID)
					assert.Equal(t, []any{row.ShownRank(), row.Tied, row.Points},
						[]any{record.Rank, record.Tied, record.Points})
					assert.Equal(t, protocol.PlayerStats{
						TotalMatches: row.Played, Wins: row.Wins, Losses: row.Losses, Draws: row.Draws,
					}, record.Stats, "byes are no matches")
					assert.Equal(t, tournament.IsSwiss(), row.Byes != nil)
				}
			})
		})
	}
}

func TestManagerWarnsOfNamesInTheSeedingThatNoPlayerHas(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		seeding := []string{"Nobody", "Agent P02"}
		w.StartManager(2, 1, withTournament(&journal.Tournament{Algorithm: pairing.Knockout, Seeding: seeding}))
		w.Referee("REF01")
		w.Players(2)
		w.Finish()
		assert.Contains(t, log.Text(), `"missing":["Nobody"],"event_type":"SEEDS_MISSING"`)
		assert.Equal(t, "P02", leaguetest.Results(w.Manager)[0].PlayerAID, "the higher seed")
	})
}

// standingOf returns the row of a player of the final table, and checks that the ranks of its rows
// are the positions.
func standingOf(t *testing.T, rows []protocol.StandingRow, id string) (row protocol.StandingRow) {
	t.Helper()
	for i, r := range rows {
		assert.Equal(t, i+1, r.Rank, "ranks in messages are distinct")
		if r.PlayerID == id {
			row = r
		}
	}
	require.Equal(t, id, row.PlayerID)
	return row
}
