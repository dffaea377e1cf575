package config

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
)

// report collects everything that is wrong with one file.
type report struct {
	path     string
	problems []error
}

// add tells what rule a member breaks, and how.
func (r *report) add(member, rule string, value any) {
	r.refuse(member, fmt.Sprintf("%s, got %s", rule, quoted(value)))
}

func (r *report) refuse(member, why string) {
	if member != "" {
		why = member + ": " + why
	}
	r.problems = append(r.problems, fmt.Errorf("%s: %s", r.path, why))
}

// quoted is a value as it stands in the file, shortened.
func quoted(value any) string {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return "a value that cannot be written" // of a file that was just read: it can
	}
	const limit = 60
	if len(text) > limit {
		return strings.ToValidUTF8(string(text[:limit]), "") + "…"
	}
	return string(text)
}

// A check judges a value as JSON has it: string, float64, bool, nil, []any or
// map[string]any.
type check func(r *report, member string, value any)

// A field is a member of an object. One that is missing is no mistake, unless
// nothing can stand for it.
type field struct {
	name     string
	check    check
	required bool
}

// object is an object with these members, and any others.
func object(fields ...field) check {
	return func(r *report, member string, value any) {
		tree, ok := value.(map[string]any)
		if !ok {
			r.add(member, "must be an object", value)
			return
		}
		for _, f := range fields {
			path := f.name
			if member != "" {
				path = member + "." + f.name
			}
			switch value, there := tree[f.name]; {
			case there:
				f.check(r, path, value)
			case f.required:
				r.refuse(path, "must be there")
			}
		}
	}
}

// list is an array of such items.
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

// members is an object all of whose members are such values.
func members(value check) check {
	return func(r *report, member string, tree any) {
		named, ok := tree.(map[string]any)
		if !ok {
			r.add(member, "must be an object", tree)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			value(r, member+"."+name, named[name])
		}
	}
}

// must is a value for which ok holds.
func must(rule string, ok func(value any) bool) check {
	return func(r *report, member string, value any) {
		if !ok(value) {
			r.add(member, "must be "+rule, value)
		}
	}
}

// within tells whether a value is a whole number in a range.
func within(value any, low, high float64) bool {
	n, ok := value.(float64)
	return ok && n == math.Trunc(n) && n >= low && n <= high
}

// whole is a whole number in a range.
func whole(low, high int) check {
	return must(fmt.Sprintf("a whole number from %d to %d", low, high), func(v any) bool {
		return within(v, float64(low), float64(high))
	})
}

// longest bounds every duration, so that none of them overflows: a year.
const longest = 365 * 24 * 60 * 60 // seconds

// wholeSeconds is a duration.
func wholeSeconds(low int) check {
	rule := must(fmt.Sprintf("a whole number of seconds from %d", low), func(v any) bool {
		return within(v, float64(low), math.MaxFloat64)
	})
	return func(r *report, member string, value any) {
		rule(r, member, value)
		if within(value, longest+1, math.MaxFloat64) {
			r.add(member, fmt.Sprintf("must be at most %d seconds, a year", longest), value)
		}
	}
}

// text is a string for which ok holds.
func text(rule string, ok func(s string) bool) check {
	return must(rule, func(v any) bool {
		s, isText := v.(string)
		return isText && ok(s)
	})
}

// oneOf is one of these strings.
func oneOf(names ...string) check {
	rule := "one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		rule = fmt.Sprintf("%q", names[0])
	}
	return text(rule, func(s string) bool { return slices.Contains(names, s) })
}

// someOf is a list of at least one of these strings, each once.
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

func boolean() check {
	return must("true or false", func(v any) bool {
		_, ok := v.(bool)
		return ok
	})
}

// ports is a range of ports.
func ports() check {
	const rule = "two ports [first, last] from 1 to 65535, the first not above the last"
	return must(rule, func(v any) bool {
		pair, ok := v.([]any)
		return ok && len(pair) == 2 && within(pair[0], 1, 65535) && within(pair[1], 1, 65535) &&
			pair[0].(float64) <= pair[1].(float64)
	})
}

func displayName() check {
	return text("1 to 50 characters without control characters", protocol.ValidName)
}

func leagueID() check {
	return text("1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash", protocol.ValidLeagueID)
}

func version() check {
	form := regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.+-]+)?$`)
	return text("a version of the form MAJOR.MINOR.PATCH", form.MatchString)
}

func endpoint() check {
	return text("a URL such as http://localhost:8101/mcp", func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && protocol.ValidURL(s) && (u.Scheme == "http" || u.Scheme == "https")
	})
}

func host() check {
	form := regexp.MustCompile(`^[0-9A-Za-z._:%-]{1,253}$`)
	return text("the name or the address of a host, without port", func(s string) bool {
		return form.MatchString(s) && strings.Count(s, ":") != 1 // a single colon stands before a port
	})
}

// network is where agents may be.
func network() check {
	return text(fmt.Sprintf("a network such as 10.1.0.0/16, an address, or %q", Anywhere), func(s string) bool {
		_, err := ParseNetwork(s)
		return err == nil || s == Anywhere
	})
}

func logLevel() check { return oneOf("debug", "info", "warn", "error", "disabled") }

func header() []field {
	timestamp := text("a time of the form YYYY-MM-DDTHH:MM:SSZ", protocol.ValidTimestamp)
	return []field{{name: "schema_version", check: version()}, {name: "last_updated", check: timestamp}}
}

// document is a whole file.
func document(fields ...field) check { return object(append(header(), fields...)...) }

func timeouts() check {
	response := wholeSeconds(1)
	return object(
		field{name: "register_referee_timeout_sec", check: response},
		field{name: "register_player_timeout_sec", check: response},
		field{name: "game_join_ack_timeout_sec", check: response},
		field{name: "move_timeout_sec", check: response},
		field{name: "generic_response_timeout_sec", check: response},
	)
}

func retryPolicy() check {
	delay := must("a number of seconds from 0 (at once) to 3600", func(v any) bool {
		n, ok := v.(float64)
		return ok && n >= 0 && n <= 3600
	})
	return object(
		field{name: "max_retries", check: whole(0, 10)},
		field{name: "delay_sec", check: delay},
		field{name: "backoff_strategy", check: oneOf(protocol.BackoffFixed, protocol.BackoffLinear, protocol.BackoffExponential)},
	)
}
