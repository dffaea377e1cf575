package audit

import (
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// checkResponse judges a response as the referee must have judged it.
func (t *transcriptCheck) checkResponse(e *exchange) {
	s, phase := e.side, e.method.phase
	switch e.Direction {
	case store.Sent:
		return
	case store.Received:
	default:
		t.find(e, "/direction", "direction is %s; it must be sent or received", quoted(&e.Direction))
		return
	}
	if phase == phaseMove {
		s.deadline.Queue(e.Timing)
	}
	if e.Void != "" {
		t.checkVoid(e)
		return
	}
	if e.Error != nil && (phase == phaseJoin || phase == phaseMove) {
		s.unreported = e.Exchange
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
	s := e.side
	s.unknown = true
	if e.method.phase == phaseMove && t.severalTurns() {
		t.progress.position = nil
	}
	e.question.answered = true
	at := t.location(e.pointer())
	at.agentID = s.id
	t.note(RuleTranscript, at, "the file omits this answer of %s: the result of %s cannot be compared with it", s.id, t.match.id)
}

// checkFailure checks the refusal of a response that does not count.
func (t *transcriptCheck) checkFailure(e *exchange) {
	s, phase := e.side, e.method.phase
	if phase != phaseJoin && phase != phaseMove {
		return // a player that does not acknowledge the end has played all the same
	}
	s.failed, s.failedAt, s.fault = true, e.index, e.Error.ErrorCode
	if e.read.err != nil || phase != phaseMove {
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
	for i := range t.doc.Transcript[e.index+1:] {
		if next := &t.doc.Transcript[e.index+1+i]; next.Direction == store.Sent && next.PlayerID == e.PlayerID {
			return next.Method == protocol.NotifyGameError.Name
		}
	}
	return false
}

// keepsCommitment tells whether a player revealed the entropy that it had
// committed to.
func (t *transcriptCheck) keepsCommitment(e *exchange) bool {
	entropy, ok := protocol.ParseSecret(e.message.Entropy)
	return ok && protocol.OpensEntropy(e.side.commitment, t.match.id, e.side.id, entropy)
}

// checkAnswer checks a response that counts: it must be about this match, in time,
// of the right type, and legal.
func (t *transcriptCheck) checkAnswer(e *exchange) {
	s, m := e.side, e.message
	t.rememberBreach(e)
	e.question.answered, e.question.correct = true, e.Error == nil
	if e.method.phase != phaseJoin && e.method.phase != phaseMove {
		return
	}
	if m.MatchID != "" && m.MatchID != t.match.id {
		t.find(e, "/message/match_id", "the answer of %s counts, but is about %s", s.id, quoted(&m.MatchID))
	}
	if m.MessageType != e.method.response && protocol.IsMessageType(m.MessageType) {
		t.find(e, "/message/message_type", "the answer of %s counts, but is a %s instead of a %s", s.id, quoted(&m.MessageType), e.method.response)
	}
	if e.method.phase == phaseJoin {
		s.joined = m.Accept != nil && *m.Accept
		s.failed, s.failedAt, s.fault = !s.joined, e.index, ""
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
	s.failed, s.entropy = false, ""
	s.moves = append(s.moves, move)
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
	t.progress.move(s.side, move)
	switch {
	case s.commitment == "":
	case t.keepsCommitment(e):
		s.entropy = e.message.Entropy
	default:
		t.findAt(RuleCommitment, s.id, e.pointer()+"/message/entropy", "the entropy that %s revealed in %s is not what it committed to", s.id, t.match.id)
	}
}

// A breach is a form of a player's answers that does not conform to the protocol,
// although the meaning is clear.
type breach struct {
	first  location
	what   string
	number int
}

func (t *transcriptCheck) rememberBreach(e *exchange) {
	var what string
	switch m := e.message; {
	case m.Protocol != protocol.Name || m.MessageType == "" || m.Sender == "" || m.ConversationID == "":
		what = "the envelope is not complete"
	case m.ConversationID != t.doc.ConversationID:
		what = "conversation_id is not that of the request"
	case m.PlayerID != "" && m.PlayerID != e.side.id:
		what = "player_id is not the player's"
	case !protocol.ValidTimestamp(m.Timestamp):
		what = "the timestamp is not in UTC"
	case m.MessageType != e.method.response:
		what = "message_type is not that of the answer"
	default:
		return
	}
	known := t.breaches[e.side.id]
	if known == nil {
		known = &breach{what: what, first: t.location(e.pointer())}
		known.first.agentID = e.side.id
		t.breaches[e.side.id] = known
	}
	known.number++
}

// noteNonconforming makes one note for each player with answers that do not
// conform.
func (a *auditor) noteNonconforming() {
	for id, b := range a.breaches {
		a.note(RuleConformance, b.first, "the answers of %s do not conform to the protocol in %s; here %s", id, protocol.Counted(b.number, "message"), b.what)
	}
}
