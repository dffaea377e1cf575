package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

// roles are the roles of the sides.
var roles = [2]string{protocol.RolePlayerA, protocol.RolePlayerB}

// A playerSide is what a transcript has said about one player so far.
type playerSide struct {
	id         string
	side       rules.Side
	questions  map[string]*question // by method
	deadline   protocol.Deadline    // of the last move it was asked for
	unreported *store.Exchange      // its last failure, until a GAME_ERROR reports it
	unknown    bool                 // the file omits a response
	joined     bool
	failedAt   jsontext.Pointer // its last response, if that was none, wrong or a refusal
	fault      string           // the code of that failure; "" for a refusal
	commitment string           // its entropy_commitment
	entropy    string           // that it revealed
	last       string           // its last move that counts
	fallbacks  int              // of moves
	overs      int              // how often GAME_OVER was sent to it
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

	position  rules.Position // nil where it is not known
	moves     [2]string      // in this position
	moved     [2]bool
	at        time.Time // of the exchange before
	wentBack  bool      // a step back in time was noted
	nextPhase phase     // earlier ones are over
}

// An exchange is an entry of a transcript on the walk.
type exchange struct {
	*store.Exchange
	index    int
	at       jsontext.Pointer // in the file
	side     *playerSide
	method   matchMethod
	question *question
	read     readMessage
	message  *message // the message of a response, as far as it could be read
	deadline string   // of a question
	code     string   // of a GAME_ERROR
}

// find reports a finding at a member of an exchange.
func (t *transcriptCheck) find(e *exchange, member jsontext.Pointer, format string, args ...any) {
	t.findAt(RuleTranscript, e.side.id, e.at+member, format, args...)
}

// findAt reports a finding at a member of the file.
func (t *transcriptCheck) findAt(rule, player string, member jsontext.Pointer, format string, args ...any) {
	t.auditor.find(rule, t.location(SeverityFinding, member, player), format, args...)
}

// location is that of a member in findings or notes about a player.
func (t *transcriptCheck) location(severity string, member jsontext.Pointer, player string) Location {
	return t.file.where(t.auditor, severity, member).of(player)
}

// severalTurns tells whether the game is known and has more than one turn.
func (t *transcriptCheck) severalTurns() bool { return t.game != nil && t.game.MaxTurns() > 1 }

// toMove tells whether a side has a move to make in a known position.
func (t *transcriptCheck) toMove(s *playerSide) bool {
	return t.position != nil && slices.Contains(t.position.ToMove(), s.side) && !t.moved[s.side]
}

// legal tells whether a player may make a move now. Unknown is the answer where
// the position is not known.
func (t *transcriptCheck) legal(s *playerSide, move string, unknown bool) bool {
	switch {
	case t.game != nil && !t.severalTurns():
		return t.game.Start().Check(s.side, move) == nil
	case t.position == nil:
		return unknown
	}
	return t.position.Check(s.side, move) == nil
}

// move makes a move that counts. After one that cannot count, the position is not
// known.
func (t *transcriptCheck) move(s *playerSide, move string) {
	if !t.toMove(s) || t.position.Check(s.side, move) != nil {
		t.position = nil
		return
	}
	t.moves[s.side], t.moved[s.side] = move, true
	sides := t.position.ToMove()
	if slices.ContainsFunc(sides, func(side rules.Side) bool { return !t.moved[side] }) {
		return
	}
	for _, side := range sides {
		t.file.moves = append(t.file.moves, protocol.PlayerMove{PlayerID: t.match.players[side], Move: t.moves[side]})
	}
	t.position, t.moved = t.position.Play(t.moves), [2]bool{}
}

