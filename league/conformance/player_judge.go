package conformance

import (
	"fmt"
	"slices"
	"time"

	"evenodd/league/protocol"
)

// same wants the text of a member that the first reply had.
func (x *playerExam) same(name string) test {
	return func(f *fact) string {
		x.mu.Lock()
		defer x.mu.Unlock()
		value, _ := f.read().text(name)
		if x.first[name] == "" {
			x.first[name] = value
		}
		return when(x.first[name] != value, "%s is %s, and was %s before", name, quoted(value), quoted(x.first[name]))
	}
}

func (x *playerExam) registeredID(f *fact) string {
	if !x.registered {
		return ""
	}
	return f.read().has("player_id", x.player)
}

func acceptIsBoolean(f *fact) string {
	kind := f.reply.result["accept"].Kind()
	return when(kind != 't' && kind != 'f', "accept is %s", valueOf(f.reply.result, "accept"))
}

// hasChoice wants a reply to a question to make a choice, of any value.
func (x *playerExam) hasChoice(f *fact) string {
	return when(!isAnswer(x.questionMethod(), f.reply.result), "the reply has no choice; its members are %s", listed(f.reply.result))
}

// acknowledges wants the acknowledgement of a notice.
func acknowledges(messageType string) test {
	return every(hasResult, has("message_type", messageType), has("status", protocol.StatusAcknowledged), filled("player_id"), func(f *fact) string {
		return when(f.match != "", "%s", f.reply.result.has("match_id", f.match))
	})
}

// sameMatch returns that a reply names another match. A reply may name none.
func sameMatch(f *fact) string {
	if f.reply.result["match_id"] == nil {
		return ""
	}
	return f.reply.result.has("match_id", f.match)
}

func understoodSameMatch(f *fact) string { return firstOf(f.reply.trouble(), sameMatch(f)) }

// choiceIn returns the choice of a reply; "" if it has none that the rules allow.
func (x *playerExam) choiceIn(r *reply, m *match) string {
	if r.trouble() != "" {
		return ""
	}
	choice, _ := x.choiceOf(r.result)
	if m.position.Check(m.side(), choice) != nil {
		return ""
	}
	return choice
}

// choiceProblem returns why a reply is no allowed choice.
func (x *playerExam) choiceProblem(r *reply, m *match) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	_, value := x.choiceOf(r.result)
	return when(x.choiceIn(r, m) == "", "%s", value)
}

// makesNoChoice returns that a reply makes a choice where none is allowed.
func (x *playerExam) makesNoChoice(f *fact) string {
	r := f.reply
	switch {
	case r.Error != "":
		return r.Error
	case r.failed():
		return ""
	case isAnswer(x.questionMethod(), r.result):
		_, value := x.choiceOf(r.result)
		return value
	}
	return "answered without an error"
}

// rejectedAs returns why an answer is not an error with this code of the catalogue.
func rejectedAs(code protocol.Code) func(*fact) string {
	return func(f *fact) string {
		r := f.reply
		if problem := isRejected(f); problem != "" {
			return problem
		}
		return when(r.fault == nil || r.fault.catalogued() != string(code), "%s, without %s in error.data.error_code", r.trouble(), code)
	}
}

// isRejected returns why an answer is no error.
func isRejected(f *fact) string {
	r := f.reply
	switch {
	case r.Error != "":
		return r.Error
	case r.trouble() == "":
		return "answered without an error"
	case r.fault == nil && r.object["error"] == nil:
		return r.trouble() + ", not with an error object"
	}
	return ""
}

// sameJoin returns how a second answer to an invitation differs from the first.
func sameJoin(f *fact) string {
	first, again := f.earlier.result, f.reply.result
	return firstOf(f.reply.trouble(),
		when(!sameJSON(first["accept"], again["accept"]), "accept is %s, and was %s", valueOf(again, "accept"), valueOf(first, "accept")))
}

// percentile is the time within which p of 100 calls were answered; 0 of none.
func percentile(took []time.Duration, p int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := (len(sorted)*p + 99) / 100 // the nearest rank
	return sorted[max(at, 1)-1]
}

// latencies says how long calls took.
func latencies(took []time.Duration) string {
	return fmt.Sprintf("%d calls: p50 %s, p95 %s, p99 %s", len(took),
		short(percentile(took, 50)), short(percentile(took, 95)), short(percentile(took, 99)))
}

func short(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
