package protocol_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
)

// Values that may stand in place of any other, and in place of those of one
// kind.
var (
	anywhere  = scalars("null", "true", `""`, `"x"`, "5", "{}", "[]")
	asNumber  = scalars("0", "-0", "1", "-1", "1.5", "1.0", "1e2", "0.000001", "2147483647", "2147483648", "9223372036854775808", tooLarge)
	asObject  = scalars(`{"P01":null}`, `{"P01":""}`, `{"P01":-1}`, `{"P01":"`+aDigest+`"}`, "[null]", "[{}]", `[""]`)
	asLiteral = scalars("false")

	// asText contains control characters, or has the maximum length of a field, or one
	// character more.
	asText = func() (values []tree) {
		values = words("a\x1bb", "a\nb", "\u202eab", "a\u2028b", "a\u009fb")
		for _, n := range []int{50, 128, 200, 300, 500} {
			values = append(values, quoted(strings.Repeat("é", n)), quoted(strings.Repeat("é", n)+"x"))
		}
		return values
	}()

	asTime = words("2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00+00:00", "2025-01-15T10:30:00.123456Z", "2025-01-15T10:30:00.Z",
		"2025-01-15T10:30:00", "2025-01-15T10:30:00z", "2025-01-15T1:30:00Z", "2025-02-29T10:30:00Z", "2024-02-29T10:30:00Z",
		"2016-12-31T23:59:60Z", "2025-01-15T24:00:00Z", "2025-01-15 10:30:00Z", "2025-01-15T10:30:00,5Z", "2025-01-15T10:30:00-00:00",
		"2025-01-15T10:30:00.1234567890123456789Z", "2025-01-15T10:30:00.12345678901234567890Z", "20250115T103000Z")
	asURL = words("http://", "localhost:8101", "mailto:a@b", "http://user@/x", "http://a@b@c/", "http://::1/", "http://[::1]:80/",
		"http://[x]/", "HTTP://X", "h://h:99999999/", "http://a b/", "http://a/%zz", "http://a:b/", "http://a/\n", "http://h#f",
		"http://h?q", "//h/x", "1http://h", "http://h/"+strings.Repeat("p", 291), "http://h/"+strings.Repeat("p", 292))
	asSender = words("player:", "Player:P01", "player:\n", "referee:REF01", "league_manager", "league_manager ",
		"player:"+strings.Repeat("é", 113), "player:"+strings.Repeat("é", 114))
	asVersion = words("2.1.0", "2.1", "01.2.3", "1.2.3-rc.1+5", "league.v1")
	asCode    = words("E001", "e001", "E1", "E0011")
	asDigest  = words(strings.Repeat("a", 64), strings.ToUpper(aDigest), aDigest+"0", strings.Repeat("g", 64))
)

func scalars(literals ...string) (values []tree) {
	for _, l := range literals {
		value := tree(scalar(l))
		if l[0] == '{' || l[0] == '[' {
			value = parse(panicking{}, []byte(l))
		}
		values = append(values, value)
	}
	return values
}

func words(texts ...string) (values []tree) {
	for _, s := range texts {
		values = append(values, quoted(s))
	}
	return values
}

// formed returns replacements for a string of the same form.
func formed(word string) []tree {
	switch {
	case len(word) == 64:
		return asDigest
	case strings.Contains(word, "://"):
		return asURL
	case strings.HasSuffix(word, "Z"):
		return asTime
	case strings.Contains(word, ":"), word == protocol.ManagerSender:
		return asSender
	case strings.Contains(word, "."):
		return asVersion
	case strings.HasPrefix(word, "E0"):
		return asCode
	}
	return nil
}

// panicking is a TestingT for values that are created before any test runs.
type panicking struct{}

func (panicking) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panicking) FailNow()                          { panic("failed") }

func quoted(s string) scalar {
	q, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // our own words are UTF-8
	}
	return scalar(q)
}

// mutations lists ways to make a tree that differs from v at one position.
func mutations(v tree, p place) []func() tree {
	_, value := at(v, p)
	_, parent := at(v, p[:len(p)-1])
	ways := []func() tree{func() tree { return without(v, p) }}
	instead := func(others ...tree) {
		for _, other := range others {
			ways = append(ways, func() tree { return with(v, p, other) })
		}
	}
	instead(anywhere...)
	switch value := value.(type) {
	case object:
		instead(asObject...)
		instead(array{value}, append(slices.Clone(value), member{"unheard_of", object{{"a", array{scalar("null")}}}}))
		if len(value) > 0 {
			instead(append(slices.Clone(value), value[0]))
		}
	case array:
		instead(asObject...)
		instead(append(slices.Clone(value), value...))
		if len(value) > 0 {
			instead(value[0])
		}
	case scalar:
		instead(array{value}, object{{"value", value}}, quoted(string(value)))
		if plain, err := jsontext.AppendUnquote(nil, string(value)); err == nil {
			s, half := string(plain), []rune(string(plain))
			instead(asText...)
			instead(formed(s)...)
			instead(quoted(strings.ToUpper(s)), quoted(strings.ToLower(s)), quoted(s+" "), quoted(s+s), quoted(string(half[:len(half)/2])))
		} else {
			instead(asNumber...)
			instead(asLiteral...)
		}
	}
	if o, ok := parent.(object); ok {
		name := o[p[len(p)-1]].name
		ways = append(ways,
			func() tree { return with(v, p[:len(p)-1], o.drop(name).set(strings.ToUpper(name), value)) },
			func() tree { return with(v, p[:len(p)-1], append(slices.Clone(o), member{name, value})) })
	}
	return ways
}

