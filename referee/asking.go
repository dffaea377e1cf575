package referee

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// put asks a seat something and waits for the answer.
func put[Q, R any](m *match, w *window, s *seat, method *protocol.Method[Q, R], q *Q) (*R, error) {
	w.asks, w.action = method.Request, method.Result
	if w.turn != nil {
		w.turn.method, w.turn.answer = method.Name, nil
		m.chronicle.sent(s.player.PlayerID, method.Name, w.turn.try, q)
	}
	answer, timing, err := method.Ask(m.referee.life, m.referee.options.Caller, s.peer, q, time.Until(w.deadline))
	w.called(timing)
	if err != nil {
		return nil, unanswered(err)
	}
	if w.turn != nil {
		w.turn.answer = answer
	}
	return answer, nil
}

// invite sends GAME_INVITATION (spec 003 §8.7.1).
func (m *match) invite(w *window, side rules.Side) error {
	s, a := &m.seats[side], m.assignment
	ack, err := put(m, w, s, &protocol.Invite, &protocol.GameInvitation{
		Envelope: m.envelope(protocol.TypeGameInvitation, s),
		LeagueID: a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		RoleInMatch: s.role, OpponentID: s.opponent, Attempt: a.Attempt, DrawCommitment: m.commitment,
	})
	if err != nil {
		return err
	}
	return m.judgeJoin(s, ack)
}

// judgeJoin decides what a GAME_JOIN_ACK means.
func (m *match) judgeJoin(s *seat, a *protocol.GameJoinAck) error {
	if err := m.conformance(s, &a.Envelope, a.PlayerID); err != nil {
		return err
	}
	if err := m.sameMatch(&a.Envelope, protocol.TypeGameJoinAck, a.MatchID); err != nil {
		return err
	}
	if f, broken := a.BrokenField("accept"); broken {
		return protocol.Fault(protocol.ErrInvalidFieldType, "accept must be true or false, got %s", f.Got)
	}
	if a.Accept == nil {
		return protocol.Fault(protocol.ErrMissingField, "accept must be true or false")
	}
	if _, digest := protocol.ParseSecret(a.EntropyCommitment); a.EntropyCommitment != "" && !digest {
		return protocol.Fault(protocol.ErrInvalidFieldType, "entropy_commitment must be 64 hexadecimal digits")
	}
	if !*a.Accept {
		s.lost = "refused the invitation"
	}
	s.entropyCommitment, s.committer = a.EntropyCommitment, s.player.PlayerID
	if s.player.AccessToken == "" && a.PlayerID != "" {
		s.committer = a.PlayerID
	}
	return nil
}

// evenOdd is the game whose moves have messages of their own.
const evenOdd = "even_odd"

// askMove asks for the move a position wants: CHOOSE_PARITY_CALL in Even/Odd
// (spec 003 §8.7.3), GAME_MOVE_CALL in every other game (§3.8.2), with what the
// game and this match say of the position.
func (m *match) askMove(w *window, position rules.Position, side rules.Side) error {
	s := &m.seats[side]
	if m.assignment.GameType == evenOdd {
		return m.askParity(w, position, side, s)
	}
	question := position.Ask(side)
	context := map[string]any{"opponent_id": s.opponent, "round_id": m.assignment.RoundID}
	maps.Copy(context, question.Context)
	answer, err := put(m, w, s, &protocol.MakeMove, &protocol.GameMoveCall{
		Envelope: m.envelope(protocol.TypeGameMoveCall, s),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, GameType: m.assignment.GameType,
		MoveRequest: protocol.MoveRequest{MoveType: question.MoveType, ValidOptions: question.Options, Context: context},
		Deadline:    w.stamp,
	})
	if err != nil {
		return err
	}
	if err := m.conformance(s, &answer.Envelope, answer.PlayerID); err != nil {
		return err
	}
	return m.judgeMove(s, side, position, &answer.Envelope, move{
		messageType: protocol.TypeGameMoveResponse, matchID: answer.MatchID, field: "move_data", form: "an object with the choice as a string", choice: answer.MoveData.Choice,
		entropy: answer.Entropy, illegal: protocol.ErrIllegalMove,
	})
}

func (m *match) askParity(w *window, position rules.Position, side rules.Side, s *seat) error {
	answer, err := put(m, w, s, &protocol.ChooseParity, &protocol.ChooseParityCall{
		Envelope: m.envelope(protocol.TypeChooseParityCall, s),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, GameType: m.assignment.GameType,
		Context: protocol.ChoiceContext{
			OpponentID: s.opponent, RoundID: m.assignment.RoundID, YourStandings: &s.player.Standings,
		},
		Deadline: w.stamp,
	})
	if err != nil {
		return err
	}
	if err := m.conformance(s, &answer.Envelope, answer.PlayerID); err != nil {
		return err
	}
	return m.judgeMove(s, side, position, &answer.Envelope, move{
		messageType: protocol.TypeChooseParityResponse, matchID: answer.MatchID, field: "parity_choice", form: "a string", choice: answer.ParityChoice,
		entropy: answer.Entropy, illegal: protocol.ErrInvalidParityChoice,
	})
}