// checkTranscript makes one walk over the transcript of a file, and compares the
// result with it.
func (a *auditor) checkTranscript(f *matchFile) {
	d := f.value
	if d.WrittenBy == store.WrittenByManager {
		return
	}
	t := &transcriptCheck{auditor: a, file: f, doc: d, match: f.match}
	if a.reports != nil && d.GameType == a.reports.GameType {
		t.game, t.position = a.reports.Game, a.reports.Game.Start()
	}
	for i := range t.sides {
		t.sides[i] = playerSide{id: f.match.players[i], side: rules.Side(i), questions: map[string]*question{}}
	}
	f.moves = nil
	for i := range d.Transcript {
		t.walk(i)
	}
	f.complete = len(d.Transcript) > 0 && d.Omitted == 0 && !t.sides[0].unknown && !t.sides[1].unknown
	if d.Result == nil {
		return
	}
	if d.Lifecycle.State == protocol.StateAcknowledged && len(d.Transcript) > 0 { // before, GAME_OVER may still follow
		t.checkEnd()
	}
	if d.Omitted > 0 { // the omitted exchanges may decide
		here, entries := t.location(SeverityNote, "/transcript_omitted", ""), words.Counted(d.Omitted, "exchange")
		if len(d.Transcript) < store.MaxExchanges-store.ReservedExchanges {
			a.find(RuleTranscript, here, "the transcript of %s is said to omit %s, but with %s it is not full", t.match.id,
				entries, words.Counted(len(d.Transcript), "exchange"))
		} else {
			a.note(RuleTranscript, here, "the transcript of %s omits %s: the result cannot be compared with it", t.match.id,
				entries)
		}
		return
	}
	t.checkOutcome(&t.sides[0], "player_A", d.PlayerA.EntropyCommitment)
	t.checkOutcome(&t.sides[1], "player_B", d.PlayerB.EntropyCommitment)
}

// walk makes all checks of one exchange.
func (t *transcriptCheck) walk(i int) {
	e := &exchange{Exchange: &t.doc.Transcript[i], index: i, read: t.file.messages[i],
		at: jsontext.Pointer(fmt.Sprintf("/transcript/%d", i))}
	e.message, _ = e.read.typed.(*message)
	side := slices.Index(t.match.players[:], e.PlayerID)
	if side < 0 {
		t.findAt(RuleTranscript, e.PlayerID, e.at+"/player_id", "%s does not play %s", quoted(&e.PlayerID), t.match.id)
		return
	}
	e.side, e.method = &t.sides[side], methods[e.Method]
	if e.question = e.side.questions[e.Method]; e.question == nil {
		e.question = &question{}
		e.side.questions[e.Method] = e.question
	}
	t.checkTime(e)
	t.checkOrder(e)
	t.checkTokens(e)
	if inside := e.read.Type(); len(e.Message) > 0 && e.read.err == nil && validText(inside) != validText(e.MessageType) &&
		len(inside) <= protocol.MaxMessageType && !strings.Contains(inside, protocol.HiddenToken) {
		t.find(e, "/message_type", "message_type is %s, in the message it is %s", quoted(&e.MessageType), quoted(&inside))
	}
	switch e.Direction {
	case store.Sent:
		t.checkRequest(e)
	case store.Received:
		t.checkTiming(e)
		t.checkResponse(e)
	default:
		t.find(e, "/direction", "direction is %s; it must be sent or received", quoted(&e.Direction))
	}
}

// validText removes what is not UTF-8: the referee leaves it out of a type.
func validText(text string) string { return strings.ReplaceAll(text, "\uFFFD", "") }

// checkTime notes a step back in time.
func (t *transcriptCheck) checkTime(e *exchange) {
	at, err := protocol.ParseTimestamp(e.At)
	if err != nil {
		t.find(e, "/at", "at: %v", err)
		return
	}
	if at.Add(clockTolerance).Before(t.at) && !t.wentBack {
		t.wentBack = true
		t.note(RuleTime, t.location(SeverityNote, e.at+"/at", e.side.id),
			"this exchange is %s earlier than the one before: the clock was set back, or exchanges were moved", t.at.Sub(at))
	}
	t.at = at
}

// checkTokens finds tokens in a transcript, which may hold none: every reader of
// the file could impersonate the agent.
func (t *transcriptCheck) checkTokens(e *exchange) {
	const impersonation = "a token, or a text that looks like one: every reader of the file can impersonate its agent"
	if e.Error != nil && containsToken(e.Error.Detail) {
		t.find(e, "/error/detail", impersonation)
	}
	if !slices.ContainsFunc([]string{"auth_token", "tok-", "adm-", `\u`},
		func(part string) bool { return bytes.Contains(e.Message, []byte(part)) }) {
		return // the usual case, fast
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(e.Message), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return
		}
		at := decoder.StackPointer()
		container, position := decoder.StackIndex(decoder.StackDepth())
		isValue := container != '{' || position%2 == 0
		if isValue && at.LastToken() == "auth_token" && token.Kind() != 'n' && token.String() != "" ||
			token.Kind() == '"' && containsToken(token.String()) {
			t.find(e, "/message"+at, impersonation)
			return
		}
	}
}

func containsToken(text string) bool {
	return protocol.WithoutTokens(text) != text
}

