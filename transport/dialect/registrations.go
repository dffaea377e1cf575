package dialect

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// endpointNames are the names of the endpoint in a registration, likeliest first.
var endpointNames = []string{"contact_endpoint", "endpoint", "callback_url"}

// metaName is the member of a registration that describes the agent: player_meta or referee_meta.
func (m *Method) metaName() string { return m.From + "_meta" }

// isFlat tells whether a registration describes its agent by members at the top level, or names
// the endpoint otherwise than the specification.
func (q *Request) isFlat() bool {
	m := byType[q.Kind]
	if m == nil || !m.Registers {
		return false
	}
	meta := protocol.ParseObject(q.Params.Get(m.metaName()))
	return meta.Get("contact_endpoint") == nil && (meta.Get(endpointNames...) != nil || q.Params.Get(endpointNames...) != nil)
}

// correctMeta corrects the description of an agent in a registration, and completes it in
// a third-party form. The name of the protocol in place of its version counts as no
// version.
func (q *Request) correctMeta(m *Method) {
	name := m.metaName()
	meta := protocol.ParseObject(q.Params.Get(name))
	if q.isFlat() {
		meta = q.describe(m, meta)
	}
	if meta == nil {
		return
	}
	if meta.Text("protocol_version") == protocol.Name {
		meta.Drop("protocol_version")
	}
	if q.ThirdParty {
		if id := protocol.AgentOf(q.Params.Text("sender")); id != "" {
			meta.FillText("display_name", Short(id))
		}
		meta.FillText("version", "1.0.0")
		meta.Fill("game_types", jsontext.Value(`["`+UsualGame+`"]`))
		if m.From == protocol.RoleReferee {
			meta.Fill("max_concurrent_matches", jsontext.Value("1"))
		}
	}
	q.Params.Set(name, meta.Append(nil))
}

// describe moves the description of an agent from the top level of its registration into meta. Of several endpoints
// the first with a path counts: the others may be the address of a host.
func (q *Request) describe(m *Method, meta protocol.Object) protocol.Object {
	if meta == nil {
		meta = protocol.Object{}
	}
	endpoint := jsontext.Value(nil)
	for _, o := range []*protocol.Object{&meta, &q.Params} {
		for _, name := range endpointNames {
			value := o.Get(name)
			if value != nil && (endpoint == nil || !hasPath(endpoint) && hasPath(value)) {
				endpoint = value
			}
			o.Drop(name)
		}
	}
	for _, name := range m.metaMembers() {
		meta.Fill(name, q.Params.Get(name))
	}
	meta.Set("contact_endpoint", endpoint)
	return meta
}

// metaMembers are the names of the members that describe an agent, in order.
func (m *Method) metaMembers() []string {
	schema, _ := protocol.Schema(m.Request)
	for _, name := range []string{"properties", m.metaName(), "properties"} {
		schema, _ = schema[name].(map[string]any)
	}
	return slices.Sorted(maps.Keys(schema))
}

func hasPath(endpoint jsontext.Value) bool {
	u, err := url.Parse(protocol.Unquote(endpoint))
	return err == nil && len(u.Path) > len("/")
}

// Flatten returns a registration with the description of its agent at the top level too.
func (m *Method) Flatten(registration jsontext.Value) jsontext.Value {
	q := protocol.ParseObject(registration)
	meta := q.Object(m.metaName())
	for _, described := range meta {
		q.Add(described.Name, described.Value)
	}
	for _, name := range endpointNames {
		q.Add(name, meta.Get("contact_endpoint"))
	}
	return q.Append(nil)
}

// Described returns the arguments of a tool that registers an agent in the form of the specification.
func Described(method string, arguments jsontext.Value, f *Facts) jsontext.Value {
	q := &Request{name: method, Params: protocol.ParseObject(arguments), wrapping: inTool}
	if q.Params == nil || !q.Resolve() || !q.isFlat() {
		return arguments
	}
	q.Complete(f)
	return q.Params.Append(nil)
}

// RegisterPath is where some agents post their registrations.
const RegisterPath = "/register"

// RegisterRequest is the request in a body that was posted to RegisterPath; nil for none. It is of a player
// unless it names another role.
func RegisterRequest(body []byte) *Request {
	q := ReadRequest(body)
	if q == nil {
		return nil
	}
	if q.Resolve() {
		return q
	}
	m := MethodOf(protocol.RegisterPlayer.Name)
	about := []string{q.name, q.Params.Text("message_type"), q.Params.Text("sender"), q.Params.Text("role")}
	isOfReferee := func(text string) bool { return strings.Contains(strings.ToLower(text), protocol.RoleReferee) }
	if q.Params.Has("referee_meta") || q.Params.Has("max_concurrent_matches") || slices.ContainsFunc(about, isOfReferee) {
		m = MethodOf(protocol.RegisterReferee.Name)
	}
	q.Kind, q.Method, q.ThirdParty = m.Request, m.Name, true
	return q
}
