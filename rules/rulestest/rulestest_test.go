package rulestest_test

import (
	"errors"
	"fmt"
	"slices"
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
			r := &recorder{}
			func() {
				defer func() {
					if end := recover(); end != nil && end != any(r) {
						panic(end)
					}
				}()
				rulestest.Play(r, test.game, rules.Chance{}, func(_ rules.Side, q rules.Question) string { return q.Options[0] })
			}()
			if test.want == "" {
				assert.Empty(t, r.failure)
			} else {
				assert.Contains(t, r.failure, test.want)
			}
		})
	}
}
