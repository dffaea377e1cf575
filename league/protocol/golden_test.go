package protocol_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

const goldenFolder = "../../testdata/messages"

// A golden is one example of the specification's documents.
type golden struct {
	File   string `json:"file"`
	Source string `json:"source"`
	Kind   string `json:"kind"` // message, request, response, error or registry
	Type   string `json:"type"` // message type; "" when there is none
	Mark   string `json:"mark"` // whole, envelope-omitted or round-trip

	raw     jsontext.Value // the file
	message jsontext.Value // the message inside
}

// goldens reads the manifest and every file it lists.
func goldens(t require.TestingT) []golden {
	manifest, err := os.ReadFile(filepath.Join(goldenFolder, "manifest.json"))
	require.NoError(t, err)
	var all []golden
	require.NoError(t, json.Unmarshal(manifest, &all))
	for i := range all {
		g := &all[i]
		g.raw, err = os.ReadFile(filepath.Join(goldenFolder, g.File))
		require.NoError(t, err)
		g.message = g.find(t)
	}
	return all
}

// find is the message inside the golden's file.
func (g *golden) find(t require.TestingT) jsontext.Value {
	var rpc struct {
		Params jsontext.Value `json:"params"`
		Result jsontext.Value `json:"result"`
		Error  struct {
			Data jsontext.Value `json:"data"`
		} `json:"error"`
	}
	switch g.Kind {
	case "message", "registry":
		return g.raw
	case "request", "response", "error":
		require.NoError(t, json.Unmarshal(g.raw, &rpc), g.File)
	default:
		require.Fail(t, "unknown kind", "%s: %s", g.File, g.Kind)
	}
	return map[string]jsontext.Value{"request": rpc.Params, "response": rpc.Result, "error": rpc.Error.Data}[g.Kind]
}

// filled returns the golden's message, completed by the envelope members that its
// document leaves out.
func (g *golden) filled(t require.TestingT) jsontext.Value {
	o := parse(t, g.message).(object)
	for _, m := range []member{
		{"protocol", scalar(`"league.v2"`)},
		{"sender", scalar(`"league_manager"`)},
		{"timestamp", scalar(`"2025-01-15T10:30:00Z"`)},
		{"conversation_id", scalar(`"conv-golden"`)},
	} {
		if o.get(m.name) == nil {
			o = append(o, m)
		}
	}
	return text(o)
}

// strictGoldens returns the goldens that a strict receiver accepts, completed where their
// document leaves out the envelope.
func strictGoldens(t require.TestingT) []golden {
	var all []golden
	for _, g := range goldens(t) {
		switch g.Mark {
		case "whole":
			all = append(all, g)
		case "envelope-omitted":
			g.message = g.filled(t)
			all = append(all, g)
		}
	}
	return all
}

// newMessage makes a value of the Go type of every message type.
var newMessage = map[string]func() any{
	protocol.TypeRefereeRegisterRequest:  func() any { return new(protocol.RefereeRegisterRequest) },
	protocol.TypeRefereeRegisterResponse: func() any { return new(protocol.RefereeRegisterResponse) },
	protocol.TypeLeagueRegisterRequest:   func() any { return new(protocol.LeagueRegisterRequest) },
	protocol.TypeLeagueRegisterResponse:  func() any { return new(protocol.LeagueRegisterResponse) },
	protocol.TypeRoundAnnouncement:       func() any { return new(protocol.RoundAnnouncement) },
	protocol.TypeRoundCompleted:          func() any { return new(protocol.RoundCompleted) },
	protocol.TypeLeagueCompleted:         func() any { return new(protocol.LeagueCompleted) },
	protocol.TypeGameInvitation:          func() any { return new(protocol.GameInvitation) },
	protocol.TypeGameJoinAck:             func() any { return new(protocol.GameJoinAck) },
	protocol.TypeChooseParityCall:        func() any { return new(protocol.ChooseParityCall) },
	protocol.TypeChooseParityResponse:    func() any { return new(protocol.ChooseParityResponse) },
	protocol.TypeGameOver:                func() any { return new(protocol.GameOver) },
	protocol.TypeMatchResultReport:       func() any { return new(protocol.MatchResultReport) },
	protocol.TypeStandingsUpdate:         func() any { return new(protocol.StandingsUpdate) },
	protocol.TypeLeagueError:             func() any { return new(protocol.LeagueError) },
	protocol.TypeGameError:               func() any { return new(protocol.GameError) },
	protocol.TypeLeagueQuery:             func() any { return new(protocol.LeagueQuery) },
	protocol.TypeLeagueQueryResponse:     func() any { return new(protocol.LeagueQueryResponse) },
	protocol.TypeGameMoveCall:            func() any { return new(protocol.GameMoveCall) },
	protocol.TypeGameMoveResponse:        func() any { return new(protocol.GameMoveResponse) },
	protocol.TypeMatchAssignment:         func() any { return new(protocol.MatchAssignment) },
	protocol.TypeMatchAssignmentAck:      func() any { return new(protocol.MatchAssignmentAck) },
	protocol.TypeRoundAnnouncementAck:    func() any { return new(protocol.Ack) },
	protocol.TypeStandingsUpdateAck:      func() any { return new(protocol.Ack) },
	protocol.TypeRoundCompletedAck:       func() any { return new(protocol.Ack) },
	protocol.TypeLeagueCompletedAck:      func() any { return new(protocol.Ack) },
	protocol.TypeGameOverAck:             func() any { return new(protocol.Ack) },
	protocol.TypeGameErrorAck:            func() any { return new(protocol.Ack) },
	protocol.TypeMatchResultAck:          func() any { return new(protocol.Ack) },
}

