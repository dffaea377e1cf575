package check

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/transport/dialect"
)

// moveForm is how a referee asks for a choice.
func (x *exam) moveForm() *protocol.MoveForm { return protocol.MoveFormOf(x.game) }

// asking is the method by which it asks.
func (x *exam) asking() *dialect.Method { return dialect.MethodOf(x.moveForm().Method.Name) }

// choiceOf is the choice in a reply to a question, and its value as it stands there.
func (x *exam) choiceOf(m members) (choice, value string) {
	path := x.moveForm().Choice
	last := path[len(path)-1]
	for _, name := range path[:len(path)-1] {
		m = objectOf(m[name])
	}
	return m.text(last), strings.Join(path, ".") + " is " + valueOf(m, last)
}

// setChoice puts a choice into a reply to a question.
func (x *exam) setChoice(m object, choice string) {
	if form := x.moveForm(); form.Own() {
		m[form.Choice[0]] = choice
		return
	}
	m["game_type"], m["move_data"] = x.game, object{"move_type": x.Game.Info().MoveTypes[0], "choice": choice}
}

// simultaneous tells whether both players choose at once, and neither knows the choice of
// the other.
func (x *exam) simultaneous() bool { return len(rules.Begin(x.Game).ToMove()) == 2 }

// playOut plays a match, in which choose makes the choices.
func (x *exam) playOut(choose func(side rules.Side, options []string) string) rules.Verdict {
	course := rules.Begin(x.Game)
	for !course.Over() {
		var moves [2]string
		for _, side := range course.ToMove() {
			moves[side] = choose(side, course.Ask(side).Options)
		}
		course = course.Play(moves)
	}
	return course.Judge(rules.Chance{})
}

// verdictFor is that of the rules on some match with this winner, NoSide for a draw. It plays at random, always
// in the same way: a draw can be rare.
func (x *exam) verdictFor(winner rules.Side) (verdict rules.Verdict) {
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // no secret
	for range 100_000 {
		verdict = x.playOut(func(_ rules.Side, options []string) string { return options[random.IntN(len(options))] })
		if verdict.Winner == winner {
			break
		}
	}
	return verdict
}

// gamesProblem returns that the game of the league is not among those of an agent. An
// agent that names no games plays the usual one.
func (x *exam) gamesProblem(meta members) string {
	games := meta["game_types"]
	var types []string
	_ = json.Unmarshal(games, &types) // a rule of the field demands an array of strings
	plays := slices.Contains(types, x.game) || games == nil && x.game == dialect.UsualGame
	return when(!plays, "game_types has no %s: %s", x.game, valueOf(meta, "game_types"))
}
