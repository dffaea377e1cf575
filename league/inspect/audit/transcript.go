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
	"evenodd/league/conduct"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

// roles are the roles of the sides.
var roles = [2]string{protocol.RolePlayerA, protocol.RolePlayerB}

// A playerSide is what a transcript has said about one player so far.
type playerSide struct {
	id       string
	side     rules.Side
	open     map[string]int    // requests less responses, by method
	phase    phase             // of the present question
	try      int               // of the last request but for GAME_ERROR
	calledAt time.Time         // its time
	deadline protocol.Deadline // of the last question for a move
	failedAt jsontext.Pointer  // its last response, if that was none, wrong or a refusal
	fault    string            // the code of that failure; "" for a refusal
	counted  jsontext.Pointer  // its last answer that counts
	viewTurn int               // the turn of its last question in a game that hides something; 0 before the first
	viewHash string            // of what the history lets it see then
	// in its last question in a game with views: that of the nonce, as the file has it
	commitment string
	ignored    bool // it was asked in vain: its answer does not count
	unknown    bool // the file omits a response
	doubted    bool // there is a finding about its part of the transcript
	overs      int  // how often GAME_OVER was sent to it
	time       timeSum
}

// A transcriptCheck is one walk over a transcript. It has the conduct of the match do again what the referee did, and
// compares: a rule about retries, windows or void attempts is written there alone. After a difference it goes on from
// what the file says.
type transcriptCheck struct {
	*auditor
	file  *matchFile
	doc   *store.Match
	match *scheduledMatch
	sides [2]playerSide

	game      rules.Game     // nil for one that is not known
	conduct   *conduct.Match // nil where it is not known how the match goes on
	at        time.Time      // of the exchange before
	wentBack  bool           // a step back in time was noted
	nextPhase phase          // earlier ones are over
	later     []later        // by exchange
	draws     int            // that were compared

	// what the file says of a game whose program is not asked; nil before it is needed
	questions map[int]turnQuestions // by turn
	boards    map[int][][]string    // by turn

	last  *rules.State // what the program said last; nil before it is asked
	asked int          // the entries of the history that it was asked about
}

// A later has the indexes of two later exchanges with the player of an exchange; 0 for none.
type later struct {
	sent  int // the next message to it
	asked int // the next one by the same method
}

// laterOf finds the later exchanges of each, in one pass: a file may have very many.
func laterOf(transcript []store.Exchange) []later {
	all, next := make([]later, len(transcript)), map[[2]string]int{}
	for i := len(transcript) - 1; i >= 0; i-- {
		e := &transcript[i]
		every, same := [2]string{e.PlayerID}, [2]string{e.PlayerID, e.Method}
		all[i] = later{next[every], next[same]}
		if e.Direction == store.Sent {
			next[every], next[same] = i, i
		}
	}
	return all
}

// An exchange is an entry of a transcript on the walk.
type exchange struct {
	*store.Exchange
	index  int
	at     jsontext.Pointer // in the file
	side   *playerSide
	method *matchMethod
	read   readMessage
}

// find reports a finding at a member of an exchange.
func (t *transcriptCheck) find(e *exchange, member jsontext.Pointer, format string, args ...any) {
	t.findAt(RuleTranscript, e.side.id, e.at+member, format, args...)
}

// findAt reports a finding at a member of the file.
func (t *transcriptCheck) findAt(rule, player string, member jsontext.Pointer, format string, args ...any) {
	for i := range t.sides {
		t.sides[i].doubted = t.sides[i].doubted || t.sides[i].id == player
	}
	t.auditor.find(rule, t.location(SeverityFinding, member, player), format, args...)
}

// location is that of a member in findings or notes about a player.
func (t *transcriptCheck) location(severity string, member jsontext.Pointer, player string) Location {
	return t.file.where(t.auditor, severity, member).of(player)
}

// checkTranscript compares the transcript of a file with the configuration of the league by which the referee conducted
// the attempt, and the result with the transcript.
func (a *auditor) checkTranscript(f *matchFile) {
	if f.value.WrittenBy == store.WrittenByManager {
		return
	}
	all := a.configurations(f)
	for len(all) > 1 {
		trial := *a
		trial.report, trial.breaches = League{}, repetitions{}
		trial.listed, trial.unlisted = map[Unlisted]int{}, map[Unlisted]int{}
		trial.checkTranscriptBy(f, all[0])
		if len(trial.report.Findings) == 0 {
			break
		}
		all = all[1:]
	}
	a.checkTranscriptBy(f, all[0])
}

