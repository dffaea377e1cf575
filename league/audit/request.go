package audit

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A member is one that a request must have, by the match.
type member struct {
	pointer jsontext.Pointer
	want    any
}

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
	if e.Message.Kind() == 'n' || len(e.Message) == 0 {
		t.find(e, "/message", "the message to %s cannot be read", s.id)
		return
	}
	request := &value{raw: e.Message}
	var found []difference
	for _, m := range t.expected(e) {
		got, want := request.lookup(m.pointer), protocol.HideTokens(encoded(m.want)) // as the referee wrote it
		if !bytes.Equal(got, want) && !bytes.Equal(compact(got), want) {             // to decode takes much longer
			compare(m.pointer, decoded(got), decoded(want), &found)
		}
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
		text, _ := decoded(request.lookup("/deadline")).(string)
		deadline, err := protocol.ParseTimestamp(text)
		if err != nil {
			t.find(e, "/message/deadline", "the deadline of %s in %s is no time: %v", s.id, t.match.id, err)
		}
		if !deadline.Equal(s.deadline) {
			s.deadline, s.queued = deadline, 0
		}
	case e.method.phase == phaseEnd:
		s.overs++
		if t.doc.Result == nil && t.doc.Lifecycle.State == store.StateAbandoned {
			t.find(e, "/message/game_result", "%s was told how %s ended, but it was given up", s.id, t.match.id)
		}
	case e.Method == protocol.NotifyGameError.Name:
		t.checkGameError(e, decoded(request.lookup("/error_code")))
	}
}

// expected lists the members of a request that follow from the match.
func (t *transcriptCheck) expected(e *exchange) []member {
	s, d, m := e.side, t.doc, t.match
	opponent := m.players[s.side.Other()]
	all := []member{
		{"/message_type", e.method.request}, {"/sender", protocol.RefereeSender(d.RefereeID)},
		{"/conversation_id", d.ConversationID}, {"/match_id", m.id},
	}
	switch e.Method {
	case protocol.Invite.Name:
		role := protocol.RolePlayerA
		if s.side == rules.SideB {
			role = protocol.RolePlayerB
		}
		all = append(all, member{"/league_id", t.id}, member{"/round_id", m.round}, member{"/game_type", d.GameType},
			member{"/role_in_match", role}, member{"/opponent_id", opponent}, member{"/attempt", d.Attempt})
		if d.Draw != nil {
			all = append(all, member{"/draw_commitment", d.Draw.Commitment})
		}
	case protocol.ChooseParity.Name:
		all = append(all, member{"/player_id", s.id}, member{"/game_type", d.GameType},
			member{"/context/opponent_id", opponent}, member{"/context/round_id", m.round})
		// Standings rest on the journal, which may have findings.
		if rank, ok := t.state.PlayerIndex(s.id); ok && !t.doubtful && !t.chain.stopped {
			all = append(all, member{"/context/your_standings", &t.before[m.round-1][rank]})
		}
	case protocol.MakeMove.Name:
		all = append(all, member{"/player_id", s.id}, member{"/game_type", d.GameType})
		if t.progress.known() && t.progress.asks(s.side) {
			question := t.progress.position.Ask(s.side)
			all = append(all, member{"/move_request/move_type", question.MoveType}, member{"/move_request/valid_options", question.Options},
				member{"/move_request/context/opponent_id", opponent}, member{"/move_request/context/round_id", m.round})
			for key, value := range question.Context { // a referee that hides or invents a part of the position decides the match
				all = append(all, member{jsontext.Pointer("/move_request/context").AppendToken(key), value})
			}
		}
	case protocol.NotifyMatchResult.Name:
		all = append(all, member{"/game_type", d.GameType}, member{"/draw", d.Draw})
		if d.Result != nil {
			r := &d.Result.GameResult
			all = append(all, member{"/game_result/status", r.Status}, member{"/game_result/winner_player_id", r.WinnerPlayerID},
				member{"/game_result/drawn_number", r.DrawnNumber}, member{"/game_result/number_parity", r.NumberParity})
			for _, id := range m.players {
				choice, _ := r.Choices.Get(id)
				all = append(all, member{"/game_result/choices/" + jsontext.Pointer(id), choice})
			}
		}
	case protocol.NotifyGameError.Name:
		all = append(all, member{"/player_id", s.id}, member{"/affected_player", s.id})
	}
	return all
}

// checkGameError checks that a GAME_ERROR reports the last failure of the player,
// once.
func (t *transcriptCheck) checkGameError(e *exchange, code any) {
	s, failure := e.side, e.side.unreported
	s.unreported = nil
	switch {
	case failure == nil:
		t.find(e, "/method", "%s got a GAME_ERROR about %s, but did not fail before it in %s", s.id, shown(jsonText(code)), t.match.id)
	case failure.Error.ErrorCode != code:
		t.find(e, "/message/error_code", "%s got a GAME_ERROR about %s, but failed with %s", s.id, shown(jsonText(code)), quoted(&failure.Error.ErrorCode))
	case failure.Try != e.Try:
		t.find(e, "/try", "%s got a GAME_ERROR about try %d, but failed at try %d", s.id, e.Try, failure.Try)
	}
}
