// Package stats tells what the results of a league show about its players: ratings with
// intervals, a test whether all players are equal, sums, and one sentence about them. A table
// ranks players by what they have won; this package says how much of it can be luck.
//
// All functions are pure: values in, values out, with no clock, no files and no global source
// of randomness. The same matches in the same order and the same seed give the same numbers.
// Matches name players by their indexes, 0 to n-1. The package must not depend on rounds, games or time.
//
// docs/statistics.md explains the numbers to their readers.
package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"evenodd/league"
)

// MaxMatches is the largest number of matches that ratings and test use. Of more matches they
// use a random sample of this size.
const MaxMatches = 20_000

// Level is the significance level of the test: it rejects if P is at most Level.
const Level = 0.05

// Confidence is the part of the resamples that an interval covers.
const Confidence = 0.95

// Options are the options of Analyse. The zero value is valid.
type Options struct {
	// Seed determines the random numbers of intervals, test and sample.
	Seed uint64

	// SidesAlike tells that the rules treat both sides alike, so that side A has no advantage,
	// as in Even/Odd. Without it, ratings and test allow for an advantage of side A, as the
	// first player has in Tic-Tac-Toe; they then tell less if some players are on one side more
	// often.
	SidesAlike bool
	// PairedByResults tells that the results decide who meets whom later, as in a Swiss system and
	// in a knockout.
	PairedByResults bool
	// Gauntlet tells that not all players meet, so that LegsToNext is not known.
	Gauntlet bool

	// Resamples is the number of resamples behind the intervals, and Shuffles that of the test;
	// 0 for as many as take a fraction of a second.
	Resamples, Shuffles int
}

// An Analysis is what the results of a league show about its players, as docs/statistics.md
// explains. The members are a contract.
type Analysis struct {
	Sentence string `json:"sentence"` // what the results show, in one or two sentences
	Told     string `json:"-"`        // Sentence for people, with names beside the ids

	Matches int  `json:"matches"`          // all results that count
	Stated  int  `json:"stated,omitzero"`  // not rated: their result rests on the word of a referee
	Copies  int  `json:"copies,omitzero"`  // not rated: the players have played the same match before
	Played  int  `json:"played"`           // the others without technical losses
	Used    int  `json:"used"`             // matches behind ratings and test, at most 20,000
	Sampled bool `json:"sampled,omitzero"` // these are a sample

	Equality   Equality   `json:"equality"`
	Sides      Sides      `json:"sides"`
	Ratings    []Player   `json:"ratings"`              // the highest first
	Strategies []Strategy `json:"strategies,omitempty"` // in the order of their first player

	Players []Player `json:"-"` // by player
	Order   []int    `json:"-"` // the players, the highest rating first

	model     model       // of the ratings
	strengths []float64   // by player: the natural logarithm of the odds against an average opponent
	resampled [][]float64 // ratings by player and resample
}

