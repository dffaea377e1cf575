// Package skeleton is the game Skeleton: the players take one to three stones from a
// heap in turn, and the player that takes the last stone wins. All functions are pure:
// no clock, no network, no source of randomness.
//
// Change this text, and each place that a comment below names.
package skeleton

import (
	"fmt"
	"slices"
	"strconv"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "skeleton"

// MoveType is the kind of move. Change: name the moves of your game.
const MoveType = "take_stones"

// stones is the size of the heap at the start.
const stones = 12

// choices lists all moves of the game. Change: list yours.
func choices() []string { return []string{"1", "2", "3"} }

// Game is Skeleton. It has no state: a match is a chain of positions.
type Game struct{}

var (
	_ rules.Game     = Game{}
	_ rules.Position = position{}
	_ rules.Drawer   = position{}
)

// Info describes the game. Players register with it, and people read it. Change: the rules
// and MaxMoves.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Skeleton",
		Rules: "Player A begins; the players take one, two or three stones in turn from a heap of 12. " +
			"The player that takes the last stone wins.",
		MoveTypes:    []string{MoveType},
		MoveWord:     "take", // Change: the word before a move, or "" if the moves are words
		ValidChoices: map[string][]string{MoveType: choices()},
		MaxMoves:     6, // the largest number of moves of one side in a match
	}
}

// MaxTurns is 12: each turn takes one stone or more. Change: the largest number of turns.
// A turn in which both sides move counts once.
func (Game) MaxTurns() int { return stones }

// Start is the first position.
func (Game) Start() rules.Position { return position{heap: stones} }

// A position is the state of a match between moves. Change: the members that your game needs,
// such as a board. A position is immutable: use arrays rather than slices and maps, or copy
// them in Play. rules.Turns is for games in which the sides move in turn, player A first. In a game of
// simultaneous moves, remove it, keep the moves yourself, and write ToMove, which returns both
// sides, and none when the match is over.
type position struct {
	rules.Turns
	heap int
}

// Ask returns the question to a side: its legal moves, and in Context what it may know about
// the position, as strings, numbers and lists. Two questions to one side in a match must differ:
// here the heap differs. Change: the options and the context.
func (p position) Ask(rules.Side) rules.Question {
	return rules.Question{
		MoveType: MoveType,
		Options:  choices()[:min(p.heap, len(choices()))],
		Context:  map[string]any{"stones": p.heap},
	}
}

// Draw returns the heap as rows of cells for the replay and the pages. Change: your board, with the same
// rows and columns in each position and at most three characters in a cell; or remove it, and the
// game is shown without a board.
func (p position) Draw(rules.Side) [][]string {
	row := make([]string, stones)
	for i := range p.heap {
		row[i] = "o"
	}
	return [][]string{row}
}

// Check returns an error for an illegal move; the player reads its text. It accepts each option
// of Ask. Change: the errors.
func (p position) Check(side rules.Side, move string) error {
	switch err := p.CheckTurn(side); {
	case err != nil:
		return err
	case !slices.Contains(p.Ask(side).Options, move):
		return fmt.Errorf("choice must be a number from 1 to %d", min(p.heap, len(choices())))
	}
	return nil
}

// Play returns the position after a legal move. The receiver is a copy, so the old position stays
// unchanged. Change: what a move does, and when the match ends. In a game of simultaneous moves, read both moves.
func (p position) Play(moves [2]string) rules.Position {
	taken, _ := strconv.Atoi(moves[p.Mover()]) // Check accepted it
	p.heap -= taken
	p.Turns = p.Next(moves, p.heap == 0)
	return p
}

// Judge decides a match that is over. Change: the winner, which is rules.NoSide for a draw, and the
// reason, which names the winner. A game of chance draws from the argument, as rules/evenodd does.
func (p position) Judge(rules.Chance) rules.Verdict {
	winner := p.Mover().Other()
	return p.Verdict(winner, func(ids [2]string) string { return ids[winner] + " took the last stone" })
}
