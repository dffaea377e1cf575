package dialect

import (
	"bytes"
	"strconv"

	"evenodd/league/protocol"
)

// OurMethod returns the method of a request in the form that our agents write. It looks
// only at the head of the request, up to the conversation_id. It returns "" for any other
// request, and for registrations, which may need translation in every form.
func OurMethod(body []byte) string {
	rest := head(body)
	if !rest.skip(requestHead) {
		return ""
	}
	end := max(bytes.IndexByte(rest, '"'), 0)
	m := byName[string(rest[:end])]
	switch {
	case m == nil && tools[string(rest[:end])]:
		return string(rest[:end])
	case m == nil || m.Registers:
		return ""
	}
	conversation, ok := conversationIn(rest[end:], m.Request)
	aboutMatch := m.InMatch || m.Request == protocol.TypeMatchResultReport || m.Request == protocol.TypeMatchAssignment
	if !ok || aboutMatch && !ofAttempt(conversation) {
		return ""
	}
	return m.Name
}

// A head is the part of a request that is not read yet.
type head []byte

// skip reads a text. It reports false if the head does not begin with it.
func (h *head) skip(text string) bool {
	if len(*h) < len(text) || string((*h)[:len(text)]) != text {
		return false
	}
	*h = (*h)[len(text):]
	return true
}

// conversationIn returns the conversation_id of a call, if it continues with an
// envelope as our agents write it.
func conversationIn(h head, messageType string) (conversation []byte, ok bool) {
	const (
		opening   = paramsHead + `{"protocol":"` + protocol.Name + `","message_type":"`
		timestamp = len("2025-01-15T10:30:00Z")
	)
	if !h.skip(opening) || !h.skip(messageType) || !h.skip(`","sender":"`) {
		return nil, false
	}
	h = h[bytes.IndexByte(h, '"')+1:]
	if !h.skip(`,"timestamp":"`) || len(h) < timestamp || h[timestamp-1] != 'Z' {
		return nil, false
	}
	if h = h[timestamp:]; !h.skip(`","conversation_id":"`) {
		return nil, false
	}
	conversation, _, ok = bytes.Cut(h, []byte(`"`))
	return conversation, ok
}

// ofAttempt tells whether a conversation_id is that of an attempt at a match, as our
// referees write it: conv-r1m1-a1.
func ofAttempt(conversation []byte) bool {
	i := bytes.LastIndex(conversation, []byte("-a"))
	if i < 0 || !bytes.HasPrefix(conversation, []byte("conv-")) {
		return false
	}
	_, err := strconv.ParseUint(string(conversation[i+2:]), 10, 64)
	return err == nil
}

// refusalHead begins the response to a request with an invalid field (E002, E003).
const refusalHead = errorHead + `"code":-32602,`

// RefusesField tells whether a response of our agent rejects an invalid field.
func RefusesField(response []byte) bool { return bytes.HasPrefix(response, []byte(refusalHead)) }

// Succeeded tells whether a response of our agent is a result.
func Succeeded(response []byte) bool { return bytes.HasPrefix(response, []byte(ResultHead)) }

// FromLenientLeague tells whether an assignment of our manager is from a league that
// accepts answers without token. Only such an assignment is parsed.
func FromLenientLeague(assignment []byte) bool {
	if !bytes.Contains(assignment, []byte(`"auth":"`+protocol.AuthLenient+`"`)) {
		return false
	}
	call, _ := CutCall(assignment)
	return protocol.ParseObject(call.Message).Text("auth") == protocol.AuthLenient
}
