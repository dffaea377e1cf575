package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// Known lists what the program has of the things that files can name. Package config
// itself knows no games and no strategies.
type Known struct {
	Tiebreakers []string
	Tournaments []string // formats
	Strategies  []string
	Games       map[string]Game // by game type; the valid choices have no ranges
}

func (k Known) gameTypes() []string { return slices.Sorted(maps.Keys(k.Games)) }

// A report collects the problems of one file, and its members without effect.
type report struct {
	path     string // of the file
	rules    map[string]check
	problems []error
	unknown  []string
}

// add reports the value of a member that breaks a rule.
func (r *report) add(member, rule string, value any) {
	r.refuse(member, fmt.Sprintf("%s, got %s", rule, quoted(value)))
}

func (r *report) refuse(member, why string) {
	if member != "" {
		why = member + ": " + why
	}
	r.problems = append(r.problems, fmt.Errorf("%s: %s", r.path, why))
}

// quoted returns a value as JSON, cut to 60 bytes.
func quoted(value any) string {
	text, _ := json.Marshal(value, json.Deterministic(true)) // the value was read from JSON
	return words.Clip(string(text), 60)
}

// compile returns the rules of the members of a struct: protocol has the words of its tags, and rules those that files
// alone have.
func (r *report) compile(t reflect.Type) *protocol.Field {
	return protocol.CompileFile(t, func(word string) bool { return r.rules[word] != nil })
}

// object checks a JSON value against the rules of an object. Names that begin with _ or $ are remarks; other unknown
// names have no effect.
func (r *report) object(f *protocol.Field, path string, value any) {
	tree, ok := value.(map[string]any)
	if !ok {
		r.add(path, "must be an object", value)
		return
	}
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	names := lists.Map(f.Fields, func(member protocol.Field) string { return member.Name })
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if !slices.Contains(names, name) && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "$") {
			r.unknown = append(r.unknown, at(name)+words.DidYouMean(name, names))
		}
	}
	for i := range f.Fields {
		member := &f.Fields[i]
		if v, present := tree[member.Name]; present {
			r.check(member)(r, at(member.Name), v)
		} else if !member.Optional {
			r.refuse(at(member.Name), "must be present")
		}
	}
}

// check returns the check of a member or an item.
func (r *report) check(f *protocol.Field) check {
	switch {
	case f.Special != "":
		return r.rules[f.Special]
	case f.Kind == protocol.KindObject:
		return func(r *report, path string, value any) { r.object(f, path, value) }
	case f.Kind == protocol.KindArray:
		return list(r.check(f.Items))
	case f.Kind == protocol.KindBoolean:
		return must("true or false", func(v any) bool { return v == true || v == false })
	case f.Kind == protocol.KindInteger:
		return must(fmt.Sprintf("a whole number from %d to %d", f.Min, f.Max), func(v any) bool {
			return within(v, float64(f.Min), float64(f.Max))
		})
	case f.Values != nil:
		return oneOf(f.Values...)
	}
	return text(f.Form.Rule, func(s string) bool { return f.CheckText(s) == "" })
}

// A check examines a JSON value: a string, float64, bool, nil, []any or
// map[string]any.
type check func(r *report, member string, value any)

// must returns the check that ok holds.
func must(rule string, ok func(value any) bool) check {
	return func(r *report, member string, value any) {
		if !ok(value) {
			r.add(member, "must be "+rule, value)
		}
	}
}

// text returns the check for a string for which ok holds.
func text(rule string, ok func(s string) bool) check {
	return must(rule, func(v any) bool {
		s, isText := v.(string)
		return isText && ok(s)
	})
}

// list returns the check for a list of items.
func list(item check) check {
	return func(r *report, member string, value any) {
		items, ok := value.([]any)
		if !ok {
			r.add(member, "must be a list", value)
			return
		}
		for i, v := range items {
			item(r, fmt.Sprintf("%s[%d]", member, i), v)
		}
	}
}

// within tells whether a value is a whole number in a range.
func within(value any, low, high float64) bool {
	n, ok := value.(float64)
	return ok && n == math.Trunc(n) && n >= low && n <= high
}