// checkOrder checks the order of the phases and counts requests, responses and
// call attempts.
func (t *transcriptCheck) checkOrder(e *exchange) {
	s, last, sent := e.side, *e.question, e.Direction == store.Sent
	if e.method.request == "" {
		t.find(e, "/method", "%s is no method of a match", quoted(&e.Method))
	}
	if sent {
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
	if sent && e.Method == protocol.MakeMove.Name && t.severalTurns() && t.position != nil && !t.toMove(s) {
		t.find(e, "/method", "%s was asked for a move in %s when it had none to make", s.id, t.match.id)
	}
	once := e.method.phase != phaseMove || t.game != nil && !t.severalTurns()
	switch {
	case sent && last.correct && once:
		t.find(e, "/method", "%s was asked again by %s, although its answer was correct", s.id, quoted(&e.Method))
	case sent && e.Try == last.attempt+1 && !last.correct, // the next attempt at the question
		sent && e.Try == 1 && (last.attempt == 0 || last.answered && !once), // a new question
		!sent && (e.Try == last.attempt || last.attempt == 0):
	default:
		t.find(e, "/try", "try %d of %s of %s comes after try %d", e.Try, quoted(&e.Method), s.id, last.attempt)
	}
}

// checkEnd checks that GAME_OVER was sent once to each player. A referee that was
// restarted in between reports the result without sending GAME_OVER.
func (t *transcriptCheck) checkEnd() {
	if t.sides[0].overs == 0 && t.sides[1].overs == 0 {
		t.note(RuleTranscript, t.location(SeverityNote, "/transcript", ""),
			"no player was told in the transcript how %s ended: its referee was restarted in between, or the exchanges were cut out", t.match.id)
		return
	}
	for i := range t.sides {
		if s := &t.sides[i]; s.overs != 1 {
			t.findAt(RuleTranscript, s.id, "/transcript", "%s was told %s how %s ended; each player is told once", s.id,
				words.Counted(s.overs, "time"), t.match.id)
		}
	}
}

// checkOutcome compares the result with all that one player answered.
func (t *transcriptCheck) checkOutcome(s *playerSide, member jsontext.Pointer, commitment string) {
	if s.unknown {
		return
	}
	result, id := &t.doc.Result.Result, t.match.id
	find := func(at jsontext.Pointer, format string, args ...any) {
		t.findAt(RuleTranscript, s.id, at, format, args...)
	}
	lost, failed := result.Outcome(s.id) == league.TechnicalLoss, s.failedAt != ""
	switch {
	case lost && !failed:
		find("/result/status",
			"%s is said to have failed in %s, but the transcript does not end with a failure of it", s.id, id)
	case !lost && failed:
		find(s.failedAt, "%s failed here and did not correct it, but the result of %s does not say so", s.id, id)
	case !lost && !s.joined:
		find("/transcript", "%s is said to have played %s, but never joined it", s.id, id)
	}
	player, used := jsontext.Pointer(s.id), s.entropy
	choice, _ := result.Choices.Get(s.id)
	fallbacks, _ := result.Fallbacks.Get(s.id)
	fault, _ := result.Faults.Get(s.id)
	if t.doc.Draw != nil {
		used, _ = t.doc.Draw.Entropies.Get(s.id)
	}
	hidden := used == "" && s.entropy == (protocol.Secret{}).Hex()
	last := s.last
	if lost && t.plain() { // the missing choice shows the loss: see referee
		last = ""
	}
	for _, said := range []struct {
		rule, what string
		member     jsontext.Pointer
		got, want  string
		differs    bool
	}{
		{RuleTranscript, "error code", "/result/faults/" + player, orNone(fault), orNone(s.fault),
			lost && failed && fault != s.fault},
		{RuleTranscript, "choice", "/result/choices/" + player, orNone(protocol.ValueOf(choice)), orNone(last),
			(choice != nil) != (last != "") || protocol.ValueOf(choice) != last},
		{RuleTranscript, "number of fallbacks", "/result/fallbacks/" + player, strconv.Itoa(fallbacks),
			strconv.Itoa(s.fallbacks), fallbacks != s.fallbacks},
		{RuleCommitment, "entropy commitment", "/" + member + "/entropy_commitment", orNone(commitment),
			orNone(s.commitment), commitment != s.commitment},
		{RuleCommitment, "entropy", "/draw/entropies/" + player, orNone(used), orNone(s.entropy),
			used != s.entropy && !hidden},
	} {
		if said.differs {
			t.findAt(said.rule, s.id, said.member, "the %s of %s in %s is %s, in the transcript it is %s",
				said.what, s.id, id, said.got, said.want)
		}
	}
}