// A move is a player's answer, as far as it matters.
type move struct {
	messageType, matchID, choice, entropy string
	field, form                           string // the member that has the choice, and what it must be
	illegal                               protocol.Code
}

// judgeMove decides whether an answer is a legal move, and keeps it if so.
func (m *match) judgeMove(s *seat, side rules.Side, position rules.Position, e *protocol.Envelope, a move) error {
	if err := m.sameMatch(e, a.messageType, a.matchID); err != nil {
		return err
	}
	given := a.choice
	err := position.Check(side, a.choice)
	if f, broken := e.BrokenField(a.field); broken {
		given, err = f.Got, fmt.Errorf("%s must be %s", a.field, a.form)
	}
	if err != nil {
		fault := protocol.Fault(a.illegal, "%v, got %.60q", err, given).With("invalid_choice", clip(given))
		if options := position.Ask(side).Options; len(options) > 0 {
			fault = fault.With("valid_choices", options)
		}
		return fault
	}
	if s.entropyCommitment != "" {
		entropy, ok := protocol.ParseSecret(a.entropy)
		if !ok || !protocol.SameDigest(protocol.EntropyCommitment(m.assignment.MatchID, s.committer, entropy), s.entropyCommitment) {
			return protocol.Fault(protocol.ErrInvalidFieldType, "entropy is not what entropy_commitment promised")
		}
		s.entropy = entropy
	}
	s.move = a.choice
	return nil
}

// sameMatch refuses an answer of another type (E002), or about another match
// (E015).
func (m *match) sameMatch(e *protocol.Envelope, messageType, matchID string) error {
	if e.MessageType != "" && e.MessageType != messageType {
		return protocol.Fault(protocol.ErrInvalidFieldType, "message_type must be %s, got %.60q", messageType, e.MessageType)
	}
	if f, broken := e.BrokenField("match_id"); broken {
		return protocol.Fault(protocol.ErrInvalidFieldType, "match_id must be a string, got %s", f.Got)
	}
	if matchID != "" && matchID != m.assignment.MatchID {
		return protocol.Fault(protocol.ErrMatchIDMismatch, "the answer is about match %.60q, not %s", matchID, m.assignment.MatchID)
	}
	return nil
}

// conformance looks for what is not as the protocol has it although its meaning
// is clear. Replies are judged by meaning, so it is only counted; where the
// league wants its replies strict, it is an error like any other.
func (m *match) conformance(s *seat, e *protocol.Envelope, playerID string) error {
	fault := m.breach(s, e, playerID)
	if fault == nil {
		return nil
	}
	m.referee.warn(s.player.PlayerID, fault.Detail)
	if m.assignment.Replies == protocol.RepliesStrict {
		return fault
	}
	return nil
}

// breach is the first thing about a reply that is not as the protocol has it;
// nil for none.
func (m *match) breach(s *seat, e *protocol.Envelope, playerID string) *protocol.Error {
	for _, f := range e.Broken() {
		switch f.Field {
		case "protocol", "message_type", "sender", "timestamp", "conversation_id", "player_id":
			return protocol.Fault(protocol.ErrInvalidFieldType, "%s cannot be read, got %s", f.Field, clip(f.Got))
		}
	}
	switch {
	case e.Protocol != "" && e.Protocol != protocol.Name:
		return protocol.Fault(protocol.ErrProtocolVersion, "protocol must be %s, got %.60q", protocol.Name, e.Protocol)
	case e.Protocol == "" || e.MessageType == "" || e.Sender == "" || e.ConversationID == "":
		return protocol.Fault(protocol.ErrMissingField, "the envelope is not complete")
	case playerID == "":
		return protocol.Fault(protocol.ErrMissingField, "player_id is missing")
	case !protocol.ValidTimestamp(e.Timestamp):
		return protocol.Fault(protocol.ErrInvalidTimestamp, "the timestamp is not in UTC")
	case e.ConversationID != m.conversation:
		return protocol.Fault(protocol.ErrNotAuthorized, "conversation_id is not that of the request")
	case playerID != s.player.PlayerID:
		return protocol.Fault(protocol.ErrNotAuthorized, "player_id is not the player's")
	}
	return nil
}

// clip shortens what a player sent, and makes it text.
func clip(s string) string {
	const limit = 60
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.ToValidUTF8(s, "")
}
