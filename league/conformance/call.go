package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A call is a request that one of the kit's agents received.
type call struct {
	Exchange

	seq    int // position among all calls and answers, from 1
	at     time.Time
	to     *fakeAgent
	bearer string // credential beside the message; never shown

	came members // the body as it came; nil when it was no JSON object
	sent members // the message as it came
	form string  // how the form of the call differs from that of the specification; "" for not at all

	// searching tells that the caller searches for the form that the callee understands: it
	// made a call of this kind in the form of the specification before.
	searching bool

	object members // the call in the form of the specification
	method string
	kind   string // the message type that is asked for; "" for none
	params members

	began    int // position of the beginning of its answer; 0 while there is none
	answered bool
	doneAt   time.Time
}

// read parses a call, as received and in the form of the specification.
func (a *fakeAgent) read(r *http.Request, came, canonical []byte) *call {
	c := &call{Exchange: Exchange{To: a.url, request: came}, at: time.Now(), to: a, came: objectOf(came), object: objectOf(canonical)}
	c.bearer, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c.method, _ = c.object.text("method")
	c.params = objectOf(c.object["params"])
	c.kind = kindOf(c.method, c.params)
	c.sent, c.form = sentIn(c.came, c.kind)
	if c.sent == nil {
		c.sent = c.params
	}
	return c
}

// sentIn finds the message in a call as received, and returns how the form of the call
// differs from that of the specification; "" for not at all.
func sentIn(came members, kind string) (sent members, form string) {
	name, _ := came.text("method")
	params := objectOf(came["params"])
	switch inner := objectOf(params["message"]); {
	case came["jsonrpc"] == nil && came["method"] == nil:
		return came, "the message without JSON-RPC"
	case name == "tools/call":
		tool, _ := params.text("name")
		return objectOf(params["arguments"]), "tools/call " + quoted(tool)
	case params["message_type"] == nil && (params["messageType"] != nil || params["MessageType"] != nil):
		return params, "the members of the message in another spelling: " + listed(params)
	case inner != nil && params["message_type"] == nil:
		return inner, "method " + quoted(name) + ", with the message in params.message"
	case name != methodOf(kind) && methodOf(kind) != "":
		return params, "method " + quoted(name) + " instead of " + methodOf(kind)
	}
	return params, ""
}

// kindOf returns the message type of a call in the form of the specification; "" for none.
func kindOf(method string, params members) string {
	for _, m := range protocol.Methods() {
		if m.Request != "" && (method == m.Name || method == m.Request || slices.Contains(m.Aliases, method)) {
			return m.Request
		}
	}
	kind, _ := params.text("message_type")
	if methodOf(kind) == "" {
		return ""
	}
	return kind
}

// hasMessages tells whether a name is that of a method with messages, not of a tool.
func hasMessages(name string) bool {
	return slices.ContainsFunc(protocol.Methods(), func(m protocol.MethodRow) bool { return m.Name == name && m.Request != "" })
}

// methodOf is the method of a message type; "" for none.
func methodOf(kind string) string {
	method, _ := protocol.MethodFor(encoded(map[string]any{"message_type": kind}))
	return method
}

// before tells whether a call was answered before another call. The beginning of the
// answer counts, because the caller may go on before the end of the answer is noted.
func (c *call) before(other *call) bool {
	c.to.fakes.mu.Lock()
	defer c.to.fakes.mu.Unlock()
	return c.began > 0 && c.began < other.seq
}

// succeeded tells whether a call was answered with HTTP status 200.
func (c *call) succeeded() bool {
	c.to.fakes.mu.Lock()
	defer c.to.fakes.mu.Unlock()
	return c.answered && c.Status == http.StatusOK
}

// end is the time at which a call was answered; now while it is not.
func (c *call) end() time.Time {
	c.to.fakes.mu.Lock()
	defer c.to.fakes.mu.Unlock()
	if !c.answered {
		return time.Now()
	}
	return c.doneAt
}

// exchange returns a call as evidence. It may still be in progress.
func (c *call) exchange() *Exchange {
	if c == nil {
		return nil
	}
	c.to.fakes.mu.Lock()
	defer c.to.fakes.mu.Unlock()
	x := c.Exchange
	return &x
}

// wrap returns the response to a call in the form of the specification; nil for none.
func (c *call) wrap(p response) []byte {
	response := map[string]any{"jsonrpc": "2.0", "id": c.id()}
	switch {
	case p.result != nil:
		response["result"] = p.result
	case p.failure != nil:
		response["error"] = jsontext.Value(p.failure)
	default:
		return nil
	}
	return encoded(response)
}

// refuse answers a call with an error.
func (c *call) refuse(code int, message string) response {
	return response{failure: encoded(map[string]any{"code": code, "message": message})}
}

// id is the id of the call; null if it has none that JSON-RPC allows.
func (c *call) id() jsontext.Value {
	if id := c.object["id"]; id.IsValid() && (id.Kind() == '"' || id.Kind() == '0') {
		return id
	}
	return jsontext.Value("null")
}

// encoded is the JSON of what the kit sends, with the members in order, so that
// two reports can be compared.
func encoded(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // an error of the kit, which all of its tests find
	}
	return b
}

// reply begins an answer to a call.
func (c *call) reply(messageType, sender string) map[string]any {
	conversation, _ := c.params.text("conversation_id")
	if conversation == "" {
		conversation = "conv-check"
	}
	return map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": sender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation,
	}
}

// match is the match that a call is about.
func (c *call) match() string {
	id, _ := c.params.text("match_id")
	return id
}
