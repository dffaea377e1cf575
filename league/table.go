// Package table ranks the players of a league: it counts the results of matches and
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
)

// None is the Winner of a Result without a winner.
const None = -1

// A Result is how a match ended.
type Result struct {
	// A and B are the indexes of the two players, in either order.
	A, B int
	// Winner is A, B or None.
	Winner int
	// Technical tells that the match ended because a player failed: with a Winner the
	// other player failed, with None both did, which is a loss for both. None without
	// Technical is a draw.
	Technical bool
}

// A Row is the line of one player in the standings.
type Row struct {
	Player int // index of the player
	Rank   int // from 1, shared by level players; 0 where rows are not ranked

	Tied bool // another player has the same rank
	// DecidedBy is the tie-breaker that separated the player from the row above, or
	// Bracket; "" for the first row, and for a row with the rank of the row above.
	DecidedBy string
	// Deciders are the tie-breakers that separated players that the earlier ones left
	// level, and this player was one of these players. Rows share the slice.
	Deciders []string

	Played          int // Wins + Draws + Losses
	Wins            int // technical ones included
	Draws           int
	Losses          int // technical ones included
	TechnicalLosses int
	Byes            int // rounds without a match that count as a win: in Points only
	Points          int

	// HeadToHead is the points from matches among the players that all tie-breakers before
	// head_to_head left level; 0 if it is no tie-breaker.
	HeadToHead int

	// The scores of the opponents, in the standings of a table that keeps them or ranks by
	// them; else 0.
	Buchholz        int     // the sum of the opponents' points
	SonnebornBerger float64 // the points of opponents beaten, and half of those drawn with
}

// Value is the row's value of a tie-breaker; 0 for Bracket.
func (r *Row) Value(tiebreak string) float64 {
	switch tiebreak {
	case TiebreakPoints:
		return float64(r.Points)
	case TiebreakWins:
		return float64(r.Wins)
	case TiebreakDraws:
		return float64(r.Draws)
	case TiebreakHeadToHead:
		return float64(r.HeadToHead)
	case TiebreakBuchholz:
		return float64(r.Buchholz)
	case TiebreakSonnebornBerger:
		return r.SonnebornBerger
	case TiebreakWinRate:
		return float64(r.Wins) / float64(max(r.Played, 1))
	default:
		return 0
	}
}

// A Table counts results. Their order changes nothing. Not safe for concurrent use.
type Table struct {
	scoring Scoring
	rows    []Row // by player, Rank 0

	// games are the matches of every player, only for scores that depend on the
	// opponents; nil otherwise. A match is in the list of both its players.
	games [][]game

	showOpponents bool // the standings contain the scores of the opponents
}

// A game is a match from the side of one of its players.
type game struct {
	opponent int32 // 32 bits: two of these per match are most of a big league's table
	end      end
}

// An end is what a result means to one of the two players.
type end uint8

const (
	won end = iota
	drew
	lost
	failed // lost by technical loss
)

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
	scoring.Tiebreakers = slices.Clone(scoring.tiebreakers())
	t := &Table{scoring: scoring, rows: make([]Row, players)}
	for player := range t.rows {
		t.rows[player].Player = player
	}
	if scoring.needsGames() {
		t.games = make([][]game, players)
	}
	return t, nil
}

// KeepOpponents has the standings contain the scores of the opponents. Call it before
// the first result.
func (t *Table) KeepOpponents() { t.games, t.showOpponents = make([][]game, len(t.rows)), true }

// Record counts a result. It takes constant time, and allocates only for tie-breakers
// that need more than counters. It returns an error, and changes nothing, if no match can
// end so.
func (t *Table) Record(r Result) error {
	if err := t.check(r); err != nil {
		return err
	}
	a, b := r.ends()
	t.count(r.A, r.B, a)
	t.count(r.B, r.A, b)
	return nil
}

// Forget takes back a result that Record has counted. The counters of a result that was
// not counted are wrong afterwards.
func (t *Table) Forget(r Result) {
	a, b := r.ends()
	t.uncount(r.A, r.B, a)
	t.uncount(r.B, r.A, b)
}

// RecordBye counts a bye: the player gets the points of a win, but no match and no
// opponent. It panics if there is no such player.
func (t *Table) RecordBye(player int) {
	t.rows[player].Byes++
	t.rows[player].Points += t.scoring.Win
}

// Points are the points of a result by the table's scoring. See Scoring.Points.
func (t *Table) Points(r Result) (a, b int) { return t.scoring.Points(r) }

// Row returns the counters of one player, in constant time and with Rank 0. It panics if
// there is no such player.
func (t *Table) Row(player int) Row { return t.rows[player] }

// check returns an error if r cannot be the result of a match.
func (t *Table) check(r Result) error {
	for _, player := range [...]int{r.A, r.B} {
		if player < 0 || player >= len(t.rows) {
			return fmt.Errorf("result of players %d and %d: there is no player %d among %d", r.A, r.B, player, len(t.rows))
		}
	}
	if r.A == r.B {
		return fmt.Errorf("result of players %d and %d: a player needs an opponent", r.A, r.B)
	}
	if r.Winner != r.A && r.Winner != r.B && r.Winner != None {
		return fmt.Errorf("result of players %d and %d: the winner %d did not play", r.A, r.B, r.Winner)
	}
	return nil
}

// ends are what the result means to players A and B.
func (r Result) ends() (a, b end) {
	loss := lost
	if r.Technical {
		loss = failed
	}
	switch {
	case r.Winner == r.A:
		return won, loss
	case r.Winner == r.B:
		return loss, won
	case r.Technical:
		return failed, failed
	default:
		return drew, drew
	}
}

// count adds one end to a player's row.
func (t *Table) count(player, opponent int, e end) {
	t.rows[player].add(e, 1)
	t.rows[player].Points += t.scoring.worth(e)
	if t.games != nil {
		t.games[player] = append(t.games[player], newGame(opponent, e))
	}
}

// uncount takes one end from a player's row.
func (t *Table) uncount(player, opponent int, e end) {
	t.rows[player].add(e, -1)
	t.rows[player].Points -= t.scoring.worth(e)
	if t.games != nil {
		i := slices.Index(t.games[player], newGame(opponent, e))
		t.games[player] = slices.Delete(t.games[player], i, i+1)
	}
}

func newGame(opponent int, e end) game {
	return game{opponent: int32(opponent), end: e} //nolint:gosec // New has refused more players than fit
}

// add adds n matches with one end to the counters of a row.
func (r *Row) add(e end, n int) {
	r.Played += n
	switch e {
	case won:
		r.Wins += n
	case drew:
		r.Draws += n
	case lost:
		r.Losses += n
	case failed:
		r.Losses += n
		r.TechnicalLosses += n
	}
}
