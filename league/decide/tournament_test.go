package decide_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// tournament is a league of three players and REF01 in a format.
func tournament(t *testing.T, format journal.Tournament) *journal.State {
	t.Helper()
	rules := created()
	rules.Tournament = &format
	return fold(t, rules, player("P01"), player("P02"), player("P03"), referee("REF01", 2, ""),
		&journal.Started{Players: []string{"P01", "P02", "P03"}, Referees: []string{"REF01"}})
}

// playRound plays the only match of a round, which the first player wins.
func playRound(t *testing.T, s *journal.State, complete bool) {
	t.Helper()
	d := s.Announcement([]string{"REF01"})
	attempt := protocol.Attempt{MatchID: protocol.MatchID{Round: d.RoundID, Number: 1}, Number: 1}
	winner, loser := d.Pairings[0][0], d.Pairings[0][1]
	apply(t, s, d, &journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"}, &journal.MatchReported{
		Attempt: attempt, RefereeID: "REF01", Score: protocol.Both(winner, 3, loser, 0),
		GameResult: protocol.GameResult{Status: protocol.StatusWin, WinnerPlayerID: &winner, Choices: protocol.Both(winner, new(string), loser, new(string))},
	})
	if complete {
		apply(t, s, &journal.RoundCompleted{RoundID: d.RoundID, Summary: s.Summary(d.RoundID)})
	}
}

func TestRoundsThatDependOnResultsAreNotKnownYet(t *testing.T) {
	s := tournament(t, journal.Tournament{Algorithm: pairing.Swiss})
	schedule := func(round protocol.QueryRound) protocol.ScheduleData {
		return ask(t, s, "P01", protocol.QuerySchedule, protocol.QueryParams{RoundID: round}).Data.(protocol.ScheduleData)
	}
	next := func(id string) protocol.NextMatchData {
		return ask(t, s, id, protocol.QueryNextMatch, protocol.QueryParams{}).Data.(protocol.NextMatchData)
	}

	all := schedule(protocol.AllRounds)
	assert.Equal(t, []int{2, 1, 1, 1}, []int{all.Rounds, *all.KnownRounds, all.TotalMatches, len(all.Matches)})
	assert.Empty(t, schedule(2).Matches, "not known, but no error")
	assert.Equal(t, "R1M1", next("P01").NextMatch.MatchID)
	assert.Equal(t, protocol.NextMatchData{Undecided: true}, next("P03"), "it has a bye")

	playRound(t, s, false)
	assert.Equal(t, protocol.NextMatchData{Undecided: true}, next("P01"), "the round is not complete")
	apply(t, s, &journal.RoundCompleted{RoundID: 1, Summary: s.Summary(1)})
	all = schedule(protocol.AllRounds)
	assert.Nil(t, all.KnownRounds, "all are known")
	assert.Equal(t, []int{2, 2}, []int{all.TotalMatches, len(all.Matches)})
	assert.Equal(t, "R2M1", next("P01").NextMatch.MatchID)
	assert.Equal(t, protocol.NextMatchData{}, next("P02"), "no match is left")

	playRound(t, s, true)
	rows := ask(t, s, "P01", protocol.QueryStandings, protocol.QueryParams{}).Standings
	require.Len(t, rows, 3)
	assert.Equal(t, "P03", rows[0].PlayerID, "a bye and a win")
	assert.Equal(t, []int{6, 1, 1, 3}, []int{rows[0].Points, rows[0].Played, *rows[0].Byes, *rows[0].Buchholz})
	assert.Equal(t, "swiss", ask(t, s, "P01", protocol.QueryStatus, protocol.QueryParams{}).Tournament)
}

func TestStatusOfAKnockoutHasTheLargestNumbersUntilItEnds(t *testing.T) {
	s := tournament(t, journal.Tournament{Algorithm: pairing.Knockout})
	status := func() []int {
		r := ask(t, s, "P01", protocol.QueryStatus, protocol.QueryParams{})
		assert.Equal(t, "knockout", r.Tournament)
		return []int{*r.Rounds, *r.Matches}
	}
	assert.Equal(t, []int{8, 8}, status())
	playRound(t, s, true)
	playRound(t, s, true)
	assert.Equal(t, []int{8, 8}, status())
	first := s.Standings()[0]
	apply(t, s, &journal.LeagueCompleted{Champion: protocol.Champion{PlayerID: first.PlayerID, Points: first.Points}})
	assert.Equal(t, []int{2, 2}, status())
}
