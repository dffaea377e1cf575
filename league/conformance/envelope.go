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

// envelope judges the envelope of a message of the agent, as the agent wrote it, that came
// at this time.
func (x *client) envelope(m members, messageType, sender, conversation string, at time.Time, shown *Exchange) {
	d := defect{}
	if m["timestamp"] == nil && m["conversation_id"] == nil {
		d = envelopeDefect()
	}
	x.because(d, x.as("ENV-01"), firstOf(m.has("protocol", protocol.Name), m.has("message_type", messageType)), shown)
	x.because(d, x.as("ENV-02"), senderProblem(m, sender), shown)
	problem := timeProblem(m, "timestamp")
	x.because(d, x.as("ENV-03"), problem, shown)
	if problem == "" {
		x.judge(x.as("ENV-04"), clockProblem(m, at), shown)
	}
	x.because(d, x.as("ENV-05"), m.filled("conversation_id"), shown)
	if conversation != "" {
		x.because(d, x.as("ENV-06"), m.has("conversation_id", conversation), shown)
	}
}

// senderProblem says what is wrong with a sender: want is the whole of it, or with a
// colon at the end how it must begin.
func senderProblem(m members, want string) string {
	if !strings.HasSuffix(want, ":") {
		return m.has("sender", want)
	}
	if problem := m.filled("sender"); problem != "" {
		return problem
	}
	got, _ := m.text("sender")
	return when(!strings.HasPrefix(got, want) || got == want, "sender is %s, not %s and an id", quoted(got), want)
}

// timeProblem says what is wrong with a member that must be a time.
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

// clockProblem says that the timestamp of a message is far from now.
func clockProblem(m members, now time.Time) string {
	text, _ := m.text("timestamp")
	at, err := protocol.ParseTimestamp(text)
	if err != nil {
		return err.Error()
	}
	apart := now.Sub(at).Round(time.Second)
	return when(apart.Abs() > time.Minute, "timestamp %s is %s away from now, %s", text, apart.Abs(), protocol.FormatTimestamp(now))
}
