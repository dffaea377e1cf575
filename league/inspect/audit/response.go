package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/rules"
)

// checkResponse judges a response as the referee must have judged it, and makes it count as the file says.
func (t *transcriptCheck) checkResponse(e *exchange) {
	s, asks := e.side, e.method.phase.asks()
	t.checkTiming(e)
	if e.method.phase == phaseMove {
		s.deadline.Queue(e.Timing)
	}
	if !t.isResponse(e) {
		return
	}
	switch {
	case !asks: // a player that does not acknowledge the end has played all the same
		return
	case s.ignored:
		s.ignored = false
		return
	case e.Omission() != "" && e.Void == "":
		t.noteOmitted(e)
	}
	if t.conduct == nil {
		return
	}
	if s.open[e.Method] < 0 { // it was not asked: that is a finding
		step, after := t.next(s)
		if t.conduct == nil || step.Kind != conduct.Ask || step.Method.Name != e.Method {
			return
		}
		*t.conduct, s.phase = after, e.method.phase
	}
	if !e.method.phase.asked(t.conduct) { // it comes too late: that is a finding
		return
	}
	attempt := t.attempt(e)
	if attempt.Reply == nil && attempt.Fault == nil { // nothing tells what it was
		t.conduct = nil
		return
	}
	t.judgeText(e, attempt.Reply)
	if t.conduct == nil {
		return
	}
	t.checkUsed(e, attempt)
	worth := t.conduct.Judge(s.side, attempt)
	switch {
	case e.Void != "":
		t.checkVoid(e, &worth)
	case t.counts(e, &worth):
		t.checkAnswer(e, attempt.Reply, &worth)
	default:
		worth = t.checkFailure(e, attempt, worth)
	}
	if t.conduct == nil {
		return
	}
	t.checkLeft(e, &worth)
	t.conduct.Take(s.side, worth)
	if t.conduct.Strayed() { // by the rules of the game, whatever the conduct says
		if !s.unknown {
			t.illegal(e, attempt.Reply.Choice)
		}
		t.conduct = nil
	}
}

// isResponse tells whether an exchange can be a response to its method. It reports why not, and a response that names
// another try.
func (t *transcriptCheck) isResponse(e *exchange) bool {
	s := e.side
	switch {
	case e.Void != "" && !e.method.phase.asks():
		t.find(e, "/void", "%s asks %s nothing: the attempt cannot be void", quoted(&e.Method), s.id)
		return false
	case e.Void != "" && e.Error == nil:
		t.find(e, "/void", "%s answered here: only a failure can be void", s.id)
		return false
	case e.Error == nil && e.read.err != nil:
		t.find(e, "/message", "the answer counts, but cannot be read: %s", Reason(e.read.err))
		return false
	case e.Error == nil && len(e.Message) == 0:
		t.find(e, "", "this is neither an answer of %s nor a failure", s.id)
		return false
	case e.method.phase != phaseNone && s.open[e.Method] >= 0 && e.Try != s.try:
		t.find(e, "/try", "the answer of %s to %s is said to be of try %d; it was asked by try %d", s.id, quoted(&e.Method), e.Try, s.try)
	}
	return true
}

// attempt is how a call attempt ended, as far as the file tells. It does not have what only the caller can know of a
// failure: its HTTP status, and how long the player asked the referee to wait.
func (t *transcriptCheck) attempt(e *exchange) *conduct.Attempt {
	a := &conduct.Attempt{At: t.at, Timing: e.Timing, Local: e.Local, Overdue: protocol.FromMilliseconds(e.Stalled)}
	switch {
	case e.Omission() != "" && e.Void == "" && !t.reportedAfter(e):
		a.Reply = t.omitted(e)
	case len(e.Message) > 0 && e.read.err == nil:
		a.Reply = conduct.ReplyOf(e.read.message)
		for _, member := range e.UnreadableMembers {
			a.Reply.Broken = append(a.Reply.Broken, protocol.FieldError{Field: member})
		}
		a.Reply.Breach = e.method.breach(e.read.message, protocol.ReplyTo{
			ConversationID: t.doc.ConversationID, PlayerID: e.side.id}) // but for the access token, which no file has
	case e.Error != nil:
		code := protocol.Code(e.Error.ErrorCode)
		a.Fault = protocol.Fault(code, "%s", e.Error.Detail)
		a.Fault.Remote = code == protocol.ErrRateLimited
		if code == protocol.ErrTimeout && e.Void == "" {
			a.At = time.Time{} // deadlines have whole seconds: a call that ended later shows no stall of the referee
		}
	}
	return a
}

// noteOmitted notes a response that the file omits, so that nobody can tell whether it counted.
func (t *transcriptCheck) noteOmitted(e *exchange) {
	e.side.unknown = true
	t.note(RuleTranscript, t.location(SeverityNote, e.at, e.side.id),
		"the file omits this answer of %s: the result of %s cannot be compared with it", e.side.id, t.match.id)
}

