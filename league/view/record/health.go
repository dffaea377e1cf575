package record

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A Health is how the agents of a league behaved in matches, as their transcripts tell it. Several
// goroutines can read it while nobody adds to it.
type Health struct {
	Attempts int // whose transcripts were read

	players map[string]*PlayerHealth
}

// A PlayerHealth is how a player answered.
type PlayerHealth struct {
	Failures map[Cause]int // tries without an answer that counts

	deviations map[string]int          // number by problem
	took       map[string][]answerTime // by method
}

// An answerTime is the time of an answer in milliseconds. If the answer came too late, or not at all, it is the time
// that the referee waited: the transcript has no more.
type answerTime struct {
	ms   float64
	late bool
}

// A Fault is an answer that a player did not give, or that does not count.
type Fault struct {
	MatchID string `json:"match_id"`
	Attempt int    `json:"attempt,omitzero"`
	Try     int    `json:"try,omitzero"` // which call attempt at this question it is, from 1
	At      string `json:"at,omitzero"`
	Method  string `json:"method,omitzero"`     // of the question
	Code    string `json:"error_code,omitzero"` // "" for a refused invitation
	Problem string `json:"problem,omitzero"`    // what was wrong, in words
	Answer  string `json:"answer,omitzero"`     // its beginning as it came; "" if the transcript has none

	Lost    bool   `json:"technical_loss,omitzero"` // the agent lost the match by it; reports set it
	AgentID string `json:"-"`                       // that is to blame
	Kind    string `json:"-"`                       // of reports; "" for an answer
	Local   bool   `json:"-"`                       // the referee's machine is to blame: the try is void
}

// A Latency is the time that a player took for its answers to a method, in milliseconds. An answer that did not come
// in time counts with the time that the referee waited for it, as do answers with an error.
type Latency struct {
	Method   string  `json:"method"`
	Answers  int     `json:"answers"`
	Late     int     `json:"late,omitzero"`         // of these, that did not come in time
	LateFrom float64 `json:"late_from_ms,omitzero"` // the shortest wait for one: times from it on are at least so long
	P50      float64 `json:"p50_ms"`
	P90      float64 `json:"p90_ms"`
	P99      float64 `json:"p99_ms"`
	Longest  float64 `json:"longest_ms"`
	Deadline float64 `json:"deadline_sec"` // 0 if it is unknown
}

// NewHealth returns the health of agents before the first transcript.
func NewHealth() *Health { return &Health{players: map[string]*PlayerHealth{}} }

// Player returns the health of a player. It changes nothing.
func (h *Health) Player(id string) *PlayerHealth {
	return cmp.Or(h.players[id], &PlayerHealth{})
}

// player returns the health of a player, to change it.
func (h *Health) player(id string) *PlayerHealth {
	p := h.players[id]
	if p == nil {
		p = &PlayerHealth{Failures: map[Cause]int{}, deviations: map[string]int{}, took: map[string][]answerTime{}}
		h.players[id] = p
	}
	return p
}

// Add reads the transcript of an attempt, and returns the faults in it.
func (h *Health) Add(doc *store.Match) (faults []Fault) {
	h.Attempts++
	type question struct {
		player, method string
		try            int
	}
	asked := map[question]string{}
	for i := range doc.Transcript {
		x := &doc.Transcript[i]
		q := question{x.PlayerID, x.Method, x.Try}
		if x.Direction == store.Sent {
			asked[q] = x.At
			continue
		}
		p := h.player(x.PlayerID)
		local := x.Local || x.Void != ""
		if f, failed := faultOf(doc, x); failed {
			faults = append(faults, f)
			if !f.Local && f.Code != "" {
				p.Failures[f.Cause()]++
			}
		} else {
			for _, problem := range deviations(doc, x) {
				p.deviations[problem]++
			}
		}
		trouble := troubleOf(x)
		if took, ok := tookOf(x, asked[q]); ok && !local && trouble != TroubleUnreachable && trouble != TroubleWait {
			p.took[x.Method] = append(p.took[x.Method], answerTime{took, trouble == TroubleNoAnswer})
		}
	}
	return faults
}

// OfNotice tells whether the failed answer is one to a notice, not to a question.
func (f *Fault) OfNotice() bool { return strings.HasPrefix(f.Method, "notify_") }

// Same tells whether a fault of the same agent repeats this one in the same match.
func (f *Fault) Same(as *Fault) bool {
	return f.MatchID == as.MatchID && f.Attempt == as.Attempt && f.Problem == as.Problem && f.Answer == as.Answer
}

// Cause is why the answer failed; none for a void try.
func (f *Fault) Cause() Cause {
	if f.Local {
		return Cause{}
	}
	return CauseOf(f.Code, f.Problem, f.Answer)
}

// CausesOf are the causes of the failed answers of a player in an attempt, in the order in which they occurred. Notices
// and void tries do not count, because they decide no match.
func CausesOf(doc *store.Match, playerID string) []CountedCause {
	var causes []Cause
	for _, f := range NewHealth().Add(doc) {
		if f.AgentID == playerID && !f.OfNotice() && !f.Local {
			causes = append(causes, f.Cause())
		}
	}
	return CountCauses(causes)
}

