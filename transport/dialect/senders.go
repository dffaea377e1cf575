package dialect

import (
	"bytes"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// numberedManager is the only sender of manager messages that some agents accept.
const numberedManager = protocol.ManagerSender + ":LM01"

// managerSender is the sender of our manager's messages, as our agents encode it.
const managerSender = `"sender":"` + protocol.ManagerSender + `"`

// AsNumberedManager returns a copy of a message of our manager, or of a request with one,
// with the sender league_manager:LM01. Players that know this sender require some auth_token
// in broadcasts; a referee could take that of an assignment for its own.
func AsNumberedManager(method string, message []byte) []byte {
	sender := `"sender":"` + numberedManager + `"`
	if method != protocol.StartMatch.Name {
		sender += `,"auth_token":"` + protocol.NoToken + `"`
	}
	return bytes.Replace(message, []byte(managerSender), []byte(sender), 1)
}

// aboutIdentity matches a reason that is about the identity of an agent.
var aboutIdentity = words.Pattern(`(?i)\b(sender|ids?|identifier|identity|player_?id|referee_?id|agent_?id|` +
	`not (known|recogni[sz]ed|configured|listed)|unknown (player|referee|agent))\b`)

// RefusesSender tells whether a reply refuses a registration, or a message of our manager,
// because of its sender.
func (c *Call) RefusesSender(r Reply) bool {
	if m := MethodOf(c.Method); m != nil && m.Registers {
		return refusesApplicant(r)
	}
	return r.Failure.Present && aboutIdentity().MatchString(r.Failure.Text) &&
		bytes.Contains(c.Message, []byte(managerSender))
}

// refusesApplicant tells whether a manager refused an applicant because of its identity.
func refusesApplicant(r Reply) bool {
	f, refused := r.Failure, r.Message
	field := protocol.ParseObject(f.Data).Object("context").Text("detail") // as our manager names it
	code, reason := f.ErrorCode, f.Text+" "+field
	if refused != nil {
		code, reason = refused.Text("error_code"), refused.Text("reason")
	}
	if refused == nil && !f.Present || refused != nil && refused.Text("status") != protocol.StatusRejected {
		return false
	}
	switch protocol.Code(code) {
	case protocol.ErrInvalidFieldType:
		return aboutIdentity().MatchString(reason)
	case "", protocol.ErrPlayerNotRegistered, protocol.ErrRefereeNotRegistered, protocol.ErrNotAuthorized:
		return refused == nil || aboutIdentity().MatchString(reason)
	}
	return false
}

// AsNumberedApplicant returns a registration with the only sender that some managers know:
// with the number that follows from the port, as in their static files. It reports false
// if there is no such sender, or the registration has it already.
func (c *Call) AsNumberedApplicant() (Call, bool) {
	role, message := MethodOf(c.Method).From, protocol.ParseObject(c.Message)
	id := protocol.UsualID(role, message.Object(role+"_meta").Text("contact_endpoint"))
	sender := role + ":" + id
	if id == "" || message.Get("auth_token") != nil || message.Text("sender") == sender {
		return *c, false
	}
	message.SetText("sender", sender)
	return Call{c.Method, message.Append(nil), c.ID}, true
}
