// Package pig is the dice game Pig: a player rolls a die as often as it dares, and loses the points of its turn with
// a 1. Each side has five turns. All functions are pure.
package pig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "pig"

// MoveType is the only kind of move.
const MoveType = "roll_or_hold"

// The moves.
const (
	Roll = "roll"
	Hold = "hold"
)

// The sizes of a match.
const (
	Turns    = 5 // of a side
	MaxRolls = 6 // in a turn
	faces    = 6
)

// The members of the view of a side.
const (
	ViewRolls    = "rolls"          // of this turn
	ViewAtStake  = "at_stake"       // points of this turn
	ViewScore    = "score"          // of the side, without this turn
	ViewOpponent = "opponent_score" // points of the opponent
	ViewLeft     = "turns_left"     // of the side, after this one
	ViewTheirs   = "opponent_turns_left"
)

// Game is Pig. PLAYER_A begins.
type Game struct{}

var (
	_ rules.Game      = Game{}
	_ rules.DrawSayer = Game{}
	_ rules.Drawing   = position{}
	_ rules.Drawer    = position{}
)

// Info describes the game.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Pig",
		Rules: "The players take five turns each; player A begins. In a turn a player rolls a die, and then rolls again or " +
			"holds. It holds to score the sum of the turn's rolls; a 1 ends the turn without a score. After the sixth roll " +
			"the turn's sum is scored as well. The higher score after all turns wins; equal scores are a draw.",
		MoveTypes:    []string{MoveType},
		ValidChoices: map[string][]string{MoveType: {Roll, Hold}},
		MaxMoves:     Turns * MaxRolls,
		Draws:        true,
	}
}

// MaxTurns is one for each roll. A turn of the match is a decision, which is less than a turn by the rules of Pig.
func (Game) MaxTurns() int { return 2 * Turns * MaxRolls }

// Start returns the position before the first roll.
func (Game) Start() rules.Position { return position{} }

// SayDraw names the face of the die.
func (Game) SayDraw(outcome int) string { return "die: " + strconv.Itoa(outcome+1) }

// position is a match between two moves or rolls.
type position struct {
	scores []int // of the turns that are over, of which those of SideA are the first, the third and so on
	rolls  []int // of this turn; before its first roll those of the turn before
	begun  bool  // a roll of this turn was made
	due    bool  // a roll is due
	last   [2]string
}

func (p position) over() bool { return len(p.scores) == 2*Turns }

// mover returns the side whose turn it is.
func (p position) mover() rules.Side { return rules.Side(len(p.scores) % 2) }

// score returns the points of a side in its turns that are over.
func (p position) score(side rules.Side) (sum int) {
	for i, score := range p.scores {
		if rules.Side(i%2) == side {
			sum += score
		}
	}
	return sum
}

// left returns the number of turns of a side that are not over.
func (p position) left(side rules.Side) int {
	return Turns - (len(p.scores)+1-int(side))/2
}

func (p position) ToMove() []rules.Side {
	if p.due || p.over() {
		return nil
	}
	return []rules.Side{p.mover()}
}

// options returns the legal moves. The first move of a turn is a roll.
func (p position) options() []string {
	if !p.begun {
		return []string{Roll}
	}
	return []string{Roll, Hold}
}

func (p position) Ask(side rules.Side) rules.Question {
	if p.checkTurn(side) != nil {
		return rules.Question{}
	}
	rolls := []int{}
	if p.begun {
		rolls = slices.Clone(p.rolls)
	}
	return rules.Question{MoveType: MoveType, Options: p.options(), View: map[string]any{
		ViewRolls: rolls, ViewAtStake: sum(rolls), ViewScore: p.score(side), ViewOpponent: p.score(side.Other()),
		ViewLeft: p.left(side) - 1, ViewTheirs: p.left(side.Other()),
	}}
}

func sum(rolls []int) (points int) {
	for _, roll := range rolls {
		points += roll
	}
	return points
}

func (p position) checkTurn(side rules.Side) error {
	switch {
	case p.over():
		return errors.New("the match is over")
	case p.due || side != p.mover():
		return errors.New("it is the other's turn")
	}
	return nil
}

func (p position) Check(side rules.Side, move string) error {
	err := p.checkTurn(side)
	switch {
	case err != nil:
		return err
	case slices.Contains(p.options(), move):
		return nil
	case move == Hold:
		return errors.New("a turn begins with a roll")
	}
	return fmt.Errorf("choice must be %s or %s", Roll, Hold)
}

func (p position) Play(moves [2]string) rules.Position {
	side := p.mover()
	p.last[side] = moves[side]
	if moves[side] == Hold {
		return p.scored(sum(p.rolls))
	}
	p.due = true
	if !p.begun {
		p.rolls = nil
	}
	return p
}

// scored returns the position after the end of a turn.
func (p position) scored(points int) position {
	p.scores = append(slices.Clip(p.scores), points)
	p.begun = false
	return p
}

// Outcomes returns the number of faces of the die, if a roll is due.
func (p position) Outcomes() int {
	if p.due {
		return faces
	}
	return 0
}

// Drawn rolls the die.
func (p position) Drawn(outcome int) rules.Position {
	p.rolls = append(slices.Clip(p.rolls), outcome+1)
	p.begun, p.due = true, false
	switch {
	case outcome == 0:
		return p.scored(0)
	case len(p.rolls) == MaxRolls:
		return p.scored(sum(p.rolls))
	}
	return p
}

// Draw returns a row for each side, with its letter, the points of its turns, and their sum; and below them the rolls
// of this turn, or, before its first one, of the turn before. Both sides see everything.
func (p position) Draw(rules.Side) [][]string {
	drawn := [][]string{{"A", "", "", "", "", "", ""}, {"B", "", "", "", "", "", ""}, make([]string, MaxRolls+1)}
	for i, score := range p.scores {
		drawn[i%2][1+i/2] = strconv.Itoa(score)
	}
	for side := range rules.Side(2) {
		drawn[side][1+Turns] = strconv.Itoa(p.score(side))
	}
	for i, roll := range p.rolls {
		drawn[2][1+i] = strconv.Itoa(roll)
	}
	return drawn
}

// Judge compares the scores. Chance has had its part in the rolls.
func (p position) Judge(rules.Chance) rules.Verdict {
	scores := [2]int{p.score(rules.SideA), p.score(rules.SideB)}
	winner := rules.NoSide
	switch {
	case scores[rules.SideA] > scores[rules.SideB]:
		winner = rules.SideA
	case scores[rules.SideA] < scores[rules.SideB]:
		winner = rules.SideB
	}
	return rules.Verdict{Winner: winner, Moves: p.last, Explain: func(_ rules.Verdict, ids [2]string) string {
		if winner == rules.NoSide {
			return fmt.Sprintf("Both have %d points", scores[rules.SideA])
		}
		other := winner.Other()
		return fmt.Sprintf("%s has %d points, %s has %d", ids[winner], scores[winner], ids[other], scores[other])
	}}
}
