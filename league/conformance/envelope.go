package conformance

import (
	"strings"
	"time"

	"evenodd/league/protocol"
)

// message begins a message of the kit.
func message(messageType, sender, conversation, token string) map[string]any {
	m := map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": sender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation,
	}
	if token != "" {
		m["auth_token"] = token
	}
	return m
}

// recordEnvelope records the envelope of a message of the agent, as the agent wrote it.
func (x *exam) recordEnvelope(f *fact) {
	if f.message["timestamp"] == nil && f.message["conversation_id"] == nil {
		f.defect = envelopeDefect
	}
	x.record("envelope", f)
}

func hasProtocol(f *fact) string  { return f.message.has("protocol", protocol.Name) }
func hasTimestamp(f *fact) string { return timeProblem(f.message, "timestamp") }

// hasSender returns what is wrong with a sender. A wanted sender that ends with a colon is
// followed by any id.
func hasSender(f *fact) string {
	if !strings.HasSuffix(f.sender, ":") {
		return f.message.has("sender", f.sender)
	}
	if problem := f.message.filled("sender"); problem != "" {
		return problem
	}
	got, _ := f.message.text("sender")
	return when(!strings.HasPrefix(got, f.sender) || got == f.sender, "sender is %s, not %s and an id", quoted(got), f.sender)
}

func sameConversation(f *fact) string {
	if f.conversation == "" {
		return undecided
	}
	return f.message.has("conversation_id", f.conversation)
}

// timeProblem returns what is wrong with a member that must be a time.
func timeProblem(m members, name string) string {
	if problem := m.filled(name); problem != "" {
		return problem
	}
	text, _ := m.text(name)
	if _, err := protocol.ParseTimestamp(text); err != nil {
		return name + ": " + err.Error()
	}
	return ""
}

// clockIsRight returns that the timestamp of a message is far from the time at which the
// message came.
func clockIsRight(f *fact) string {
	text, _ := f.message.text("timestamp")
	at, err := protocol.ParseTimestamp(text)
	if err != nil {
		return undecided
	}
	apart := f.at.Sub(at).Round(time.Second)
	return when(apart.Abs() > time.Minute, "timestamp %s is %s away from now, %s", text, apart.Abs(), protocol.FormatTimestamp(f.at))
}
