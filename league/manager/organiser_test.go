package manager_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// signed makes a league sign moves and heads.
func signed(o *manager.Options) { o.Signatures = journal.SignaturesOptional }

func TestPausedLeagueBeginsNoRoundBeforeItIsResumed(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
		w.RefereeWithFiles("REF01", x.Folder)
		w.Players(3)
		w.Player("P04", leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
		w.WaitUntil(2 * leaguetest.Second) // round 1 runs
		done := w.Organise(protocol.CommandPause)
		assert.Equal(t, "the league paused by A. Smith: so decided. Running matches finish, and no round begins before the league is resumed.", done.About)
		assert.Equal(t, []string{protocol.StatusDone, protocol.CommandPause}, []string{done.Status, done.Command})
		assert.Positive(t, done.Event)
		w.WaitUntil(time.Hour)
		assert.Len(t, leaguetest.Results(x.Manager), 2, "the running matches finish")
		assert.Equal(t, 4, w.CountCalls(protocol.NotifyRound.Name), "round 1 to each player, and no other")
		assert.Equal(t, 5, w.CountCalls(protocol.NotifyRoundCompleted.Name), "the end of round 1 is told while the league is paused")

		_, err := w.TryToOrganise(protocol.CommandPause)
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		assert.ErrorContains(t, err, "the league is paused already, by A. Smith at 2000-01-01 00:00 UTC")

		w.Organise(protocol.CommandResume)
		x.Finish()
		assert.Less(t, w.Now(), time.Hour+time.Minute)
		_, err = w.TryToOrganise(protocol.CommandResume)
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueComplete, 31)
		assert.Equal(t, 12, w.CountCalls(protocol.NotifyRound.Name))
		x.CloseAudited()
	})
}

func TestManagerEndsAtOnceWhilePaused(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		patient := func(o *manager.Options) { o.StopWithin = time.Hour }
		x := w.StartManagerIn(folder, 2, 1, patient)
		w.Organise(protocol.CommandPause)
		w.Referee("REF01")
		w.Players(2)
		w.WaitUntil(time.Minute)
		assert.Empty(t, w.Calls(protocol.NotifyRound.Name), "a pause before the start holds back the first round")
		before := w.Now()
		x.Cancel()
		<-x.Done
		assert.Equal(t, before, w.Now())
		require.ErrorContains(t, x.Err, "canceled")
		x.Kill()

		x = w.StartManagerIn(folder, 2, 1)
		w.WaitUntil(2 * time.Minute)
		assert.Empty(t, w.Calls(protocol.NotifyRound.Name), "the pause lasts after a restart")
		w.Organise(protocol.CommandResume)
		x.Finish()
		assert.Len(t, leaguetest.Results(x.Manager), 1)
	})
}

func TestLeagueDoesNotEndWhilePaused(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.RefereeWithFiles("REF01", x.Folder)
		w.Player("P01", leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
		w.Player("P02")
		w.WaitUntil(2 * leaguetest.Second)
		w.Organise(protocol.CommandPause)
		w.WaitUntil(time.Minute)
		assert.Empty(t, w.Calls(protocol.NotifyLeagueCompleted.Name), "the organiser may still decide about the last round")
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P02"))
		assert.Equal(t, "P02", x.Manager.Standings()[0].PlayerID)
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P01"))
		w.Organise(protocol.CommandResume)
		final := x.Finish()
		assert.Equal(t, "P01", final.Champion.PlayerID)
		var last []*protocol.StandingsUpdate
		for _, e := range w.Calls(protocol.UpdateStandings.Name, "p01") {
			last = append(last, leaguetest.Decode[protocol.StandingsUpdate](e.Message))
		}
		require.Len(t, last, 3, "after the round and after each ruling")
		assert.Equal(t, "P02", last[1].Standings[0].PlayerID)
		assert.Equal(t, "P01", last[2].Standings[0].PlayerID)
		x.CloseAudited()
	})
}

func TestRulingEndsARunningMatchAtOnce(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		w.RefereeWithFiles("REF01", x.Folder)
		w.Player("P01", leaguetest.WithDelays(0, 20*leaguetest.Second, 0))
		w.Player("P02")
		w.WaitUntil(5 * leaguetest.Second)
		w.Organise(protocol.CommandPause)
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner(protocol.WinnerNone))
		assert.NotEmpty(t, w.Calls(protocol.NotifyRoundCompleted.Name), "the round is over")
		w.WaitUntil(time.Minute) // the referee reports meanwhile
		w.Organise(protocol.CommandResume)
		state := finish(x)
		match := matchOf(state, "R1M1")
		assert.Equal(t, "A. Smith", match.Ruled.By)
		assert.Equal(t, league.StatusTechnicalLoss, match.Report.Status)
		assert.Empty(t, match.Disputed, "a report after a ruling is refused and no dispute")
		assert.NotContains(t, w.EventTypes(x.Folder), "match_disputed")
		refused := w.Calls(protocol.ReportMatchResult.Name)
		require.NotEmpty(t, refused)
		assert.ErrorContains(t, refused[0].Err, "has a result by A. Smith")
	})
}

