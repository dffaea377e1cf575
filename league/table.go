// Package league ranks the players of a league: it counts the results of matches and
// orders the players by the league's scoring and tie-breakers (spec 003 §3.4). It is the
// only package that computes points and ranks.
//
// Players are indexes, 0 to n-1, into the league's list of players in ascending order of
// id. The package must not depend on ids, rounds, games or time. The caller decides
// whether a result counts, and counts each result once.
package league

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Table counts results. Their order changes nothing. Not safe for concurrent use.
type Table struct {
	scoring   Scoring
	tiebreaks []tiebreak // of the scoring, the first deciding first
	rows      []Standing // by player, Rank 0

	// games are the matches of every player, only for scores that depend on the
	// opponents; nil otherwise. A match is in the list of both its players.
	games [][]game

	swiss *idleRounds // nil except in a Swiss system
}

// idleRounds are the rounds of a Swiss system in which players have no match, by player.
type idleRounds struct {
	byes     [][]uint16
	absences [][]uint16
}

// A game is a match from the side of one of its players.
type game struct {
	opponent int32 // 8 bytes in all: two of these per match are most of a big league's table
	round    uint16
	outcome  Outcome
	forfeit  bool
}

// New returns the table of a league in which no match has a result. players may be 0.
// The error is that of an invalid scoring, or of a number of players that is negative or
// beyond 32 bits.
func New(players int, scoring Scoring) (*Table, error) {
	if players < 0 || players > math.MaxInt32 {
		return nil, fmt.Errorf("a table of %d players: want 0 to %d", players, math.MaxInt32)
	}
	if err := scoring.Validate(); err != nil {
		return nil, err
	}
	t := &Table{scoring: scoring, rows: make([]Standing, players)}
	names := scoring.Tiebreakers
	if len(names) == 0 {
		names = DefaultScoring().Tiebreakers
	}
	for _, name := range names {
		t.tiebreaks = append(t.tiebreaks, tiebreakOf(name))
	}
	for player := range t.rows {
		t.rows[player].Player = player
	}
	if slices.ContainsFunc(t.tiebreaks, func(by tiebreak) bool { return by.opponents }) {
		t.games = make([][]game, players)
	}
	return t, nil
}

// UseSwissRules makes the table that of a Swiss system: the standings contain byes and the scores of
// the opponents, and unplayed rounds count in the tie-breaks as FIDE's regulations have it. Call it before
// the first result.
func (t *Table) UseSwissRules() {
	t.games = make([][]game, len(t.rows))
	t.swiss = &idleRounds{make([][]uint16, len(t.rows)), make([][]uint16, len(t.rows))}
}

// Record counts a result of a round, from 1. It takes constant time, and allocates only for tie-breakers
// that need more than counters. It returns an error, and changes nothing, if no match can
// end so.
func (t *Table) Record(round int, r Played) error {
	if err := r.Check(len(t.rows)); err != nil {
		return err
	}
	t.count(round, r, r.A, r.B, 1)
	t.count(round, r, r.B, r.A, 1)
	return nil
}

// Forget takes back a result that Record has counted. The counters of a result that was
// not counted are wrong afterwards.
func (t *Table) Forget(round int, r Played) {
	t.count(round, r, r.A, r.B, -1)
	t.count(round, r, r.B, r.A, -1)
}

// count counts a result for one of its players; n is -1 to take it back.
func (t *Table) count(round int, r Played, player, opponent, n int) {
	o := r.Outcome(player)
	t.rows[player].Add(o, n)
	t.rows[player].Points += n * t.scoring.For(o)
	if t.games == nil {
		return
	}
	//nolint:gosec // New has refused more players than fit; no Swiss system has more rounds
	g := game{opponent: int32(opponent), round: uint16(round), outcome: o, forfeit: r.Forfeit}
	if n > 0 {
		t.games[player] = append(t.games[player], g)
		return
	}
	i := slices.Index(t.games[player], g)
	t.games[player] = slices.Delete(t.games[player], i, i+1)
}

