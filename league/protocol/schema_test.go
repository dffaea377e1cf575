package protocol_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

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
	return s
}

// accepts tells whether a schema accepts a message.
func accepts(t require.TestingT, s *jsonschema.Schema, raw []byte) error {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	return s.Validate(instance)
}

func TestSchemasAreDraft2020(t *testing.T) {
	require.True(t, slices.IsSorted(protocol.MessageTypes()))
	for _, messageType := range protocol.MessageTypes() {
		t.Run(messageType, func(t *testing.T) {
			schema, ok := protocol.Schema(messageType)
			require.True(t, ok)
			assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", schema["$schema"])
			assert.Equal(t, messageType, schema["title"])
			assert.Equal(t, 2020, compiled(t, messageType).DraftVersion)
		})
	}
}

func TestUnknownMessageTypeHasNoSchema(t *testing.T) {
	_, ok := protocol.Schema("NO_SUCH_MESSAGE")
	assert.False(t, ok)
	broken := protocol.Examine("NO_SUCH_MESSAGE", []byte(`{}`))
	require.Len(t, broken, 1)
	assert.Equal(t, "message_type", broken[0].Field)
}

func TestSchemasAcceptGoldens(t *testing.T) {
	for _, g := range strictGoldens(t) {
		t.Run(g.File, func(t *testing.T) {
			assert.NoError(t, accepts(t, compiled(t, g.Type), g.message))
		})
	}
}

func TestSchemasAcceptSamples(t *testing.T) {
	for _, messageType := range protocol.MessageTypes() {
		assert.NoError(t, accepts(t, compiled(t, messageType), sampleJSON(t, messageType)), messageType)
	}
}

// A schema rejects exactly what Examine finds a broken field in. A schema does
// not see how JSON is written, so there are two exceptions, in both of which
// Examine is the stricter: a name that stands twice, and an integer written
// with a point or an exponent.
func (s *suspect) schemaRejectsWhatExamineFinds(t require.TestingT, schema *jsonschema.Schema) {
	err := accepts(t, schema, s.raw)
	if err != nil && len(s.broken) == 0 {
		require.Fail(t, "only the schema rejects", "%s\n%v", s.raw, err)
	}
	if err == nil && len(s.broken) > 0 && !irregular(s.tree) {
		require.Fail(t, "only Examine rejects", "%s\n%v", s.raw, s.broken)
	}
}
