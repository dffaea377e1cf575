package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestReplyIsTranslated(t *testing.T) {
	for _, c := range []struct {
		name, method, answer string
		status               int
		want                 string // the result, or the error with its code; "" when it is the carrier's to judge
	}{
		{"spec-compliant", "choose_parity", `{"jsonrpc":"2.0","result":{"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"even"},"id":7}`, 200, `{"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"even"}`},
		{"the id first", "choose_parity", `{"jsonrpc": "2.0", "id": 1, "result": {"parity_choice": "odd"}}`, 200, `{"parity_choice":"odd"}`},
		{"a null error", "choose_parity", `{"result":{"choice":"even"},"error":null,"id":1}`, 200, `{"parity_choice":"even"}`},
		{"in result.response", "choose_parity", `{"jsonrpc":"2.0","result":{"response":{"parity_choice":"odd"}},"id":1}`, 200, `{"parity_choice":"odd"}`},
		{"in content", "choose_parity", `{"result":{"content":[{"type":"text","text":"{\"choice\": \"odd\"}"}],"isError":false}}`, 200, `{"parity_choice":"odd"}`},
		{"in content, as JSON-RPC once more", "choose_parity", `{"result":{"content":[{"type":"text","text":"{\"jsonrpc\":\"2.0\",\"result\":{\"choice\":\"odd\"}}"}]}}`, 200, `{"parity_choice":"odd"}`},
		{"in params", "handle_game_invitation", `{"jsonrpc":"2.0","method":"game_join_ack","params":{"message_type":"GAME_JOIN_ACK","accept":true},"id":2}`, 200, `{"message_type":"GAME_JOIN_ACK","accept":true}`},
		{"at the top level", "handle_game_invitation", `{"message_type":"GAME_JOIN_ACK","accept":false}`, 200, `{"message_type":"GAME_JOIN_ACK","accept":false}`},
		{"a string that holds it", "choose_parity", `{"jsonrpc":"2.0","result":"{\"parity_choice\":\"even\"}","id":1}`, 200, `{"parity_choice":"even"}`},
		{"members of its own stay", "choose_parity", `{"result":{"message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"odd","thinkTime":3}}`, 200, `{"message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"odd","thinkTime":3}`},
		{"a type of its own stays", "choose_parity", `{"result":{"message_type":"MY_CHOICE","parity_choice":"odd"}}`, 200, `{"message_type":"MY_CHOICE","parity_choice":"odd"}`},
		{"both names", "choose_parity", `{"jsonrpc":"2.0","result":{"choice":"x","parity_choice":"odd"},"id":7}`, 200, `{"choice":"x","parity_choice":"odd"}`},

		{"a choice in upper case is wrong", "choose_parity", `{"result":{"choice":"EVEN"}}`, 200, `{"parity_choice":"EVEN"}`},
		{"a choice that is a number is wrong", "choose_parity", `{"result":{"choice":2}}`, 200, `{"parity_choice":2}`},
		{"a text is no boolean", "handle_game_invitation", `{"result":{"accept":"true"}}`, 200, `{"accept":"true"}`},
		{"yes is no boolean", "handle_game_invitation", `{"result":{"accepted":"yes"}}`, 200, `{"accepted":"yes","accept":"yes"}`},
		{"accepted", "handle_game_invitation", `{"result":{"accepted":true}}`, 200, `{"accepted":true,"accept":true}`},
		{"a status that accepts", "handle_game_invitation", `{"result":{"status":"Accepted"}}`, 200, `{"status":"Accepted","accept":true}`},
		{"a tool that acknowledges an invitation", "handle_game_invitation", `{"result":{"content":[{"type":"text","text":"{\"status\": \"ACK\"}"}]}}`, 200, `{"status":"ACK","accept":true}`},
		{"an answer that follows later", "handle_game_invitation", `{"result":{"status":"RECEIVED"}}`, 200, `{"status":"RECEIVED"}`},

		{"an acknowledgement", "notify_match_result", `{"jsonrpc":"2.0","result":{"status":"received","result":"WIN"},"id":3}`, 200, `{"status":"received","result":"WIN"}`},
		{"an acknowledgement that is a word", "notify_match_result", `{"jsonrpc":"2.0","result":"ok","id":3}`, 200, `{"status":"ok"}`},
		{"an acknowledgement that is null", "notify_match_result", `{"jsonrpc":"2.0","result":null,"id":3}`, 200, `{}`},

		{"a registration without token", "register_player", `{"result":{"status":"ACCEPTED","player_id":"P1"},"error":null,"id":1}`, 200, `{"status":"ACCEPTED","player_id":"P1","auth_token":"none","league_id":"league_2025_even_odd"}`},
		{"a registration with another status", "register_referee", `{"result":{"status":"registered","referee_id":"7","auth_token":"t","league_id":"l"}}`, 200, `{"status":"ACCEPTED","referee_id":"7","auth_token":"t","league_id":"l"}`},
		{"a registration without status", "register_player", `{"result":{"player_id":"x"}}`, 200, `{"player_id":"x","status":"ACCEPTED","auth_token":"none","league_id":"league_2025_even_odd"}`},
		{"an empty answer", "choose_parity", ``, 204, ""},
		{"a registration that is refused, with data", "register_player", `{"status":"rejected","data":{"player_id":"P01"}}`, 200, `{"status":"REJECTED","data":{"player_id":"P01"}}`},
		{"a registration that is refused", "register_player", `{"result":{"status":"rejected","reason":"full"}}`, 200, `{"status":"REJECTED","reason":"full"}`},
		{"a query that fails", "league_query", `{"result":{"success":false,"error":{"error_code":"E005"}}}`, 200, `{"success":false,"error":{"error_code":"E005"}}`},
		{"a query with data", "league_query", `{"result":{"success":true,"data":{"standings":[]}}}`, 200, `{"success":true,"data":{"standings":[]}}`},

		{"an error that is a text", "notify_match_result", `{"error":"nobody plays"}`, 200, `-32000 nobody plays`},
		{"an error in the result", "notify_match_result", `{"jsonrpc":"2.0","result":{"error":"E015: another match"},"id":1}`, 200, `15 E015: another match E015`},
		{"an error of MCP", "notify_match_result", `{"result":{"isError":true,"content":[{"type":"text","text":"Unknown tool"}]}}`, 200, `-32000 Unknown tool`},
		{"a LEAGUE_ERROR", "choose_parity", `{"result":{"message_type":"LEAGUE_ERROR","error_code":"E012","error_description":"AUTH_TOKEN_INVALID"}}`, 200, `12 AUTH_TOKEN_INVALID E012`},
		{"an error with a code of its own", "choose_parity", `{"error":{"code":"E004","message":"choose"}}`, 200, `4004 choose E004`},
		{"an error with a code in data", "choose_parity", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":{"error_code":"E015"}}}`, 200, `-32000 no E015`},
		{"an error by HTTP", "choose_parity", `{"error":{"error_code":"E011","message":"no token"}}`, 401, `11 no token E011`},
		{"success is false", "notify_match_result", `{"result":{"success":false,"message":"no such match"}}`, 200, `-32000 no such match`},

		{"a notice that is rejected by HTTP", "notify_round", `{"detail":"Not Found"}`, 404, ""},
		{"a question that is rejected by HTTP", "choose_parity", `{"detail":"Not Found"}`, 404, ""},
		{"a bad gateway with an error of the protocol", "choose_parity", `{"error":{"code":4004,"message":"no"}}`, 502, ""},
		{"no JSON", "choose_parity", `even`, 200, ""},
		{"an array", "choose_parity", `[1]`, 200, ""},
		{"a failure by HTTP", "choose_parity", `{"jsonrpc":"2.0","result":{"choice":"even"}}`, 500, ""},
		{"a name twice", "choose_parity", `{"result":{"choice":"even","choice":"odd"}}`, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := MethodOf(c.method)
			r := q.ReadReply([]byte("9"), c.status, []byte(c.answer))
			if c.want == "" {
				assert.Equal(t, Reply{Verdict: r.Verdict, Status: c.status, Body: []byte(c.answer)}, r)
				assert.Contains(t, []Verdict{Rejected, Deferred, Unavailable}, r.Verdict)
				return
			}
			var envelope struct {
				Version string         `json:"jsonrpc"`
				ID      int            `json:"id"`
				Result  jsontext.Value `json:"result"`
				Error   *struct {
					Code    int            `json:"code"`
					Message string         `json:"message"`
					Data    jsontext.Value `json:"data"`
				} `json:"error"`
			}
			require.NoError(t, json.Unmarshal(r.Body, &envelope), "%s", r.Body)
			assert.Equal(t, "2.0", envelope.Version)
			assert.Equal(t, 200, r.Status)
			if e := envelope.Error; e != nil {
				said := strings.TrimSpace(strings.Join([]string{jsonOf(e.Code), e.Message, protocol.ParseObject(e.Data).Text("error_code")}, " "))
				assert.Equal(t, c.want, said)
				return
			}
			assert.JSONEq(t, c.want, string(envelope.Result))
		})
	}
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// An exchange between third-party agents, as captured.
type exchange struct {
	Path     string         `json:"path"`
	Request  jsontext.Value `json:"request"`
	Status   int            `json:"status"`
	Response jsontext.Value `json:"response"`
}

func captured(t *testing.T) map[string][]exchange {
	t.Helper()
	files, err := filepath.Glob("testdata/peers/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]exchange{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var list []exchange
		require.NoError(t, json.Unmarshal(text, &list), file)
		all[file] = list
	}
	return all
}

// The captured answers of players and managers are understood as those of our agents.
func TestCapturedRepliesAreUnderstood(t *testing.T) {
	read := 0
	for file, list := range captured(t) {
		for _, x := range list {
			asked := protocol.ParseObject(x.Request)
			messageType := asked.Object("params").Text("message_type")
			q := byType[messageType]
			if q == nil {
				q = MethodOf(asked.Text("method"))
			}
			if q == nil {
				continue
			}
			read++
			r := q.ReadReply([]byte("7"), x.Status, x.Response)
			require.Equal(t, Understood, r.Verdict, "%s: %s", file, x.Response)
			switch q.Name {
			case protocol.ChooseParity.Name:
				assert.Contains(t, []string{"even", "odd"}, r.Message.Text("parity_choice"), file)
			case protocol.Invite.Name:
				assert.Equal(t, "true", string(r.Message.Get("accept")), file)
			case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
				assert.Equal(t, protocol.StatusAccepted, r.Message.Text("status"), file)
				assert.NotEmpty(t, r.Message.Text("auth_token"), file)
				assert.NotEmpty(t, r.Message.Text("player_id")+r.Message.Text("referee_id"), file)
			}
		}
	}
	assert.Greater(t, read, 50)
}

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
			params, misfit := s.Call("choose_parity", jsontext.Value(message))
			require.Equal(t, tt.want != "", params != nil)
			require.Equal(t, tt.want != "", misfit == "")
			if params != nil {
				assert.JSONEq(t, `{"name":"choose_parity","arguments":`+tt.want+`}`, string(params.Append(nil)))
			}
			params, misfit = s.Call("make_move", jsontext.Value(message))
			assert.Nil(t, params, "it has no tool for another method")
			assert.Empty(t, misfit)
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
	assert.False(t, s.Greeted("s-1", []byte(`{"result":{"status":"ok"}}`)), "it names no revision")
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
		{"an error of one of our agents", `{"isError":true,"content":[{"type":"text","text":"E012 AUTH_TOKEN_INVALID: no such token\n{\"error_code\":\"E012\"}"}]}`, Refused, `"message":"E012 AUTH_TOKEN_INVALID: no such token"`},
		{"an error of the protocol", `{"isError":true,"content":[{"type":"text","text":"E012 AUTH_TOKEN_INVALID: no such token"}],"structuredContent":{"error_code":"E012"}}`, Refused, `"error_code":"E012"`},
		{"no answer", `{"content":[{"type":"text","text":"odd"}]}`, Rejected, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(`{"jsonrpc":"2.0","id":3,"result":` + tt.result + `}`)
			r := MethodOf("choose_parity").ReadReply([]byte("7"), StatusOK, body)
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