// omitted is the answer that the file omits, by what the rest of the file says of it; nil if it says nothing.
func (t *transcriptCheck) omitted(e *exchange) *conduct.Reply {
	s, yes, of := e.side, true, t.doc.PlayerA
	if s.id == t.doc.PlayerB.PlayerID {
		of = t.doc.PlayerB
	}
	r := &conduct.Reply{Accept: &yes, EntropyCommitment: of.EntropyCommitment, Unsigned: false}
	if e.method.phase == phaseJoin || t.doc.Result == nil {
		return r
	}
	if choice, _ := t.doc.Result.Choices.Get(s.id); choice != nil {
		r.Choice = *choice
	}
	if rules.ListsMoves(t.game) {
		moves := t.doc.Moves[min(len(t.conduct.Moves()), len(t.doc.Moves)):]
		i := slices.IndexFunc(moves, func(m protocol.PlayerMove) bool { return m.PlayerID == s.id })
		if i < 0 {
			return nil
		}
		r.Choice = moves[i].Move
	}
	if t.doc.Draw != nil {
		r.Entropy, _ = t.doc.Draw.Entropies.Get(s.id)
	}
	signed, _ := t.doc.Signatures.Get(s.id)
	r.Signature = signed.Signature
	return r
}

// counts tells whether a response counts by the file: it has no error; or only one about members that the referee could
// not read and did not need, so that no GAME_ERROR follows.
func (t *transcriptCheck) counts(e *exchange, worth *conduct.Worth) bool {
	if e.Error == nil || e.Omission() != "" && !t.reportedAfter(e) {
		return true
	}
	return worth.Fault == nil && e.Error.ErrorCode == string(protocol.ErrInvalidFieldType) && len(e.Message) > 0 && !t.reportedAfter(e)
}

// reportedAfter tells whether the next message to the player is a GAME_ERROR.
func (t *transcriptCheck) reportedAfter(e *exchange) bool {
	next := t.later[e.index].sent
	return next > 0 && t.doc.Transcript[next].Method == protocol.NotifyGameError.Name
}

// checkAnswer checks a response that counts: it must be about this match, in time, of the right type, and legal.
func (t *transcriptCheck) checkAnswer(e *exchange, r *conduct.Reply, worth *conduct.Worth) {
	s := e.side
	s.failedAt, s.fault, s.counted = "", "", e.at
	t.checkSignedView(e, r)
	if breach := r.Breach; breach != nil { // although the meaning is clear
		first := Location{}
		if t.breaches[s.id].number == 0 {
			first = t.location(SeverityNote, e.at, s.id)
		}
		t.breaches.add(s.id, first, breach.Detail)
	}
	if worth.Verdict == conduct.Lost && worth.Fault == nil { // it refused the invitation
		s.failedAt = e.at
	}
	rule, member, why := RuleTranscript, "", ""
	after, late := s.deadline.Late(t.at)
	switch {
	case r.MatchID != "" && r.MatchID != t.match.id: // this and the next are known without the conduct
		member, why = "/message/match_id", "is about "+quoted(&r.MatchID)
	case late && e.method.phase == phaseMove:
		member, why = "/at", fmt.Sprintf("came %s after its deadline", after)
	case worth.Fault == nil:
		return
	case s.unknown: // and the rest of the file does not tell
		t.conduct = nil
		return
	case worth.Fault.Code == protocol.ErrInvalidParityChoice, worth.Fault.Code == protocol.ErrIllegalMove:
		worth.Verdict = conduct.Counts // and then the game has strayed
		return
	case r.Type != e.method.row.Result && protocol.IsMessageType(r.Type):
		member = "/message/message_type"
	case strings.HasPrefix(worth.Fault.Detail, "entropy "):
		rule, member, why = RuleCommitment, "/message/entropy", "the entropy in it is not what it committed to"
	case strings.HasPrefix(worth.Fault.Detail, "signature "):
		rule, member = RuleSignature, "/message/signature"
	}
	if why == "" {
		why = "by the rules it does not: " + worth.Fault.Detail
	}
	t.findAt(rule, s.id, e.at+jsontext.Pointer(member), "the answer of %s counts, but %s", s.id, why)
	worth.Verdict, worth.Fault, worth.Void = conduct.Counts, nil, ""
}

// illegal finds a move that counts and is not legal.
func (t *transcriptCheck) illegal(e *exchange, choice string) {
	t.find(e, jsontext.Pointer("/message/"+protocol.MoveFormBy(e.Method).Choice[0]),
		"the answer %.40q of %s counts, but is no legal move", choice, e.side.id)
}

