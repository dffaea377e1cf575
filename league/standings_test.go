package league_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
)

// order returns the players in the order of the standings.
func order(tbl *league.Table) []int {
	var players []int
	for _, row := range tbl.Ranking(nil) {
		players = append(players, row.Player)
	}
	return players
}

func TestTiebreakersOrderThePlayers(t *testing.T) {
	type results = []league.Played
	for _, tt := range []struct {
		name        string
		tiebreakers []string
		players     int
		results     results
		want        []int // players, best first
	}{
		{"before the first match: by index", []string{"points", "wins", "draws"}, 4,
			nil,
			[]int{0, 1, 2, 3}},
		{"the first tie-breaker has priority", []string{"draws", "points"}, 4,
			results{beat(0, 1), beat(0, 2), draw(2, 3)},
			[]int{2, 3, 0, 1}},
		{"points: three draws equal a win", []string{"points"}, 5,
			results{draw(0, 1), draw(0, 2), draw(0, 3), beat(4, 1)},
			[]int{0, 4, 1, 2, 3}},
		{"wins: a technical win is a win", []string{"wins"}, 2,
			results{forfeitTo(1, 0)},
			[]int{1, 0}},
		{"draws: a double technical loss is no draw", []string{"draws"}, 4,
			results{bothFail(0, 1), draw(2, 3)},
			[]int{2, 3, 0, 1}},
		{"win_rate: one of one beats two of three", []string{"win_rate"}, 4,
			results{beat(0, 2), beat(0, 3), beat(3, 0), beat(1, 2)},
			[]int{1, 0, 3, 2}},
		{"head_to_head: matches against another group do not count", []string{"points", "head_to_head"}, 6,
			// 0 and 1 have 6 points, 2 and 3 have 3. 0 beat 2 of the other group.
			results{beat(1, 0), beat(0, 2), beat(0, 4), beat(1, 4), beat(3, 2), beat(2, 5)},
			[]int{1, 0, 3, 2, 4, 5}},
		{"head_to_head: players that it leaves tied go to the next tie-breaker",
			[]string{"draws", "head_to_head", "win_rate"}, 4,
			// 0 and 1 have 3 points each among all four. 0 beat 1, but won one of three
			// matches where 1 won one of two.
			results{beat(0, 1), beat(2, 0), beat(2, 0), beat(1, 3)},
			[]int{2, 1, 0, 3}},
		{"buchholz: stronger opponents, won or lost", []string{"points", "buchholz"}, 5,
			results{beat(0, 2), beat(1, 3), beat(3, 4), beat(4, 0)},
			[]int{3, 4, 0, 1, 2}},
		{"sonneborn_berger: a draw with 4 points is less than a win against 3", []string{"sonneborn_berger"}, 6,
			results{draw(0, 2), beat(2, 4), beat(1, 3), beat(3, 5)},
			[]int{1, 0, 2, 3, 4, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scoring := league.DefaultScoring()
			scoring.Tiebreakers = tt.tiebreakers
			tbl := tableOf(t, tt.players, scoring, tt.results...)
			assert.Equal(t, tt.want, order(tbl))
		})
	}
}

func TestStandingsHaveCountersAndRanks(t *testing.T) {
	tbl := tableOf(t, 4, league.DefaultScoring(),
		beat(0, 1), forfeitTo(3, 2),
		draw(0, 2), draw(1, 3),
		forfeitTo(3, 0), bothFail(1, 2))
	var got []string
	for _, r := range tbl.Ranking(nil) {
		got = append(got, fmt.Sprint(r.Player, r.Rank, r.Tied, " ", r.Decider(), r.Tally, r.Points))
	}
	assert.Equal(t, []string{
		"3 1 false {3 2 1 0 0} 7", "0 2 false points{3 1 1 1 1} 4", "1 3 true points{3 0 1 2 1} 1", "2 3 true {3 0 1 2 2} 1",
	}, got)
	assert.Zero(t, tbl.Row(3).Rank, "a single row has no rank")
}

func TestByeGivesThePointsOfAWinAndNoMatch(t *testing.T) {
	scoring := league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: league.SwissTiebreakers()}
	tbl, err := league.New(3, scoring)
	require.NoError(t, err)
	tbl.UseSwissRules()
	tbl.RecordBye(1, 2)
	require.NoError(t, tbl.Record(1, beat(0, 1)))
	tbl.RecordBye(2, 1)
	require.NoError(t, tbl.Record(2, draw(0, 2)))
	var got []string
	for _, r := range tbl.Ranking(nil) {
		got = append(got, fmt.Sprint(r.Player, r.Rank, " ", r.Decider(), r.Tally, r.Points, *r.Byes, *r.Buchholz, *r.SonnebornBerger, r.TiebreakValues))
	}
	assert.Equal(t, []string{
		"0 1 {2 1 1 0 0} 4 0 7 5 map[]", "2 1 {1 0 1 0 0} 4 1 7 5 map[]", "1 3 points{1 0 0 1 0} 3 1 7 3 map[]",
	}, got)
}

