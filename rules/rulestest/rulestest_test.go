package rulestest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/rules"
	"evenodd/rules/rulestest"
)

// A broken game has one side that moves three times. Each field breaks one rule of package
// rules.
type broken struct {
	turns, most  int
	sameQuestion bool
	illegal      bool // an option that Check refuses
	anything     bool // Check accepts any move
	unlisted     bool // an option that ValidChoices does not have
	unencodable  bool
	endless      bool // moves are legal after the end
	changes      bool // Play changes the position
	grows, wide  bool // boards differ in size, or have long cells
	rises        bool // a move makes the value better
}

func (g broken) Info() rules.Info {
	return rules.Info{Type: "broken", MoveTypes: []string{"go"}, ValidChoices: map[string][]string{"go": {"on"}}, MaxMoves: g.most}
}

func (g broken) MaxTurns() int { return g.turns }

func (g broken) Start() rules.Position { return &steps{broken: g} }

type steps struct {
	broken
	done int
}

func (p *steps) ToMove() []rules.Side {
	if p.done >= 3 {
		return nil
	}
	return []rules.Side{rules.SideA}
}

func (p *steps) Ask(rules.Side) rules.Question {
	q := rules.Question{MoveType: "go", Options: []string{"on"}, Context: map[string]any{"done": p.done}}
	switch {
	case p.sameQuestion:
		q.Context = nil
	case p.unlisted:
		q.Options = append(q.Options, "back")
	case p.unencodable:
		q.Context["z"] = 1i
	}
	return q
}

func (p *steps) Check(_ rules.Side, move string) error {
	legal := slices.Contains(p.Ask(rules.SideA).Options, move) && !p.illegal && (p.done < 3 || p.endless)
	if legal || p.anything {
		return nil
	}
	return errors.New("illegal")
}

func (p *steps) Play([2]string) rules.Position {
	if p.changes {
		p.done++
		return p
	}
	next := *p
	next.done++
	return &next
}

func (p *steps) Draw(rules.Side) [][]string {
	cell := map[bool]string{true: "long", false: "äöü"}[p.wide]
	if p.grows {
		return make([][]string, p.done)
	}
	return [][]string{{cell}}
}

func (p *steps) Value() rules.Side {
	if p.rises && p.done == 0 {
		return rules.SideB
	}
	return rules.NoSide
}

func (p *steps) Judge(rules.Chance) rules.Verdict { return rules.Verdict{Winner: rules.NoSide} }

// A guess is a game with a draw, which side A does not see. Each field breaks one rule.
type guess struct {
	broken

	outcomes int
	alike    bool // outcomes lead to the same position
	shown    bool // the view has the outcome
	early    bool // a side is to move before the draw
	blind    bool // a question without a view
	long     bool
	drawn    int // the outcome and 1; 0 before the draw
}

func (g guess) Info() rules.Info {
	info := g.broken.Info()
	info.Draws, info.Hidden = true, true
	return info
}

func (g guess) Start() rules.Position { return g }

func (g guess) ToMove() []rules.Side {
	if g.done() || g.drawn == 0 && !g.early {
		return nil
	}
	return []rules.Side{rules.SideA}
}

func (g guess) done() bool { return g.turns == 0 }

func (g guess) Ask(rules.Side) rules.Question {
	q := rules.Question{MoveType: "go", Options: []string{"on"}, View: "a number"}
	switch {
	case g.shown:
		q.View = g.drawn
	case g.blind:
		q.View = nil
	case g.long:
		q.View = strings.Repeat("x", 9<<10)
	}
	return q
}

func (g guess) Check(_ rules.Side, move string) error {
	if move != "on" || g.done() {
		return errors.New("illegal")
	}
	return nil
}

func (g guess) Play([2]string) rules.Position { g.turns = 0; return g }

func (g guess) Outcomes() int {
	if g.drawn > 0 {
		return 0
	}
	return g.outcomes
}

func (g guess) Drawn(outcome int) rules.Position {
	g.drawn = outcome + 1
	if g.alike {
		g.drawn = 1
	}
	return g
}

func (g guess) Judge(rules.Chance) rules.Verdict { return rules.Verdict{Winner: rules.NoSide} }

// A recorder is a test that ends with its first failure.
type recorder struct{ failure string }

func (r *recorder) Errorf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }
func (r *recorder) FailNow()                          { panic(r) }

func TestBrokenGamesAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		game broken
		want string // "" for a game that keeps the rules
	}{
		"none":                             {broken{turns: 3, most: 3}, ""},
		"too many turns":                   {broken{turns: 2, most: 3}, "has at most 2 turns"},
		"too many questions":               {broken{turns: 3, most: 2}, "asks one side at most 2 times"},
		"the same question twice":          {broken{turns: 3, most: 3, sameQuestion: true}, "the same question twice"},
		"an illegal option":                {broken{turns: 3, most: 3, illegal: true}, "every option is legal"},
		"any move is legal":                {broken{turns: 3, most: 3, anything: true}, "An error is expected"},
		"an option outside of the choices": {broken{turns: 3, most: 3, unlisted: true}, "ValidChoices has every option"},
		"a context that is not JSON":       {broken{turns: 3, most: 3, unencodable: true}, "the context is sent as JSON"},
		"a legal move after the end":       {broken{turns: 3, most: 3, endless: true}, "no move is legal after the end"},
		"a position that changes":          {broken{turns: 3, most: 3, changes: true}, "position"},
		"boards of different sizes":        {broken{turns: 3, most: 3, grows: true}, "all boards have the same rows"},
		"a cell that is too long":          {broken{turns: 3, most: 3, wide: true}, "at most 3 characters"},
		"a move that is too good":          {broken{turns: 3, most: 3, rises: true}, "no move is better than the best one"},
	} {
		t.Run(name, func(t *testing.T) {
			testFailure(t, test.game, test.want)
		})
	}
}

// testFailure plays a game, and tests that this fails as wanted; "" is for no failure.
func testFailure(t *testing.T, game rules.Game, want string) {
	t.Helper()
	r := &recorder{}
	func() {
		defer func() {
			if end := recover(); end != nil && end != any(r) {
				panic(end)
			}
		}()
		rulestest.Play(r, game, rules.Chance{}, func(_ rules.Side, q rules.Question) string { return q.Options[0] })
	}()
	if want == "" {
		assert.Empty(t, r.failure)
	} else {
		assert.Contains(t, r.failure, want)
	}
}

func TestBrokenGamesWithDrawsAreFound(t *testing.T) {
	game := broken{turns: 1, most: 1}
	for name, test := range map[string]struct {
		game guess
		want string
	}{
		"none":                        {guess{broken: game, outcomes: 3}, ""},
		"one outcome":                 {guess{broken: game, outcomes: 1}, "a draw has 2 to 2147483647 outcomes, not 1"},
		"a side that moves too early": {guess{broken: game, outcomes: 3, early: true}, "no side is to move before a draw"},
		"a draw without a consequence": {guess{broken: game, outcomes: 3, alike: true},
			"another outcome leads to another position"},
		"a secret that a side sees": {guess{broken: game, outcomes: 3, shown: true}, "a side sees all draws"},
		"no view":                   {guess{broken: game, outcomes: 3, blind: true}, "says what a side may see"},
		"a long view":               {guess{broken: game, outcomes: 3, long: true}, "a view has at most 8192 bytes"},
	} {
		t.Run(name, func(t *testing.T) { testFailure(t, test.game, test.want) })
	}
}
