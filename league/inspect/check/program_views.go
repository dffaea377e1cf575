package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/lists"
	"evenodd/rules"
)

// openDraws is the requirement that both sides see the draws of a game that is not hidden.
const openDraws = "G-VIE-01"

// The extent of a comparison of views.
const (
	comparedMatches = 3
	comparedDraws   = 8  // in each of them
	comparedEntries = 40 // after each draw
)

// compareViews looks for draws that one side sees and the other does not: then the game must be hidden. A few such
// draws are no sign, because a throw of dice can lose its meaning before the other side moves.
func (x *gameExam) compareViews(ctx context.Context) {
	if info := x.game.Rules().Info(); !info.Draws || info.Hidden {
		return
	}
	both, one, first := 0, 0, ""
	ended := lists.Filter(x.asked, func(a answered) bool { return a.state.Over })
	for _, a := range ended[:min(len(ended), comparedMatches)] {
		for _, at := range drawsIn(a.history) {
			switch sees := x.seers(ctx, a.history, at); sees {
			case [2]bool{true, true}:
				both++
			case [2]bool{true, false}, [2]bool{false, true}:
				one++
				side := rules.SideA
				if sees[rules.SideB] {
					side = rules.SideB
				}
				first = cmp.Or(first, fmt.Sprintf("the draw in entry %d of %s changes what side %s sees, and not what side %s sees",
					at, clipped(historyText(a.history)), sideName(side), sideName(side.Other())))
			}
		}
	}
	switch {
	case one > both:
		x.fail(openDraws, "%s", first)
	case both > 0:
		x.pass(openDraws)
	}
}

// drawsIn returns the indices of the first draws in a history.
func drawsIn(history []rules.Entry) (at []int) {
	for i := range history {
		if history[i].Draw != nil && len(at) < comparedDraws {
			at = append(at, i)
		}
	}
	return at
}

// seers tells which sides see another question after another outcome of the draw in an entry of a history.
func (x *gameExam) seers(ctx context.Context, history []rules.Entry, at int) (sees [2]bool) {
	before, ok := x.ask(ctx, history[:at])
	if !ok || before.Draw == 0 {
		return sees
	}
	other := slices.Clone(history)
	drawn := (*history[at].Draw + 1) % before.Draw
	other[at].Draw = &drawn
	for n := at + 1; n <= min(len(history), at+comparedEntries); n++ {
		state, ok := x.ask(ctx, history[:n])
		if !ok {
			return sees
		}
		changed, ok := x.ask(ctx, other[:n])
		if !ok || changed.Illegal != nil {
			return sees
		}
		if !bytes.Equal(encodedValue(state.Board), encodedValue(changed.Board)) {
			return [2]bool{true, true}
		}
		for side, q := range state.ToMove {
			if c := changed.ToMove[side]; q != nil && c != nil && !bytes.Equal(encodedValue(q), encodedValue(c)) {
				sees[side] = true
			}
		}
	}
	return sees
}

// encodedValue is a value of an answer as JSON.
func encodedValue(value any) []byte {
	text, _ := json.Marshal(value, json.Deterministic(true)) // it was read from JSON
	return text
}
