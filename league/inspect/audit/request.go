package audit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/conduct"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A phase is a part of a match. The methods of a phase are called after those of
// the phases before.
type phase int

const (
	phaseNone phase = iota // GAME_ERROR comes in every phase
	phaseJoin
	phaseMove
	phaseEnd
)

// asks tells whether an answer of the phase decides about the match.
func (p phase) asks() bool { return p == phaseJoin || p == phaseMove }

// asked tells whether the conduct asks the questions of the phase now.
func (p phase) asked(c *conduct.Match) bool {
	return p == phaseJoin && c.State() == protocol.StateWaitingForPlayers ||
		p == phaseMove && c.State() == protocol.StateCollectingChoices
}

// A matchMethod is a method of a match as a transcript has it.
type matchMethod struct {
	phase    phase
	row      protocol.MethodRow
	request  func(raw []byte) (message, error)
	response func(raw []byte) (message, error)
	breach   func(reply message, to protocol.ReplyTo) *protocol.Error // of a reply that response has read
	// differences compares a request with the one that the conduct makes
	differences func(t *transcriptCheck, e *exchange, want any) []difference
}

// methods are the methods of a match. Each function sets the members of a request that the conduct cannot know.
var methods = map[string]*matchMethod{
	protocol.Invite.Name: row(phaseJoin, &protocol.Invite,
		func(t *transcriptCheck, e *exchange, got, q *protocol.GameInvitation) {
			q.DrawCommitment = got.DrawCommitment
			if t.doc.Draw != nil {
				q.DrawCommitment = t.doc.Draw.Commitment
			}
		}),
	protocol.ChooseParity.Name: row(phaseMove, &protocol.ChooseParity,
		func(t *transcriptCheck, e *exchange, got, q *protocol.ChooseParityCall) {
			q.Deadline, q.TimeLeft = got.Deadline, t.timeLeft(e, q.TimeLeft, got.TimeLeft)
			q.Context.YourStandings = got.Context.YourStandings
			// Standings rest on the journal, which may have findings.
			if rank, ok := t.state.PlayerIndex(e.side.id); ok && !t.doubtful && !t.chain.stopped {
				q.Context.YourStandings = t.expectedStandings(rank, got.Context.YourStandings)
			}
			t.unsigned(&q.SignatureRequest, &got.SignatureRequest)
		}),
	protocol.MakeMove.Name: row(phaseMove, &protocol.MakeMove,
		func(t *transcriptCheck, e *exchange, got, q *protocol.GameMoveCall) {
			q.Deadline, q.TimeLeft = got.Deadline, t.timeLeft(e, q.TimeLeft, got.TimeLeft)
			t.unsigned(&q.SignatureRequest, &got.SignatureRequest)
			if t.game.Info().Rules == "" && q.MoveRequest.Context["rules"] != nil { // its program is not given
				q.MoveRequest.Context["rules"] = got.MoveRequest.Context["rules"]
			}
		}),
	protocol.NotifyMatchResult.Name: row(phaseEnd, &protocol.NotifyMatchResult,
		func(t *transcriptCheck, e *exchange, got, q *protocol.GameOver) {
			if q.GameResult == nil {
				q.GameResult = got.GameResult
			} else if got.GameResult != nil {
				q.GameResult.Reason, q.GameResult.Faults = got.GameResult.Reason, got.GameResult.Faults
			}
		}),
	// Its times, its words and what the file cannot know of the failure are those of the file.
	protocol.NotifyGameError.Name: row(phaseNone, &protocol.NotifyGameError,
		func(t *transcriptCheck, e *exchange, got, q *protocol.GameError) {
			want := *q
			*q = *got
			q.Envelope = want.Envelope
			q.MatchID, q.PlayerID, q.AffectedPlayer = t.match.id, e.side.id, e.side.id
			if got.Retryable != nil && want.ErrorCode == got.ErrorCode {
				q.RetryCount, q.MaxRetries = want.RetryCount, want.MaxRetries
			}
		}),
}

// unsigned sets the members of a question that follow from the nonce, which the file of an abandoned attempt lacks.
func (t *transcriptCheck) unsigned(want, got *protocol.SignatureRequest) {
	switch {
	case t.doc.Draw == nil:
		want.DrawCommitment = got.DrawCommitment
		want.Moves = withCommitments(want.Moves, got.Moves)
	case want.Sign:
		want.DrawCommitment = t.doc.Draw.Commitment
	}
}

// withCommitments returns moves with the commitments that other ones have to secret moves.
func withCommitments(moves, others []protocol.PlayerMove) []protocol.PlayerMove {
	moves = slices.Clone(moves) // questions share them
	for i := range min(len(moves), len(others)) {
		if moves[i].Secret {
			moves[i].Move = others[i].Move
		}
	}
	return moves
}

