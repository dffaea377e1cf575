// Package table says who stands where: it counts the results of matches and
// ranks the players by a league's scoring (spec 003 §3.4).
//
// Players are indexes, 0 to n-1, into the league's list of players in
// ascending order of id. The package knows no ids, rounds, games or time, and
// not which matches are still to be played. Whether a result may count, and
// that it counts only once, is for the caller to know.
package table

import (
	"fmt"
	"math"
	"slices"
)

// None is the Winner of an Outcome that nobody won.
const None = -1

// Outcome is how a match ended.
type Outcome struct {
	// A and B are the indexes of the two players, in either order.
	A, B int
	// Winner is A, B or None.
	Winner int
	// Technical says that the match ended because somebody failed: with a
	// Winner the other one did, with None both did, which is a loss for both.
	// None without Technical is a draw.
	Technical bool
}

// Row is one player's line in the standings.
type Row struct {
	Player int // index of the player
	Rank   int // from 1; 0 where rows are not ranked

	Played          int // Wins + Draws + Losses
	Wins            int // technical ones included
	Draws           int
	Losses          int // technical ones included
	TechnicalLosses int
	Points          int
}

// Table counts results as they come. The order in which they come changes
// nothing. It is not safe for concurrent use.
type Table struct {
	scoring Scoring
	rows    []Row // by player, Rank 0

	// games are the results of every player, kept only for tie-breaks that ask
	// who beat whom; nil otherwise. Both players of a match have one each.
	games [][]game
}

// game is a match as one of its players saw it.
type game struct {
	opponent int32 // 32 bits: two of these per match are most of a big league's table
	result   result
}

// result is what a match was to one of its players.
type result uint8

const (
	won result = iota
	drew
	lost
	failed // lost by technical loss
)

// New returns the table of a league in which nobody has played yet. players
// may be 0. The error is that of a scoring that is not valid, or of a number
// of players that is negative or beyond 32 bits.
func New(players int, scoring Scoring) (*Table, error) {
	if players < 0 || players > math.MaxInt32 {
		return nil, fmt.Errorf("a table of %d players: want 0 to %d", players, math.MaxInt32)
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

// Record counts an outcome. It takes constant time, and allocates only for
// tie-breaks that need more than counters. After an error, which says that no
// match can end so, the table is as before.
func (t *Table) Record(o Outcome) error {
	if err := t.check(o); err != nil {
		return err
	}
	a, b := o.results()
	t.count(o.A, o.B, a)
	t.count(o.B, o.A, b)
	return nil
}

// Points is what an outcome is worth to its players by the table's scoring. It
// counts nothing, and means nothing for an outcome that Record refuses.
func (t *Table) Points(o Outcome) (a, b int) {
	resultA, resultB := o.results()
	return t.worth(resultA), t.worth(resultB)
}

// Row returns the counters of one player, in constant time and with Rank 0. It
// panics if there is no such player.
func (t *Table) Row(player int) Row { return t.rows[player] }

// Clone returns a copy that shares nothing that either could change.
func (t *Table) Clone() *Table {
	c := &Table{scoring: t.scoring, rows: slices.Clone(t.rows), games: slices.Clone(t.games)}
	for player, games := range c.games {
		c.games[player] = slices.Clone(games)
	}
	return c
}

// check says why o cannot be the outcome of a match.
func (t *Table) check(o Outcome) error {
	for _, player := range [...]int{o.A, o.B} {
		if player < 0 || player >= len(t.rows) {
			return fmt.Errorf("outcome of players %d and %d: there is no player %d among %d", o.A, o.B, player, len(t.rows))
		}
	}
	if o.A == o.B {
		return fmt.Errorf("outcome of players %d and %d: nobody plays against themselves", o.A, o.B)
	}
	if o.Winner != o.A && o.Winner != o.B && o.Winner != None {
		return fmt.Errorf("outcome of players %d and %d: the winner %d did not play", o.A, o.B, o.Winner)
	}
	return nil
}

// results is what the match was to either of its players.
func (o Outcome) results() (a, b result) {
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

// worth is the points a result earns.
func (t *Table) worth(r result) int {
	return [...]int{
		won:    t.scoring.Win,
		drew:   t.scoring.Draw,
		lost:   t.scoring.Loss,
		failed: t.scoring.TechnicalLoss,
	}[r]
}

// count adds one result to a player's row.
func (t *Table) count(player, opponent int, r result) {
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
		t.games[player] = append(t.games[player], game{opponent: int32(opponent), result: r}) //nolint:gosec // New has refused more players than fit
	}
}