func TestRematchIsPlayedBetweenTwoRounds(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*manager.Options)
	}{
		{"unsigned", func(*manager.Options) {}},
		{"signed", signed},
		{"with every result", func(o *manager.Options) { o.Broadcast = journal.BroadcastMatch }},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 4, 2, withPause, test.change)
			w.RefereeWithFiles("REF01", folder)
			w.RefereeWithFiles("REF02", folder)
			players := playersIn(w, folder, 4)
			w.WaitUntil(7 * leaguetest.Second) // after round 1
			require.Len(t, leaguetest.Results(x.Manager), 2)
			before := leaguetest.Results(x.Manager)[0]
			done := w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
			assert.Equal(t, "a rematch of R1M1 ordered by A. Smith: so decided. The result counts until the rematch begins, at once.", done.About)
			_, err := w.TryToOrganise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
			require.ErrorContains(t, err, "a rematch of R1M1 is ordered already, by A. Smith")
			state := finish(x)

			match := matchOf(state, "R1M1")
			assert.Len(t, match.Annulled, 1)
			assert.Equal(t, 2, match.Report.Number)
			assert.NotEqual(t, before.RefereeID, match.Report.RefereeID, "another referee conducts the rematch")
			kinds := w.EventTypes(folder)
			reopened := slices.Index(kinds, "decided") + 1
			assert.Equal(t, []string{"round_completed", "decided", "decided", "match_assigned", "match_accepted", "match_reported", "round_announced"},
				kinds[reopened-2:reopened+5])
			for _, p := range players {
				require.NoError(t, p.Player.Close())
				record := p.Player.Record()
				row := rowOf(state, p.ID)
				assert.Equal(t, protocol.PlayerStats{TotalMatches: 3, Wins: row.Wins, Losses: row.Losses, Draws: row.Draws}, record.Stats, "%s counts the last attempt only", p.ID)
			}
			lines, err := os.ReadFile(store.HistoryLines(folder.History(players[0].ID)))
			require.NoError(t, err)
			assert.Equal(t, 2, strings.Count(string(lines), `"match_id":"R1M1","opponent_id"`), "the history has both attempts")
		})
	}
}

// playersIn registers players that store their histories in a folder.
func playersIn(w *leaguetest.World, folder store.Folder, n int, traits ...leaguetest.Option) []*leaguetest.Agent {
	w.T.Helper()
	players := make([]*leaguetest.Agent, n)
	for i := range players {
		players[i] = w.PlayerIn(league.PlayerID(i+1), folder, traits...)
	}
	return players
}

// rowOf is the row of a player in the table.
func rowOf(s *journal.State, id string) league.Standing {
	rows := s.Standings()
	return rows[slices.IndexFunc(rows, func(r league.Standing) bool { return r.PlayerID == id })]
}

func matchOf(s *journal.State, matchID string) *journal.Match {
	id, _ := league.ParseMatchID(matchID)
	return s.Match(id)
}

// The organiser suspends a player while the players learn of another referee. The referee gets
// no match that is forfeited.
func TestMatchIsNotAssignedAfterItsPlayerIsSuspended(t *testing.T) {
	for n := range 8 { // the hand-over may notice the decision in two places, at random
		leaguetest.RunInMemory(t, strconv.Itoa(n), func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
			w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
			thirdPartyReferee(w, "REF02", w.AcceptMatch)
			late := leaguetest.Delayed(4*leaguetest.Second, leaguetest.Normally)
			w.Player("P01", leaguetest.On(protocol.NotifyRound.Name, leaguetest.FirstN(1, leaguetest.Normally, late)))
			w.Player("P02")
			w.WaitUntil(2 * leaguetest.Second)
			require.Len(t, w.Calls(protocol.NotifyRound.Name, "p01"), 2, "P01 is told the other referee")
			w.Organise(protocol.CommandSuspend, leaguetest.About("P01"))
			assert.Equal(t, []string{"P01"}, matchOf(finish(x), "R1M1").Forfeited)
			assert.Empty(t, w.Calls(protocol.StartMatch.Name, "ref02"))
		})
	}
}

// The league ends, and its audit is clean, although nobody is left to play.
func TestLeagueEndsWhenEveryPlayerIsWithdrawn(t *testing.T) {
	for _, test := range []struct {
		name    string
		players int
		format  *journal.Tournament
	}{
		{"round-robin of 2", 2, nil},
		{"round-robin of 3", 3, nil},
		{"Swiss with a bye", 3, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 2}},
		{"knockout", 4, &journal.Tournament{Algorithm: pairing.Knockout}},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), test.players, 1, withTournament(test.format))
			w.RefereeWithFiles("REF01", x.Folder)
			playersIn(w, x.Folder, test.players, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
			w.WaitUntil(2 * leaguetest.Second) // in round 1
			for n := range test.players {
				w.Organise(protocol.CommandWithdraw, leaguetest.About(league.PlayerID(n+1)))
			}
			state := finish(x)
			assert.Len(t, state.Standings(), test.players)
			byes := 0
			for _, row := range state.Standings() {
				if row.Byes != nil {
					byes += *row.Byes
				}
			}
			if test.format.IsSwiss() {
				assert.Equal(t, 1, byes, "that of round 1; withdrawn players get none")
			}
			assert.Less(t, w.Now(), 2*time.Minute)
		})
	}
}

