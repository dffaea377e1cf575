package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// A message holds the members of a player's reply that the referee judges by.
type message struct {
	protocol.Envelope
	MatchID           string            `json:"match_id"`
	Accept            *bool             `json:"accept"`
	EntropyCommitment string            `json:"entropy_commitment"`
	ParityChoice      string            `json:"parity_choice"`
	MoveData          protocol.MoveData `json:"move_data"`
	Entropy           string            `json:"entropy"`
	Fallback          jsontext.Value    `json:"fallback"` // any value, because only true says something
}

func (m *message) move() string { return cmp.Or(m.ParityChoice, m.MoveData.Choice) }

// checkResponse judges a response as the referee must have judged it.
func (t *transcriptCheck) checkResponse(e *exchange) {
	if e.method.phase == phaseMove {
		e.side.deadline.Queue(e.Timing)
	}
	if e.Void != "" {
		t.checkVoid(e)
		return
	}
	if e.Error != nil && e.method.phase.asks() {
		e.side.unreported = e.Exchange
	}
	switch {
	case e.Omission() != "":
		t.noteOmitted(e)
	case e.Error != nil && (e.read.err != nil || !t.countsDespiteError(e)):
		t.checkFailure(e)
	case e.read.err != nil:
		t.find(e, "/message", "the answer counts, but cannot be read: %s", Reason(e.read.err))
	default:
		t.checkAnswer(e)
	}
}

// noteOmitted notes a response that the file omits, so that nobody can tell
// whether it counted.
func (t *transcriptCheck) noteOmitted(e *exchange) {
	e.side.unknown, e.question.answered = true, true
	if e.method.phase == phaseMove && t.severalTurns() {
		t.position = nil
	}
	t.note(RuleTranscript, t.location(SeverityNote, e.at, e.side.id),
		"the file omits this answer of %s: the result of %s cannot be compared with it", e.side.id, t.match.id)
}

// checkFailure checks the refusal of a response that does not count.
func (t *transcriptCheck) checkFailure(e *exchange) {
	s := e.side
	if !e.method.phase.asks() {
		return // a player that does not acknowledge the end has played all the same
	}
	s.failedAt, s.fault = e.at, e.Error.ErrorCode
	if e.read.err != nil || e.method.phase != phaseMove {
		return
	}
	switch code := protocol.Code(e.Error.ErrorCode); code {
	case protocol.ErrInvalidParityChoice, protocol.ErrIllegalMove:
		if move := e.message.move(); t.legal(s, move, false) {
			t.find(e, "/error", "the answer %q of %s was refused with %s, but is a legal move", move, s.id, code)
		}
	case protocol.ErrMatchIDMismatch:
		if e.message.MatchID == t.match.id {
			t.find(e, "/error", "the answer of %s was refused with %s, but it is about %s", s.id, code, t.match.id)
		}
	}
}

// countsDespiteError tells whether a response counts although a member of it
// cannot be read (E002): the decisive members are right, and no GAME_ERROR
// followed.
func (t *transcriptCheck) countsDespiteError(e *exchange) bool {
	m := e.message
	if t.reportedAfter(e) || e.Error.ErrorCode != string(protocol.ErrInvalidFieldType) || len(e.Message) == 0 ||
		m.MatchID != "" && m.MatchID != t.match.id || m.MatchID == "" && e.Unreadable("match_id") ||
		m.MessageType != e.method.response && protocol.IsMessageType(m.MessageType) {
		return false
	}
	switch e.method.phase {
	case phaseJoin:
		_, digest := protocol.ParseSecret(m.EntropyCommitment)
		return m.Accept != nil && (m.EntropyCommitment == "" || digest)
	case phaseMove:
		return m.move() != "" && t.legal(e.side, m.move(), true) && (e.side.commitment == "" || t.keepsCommitment(e))
	}
	return false
}

// reportedAfter tells whether the next message to the player is a GAME_ERROR.
func (t *transcriptCheck) reportedAfter(e *exchange) bool {
	later := t.doc.Transcript[e.index+1:]
	next := slices.IndexFunc(later, func(x store.Exchange) bool {
		return x.Direction == store.Sent && x.PlayerID == e.PlayerID
	})
	return next >= 0 && later[next].Method == protocol.NotifyGameError.Name
}

// keepsCommitment tells whether a player revealed the entropy that it had
// committed to.
func (t *transcriptCheck) keepsCommitment(e *exchange) bool {
	_, opens := protocol.OpensEntropy(e.side.commitment, t.match.id, e.side.id, e.message.Entropy)
	return opens
}

// checkAnswer checks a response that counts: it must be about this match, in time,
// of the right type, and legal.
func (t *transcriptCheck) checkAnswer(e *exchange) {
	s, m := e.side, e.message
	e.question.answered, e.question.correct = true, e.Error == nil
	if !e.method.phase.asks() {
		return
	}
	breach := protocol.RecordedBreach(e.Method, e.Message,
		protocol.ReplyTo{ConversationID: t.doc.ConversationID, PlayerID: s.id})
	if breach != nil { // although the meaning is clear
		first := Location{}
		if t.breaches[s.id].number == 0 {
			first = t.location(SeverityNote, e.at, s.id)
		}
		t.breaches.add(s.id, first, breach.Detail)
	}
	if m.MatchID != "" && m.MatchID != t.match.id {
		t.find(e, "/message/match_id", "the answer of %s counts, but is about %s", s.id, quoted(&m.MatchID))
	}
	if m.MessageType != e.method.response && protocol.IsMessageType(m.MessageType) {
		t.find(e, "/message/message_type", "the answer of %s counts, but is a %s instead of a %s", s.id,
			quoted(&m.MessageType), e.method.response)
	}
	if e.method.phase == phaseJoin {
		s.joined = m.Accept != nil && *m.Accept
		s.failedAt, s.fault = "", ""
		if !s.joined {
			s.failedAt = e.at
		}
		s.commitment = m.EntropyCommitment
		return
	}
	if after, late := t.late(e); late {
		t.find(e, "/at", "the answer of %s counts, but came %s after its deadline", s.id, after)
	}
	t.checkMove(e)
}