// mutant draws a message that differs from v at one to four positions.
func mutant(t *rapid.T, v tree) tree {
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		all := places(v)
		if len(all) == 0 {
			break
		}
		ways := mutations(v, all[rapid.IntRange(0, len(all)-1).Draw(t, "place")])
		v = ways[rapid.IntRange(0, len(ways)-1).Draw(t, "mutation")]()
	}
	return v
}

// originals returns the messages to mutate, by type: the examples of the documents, and
// the samples.
func originals(t require.TestingT) map[string][]tree {
	made := map[string][]tree{}
	for _, g := range strictGoldens(t) {
		made[g.Type] = append(made[g.Type], parse(t, g.message))
	}
	for messageType := range samples() {
		made[messageType] = append(made[messageType], parse(t, sampleJSON(t, messageType)))
	}
	return made
}

// A suspect is a message that may be broken, with the result of Examine.
type suspect struct {
	messageType string
	tree        tree
	raw         []byte
	broken      []protocol.FieldError
	decoded     any
	unreadable  error // when it cannot be decoded
}

// TestValidatorAgreesWithSchemas compares what Examine, the schemas, the check of
// values and the handlers say of the same messages: every sample with one change at
// every position, and goldens and samples with several changes.
func TestValidatorAgreesWithSchemas(t *testing.T) {
	every := originals(t)
	schemas := map[string]*jsonschema.Schema{}
	for _, messageType := range protocol.MessageTypes() {
		schemas[messageType] = compiled(t, messageType)
	}
	mux := newMux()
	admitted := serveAll(mux)
	judge := func(t require.TestingT, messageType string, v tree) {
		s := &suspect{messageType: messageType, tree: v, raw: text(v), decoded: newMessage[messageType]()}
		s.broken, s.unreadable = protocol.Examine(messageType, s.raw), json.Unmarshal(s.raw, s.decoded)
		s.schemaRejectsWhatExamineFinds(t, schemas[messageType])
		s.isBrokenWhenItCannotBeRead(t)
		if protocol.IsRequest(messageType) {
			s.valueCheckAgrees(t)
			s.isAdmittedUnlessBroken(t, mux)
		}
	}
	t.Run("types", func(t *testing.T) {
		for _, messageType := range protocol.MessageTypes() {
			t.Run(messageType, func(t *testing.T) {
				t.Parallel()
				sample := parse(t, sampleJSON(t, messageType))
				for _, p := range telling(messageType, sample) {
					for _, mutate := range mutations(sample, p) {
						judge(t, messageType, mutate())
					}
				}
				rapid.Check(t, func(t *rapid.T) {
					all := every[messageType]
					judge(t, messageType, mutant(t, all[rapid.IntRange(0, len(all)-1).Draw(t, "original")]))
				})
			})
		}
	})
	assert.Positive(t, admitted.Load(), "no mutant was let in: little was compared")
}

// telling returns the positions of a sample without those that repeat others: the
// envelope is the same in all messages, and the fields are the same in all
// acknowledgements, in all rows of a table and on both sides of a match.
func telling(messageType string, sample tree) []place {
	if _, bare := newMessage[messageType]().(*protocol.Ack); bare && messageType != protocol.TypeMatchResultAck {
		return nil
	}
	return slices.DeleteFunc(places(sample), func(p place) bool {
		path, _ := at(sample, p)
		return p[0] < envelopeMembers && messageType != protocol.TypeGameInvitation ||
			strings.Contains(path, "[1]") || strings.HasPrefix(path, "player_B.")
	})
}

const envelopeMembers = 6 // they come first

// requestTypes are the message types that are validated when they arrive.
func requestTypes() []string {
	return slices.DeleteFunc(protocol.MessageTypes(), func(messageType string) bool {
		return !protocol.IsRequest(messageType)
	})
}

// irregular tells whether a message has a defect that a schema cannot detect: a repeated
// name in an object, or an integer that is written as a fraction (1.0, 1e2).
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
			if string(text(m())) != string(text(v)) {
				different++
			}
		}
	}
	assert.Greater(t, different, 300)
	assert.True(t, irregular(object{{"a", array{scalar("1.0")}}}))
	assert.True(t, irregular(object{{"a", scalar("1")}, {"a", scalar("1")}}))
	assert.False(t, irregular(object{{"a", scalar("true")}, {"b", scalar(`"1.0"`)}}))
}
