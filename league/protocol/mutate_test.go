package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
)

// strange are values that may stand in place of any other.
var strange = func() []tree {
	values := []tree{
		object{}, array{}, array{scalar("null")}, object{{"P01", scalar("null")}}, object{{"P01", scalar(`""`)}},
		object{{"P01", scalar("-1")}}, object{{"P01", scalar(`"` + aDigest + `"`)}}, array{object{}}, array{scalar(`""`)},
	}
	for _, literal := range []string{
		"null", "true", "false", `""`,
		"0", "-0", "1", "-1", "1.5", "1.0", "1e2", "-0.0", "2147483647", "2147483648", "9223372036854775808", "1e400", "0.000001",
	} {
		values = append(values, scalar(literal))
	}
	for _, words := range []string{
		" ", "x", "P01", `a"b`, "\u05d0\n\u2028", "WIN", "win", "EVEN", "E001", "e001", "E1", "2.1.0", "2.1", "01.2.3", "1.2.3-rc.1+5",
		"2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00+00:00", "2025-01-15T10:30:00.123456Z", "2025-01-15T10:30:00.Z",
		"2025-01-15T10:30:00", "2025-01-15T10:30:00z", "2025-01-15T1:30:00Z", "2025-02-29T10:30:00Z", "2024-02-29T10:30:00Z",
		"2016-12-31T23:59:60Z", "2025-01-15T24:00:00Z", "2025-01-15 10:30:00Z", "2025-01-15T10:30:00,5Z", "2025-01-15T10:30:00-00:00",
		"2025-01-15T10:30:00.1234567890123456789Z", "2025-01-15T10:30:00.12345678901234567890Z", "20250115T103000Z",
		"http://", "localhost:8101", "mailto:a@b", "http://user@/x", "http://a@b@c/", "http://::1/", "http://[::1]:80/", "http://[x]/",
		"HTTP://X", "h://h:99999999/", "http://a b/", "http://a/%zz", "http://a:b/", "http://a/\n", "http://h#f", "http://h?q", "//h/x", "1http://h",
		"player:", "Player:P01", "player:\n", "referee:REF01", "league_manager", "league_manager ",
		strings.Repeat("a", 64), aDigest, strings.ToUpper(aDigest),
	} {
		values = append(values, quoted(words))
	}
	for _, n := range []int{40, 41, 50, 51, 112, 113, 114, 128, 129, 200, 201, 300, 301, 500, 501} {
		values = append(values, quoted(strings.Repeat("x", n)), quoted(strings.Repeat("é", n)), quoted("player:"+strings.Repeat("é", n)),
			quoted("http://h/"+strings.Repeat("p", n)))
	}
	return values
}()

func quoted(s string) scalar {
	q, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // our own words are UTF-8
	}
	return scalar(q)
}

// mutations lists trees that differ from v at one place.
func mutations(v tree, p place) []tree {
	_, value := at(v, p)
	_, parent := at(v, p[:len(p)-1])
	made := []tree{without(v, p)}
	for _, s := range strange {
		made = append(made, with(v, p, s))
	}
	switch value := value.(type) {
	case object:
		made = append(made,
			with(v, p, array{value}),
			with(v, p, append(slices.Clone(value), member{"unheard_of", object{{"a", array{scalar("null")}}}})))
		if len(value) > 0 {
			made = append(made, with(v, p, append(slices.Clone(value), value[0])))
		}
	case array:
		made = append(made, with(v, p, append(slices.Clone(value), value...)))
		if len(value) > 0 {
			made = append(made, with(v, p, value[0]))
		}
	case scalar:
		made = append(made, with(v, p, array{value}), with(v, p, object{{"value", value}}), with(v, p, quoted(string(value))))
		if words, err := jsontext.AppendUnquote(nil, string(value)); err == nil {
			s := string(words)
			made = append(made, with(v, p, quoted(strings.ToUpper(s))), with(v, p, quoted(strings.ToLower(s))),
				with(v, p, quoted(s+" ")), with(v, p, quoted(s[:len(s)/2])), with(v, p, quoted(s+s)))
		}
	}
	if o, ok := parent.(object); ok {
		made = append(made,
			with(v, p[:len(p)-1], o.drop(o[p[len(p)-1]].name).set(strings.ToUpper(o[p[len(p)-1]].name), value)),
			with(v, p[:len(p)-1], append(slices.Clone(o), o[p[len(p)-1]])))
	}
	return made
}

// mutant draws a message that differs from v at one to four places.
func mutant(t *rapid.T, v tree) tree {
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		all := places(v)
		if len(all) == 0 {
			break
		}
		v = rapid.SampledFrom(mutations(v, rapid.SampledFrom(all).Draw(t, "place"))).Draw(t, "mutation")
	}
	return v
}

// originals are the messages to mutate, by type: what the documents show, and
// what we may send.
func originals(t require.TestingT) map[string][]tree {
	made := map[string][]tree{}
	for _, g := range judgedGoldens(t) {
		made[g.Type] = append(made[g.Type], parse(t, g.message))
	}
	for messageType := range samples() {
		made[messageType] = append(made[messageType], parse(t, sampleJSON(t, messageType)))
	}
	return made
}

// forEachMutant judges every sample changed at every place in every way, and
// mutants of goldens and samples that are changed at several places.
func forEachMutant(t *testing.T, types []string, judge func(t require.TestingT, messageType string, v tree)) {
	every := originals(t)
	for _, messageType := range types {
		t.Run(messageType, func(t *testing.T) {
			t.Parallel()
			sample := parse(t, sampleJSON(t, messageType))
			for _, p := range places(sample) {
				for _, v := range mutations(sample, p) {
					judge(t, messageType, v)
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				judge(t, messageType, mutant(t, rapid.SampledFrom(every[messageType]).Draw(t, "original")))
			})
		})
	}
}

// requestTypes are the message types that are judged on their way in.
func requestTypes() []string {
	return slices.DeleteFunc(protocol.MessageTypes(), func(messageType string) bool {
		return !protocol.IsRequest(newMessage[messageType]())
	})
}

// irregular tells what a schema cannot see: a name that stands twice in an
// object, and an integer that is spelled as a fraction (1.0, 1e2).
func irregular(v tree) bool {
	switch v := v.(type) {
	case object:
		seen := map[string]bool{}
		for _, m := range v {
			if seen[m.name] || irregular(m.value) {
				return true
			}
			seen[m.name] = true
		}
	case array:
		return slices.ContainsFunc(v, irregular)
	case scalar:
		return v[0] != '"' && strings.ContainsAny(string(v), ".eE") && v[0] != 't' && v[0] != 'f'
	}
	return false
}

func TestMutationsChangeSomething(t *testing.T) {
	v := parse(t, sampleJSON(t, protocol.TypeGameInvitation))
	require.Len(t, requestTypes(), 14)
	different := 0
	for _, p := range places(v) {
		for _, m := range mutations(v, p) {
			if string(text(m)) != string(text(v)) {
				different++
			}
		}
	}
	assert.Greater(t, different, 1000)
	assert.True(t, irregular(object{{"a", array{scalar("1.0")}}}))
	assert.True(t, irregular(object{{"a", scalar("1")}, {"a", scalar("1")}}))
	assert.False(t, irregular(object{{"a", scalar("true")}, {"b", scalar(`"1.0"`)}}))
}
