package check

import (
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
	if len(questions) == 0 {
		return undecided
	}
	opponent := f.of.players[f.player.side.Other()]
	said := timesSaid(f.call.params, opponent.choice, deepest) > timesSaid(questions[0].params, opponent.choice, deepest)
	return firstOf(revealed(f.call.params),
		when(said, "it says %q, which is what %s chose, and the first question of the match did not", opponent.choice, opponent.name))
}

// askState asks for the state of a match in which one player has chosen, and the other has
// not, without and with the token of the referee.
func (x *refereeExam) askState(match any) {
	for _, token := range []string{"", x.manager.token} {
		q := message("GET_MATCH_STATE", protocol.ManagerSender, "conv-check-peek", token)
		q["match_id"] = match
		f := &fact{reply: x.ask(x.fakes.life, x.dialect, "get_match_state", q)}
		if f.reply.fault != nil && f.reply.fault.code == codeUnknownMethod {
			f.skip = "it has no get_match_state"
		}
		if token == "" {
			x.record(choosesMaybe+"/state without token", f)
		}
		x.record(choosesMaybe+"/state", f)
	}
}

// secretState returns that a state tells a choice or the number.
func (x *refereeExam) secretState(f *fact) string {
	m, said := f.reply.result, 0
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
		var list []jsontext.Value
		switch text := m.text(name); {
		case raw.Kind() == '{':
			list = []jsontext.Value{raw}
		case raw.Kind() == '[' && !strings.Contains(strings.ToLower(name), "history"):
			_ = json.Unmarshal(raw, &list, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		case strings.EqualFold(strings.TrimSpace(text), word):
			n++
		}
		for _, one := range list {
			n += timesSaid(objectOf(one), word, depth-1)
		}
	}
	return n
}
