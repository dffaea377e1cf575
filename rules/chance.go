package rules

import (
	"encoding/binary"
	"strconv"
)

// Drawing is a Position of a game with draws, as of cards or dice.
type Drawing interface {
	Position
	// Outcomes returns the number of equally likely outcomes of the draw that is due before a side moves: from 2 to
	// MaxOutcomes; 0 if none is due. No side is to move in a position with a draw.
	Outcomes() int
	// Drawn returns the position after the draw that is due, which had an outcome from 0.
	Drawn(outcome int) Position
}

// DrawSayer is a Game that has words for the outcomes of its draws.
type DrawSayer interface {
	// SayDraw returns an outcome, from 0, in words: "die: 4".
	SayDraw(outcome int) string
}

// MaxOutcomes is the largest number of outcomes of a draw: the largest number that a message has, and an int of 32
// bits.
const MaxOutcomes = 1<<31 - 1

// A Draw is a draw during a match.
type Draw struct {
	Turn   int `json:"turn"`   // that comes next, from 1
	Of     int `json:"of"`     // outcomes, from 2
	Number int `json:"number"` // the outcome, from 0
}

// Ready is the move type and the only option of the ready turn, which is turn 1 of each game with draws. Both sides
// reveal their entropies with it, so that nobody could choose them with knowledge of a draw. It is no move of the game:
// Game.MaxTurns and Course.History are without it.
const Ready = "ready"

// ready is the position of the ready turn.
type ready struct{ start Position }

func (ready) ToMove() []Side { return BothSides() }

func (ready) Ask(Side) Question { return Question{MoveType: Ready, Options: []string{Ready}} }

func (ready) Check(_ Side, move string) error {
	if move != Ready {
		return errNotReady
	}
	return nil
}

func (r ready) Play([2]string) Position { return r.start }

// Judge is never called: the ready turn ends no match.
func (ready) Judge(Chance) Verdict { return Verdict{Winner: NoSide} }

// HasDraws tells whether a game has draws during a match.
func HasDraws(game Game) bool { return startsWithDraws(game, game.Start()) }

func startsWithDraws(game Game, start Position) bool {
	if p, ok := game.(*Program); ok {
		return p.info.Draws
	}
	_, draws := start.(Drawing)
	return draws
}

// HasViews tells whether the questions of a game have a view of each side, and its moves their turns: it is that of a
// program, or one with draws.
func HasViews(game Game) bool {
	_, program := game.(*Program)
	return program || HasDraws(game)
}

// Hides tells whether a side of a game does not see all that has happened.
func Hides(game Game) bool { return HasViews(game) && game.Info().Hidden }

// MaxTurns returns the largest number of turns of a match, with the ready turn.
func MaxTurns(game Game) int {
	if HasDraws(game) {
		return game.MaxTurns() + 1
	}
	return game.MaxTurns()
}

// ListsMoves tells whether reports list all moves of a match. The last moves of both sides decide a match of any other
// game, which has one turn.
func ListsMoves(game Game) bool { return game.MaxTurns() > 1 || HasViews(game) }

// Draw returns draw k, from 1, of n outcomes in a match. For i = 0, 1, … it takes the first 8 bytes of
//
//	SHA-256("evenodd-chance-v1" ‖ LP(match ID) ‖ nonce ‖ entropy of A ‖ entropy of B ‖ LP(k) ‖ LP(i))
//
// as a big-endian number x, until x < 2^64 − (2^64 mod n); the outcome is x mod n. LP is a length in two bytes,
// big-endian, then the text; numbers are decimal texts.
func (c *Chance) Draw(matchID string, k, n int) int {
	input := prefixed([]byte("evenodd-chance-v1"), matchID)
	input = append(append(append(input, c.Nonce[:]...), c.EntropyA[:]...), c.EntropyB[:]...)
	return uniform(prefixed(input, strconv.Itoa(k)), n)
}

// prefixed appends LP(text).
func prefixed(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...) //nolint:gosec // ids are short
}

// Outcomes returns the number of outcomes of the draw that is due; 0 if none is.
func (c Course) Outcomes() int { return c.outcomes }

// Drawn returns the course after the draw that is due, which had an outcome from 0.
func (c Course) Drawn(outcome int) Course {
	c.draws = append(c.draws[:len(c.draws):len(c.draws)], Draw{c.turn, c.outcomes, outcome})
	return c.at(c.position.(Drawing).Drawn(outcome)) //nolint:forcetypeassert // a draw is due
}

// Draws returns the draws so far. The caller must not change them.
func (c Course) Draws() []Draw { return c.draws }

// Settle makes all draws that are due now.
func (c Course) Settle(matchID string, chance *Chance) Course {
	for c.outcomes > 0 {
		c = c.Drawn(chance.Draw(matchID, len(c.draws)+1, c.outcomes))
	}
	return c
}
