package external

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// maxSearched is how many positions are compared to find one.
const maxSearched = 10_000

// positionOf returns the position of a question and the moves that led to it. It uses only what the
// player knows: the moves that the question names, or else the earlier questions with the player's answers,
// between which it finds the moves of the opponent. It returns nil if they lead to no position, or to
// several.
func positionOf(game rules.Game, side rules.Side, v *strategy.View) (rules.Position, []rules.Move) {
	if len(v.Moves) > 0 {
		moves := protocol.Each(v.Moves, func(m protocol.PlayerMove) rules.Move {
			if m.PlayerID == v.PlayerID {
				return rules.Move{Side: side, Text: m.Move}
			}
			return rules.Move{Side: side.Other(), Text: m.Move}
		})
		course, err := rules.Replay(game, moves)
		if err != nil || !asks(course.Position, side, v.Options, v.Context) {
			return nil, nil
		}
		return course.Position, moves
	}
	now := strategy.Answered{Options: v.Options, Context: v.Context}
	s := search{side: side, questions: append(slices.Clip(v.Earlier), now)}
	s.from(game.Start(), nil, 0)
	if s.found != 1 {
		return nil, nil
	}
	return s.position, s.moves
}

// A search looks for the positions that fit all questions to a side in a match.
type search struct {
	side      rules.Side
	questions []strategy.Answered // the last one has no answer yet

	searched, found int
	position        rules.Position // the last one found
	moves           []rules.Move   // that lead to it
}

// from continues at a position before a question.
func (s *search) from(p rules.Position, moves []rules.Move, question int) {
	if s.searched++; s.searched > maxSearched || s.found > 1 {
		s.found = 2
		return
	}
	sides, own := p.ToMove(), ""
	if slices.Contains(sides, s.side) {
		q := &s.questions[question]
		if !asks(p, s.side, q.Options, q.Context) {
			return
		}
		if question == len(s.questions)-1 {
			s.found, s.position, s.moves = s.found+1, p, slices.Clone(moves)
			return
		}
		if own = q.Choice; p.Check(s.side, own) != nil {
			return
		}
		question++
	}
	options := []string{""} // the opponent does not move
	if slices.Contains(sides, s.side.Other()) {
		options = p.Ask(s.side.Other()).Options
	}
	for _, other := range options {
		made := [2]string{}
		made[s.side], made[s.side.Other()] = own, other
		next := moves
		for _, side := range sides {
			next = append(slices.Clip(next), rules.Move{Side: side, Text: made[side]})
		}
		if len(sides) > 0 {
			s.from(p.Play(made), next, question)
		}
	}
}

// asks tells whether a position asks a side this question. A referee may add members to the context.
func asks(p rules.Position, side rules.Side, options []string, context map[string]any) bool {
	q := p.Ask(side)
	for name, want := range q.Context {
		if given, named := context[name]; !named || !bytes.Equal(canonical(given), canonical(want)) {
			return false
		}
	}
	return slices.Equal(slices.Sorted(slices.Values(q.Options)), slices.Sorted(slices.Values(options)))
}

// canonical returns a value as JSON, which is the same for a value that has crossed a network.
func canonical(value any) []byte {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return text
}