// checkFailure checks the refusal of a response that does not count, and returns what it was worth by the file.
func (t *transcriptCheck) checkFailure(e *exchange, a *conduct.Attempt, worth conduct.Worth) conduct.Worth {
	s, code := e.side, protocol.Code(e.Error.ErrorCode)
	s.failedAt, s.fault = e.at, e.Error.ErrorCode
	meant := code == protocol.ErrMatchIDMismatch || code == protocol.ErrInvalidParityChoice || code == protocol.ErrIllegalMove
	switch r := a.Reply; {
	case r == nil:
	case t.conduct.Strict() && !meant: // the file lacks a part of its form: the access token, and members without a value
		r.Breach = protocol.Fault(code, "%s", e.Error.Detail)
		worth = t.conduct.Judge(s.side, a)
	case worth.Fault == nil && r.Signature != "": // else it is enough that the result is signed
		if statement, key, due := t.conduct.Statement(s.side, r); due {
			r.Unsigned = !statement.Verify(key, r.Signature)
			worth = t.conduct.Judge(s.side, a)
		}
	}
	said, known := t.verdict(e, code)
	agrees := worth.Fault != nil && worth.Fault.Code == code
	switch {
	case worth.Verdict == conduct.Void: // the referee did not say so, and knew more
	case worth.Fault == nil && e.method.phase == phaseMove && protocol.MoveFormBy(e.Method).Illegal == code:
		t.find(e, "/error", "the answer %q of %s was refused with %s, but is a legal move", a.Reply.Choice, s.id, code)
	case worth.Fault == nil:
		t.find(e, "/error", "the answer of %s was refused with %s, but counts by the rules", s.id, code)
	case !agrees:
		t.find(e, "/error", "the answer of %s was refused with %s; by the rules it is %s: %s", s.id, code, worth.Fault.Code,
			worth.Fault.Detail)
	case !known || said == worth.Verdict:
		return worth
	case said == conduct.Wait || worth.Verdict == conduct.Wait: // the file does not say how long it asked to wait
	case s.doubted || t.mayBe(s, a, said):
	case said == conduct.Lost:
		t.find(e, "", "%s has lost %s by this failure, but the league gives it another attempt", s.id, t.match.id)
	default:
		t.find(e, "", "%s gets another attempt in %s after this failure, but the league gives it none", s.id, t.match.id)
	}
	if !known {
		said = conduct.Again
	}
	worth.Verdict, worth.Fault, worth.Void, worth.Loss = said, protocol.Fault(code, "%s", e.Error.Detail), "", "failed"
	return worth
}

// verdict is what a failure was worth by what follows it in the file. It is not known of the last one of an attempt
// that was given up.
func (t *transcriptCheck) verdict(e *exchange, code protocol.Code) (said conduct.Verdict, known bool) {
	next, again := t.later[e.index].sent, t.later[e.index].asked
	if next == 0 {
		return 0, false
	}
	if t.doc.Transcript[next].Method == e.Method && code == protocol.ErrRateLimited {
		return conduct.Wait, true
	}
	report, reported := t.file.messages[next].message.(*protocol.GameError)
	if reported && report.Retryable != nil {
		if *report.Retryable {
			return conduct.Again, true
		}
		return conduct.Lost, true
	}
	if again > 0 && t.doc.Transcript[again].Try > e.Try {
		return conduct.Again, true
	}
	return conduct.Lost, reported && t.doc.Result != nil // else the referee may have stopped before it asked again
}

// mayBe tells whether a failure has a verdict within the time by which the file is imprecise: deadlines have seconds,
// and a question waits up to a second for the delivery of the GAME_ERROR before it.
func (t *transcriptCheck) mayBe(s *playerSide, a *conduct.Attempt, said conduct.Verdict) bool {
	const imprecise = 2*time.Second + timingTolerance
	earlier, later := *a, *a
	earlier.At, later.At = a.At.Add(-imprecise), a.At.Add(imprecise)
	return t.conduct.Judge(s.side, &earlier).Verdict == said || t.conduct.Judge(s.side, &later).Verdict == said
}

// checkVoid checks that the file has evidence for a void attempt: a call attempt that counts for nothing because the
// fault was the referee's own. Without evidence, a referee could save a player that it likes.
func (t *transcriptCheck) checkVoid(e *exchange, worth *conduct.Worth) {
	code := protocol.Code(e.Error.ErrorCode)
	switch answered := len(e.Message) > 0; {
	case worth.Verdict == conduct.Void && (!e.Local || pauses(code)):
		return
	case answered:
		t.find(e, "/void", "%s answered here in time: only a failure can be void", e.side.id)
	case code != protocol.ErrTimeout:
		t.find(e, "/void", "a failure of %s with %s is said to be void, but nothing shows a fault of the referee's side",
			e.side.id, code)
	default:
		t.find(e, "/void",
			"a failure of %s is said to be void (%s), but the question waited only %v at the referee, which stalled for %v",
			e.side.id, clip(e.Void), protocol.ValueOf(e.Timing).Queued, protocol.FromMilliseconds(e.Stalled))
	}
	worth.Verdict, worth.Fault = conduct.Void, protocol.Fault(code, "%s", e.Error.Detail)
	worth.Void, worth.Used = e.Void, nil
}

// pauses tells whether a call can fail with a code at the referee's side.
func pauses(code protocol.Code) bool {
	return code == protocol.ErrConnection || code == protocol.ErrTimeout
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
	s := e.side
	known := e.method.phase != phaseNone && e.Try == s.try && !s.calledAt.IsZero() && !t.wentBack
	if passed := t.at.Sub(s.calledAt); known && passed >= 0 && timing.Total() > passed+timingTolerance {
		t.find(e, "/timing", "the call to %s is said to have taken %v, but %v passed between request and response", e.side.id,
			timing.Total(), passed)
	}
}
