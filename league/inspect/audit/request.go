package audit

import (
	"maps"
	"reflect"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// checkRequest compares a request of the referee with the match.
func (t *transcriptCheck) checkRequest(e *exchange) {
	if e.Direction != store.Sent {
		return
	}
	s := e.side
	if e.Void != "" || e.Timing != nil || e.Stalled != 0 || e.Local {
		t.find(e, "/direction", "an exchange that was sent to %s has the result of a call; only one that was received can", s.id)
	}
	if e.Omission() != "" {
		return
	}
	found := t.differences(e)
	if e.Message.Kind() == 'n' || len(e.Message) == 0 || e.read.err != nil {
		t.find(e, "/message", "the message to %s cannot be read", s.id)
		return
	}
	for _, diff := range onePerObject(found) {
		rule := RuleTranscript
		if diff.member == "/draw_commitment" {
			rule = RuleCommitment
		}
		t.findAt(rule, s.id, e.pointer()+"/message"+diff.member, "%s in the %s to %s is %s; in %s it is %s",
			name(diff.member), e.method.request, s.id, diff.got, t.match.id, diff.want)
	}
	switch {
	case e.method.phase == phaseMove:
		deadline, err := protocol.ParseTimestamp(e.deadline)
		if err != nil {
			t.find(e, "/message/deadline", "the deadline of %s in %s is no time: %v", s.id, t.match.id, err)
		}
		s.deadline.Ask(deadline)
	case e.method.phase == phaseEnd:
		s.overs++
		if t.doc.Result == nil && t.doc.Lifecycle.State == store.StateAbandoned {
			t.find(e, "/message/game_result", "%s was told how %s ended, but it was given up", s.id, t.match.id)
		}
	case e.Method == protocol.NotifyGameError.Name:
		t.checkGameError(e)
	}
}

// differences compares a request with the match: each closure sets the members that
// follow from it.
func (t *transcriptCheck) differences(e *exchange) []difference {
	s, d, m := e.side, t.doc, t.match
	opponent := m.players[s.side.Other()]
	envelope := func(q *protocol.Envelope) {
		q.MessageType, q.Sender, q.ConversationID = e.method.request, protocol.RefereeSender(d.RefereeID), d.ConversationID
	}
	switch e.Method {
	case protocol.Invite.Name:
		return requestDifferences(e, func(q *protocol.GameInvitation) {
			envelope(&q.Envelope)
			q.LeagueID, q.RoundID, q.MatchID, q.GameType, q.Attempt = t.id, m.key.Round, m.id, d.GameType, d.Attempt
			q.RoleInMatch, q.OpponentID = [2]string{protocol.RolePlayerA, protocol.RolePlayerB}[s.side], opponent
			if d.Draw != nil {
				q.DrawCommitment = d.Draw.Commitment
			}
		})
	case protocol.ChooseParity.Name:
		return requestDifferences(e, func(q *protocol.ChooseParityCall) {
			e.deadline = q.Deadline
			envelope(&q.Envelope)
			q.MatchID, q.PlayerID, q.GameType, q.Context.OpponentID, q.Context.RoundID = m.id, s.id, d.GameType, opponent, m.key.Round
			// Standings rest on the journal, which may have findings.
			if rank, ok := t.state.PlayerIndex(s.id); ok && !t.doubtful && !t.chain.stopped {
				q.Context.YourStandings = t.expectedStandings(rank, q.Context.YourStandings)
			}
		})
	case protocol.MakeMove.Name:
		return requestDifferences(e, func(q *protocol.GameMoveCall) {
			e.deadline = q.Deadline
			envelope(&q.Envelope)
			q.MatchID, q.PlayerID, q.GameType = m.id, s.id, d.GameType
			t.expectMove(s, &q.MoveRequest)
		})
	case protocol.NotifyMatchResult.Name:
		return requestDifferences(e, func(q *protocol.GameOver) {
			envelope(&q.Envelope)
			q.MatchID, q.GameType, q.Draw = m.id, d.GameType, d.Draw
			if d.Result != nil {
				result := d.Result.GameResult
				if q.GameResult != nil {
					result.Reason, result.Faults = q.GameResult.Reason, q.GameResult.Faults
				}
				q.GameResult = &result
			}
		})
	case protocol.NotifyGameError.Name:
		return requestDifferences(e, func(q *protocol.GameError) {
			e.code = q.ErrorCode
			envelope(&q.Envelope)
			q.MatchID, q.PlayerID, q.AffectedPlayer = m.id, s.id, s.id
		})
	}
	return nil
}

// expectMove sets the members of a question that follow from the position. A referee
// that hides or invents a part of the position decides the match.
func (t *transcriptCheck) expectMove(s *playerSide, q *protocol.MoveRequest) {
	if !t.progress.known() || !t.progress.asks(s.side) {
		return
	}
	question := t.progress.position.Ask(s.side)
	context := map[string]any{}
	maps.Copy(context, q.Context)
	context["opponent_id"], context["round_id"] = t.match.players[s.side.Other()], t.match.key.Round
	maps.Copy(context, question.Context)
	*q = protocol.MoveRequest{MoveType: question.MoveType, ValidOptions: question.Options, Context: context}
}

// requestDifferences compares a request with the one that set makes of it.
func requestDifferences[Q any](e *exchange, set func(want *Q)) (found []difference) {
	got, ok := any(e.read.typed).(*Q)
	if !ok || e.read.err != nil {
		return nil
	}
	want := *got
	set(&want)
	if !reflect.DeepEqual(got, &want) { // encoding takes much longer
		compare("", decoded(encoded(got)), decoded(protocol.HideTokens(encoded(want))), &found) // as the referee wrote it
	}
	return found
}

// checkGameError checks that a GAME_ERROR reports the last failure of the player,
// once.
func (t *transcriptCheck) checkGameError(e *exchange) {
	s, failure := e.side, e.side.unreported
	s.unreported = nil
	switch {
	case failure == nil:
		t.find(e, "/method", "%s got a GAME_ERROR about %s, but did not fail before it in %s", s.id, orNone(e.code), t.match.id)
	case failure.Error.ErrorCode != e.code:
		t.find(e, "/message/error_code", "%s got a GAME_ERROR about %s, but failed with %s", s.id, orNone(e.code), quoted(&failure.Error.ErrorCode))
	case failure.Try != e.Try:
		t.find(e, "/try", "%s got a GAME_ERROR about try %d, but failed at try %d", s.id, e.Try, failure.Try)
	}
}
