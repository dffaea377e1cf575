package check

import (
	"context"
	"slices"

	"evenodd/league/lists"
	"evenodd/rules"
)

// forge adds illegal entries to parts of matches, and to whole ones.
func (x *gameExam) forge(ctx context.Context) {
	parts := x.random.Perm(len(x.asked))
	for _, i := range parts[:min(len(parts), forgedParts)] {
		x.forgeAt(ctx, &x.asked[i])
	}
	ended := lists.Filter(x.asked, func(a answered) bool { return a.state.Over })
	for i := range ended[:min(len(ended), forgedMatches)] {
		x.forgeAt(ctx, &ended[i])
		x.forgeWithin(ctx, &ended[i])
	}
}

// refuses tells whether the program refuses the entry of a history with an index.
func (x *gameExam) refuses(ctx context.Context, id string, history []rules.Entry, index int, side rules.Side) {
	if f := x.findings[id]; f != nil && f.Verdict == Fail {
		return // the first case is enough
	}
	form := x.findings[answersForm] // an answer to an illegal history says nothing about that of a legal one
	state, ok := x.ask(ctx, history)
	x.findings[answersForm] = form
	switch {
	case !ok && ctx.Err() == nil && !x.contradicts():
		x.fail(id, "it gives no answer to the history %s, whose entry %d is illegal", clipped(historyText(history)), index)
	case !ok:
	case state.Illegal == nil:
		x.fail(id, "it accepts entry %d of %s", index, clipped(historyText(history)))
	case state.Illegal.Index != index:
		x.fail(id, "of %s it refuses entry %d, not %d: the index counts from 0", clipped(historyText(history)),
			state.Illegal.Index, index)
	case side != rules.NoSide && state.Illegal.Side != side:
		x.fail(id, "entry %d of %s is illegal because of side %s, which its answer does not name", index,
			clipped(historyText(history)), sideName(side))
	default:
		x.pass(id)
	}
}

// contradicts tells whether the program has contradicted itself.
func (x *gameExam) contradicts() bool {
	f := x.findings[again]
	return f != nil && f.Verdict == Fail
}

// forgeAt adds an illegal entry after a history.
func (x *gameExam) forgeAt(ctx context.Context, a *answered) {
	n, zero := len(a.history), 0
	with := func(e rules.Entry) []rules.Entry { return append(slices.Clone(a.history), e) }
	move := func(side rules.Side, text string) (e rules.Entry) {
		e.Moves[side] = text
		return e
	}
	switch state := a.state; {
	case state.Over:
		x.refuses(ctx, afterEnd, with(move(rules.SideA, x.bogus(nil))), n, rules.NoSide)
		x.refuses(ctx, afterEnd, with(rules.Entry{Draw: &zero}), n, rules.NoSide)
		if n > 0 {
			x.refuses(ctx, afterEnd, with(a.history[n-1]), n, rules.NoSide)
		}
	case state.Draw > 0:
		least, most := -1, state.Draw
		x.refuses(ctx, outOfRange, with(rules.Entry{Draw: &most}), n, rules.NoSide)
		x.refuses(ctx, outOfRange, with(rules.Entry{Draw: &least}), n, rules.NoSide)
		x.refuses(ctx, outOfRange, with(move(rules.SideA, x.bogus(nil))), n, rules.NoSide)
	default:
		x.refuses(ctx, noDraw, with(rules.Entry{Draw: &zero}), n, rules.NoSide)
		for side, q := range state.ToMove {
			side := rules.Side(side)
			other := state.ToMove[side.Other()]
			switch {
			case q == nil && len(other.Options) > 0:
				x.refuses(ctx, wrongSide, with(move(side, other.Options[0])), n, side)
			case q != nil && q.Text == 0:
				x.refuses(ctx, noOption, with(move(side, x.bogus(q.Options))), n, side)
			}
			if q != nil && other != nil && len(q.Options) > 0 {
				incomplete := with(move(side, q.Options[0]))
				x.refuses(ctx, oneSide, append(incomplete, move(side, q.Options[0])), n, rules.NoSide)
			}
		}
	}
}

// bogus is a move that is none of the options.
func (x *gameExam) bogus(options []string) string {
	for _, text := range []string{"?", "??", "!", "no option"} {
		if !slices.Contains(options, text) && len(text) <= x.game.Rules().Info().MaxMove {
			return text
		}
	}
	return "-"
}

// forgeWithin replaces an entry of a whole match by an illegal one.
func (x *gameExam) forgeWithin(ctx context.Context, a *answered) {
	for range min(forgedPlaces, len(a.history)) {
		index := x.random.IntN(len(a.history))
		forged := slices.Clone(a.history)
		e := &forged[index]
		if e.Draw != nil {
			beyond := rules.MaxOutcomes
			e.Draw = &beyond
		} else {
			for side, text := range e.Moves {
				if text != "" {
					e.Moves[side] = x.bogus(nil)
				}
			}
		}
		if x.isText(a.history, index) {
			continue // it may be legal
		}
		x.refuses(ctx, earlier, forged, index, rules.NoSide)
	}
}

// isText tells whether an entry of a match has a move in free text.
func (x *gameExam) isText(history []rules.Entry, index int) bool {
	for i := range x.asked {
		if a := &x.asked[i]; len(a.history) == index && historyText(a.history) == historyText(history[:index]) {
			return slices.ContainsFunc(a.state.ToMove[:], func(q *rules.Question) bool { return q != nil && q.Text > 0 })
		}
	}
	return false
}