// A Player is what the matches show about one player.
type Player struct {
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name"`
	ShownName   string `json:"-"` // for people
	Strategy    string `json:"strategy,omitzero"`

	Matches int `json:"matches"` // of the player behind its rating

	// Rating is the playing strength, and Low to High its interval. An opponent that scores half
	// of the points against these players has 1500; 400 more mean odds of 10 to 1. A player
	// without matches has 1500 and a wide interval.
	Rating float64 `json:"rating"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Rank is the rank by rating, from 1; players with equal ratings share it. BestRank to
	// WorstRank is its interval.
	Rank      int `json:"rank"`
	BestRank  int `json:"best_rank"`
	WorstRank int `json:"worst_rank"`

	// SonnebornBerger is the points of all opponents beaten, and half of those drawn with, over
	// all matches.
	SonnebornBerger float64 `json:"sonneborn_berger"`
	// LegsToNext is LegsToSeparate of the player and the next one in Order; 0 for the last one.
	LegsToNext int `json:"legs_to_next,omitzero"`
}

// Shown is the name of the player for people.
func (p *Player) Shown() string { return cmp.Or(p.ShownName, p.DisplayName) }

// Ranks is the interval of the rank, such as 1–3.
func (p *Player) Ranks() string {
	if p.BestRank == p.WorstRank {
		return strconv.Itoa(p.BestRank)
	}
	return fmt.Sprintf("%d–%d", p.BestRank, p.WorstRank)
}

// Interval is the rating with its interval, such as 1650 (1358–1940).
func (p *Player) Interval() string { return fmt.Sprintf("%.0f (%.0f–%.0f)", p.Rating, p.Low, p.High) }

// Percent is a likelihood for people: "72%". No likelihood is certain: the ends are "<1%" and ">99%".
func Percent(likelihood float64) string {
	switch percent := math.Round(100 * likelihood); {
	case percent < 1:
		return "<1%"
	case percent > 99:
		return ">99%"
	default:
		return fmt.Sprintf("%.0f%%", percent)
	}
}

// MostLegs is the largest LegsToNext that a table for people shows as a number: more legs are hardly ever played.
const MostLegs = 100

// Legs is LegsToNext for people: "over 100" for a large number, "" for none.
func (p *Player) Legs() string {
	switch n := p.LegsToNext; {
	case n == 0:
		return ""
	case n > MostLegs:
		return fmt.Sprintf("over %d", MostLegs)
	default:
		return strconv.Itoa(n)
	}
}

// Sides counts the matches behind the ratings by the side that won.
type Sides struct {
	WinsA int `json:"wins_A"`
	WinsB int `json:"wins_B"`
	Draws int `json:"draws"`
	// Advantage is the advantage of side A, in rating points; 0 with SidesAlike.
	Advantage float64 `json:"advantage"`
}

// Analyse analyses the matches of the players of a league. It panics if a match is not
// between two of them, or another player wins it. 20,000 matches take less than a second, and some
// seconds if they are of thousands of players.
func Analyse(players []league.Standing, matches []league.Played, o Options) *Analysis {
	a := &Analysis{Players: make([]Player, len(players))}
	used := a.use(len(players), matches, o.Seed)
	for i := range players {
		p := &players[i]
		a.Players[i] = Player{PlayerID: p.PlayerID, DisplayName: p.DisplayName, ShownName: p.Name(), Strategy: p.Strategy}
	}
	a.rate(used, &o)
	a.sumStrategies(matches)
	a.addSonnebornBerger(matches, players)
	for i := range a.Order[:max(len(players)-1, 0)] {
		if o.Gauntlet {
			break // its legs are no round-robins
		}
		a.Players[a.Order[i]].LegsToNext = a.LegsToSeparate(a.Order[i], a.Order[i+1])
	}
	a.Equality = testEquality(len(players), used, &o)
	a.Sentence, a.Told = a.sentence(&o, byID), a.sentence(&o, inWords)
	return a
}

// Told is the Told of Analyse. It takes a small part of its time unless the data show
// differences.
func Told(players []league.Standing, matches []league.Played, o Options) string {
	a := &Analysis{}
	a.Equality = testEquality(len(players), a.use(len(players), matches, o.Seed), &o)
	if a.Equality.Rejected {
		return Analyse(players, matches, o).Told
	}
	return a.sentence(&o, inWords)
}

// Round sets Ratings and rounds all numbers: their last bits differ between processors.
func (a *Analysis) Round() {
	round(4, &a.Equality.P, &a.Equality.SmallestP)
	round(2, &a.Equality.Statistic)
	round(1, &a.Sides.Advantage)
	a.Ratings = make([]Player, len(a.Players))
	for i, player := range a.Order {
		a.Ratings[i] = a.Players[player]
		round(1, &a.Ratings[i].Rating, &a.Ratings[i].Low, &a.Ratings[i].High)
	}
}

// Significant rounds a number to four significant digits: its last bits differ between processors.
func Significant(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return x
}

func round(digits int, numbers ...*float64) {
	factor := math.Pow10(digits)
	for _, x := range numbers {
		*x = cmp.Or(math.Round(*x*factor)/factor, 0) // no negative zero
	}
}

// The keys of the random decisions.
const (
	keySample = iota + 1
	keyShuffle
	keyResample
)

func newRandom(seed, key uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, key)) } //nolint:gosec // statistics need no secret

// use returns the matches behind ratings and test, in order, and counts them. It panics if a match
// cannot be one of the league.
func (a *Analysis) use(players int, matches []league.Played, seed uint64) []league.Played {
	used := make([]league.Played, 0, len(matches))
	for i := range matches {
		if err := matches[i].Check(players); err != nil {
			panic("stats: " + err.Error())
		}
		if !matches[i].Technical {
			used = append(used, matches[i])
		}
	}
	a.Matches, a.Played = len(matches), len(used)
	if a.Sampled = a.Played > MaxMatches; a.Sampled {
		random, sample := newRandom(seed, keySample), used[:0]
		for i := range used {
			if random.IntN(a.Played-i) < MaxMatches-len(sample) {
				sample = append(sample, used[i])
			}
		}
		used = sample
	}
	a.Used = len(used)
	for i := range used {
		switch used[i].Winner {
		case used[i].A:
			a.Sides.WinsA++
		case used[i].B:
			a.Sides.WinsB++
		default:
			a.Sides.Draws++
		}
	}
	return used
}

// A Strategy sums up the matches of all players of a strategy. A match between two of them
// counts for both.
type Strategy struct {
	Name    string `json:"strategy"`
	Players int    `json:"players"`
	league.Tally
}

// sumStrategies sums the matches up by strategy, if a player has one.
func (a *Analysis) sumStrategies(matches []league.Played) {
	number, known := map[string]int{}, false
	var sums []Strategy
	for i := range a.Players {
		name := a.Players[i].Strategy
		known = known || name != ""
		if _, ok := number[name]; !ok {
			number[name], sums = len(sums), append(sums, Strategy{Name: name})
		}
		sums[number[name]].Players++
	}
	if !known {
		return
	}
	for _, m := range matches {
		for _, player := range [...]int{m.A, m.B} {
			sums[number[a.Players[player].Strategy]].Add(m.Outcome(player), 1)
		}
	}
	a.Strategies = sums
}

// addSonnebornBerger sets the scores of all players, by their points in the table.
func (a *Analysis) addSonnebornBerger(matches []league.Played, players []league.Standing) {
	for _, m := range matches {
		for _, player := range [...]int{m.A, m.B} {
			points := float64(players[m.A+m.B-player].Points) // of the opponent
			switch m.Outcome(player) {
			case league.Win:
				a.Players[player].SonnebornBerger += points
			case league.Draw:
				a.Players[player].SonnebornBerger += points / 2
			}
		}
	}
}
