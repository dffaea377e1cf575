package protocol_test

import (
	"bytes"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

func decode(t require.TestingT, raw []byte) (v any) {
	require.NoError(t, json.Unmarshal(raw, &v), "%s", raw)
	return v
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// places returns the paths of all values inside a value, as errors name them.
func places(path string, v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, join(path, name)), places(join(path, name), v[name])...)
		}
	case []any:
		for i := range v {
			at := path + "[" + strconv.Itoa(i) + "]"
			all = append(append(all, at), places(at, v[i])...)
		}
	}
	return all
}

// steps are the names and indexes in a path.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}

// edit returns JSON with another value at a path; "" takes the value away.
func edit(t require.TestingT, raw []byte, path, value string) []byte {
	v := change(t, decode(t, raw), steps(path), value)
	edited, err := json.Marshal(v, json.Deterministic(true))
	require.NoError(t, err)
	return edited
}

func change(t require.TestingT, v any, steps []string, value string) any {
	if len(steps) == 0 {
		return jsontext.Value(value)
	}
	last := len(steps) == 1
	switch v := v.(type) {
	case map[string]any:
		if last && value == "" {
			delete(v, steps[0])
		} else {
			v[steps[0]] = change(t, v[steps[0]], steps[1:], value)
		}
		return v
	case []any:
		i, err := strconv.Atoi(steps[0])
		require.NoError(t, err)
		if last && value == "" {
			return slices.Delete(v, i, i+1)
		}
		v[i] = change(t, v[i], steps[1:], value)
		return v
	}
	require.Fail(t, "no such place", steps)
	return nil
}

// valueAt returns the value at a path.
func valueAt(t require.TestingT, raw []byte, path string) any {
	v := decode(t, raw)
	for _, step := range steps(path) {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(step)
			require.NoError(t, err)
			v = list[i]
		} else {
			v = v.(map[string]any)[step]
		}
	}
	return v
}

func quoted(s string) string { return string(protocol.Quote(s)) }

func quotedAll(texts ...string) (values []string) {
	for _, s := range texts {
		values = append(values, quoted(s))
	}
	return values
}

// Values that may stand in place of any other, and in place of those of one kind.
var (
	anywhere = []string{"", "null", "true", `""`, `"x"`, "5", "{}", "[]"}
	asNumber = []string{"0", "-0", "1", "-1", "1.5", "1.0", "1e2", "0.000001", "2147483647", "2147483648", "9223372036854775808"}
	asObject = []string{`{"P01":null}`, `{"P01":""}`, `{"P01":-1}`, `{"P01":"` + aDigest + `"}`, "[null]", "[{}]", `[""]`}

	// asText contains control characters, or has the maximum length of a field, or one character more.
	asText = func() (values []string) {
		values = quotedAll("a\x1bb", "a\nb", "\u202eab", "a\u2028b", "a\u009fb")
		for _, n := range []int{50, 128, 200, 300, 500} {
			values = append(values, quoted(strings.Repeat("é", n)), quoted(strings.Repeat("é", n)+"x"))
		}
		return values
	}()

	asTime = quotedAll("2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00+00:00", "2025-01-15T10:30:00.123456Z", "2025-01-15T10:30:00.Z",
		"2025-01-15T10:30:00", "2025-01-15T10:30:00z", "2025-01-15T1:30:00Z", "2025-02-29T10:30:00Z", "2024-02-29T10:30:00Z",
		"2016-12-31T23:59:60Z", "2025-01-15T24:00:00Z", "2025-01-15 10:30:00Z", "2025-01-15T10:30:00,5Z", "2025-01-15T10:30:00-00:00",
		"2025-01-15T10:30:00.1234567890123456789Z", "2025-01-15T10:30:00.12345678901234567890Z", "20250115T103000Z")
	asURL = quotedAll("http://", "localhost:8101", "mailto:a@b", "http://user@/x", "http://a@b@c/", "http://::1/", "http://[::1]:80/",
		"http://[x]/", "HTTP://X", "h://h:99999999/", "http://a b/", "http://a/%zz", "http://a:b/", "http://a/\n", "http://h#f",
		"http://h?q", "//h/x", "1http://h", "http://h/"+strings.Repeat("p", 291), "http://h/"+strings.Repeat("p", 292))
	asSender = quotedAll("player:", "Player:P01", "player:\n", "referee:REF01", "league_manager", "league_manager ",
		"player:"+strings.Repeat("é", 113), "player:"+strings.Repeat("é", 114))
	asVersion = quotedAll("2.1.0", "2.1", "01.2.3", "1.2.3-rc.1+5", "league.v1")
	asCode    = quotedAll("E001", "e001", "E1", "E0011")
	asDigest  = quotedAll(strings.Repeat("a", 64), strings.ToUpper(aDigest), aDigest+"0", strings.Repeat("g", 64))
)

