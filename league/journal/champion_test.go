package journal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
)

// playWinners plays all rounds of a round-robin. Each pair of winners is a winner and a loser;
// the other matches are draws.
func (l tournamentLog) playWinners(winners ...[2]string) {
	l.t.Helper()
	for l.Round < l.TotalRounds() {
		l.apply(&journal.RoundAnnounced{RoundID: l.Round + 1, Referees: []string{"REF01", "REF01"}[:len(l.Pairings(l.Round+1))]})
		for i, p := range l.Pairings(l.Round) {
			attempt := league.Attempt{MatchID: league.MatchID{Round: l.Round, Number: i + 1}, Number: 1}
			a, b := l.Started.Players[p.A], l.Started.Players[p.B]
			score, result := league.Both(a, 1, b, 1), league.Result{Status: league.StatusDraw, Choices: league.Both(a, ptr("odd"), b, ptr("odd"))}
			for _, w := range winners {
				if w == [2]string{a, b} || w == [2]string{b, a} {
					score = league.Both(w[0], 3, w[1], 0)
					result = league.Result{Status: league.StatusWin, WinnerPlayerID: &w[0], Choices: league.Both(w[0], ptr("even"), w[1], ptr("odd"))}
				}
			}
			l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
			l.apply(&journal.MatchReported{Attempt: attempt, RefereeID: "REF01", Score: score, Result: result})
		}
		l.apply(&journal.RoundCompleted{RoundID: l.Round, Summary: l.Summary(l.Round)})
	}
}

func TestChampionHasTheReason(t *testing.T) {
	headToHead := []string{"points", "head_to_head"}
	for _, tt := range []struct {
		name        string
		tiebreakers []string
		winners     [][2]string
		want        league.Champion
	}{
		{"the points decide", headToHead, [][2]string{{"P02", "P01"}, {"P02", "P03"}, {"P02", "P04"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 9}},
		{"head-to-head decides", headToHead, [][2]string{{"P03", "P01"}, {"P01", "P02"}, {"P01", "P04"}, {"P03", "P02"}, {"P04", "P03"}, {"P02", "P04"}},
			league.Champion{PlayerID: "P03", DisplayName: "C", Points: 6, Reason: "on head-to-head"}},
		{"the wins decide", []string{"points", "wins"}, [][2]string{{"P04", "P01"}, {"P02", "P04"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 5}},
		{"two share the first rank", headToHead, [][2]string{{"P02", "P01"}, {"P04", "P03"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 5, Reason: "shared by P02 and P04"}},
		{"three beat each other in a circle", headToHead, [][2]string{{"P02", "P03"}, {"P03", "P04"}, {"P04", "P02"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 4, Reason: "shared by P02, P03 and P04"}},
		{"all share the first rank", headToHead, nil,
			league.Champion{PlayerID: "P01", DisplayName: "A", Points: 3, Reason: "shared by P01, P02, P03 and P04"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begins := created(1, nil)
			begins.Tiebreakers = tt.tiebreakers
			l := startLeague(t, begins, 4)
			l.playWinners(tt.winners...)
			assert.Equal(t, tt.want, l.Champion())
		})
	}
}

// In a knockout the bracket decides, so that nothing is left to explain.
func TestChampionOfAKnockoutNeedsNoReason(t *testing.T) {
	l := startTournament(t, &journal.Tournament{Algorithm: pairing.Knockout}, 4)
	l.play()
	l.play()
	assert.Equal(t, league.Champion{PlayerID: "P01", DisplayName: "A", Points: 6}, l.Champion())
}
