// Package rules says what a game is: positions, moves and verdicts as plain
// values (spec 003 §3.7). It knows no clock, no network and no source of
// randomness: where a game has chance, the random bytes are given to it, so
// that anyone can recompute what happened.
package rules

import (
	"fmt"
	"slices"
	"strings"
)

// A Side is one side of a two-player game.
type Side int

// The seats. NoSide is the winner of a draw.
const (
	NoSide Side = iota - 1
	SideA
	SideB
)

// Other is the opposite seat.
func (s Side) Other() Side { return 1 - s }

// Info describes a game as the games registry lists it (spec 003 §3.8.3).
type Info struct {
	Type         string              // identifier, such as even_odd
	DisplayName  string              // for people
	MoveTypes    []string            // kinds of move the game asks for
	ValidChoices map[string][]string // by move type
	MinPlayers   int
	MaxPlayers   int
	MaxMoves     int // the most times one seat is asked in a match
	MaxTurns     int // the most positions of a match in which somebody is asked
}

// A Game makes the first position of a match (init_game_state).
type Game interface {
	Info() Info
	Start() Position
}

// A Position is a moment of a match. It never changes: a move leads to another
// position. A game of simultaneous choices is one position in which both seats
// are to move; a game of alternating moves is a chain of positions with one.
type Position interface {
	// ToMove lists the seats that are asked now, all at once and without
	// seeing each other's move; none when the match is over.
	ToMove() []Side
	// Ask says what kind of move the seat is asked for.
	Ask(seat Side) Question
	// Check tells why a move of the seat is not legal; nil when it is
	// (validate_choice).
	Check(seat Side, move string) error
	// Play is the position after the moves of all seats in ToMove, which must
	// be legal; the moves of other seats are ignored.
	Play(moves [2]string) Position
	// Judge decides a match that is over (draw_number, determine_winner).
	Judge(chance Chance) Verdict
}

// A Question is what a seat is asked: the kind of move, what is allowed, and
// what the player may need to see. No two questions to a seat in a match are the
// same: one that is put again gets the same answer again.
type Question struct {
	MoveType string
	Options  []string
	Context  map[string]any
}

// Chance is what randomness a match has: the referee's nonce, which it was
// bound to before the players chose, and the entropy of each player.
type Chance struct {
	Nonce    [32]byte
	EntropyA [32]byte
	EntropyB [32]byte
}

// A Verdict is how a match ended by the rules.
type Verdict struct {
	Winner Side                       // NoSide for a draw
	Number int                        // the number drawn; 0 in a game without one
	Parity string                     // the parity of Number; "" without one
	Moves  [2]string                  // the last move of each seat, as results list them
	Reason func(ids [2]string) string // says for people why, naming the players
}

// WinnerOf returns the id of the winner, given the ids of both seats; "" for a draw.
func (v Verdict) WinnerOf(ids [2]string) string {
	if v.Winner == NoSide {
		return ""
	}
	return ids[v.Winner]
}

// A Registry holds the games that are known, by type.
type Registry struct{ games map[string]Game }

// NewRegistry makes a registry of the given games.
func NewRegistry(games ...Game) Registry {
	r := Registry{games: make(map[string]Game, len(games))}
	for _, g := range games {
		r.games[g.Info().Type] = g
	}
	return r
}

// Game finds a game by its type; the error lists those that are known.
func (r Registry) Game(gameType string) (Game, error) {
	if g, ok := r.games[gameType]; ok {
		return g, nil
	}
	known := "none"
	if len(r.games) > 0 {
		known = strings.Join(r.Types(), ", ")
	}
	return nil, fmt.Errorf("unknown game %q; known: %s", gameType, known)
}

// Types lists the known game types in order.
func (r Registry) Types() []string {
	types := make([]string, 0, len(r.games))
	for t := range r.games {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}
