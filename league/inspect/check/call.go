package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// A call is a request that one of the kit's agents received.
type call struct {
	Exchange

	to   *fakeAgent
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

	answered bool
}

// read parses a call, as received and in the form of the specification.
func (a *fakeAgent) read(came, canonical []byte) *call {
	c := &call{Exchange: Exchange{To: a.url, request: came, at: time.Now()}, to: a, came: objectOf(came),
		object: objectOf(canonical)}
	c.method = c.object.text("method")
	c.params = objectOf(c.object["params"])
	method := methodOf(c.method)
	if method.Request == "" {
		method = methodOf(c.params.text("message_type"))
	}
	c.kind = method.Request
	form, sent := formOf(c.came)
	if c.sent = sent; sent == nil {
		c.sent = c.params
	}
	switch {
	case c.kind != "":
		c.form = when(form != method.Name, "%s instead of %s", form, method.Name)
		if meta := method.From + "_meta"; method.Registers && objectOf(c.sent[meta])["contact_endpoint"] == nil &&
			objectOf(c.params[meta])["contact_endpoint"] != nil {
			c.alsoDiffers("members at the top level instead of " + meta)
		}
	case c.method == "":
		c.form = "JSON without a method and a message_type"
	case !isMethod(c.method):
		c.form = "the unknown method " + form
	}
	return c
}

// alsoDiffers adds a difference to the form of a call.
func (c *call) alsoDiffers(difference string) {
	c.form = strings.TrimPrefix(c.form+", "+difference, ", ")
}

// formOf names the form of a request, and returns the message in it.
func formOf(request members) (form string, message members) {
	method := plain(request.text("method"))
	params := objectOf(request["params"])
	inner := objectOf(params["message"])
	switch {
	case request["jsonrpc"] == nil && request["method"] == nil:
		return "the message without JSON-RPC", request
	case method == "tools/call":
		return method + " " + plain(params.text("name")), objectOf(params["arguments"])
	case params["message_type"] == nil && inner != nil:
		return method + " with the message in message", inner
	}
	return method, params
}

// methodOf returns the method with this name, alias or message type; one without names for
// any other name, and for a tool.
func methodOf(name string) *dialect.Method {
	for _, m := range protocol.Methods() {
		if m.Request != "" && (name == m.Name || name == m.Request || slices.Contains(m.Aliases, name)) {
			return dialect.MethodOf(m.Name)
		}
	}
	return &dialect.Method{}
}

// wrap returns the response to a call in the form of the specification; nil for none.
func (c *call) wrap(p response) []byte {
	switch {
	case p.result != nil:
		return transport.ResultBody(encoded(p.result), c.id())
	case p.failure != nil:
		return p.failure.Body(c.id())
	}
	return nil
}

// refuse answers a call with an error.
func refuse(code int, message string) response {
	return response{failure: &dialect.Failure{Present: true, Code: code, Text: message}}
}

// id is the id of the call; null if it has none that JSON-RPC allows.
func (c *call) id() jsontext.Value {
	if id := c.object["id"]; id.IsValid() && (id.Kind() == '"' || id.Kind() == '0') {
		return id
	}
	return jsontext.Value("null")
}

// encoded is the JSON of a value, with the members in order, so that two reports can be compared.
// Members of an agent may contain invalid UTF-8.
func encoded(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true))
	if err != nil {
		panic(err) // an error of the kit, which all of its tests find
	}
	return b
}

// answer answers a call with a result of these members, and of those in the call that have these names.
// The row of the method gives its message type.
func (c *call) answer(sender string, result object, same ...string) response {
	m := message(methodOf(c.kind).Result, sender, cmp.Or(c.params.text("conversation_id"), "conv-check"), "")
	maps.Copy(m, result)
	for _, name := range same {
		if value := c.params[name]; value != nil {
			m[name] = value
		}
	}
	return response{result: m}
}

// answerPing answers a ping of an agent in a role, and rejects all other calls.
func answerPing(c *call, role string) response {
	if c.method != protocol.Ping.Name {
		return refuse(codeUnknownMethod, "Method not found")
	}
	return c.answer(role+":check", object{"message_type": protocol.Ping.Result, "status": "ok", "role": role})
}

// acknowledge answers the notices to an agent with an id in a role, and its pings.
func acknowledge(c *call, role, id string) response {
	if !methodOf(c.kind).Notice {
		return answerPing(c, role)
	}
	return c.answer(role+":"+id, object{"status": protocol.StatusAcknowledged, role + "_id": id}, "match_id", "round_id")
}

// match is the match that a call is about.
func (c *call) match() string { return c.params.text("match_id") }

// fieldsProblem says which fields make a message unacceptable; "" for none. It looks at
// those alone that want chooses.
func fieldsProblem(broken []protocol.FieldError, want func(field string) bool) string {
	var problems []string
	for _, f := range broken {
		if !want(f.Field) || len(problems) == 3 {
			continue
		}
		problems = append(problems, f.Field+": "+f.Rule+when(f.Got != "", ", got %s", shown(f.Got)))
	}
	return strings.Join(problems, "; ")
}

// accepted returns why the agents of a league refuse a message, by those fields alone that want chooses.
func accepted(want func(field string) bool) test {
	return func(f *fact) string {
		e := protocol.AsError(methodOf(f.call.kind).Check(encoded(f.call.params)))
		if e == nil {
			return ""
		}
		fields, _ := e.Context["fields"].([]protocol.FieldError)
		if len(fields) == 0 {
			fields = []protocol.FieldError{{Field: "params", Rule: e.Detail}}
		}
		return fieldsProblem(fields, want)
	}
}

// recordMessages records the form of the calls of the agent and, except for its registration and its
// notices, whether agents accept them.
func (x *exam) recordMessages() {
	known := x.received(func(c *call) bool { return c.kind != "" && !c.searching })
	for _, c := range append(known, x.unread()...) {
		x.record("form of call", &fact{call: c, problem: c.form, defect: formDefect})
		if c.kind != "" && c.kind != protocol.TypeRefereeRegisterRequest && !methodOf(c.kind).Notice {
			x.record("message", &fact{call: c})
		}
	}
}

// unread returns the calls to the kit's manager that no manager can read: of another path or method.
func (x *exam) unread() []*call {
	if x.Role == Manager {
		return nil
	}
	return x.received(func(c *call) bool { return c.to == x.host && c.kind == "" && c.form != "" })
}

// isMethod tells whether a manager may know a method, those of MCP too.
func isMethod(name string) bool {
	return slices.Contains([]string{"initialize", "notifications/initialized", "tools/list"}, name) ||
		slices.ContainsFunc(protocol.Methods(), func(m protocol.MethodRow) bool { return m.Name == name })
}

// within tells whether a field is another one, or a part of it.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
