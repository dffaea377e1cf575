package conformance

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// secretChoice returns that a player was told the choice of its opponent before both had
// chosen: by a member with a telling name, or by the choice itself, if the first question
// of the match has it less often.
func (x *refereeExam) secretChoice(f *fact) string {
	questions := f.of.received(x.questionType())
	if problem := x.inTurn(); problem != "" || len(questions) == 0 {
		return cmp.Or(problem, undecided)
	}
	opponent := f.of.players[f.player.side.Other()]
	said := timesSaid(f.call.params, opponent.choice, deepest) > timesSaid(questions[0].params, opponent.choice, deepest)
	return firstOf(revealed(f.call.params),
		when(said, "it says %q, which is what %s chose, and the first question of the match did not", opponent.choice, opponent.name))
}

// askState asks for the state of a match in which one player has chosen, and the other has
// not.
func (x *refereeExam) askState(match any) {
	const method = "get_match_state"
	q := message("GET_MATCH_STATE", protocol.ManagerSender, "conv-check-peek", "")
	q["match_id"] = match
	const without, state = choosesMaybe + "/state without token", choosesMaybe + "/state"
	r := x.ask(x.fakes.life, x.dialect, method, q)
	if r.fault != nil && r.fault.code == codeUnknownMethod {
		x.record(without, &fact{skip: "it has no get_match_state"})
		x.record(state, &fact{skip: "it has no get_match_state"})
		return
	}
	x.record(without, &fact{reply: r})
	if !x.simultaneous() {
		x.record(state, &fact{skip: "the players of " + x.game + " move in turn"})
		return
	}
	if r.result != nil {
		x.record(state, &fact{reply: r, problem: x.stated(r.result)})
	}
	q["auth_token"] = x.manager.token
	r = x.ask(x.fakes.life, x.dialect, method, q)
	x.record(state, &fact{reply: r, problem: x.stated(r.result)})
}

// stated returns that a state tells a choice or the number.
func (x *refereeExam) stated(m members) string {
	said := 0
	for _, choice := range options(x.options.Game, x.options.Game.Start(), rules.SideA) {
		said += timesSaid(m, choice, deepest)
	}
	return firstOf(revealed(m), revealed(objectOf(m["game_result"])), when(said > 0, "it tells a choice"))
}

// revealed returns that a member of a message tells a choice or the number.
func revealed(m members) string {
	for _, in := range []members{m, objectOf(m["context"])} {
		for _, name := range []string{"opponent_choice", "choices", "drawn_number"} {
			if v := in[name]; v != nil && v.Kind() != 'n' {
				return name + " is " + valueOf(in, name)
			}
		}
	}
	return ""
}

// deepest is the depth to which messages are searched.
const deepest = 8

// timesSaid counts the members of a message with a text as value. It ignores the elements
// of lists, which are allowed choices, and histories, which are about other matches.
func timesSaid(m members, word string, depth int) int {
	n := 0
	if depth == 0 {
		return n
	}
	for name, raw := range m {
		switch raw.Kind() {
		case '"':
			text, _ := m.text(name)
			if strings.EqualFold(strings.TrimSpace(text), word) {
				n++
			}
		case '{':
			n += timesSaid(objectOf(raw), word, depth-1)
		case '[':
			var list []jsontext.Value
			if strings.Contains(strings.ToLower(name), "history") ||
				json.Unmarshal(raw, &list, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
				continue
			}
			for _, one := range list {
				n += timesSaid(objectOf(one), word, depth-1)
			}
		}
	}
	return n
}
