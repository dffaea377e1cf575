package dialect

import (
	"bytes"
	"regexp"

	"evenodd/league/protocol"
)

// managerSender is the sender of our manager's messages, as our agents encode it.
const managerSender = `"sender":"` + protocol.ManagerSender + `"`

// AsNumberedManager returns a copy of a message of our manager, or of a request with one,
// with the only sender that some agents accept: league_manager:LM01. Players that know this sender require some auth_token
// in broadcasts; a referee could take that of an assignment for its own.
func AsNumberedManager(method string, message []byte) []byte {
	sender := `"sender":"` + protocol.ManagerSender + `:LM01"`
	if method != protocol.StartMatch.Name {
		sender += `,"auth_token":"` + protocol.NoToken + `"`
	}
	return bytes.Replace(message, []byte(managerSender), []byte(sender), 1)
}

// aboutSender matches an error that refuses the sender of a message.
var aboutSender = regexp.MustCompile(`(?i)\bsender\b.{0,20}\b(not|unknown|invalid|unregistered|unauthori[sz]ed)\b|\b(unknown|invalid|unregistered|unauthori[sz]ed|unexpected|bad) sender\b`)

// RefusesSender tells whether a reply refuses a message of our manager because of its
// sender.
func (c *Call) RefusesSender(r Reply) bool {
	return r.Failure.Present && aboutSender.MatchString(r.Failure.Text) && bytes.Contains(c.Message, []byte(managerSender))
}
