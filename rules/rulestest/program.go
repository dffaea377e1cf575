package rulestest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"evenodd/rules"
)

// A Program answers the questions of a game that is a program by the positions of a game of package rules, in this
// process. So a test has such a game without another process, with every kind of position.
type Program struct {
	// Change changes what the program says of a history, as one that is broken does; nil changes nothing.
	Change func(history []rules.Entry, state *rules.State) (*rules.State, error)

	game  rules.Game
	typ   string
	asked atomic.Int64
}

// NewProgram returns a program of a type, with the positions of a game.
func NewProgram(gameType string, game rules.Game) *Program {
	return &Program{typ: gameType, game: game}
}

// Rules returns the game of the program.
func (p *Program) Rules() *rules.Program {
	info := p.game.Info()
	info.Type, info.DisplayName, info.Version, info.MaxMove = p.typ, "Program of "+info.DisplayName, "1", 100
	info.ValidChoices = nil
	return rules.NewProgram(info, p.game.MaxTurns())
}

// Digest returns what stands for the digest of the files of the program.
func (p *Program) Digest() string { return strings.Repeat("ab", 32) }

// Asked returns how often the program was asked.
func (p *Program) Asked() int { return int(p.asked.Load()) }

// Ask returns what the program says of a history.
func (p *Program) Ask(ctx context.Context, history []rules.Entry) (*rules.State, error) {
	p.asked.Add(1)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	state := p.say(history)
	if p.Change != nil {
		return p.Change(history, state)
	}
	return state, nil
}

// say is what an honest program says of a history.
func (p *Program) say(history []rules.Entry) *rules.State {
	position := p.game.Start()
	for i, e := range history {
		illegal := func(side rules.Side, format string, args ...any) *rules.State {
			return &rules.State{Illegal: &rules.Illegal{Index: i, Side: side, Reason: fmt.Sprintf(format, args...)}}
		}
		if e.Draw != nil {
			drawing, ok := position.(rules.Drawing)
			if !ok || *e.Draw < 0 || *e.Draw >= drawing.Outcomes() {
				return illegal(rules.SideA, "there is no outcome %d here", *e.Draw)
			}
			position = drawing.Drawn(*e.Draw)
			continue
		}
		owing := position.ToMove()
		for side, move := range e.Moves {
			at := -1
			for j, owes := range owing {
				if owes == rules.Side(side) {
					at = j
				}
			}
			switch {
			case move == "":
			case at < 0:
				return illegal(rules.Side(side), "it has no move to make")
			default:
				if err := position.Check(rules.Side(side), move); err != nil {
					return illegal(rules.Side(side), "%v", err)
				}
				owing = append(owing[:at:at], owing[at+1:]...)
			}
		}
		if len(owing) > 0 {
			if i < len(history)-1 || len(owing) == len(position.ToMove()) {
				return illegal(owing[0], "its move is missing")
			}
			return p.state(position, owing)
		}
		position = position.Play(e.Moves)
	}
	return p.state(position, position.ToMove())
}

// state describes a position in which sides are to move.
func (p *Program) state(position rules.Position, sides []rules.Side) *rules.State {
	state := &rules.State{Winner: rules.NoSide}
	if drawer, ok := position.(rules.Drawer); ok && !p.game.Info().Hidden {
		state.Board = drawer.Draw(rules.NoSide)
	}
	for _, side := range sides {
		q := position.Ask(side)
		if q.View == nil && len(q.Context) > 0 {
			q.View = q.Context
		}
		q.Context = nil
		state.ToMove[side] = &q
	}
	if drawing, ok := position.(rules.Drawing); ok && len(sides) == 0 {
		state.Draw = drawing.Outcomes()
	}
	if len(sides) == 0 && state.Draw == 0 {
		verdict := position.Judge(rules.Chance{})
		state.Over, state.Winner, state.Reason = true, verdict.Winner, verdict.Reason([2]string{"{A}", "{B}"})
	}
	return state
}
