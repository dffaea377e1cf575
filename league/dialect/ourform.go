package dialect

import (
	"bytes"

	"evenodd/league/protocol"
)

// OurMethod returns the method of a request in the form that our agents write. It looks
// only at the head of the request, up to the conversation_id. It returns "" for any other
// request, and for registrations, which may need translation in every form.
func OurMethod(body []byte) string {
	rest, ok := bytes.CutPrefix(body, []byte(requestHead))
	if !ok {
		return ""
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return ""
	}
	m := byName[string(rest[:end])]
	switch {
	case m == nil && tools[string(rest[:end])]:
		return string(rest[:end])
	case m == nil || m.Registers():
		return ""
	}
	conversation, ok := conversationIn(rest[end:], m.Request)
	aboutMatch := ofMatch(m.Request) || m.Request == protocol.TypeMatchResultReport || m.Request == protocol.TypeMatchAssignment
	if !ok || aboutMatch && !ofAttempt(conversation) {
		return ""
	}
	return m.Name
}

// conversationIn returns the conversation_id of a call, if it continues with an
// envelope as our agents write it.
func conversationIn(rest []byte, messageType string) (conversation []byte, ok bool) {
	const (
		opening   = paramsHead + `{"protocol":"` + protocol.Name + `","message_type":"`
		timestamp = len("2025-01-15T10:30:00Z")
	)
	if rest, ok = bytes.CutPrefix(rest, []byte(opening)); !ok || len(rest) < len(messageType) || string(rest[:len(messageType)]) != messageType {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest[len(messageType):], []byte(`","sender":"`)); !ok {
		return nil, false
	}
	if _, rest, ok = bytes.Cut(rest, []byte(`"`)); !ok {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"timestamp":"`)); !ok || len(rest) < timestamp || rest[timestamp-1] != 'Z' {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest[timestamp:], []byte(`","conversation_id":"`)); !ok {
		return nil, false
	}
	conversation, _, ok = bytes.Cut(rest, []byte(`"`))
	return conversation, ok
}

// ofAttempt tells whether a conversation_id is that of an attempt at a match, as our
// referees write it: conv-r1m1-a1.
func ofAttempt(conversation []byte) bool {
	if !bytes.HasPrefix(conversation, []byte("conv-")) {
		return false
	}
	i := bytes.LastIndex(conversation, []byte("-a"))
	if i < 0 || i+2 == len(conversation) {
		return false
	}
	for _, c := range conversation[i+2:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// refusalHead begins the response to a request with an invalid field (E002, E003).
const refusalHead = errorHead + `"code":-32602,`

// RefusesField tells whether a response of our agent rejects an invalid field.
func RefusesField(response []byte) bool { return bytes.HasPrefix(response, []byte(refusalHead)) }

// Succeeded tells whether a response of our agent is a result.
func Succeeded(response []byte) bool { return bytes.HasPrefix(response, []byte(ResultHead)) }

// FromLenientLeague tells whether an assignment of our manager is from a league that
// accepts answers without token. `auth` is the last member of the message.
func FromLenientLeague(assignment []byte) bool {
	message := assignment[:max(bytes.LastIndex(assignment, []byte(idHead)), 0)]
	return bytes.HasSuffix(message, []byte(`"auth":"`+protocol.AuthLenient+`"}`))
}
