package conformance

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// judgeSecrecy looks whether a player was told what nobody may know before both
// have chosen: by a name that says so, or by the word itself, where a later
// message has it and the first question of the match, before anybody had chosen,
// had not.
func (x *bench) judgeSecrecy(c *contest, s, opponent *seat, said func(string) string) {
	if !x.simultaneous() {
		x.skip("R-CHO-03", "the players of "+x.game+" move in turn")
		return
	}
	questions := x.toldOf(c, x.questionType())
	if len(questions) == 0 {
		return
	}
	usual := timesSaid(questions[0].params, opponent.choice, deepest)
	for _, k := range append(s.told(x.questionType()), s.told(protocol.TypeGameError)...) {
		problem := revealed(k.params)
		if n := timesSaid(k.params, opponent.choice, deepest); problem == "" && n > usual {
			problem = fmt.Sprintf("it says %q, which is what %s chose, and the first question of the match did not", opponent.choice, opponent.name)
		}
		x.judge("R-CHO-03", said(problem), k.exchange())
	}
}

// peek asks for the state of a match in which one player has chosen, and the
// other not.
func (x *bench) peek(match string) {
	const method = "get_match_state"
	ctx := x.stage.life
	q := message("GET_MATCH_STATE", protocol.ManagerSender, "conv-check-peek", "")
	q["match_id"] = match
	r := x.ask(ctx, method, q)
	if r.fault != nil && r.fault.code == codeUnknownMethod {
		x.skip("R-AUT-01", "it has no get_match_state")
		x.skip("R-CHO-07", "it has no get_match_state")
		return
	}
	x.judge("R-AUT-01", notRefused(r), &r.Exchange)
	if !x.simultaneous() {
		x.skip("R-CHO-07", "the players of "+x.game+" move in turn")
		return
	}
	x.judge("R-CHO-07", when(r.result != nil, "%s", x.stated(r.result)), &r.Exchange)
	q["auth_token"] = x.desk.token
	r = x.ask(ctx, method, q)
	x.judge("R-CHO-07", x.stated(r.result), &r.Exchange)
}

// stated says that a state tells a choice or the number; "" where it does not.
func (x *bench) stated(m members) string {
	result := objectOf(m["game_result"])
	said := 0
	for _, choice := range options(x.options.Game, x.options.Game.Start(), rules.SideA) {
		said += timesSaid(m, choice, deepest)
	}
	return firstOf(revealed(m), revealed(result), when(said > 0, "it tells a choice"))
}

// revealed says that a member of a message tells a choice or the number.
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

// deepest is how deep a message is looked into.
const deepest = 8

// timesSaid counts the members of a message whose value is a word. What stands in
// a list is what is allowed, and a history is of other matches.
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
			if strings.Contains(strings.ToLower(name), "history") {
				continue
			}
			var list []jsontext.Value
			if json.Unmarshal(raw, &list, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
				continue
			}
			for _, one := range list {
				n += timesSaid(objectOf(one), word, depth-1)
			}
		}
	}
	return n
}
