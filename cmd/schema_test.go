package cmd_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
	"evenodd/league/protocol"
)

// schemaPrints runs evenodd schema.
func schemaPrints(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, problems bytes.Buffer
	code = cmd.Execute(t.Context(), "test", append([]string{"schema"}, args...), &out, &problems)
	return out.String(), problems.String(), code
}

func TestSchemaOfEachTypeAcceptsItsExample(t *testing.T) {
	for _, messageType := range protocol.MessageTypes() {
		text, _, code := schemaPrints(t, messageType)
		require.Zero(t, code, messageType)
		schema, err := compileSchema(text)
		require.NoError(t, err, messageType)
		example, _, code := schemaPrints(t, "--example", strings.ToLower(messageType))
		require.Zero(t, code, messageType)
		message, err := jsonschema.UnmarshalJSON(strings.NewReader(example))
		require.NoError(t, err, messageType)
		assert.NoError(t, schema.Validate(message), messageType)
	}
}

func TestSchemaTellsMethodMeaningsAndAllowedValues(t *testing.T) {
	text, _, code := schemaPrints(t, "GAME_INVITATION")
	require.Zero(t, code)
	var schema struct {
		Description string  `json:"description"`
		Method      string  `json:"x-method"`
		Result      string  `json:"x-result"`
		Caller      string  `json:"x-caller"`
		Receiver    string  `json:"x-receiver"`
		Timeout     float64 `json:"x-timeout-sec"`
		Properties  map[string]struct {
			Description string
			Enum        []string
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &schema))
	assert.Equal(t, protocol.Invite.About, schema.Description)
	assert.Equal(t, []any{"handle_game_invitation", "GAME_JOIN_ACK", "referee", "player", 5.0},
		[]any{schema.Method, schema.Result, schema.Caller, schema.Receiver, schema.Timeout})
	assert.Equal(t, []string{"PLAYER_A", "PLAYER_B"}, schema.Properties["role_in_match"].Enum)
	assert.Equal(t, "commitment of the referee to its nonce (64 lower-case hexadecimal digits)", schema.Properties["draw_commitment"].Description)
	assert.NotContains(t, text, "](#", "no links in Markdown")
}

func TestSchemaListsAllMethods(t *testing.T) {
	table, _, code := schemaPrints(t, "--methods")
	require.Zero(t, code)
	document, _, code := schemaPrints(t, "--methods", "--format", "json")
	require.Zero(t, code)
	var listed struct {
		Methods []struct {
			Method, Request, Result, Caller, Receiver string
			Timeout                                   float64 `json:"timeout_sec"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(document), &listed))
	require.Len(t, listed.Methods, len(protocol.Methods()))
	for i, m := range protocol.Methods() {
		row := listed.Methods[i]
		assert.Equal(t, []any{m.Name, m.Request, m.Result, m.From, m.To, m.Timeout.Seconds()},
			[]any{row.Method, row.Request, row.Result, row.Caller, row.Receiver, row.Timeout})
		assert.Regexp(t, `\b`+m.Name+`\b.*\b`+m.Result+`\b`, table)
	}
}

func TestSchemaRefusesWrongArguments(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"GAME_INVITATON", `unknown message type "GAME_INVITATON" (did you mean GAME_INVITATION?)`},
		{"GAME_OVER GAME_ERROR", "one message type, or --methods alone"},
		{"--methods GAME_OVER", "one message type, or --methods alone"},
		{"--example", "--example needs a message type"},
		{"--methods --format yaml", `--format "yaml": must be table or json`},
	} {
		_, problem, code := schemaPrints(t, strings.Fields(tt.args)...)
		assert.Equal(t, 2, code, tt.args)
		assert.Contains(t, problem, tt.want, tt.args)
	}
}
