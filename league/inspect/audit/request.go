package audit

import (
	"maps"
	"reflect"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/store"
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

// A matchMethod is a method of a match as a transcript has it.
type matchMethod struct {
	phase             phase
	request, response string // message types
	newRequest        func() typed
	// differences compares a request with the match
	differences func(t *transcriptCheck, e *exchange) []difference
}

// methods are the methods of a match. Each function sets the members of a request that follow
// from the match, beside those of the envelope.
var methods = map[string]matchMethod{
	protocol.Invite.Name: row(phaseJoin, protocol.Invite.MethodRow,
		func(t *transcriptCheck, e *exchange, q *protocol.GameInvitation) {
			q.LeagueID, q.RoundID, q.MatchID, q.GameType, q.Attempt = t.id, t.match.key.Round, t.match.id, t.doc.GameType,
				t.doc.Attempt
			q.RoleInMatch, q.OpponentID = roles[e.side.side], t.opponent(e)
			if t.doc.Draw != nil {
				q.DrawCommitment = t.doc.Draw.Commitment
			}
		}),
	protocol.ChooseParity.Name: row(phaseMove, protocol.ChooseParity.MethodRow,
		func(t *transcriptCheck, e *exchange, q *protocol.ChooseParityCall) {
			e.deadline = q.Deadline
			q.MatchID, q.PlayerID, q.GameType, q.Context.OpponentID, q.Context.RoundID = t.match.id, e.side.id, t.doc.GameType,
				t.opponent(e), t.match.key.Round
			// Standings rest on the journal, which may have findings.
			if rank, ok := t.state.PlayerIndex(e.side.id); ok && !t.doubtful && !t.chain.stopped {
				q.Context.YourStandings = t.expectedStandings(rank, q.Context.YourStandings)
			}
		}),
	protocol.MakeMove.Name: row(phaseMove, protocol.MakeMove.MethodRow,
		func(t *transcriptCheck, e *exchange, q *protocol.GameMoveCall) {
			e.deadline = q.Deadline
			q.MatchID, q.PlayerID, q.GameType = t.match.id, e.side.id, t.doc.GameType
			t.expectMove(e, &q.MoveRequest)
		}),
	protocol.NotifyMatchResult.Name: row(phaseEnd, protocol.NotifyMatchResult.MethodRow,
		func(t *transcriptCheck, e *exchange, q *protocol.GameOver) {
			q.MatchID, q.GameType, q.Draw = t.match.id, t.doc.GameType, t.doc.Draw
			if t.doc.Result != nil {
				result := t.doc.Result.Result
				if q.GameResult != nil {
					result.Reason, result.Faults = q.GameResult.Reason, q.GameResult.Faults
				}
				q.GameResult = &result
			}
		}),
	protocol.NotifyGameError.Name: row(phaseNone, protocol.NotifyGameError.MethodRow,
		func(t *transcriptCheck, e *exchange, q *protocol.GameError) {
			e.code = q.ErrorCode
			q.MatchID, q.PlayerID, q.AffectedPlayer = t.match.id, e.side.id, e.side.id
		}),
}

func row[Q any](p phase, m protocol.MethodRow, expect func(t *transcriptCheck, e *exchange, want *Q)) matchMethod {
	return matchMethod{p, m.Request, m.Result, func() typed { return any(new(Q)).(typed) },
		func(t *transcriptCheck, e *exchange) (found []difference) {
			got := any(e.read.typed).(*Q)
			want := *got
			q := protocol.EnvelopeOf(&want)
			q.MessageType, q.Sender = e.method.request, protocol.RefereeSender(t.doc.RefereeID)
			q.ConversationID = t.doc.ConversationID
			expect(t, e, &want)
			q.SetPlain(t.plain())
			if plain := protocol.Plain(&want); !reflect.DeepEqual(got, plain) { // encoding takes much longer
				compare("", decoded(encoded(got)), decoded(protocol.HideTokens(encoded(plain))), &found) // as the referee wrote it
			}
			return found
		}}
}

func (t *transcriptCheck) opponent(e *exchange) string { return t.match.players[e.side.side.Other()] }

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
		m.typed = new(message)
		if method, known := methods[e.Method]; known && e.Direction == store.Sent {
			m.typed = method.newRequest()
		}
		if len(e.Message) > 0 {
			m.err = json.Unmarshal(e.Message, m.typed)
		}
	}
	return all
}

// checkRequest compares a request of the referee with the match.
func (t *transcriptCheck) checkRequest(e *exchange) {
	s := e.side
	if e.Void != "" || e.Timing != nil || e.Stalled != 0 || e.Local || e.WrongToken {
		t.find(e, "/direction", "an exchange that was sent to %s has the result of a call; only one that was received can",
			s.id)
	}
	if e.Omission() != "" || e.method.differences == nil {
		return
	}
	if e.Message.Kind() == 'n' || len(e.Message) == 0 || e.read.err != nil {
		t.find(e, "/message", "the message to %s cannot be read", s.id)
		return
	}
	for _, diff := range onePerObject(e.method.differences(t, e)) {
		rule := RuleTranscript
		if diff.member == "/draw_commitment" {
			rule = RuleCommitment
		}
		t.findAt(rule, s.id, e.at+"/message"+diff.member, "%s in the %s to %s is %s; in %s it is %s",
			name(diff.member), e.method.request, s.id, diff.got, t.match.id, diff.want)
	}
	switch e.method.phase {
	case phaseMove:
		deadline, err := protocol.ParseTimestamp(e.deadline)
		if err != nil {
			t.find(e, "/message/deadline", "the deadline of %s in %s is no time: %v", s.id, t.match.id, err)
		}
		s.deadline.Ask(deadline)
	case phaseEnd:
		s.overs++
		if t.doc.Result == nil && t.doc.Lifecycle.State == protocol.StateAbandoned {
			t.find(e, "/message/game_result", "%s was told how %s ended, but it was given up", s.id, t.match.id)
		}
	case phaseNone:
		t.checkGameError(e)
	}
}

// expectMove sets the members of a question that follow from the position. A referee
// that hides or invents a part of the position decides the match.
func (t *transcriptCheck) expectMove(e *exchange, q *protocol.MoveRequest) {
	if !t.toMove(e.side) {
		return
	}
	question := t.position.Ask(e.side.side)
	context := map[string]any{}
	maps.Copy(context, q.Context)
	context["opponent_id"], context["round_id"] = t.opponent(e), t.match.key.Round
	maps.Copy(context, question.Context)
	*q = protocol.MoveRequest{MoveType: question.MoveType, ValidOptions: question.Options, Context: context}
}

// checkGameError checks that a GAME_ERROR reports the last failure of the player,
// once.
func (t *transcriptCheck) checkGameError(e *exchange) {
	s, failure := e.side, e.side.unreported
	s.unreported = nil
	if failure == nil {
		t.find(e, "/method", "%s got a GAME_ERROR about %s, but did not fail before it in %s", s.id, orNone(e.code),
			t.match.id)
	} else if failure.Error.ErrorCode != e.code || failure.Try != e.Try {
		t.find(e, "/message/error_code", "%s got a GAME_ERROR about %s at try %d, but failed with %s at try %d", s.id,
			orNone(e.code), e.Try, quoted(&failure.Error.ErrorCode), failure.Try)
	}
}
