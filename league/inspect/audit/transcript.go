package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A message holds the members of a player's reply that the referee judges by.
type message struct {
	protocol.Envelope
	MatchID           string            `json:"match_id"`
	PlayerID          string            `json:"player_id"`
	Accept            *bool             `json:"accept"`
	EntropyCommitment string            `json:"entropy_commitment"`
	ParityChoice      string            `json:"parity_choice"`
	MoveData          protocol.MoveData `json:"move_data"`
	Entropy           string            `json:"entropy"`
	Fallback          jsontext.Value    `json:"fallback"` // any value, because only true says something
}

func (m *message) move() string {
	if m.ParityChoice != "" {
		return m.ParityChoice
	}
	return m.MoveData.Choice
}

// A phase is a part of a match. The methods of a phase are called after those of
// the phases before.
type phase int

const (
	phaseNone phase = iota // GAME_ERROR comes in every phase
	phaseJoin
	phaseMove
	phaseEnd
)

// A matchMethod is a method of a match as a transcript has it.
type matchMethod struct {
	phase             phase
	request, response string // message types
}

func matchMethodOf(name string) (m matchMethod, known bool) {
	switch name {
	case protocol.Invite.Name:
		return matchMethod{phaseJoin, protocol.Invite.Request, protocol.Invite.Result}, true
	case protocol.ChooseParity.Name:
		return matchMethod{phaseMove, protocol.ChooseParity.Request, protocol.ChooseParity.Result}, true
	case protocol.MakeMove.Name:
		return matchMethod{phaseMove, protocol.MakeMove.Request, protocol.MakeMove.Result}, true
	case protocol.NotifyMatchResult.Name:
		return matchMethod{phaseEnd, protocol.NotifyMatchResult.Request, protocol.NotifyMatchResult.Result}, true
	case protocol.NotifyGameError.Name:
		return matchMethod{phaseNone, protocol.NotifyGameError.Request, protocol.NotifyGameError.Result}, true
	}
	return matchMethod{}, false
}

// A playerSide is what a transcript has said about one player so far.
type playerSide struct {
	id         string
	side       rules.Side
	questions  map[string]*question // by method
	deadline   protocol.Deadline    // of the last move it was asked for
	unreported *store.Exchange      // its last failure, until a GAME_ERROR reports it
	unknown    bool                 // the file omits a response
	joined     bool                 //
	failed     bool                 // its last response was none, wrong or a refusal
	failedAt   int                  // the index of that exchange
	fault      string               // the code of that failure; "" for a refusal
	commitment string               // its entropy_commitment
	entropy    string               // that it revealed
	moves      []string             // that count
	fallbacks  int                  // of moves
	overs      int                  // how often GAME_OVER was sent to it
}

// A question is what a player was asked last by one method.
type question struct {
	open     int // requests less responses, of all questions of the method
	attempt  int // the last call attempt; 0 before the first
	calledAt time.Time
	answered bool // with a response that counts, as far as that is known
	correct  bool // with a response without any error
}

// A transcriptCheck is one walk over a transcript.
type transcriptCheck struct {
	*auditor
	file  *matchFile
	doc   *store.Match
	match *scheduledMatch
	game  rules.Game // nil if this program does not know it
	sides [2]playerSide

	current   exchange
	progress  progress
	at        time.Time // of the exchange before
	wentBack  bool      // a step back in time was noted
	nextPhase phase     // earlier ones are over
}

// An exchange is an entry of a transcript on the walk.
type exchange struct {
	*store.Exchange
	index    int
	side     *playerSide
	method   matchMethod
	question *question
	read     readMessage
	message  *message // the message of a response, as far as it could be read
	deadline string   // of a question
	code     string   // of a GAME_ERROR
}

// A typed is a message that has a type.
type typed interface{ Type() string }

// A readMessage is the message of an exchange, or why it cannot be read.
type readMessage struct {
	typed
	err error
}

// readMessages reads the messages of a transcript, each as the type that its method
// and its direction imply.
func readMessages(transcript []store.Exchange) []readMessage {
	all := make([]readMessage, len(transcript))
	for i := range transcript {
		e, m := &transcript[i], &all[i]
		m.typed = newMessage(e)
		if len(e.Message) > 0 {
			m.err = json.Unmarshal(e.Message, m.typed)
		}
	}
	return all
}

func newMessage(e *store.Exchange) typed {
	if e.Direction == store.Sent {
		switch e.Method {
		case protocol.Invite.Name:
			return new(protocol.GameInvitation)
		case protocol.ChooseParity.Name:
			return new(protocol.ChooseParityCall)
		case protocol.MakeMove.Name:
			return new(protocol.GameMoveCall)
		case protocol.NotifyMatchResult.Name:
			return new(protocol.GameOver)
		case protocol.NotifyGameError.Name:
			return new(protocol.GameError)
		}
	}
	return new(message)
}

// find reports a finding at a member of an exchange.
func (t *transcriptCheck) find(e *exchange, member jsontext.Pointer, format string, args ...any) {
	t.findAt(RuleTranscript, e.side.id, e.pointer()+member, format, args...)
}