func TestEachColumnHasAValue(t *testing.T) {
	scoring := league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: league.SwissTiebreakers()}
	tbl, err := league.New(5, scoring)
	require.NoError(t, err)
	tbl.UseSwissRules()
	for _, result := range []league.Played{beat(0, 1), draw(0, 2), forfeitTo(1, 2), bothFail(3, 4)} {
		require.NoError(t, tbl.Record(1, result))
	}
	tbl.RecordBye(1, 1)
	tbl.AddFallbacks(0, 1)
	rows := tbl.Ranking(nil)
	for i := range rows { // what the table does not know
		rows[i].PlayerID, rows[i].DisplayName, rows[i].Strategy = "P01", "Anna", "random"
	}
	zero := map[string]bool{"": true, "0": true, "0.0": true, "false": true}
	for _, c := range append(league.Columns(rows), league.Fields(rows)...) {
		computed := func(r league.Standing) bool { return !zero[c.Text(&r)] && !zero[c.Value(&r)] }
		assert.True(t, slices.ContainsFunc(rows, computed), "nothing computes the column %s", cmp.Or(c.Name, c.Title))
	}
}

// season is a random league. It has few players and points, so that ties are common.
type season struct {
	players int
	scoring league.Scoring
	results []league.Played
}

func drawSeason(t *rapid.T) season {
	players := rapid.IntRange(2, 7).Draw(t, "players")
	points := rapid.IntRange(-1, 3)
	all := []string{"points", "wins", "draws", "head_to_head", "buchholz", "sonneborn_berger", "win_rate", "points_per_match"}
	tiebreakers := rapid.Permutation(all).Draw(t, "tiebreakers")
	result := rapid.Custom(func(t *rapid.T) league.Played {
		a := rapid.IntRange(0, players-1).Draw(t, "A")
		b := (a + rapid.IntRange(1, players-1).Draw(t, "from A to B")) % players
		return league.Played{
			A: a, B: b,
			Winner:    rapid.SampledFrom([]int{a, b, league.None}).Draw(t, "winner"),
			Technical: rapid.Bool().Draw(t, "technical"),
		}
	})
	return season{
		players: players,
		scoring: league.Scoring{
			MatchPoints: league.MatchPoints{
				Win:           points.Draw(t, "win"),
				Draw:          points.Draw(t, "draw"),
				Loss:          points.Draw(t, "loss"),
				TechnicalLoss: points.Draw(t, "technical loss"),
			},
			Tiebreakers: tiebreakers[:rapid.IntRange(0, len(all)).Draw(t, "how many tiebreakers")],
		},
		results: rapid.SliceOfN(result, 0, 25).Draw(t, "results"),
	}
}

func TestPointsEqualsTheRecordedPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeason(t)
		tbl := tableOf(t, s.players, s.scoring)
		for _, o := range s.results {
			a, b := s.scoring.For(o.Outcome(o.A)), s.scoring.For(o.Outcome(o.B))
			a, b = a+tbl.Row(o.A).Points, b+tbl.Row(o.B).Points
			require.NoError(t, tbl.Record(1, o))
			require.Equal(t, []int{a, b}, []int{tbl.Row(o.A).Points, tbl.Row(o.B).Points})
		}
	})
}

// The tie-breaks computed in another way: from the results, with fractions, group by group.
func TestStandingsEqualTheReferenceRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeason(t)
		all := make([]int, s.players)
		for player := range all {
			all[player] = player
		}
		if len(s.scoring.Tiebreakers) == 0 {
			s.scoring.Tiebreakers = []string{"points", "wins", "draws"}
		}
		var got []placed
		for _, row := range tableOf(t, s.players, s.scoring, s.results...).Ranking(nil) {
			p := placed{row.Player, row.Rank, row.Tied, row.Decider(), ""}
			for _, name := range s.scoring.Tiebreakers {
				if value, ok := row.TiebreakValues[name]; ok {
					p.values += fmt.Sprintf("%s=%.6f ", name, value)
				}
			}
			got = append(got, p)
		}
		require.Equal(t, s.rank(all, s.scoring.Tiebreakers, 1, "", ""), got)
	})
}

// A placed player is what the standings say about its place.
type placed struct {
	player, rank int
	tied         bool
	by           string // the tie-breaker between the player and the one above
	values       string // of the tie-breakers without a column that split a group of the player
}

// rank orders a tied group, which is in ascending order and begins at a rank. By decided
// between it and the player above, and values are those of the tie-breakers so far.
func (s season) rank(group []int, tiebreakers []string, rank int, by, values string) (ranked []placed) {
	if len(tiebreakers) == 0 || len(group) < 2 {
		for i, player := range group {
			ranked = append(ranked, placed{player, rank, len(group) > 1, by, values})
			if i == 0 {
				by = ""
			}
		}
		return ranked
	}
	points := make(map[int]*big.Rat)
	for _, player := range group {
		points[player] = s.value(tiebreakers[0], player, group)
	}
	for rest := group; len(rest) > 0; {
		best := points[rest[0]]
		for _, player := range rest {
			if points[player].Cmp(best) > 0 {
				best = points[player]
			}
		}
		var level, worse []int
		for _, player := range rest {
			if points[player].Cmp(best) == 0 {
				level = append(level, player)
			} else {
				worse = append(worse, player)
			}
		}
		split := values
		inColumn := slices.Contains([]string{"points", "wins", "draws"}, tiebreakers[0])
		if len(level) < len(group) && !inColumn {
			split += fmt.Sprintf("%s=%s ", tiebreakers[0], best.FloatString(6))
		}
		ranked = append(ranked, s.rank(level, tiebreakers[1:], rank, by, split)...)
		rank, by, rest = rank+len(level), tiebreakers[0], worse
	}
	return ranked
}