// formed returns replacements for a string of the same form.
func formed(word string) []string {
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

// mutations lists values to put in place of one; "" takes it away.
func mutations(value any) []string {
	switch v := value.(type) {
	case string:
		half := []rune(v)
		return slices.Concat(anywhere, asText, formed(v),
			quotedAll(strings.ToUpper(v), strings.ToLower(v), v+" ", v+v, string(half[:len(half)/2])))
	case float64, bool:
		return slices.Concat(anywhere, asNumber, []string{"false"})
	}
	return slices.Concat(anywhere, asObject)
}

// originals returns the messages to mutate, by type: the examples of the documents, and
// the samples.
func originals(t require.TestingT) map[string][][]byte {
	made := map[string][][]byte{}
	for _, g := range strictGoldens(t) {
		made[g.Type] = append(made[g.Type], g.message)
	}
	for messageType := range samples() {
		made[messageType] = append(made[messageType], sampleJSON(t, messageType))
	}
	return made
}

// compiled returns the schema of a message type, compiled by a third-party library.
func compiled(t require.TestingT, messageType string) *jsonschema.Schema {
	schema, ok := protocol.Schema(messageType)
	require.True(t, ok)
	encoded, err := json.Marshal(schema, json.Deterministic(true))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)

	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource(schema["$id"].(string), document))
	s, err := c.Compile(schema["$id"].(string))
	require.NoError(t, err)
	require.Equal(t, 2020, s.DraftVersion)
	return s
}

// accepts tells whether a schema accepts a message.
func accepts(t require.TestingT, s *jsonschema.Schema, raw []byte) error {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	return s.Validate(instance)
}

// TestValidatorAgreesWithSchemas compares what Examine, the schemas and the handlers say of the
// same messages: every sample with one change at every place, and goldens and samples with several
// changes.
func TestValidatorAgreesWithSchemas(t *testing.T) {
	every := originals(t)
	mux, admitted := serveAll()
	t.Run("types", func(t *testing.T) {
		for _, messageType := range protocol.MessageTypes() {
			t.Run(messageType, func(t *testing.T) {
				t.Parallel()
				schema := compiled(t, messageType)
				judge := func(t require.TestingT, raw []byte) {
					broken := protocol.Examine(messageType, raw)
					agreesWithSchema(t, schema, raw, broken)
					if json.Unmarshal(raw, newMessage(messageType)) != nil {
						require.NotEmpty(t, broken, "%s cannot be read", raw)
					}
					if protocol.IsRequest(messageType) {
						isAdmittedUnlessBroken(t, mux, messageType, raw, broken)
					}
				}
				sample := sampleJSON(t, messageType)
				for _, path := range telling(messageType, places("", decode(t, sample))) {
					for _, value := range mutations(valueAt(t, sample, path)) {
						judge(t, edit(t, sample, path, value))
					}
				}
				rapid.Check(t, func(t *rapid.T) {
					raw := rapid.SampledFrom(every[messageType]).Draw(t, "original")
					for range rapid.IntRange(1, 4).Draw(t, "changes") {
						if all := places("", decode(t, raw)); len(all) > 0 {
							path := rapid.SampledFrom(all).Draw(t, "place")
							raw = edit(t, raw, path, rapid.SampledFrom(mutations(valueAt(t, raw, path))).Draw(t, "value"))
						}
					}
					judge(t, raw)
				})
			})
		}
	})
	assert.Positive(t, admitted.Load(), "no mutant was let in: little was compared")
}

// fraction matches an integer that is written as a fraction: only Examine sees how JSON is written.
var fraction = regexp.MustCompile(`[:\[,](1\.0|1e2)[,}\]]`)

// A schema rejects exactly the messages in which Examine finds a broken field.
func agreesWithSchema(t require.TestingT, schema *jsonschema.Schema, raw []byte, broken []protocol.FieldError) {
	switch err := accepts(t, schema, raw); {
	case err != nil && len(broken) == 0:
		require.Fail(t, "only the schema rejects", "%s\n%v", raw, err)
	case err == nil && len(broken) > 0 && !fraction.Match(raw):
		require.Fail(t, "only Examine rejects", "%s\n%v", raw, broken)
	}
}

