package conformance

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// judgeSecrecy looks whether a player was told what nobody may know before both
// have chosen: by a name that says so, or by the word itself, where a later
// message has it and the first question of the match, before anybody had chosen,
// had not.
func (x *bench) judgeSecrecy(c *contest, s, opponent *seat, said func(string) string) {
	questions := x.toldOf(c, protocol.TypeChooseParityCall)
	if len(questions) == 0 {
		return
	}
	usual := timesSaid(questions[0].params, opponent.choice, deepest)
	told := append(s.told(protocol.TypeChooseParityCall), s.told(protocol.TypeGameError)...)
	for _, k := range told {
		problem := revealed(k.params)
		if n := timesSaid(k.params, opponent.choice, deepest); problem == "" && n > usual {
			problem = fmt.Sprintf("it says %q, which is what %s chose, and the first question of the match did not", opponent.choice, opponent.name)
		}
		x.judge("R-CHO-03", said(problem), k.exchange())
	}
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
