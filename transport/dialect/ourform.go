package dialect

import (
	"regexp"

	"evenodd/league/protocol"
)

// ourEnvelope matches the beginning of a message of one of our agents: compact, with the time
// in seconds, and with the conversation of an attempt at a match or of a round.
var ourEnvelope = regexp.MustCompile(`^\{"protocol":"` + protocol.Name + `","message_type":"([A-Z_]+)","sender":"[^"]*",` +
	`"timestamp":"[^"]{20}","conversation_id":"conv-(?:round-|[^"]*-a[0-9]+")`)

// OurMethod returns the method of a request that one of our agents wrote. It looks only at
// the head of the request, up to the conversation_id. It returns "" for any other request, and
// for those that need a look in every form: registrations and announcements of rounds.
func OurMethod(body []byte) string {
	call, ok := CutCall(body)
	m := byName[call.Method]
	switch {
	case !ok:
		return ""
	case m == nil && tools[call.Method]:
		return call.Method
	case m == nil || m.Registers || m.Name == protocol.NotifyRound.Name:
		return ""
	}
	if head := ourEnvelope.FindSubmatch(call.Message); len(head) == 2 && string(head[1]) == m.Request {
		return m.Name
	}
	return ""
}