func TestEveryMessageTypeHasAGoType(t *testing.T) {
	for _, messageType := range protocol.MessageTypes() {
		assert.Contains(t, newMessage, messageType)
	}
	assert.Len(t, protocol.MessageTypes(), len(newMessage))
}

func TestManifestListsEveryFile(t *testing.T) {
	var listed []string
	for _, g := range goldens(t) {
		listed = append(listed, g.File)
		assert.Contains(t, []string{"whole", "envelope-omitted", "round-trip"}, g.Mark, g.File)
		if g.Type != "" {
			assert.Contains(t, protocol.MessageTypes(), g.Type, g.File)
		}
	}
	entries, err := filepath.Glob(filepath.Join(goldenFolder, "*.json"))
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		if name := filepath.Base(e); name != "manifest.json" {
			found = append(found, name)
		}
	}
	assert.ElementsMatch(t, found, listed)
}

// mayBeAdded lists the members that the encoding of a golden may have beyond the golden:
// members that this program always writes, with the value that means absent.
var mayBeAdded = []struct {
	messageType string
	path        *regexp.Regexp
	value       scalar
}{
	{protocol.TypeLeagueRegisterResponse, regexp.MustCompile(`^reason$`), "null"},
	{protocol.TypeRefereeRegisterResponse, regexp.MustCompile(`^referee_id$`), "null"},
	{protocol.TypeLeagueCompleted, regexp.MustCompile(`^final_standings\[\d+\]\.(played|wins|draws|losses)$`), "0"},
}

func TestGoldensSurviveDecodingAndEncoding(t *testing.T) {
	used := make([]bool, len(mayBeAdded))
	for _, g := range goldens(t) {
		if g.Type == "" {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			message := newMessage[g.Type]()
			require.NoError(t, json.Unmarshal(g.message, message))
			encoded, err := json.Marshal(message)
			require.NoError(t, err)

			lost, added := compare("", parse(t, g.message), parse(t, encoded))
			assert.Empty(t, lost, "lost, or changed")
			for path, value := range added {
				allowed := slices.IndexFunc(mayBeAdded, func(a struct {
					messageType string
					path        *regexp.Regexp
					value       scalar
				}) bool {
					return a.messageType == g.Type && a.path.MatchString(path) && a.value == value
				})
				if assert.GreaterOrEqual(t, allowed, 0, "invented: %s = %s", path, text(value)) {
					used[allowed] = true
				}
			}
		})
	}
	for i, a := range mayBeAdded {
		assert.True(t, used[i], "nothing adds %s to %s any more: take it from the list", a.path, a.messageType)
	}
}