// refusedInvitation is the problem of an answer that refuses an invitation.
const refusedInvitation = "refused the invitation"

// faultOf returns the fault of an exchange; false if its answer counts.
func faultOf(doc *store.Match, x *store.Exchange) (Fault, bool) {
	f := Fault{MatchID: doc.MatchID, Attempt: doc.Attempt, Try: x.Try, At: x.At, Method: x.Method,
		Answer: cmp.Or(string(x.Message), x.Answer), AgentID: x.PlayerID}
	if x.Local || x.Void != "" {
		f.AgentID, f.Local, f.Problem = doc.RefereeID, true, x.Void
		return f, true
	}
	switch {
	case x.Error == nil && x.Method == protocol.Invite.Name:
		f.Problem = refusedInvitation
		return f, string(protocol.ParseObject(x.Message).Raw("accept")) == "false"
	case x.Error == nil || accepted(x):
		return f, false
	}
	f.Code, f.Problem = x.Error.ErrorCode, x.Error.Detail
	return f, true
}

// accepted tells whether an answer counts whose error only notes what the referee could not read
// of it, or why the transcript omits it.
func accepted(x *store.Exchange) bool {
	detail := x.Error.Detail
	return len(x.UnreadableMembers) > 0 && strings.HasPrefix(detail, x.UnreadableMembers[0]+" cannot be read:") ||
		x.MessageOmitted != "" && strings.HasPrefix(detail, "the message ")
}

// deviations is how an answer that counts deviates from the specification.
func deviations(doc *store.Match, x *store.Exchange) (list []string) {
	if problem := deviation(doc, x); problem != "" {
		list = append(list, problem)
	}
	if x.WrongToken {
		list = append(list, "auth_token is not that of the question, but another, as the agent token, which is for the manager alone")
	}
	return list
}

// deviation is deviations without those of the token, which the file does not hold; "" for none.
func deviation(doc *store.Match, x *store.Exchange) string {
	switch {
	case x.Error != nil:
		return x.Error.Detail
	case x.Method != protocol.Invite.Name && !protocol.AsksForMove(x.Method),
		len(x.Message) == 0:
		return ""
	}
	if breach := protocol.RecordedBreach(x.Method, x.Message, protocol.ReplyTo{ConversationID: doc.ConversationID,
		PlayerID: x.PlayerID}); breach != nil {
		return breach.Detail
	}
	return ""
}

// tookOf is the time of an answer in milliseconds, without that in the referee's own queue.
func tookOf(x *store.Exchange, asked string) (ms float64, ok bool) {
	if x.Timing != nil {
		return protocol.Milliseconds(x.Timing.Total() - x.Timing.Queued), true
	}
	from, err := protocol.ParseTimestamp(asked)
	to, err2 := protocol.ParseTimestamp(x.At)
	return float64(to.Sub(from)) / float64(time.Millisecond), err == nil && err2 == nil && !to.Before(from)
}

// A Deviation is what answers that count deviate in from the specification.
type Deviation struct {
	Problem string `json:"problem"` // without addresses
	Count   int    `json:"count"`
}

// Deviations are those of the player, in order of the problems.
func (p *PlayerHealth) Deviations() (list []Deviation) {
	for _, problem := range slices.Sorted(maps.Keys(p.deviations)) {
		list = append(list, Deviation{Public(problem), p.deviations[problem]})
	}
	return list
}

// Latency is the time of the player's answers by method, in order of their names.
func (p *PlayerHealth) Latency(timeouts protocol.Timeouts) []Latency {
	list := []Latency{}
	for _, method := range slices.Sorted(maps.Keys(p.took)) {
		took := slices.SortedFunc(slices.Values(p.took[method]), func(a, b answerTime) int { return cmp.Compare(a.ms, b.ms) })
		at := func(share float64) float64 { return took[int(math.Ceil(share*float64(len(took))))-1].ms }
		l := Latency{Method: method, Answers: len(took), P50: at(0.5), P90: at(0.9), P99: at(0.99),
			Longest: took[len(took)-1].ms, Deadline: limitOf(method, timeouts)}
		for _, one := range slices.Backward(took) {
			if one.late {
				l.Late, l.LateFrom = l.Late+1, one.ms
			}
		}
		list = append(list, l)
	}
	return list
}

// Words are one of the times for people: "> 30 s" if it is that of an answer that came too late.
func (l Latency) Words(ms float64) string { return l.than(ms) + Milliseconds(ms) }

// Number is one of the times in milliseconds, with the sign of Words.
func (l Latency) Number(ms float64) string { return l.than(ms) + strconv.FormatFloat(ms, 'f', -1, 64) }

func (l Latency) than(ms float64) string {
	if l.Late > 0 && ms >= l.LateFrom {
		return "> "
	}
	return ""
}

// limitOf is the limit of the answer to a method in seconds.
func limitOf(method string, t protocol.Timeouts) float64 {
	switch {
	case method == protocol.Invite.Name:
		return t.GameJoinAck
	case protocol.AsksForMove(method):
		return t.Move
	case method == protocol.NotifyMatchResult.Name:
		return t.GameOver
	}
	return t.Generic
}