// The rematch ends for the league, and the report of its referee is refused without a dispute.
func TestRulingDuringARematchEndsIt(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		w.RefereeWithFiles("REF01", folder)
		w.RefereeWithFiles("REF02", folder)
		playersIn(w, folder, 2, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
		w.WaitUntil(2 * leaguetest.Second)
		w.Organise(protocol.CommandPause)
		w.WaitUntil(20 * time.Second)
		w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
		w.Organise(protocol.CommandResume)
		w.WaitUntil(22 * time.Second)
		assert.Equal(t, 1, x.Manager.AnnulledResults("R1M1"), "the rematch runs")
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P02"))
		x.Finish()
		w.WaitUntil(time.Minute) // the referee of the rematch reports
		state := x.CloseAudited()
		m := matchOf(state, "R1M1")
		assert.NotNil(t, m.Ruled)
		assert.Empty(t, m.Disputed)
		assert.Len(t, m.Annulled, 1)
		assert.Equal(t, "P02", x.Final.Champion.PlayerID)
	})
}

// A report in the name of REF01 counts until REF01 contradicts it, and its file stays disputed. The mark goes with the
// annulled result: the rematch is another result, of another referee.
func TestRematchOfADisputedMatchIsNotDisputed(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
		w.RefereeWithFiles("REF01", x.Folder)
		w.RefereeWithFiles("REF02", x.Folder)
		w.Player("P01", leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
		w.Player("P02")
		w.WaitUntil(2 * leaguetest.Second)
		winner := "P01"
		early := w.ReportOf("REF01", "R1M1", &winner, "P01", "P02", 3, 0)
		early.Result.Status = league.StatusTechnicalLoss
		mustReport(w, early)
		w.Organise(protocol.CommandPause)
		w.WaitUntil(20 * time.Second) // REF01 reports what it saw
		w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
		w.Organise(protocol.CommandResume)
		state := finish(x) // with an audit
		row := (&record.League{State: state}).Row(league.MatchID{Round: 1, Number: 1}, state.Pairings(1)[0])
		assert.Equal(t, []any{"REF02", 2}, []any{row.RefereeID, row.Attempt})
		assert.Empty(t, row.Disputed)
		require.Len(t, row.Annulled, 1)
		assert.Equal(t, []string{"REF01"}, row.Annulled[0].Disputed)
		assert.Equal(t, []string{"1 annulled result", "annulled result disputed by REF01"}, row.Remarks())
		doc, err := store.Read[store.Match](x.Folder.Disk, x.Folder.Attempt(leaguetest.LeagueID, "R1M1", 1))
		require.NoError(t, err)
		assert.Equal(t, protocol.StateDisputed, doc.Lifecycle.State)
	})
}

// A denial is of one result: the players that deny it are asked about the rematch as well.
func TestDenialDoesNotOutliveTheResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		w.Organise(protocol.CommandPause)
		mustReport(w, w.WinReport("REF01"))
		w.WaitUntil(10 * time.Second)
		w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
		w.Organise(protocol.CommandResume)
		w.WaitUntil(20 * time.Second)
		match := x.Manager.State().Match(league.MatchID{Round: 1, Number: 1})
		assert.Empty(t, match.Disputed)
		assert.Equal(t, []string{"P01", "P02"}, match.Annulled[0].Disputed)
		again := w.WinReport("REF01")
		again.Attempt = 2
		mustReport(w, again)
		assert.Equal(t, []string{"P01", "P02"}, matchOf(finish(x), "R1M1").Disputed)
	})
}

func withTournament(format *journal.Tournament) func(*manager.Options) {
	return func(o *manager.Options) { o.Tournament = format }
}

func TestRequestsOfTheOrganiserAreLimited(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		for range 100 {
			_, err := getStandings(w, w.Manager.AdminToken())
			require.NoError(t, err)
		}
		_, err := getStandings(w, w.Manager.AdminToken())
		leaguetest.AssertRefused(t, err, protocol.ErrRateLimited, 22)
		_, err = startLeague(w, w.Manager.AdminToken())
		leaguetest.AssertRefused(t, err, protocol.ErrRateLimited, 22)
	})
}

func TestAdminTokenStaysTheSameAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		ownSecret := func(o *manager.Options) { o.Secret = nil }
		first := w.StartManagerIn(folder, 0, 1, ownSecret)
		token := w.Manager.AdminToken()
		first.Kill()
		w.StartManagerIn(folder, 0, 1, ownSecret)
		assert.Equal(t, token, w.Manager.AdminToken())
		assert.NotContains(t, string(leaguetest.ReadJournal(w, folder)), token)
	})
}