// compare lists the paths that are missing or different in the copy, and those that
// only the copy has.
func compare(path string, original, copied tree) (lost []string, added map[string]tree) {
	added = map[string]tree{}
	inner := func(path string, a, b tree) {
		l, more := compare(path, a, b)
		lost = append(lost, l...)
		for p, v := range more {
			added[p] = v
		}
	}
	switch a := original.(type) {
	case object:
		b, ok := copied.(object)
		if !ok {
			return []string{path}, added
		}
		for _, m := range a {
			if v := b.get(m.name); v != nil {
				inner(join(path, m.name), m.value, v)
			} else {
				lost = append(lost, join(path, m.name))
			}
		}
		for _, m := range b {
			if a.get(m.name) == nil {
				added[join(path, m.name)] = m.value
			}
		}
	case array:
		b, ok := copied.(array)
		if !ok || len(a) != len(b) {
			return []string{path}, added
		}
		for i := range a {
			p, _ := at(a, place{i})
			inner(path+p, a[i], b[i])
		}
	default:
		if original != copied {
			return []string{path}, added
		}
	}
	return lost, added
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func TestCompareSeesEveryDifference(t *testing.T) {
	original := parse(t, []byte(`{"a":[{"b":1},2],"c":{"d":null}}`))
	tests := []struct {
		name, copied string
		lost         []string
		added        map[string]tree
	}{
		{"nothing", `{"c":{"d":null},"a":[{"b":1},2]}`, nil, map[string]tree{}},
		{"a changed value", `{"a":[{"b":2},2],"c":{"d":null}}`, []string{"a[0].b"}, map[string]tree{}},
		{"a lost null", `{"a":[{"b":1},2],"c":{}}`, []string{"c.d"}, map[string]tree{}},
		{"a shorter array", `{"a":[{"b":1}],"c":{"d":null}}`, []string{"a"}, map[string]tree{}},
		{"another order", `{"a":[2,{"b":1}],"c":{"d":null}}`, []string{"a[0]", "a[1]"}, map[string]tree{}},
		{"an object gone", `{"a":[{"b":1},2],"c":5}`, []string{"c"}, map[string]tree{}},
		{"something new", `{"a":[{"b":1,"x":0},2],"c":{"d":null}}`, nil, map[string]tree{"a[0].x": scalar("0")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lost, added := compare("", original, parse(t, []byte(test.copied)))
			assert.Equal(t, test.lost, lost)
			assert.Equal(t, test.added, added)
		})
	}
}

func TestWholeGoldensHaveNoBrokenField(t *testing.T) {
	for _, g := range strictGoldens(t) {
		t.Run(g.File, func(t *testing.T) {
			assert.Empty(t, protocol.Examine(g.Type, g.message))
		})
	}
}

func TestGoldensWithoutEnvelopeLackNothingElse(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Mark != "envelope-omitted" {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			broken := protocol.Examine(g.Type, g.message)
			require.NotEmpty(t, broken, "nothing is omitted: mark it whole")
			for _, b := range broken {
				assert.Contains(t, []string{"protocol", "sender", "timestamp", "conversation_id"}, b.Field)
				assert.Equal(t, "required", b.Rule)
			}
		})
	}
}

// TestErrorsOf004ArePlainJSON covers the examples of 004 whose error is not a
// LEAGUE_ERROR, and the registry of games. Decoding and encoding do not change them.
func TestErrorsOf004ArePlainJSON(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Type != "" {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			if g.Kind == "registry" {
				assert.IsType(t, object{}, parse(t, g.raw))
				return
			}
			require.Equal(t, "error", g.Kind)
			var answer struct {
				JSONRPC string `json:"jsonrpc"`
				Error   struct {
					Code    int            `json:"code"`
					Message string         `json:"message"`
					Data    map[string]any `json:"data"`
				} `json:"error"`
				ID string `json:"id"`
			}
			require.NoError(t, json.Unmarshal(g.raw, &answer))
			encoded, err := json.Marshal(answer)
			require.NoError(t, err)
			lost, added := compare("", parse(t, g.raw), parse(t, encoded))
			assert.Empty(t, lost)
			assert.Empty(t, added)

			e := protocol.AsError(&rpcFailure{answer.Error.Code, answer.Error.Message, g.message})
			assert.Equal(t, answer.Error.Code, e.RPC)
			assert.Equal(t, answer.Error.Message, e.Detail)
			assert.Empty(t, e.Code, "it names no error of the catalogue")
			assert.True(t, e.Remote)
		})
	}
}
