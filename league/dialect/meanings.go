package dialect

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// translate gives the members of a reply the names that the specification has for
// them. Values stay as they are: what is wrong with one is for the agent to see
// that asked. Nothing is made up in what players answer.
func (q *question) translate(message object) object {
	m := slices.Clone(message)
	switch q.method {
	case protocol.ChooseParity.Name:
		if v := m.get("choice"); v != nil && v.Kind() != '{' && m.get("parity_choice") == nil {
			m.drop("parity_choice") // a null
			m.rename("choice", "parity_choice")
		}
	case protocol.Invite.Name:
		m.adopt("accept", m.get("accepted"))
		if word := strings.ToLower(m.text("status")); word == "accepted" || word == "joined" {
			m.adopt("accept", jsontext.Value("true"))
		}
	case protocol.MakeMove.Name:
		if choice := m.get("choice"); choice.Kind() == '"' {
			m.adopt("move_data", object{{"choice", choice}}.appendTo(nil))
		}
	case protocol.RegisterPlayer.Name:
		admission(&m, "player_id")
	case protocol.RegisterReferee.Name:
		admission(&m, "referee_id")
	}
	q.retype(&m)
	return m
}

// retype has a reply that answers the question be of its type, where it has given
// itself one that the protocol does not know.
func (q *question) retype(m *object) {
	said := m.text("message_type")
	if member := q.essential(); said == "" || said == q.answer || member == "" || m.get(member) == nil {
		return
	}
	for i := range questions {
		if said == questions[i].request || said == questions[i].answer {
			return // an answer to something else
		}
	}
	m.set("message_type", quoted(q.answer))
}

// usualLeague is the league of the specification's examples, which most makers
// know no other than.
const usualLeague = "league_2025_even_odd"

// admission translates the answer of a manager to a registration. It is accepted
// where it says so, or names an id and no reason against it. A manager that gives
// no token asks for none.
func admission(m *object, id string) {
	switch status := m.text("status"); {
	case strings.EqualFold(status, protocol.StatusRejected):
		m.set("status", quoted(protocol.StatusRejected))
	case status != "" || m.get(id) != nil:
		m.set("status", quoted(protocol.StatusAccepted))
	}
	if m.text("status") != protocol.StatusAccepted {
		return
	}
	m.fill("auth_token", quoted(protocol.RefereeAuthNone))
	m.fill("league_id", quoted(usualLeague))
}

// registers tells whether a method lets an agent into a league.
func registers(method string) bool {
	return method == protocol.RegisterPlayer.Name || method == protocol.RegisterReferee.Name
}

// refusesSender tells whether a manager turned an agent down because of who it says
// it is.
func refusesSender(r reply) bool {
	code := protocol.Code(r.failed.named)
	switch {
	case r.message != nil:
		if r.message.text("status") != protocol.StatusRejected || !aboutIdentity.MatchString(r.message.text("reason")) {
			return false
		}
		code = protocol.Code(r.message.text("error_code"))
	case !r.failed.there:
		return false
	}
	switch code {
	case protocol.ErrInvalidFieldType: // of a field; ours say which
		return r.message != nil || aboutIdentity.MatchString(r.failed.text+" "+objectOf(r.failed.data).object("context").text("detail"))
	case "", protocol.ErrPlayerNotRegistered, protocol.ErrRefereeNotRegistered, protocol.ErrNotAuthorized:
		return true
	}
	return false
}

// numberedManager is the only sender of manager messages that some agents accept.
const numberedManager = protocol.ManagerSender + ":LM01"

// managerHead is the sender of our manager's messages, as our agents encode it.
const managerHead = `"sender":"` + protocol.ManagerSender + `"`

// asNumberedManager returns a copy of a message of our manager, or of a request with one,
// with the sender numberedManager. Players that know this sender require some auth_token in
// broadcasts; a referee could take that of an assignment for its own.
func asNumberedManager(method string, message []byte) []byte {
	head := `"sender":"` + numberedManager + `"`
	if method != protocol.StartMatch.Name {
		head += `,"auth_token":"` + protocol.NoToken + `"`
	}
	return bytes.Replace(message, []byte(managerHead), []byte(head), 1)
}

// aboutSender matches errors that refuse the sender of a message.
var aboutSender = regexp.MustCompile(`(?i)\bsender\b.{0,20}\b(not|unknown|invalid|unregistered|unauthori[sz]ed)\b|\b(unknown|invalid|unregistered|unauthori[sz]ed|unexpected|bad) sender\b`)

// refusesSender tells whether an answer refuses a registration or a message of our manager
// because of its sender.
func (q *request) refusesSender(r reply) bool {
	if registers(q.method) {
		return refusesSender(r)
	}
	return r.failed.there && aboutSender.MatchString(r.failed.text) && bytes.Contains(q.message, []byte(managerHead))
}

// numberedSender is a registration with the sender that some managers know alone:
// with the number that follows from the port, as their static files have it. False
// when there is no such, or it is the one that was refused.
func numberedSender(q request) (request, bool) {
	message := objectOf(q.message)
	meta, base, sender := "player_meta", 8100, protocol.PlayerSender
	id := protocol.PlayerID
	if q.method == protocol.RegisterReferee.Name {
		meta, base, sender, id = "referee_meta", 8000, protocol.RefereeSender, protocol.RefereeID
	}
	n := portOf(message.object(meta).text("contact_endpoint")) - base
	if message == nil || n < 1 || n > 99 || message.get("auth_token") != nil {
		return q, false
	}
	name := sender(id(n))
	if message.text("sender") == name {
		return q, false
	}
	message.set("sender", quoted(name))
	q.message = message.appendTo(nil)
	return q, true
}

// decode reads a value.
func decode(v jsontext.Value, into any) error {
	return json.Unmarshal([]byte(cmp.Or(string(v), "null")), into)
}