func row[Q, R any](p phase, m *protocol.Method[Q, R], complete func(t *transcriptCheck, e *exchange, got, want *Q)) *matchMethod {
	return &matchMethod{
		phase: p, row: m.MethodRow,
		request: func(raw []byte) (message, error) {
			q := new(Q)
			return any(q).(message), json.Unmarshal(raw, q)
		},
		response: func(raw []byte) (message, error) {
			r, err := m.Recorded(raw)
			if err != nil {
				return new(protocol.Ack), err
			}
			return any(r).(message), nil
		},
		breach: func(reply message, to protocol.ReplyTo) *protocol.Error { return m.ReplyBreach(any(reply).(*R), to) },
		differences: func(t *transcriptCheck, e *exchange, made any) (found []difference) {
			got := any(e.read.message).(*Q)
			want := *made.(*Q)
			q := protocol.EnvelopeOf(&want)
			q.Timestamp, q.AuthToken = protocol.EnvelopeOf(got).Timestamp, protocol.EnvelopeOf(got).AuthToken
			q.MessageType, q.Sender = m.Request, protocol.RefereeSender(t.doc.RefereeID)
			q.Protocol, q.ConversationID = protocol.EnvelopeOf(got).Protocol, t.doc.ConversationID
			complete(t, e, got, &want)
			q.SetPlain(t.plain())
			if plain := protocol.Plain(&want); !reflect.DeepEqual(got, plain) { // encoding takes much longer
				compare("", decoded(encoded(got)), decoded(protocol.HideTokens(encoded(plain))), &found) // as the referee wrote it
			}
			return found
		},
	}
}

// A message is one of the protocol, with its type.
type message interface{ Type() string }

// A readMessage is the message of an exchange, or why it cannot be read.
type readMessage struct {
	message
	err error
}

// readMessages reads the messages of a transcript, each as the type that its method
// and its direction imply.
func readMessages(transcript []store.Exchange) []readMessage {
	all := make([]readMessage, len(transcript))
	for i := range transcript {
		e, m := &transcript[i], &all[i]
		method, known := methods[e.Method]
		switch {
		case len(e.Message) == 0 || !known:
			m.message = new(protocol.Ack)
		case e.Direction == store.Sent:
			m.message, m.err = method.request(e.Message)
		default:
			m.message, m.err = method.response(e.Message)
			for _, f := range protocol.EnvelopeOf(m.message).Broken() {
				if !e.Unreadable(f.Field) { // the referee would have said so
					m.err = cmp.Or(m.err, fmt.Errorf("%s is %s", f.Field, f.Got))
				}
			}
		}
	}
	return all
}

// conduct begins the conversation of a file's attempt again, as its referee began it; nil for a game that this program
// does not know, and for other rules of the conversation.
func (a *auditor) conduct(f *matchFile, c *journal.Configuration, game rules.Game) *conduct.Match {
	d, m := f.value, f.match
	if !conduct.Knows(d.Conduct) {
		// no note: a referee that lies could name any version
		a.find(RuleSchema, f.attempt("/conduct_version"),
			"%s was conducted by version %s of the rules, which this program does not know: audit it by the program of its referee",
			m.id, quoted(&d.Conduct))
		return nil
	}
	if game == nil || d.GameType != game.Info().Type {
		return nil
	}
	if _, err := rules.BeginAfter(game, d.Opening); err != nil || !a.fits(m, d.Opening) {
		return nil // there is a finding
	}
	q := &protocol.MatchAssignment{
		LeagueID: a.id, RoundID: m.key.Round, MatchID: m.id, Attempt: d.Attempt, GameType: d.GameType,
		Scoring: a.state.Created.Scoring, Members: a.state.Created.Members, Started: d.Started, RefereeID: d.RefereeID,
		Timeouts: c.Timeouts, RetryPolicy: c.RetryPolicy, Opening: d.Opening, TimeBank: a.state.Created.TimeBank,
	}
	if c.Replies == protocol.RepliesStrict {
		q.Replies = protocol.RepliesStrict
	}
	for i, p := range []*protocol.AssignedPlayer{&q.PlayerA, &q.PlayerB} {
		p.PlayerID, p.AccessToken = m.players[i], protocol.HiddenToken // no file has it
		if d.Started != "" {
			event := m.Event
			if assigned := m.Attempt(d.Attempt, d.RefereeID); assigned != nil && assigned.Event > 0 {
				event = assigned.Event
			}
			p.PublicKey = a.state.Agents[p.PlayerID].KeyAt(event)
		}
	}
	var nonce protocol.Secret
	if d.Draw != nil {
		nonce, _ = protocol.ParseSecret(d.Draw.Nonce)
	}
	return conduct.New(d.Conduct, q, game, d.RefereeID, nonce, protocol.FormatTimestamp)
}

