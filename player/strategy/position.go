package strategy

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// maxSearched is how many positions are compared to find one.
const maxSearched = 10_000

// CourseOf returns the course of a match before a question. It uses only what the player knows: the moves that the
// question names, or else the earlier questions with the player's answers, between which it finds the moves of the
// opponent. It returns false if they lead to no position, or to several.
func CourseOf(game rules.Game, side rules.Side, v *View) (rules.Course, bool) {
	start, err := rules.BeginAfter(game, v.Opening)
	if err != nil {
		return start, false
	}
	if len(v.Moves) > 0 {
		moves := lists.Map(v.Moves, func(m protocol.PlayerMove) rules.Move {
			if m.PlayerID == v.PlayerID {
				return rules.Move{Side: side, Text: m.Move}
			}
			return rules.Move{Side: side.Other(), Text: m.Move}
		})
		course, err := start.Replay(moves, nil)
		return course, err == nil && asks(course, side, v.Options, v.Context)
	}
	now := Answered{Options: v.Options, Context: v.Context}
	s := search{side: side, questions: append(slices.Clip(v.Earlier), now)}
	s.from(start, 0)
	return s.course, s.found == 1
}

// A search looks for the courses that fit all questions to a side in a match.
type search struct {
	side      rules.Side
	questions []Answered // the last one has no answer yet

	searched, found int
	course          rules.Course // the last one found
}

// from continues at a course before a question.
func (s *search) from(c rules.Course, question int) {
	if s.searched++; s.searched > maxSearched || s.found > 1 {
		s.found = 2
		return
	}
	var made [2]string
	if c.Owes(s.side) {
		q := &s.questions[question]
		if !asks(c, s.side, q.Options, q.Context) {
			return
		}
		if question == len(s.questions)-1 {
			s.found, s.course = s.found+1, c
			return
		}
		if made[s.side] = q.Choice; c.Check(s.side, q.Choice) != nil {
			return
		}
		question++
	}
	other := s.side.Other()
	if !c.Owes(other) {
		if !c.Over() {
			s.from(c.Play(made), question)
		}
		return
	}
	for _, option := range c.Ask(other).Options {
		made[other] = option
		s.from(c.Play(made), question)
	}
}

// asks tells whether a course asks a side this question. A referee may add members to the context.
func asks(c rules.Course, side rules.Side, options []string, context map[string]any) bool {
	q := c.Ask(side)
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

// FilledBy returns the only empty cell that a move of a side fills, and with which text.
func FilledBy(course rules.Course, side rules.Side, move string, before [][]string) (row, column int, text string,
	one bool) {
	next, err := course.Move(side, move)
	after, ok := next.Position().(rules.Drawer)
	if err != nil || next.Turn() == course.Turn() || !ok {
		return 0, 0, "", false
	}
	changed := 0
	for i, line := range after.Draw(side) {
		for k, cell := range line {
			if i < len(before) && k < len(before[i]) && cell != before[i][k] && before[i][k] == "" {
				row, column, text, changed = i, k, cell, changed+1
			}
		}
	}
	return row, column, text, changed == 1
}
