package league_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

// swissTable is the table of a Swiss system with half-points: 2 for a win, 1 for a draw.
func swissTable(t *testing.T, players int, tiebreakers ...string) *league.Table {
	t.Helper()
	tbl, err := league.New(players, league.Scoring{MatchPoints: league.MatchPoints{Win: 2, Draw: 1}, Tiebreakers: tiebreakers})
	require.NoError(t, err)
	tbl.UseSwissRules()
	return tbl
}

func rowOf(tbl *league.Table, player int) *league.Standing {
	rows := tbl.Ranking(nil)
	for i := range rows {
		if rows[i].Player == player {
			return &rows[i]
		}
	}
	return nil
}

// absent is the match of a player that did not begin it.
func absent(winner, loser int) league.Played {
	return league.Played{A: winner, B: loser, Winner: winner, Technical: true, Forfeit: true}
}

func noShow(a, b int) league.Played {
	return league.Played{A: a, B: b, Winner: league.None, Technical: true, Forfeit: true}
}

// The rules of article 16 of the FIDE Tie-Break Regulations (C.07) of 1 March 2026, in half-points. Player 0 is the one
// whose scores are computed.
func TestUnplayedRoundsOfASwissSystem(t *testing.T) {
	type step struct {
		round  int
		result league.Played
		bye    bool // of player A of the result
		absent bool // the same
	}
	played := func(round int, r league.Played) step { return step{round: round, result: r} }
	bye := func(round, player int) step { return step{round: round, result: league.Played{A: player}, bye: true} }
	away := func(round, player int) step {
		return step{round: round, result: league.Played{A: player}, absent: true}
	}
	for _, tt := range []struct {
		name            string
		steps           []step
		buchholz        int
		sonnebornBerger float64
	}{
		{"16.4: a bye is a win against a dummy with the points of the player", []step{
			bye(1, 0), played(2, beat(1, 0)), played(3, beat(2, 0)), played(3, beat(1, 3)),
		}, 2 + 4 + 2, 2},
		{"16.4.2: but with no more than draws in all rounds", []step{
			bye(1, 0), played(2, beat(0, 1)), played(3, beat(0, 2)),
		}, 3, 3},
		{"16.4: an absence is a loss against a dummy", []step{
			played(1, beat(0, 1)), away(2, 0), played(3, beat(1, 2)),
		}, 2 + 2, 2},
		{"16.4.1: a forfeit win counts the points of the player, if the opponent has more", []step{
			played(1, absent(0, 1)), played(2, beat(1, 2)), played(3, beat(1, 3)), played(4, beat(1, 4)),
		}, 2, 2},
		{"16.4.1: or those of the opponent, if it has fewer", []step{
			played(1, absent(0, 1)), played(2, beat(0, 2)), played(3, draw(1, 3)),
		}, 1 + 0, 1},
		{"16.4.1: a forfeit loss too, without a win", []step{
			played(1, absent(1, 0)), played(2, beat(0, 2)),
		}, 2 + 0, 0},
		{"16.3.2: the rounds after the withdrawal of an opponent count as draws", []step{
			played(1, beat(1, 0)), away(2, 1), away(3, 1),
		}, 2 + 1 + 1, 0},
		{"16.3.2: forfeits after an absence change nothing", []step{
			played(1, beat(1, 0)), away(2, 1), played(3, absent(2, 1)), played(4, noShow(1, 3)),
		}, 2 + 1, 0},
		{"16.3.1: an opponent that returned has the points that it got", []step{
			played(1, beat(1, 0)), away(2, 1), played(3, beat(2, 1)),
		}, 2, 0},
		{"16.3.1: and so has one that won by a forfeit, or had a bye, later", []step{
			played(1, beat(1, 0)), away(2, 1), bye(3, 1), played(1, beat(2, 0)), away(2, 2), played(3, absent(2, 3)),
		}, 4 + 4, 0},
		{"16.3.1: byes and forfeits of an opponent count as awarded", []step{
			played(1, beat(1, 0)), bye(2, 1), played(3, absent(1, 2)),
		}, 6, 0},
		{"16.4.1: the score of a forfeiting opponent is the adjusted one", []step{
			played(1, draw(1, 2)), played(1, beat(0, 3)), played(2, absent(0, 1)), away(3, 1), played(3, beat(0, 4)),
		}, 0 + 2 + 0, 2},
		{"a technical loss after moves is a match like all others", []step{
			played(1, forfeitTo(0, 1)), played(2, beat(1, 2)), played(3, beat(1, 3)),
		}, 4, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tbl := swissTable(t, 5, league.SwissTiebreakers()...)
			for _, s := range tt.steps {
				switch {
				case s.bye:
					tbl.RecordBye(s.round, s.result.A)
				case s.absent:
					tbl.RecordAbsence(s.round, s.result.A)
				default:
					require.NoError(t, tbl.Record(s.round, s.result))
				}
			}
			row := rowOf(tbl, 0)
			assert.Equal(t, tt.buchholz, *row.Buchholz, "Buchholz")
			assert.InDelta(t, tt.sonnebornBerger, *row.SonnebornBerger, 0, "Sonneborn–Berger")
		})
	}
}

