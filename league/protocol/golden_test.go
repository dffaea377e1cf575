package protocol_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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
	File string `json:"file"`
	Kind string `json:"kind"` // message, request, response, error or registry
	Type string `json:"type"` // message type; "" when there is none
	Mark string `json:"mark"` // whole, envelope-omitted or round-trip

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
		rpc := protocol.ParseObject(g.raw)
		inside := map[string]jsontext.Value{"message": g.raw, "registry": g.raw,
			"request": rpc.Raw("params"), "response": rpc.Raw("result"), "error": rpc.Object("error").Raw("data")}
		g.message = inside[g.Kind]
		require.NotNil(t, g.message, g.File)
	}
	return all
}

// strictGoldens returns the goldens that a strict receiver accepts, completed where their
// document leaves out the envelope.
func strictGoldens(t require.TestingT) (all []golden) {
	for _, g := range goldens(t) {
		if g.Mark == "envelope-omitted" {
			message := protocol.ParseObject(g.message)
			for name, value := range map[string]string{"protocol": "league.v2", "sender": "league_manager",
				"timestamp": "2025-01-15T10:30:00Z", "conversation_id": "conv-golden"} {
				message.Add(name, protocol.Quote(value))
			}
			g.message = message.Append(nil)
		}
		if g.Mark != "round-trip" {
			all = append(all, g)
		}
	}
	return all
}

// newMessage makes a value of the Go type of a message type.
func newMessage(messageType string) any {
	return reflect.New(reflect.TypeOf(samples()[messageType]).Elem()).Interface()
}

func TestManifestListsEveryFile(t *testing.T) {
	listed := []string{filepath.Join(goldenFolder, "manifest.json")}
	for _, g := range goldens(t) {
		listed = append(listed, filepath.Join(goldenFolder, g.File))
	}
	found, err := filepath.Glob(filepath.Join(goldenFolder, "*.json"))
	require.NoError(t, err)
	assert.ElementsMatch(t, found, listed)
}

func TestGoldensSurviveDecodingAndEncoding(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Type == "" {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			message := newMessage(g.Type)
			require.NoError(t, json.Unmarshal(g.message, message))
			encoded, err := json.Marshal(message)
			require.NoError(t, err)
			assertContains(t, "", decode(t, g.message), decode(t, encoded))
		})
	}
}

// assertContains expects that the copy has all that the original has.
func assertContains(t *testing.T, path string, original, copied any) {
	t.Helper()
	switch a := original.(type) {
	case map[string]any:
		b, _ := copied.(map[string]any)
		for name, inner := range a {
			if assert.Contains(t, b, name, path) {
				assertContains(t, join(path, name), inner, b[name])
			}
		}
	case []any:
		b, _ := copied.([]any)
		if assert.Len(t, b, len(a), path) {
			for i := range a {
				assertContains(t, path+"["+strconv.Itoa(i)+"]", a[i], b[i])
			}
		}
	default:
		assert.Equal(t, original, copied, path)
	}
}

func TestGoldensHaveNoBrokenField(t *testing.T) {
	for _, g := range strictGoldens(t) {
		t.Run(g.File, func(t *testing.T) {
			assert.Empty(t, protocol.Examine(g.Type, g.message))
			assert.NoError(t, accepts(t, compiled(t, g.Type), g.message), "by its schema")
		})
	}
}

// TestErrorsOf004NameNoError covers the examples of 004 whose error is not a LEAGUE_ERROR.
func TestErrorsOf004NameNoError(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Type != "" || g.Kind == "registry" {
			continue
		}
		failed := protocol.ParseObject(g.raw).Object("error")
		e := protocol.AsError(&rpcFailure{failed.Integer("code"), failed.Text("message"), g.message})
		assert.Equal(t, []any{failed.Integer("code"), failed.Text("message"), protocol.Code(""), true},
			[]any{e.RPC, e.Detail, e.Code, e.Remote}, g.File)
	}
}
