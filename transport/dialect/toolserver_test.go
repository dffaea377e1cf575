package dialect

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serverWith is a server without sessions that lists tools.
func serverWith(t *testing.T, tools string) (s ToolServer, any bool) {
	t.Helper()
	fitting, cursor := ReadTools([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tools + `],"nextCursor":"2"}}`))
	assert.Equal(t, "2", cursor)
	return s, s.SetTools(fitting)
}

func TestNoTwoMethodsShareANameOfATool(t *testing.T) {
	methodOf := map[string]string{}
	for i := range methods {
		for _, name := range methods[i].namesOfTool() {
			if other, ok := methodOf[name]; ok {
				assert.Equal(t, other, methods[i].Name, name)
			}
			methodOf[name] = methods[i].Name
		}
	}
}

func TestToolsAreMatchedByName(t *testing.T) {
	for _, tt := range []struct{ name, tools, want string }{
		{"the specification's name", `handle_game_invitation`, "handle_game_invitation=handle_game_invitation"},
		{"a third-party name", `receive_game_invitation`, "handle_game_invitation=receive_game_invitation"},
		{"a custom name", `make_parity_choice`, "choose_parity=make_parity_choice"},
		{"camel case", `handleGameInvitation`, "handle_game_invitation=handleGameInvitation"},
		{"hyphens", `choose-parity`, "choose_parity=choose-parity"},
		{"the message type", `GAME_OVER`, "notify_match_result=GAME_OVER"},
		{"a handler", `onMatchResult`, "notify_match_result=onMatchResult"},
		{"a prefix twice", `handle_notify_round`, "notify_round=handle_notify_round"},
		{"without its prefix", `move`, "make_move=move"},
		{"another tool", `get_standings`, ""},
		{"a part of a name", `game_invitation_history`, ""},
		{"several tools", `ping choose_parity standings`, "choose_parity=choose_parity update_standings=standings"},
		{"two that fit", `receive_game_over notify_match_result_x gameOver`, ""},
		{"two that fit, one exactly", `receive_game_over notify_match_result`, "notify_match_result=notify_match_result"},
		{"the same name twice", `game_over ping game_over`, ""},
		{"a name that is too long", "choose" + strings.Repeat("_", maxToolName) + "parity", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var listed []string
			for name := range strings.FieldsSeq(tt.tools) {
				listed = append(listed, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
			}
			s, any := serverWith(t, strings.Join(listed, ","))
			assert.Equal(t, tt.want != "", any)
			assert.Equal(t, tt.want, s.String())
		})
	}
}

func TestArgumentsFollowTheInputSchema(t *testing.T) {
	const message = `{"match_id":"R1M1","deadline":"soon","context":{"round":1}}`
	for _, tt := range []struct{ name, schema, want string }{
		{"no schema", ``, message},
		{"an empty schema", `{}`, message},
		{"no properties", `{"type":"object","properties":{}}`, message},
		{"members", `{"properties":{"match_id":{"type":"string"}},"required":["match_id"]}`, `{"match_id":"R1M1"}`},
		{"a member that the message lacks", `{"properties":{"match_id":{},"stake":{"type":"number"}},"required":["match_id","stake"]}`, ""},
		{"the message as an object", `{"properties":{"message":{"type":"object"}},"required":["message"],"additionalProperties":false}`, `{"message":` + message + `}`},
		{"by reference", `{"properties":{"invitation":{"$ref":"#/$defs/Invitation"}}}`, `{"invitation":` + message + `}`},
		{"beside an optional argument", `{"properties":{"message":{"type":"object"},"debug":{"type":"boolean"}},"required":["message"]}`, `{"message":` + message + `}`},
		{"beside an optional member", `{"properties":{"message":{"type":"object"},"match_id":{}},"required":["message"]}`, `{"message":` + message + `}`},
		{"two objects", `{"properties":{"message":{"type":"object"},"state":{"type":"object"}},"required":["message","state"]}`, ""},
		{"two optional objects", `{"properties":{"message":{"type":"object"},"state":{"type":"object"}}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schema := ""
			if tt.schema != "" {
				schema = `,"inputSchema":` + tt.schema
			}
			s, _ := serverWith(t, `{"name":"choose_parity"`+schema+`}`)
			params, ok := s.Call("choose_parity", jsontext.Value(message))
			require.Equal(t, tt.want != "", ok)
			if ok {
				assert.JSONEq(t, `{"name":"choose_parity","arguments":`+tt.want+`}`, string(params.Append(nil)))
			}
			_, ok = s.Call("make_move", jsontext.Value(message))
			assert.False(t, ok, "it has no tool for another method")
		})
	}
}

func TestServerIsGreeted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		session string
		result  string
		want    bool
	}{
		{"initialize", "s-1", `{"protocolVersion":"2025-06-18","capabilities":{}}`, true},
		{"no revision", "s-1", `{"status":"ok"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := ToolServer{}
			assert.Equal(t, tt.want, s.Greeted(tt.session, []byte(`{"jsonrpc":"2.0","id":1,"result":`+tt.result+`}`)))
		})
	}
}

