package check

import (
	"math/rand/v2"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport/dialect"
)

// even_odd has messages of its own for questions and choices; all other
// games share GAME_MOVE_CALL (docs/protocol.md#game_move_call).

// evenOdd tells whether the game is even_odd.
func (x *exam) evenOdd() bool { return x.game == evenodd.Type }

// asking is the method by which a referee asks for a choice.
func (x *exam) asking() *dialect.Method {
	if x.evenOdd() {
		return dialect.MethodOf(protocol.ChooseParity.Name)
	}
	return dialect.MethodOf(protocol.MakeMove.Name)
}

// choiceOf is the choice in a reply to a question, and its value as it stands there.
func (x *exam) choiceOf(m members) (choice, value string) {
	if x.evenOdd() {
		choice = m.text("parity_choice")
		return choice, "parity_choice is " + valueOf(m, "parity_choice")
	}
	move := objectOf(m["move_data"])
	choice = move.text("choice")
	return choice, "move_data.choice is " + valueOf(move, "choice")
}

// setChoice puts a choice into a reply to a question.
func (x *exam) setChoice(m object, choice string) {
	if x.evenOdd() {
		m["parity_choice"] = choice
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
// agent that names no games plays even_odd.
func (x *exam) gamesProblem(meta members) string {
	games := meta["game_types"]
	var types []string
	_ = json.Unmarshal(games, &types) // a rule of the field demands an array of strings
	plays := slices.Contains(types, x.game) || games == nil && x.evenOdd()
	return when(!plays, "game_types has no %s: %s", x.game, valueOf(meta, "game_types"))
}
