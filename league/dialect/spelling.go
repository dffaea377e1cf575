package dialect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A spelling is how a caller writes the names of members.
type spelling int

const (
	snakeCase  spelling = iota // match_id, as the protocol has it
	camelCase                  // matchId
	pascalCase                 // MatchId
)

// write is a name of the protocol in a spelling.
func (s spelling) write(name string) string {
	if s == snakeCase {
		return name
	}
	words := strings.Split(name, "_")
	for i, w := range words {
		if w != "" && w[0] < utf8.RuneSelf && (i > 0 || s == pascalCase) {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// spellingOf is how a caller writes, as far as its words for the two most common
// members tell.
func spellingOf(o object) spelling {
	for _, m := range o {
		switch m.name {
		case "messageType", "matchId", "matchID":
			return camelCase
		case "MessageType", "MatchId", "MatchID":
			return pascalCase
		}
	}
	return snakeCase
}

// snaked is the object with those names in snake_case, as the protocol has them,
// that stand in camelCase or PascalCase. A message that has a type is in the
// protocol's own spelling, and stays.
func (o object) snaked() object {
	out := slices.Clone(o)
	if o.get("message_type") != nil {
		return out
	}
	taken := o.allNames()
	for i := range out {
		if name := snake(out[i].name); !taken[name] {
			out[i].name, taken[name] = name, true
		}
	}
	return out
}

// allNames are the names of all members: strangers may send a great many.
func (o object) allNames() map[string]bool {
	names := make(map[string]bool, len(o))
	for _, m := range o {
		names[m.name] = true
	}
	return names
}

// snake is a name in snake_case: match_id for matchId, MatchId and matchID. Names
// that have an underscore, or capitals alone, are none of that kind.
func snake(name string) string {
	if strings.Contains(name, "_") || strings.ToUpper(name) == name || strings.ToLower(name) == name {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		begins := i > 0 && isUpper(name[i]) && (!isUpper(name[i-1]) || i+1 < len(name) && !isUpper(name[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// within changes the objects that a value is or holds, the inner ones first. Names
// in those that are kept by ids are nobody's to change.
func within(v jsontext.Value, deep int, change func(object) object) jsontext.Value {
	switch {
	case deep == 0:
	case v.Kind() == '{':
		o := slices.Clone(objectOf(v))
		for i := range o {
			if name := snake(o[i].name); name != "choices" && name != "player_choices" && name != "score" {
				o[i].value = within(o[i].value, deep-1, change)
			}
		}
		return change(o).appendTo(nil)
	case v.Kind() == '[':
		var list []jsontext.Value
		if json.Unmarshal(v, &list) != nil {
			return v
		}
		all := []byte{'['}
		for i, one := range list {
			if i > 0 {
				all = append(all, ',')
			}
			all = append(all, within(one, deep-1, change)...)
		}
		return append(all, ']')
	}
	return v
}

// inAllSpellings has every member of a message stand there in all spellings.
func inAllSpellings(message jsontext.Value) jsontext.Value {
	return within(message, depth, func(o object) object {
		return o.alsoIn(camelCase).alsoIn(pascalCase)
	})
}

// alsoIn is the object with those members beside its own whose names are others in
// a spelling.
func (o object) alsoIn(s spelling) object {
	if s == snakeCase {
		return o
	}
	out, taken := slices.Clone(o), o.allNames()
	for _, m := range o {
		if name := s.write(m.name); !taken[name] {
			taken[name] = true
			out = append(out, member{name, m.value})
		}
	}
	return out
}

// brief is a message without the members that no document has, for those who let in
// no others.
func brief(message jsontext.Value) jsontext.Value {
	return within(message, depth, func(o object) object {
		return slices.DeleteFunc(o, func(m member) bool { return slices.Contains(additions, m.name) })
	})
}

// additions are the members that ours add to the messages of the documents.
var additions = []string{
	"attempt", "draw_commitment", "draw", "faults", "referee_id", "referee_auth", "forfeited_by", "total_players", "journal_head",
}