func (e *exchange) pointer() jsontext.Pointer {
	return jsontext.Pointer(fmt.Sprintf("/transcript/%d", e.index))
}

// findAt reports a finding at a member of the file.
func (t *transcriptCheck) findAt(rule, player string, member jsontext.Pointer, format string, args ...any) {
	at := t.location(member)
	at.agentID = player
	t.auditor.find(rule, at, format, args...)
}

func (t *transcriptCheck) location(member jsontext.Pointer) location {
	return location{file: t.file.file, line: t.file.line(member), matchID: t.match.id}
}

// checkTranscript makes one walk over the transcript of a file, and compares the
// result with it.
func (a *auditor) checkTranscript(f *matchFile) {
	d := f.value
	if d.WrittenBy == store.WrittenByManager {
		return
	}
	t := &transcriptCheck{auditor: a, file: f, doc: d, match: f.match}
	if game, err := a.games.Game(d.GameType); err == nil {
		t.game, t.progress.position = game, game.Start()
	}
	for i := range t.sides {
		t.sides[i] = playerSide{id: f.match.players[i], side: rules.Side(i), questions: map[string]*question{}, failedAt: -1}
	}
	for i := range d.Transcript {
		t.walk(i)
	}
	a0, b := &t.sides[0], &t.sides[1]
	f.complete = len(d.Transcript) > 0 && d.Omitted == 0 && !a0.unknown && !b.unknown
	f.moves = [2][]string{a0.moves, b.moves}
	if d.Result == nil {
		return
	}
	if d.Lifecycle.State == store.StateAcknowledged && len(d.Transcript) > 0 { // before, GAME_OVER may still follow
		t.checkEnd()
	}
	if d.Omitted > 0 { // the omitted exchanges may decide
		here, entries := t.location("/transcript_omitted"), protocol.Counted(d.Omitted, "exchange")
		if len(d.Transcript) < store.MaxExchanges-store.ReservedExchanges {
			a.find(RuleTranscript, here, "the transcript of %s is said to omit %s, but with %s it is not full", t.match.id,
				entries, protocol.Counted(len(d.Transcript), "exchange"))
		} else {
			a.note(RuleTranscript, here, "the transcript of %s omits %s: the result cannot be compared with it", t.match.id, entries)
		}
		return
	}
	t.checkOutcome(a0, "player_A", d.PlayerA.EntropyCommitment)
	t.checkOutcome(b, "player_B", d.PlayerB.EntropyCommitment)
}

// walk makes all checks of one exchange.
func (t *transcriptCheck) walk(i int) {
	t.current = exchange{Exchange: &t.doc.Transcript[i], index: i, read: t.file.messages[i]}
	e := &t.current
	e.message, _ = e.read.typed.(*message)
	side := slices.Index(t.match.players[:], e.PlayerID)
	if side < 0 {
		t.findAt(RuleTranscript, e.PlayerID, e.pointer()+"/player_id", "%s does not play %s", quoted(&e.PlayerID), t.match.id)
		return
	}
	e.side = &t.sides[side]
	e.method, _ = matchMethodOf(e.Method)
	if e.question = e.side.questions[e.Method]; e.question == nil {
		e.question = &question{}
		e.side.questions[e.Method] = e.question
	}
	for _, c := range t.checks {
		if c.exchange != nil {
			c.exchange(t, e)
		}
	}
}

// checkTime notes a step back in time.
func (t *transcriptCheck) checkTime(e *exchange) {
	at, err := protocol.ParseTimestamp(e.At)
	if err != nil {
		t.find(e, "/at", "at: %v", err)
		return
	}
	if at.Add(clockTolerance).Before(t.at) && !t.wentBack {
		t.wentBack = true
		here := t.location(e.pointer() + "/at")
		here.agentID = e.side.id
		t.note(RuleTime, here, "this exchange is %s earlier than the one before: the clock was set back, or exchanges were moved", t.at.Sub(at))
	}
	t.at = at
}

// checkOrder checks the order of the phases and counts requests, responses and
// call attempts.
func (t *transcriptCheck) checkOrder(e *exchange) {
	s, last := e.side, *e.question
	if _, known := matchMethodOf(e.Method); !known {
		t.find(e, "/method", "%s is no method of a match", quoted(&e.Method))
	}
	if e.Direction == store.Sent {
		*e.question = question{open: last.open + 1, attempt: e.Try, calledAt: t.at}
	} else if e.question.open--; e.question.open < 0 && t.doc.Omitted == 0 {
		t.find(e, "/method", "%s answered %s without being asked", s.id, quoted(&e.Method))
	}
	if e.method.phase == phaseNone {
		return
	}
	if e.method.phase < t.nextPhase {
		t.find(e, "/method", "%s comes after exchanges that must follow it", quoted(&e.Method))
	}
	t.nextPhase = max(t.nextPhase, e.method.phase)
	if e.Direction == store.Sent && e.Method == protocol.MakeMove.Name && t.severalTurns() && t.progress.known() && !t.progress.asks(s.side) {
		t.find(e, "/method", "%s was asked for a move in %s when it had none to make", s.id, t.match.id)
	}
	once := e.method.phase != phaseMove || t.game != nil && !t.severalTurns()
	switch {
	case e.Direction != store.Sent:
		if e.Try != last.attempt && last.attempt != 0 {
			t.find(e, "/try", "%s answered try %d of %s, but the last was try %d", s.id, e.Try, quoted(&e.Method), last.attempt)
		}
	case last.correct && once:
		t.find(e, "/method", "%s was asked again by %s, although its answer was correct", s.id, quoted(&e.Method))
	case e.Try == last.attempt+1 && !last.correct: // the next attempt at the question
	case e.Try == 1 && (last.attempt == 0 || last.answered && !once): // a new question
	default:
		t.find(e, "/try", "try %d of %s to %s comes after try %d", e.Try, quoted(&e.Method), s.id, last.attempt)
	}
}