// oneOf returns the check for one of these strings.
func oneOf(names ...string) check {
	rule := "one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		rule = fmt.Sprintf("%q", names[0])
	}
	return text(rule, func(s string) bool { return slices.Contains(names, s) })
}

// someOf returns the check for a list of at least one of these strings, each once.
func someOf(names []string) check {
	return must("a list of at least one of "+strings.Join(names, ", ")+", each once", func(v any) bool {
		items, ok := v.([]any)
		for i, item := range items {
			s, isText := item.(string)
			ok = ok && isText && slices.Contains(names, s) && !slices.Contains(items[:i], item)
		}
		return ok && len(items) > 0
	})
}

// idOf returns the check for an agent's id.
func idOf(example string, parse func(string) (int, bool)) check {
	return text("an id such as "+example, func(s string) bool {
		_, ok := parse(s)
		return ok
	})
}

// objectOf returns the check for an object of another struct type.
func objectOf[T any]() check {
	return func(r *report, member string, value any) { r.object(r.compile(reflect.TypeFor[T]()), member, value) }
}

// registrationCode checks a registration code, which no error shows.
func registrationCode(r *report, member string, value any) {
	code, _ := value.(string)
	if err := protocol.CheckRegistrationCode(code); err != nil {
		r.refuse(member, err.Error())
	}
}

// rules returns the checks of the words of the tag rule that only files have, for the file of a league.
func rules(known Known, leagueID string) map[string]check {
	hostForm := regexp.MustCompile(`^[0-9A-Za-z._:%-]{1,253}$`)
	notEmpty := func(s string) bool { return s != "" }
	return map[string]check{
		"text":      text("a text", notEmpty),
		"ignored":   func(*report, string, any) {},
		"status":    text("a text such as "+StatusActive, notEmpty),
		"timestamp": text("a time of the form YYYY-MM-DDTHH:MM:SSZ", protocol.ValidTimestamp),
		"league_id": text("1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash",
			protocol.ValidLeagueID),
		"own_id":            text(fmt.Sprintf("%q, like the file's name", leagueID), func(s string) bool { return s == leagueID }),
		"referee_id":        idOf("REF01", league.ParseRefereeID),
		"player_id":         idOf("P01", league.ParsePlayerID),
		"registry":          registry,
		"game":              oneOf(known.gameTypes()...),
		"games":             someOf(known.gameTypes()),
		"tiebreakers":       someOf(known.Tiebreakers),
		"tournament":        oneOf(known.Tournaments...),
		"strategy":          oneOf(known.Strategies...),
		"registration_code": registrationCode,
		"timeouts":          objectOf[Timeouts](),
		"retries":           objectOf[RetryPolicy](),
		"delay": must("a number of seconds from 0 (at once) to 3600", func(v any) bool {
			n, ok := v.(float64)
			return ok && n >= 0 && n <= 3600
		}),
		"time_bank": text("a time such as 60s, or a time and an increment such as 60s+1s", func(s string) bool {
			_, err := protocol.ParseTimeBank(s)
			return err == nil
		}),
		"true": must("true: a league without tokens could be ended by anyone", func(v any) bool { return v == true }),
		"ports": must("two ports [first, last] from 1 to 65535, the first not above the last", func(v any) bool {
			pair, ok := v.([]any)
			return ok && len(pair) == 2 && within(pair[0], 1, 65535) && within(pair[1], 1, 65535) &&
				pair[0].(float64) <= pair[1].(float64)
		}),
		"endpoint": text("a URL such as http://localhost:8101/mcp", protocol.ValidHTTP),
		"host": text("the name or the address of a host, without port", func(s string) bool {
			return hostForm.MatchString(s) && strings.Count(s, ":") != 1 // a single colon precedes a port
		}),
		"network": text(fmt.Sprintf("a network such as 10.1.0.0/16, an address, or %q", Anywhere), func(s string) bool {
			_, err := ParseNetwork(s)
			return err == nil || s == Anywhere
		}),
	}
}