// The example of the FIDE Arbiters' Manual 2026: a player with 7 of 10 points was absent in round 4. The dummy has 5 points, as
// 16.4.2 allows, so that Buchholz is 55. Sonneborn–Berger is 37.25.
func TestUnplayedRoundOfTheArbitersManual(t *testing.T) {
	tbl := swissTable(t, 30, league.SwissTiebreakers()...)
	for round, opponent := range map[int]struct{ score, half int }{ // in half-points: its final score, the points against it
		1: {10, 2}, 2: {10, 2}, 3: {13, 0}, 5: {9, 2}, 6: {12, 1}, 7: {10, 2}, 8: {13, 1}, 9: {11, 2}, 10: {12, 2},
	} {
		result := []league.Played{beat(round, 0), draw(0, round), beat(0, round)}[opponent.half]
		require.NoError(t, tbl.Record(round, result))
		for left := opponent.score - (2 - opponent.half); left > 0; left -= 2 {
			against := beat(round, 20)
			if left == 1 {
				against = draw(round, 20)
			}
			require.NoError(t, tbl.Record(1, against))
		}
	}
	tbl.RecordAbsence(4, 0)
	row := rowOf(tbl, 0)
	assert.Equal(t, []int{14, 110}, []int{row.Points, *row.Buchholz})
	assert.InDelta(t, 74.5, *row.SonnebornBerger, 0)
}

// A dummy with 1 point a round would put a player with a bye behind the others with the same points.
func TestDummyHasHalfTheWinsWhereADrawIsWorthLess(t *testing.T) {
	tbl, err := league.New(3, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: league.SwissTiebreakers()})
	require.NoError(t, err)
	tbl.UseSwissRules()
	tbl.RecordBye(1, 0)
	for round := 2; round <= 4; round++ {
		require.NoError(t, tbl.Record(round, beat(0, round%2+1)))
	}
	assert.Equal(t, 6, *rowOf(tbl, 0).Buchholz, "half of four wins, although the player has 12 points")
}

// Article 6.1.1: in a Swiss system a forfeit decides nothing between two players. In a round-robin it is a match (15.2).
func TestForfeitsDecideNoHeadToHeadOfASwissSystem(t *testing.T) {
	results := []league.Played{absent(1, 0), beat(0, 2)}
	round := tableOf(t, 3, league.Scoring{MatchPoints: league.MatchPoints{Win: 2, Draw: 1}, Tiebreakers: []string{"points", "head_to_head"}}, results...)
	assert.Equal(t, []int{1, 0, 2}, order(round))
	tbl := swissTable(t, 3, "points", "head_to_head")
	for i, r := range results {
		require.NoError(t, tbl.Record(i+1, r))
	}
	rows := tbl.Ranking(nil)
	assert.True(t, rows[0].Tied, "0 and 1 have the same points")
	assert.Equal(t, 0, rows[0].Player)
}

// Article 7.1: a bye counts among the wins.
func TestByesCountAmongTheWinsOfASwissSystem(t *testing.T) {
	tbl := swissTable(t, 4, "points", "wins")
	require.NoError(t, tbl.Record(1, draw(0, 2)))
	require.NoError(t, tbl.Record(2, draw(0, 3)))
	tbl.RecordBye(1, 1)
	rows := tbl.Ranking(nil)
	assert.Equal(t, []int{1, 0}, []int{rows[0].Player, rows[1].Player})
	assert.Equal(t, league.TiebreakValues{"wins": 1}, rows[0].TiebreakValues)
	assert.Zero(t, rows[0].Wins, "the column counts matches")
	assert.Equal(t, "wins", rows[1].DecidedBy)
}

func TestForfeitIsATechnicalLossWithoutAMove(t *testing.T) {
	winner, choice := "P01", "even"
	for _, tt := range []struct {
		name    string
		status  string
		choices league.PerPlayer[*string]
		want    bool
	}{
		{"nobody chose", league.StatusTechnicalLoss, league.Both("P01", (*string)(nil), "P02", (*string)(nil)), true},
		{"none are listed", league.StatusTechnicalLoss, nil, true},
		{"one chose", league.StatusTechnicalLoss, league.Both("P01", &choice, "P02", (*string)(nil)), false},
		{"a win that a referee states", league.StatusWin, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &league.Result{Status: tt.status, WinnerPlayerID: &winner, Choices: tt.choices}
			p, err := r.Played([2]int{0, 1}, [2]string{"P01", "P02"})
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Forfeit)
		})
	}
}