// value returns the value of a tie-breaker for a player of a group.
func (s season) value(tiebreaker string, player int, group []int) *big.Rat {
	var played, wins, draws int64
	sum := new(big.Rat)
	for _, o := range s.results {
		if o.A != player && o.B != player {
			continue
		}
		opponent := o.A + o.B - player
		isWin, isDraw := o.Winner == player, o.Winner == league.None && !o.Technical
		played++
		if isWin {
			wins++
		}
		if isDraw {
			draws++
		}
		switch {
		case tiebreaker == "head_to_head" && slices.Contains(group, opponent):
			sum.Add(sum, big.NewRat(s.gained(o, player), 1))
		case tiebreaker == "buchholz":
			sum.Add(sum, big.NewRat(s.points(opponent), 1))
		case tiebreaker == "sonneborn_berger" && isWin:
			sum.Add(sum, big.NewRat(s.points(opponent), 1))
		case tiebreaker == "sonneborn_berger" && isDraw:
			sum.Add(sum, big.NewRat(s.points(opponent), 2))
		}
	}
	switch tiebreaker {
	case "points":
		return big.NewRat(s.points(player), 1)
	case "wins":
		return big.NewRat(wins, 1)
	case "draws":
		return big.NewRat(draws, 1)
	case "win_rate":
		return big.NewRat(wins, max(played, 1))
	case "points_per_match":
		return big.NewRat(s.points(player), max(played, 1))
	}
	return sum
}

// points returns the total of a player.
func (s season) points(player int) (total int64) {
	for _, o := range s.results {
		if o.A == player || o.B == player {
			total += s.gained(o, player)
		}
	}
	return total
}

// gained returns the points of a player for a match.
func (s season) gained(o league.Played, player int) int64 {
	switch {
	case o.Winner == player:
		return int64(s.scoring.Win)
	case o.Technical:
		return int64(s.scoring.TechnicalLoss)
	case o.Winner == league.None:
		return int64(s.scoring.Draw)
	default:
		return int64(s.scoring.Loss)
	}
}

func TestLevelsGoBeforeTheTiebreakers(t *testing.T) {
	// 0 beat 1 and 2; 3 and 4 drew; 5 has no result.
	tbl := tableOf(t, 6, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points", "head_to_head"}}, beat(0, 1), beat(0, 2), draw(3, 4))
	var got []string
	for _, row := range tbl.Ranking([]int{3, 3, 3, 1, 1, 2}) {
		got = append(got, fmt.Sprint(row.Player, " ", row.Rank, " ", row.Tied, " ", row.Decider(), row.TiebreakValues))
	}
	assert.Equal(t, []string{
		"3 1 true map[]", "4 1 true map[]", "5 3 false bracketmap[]",
		"0 4 false bracketmap[]", "1 5 true pointsmap[]", "2 5 true map[]",
	}, got)
}

func TestDefaultScoringIsThatOfTheSpecification(t *testing.T) {
	s := league.DefaultScoring()
	assert.Equal(t, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points", "wins", "draws"}}, s)
	assert.NoError(t, s.Validate())

	s.Tiebreakers[0] = "changed by one caller"
	assert.Equal(t, "points", league.DefaultScoring().Tiebreakers[0], "each caller gets its own list")
}

func TestUnknownOrRepeatedTiebreakersAreInvalid(t *testing.T) {
	const known = "points, wins, draws, head_to_head, buchholz, sonneborn_berger, win_rate, points_per_match"
	for _, tt := range []struct {
		name        string
		tiebreakers []string
		want        []string // in the error; none: no error
	}{
		{"all of them", []string{"points", "wins", "draws", "head_to_head", "buchholz", "sonneborn_berger", "win_rate", "points_per_match"}, nil},
		{"without points", []string{"win_rate"}, nil},
		{"none", nil, nil},
		{"unknown", []string{"points", "goals"}, []string{`unknown tie-breaker "goals"`, known}},
		{"misspelt", []string{"Points"}, []string{`unknown tie-breaker "Points"`, known}},
		{"empty", []string{""}, []string{`unknown tie-breaker ""`, known}},
		{"repeated", []string{"points", "wins", "points"}, []string{`"points" is repeated`, known}},
		{"unknown and repeated", []string{"goals", "goals"}, []string{`unknown tie-breaker "goals"`, known}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: tt.tiebreakers}.Validate()
			_, newErr := league.New(2, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: tt.tiebreakers})
			assert.Equal(t, err, newErr, "New and Validate return the same error")
			if tt.want == nil {
				assert.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, want := range tt.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}