// checkMessageType compares the type of an exchange with that in its message.
func (t *transcriptCheck) checkMessageType(e *exchange) {
	inside := e.read.Type()
	if len(e.Message) == 0 || len(inside) > store.MaxMessageType || strings.Contains(inside, protocol.HiddenToken) || e.read.err != nil {
		return
	}
	if validText(inside) != validText(e.MessageType) {
		t.find(e, "/message_type", "message_type is %s, in the message it is %s", quoted(&e.MessageType), quoted(&inside))
	}
}

// checkEnd checks that GAME_OVER was sent once to each player. A referee that was
// restarted in between reports the result without sending GAME_OVER.
func (t *transcriptCheck) checkEnd() {
	if t.sides[0].overs == 0 && t.sides[1].overs == 0 {
		t.note(RuleTranscript, t.location("/transcript"),
			"no player was told in the transcript how %s ended: its referee was restarted in between, or the exchanges were cut out", t.match.id)
		return
	}
	for i := range t.sides {
		if s := &t.sides[i]; s.overs != 1 {
			t.findAt(RuleTranscript, s.id, "/transcript", "%s was told %s how %s ended; each player is told once", s.id, protocol.Counted(s.overs, "time"), t.match.id)
		}
	}
}

// checkOutcome compares the result with all that one player answered.
func (t *transcriptCheck) checkOutcome(s *playerSide, member jsontext.Pointer, commitment string) {
	if s.unknown {
		return
	}
	result, id := &t.doc.Result.GameResult, t.match.id
	find := func(rule string, at jsontext.Pointer, format string, args ...any) {
		t.findAt(rule, s.id, at, format, args...)
	}
	lost := result.Status == protocol.StatusTechnicalLoss && (result.WinnerPlayerID == nil || *result.WinnerPlayerID != s.id)
	fault, _ := result.Faults.Get(s.id)
	switch {
	case lost && !s.failed:
		find(RuleTranscript, "/result/status", "%s is said to have failed in %s, but the transcript does not end with a failure of it", s.id, id)
	case !lost && s.failed:
		find(RuleTranscript, jsontext.Pointer(fmt.Sprintf("/transcript/%d", s.failedAt)), "%s failed here and did not correct it, but the result of %s does not say so", s.id, id)
	case !lost && !s.joined:
		find(RuleTranscript, "/transcript", "%s is said to have played %s, but never joined it", s.id, id)
	case lost && fault != s.fault && (fault != "" || t.countsFailures()): // earlier versions recorded no fault
		find(RuleTranscript, "/result/faults/"+jsontext.Pointer(s.id), "%s is said to have lost %s by %s; the last failure of the transcript is %s", s.id, id, orNone(fault), orNone(s.fault))
	}
	last := ""
	if len(s.moves) > 0 {
		last = s.moves[len(s.moves)-1]
	}
	choice, _ := result.Choices.Get(s.id)
	if given := choice != nil; given != (last != "") || given && *choice != last {
		find(RuleTranscript, "/result/choices/"+jsontext.Pointer(s.id), "the choice of %s in %s is %s, the last legal one in the transcript is %s", s.id, id, quoted(choice), orNone(last))
	}
	if n, _ := result.Fallbacks.Get(s.id); n != s.fallbacks {
		find(RuleTranscript, "/result/fallbacks/"+jsontext.Pointer(s.id), "the result of %s counts %s of %s, the answers in the transcript say %d", id, protocol.Counted(n, "fallback"), s.id, s.fallbacks)
	}
	if commitment != s.commitment {
		find(RuleCommitment, "/"+member+"/entropy_commitment", "the entropy commitment of %s in %s is %.12q…, in its GAME_JOIN_ACK %.12q…", s.id, id, commitment, s.commitment)
	}
	if t.doc.Draw != nil {
		if used, _ := t.doc.Draw.Entropies.Get(s.id); used != s.entropy && (used != "" || s.entropy != (protocol.Secret{}).Hex()) {
			find(RuleCommitment, "/draw/entropies/"+jsontext.Pointer(s.id), "the entropy of %s in the draw of %s is not what it revealed", s.id, id)
		}
	}
}