// RecordBye counts a bye in a round of a Swiss system: the player gets the points of a win, but no
// match and no opponent. It panics if there is no such player.
func (t *Table) RecordBye(round, player int) {
	t.swiss.byes[player] = append(t.swiss.byes[player], uint16(round)) //nolint:gosec // no Swiss system has more
	t.rows[player].Points += t.scoring.Win
}

// RecordAbsence counts a round of a Swiss system in which a player was not paired and got no points.
func (t *Table) RecordAbsence(round, player int) {
	t.swiss.absences[player] = append(t.swiss.absences[player], uint16(round)) //nolint:gosec // no Swiss system has more
}

// Outcomes counts matches by how they ended.
type Outcomes struct {
	Wins, Draws     int
	TechnicalLosses int // of one player or of both
}

// Outcomes counts the matches whose results the table counts, in a time that grows with the players.
func (t *Table) Outcomes() Outcomes {
	var sum Tally
	for i := range t.rows {
		row := &t.rows[i]
		sum.Played, sum.Wins, sum.Draws = sum.Played+row.Played, sum.Wins+row.Wins, sum.Draws+row.Draws
		sum.TechnicalLosses += row.TechnicalLosses
	}
	draws := sum.Draws / 2
	both := sum.Played/2 - sum.Wins - draws // the matches without a winner that are no draws: both players failed
	one := sum.TechnicalLosses - 2*both
	return Outcomes{sum.Wins - one, draws, one + both}
}

// AddFallbacks counts the fallbacks of a player in a match; a negative number takes them back.
func (t *Table) AddFallbacks(player, n int) { t.rows[player].Fallbacks += n }

// Row returns the counters of one player, in constant time and with Rank 0. It panics if
// there is no such player.
func (t *Table) Row(player int) Standing { return t.rows[player] }

// MatchPoints are the points of one match. TechnicalLoss goes to the player that failed; the
// opponent of a player that failed gets Win.
type MatchPoints struct {
	Win           int `json:"win_points"`
	Draw          int `json:"draw_points"`
	Loss          int `json:"loss_points"`
	TechnicalLoss int `json:"technical_loss_points"`
}

// For are the points of a side.
func (p MatchPoints) For(o Outcome) int {
	return [...]int{Win: p.Win, Draw: p.Draw, Loss: p.Loss, TechnicalLoss: p.TechnicalLoss}[o]
}

// Scoring is how a league awards points and separates players.
type Scoring struct {
	MatchPoints

	// Tiebreakers, the first deciding first, each at most once. Points are one of them
	// and have no precedence of their own. An empty list means those of DefaultScoring.
	Tiebreakers []string
}

// DefaultScoring is that of the specification: 3 points for a win, 1 for a draw, 0 for a loss
// of any kind; ranked by points, wins, draws. (The specification says "draw difference", which does
// not exist between players; the number of draws is meant.)
func DefaultScoring() Scoring {
	return Scoring{MatchPoints{Win: 3, Draw: 1}, []string{TiebreakPoints, TiebreakWins, TiebreakDraws}}
}

// SwissTiebreakers are the usual tie-breakers of a Swiss system.
func SwissTiebreakers() []string {
	return []string{TiebreakPoints, TiebreakBuchholz, TiebreakSonnebornBerger, TiebreakWins}
}

// GauntletTiebreakers are the usual tie-breakers of a gauntlet, whose players play different numbers of matches.
func GauntletTiebreakers() []string {
	return []string{TiebreakPointsPerMatch, TiebreakWinRate, TiebreakHeadToHead}
}

// Validate returns an error for the first tie-breaker that is unknown or repeated.
func (s Scoring) Validate() error {
	known := Tiebreakers()
	for i, name := range s.Tiebreakers {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown tie-breaker %q: known are %s", name, strings.Join(known, ", "))
		}
		if slices.Contains(s.Tiebreakers[:i], name) {
			return fmt.Errorf("tie-breaker %q is repeated: each of %s may be named once", name, strings.Join(known, ", "))
		}
	}
	return nil
}