// A method lets in exactly the requests in which Examine finds nothing. The end of a league and a
// report need only their envelope.
func isAdmittedUnlessBroken(t require.TestingT, mux *fakeMux, messageType string, raw []byte, broken []protocol.FieldError) {
	if o := protocol.ParseObject(raw); !o.Has("timestamp") && !o.Has("conversation_id") {
		return // the old dialect is completed
	}
	if messageType == protocol.TypeLeagueCompleted || messageType == protocol.TypeMatchResultReport {
		broken = slices.DeleteFunc(slices.Clone(broken), func(f protocol.FieldError) bool {
			return !slices.Contains(envelopeMembers, f.Field)
		})
	}
	_, err := mux.ask(t, messageType, raw)
	require.Equal(t, len(broken) > 0, err != nil, "%s\n%v\n%v", raw, broken, err)
}

var envelopeMembers = []string{"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token"}

// telling returns the places of a sample without those that repeat others: the envelope is the same
// in all messages, and the fields are the same in all acknowledgements, in all rows of a table and on
// both sides of a match.
func telling(messageType string, all []string) []string {
	if _, bare := samples()[messageType].(*protocol.Ack); bare && messageType != protocol.ReportMatchResult.Result {
		return nil
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return slices.Contains(envelopeMembers, path) && messageType != protocol.TypeGameInvitation ||
			strings.Contains(path, "[1]") || strings.HasPrefix(path, "player_B.")
	})
}

func TestUnknownMessageTypeHasNoSchema(t *testing.T) {
	_, ok := protocol.Schema("NO_SUCH_MESSAGE")
	assert.False(t, ok)
	broken := protocol.Examine("NO_SUCH_MESSAGE", []byte(`{}`))
	require.Len(t, broken, 1)
	assert.Equal(t, "message_type", broken[0].Field)
}

// seedMessages adds every example of the documents, and one message of each type in our
// form, to the methods that accept them.
func seedMessages(f *testing.F, add func(method int, message []byte), of func(endpoint) string) {
	f.Helper()
	examples := originals(f)
	for i, e := range endpoints() {
		for _, v := range examples[of(e)] {
			add(i, v)
		}
		add(i, []byte(`{"auth_token":"tok-p01-abc"}`))
	}
}

// FuzzRequest expects of any request that nothing panics, that a handler accepts what
// Examine accepts, and that an error is bounded and contains no token of the request.
func FuzzRequest(f *testing.F) {
	seedMessages(f, func(method int, message []byte) { f.Add(uint8(method), message) }, func(e endpoint) string { return e.request })
	all := endpoints()
	mux, _ := serveAll()
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		if len(raw) > 64<<10 {
			return // a request has 10 KB, and a MB from the manager
		}
		e := all[int(which)%len(all)]
		value, err := mux.routes[e.name].decode(raw)
		if err == nil {
			_, err = mux.routes[e.name].handle(context.Background(), "", value)
		}
		if e.request != "" {
			broken := protocol.Examine(e.request, raw)
			if len(broken) == 0 {
				require.NoError(t, err)
			}
		}
		if err == nil {
			return
		}
		var fault *protocol.Error
		require.ErrorAs(t, err, &fault)
		_, message, data := fault.RPCError()
		told, encoding := json.Marshal(data)
		require.NoError(t, encoding)
		require.Less(t, len(told), 32<<10, "an error is not much larger than a request may be")
		if token := tokenIn(raw); token != "" {
			require.NotContains(t, message+string(told), token)
		}
	})
}

// tokenIn returns the auth_token of a message if the message contains it only once.
func tokenIn(raw []byte) string {
	var shown struct {
		AuthToken jsontext.Value `json:"auth_token"`
	}
	var token string
	if json.Unmarshal(raw, &shown) != nil || json.Unmarshal(shown.AuthToken, &token) != nil {
		return ""
	}
	if len(token) < 8 || strings.Count(string(raw), token) != 1 || strings.Contains(`"protocol league.v2"`, token) {
		return ""
	}
	return token
}

// FuzzReply expects that every result of a call is a message or an error, and that
// nothing panics.
func FuzzReply(f *testing.F) {
	add := func(method int, message []byte) { f.Add(uint8(method), message) }
	seedMessages(f, add, func(e endpoint) string { return e.result })
	for i := range endpoints() {
		add(i, sampleJSON(f, protocol.TypeLeagueError))
		add(i, []byte("null"))
	}
	all := endpoints()
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		if len(raw) > 64<<10 {
			return // no reader accepts more
		}
		e := all[int(which)%len(all)]
		messageType, err := e.call(callerFunc(func(_ context.Context, c sent) (any, error) { return c.Decode(raw) }))
		if err != nil {
			require.NotNil(t, protocol.AsError(err))
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, context.Canceled)
			return
		}
		require.NotContains(t, []string{protocol.TypeLeagueError, protocol.TypeGameError}, messageType)
	})
}