// configurations are those that the league had while an attempt could begin, the last one at its end. It has several if
// the manager was started again with other settings meanwhile: a referee that was stopped too begins the attempt again.
func (a *auditor) configurations(f *matchFile) (all []*journal.Configuration) {
	end := a.state.Events
	if f.counts() {
		end = f.match.Event
	}
	for _, c := range a.configured {
		switch {
		case c.event <= a.announced[f.assignedIn()-1]:
			all = []*journal.Configuration{c.Configuration}
		case c.event <= end:
			all = append(all, c.Configuration)
		}
	}
	const most = 10 // each is tried: a journal may have very many
	return all[max(len(all)-most, 0):]
}

// assignedIn is the last announced round when the attempt was assigned.
func (f *matchFile) assignedIn() int {
	if attempt := f.match.Attempt(f.value.Attempt, f.value.RefereeID); attempt != nil {
		return attempt.Round
	}
	return f.match.key.Round
}

// next is what the referee does next for a side, after its pauses, and the conduct then. The conduct of the match
// becomes nil where it cannot be followed any further.
func (t *transcriptCheck) next(s *playerSide) (conduct.Step, conduct.Match) {
	c := *t.conduct
	for {
		step := c.Step(s.side, t.at)
		switch {
		case step.Kind == conduct.Pause:
			continue
		case step.Kind == conduct.Done && !c.Owes(s.side) && !c.Owes(s.side.Other()):
			if c.NextTurn() > 1 && t.doc.Draw == nil && rules.HasDraws(t.game) || !t.goOn(&c) {
				t.conduct = nil
			} else if len(c.Next()) > 0 {
				continue
			}
		}
		return step, c
	}
}

// checkRequest compares a request of the referee with what the conduct does next.
func (t *transcriptCheck) checkRequest(e *exchange) {
	s := e.side
	if e.Void != "" || e.Used != nil || e.Timing != nil || e.Stalled != 0 || e.Local || e.WrongToken {
		t.find(e, "/direction", "an exchange that was sent to %s has the result of a call; only one that was received can",
			s.id)
	}
	unreadable := e.Omission() == "" && (e.Message.Kind() == 'n' || len(e.Message) == 0 || e.read.err != nil)
	if unreadable {
		t.find(e, "/message", "the message to %s cannot be read", s.id)
	}
	if e.method.phase != phaseNone { // GAME_ERRORs may overlap
		s.try, s.calledAt = e.Try, t.at
	}
	var want any
	switch e.method.phase {
	case phaseEnd:
		want = t.checkGameOver(e)
	case phaseNone:
		want = t.checkGameError(e)
	default:
		want = t.checkQuestion(e)
	}
	if want == nil || unreadable || e.Omission() != "" {
		return
	}
	for _, diff := range onePerObject(e.method.differences(t, e, want)) {
		rule := RuleTranscript
		switch q, ok := want.(*protocol.GameMoveCall); {
		case ok && rules.HasViews(t.game) && isView(diff.member):
			t.findAt(RuleView, s.id, e.at+"/message"+diff.member,
				"%s showed %s in turn %d that %s is %s; by the history of %s it is %s", clip(t.doc.RefereeID), s.id, turnOf(q),
				name(diff.member), diff.got, t.match.id, diff.want)
			continue
		case diff.member == "/draw_commitment", ok && isSecretMove(diff.member, q.Moves):
			rule = RuleCommitment
		}
		t.findAt(rule, s.id, e.at+"/message"+diff.member, "%s in the %s to %s is %s; in %s it is %s",
			name(diff.member), e.method.row.Request, s.id, diff.got, t.match.id, diff.want)
	}
}

// isView tells whether a member of a question is part of what a side may see.
func isView(member jsontext.Pointer) bool {
	views := []jsontext.Pointer{"/move_request/context/view", "/move_request/context/board", "/view_hash"}
	return slices.ContainsFunc(views, func(view jsontext.Pointer) bool { return view.Contains(member) })
}

// isSecretMove tells whether a member of a question is that of a secret move, which has a commitment in its place.
func isSecretMove(member jsontext.Pointer, moves []protocol.PlayerMove) bool {
	i, err := strconv.Atoi(member.Parent().LastToken())
	return err == nil && jsontext.Pointer("/moves").Contains(member) && i < len(moves) && moves[i].Secret
}

