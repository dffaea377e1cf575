package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// MaxOpening is the largest number of plies of an opening.
const MaxOpening = 32

// openingSize is the largest size of an opening in a message, in bytes.
const openingSize = 2 << 10

// CheckOpenings returns an error unless matches of a game can begin after so many plies, as far as its description
// tells: DrawOpening tells the rest.
func CheckOpenings(game Game, plies int) error {
	info := game.Info()
	one := info.MaxMove + len(`"",`)
	switch {
	case plies < 1 || plies > MaxOpening:
		return fmt.Errorf("an opening has 1 to %d plies, not %d", MaxOpening, plies)
	case HasDraws(game):
		return fmt.Errorf("%s cannot begin with openings: it has draws", info.Type)
	case Hides(game):
		return fmt.Errorf("%s cannot begin with openings: it hides something from a side", info.Type)
	case !ListsMoves(game):
		return fmt.Errorf("%s cannot begin with openings: its sides do not move in turn", info.Type)
	case plies*one > openingSize:
		return fmt.Errorf("an opening of %d plies of %s can have %d bytes, more than %d: at most %d plies", plies, info.Type,
			plies*one, openingSize, openingSize/one)
	}
	return nil
}

// BeginAfter returns the course of a game after an opening: plies of SideA, SideB and so on in turn. They are no moves
// of the match, whose first turn follows them. An empty opening is that of Begin. The error says which ply the rules do
// not allow; those of a game of a program are judged with what it says of History.
func BeginAfter(game Game, opening []string) (Course, error) {
	c := Begin(game)
	if len(opening) == 0 {
		return c, nil
	}
	if err := CheckOpenings(game, len(opening)); err != nil {
		return c, err
	}
	c.opening = opening
	if c.awaits {
		return c, nil
	}
	for i, ply := range opening {
		side := Side(i % 2)
		if !c.alone(side) {
			return c, fmt.Errorf("opening: side %s is not to move at ply %d, %.60q", [...]string{"A", "B"}[side], i+1, ply)
		}
		if err := c.Check(side, ply); err != nil {
			return c, fmt.Errorf("opening: ply %d, %.60q: %w", i+1, ply, err)
		}
		var moves [2]string
		moves[side] = ply
		c = c.at(c.position.Play(moves))
	}
	if c.Over() {
		return c, errors.New("opening: it ends the match")
	}
	return c, nil
}

// alone tells whether a side is to move, and the other one is not.
func (c Course) alone(side Side) bool { return len(c.sides) == 1 && c.sides[0] == side }

// Opening returns the plies before the first turn. The caller must not change them.
func (c Course) Opening() []string { return c.opening }

// An OpeningKey names an opening. The same key gives the same opening.
type OpeningKey struct {
	Start   string    // what nobody knows before the start of the league
	Players [2]string // ids, in ascending order
	Double  int       // the number of the two legs that begin so, from 1
}

// number returns a number from 0 to n-1 for a ply in a try, both from 1. For i = 0, 1, … it takes the first 8 bytes of
//
//	SHA-256("evenodd-opening-v1" ‖ LP(start) ‖ LP(player) ‖ LP(player) ‖ LP(double) ‖ LP(try) ‖ LP(ply) ‖ LP(i))
//
// as in Chance.Draw.
func (k *OpeningKey) number(try, ply, n int) int {
	input := prefixed([]byte("evenodd-opening-v1"), k.Start)
	input = prefixed(prefixed(input, k.Players[0]), k.Players[1])
	for _, number := range [...]int{k.Double, try, ply} {
		input = prefixed(input, strconv.Itoa(number))
	}
	return uniform(input, n)
}

// uniform returns a number from 0 to n-1. For i = 0, 1, … it takes the first 8 bytes of SHA-256(input ‖ LP(i)) as a
// big-endian number x, until x < 2^64 − (2^64 mod n); the number is x mod n.
func uniform(input []byte, n int) int {
	excess := -uint64(n) % uint64(n) //nolint:gosec // 2^64 mod n
	for i := 0; ; i++ {
		sum := sha256.Sum256(prefixed(input[:len(input):len(input)], strconv.Itoa(i)))
		if x := binary.BigEndian.Uint64(sum[:]); x < -excess || excess == 0 {
			return int(x % uint64(n)) //nolint:gosec // it is less than n
		}
	}
}

// openingTries is the number of openings that DrawOpening draws before it gives up.
const openingTries = 1000

// DrawOpening draws the opening of a key: each ply is one of the legal moves. It is drawn anew if it ends the match
// early, or if its sides do not move in turn. Deal is that of Replay. The error is that of deal, or says that the game
// has no such opening.
func DrawOpening(game Game, plies int, key *OpeningKey, deal func(Course) (Course, error)) ([]string, error) {
	if err := CheckOpenings(game, plies); err != nil {
		return nil, err
	}
	start, err := dealt(Begin(game), deal)
	if err != nil {
		return nil, err
	}
	if !start.alone(SideA) {
		return nil, fmt.Errorf("%s cannot begin with openings: side A does not move first, alone", game.Info().Type)
	}
	for try := 1; try <= openingTries; try++ {
		opening, err := drawPlies(start, plies, func(ply, n int) int { return key.number(try, ply, n) }, deal)
		if opening != nil || err != nil {
			return opening, err
		}
	}
	return nil, fmt.Errorf("%s has no openings of %d plies: each of %d that were drawn ends the match, or a side moves "+
		"twice in it; use fewer plies", game.Info().Type, plies, openingTries)
}

// drawPlies draws an opening, once; nil for one that cannot be used.
func drawPlies(c Course, plies int, number func(ply, n int) int, deal func(Course) (Course, error)) ([]string, error) {
	opening := make([]string, 0, plies)
	for ply := 1; ply <= plies; ply++ {
		side := Side((ply - 1) % 2)
		if !c.alone(side) {
			return nil, nil
		}
		options := c.Ask(side).Options
		if len(options) == 0 {
			return nil, errors.New("the game cannot begin with openings: it has moves in free text")
		}
		move := options[number(ply, len(options))]
		after, err := c.Move(side, move)
		if err == nil {
			after, err = dealt(after, deal)
		}
		if err != nil {
			return nil, err
		}
		c, opening = after, append(opening, move)
	}
	if c.Over() {
		return nil, nil
	}
	return opening, nil
}
