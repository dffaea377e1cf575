// Package table counts the results of matches and ranks the players by the scoring of a
// league (spec 003 §3.4).
//
// Players are indexes, 0 to n-1, into the league's list of players in ascending order of id.
// The package does not depend on ids, rounds, games, time or the schedule. The caller
// decides whether a result counts, and records it once.
package table

import (
	"fmt"
	"math"
	"slices"
)

// None is the Winner of a Result without a winner.
const None = -1

// Result is the result of a match.
type Result struct {
	// A and B are the indexes of the two players, in either order.
	A, B int
	// Winner is A, B or None.
	Winner int
	// Technical means that a player failed: the player that is not the Winner, or both
	// players if the Winner is None, which is a loss for both. Without Technical, None is a
	// draw.
	Technical bool
}

// Row is the line of a player in the standings.
type Row struct {
	Player int // index of the player
	Rank   int // from 1; 0 where rows are not ranked

	Played          int // Wins + Draws + Losses
	Wins            int // including technical wins
	Draws           int
	Losses          int // including technical losses
	TechnicalLosses int
	Points          int
}

// Table counts results. Their order does not matter. It is not safe for concurrent use.
type Table struct {
	scoring Scoring
	rows    []Row // by player, Rank 0

	// games are the results by player, only for tie-breaks that compare opponents; otherwise
	// nil. Each match has an entry for both players.
	games [][]game
}

// game is a match from the point of view of one of its players.
type game struct {
	opponent int32 // 32 bits, because a large league has many of them
	result   playerResult
}

// playerResult is the result of a match for one of its players.
type playerResult uint8

const (
	won playerResult = iota
	drew
	lost
	failed // technical loss
)

// New returns an empty table. players may be 0. An error reports an invalid scoring, or a
// number of players that is negative or exceeds 32 bits.
func New(players int, scoring Scoring) (*Table, error) {
	if players < 0 || players > math.MaxInt32 {
		return nil, fmt.Errorf("table of %d players: want 0 to %d", players, math.MaxInt32)
	}
	if err := scoring.Validate(); err != nil {
		return nil, err
	}
	scoring.Tiebreakers = slices.Clone(scoring.Tiebreakers)
	if len(scoring.Tiebreakers) == 0 {
		scoring.Tiebreakers = DefaultScoring().Tiebreakers
	}
	t := &Table{scoring: scoring, rows: make([]Row, players)}
	for player := range t.rows {
		t.rows[player].Player = player
	}
	if scoring.needsResults() {
		t.games = make([][]game, players)
	}
	return t, nil
}

// Record counts a result. It takes constant time, and only allocates for tie-breaks that
// need more than counters. An error reports an impossible result and leaves the table
// unchanged.
func (t *Table) Record(o Result) error {
	if err := t.check(o); err != nil {
		return err
	}
	a, b := o.playerResults()
	t.count(o.A, o.B, a)
	t.count(o.B, o.A, b)
	return nil
}

// Points returns the points of a result for both players. It does not count them. The points
// of a result that Record refuses are undefined.
func (t *Table) Points(o Result) (a, b int) {
	resultA, resultB := o.playerResults()
	return t.worth(resultA), t.worth(resultB)
}

// Row returns the counters of a player, in constant time and with Rank 0. It panics if there
// is no such player.
func (t *Table) Row(player int) Row { return t.rows[player] }

// Clone returns an independent copy.
func (t *Table) Clone() *Table {
	c := &Table{scoring: t.scoring, rows: slices.Clone(t.rows), games: slices.Clone(t.games)}
	for player, games := range c.games {
		c.games[player] = slices.Clone(games)
	}
	return c
}

// check returns an error for an impossible result.
func (t *Table) check(o Result) error {
	for _, player := range [...]int{o.A, o.B} {
		if player < 0 || player >= len(t.rows) {
			return fmt.Errorf("result of players %d and %d: there is no player %d among %d", o.A, o.B, player, len(t.rows))
		}
	}
	if o.A == o.B {
		return fmt.Errorf("result of players %d and %d: a player cannot play against itself", o.A, o.B)
	}
	if o.Winner != o.A && o.Winner != o.B && o.Winner != None {
		return fmt.Errorf("result of players %d and %d: the winner %d did not play", o.A, o.B, o.Winner)
	}
	return nil
}

// playerResults returns the result for each of its players.
func (o Result) playerResults() (a, b playerResult) {
	loss := lost
	if o.Technical {
		loss = failed
	}
	switch {
	case o.Winner == o.A:
		return won, loss
	case o.Winner == o.B:
		return loss, won
	case o.Technical:
		return failed, failed
	default:
		return drew, drew
	}
}

// worth returns the points for the result of a player.
func (t *Table) worth(r playerResult) int {
	return [...]int{
		won:    t.scoring.Win,
		drew:   t.scoring.Draw,
		lost:   t.scoring.Loss,
		failed: t.scoring.TechnicalLoss,
	}[r]
}

// count adds a result to the row of a player.
func (t *Table) count(player, opponent int, r playerResult) {
	row := &t.rows[player]
	row.Played++
	row.Points += t.worth(r)
	switch r {
	case won:
		row.Wins++
	case drew:
		row.Draws++
	case lost:
		row.Losses++
	case failed:
		row.Losses++
		row.TechnicalLosses++
	}
	if t.games != nil {
		t.games[player] = append(t.games[player], game{opponent: int32(opponent), result: r}) //nolint:gosec // New limits the number of players
	}
}