// checkGameOver counts how often a player is told the end, and returns the right message.
func (t *transcriptCheck) checkGameOver(e *exchange) any {
	if e.Omission() == "" { // else nobody can tell what the player was told
		e.side.overs++
	}
	if e.Try != 1 {
		t.find(e, "/try", "%s was told how %s ended by try %d; there is one try", e.side.id, t.match.id, e.Try)
	}
	if t.doc.Result == nil && t.doc.Lifecycle.State == protocol.StateAbandoned {
		t.find(e, "/message/game_result", "%s was told how %s ended, but it was given up", e.side.id, t.match.id)
	}
	q := &protocol.GameOver{MatchID: t.match.id, GameType: t.doc.GameType, Draw: t.doc.Draw}
	if t.game != nil && t.game.Info().Hidden {
		q.Moves, q.Draws = t.doc.Moves, t.doc.Draws
	}
	if t.doc.Result != nil {
		result := t.doc.Result.Result
		q.GameResult = &result
	}
	return q
}

// checkGameError checks that a GAME_ERROR reports the last failure of the player, once, and returns the right message.
func (t *transcriptCheck) checkGameError(e *exchange) any {
	if t.conduct == nil {
		return nil
	}
	s := e.side
	step, after := t.next(s)
	if t.conduct == nil {
		return nil
	}
	said, _ := e.read.message.(*protocol.GameError)
	if said == nil {
		said = new(protocol.GameError)
	}
	if step.Kind != conduct.GameError {
		t.find(e, "/method", "%s got a GAME_ERROR about %s, but did not fail before it in %s", s.id, orNone(said.ErrorCode),
			t.match.id)
		return nil
	}
	*t.conduct = after
	if code := string(step.Failure.Fault.Code); code != said.ErrorCode || step.Try != e.Try {
		t.find(e, "/message/error_code", "%s got a GAME_ERROR about %s at try %d, but failed with %s at try %d", s.id,
			orNone(said.ErrorCode), e.Try, quoted(&code), step.Try)
	}
	return step.Message
}

// checkQuestion checks that a question is what the conduct asks next, and returns the right message; nil for none.
func (t *transcriptCheck) checkQuestion(e *exchange) any {
	s := e.side
	deadline := t.deadline(e)
	if e.method.phase == phaseMove {
		s.deadline.Ask(deadline)
	}
	if t.conduct == nil {
		return nil
	}
	step, after := t.next(s)
	if step.Kind == conduct.GameError && after.Owes(s.side) {
		t.find(e, "/method", "%s is asked again by %s, but was not told of its failure by GAME_ERROR", s.id, quoted(&e.Method))
		*t.conduct = after
		step, after = t.next(s)
	}
	if t.conduct == nil {
		return nil
	}
	switch did := t.conduct.Record(s.side); {
	case step.Kind == conduct.Ask && step.Method.Name == e.Method:
		if step.Try != e.Try {
			t.find(e, "/try", "try %d of %s of %s comes where try %d must follow", e.Try, quoted(&e.Method), s.id, step.Try)
		}
		// it must not give the player more time than the league does
		if length := after.Window(s.side); deadline.After(t.at.Add(length+clockTolerance)) && !t.wentBack {
			t.find(e, "/message/deadline", "%s has until %s in %s, which is longer than the %v of the league", s.id,
				protocol.FormatTimestamp(deadline), t.match.id, length)
		}
		*t.conduct = after
	case did.Lost != "":
		t.find(e, "/method", "%s was asked by %s, although it had lost", s.id, quoted(&e.Method))
		s.ignored = true
		return nil
	case !after.Owes(s.side) && (s.phase == e.method.phase || e.method.phase == phaseMove && phaseMove.asked(&after)):
		what := "was asked again by %s, although its answer was correct"
		if rules.ListsMoves(t.game) && e.method.phase == phaseMove {
			what = "was asked for a move by %s when it had none to make"
		}
		t.find(e, "/method", "%s "+what, s.id, quoted(&e.Method))
		s.ignored = true
		return nil
	default:
		if e.method.phase >= t.nextPhase { // else there is a finding
			t.find(e, "/method", "%s was asked by %s before both players had answered what comes before", s.id, quoted(&e.Method))
		}
		t.conduct = nil
		return nil
	}
	t.keepView(e, step.Message)
	t.conduct.Asked(s.side, e.Try, deadline)
	s.phase, s.ignored = e.method.phase, false
	return step.Message
}

// deadline reads the deadline of a question; zero for none.
func (t *transcriptCheck) deadline(e *exchange) time.Time {
	var text string
	switch q := e.read.message.(type) {
	case *protocol.ChooseParityCall:
		text = q.Deadline
	case *protocol.GameMoveCall:
		text = q.Deadline
	default:
		return time.Time{}
	}
	deadline, err := protocol.ParseTimestamp(text)
	if err != nil && e.read.err == nil {
		t.find(e, "/message/deadline", "the deadline of %s in %s is no time: %v", e.side.id, t.match.id, err)
	}
	return deadline
}
