// Package rules defines what a game is: positions, moves and verdicts as plain values.
// It must not use a clock, a network or a source of randomness: a game
// with chance receives the random bytes, so that anyone can recompute a result.
package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Side is one side of a two-player game.
type Side int

// The sides. NoSide is the winner of a draw.
const (
	NoSide Side = iota - 1
	SideA
	SideB
)

// bothSides is shared, because a slice for each call would be five allocations a match.
var bothSides = [...]Side{SideA, SideB}

// BothSides returns the sides that move in a turn in which both do. The caller must not change the slice: positions
// share it.
func BothSides() []Side { return bothSides[:] }

// Other returns the opposite side.
func (s Side) Other() Side { return 1 - s }

// Info describes a game of two players, in the form of the games registry.
type Info struct {
	Type         string              // identifier, such as even_odd
	DisplayName  string              // for people
	Rules        string              // what the players do and who wins, in a few sentences
	MoveTypes    []string            // kinds of move the game asks for
	ValidChoices map[string][]string // by move type
	MaxMoves     int                 // of one side in a match

	// MoveWord is what people say before a move: with "column", the move 4 is "column 4". It is empty
	// if the moves are words themselves.
	MoveWord string

	// SidesAlike tells that the rules treat both sides alike: they move at the same time, have
	// the same moves, and with exchanged moves the other side wins. The statistics allow for an
	// advantage of side A in any other game.
	SidesAlike bool

	Version string // of the rules of a program; "" for those of this one
	MaxMove int    // the most bytes of a move of a program's game; 0 for a game whose moves are all in ValidChoices
	Draws   bool   // there are draws during a match, as of cards or dice: see Drawing
	Hidden  bool   // a side does not see all that has happened
	Large   bool   // a question or a report may be larger than the usual limit of a message
}

// Say returns a move in words: "column 4".
func (i Info) Say(move string) string {
	if i.MoveWord == "" {
		return move
	}
	return i.MoveWord + " " + move
}

// A Game creates the first position of a match (init_game_state).
type Game interface {
	Info() Info
	// MaxTurns returns the largest number of turns of a match, without a ready turn: see the function MaxTurns. A turn
	// is a position with at least one side to move.
	MaxTurns() int
	Start() Position
}

// A Position is the state of a match between moves. It is immutable: a move leads to
// another position. A game of simultaneous choices has one position with both sides to
// move. A game of alternating moves has a chain of positions with one side to move.
type Position interface {
	// ToMove returns the sides to move. They move simultaneously, without knowing each
	// other's move. It returns none when the match is over.
	ToMove() []Side
	// Ask returns the question to a side.
	Ask(side Side) Question
	// Check returns an error for an illegal move of a side (validate_choice).
	Check(side Side, move string) error
	// Play returns the position after the moves of all sides in ToMove, which must be
	// legal. It ignores the moves of other sides.
	Play(moves [2]string) Position
	// Judge decides a match that is over (draw_number, determine_winner).
	Judge(chance Chance) Verdict
}

// A Question asks a side for a move: the kind of move, the legal moves, and the position.
// The questions to a side in a match are all different, so that a player can answer a
// repeated question with the same move.
type Question struct {
	MoveType string
	Options  []string
	Context  map[string]any

	// View is what the side may see, for a game with views (HasViews): a text, or a map that survives encoding as JSON.
	View any
	// Text is the most bytes of a move in free text, which takes the place of Options; 0 for options.
	Text int
	// Examples are texts that are legal, if the game names some; none with options.
	Examples []string
	// Secret tells that the other side does not learn the move before the end of the match.
	Secret bool
}

// Chance holds the random values of a match, which come from commit–reveal: the nonce,
// to which the referee commits before the players choose, and the entropy of each
// player.
type Chance struct {
	Nonce    [32]byte
	EntropyA [32]byte
	EntropyB [32]byte
}

// A Verdict is the result of a match by the rules.
type Verdict struct {
	Winner Side      // NoSide for a draw
	Number int       // the number drawn; 0 in a game without one
	Parity string    // the parity of Number; "" without one
	Moves  [2]string // the last move of each side

	// Explain explains the result to people, with the ids of the players. It receives the
	// verdict, so that it need not be a closure.
	Explain func(v Verdict, ids [2]string) string
}

// Reason returns the explanation of the verdict; "" for that of a position in which no match ends.
func (v Verdict) Reason(ids [2]string) string {
	if v.Explain == nil {
		return ""
	}
	return v.Explain(v, ids)
}

// WinnerOf returns the id of the winner, given the ids of both sides; "" for a draw.
func (v Verdict) WinnerOf(ids [2]string) string {
	if v.Winner == NoSide {
		return ""
	}
	return ids[v.Winner]
}

// A Registry holds games by type.
type Registry struct{ games map[string]Game }

// NewRegistry returns a registry of the given games.
func NewRegistry(games ...Game) Registry {
	r := Registry{games: make(map[string]Game, len(games))}
	for _, g := range games {
		r.games[g.Info().Type] = g
	}
	return r
}

// Game returns the game of a type; the error for an unknown type lists the known ones.
func (r Registry) Game(gameType string) (Game, error) {
	if g, ok := r.games[gameType]; ok {
		return g, nil
	}
	return nil, &unknownGameError{gameType, r}
}

// Name is the name of a game for people. Without the game it is made of the type: "Word Chain" for word_chain.
func (r Registry) Name(gameType string) string {
	if g, ok := r.games[gameType]; ok {
		return g.Info().DisplayName
	}
	words := strings.Split(gameType, "_")
	for i, word := range words {
		if word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}

// An unknownGameError names a game that a registry does not have. Most callers do not read it.
type unknownGameError struct {
	gameType string
	registry Registry
}

// Error lists the known games.
func (e *unknownGameError) Error() string {
	known := "none"
	if len(e.registry.games) > 0 {
		known = strings.Join(e.registry.Types(), ", ")
	}
	return fmt.Sprintf("unknown game %q; known: %s", e.gameType, known)
}

// Types returns the game types in alphabetical order.
func (r Registry) Types() []string {
	return slices.Sorted(maps.Keys(r.games))
}
