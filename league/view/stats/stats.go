// Package stats tells what the results of a league show about its players: ratings with
// intervals, a test whether all players are equal, sums, and one sentence about them. A table
// ranks players by what they have won; this package says how much of it can be luck.
//
// All functions are pure: values in, values out, with no clock, no files and no global source
// of randomness. The same matches in the same order and the same seed give the same numbers.
// Players are indexes, 0 to n-1. The package must not depend on ids, rounds, games or time.
//
// docs/statistics.md explains the numbers to their readers.
package stats

import (
	"math/rand/v2"

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

	Names      []string // of the players, for Sentence; nil for "player 1", "player 2", …
	Strategies []string // of the players; nil for none
	Points     []int    // of the players in the table, for SonnebornBerger; nil for none

	// Resamples is the number of resamples behind the intervals, and Shuffles that of the test;
	// 0 for as many as take a fraction of a second.
	Resamples, Shuffles int
}

// An Analysis is what the matches of a league show.
type Analysis struct {
	Matches int  // all matches
	Played  int  // Matches without technical losses
	Used    int  // matches behind ratings and test: Played, or MaxMatches if Played is larger
	Sampled bool // Used is a sample

	Players    []Player   // by player
	Order      []int      // the players, the highest rating first
	HeadToHead []Pair     // each pair that met, in order of A and B
	Strategies []Strategy // in the order of their first player
	Sides      Sides
	Equality   Equality
	Sentence   string // what the data show, as one or two sentences

	model     model     // of the ratings
	strengths []float64 // by player: the natural logarithm of the odds against an average opponent
}

// A Player is what the matches show about one player.
type Player struct {
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

// Sides counts the matches behind the ratings by the side that won.
type Sides struct {
	WinsA int `json:"wins_A"`
	WinsB int `json:"wins_B"`
	Draws int `json:"draws"`
	// Advantage is the advantage of side A, in rating points; 0 with SidesAlike.
	Advantage float64 `json:"advantage"`
}

// Analyse analyses the matches of a league of some players. It panics if a match is not
// between two of them, or another player wins it. 20,000 matches take less than a second, and some
// seconds if they are of thousands of players.
func Analyse(players int, matches []league.Played, o Options) *Analysis {
	check(players, matches)
	a := &Analysis{Matches: len(matches)}
	used := a.use(matches, o.Seed)
	a.Players = make([]Player, players)
	a.rate(used, &o)
	a.HeadToHead = headToHead(matches)
	a.Strategies = sumStrategies(matches, o.Strategies)
	a.addSonnebornBerger(matches, o.Points)
	for i := range a.Order[:max(players-1, 0)] {
		a.Players[a.Order[i]].LegsToNext = a.LegsToSeparate(a.Order[i], a.Order[i+1])
	}
	a.Equality = testEquality(players, used, &o)
	a.Sentence = a.sentence(&o)
	return a
}

// Sentence is the Sentence of Analyse. It takes a small part of its time unless the data show
// differences.
func Sentence(players int, matches []league.Played, o Options) string {
	check(players, matches)
	a := &Analysis{Matches: len(matches)}
	a.Equality = testEquality(players, a.use(matches, o.Seed), &o)
	if a.Equality.Rejected {
		return Analyse(players, matches, o).Sentence
	}
	return a.sentence(&o)
}

// check panics if a match cannot be one of the league.
func check(players int, matches []league.Played) {
	for _, m := range matches {
		if err := m.Check(players); err != nil {
			panic("stats: " + err.Error())
		}
	}
}

// The keys of the random decisions.
const (
	keySample = iota + 1
	keyShuffle
	keyResample
)

func newRandom(seed, key uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, key)) } //nolint:gosec // statistics need no secret

// use returns the matches behind ratings and test, in order, and counts them.
func (a *Analysis) use(matches []league.Played, seed uint64) []league.Played {
	used := make([]league.Played, 0, len(matches))
	for i := range matches {
		if !matches[i].Technical {
			used = append(used, matches[i])
		}
	}
	a.Played = len(used)
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
