package check

import (
	"encoding/binary"
	"fmt"
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
// the other. A ready turn is no choice.
func (x *exam) simultaneous() bool {
	course := x.firstTurn(everyMatch, new(rules.Chance))
	if rules.HasDraws(x.Game) {
		course = x.goOn(course.Play([2]string{rules.Ready, rules.Ready}), everyMatch, new(rules.Chance))
	}
	return len(course.ToMove()) == 2
}

// firstTurn is the course of a match at its first turn.
func (x *exam) firstTurn(matchID string, chance *rules.Chance) rules.Course {
	return x.goOn(rules.Begin(x.Game), matchID, chance)
}

// goOn makes the draws that are due in a match, and asks the program of the game. Nobody is to move after a move that
// the program refuses, and after a failure of the program, which ends the examination.
func (x *exam) goOn(course rules.Course, matchID string, chance *rules.Chance) rules.Course {
	for course.Awaits() || course.Outcomes() > 0 {
		if course.Outcomes() > 0 {
			course = course.Settle(matchID, chance)
			continue
		}
		state, err := x.Program.Ask(x.life, course.History())
		if err == nil && state.Illegal != nil {
			return course
		}
		if err == nil {
			course, err = course.Told(state)
		}
		if err != nil {
			x.giveUp(fmt.Sprintf("the program of %s: %v", x.game, err))
			return course
		}
	}
	return course
}

// moveOf is a legal move in answer to a question, without regard to what it does; that in free text is a guess.
func moveOf(q rules.Question) string {
	if len(q.Options) == 0 {
		return "pass"
	}
	return q.Options[0]
}

// playOut plays a match, in which choose makes the choices.
func (x *exam) playOut(matchID string, chance *rules.Chance,
	choose func(side rules.Side, q rules.Question) string) rules.Verdict {
	course := x.firstTurn(matchID, chance)
	for len(course.ToMove()) > 0 {
		var moves [2]string
		for _, side := range course.ToMove() {
			moves[side] = choose(side, course.Ask(side))
		}
		course = x.goOn(course.Play(moves), matchID, chance)
	}
	if !course.Over() {
		return rules.Verdict{Winner: rules.NoSide, Explain: func(rules.Verdict, [2]string) string { return "a draw" }}
	}
	return course.Judge(*chance)
}

// verdictFor is that of the rules on some match with this winner, NoSide for a draw. It plays at random, always
// in the same way: a draw can be rare. A program is asked for one match, whose verdict is changed if it is another.
func (x *exam) verdictFor(winner rules.Side) (verdict rules.Verdict) {
	random, matches := rand.New(rand.NewPCG(1, 1)), 100_000 //nolint:gosec // no secret
	if _, program := x.Game.(*rules.Program); program {
		matches = 1
	}
	for i := range matches {
		var chance rules.Chance
		binary.BigEndian.PutUint64(chance.Nonce[:], uint64(i))
		verdict = x.playOut(everyMatch, &chance, func(_ rules.Side, q rules.Question) string {
			if len(q.Options) == 0 {
				return moveOf(q)
			}
			return q.Options[random.IntN(len(q.Options))]
		})
		if verdict.Winner == winner {
			return verdict
		}
	}
	verdict.Winner = winner
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