// checkMove checks a move that counts.
func (t *transcriptCheck) checkMove(e *exchange) {
	s, move := e.side, e.message.move()
	s.failedAt, s.entropy, s.last = "", "", move
	if string(e.message.Fallback) == "true" {
		s.fallbacks++
	}
	if !s.joined {
		t.find(e, "/message", "%s moved in %s without having joined it", s.id, t.match.id)
	}
	if !t.legal(s, move, true) {
		member := jsontext.Pointer("/message/move_data")
		if e.Method == protocol.ChooseParity.Name {
			member = "/message/parity_choice"
		}
		t.find(e, member, "the answer %.40q of %s counts, but is no legal move", move, s.id)
	}
	t.move(s, move)
	switch {
	case s.commitment == "":
	case t.keepsCommitment(e):
		s.entropy = e.message.Entropy
	default:
		t.findAt(RuleCommitment, s.id, e.at+"/message/entropy",
			"the entropy that %s revealed in %s is not what it committed to", s.id, t.match.id)
	}
}

// noteNonconforming makes one note for each player with answers that do not
// conform.
func (a *auditor) noteNonconforming() {
	for id, b := range a.breaches {
		a.note(RuleConformance, b.first, "the answers of %s do not conform to the protocol in %s; here: %s", id,
			words.Counted(b.number, "message"), b.what)
	}
}

// timingTolerance is how much the times of a match file may be off: they have
// milliseconds, and durations are measured by another clock.
const timingTolerance = 100 * time.Millisecond

// checkTiming compares the timing of a call with the times of its exchanges.
func (t *transcriptCheck) checkTiming(e *exchange) {
	timing := e.Timing
	if e.Void == "" && (e.Stalled != 0 || e.Local) {
		t.find(e, "/direction", "the call to %s has a fault of the referee's side, but the attempt is not void", e.side.id)
	}
	if timing == nil {
		return
	}
	if min(timing.Queued, timing.Connecting, timing.Waiting, timing.Reading) < 0 {
		t.find(e, "/timing", "a part of the call to %s took a negative time", e.side.id)
		return
	}
	if passed, known := t.passed(e); known && timing.Total() > passed+timingTolerance {
		t.find(e, "/timing", "the call to %s is said to have taken %v, but %v passed between request and response", e.side.id,
			timing.Total(), passed)
	}
}

// passed returns the time between a request and its response.
func (t *transcriptCheck) passed(e *exchange) (passed time.Duration, known bool) {
	q := e.question
	return t.at.Sub(q.calledAt), q.attempt == e.Try && !q.calledAt.IsZero() && !t.at.Before(q.calledAt) && !t.wentBack
}

// checkVoid checks that the file has evidence for a void attempt: a call attempt
// that counts for nothing because the fault was the referee's own. Without
// evidence, a referee could save a player that it likes.
//
// A response to a question for a move is void if the referee read it too late (Deadline).
// A timeout (E001) is void if the question waited at the referee, or the referee
// stalled, for more than the margin. The window was at least the time that passed
// besides, less a twentieth, by which the referee may have noticed its end late.
func (t *transcriptCheck) checkVoid(e *exchange) {
	switch {
	case !e.method.phase.asks():
		t.find(e, "/void", "%s asks %s nothing: the attempt cannot be void", quoted(&e.Method), e.side.id)
		return
	case e.Error == nil:
		t.find(e, "/void", "%s answered here: only a failure can be void", e.side.id)
		return
	}
	_, late := t.late(e)
	switch answered := len(e.Message) > 0; {
	case late && (answered || e.Omission() != "" || e.Error.ErrorCode != string(protocol.ErrTimeout)):
		return
	case answered:
		t.find(e, "/void", "%s answered here in time: only a failure can be void", e.side.id)
		return
	}
	code := protocol.Code(e.Error.ErrorCode)
	if e.Local && (code == protocol.ErrConnection || code == protocol.ErrTimeout) {
		return
	}
	if code != protocol.ErrTimeout {
		t.find(e, "/void", "a failure of %s with %s is said to be void, but nothing shows a fault of the referee's side",
			e.side.id, code)
		return
	}
	waited, stalled := protocol.ValueOf(e.Timing).Queued, protocol.FromMilliseconds(e.Stalled)
	passed, known := t.passed(e)
	if !known {
		passed = -1
	}
	margin := protocol.Margin((passed - waited - stalled - timingTolerance) * 20 / 21)
	if waited <= margin && stalled <= margin {
		t.find(e, "/void",
			"a failure of %s is said to be void (%s), but the question waited only %v at the referee, which stalled for %v",
			e.side.id, clip(e.Void), waited, stalled)
	}
}

// late tells whether the response to a question for a move is too late to count, and how
// long after the deadline the referee read it.
func (t *transcriptCheck) late(e *exchange) (after time.Duration, late bool) {
	at, err := protocol.ParseTimestamp(e.At)
	if err != nil || e.method.phase != phaseMove {
		return 0, false
	}
	return e.side.deadline.Late(at)
}