func TestRequestsHaveTheHeadersOfTheirSession(t *testing.T) {
	const accept = "application/json, text/event-stream"
	s := ToolServer{}
	assert.True(t, s.Greeted("s-1", []byte(`{"result":{"protocolVersion":"2025-06-18"}}`)))
	assert.Equal(t, map[string]string{"Accept": accept, "Mcp-Session-Id": "s-1", "Mcp-Protocol-Version": "2025-06-18"}, s.Header())
	assert.True(t, s.Expired(404))
	assert.False(t, s.Expired(200))

	s = ToolServer{}
	assert.Equal(t, map[string]string{"Accept": accept}, s.Header())
	assert.False(t, s.Expired(404), "it has no session")
}

func TestOtherResponsesListNoTools(t *testing.T) {
	for _, response := range []string{``, `{}`, `[]`, `<html>`, `{"result":{"status":"ok"}}`, `{"result":{"tools":null}}`, `{"error":{"code":-32601}}`} {
		tools, _ := ReadTools([]byte(response))
		assert.Empty(t, tools, response)
	}
}

func TestResultsOfToolsAreRead(t *testing.T) {
	for _, tt := range []struct {
		name, result string
		verdict      Verdict
		want         string // in the response
	}{
		{"structured content", `{"content":[{"type":"text","text":"done"}],"structuredContent":{"parity_choice":"odd"}}`, Understood, `"parity_choice":"odd"`},
		{"a text with JSON", `{"content":[{"type":"text","text":"{\"parity_choice\":\"odd\"}"}]}`, Understood, `"parity_choice":"odd"`},
		{"a later text", `{"content":[{"type":"text","text":"I choose"},{"type":"text","text":"{\"parity_choice\":\"odd\"}"}]}`, Understood, `"parity_choice":"odd"`},
		{"a text in structured content", `{"structuredContent":{"result":"{\"parity_choice\":\"odd\"}"}}`, Understood, `"parity_choice":"odd"`},
		{"empty structured content", `{"content":[{"type":"text","text":"{\"parity_choice\":\"odd\"}"}],"structuredContent":{}}`, Understood, `"parity_choice":"odd"`},
		{"an error", `{"isError":true,"content":[{"type":"text","text":"I have no strategy"}]}`, Rejected, `"message":"I have no strategy"`},
		{"an error of the protocol", `{"isError":true,"content":[{"type":"text","text":"E012 AUTH_TOKEN_INVALID: no such token"}],"structuredContent":{"error_code":"E012"}}`, Refused, `"error_code":"E012"`},
		{"no answer", `{"content":[{"type":"text","text":"odd"}]}`, Rejected, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := MethodOf("choose_parity").ReadReply([]byte("7"), httpOK, []byte(`{"jsonrpc":"2.0","id":3,"result":`+tt.result+`}`))
			assert.Equal(t, tt.verdict, r.Verdict)
			assert.Contains(t, string(r.Body), tt.want)
			assert.Contains(t, string(r.Body), `"id":7`)
		})
	}
}

func TestResponseIsFoundInAStreamOfEvents(t *testing.T) {
	const response = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, tt := range []struct{ name, body, want string }{
		{"an event", "event: message\ndata: " + response + "\n\n", response},
		{"without its end", "data:" + response, response},
		{"other line ends", "id: 1\r\ndata: " + response + "\r\n\r\n", response},
		{"after a notification", "data: {\"method\":\"notifications/message\"}\n\ndata: " + response + "\n\n", response},
		{"after a comment and an empty event", ": hello\n\nid: 1\ndata:\nretry: 9\n\ndata: " + response + "\n\n", response},
		{"in two lines", "data: {\"jsonrpc\":\"2.0\",\ndata: \"error\":{}}\n\n", "{\"jsonrpc\":\"2.0\",\n \"error\":{}}"},
		{"no event", response, response},
		{"no response", "data: {}\n\n", "data: {}\n\n"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, string(FromEvents([]byte(tt.body))))
		})
	}
}