// checkTranscriptBy makes one walk over the transcript of a file, and compares the result with it.
func (a *auditor) checkTranscriptBy(f *matchFile, c *journal.Configuration) {
	d := f.value
	game := a.gameOf(&d.Evidence, f.messages)
	t := &transcriptCheck{auditor: a, file: f, doc: d, match: f.match, game: game, conduct: a.conduct(f, c, game),
		later: laterOf(d.Transcript)}
	for i := range t.sides {
		t.sides[i] = playerSide{id: f.match.players[i], side: rules.Side(i), open: map[string]int{}}
	}
	for i := range d.Transcript {
		t.walk(i)
	}
	f.moves, f.complete = nil, len(d.Transcript) > 0 && d.Omitted == 0 && !t.sides[0].unknown && !t.sides[1].unknown
	if c := t.conduct; c == nil {
		f.complete = false
	} else {
		if !c.Owes(rules.SideA) && !c.Owes(rules.SideB) && t.goOn(c) {
			c.Next()
		}
		f.moves, f.draws = c.Moves(), lists.Map(c.Draws(), func(d rules.Draw) protocol.Drawn { return protocol.Drawn(d) })
	}
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
	if t.conduct != nil {
		t.checkOutcome(&t.sides[0], "/player_A", d.PlayerA.EntropyCommitment)
		t.checkOutcome(&t.sides[1], "/player_B", d.PlayerB.EntropyCommitment)
		t.checkShown()
	}
}

// walk makes all checks of one exchange.
func (t *transcriptCheck) walk(i int) {
	e := &exchange{Exchange: &t.doc.Transcript[i], index: i, read: t.file.messages[i],
		at: jsontext.Pointer(fmt.Sprintf("/transcript/%d", i))}
	side := slices.Index(t.match.players[:], e.PlayerID)
	if side < 0 {
		t.findAt(RuleTranscript, e.PlayerID, e.at+"/player_id", "%s does not play %s", quoted(&e.PlayerID), t.match.id)
		return
	}
	e.side = &t.sides[side]
	if e.method = methods[e.Method]; e.method == nil {
		t.find(e, "/method", "%s is no method of a match", quoted(&e.Method))
		return
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
	if !protocol.HasSign(e.Message) && !bytes.Contains(e.Message, []byte("_token")) &&
		!bytes.Contains(e.Message, []byte(`\u`)) {
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

// checkOrder checks the order of the phases, and counts requests and responses.
func (t *transcriptCheck) checkOrder(e *exchange) {
	s := e.side
	if e.Direction == store.Sent {
		s.open[e.Method]++
	} else if s.open[e.Method]--; s.open[e.Method] < 0 && t.doc.Omitted == 0 {
		t.find(e, "/method", "%s answered %s without being asked", s.id, quoted(&e.Method))
	}
	if e.method.phase < t.nextPhase && e.method.phase != phaseNone {
		t.find(e, "/method", "%s comes after exchanges that must follow it", quoted(&e.Method))
	}
	t.nextPhase = max(t.nextPhase, e.method.phase)
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
func (t *transcriptCheck) checkOutcome(s *playerSide, of jsontext.Pointer, commitment string) {
	if s.unknown {
		return
	}
	did, result, id := t.conduct.Record(s.side), &t.doc.Result.Result, t.match.id
	find := func(at jsontext.Pointer, format string, args ...any) {
		t.findAt(RuleTranscript, s.id, at, format, args...)
	}
	lost, failed := result.Outcome(s.id) == league.TechnicalLoss, s.failedAt != ""
	switch {
	case lost && !failed:
		find("/result/status",
			"%s is said to have failed in %s, but the transcript does not end with a failure of it", s.id, id)
	case lost && did.Lost == "" && !s.doubted:
		find(s.failedAt, "%s is said to have lost %s by this failure, but the league gives it another attempt", s.id, id)
	case !lost && failed:
		find(s.failedAt, "%s failed here and did not correct it, but the result of %s does not say so", s.id, id)
	case !lost && s.phase == phaseNone:
		find("/transcript", "%s is said to have played %s, but never joined it", s.id, id)
	}
	player, used := jsontext.Pointer(s.id), did.Entropy
	choice, _ := result.Choices.Get(s.id)
	fallbacks, _ := result.Fallbacks.Get(s.id)
	fault, _ := result.Faults.Get(s.id)
	if t.doc.Draw != nil {
		used, _ = t.doc.Draw.Entropies.Get(s.id)
	}
	hidden := used == "" && did.Entropy == (protocol.Secret{}).Hex()
	last := did.Move
	if lost && t.plain() { // the missing choice shows the loss: see conduct
		last = ""
	}
	const count = "number of fallbacks"
	for _, said := range [...]struct { // most texts are needed for findings alone
		rule, what string
		of, name   jsontext.Pointer
		got, want  string
		differs    bool
	}{
		{RuleTranscript, "error code", "/result/faults", player, fault, s.fault, lost && failed && fault != s.fault},
		{RuleTranscript, "choice", "/result/choices", player, protocol.ValueOf(choice), last,
			(choice != nil) != (last != "") || protocol.ValueOf(choice) != last},
		{RuleTranscript, count, "/result/fallbacks", player, strconv.Itoa(fallbacks), strconv.Itoa(did.Fallbacks),
			fallbacks != did.Fallbacks},
		{RuleCommitment, "entropy commitment", of, "entropy_commitment", commitment, did.EntropyCommitment,
			commitment != did.EntropyCommitment},
		{RuleCommitment, "entropy", "/draw/entropies", player, used, did.Entropy, used != did.Entropy && !hidden},
	} {
		if !said.differs {
			continue
		}
		got, want := said.got, said.want
		if said.what != count {
			got, want = orNone(got), orNone(want)
		}
		t.findAt(said.rule, s.id, said.of+"/"+said.name, "the %s of %s in %s is %s, in the transcript it is %s",
			said.what, s.id, id, got, want)
	}
}
