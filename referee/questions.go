package referee

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// call makes one call attempt at a question to a player.
func call[Q, R any](m *match, s *matchSide, method *protocol.Method[Q, R], q *Q) (*R, error) {
	q = protocol.Plain(q) // as the file of the match has it
	w := &s.window
	w.request, w.response, w.Method = method.Request, method.Result, method.Name
	m.transcript.sent(s.player.PlayerID, method.Name, w.Try, q)
	answer, timing, err := method.Ask(m.referee.life, m.referee.options.Caller, s.peer, q, time.Until(w.deadline))
	w.called(timing)
	s.deadline.Queue(timing)
	w.at = m.referee.options.Clock.Now()
	if err != nil {
		return nil, answeredError(err)
	}
	w.message = answer
	if _, late := s.deadline.Late(w.at); late { // do not judge it: the attempt is void
		return nil, protocol.Fault(protocol.ErrTimeout, "the referee read the answer too late")
	}
	return answer, conformance(m, s, method, answer)
}

// received adds the result of a call to a player to the transcript. The log has one warning about the wrong tokens of
// a player.
func (m *match) received(player *protocol.AssignedPlayer, e entry) {
	if e.message != nil && protocol.EnvelopeOf(e.message).HasWrongToken(player.AccessToken) {
		e.WrongToken = true
		side := slices.Index(m.players[:], player.PlayerID)
		m.mu.Lock()
		first := !m.warned[side]
		m.warned[side] = true
		m.mu.Unlock()
		if first {
			m.referee.options.Log.Warn().Str("conversation_id", m.conversation).Str("match_id", m.matchID).
				Str("player_id", player.PlayerID).Str("event_type", "WRONG_TOKEN").
				Msg("the auth_token in an answer of this player is not that of the question, but another, as its agent token, " +
					"which is for the manager alone")
		}
	}
	m.transcript.received(player.PlayerID, e)
}

// invite sends GAME_INVITATION (spec 003 §8.7.1).
func (m *match) invite(side rules.Side) error {
	s, a := &m.sides[side], m.assignment
	q := &protocol.GameInvitation{
		Envelope: m.envelope(protocol.TypeGameInvitation, s),
		LeagueID: a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		RoleInMatch: s.role, OpponentID: s.opponent, Attempt: a.Attempt, DrawCommitment: m.commitment,
	}
	ack, err := call(m, s, &protocol.Invite, q)
	if err != nil {
		return err
	}
	return m.judgeJoin(s, ack)
}

// judgeJoin judges a GAME_JOIN_ACK.
func (m *match) judgeJoin(s *matchSide, a *protocol.GameJoinAck) error {
	if err := m.sameMatch(&a.Envelope, protocol.TypeGameJoinAck, a.MatchID); err != nil {
		return err
	}
	if f, broken := a.BrokenField("accept"); broken {
		return invalid("accept must be true or false, got %s", f.Got)
	}
	if a.Accept == nil {
		return protocol.Fault(protocol.ErrMissingField, "accept must be true or false")
	}
	if _, digest := protocol.ParseSecret(a.EntropyCommitment); a.EntropyCommitment != "" && !digest {
		return invalid("entropy_commitment must be 64 hexadecimal digits")
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

// askMove asks a side for its move: by CHOOSE_PARITY_CALL in Even/Odd (spec 003
// §8.7.3), by GAME_MOVE_CALL in every other game (§3.8.2).
func (m *match) askMove(side rules.Side) error {
	s, a := &m.sides[side], m.assignment
	s.deadline.Ask(s.window.end.Truncate(time.Second)) // as the message says it
	if a.GameType == evenOdd {
		q := &protocol.ChooseParityCall{
			Envelope: m.envelope(protocol.TypeChooseParityCall, s),
			MatchID:  a.MatchID, PlayerID: s.player.PlayerID, GameType: a.GameType,
			Context:  protocol.ChoiceContext{OpponentID: s.opponent, RoundID: a.RoundID, YourStandings: &s.player.Standings},
			Deadline: s.window.stamp, SignatureRequest: m.signatureRequest(s),
		}
		answer, err := call(m, s, &protocol.ChooseParity, q)
		if err != nil {
			return err
		}
		return m.judgeMove(side, &move{
			envelope: &answer.Envelope, matchID: answer.MatchID, choice: answer.ParityChoice, MoveProof: answer.MoveProof,
			messageType: protocol.TypeChooseParityResponse, field: "parity_choice", form: "a string",
			illegal: protocol.ErrInvalidParityChoice,
		})
	}
	question := m.position.Ask(side)
	context := map[string]any{"opponent_id": s.opponent, "round_id": a.RoundID}
	maps.Copy(context, question.Context)
	answer, err := call(m, s, &protocol.MakeMove, &protocol.GameMoveCall{
		Envelope: m.envelope(protocol.TypeGameMoveCall, s),
		MatchID:  a.MatchID, PlayerID: s.player.PlayerID, GameType: a.GameType,
		MoveRequest: protocol.MoveRequest{MoveType: question.MoveType, ValidOptions: question.Options, Context: context},
		Deadline:    s.window.stamp, SignatureRequest: m.signatureRequest(s),
	})
	if err != nil {
		return err
	}
	return m.judgeMove(side, &move{
		envelope: &answer.Envelope, matchID: answer.MatchID, choice: answer.MoveData.Choice, MoveProof: answer.MoveProof,
		messageType: protocol.TypeGameMoveResponse, field: "move_data", form: "an object with the choice as a string",
		illegal: protocol.ErrIllegalMove,
	})
}

// A move is a player's answer with the message type, the member and the error code
// by which it is judged.
type move struct {
	protocol.MoveProof

	envelope        *protocol.Envelope
	matchID, choice string
	messageType     string
	field, form     string // the member that has the choice, and the type that it must have
	illegal         protocol.Code
}

// judgeMove records the move if it is legal, else it returns the fault.
func (m *match) judgeMove(side rules.Side, a *move) error {
	s, position := &m.sides[side], m.position
	if err := m.sameMatch(a.envelope, a.messageType, a.matchID); err != nil {
		return err
	}
	given := a.choice
	err := position.Check(side, a.choice)
	if f, broken := a.envelope.BrokenField(a.field); broken {
		given, err = f.Got, fmt.Errorf("%s must be %s", a.field, a.form)
	}
	if err != nil {
		fault := protocol.Fault(a.illegal, "%v, got %.60q", err, given).With("invalid_choice",
			protocol.Clip(given, protocol.MaxMessageType))
		if options := position.Ask(side).Options; len(options) > 0 {
			fault = fault.With("valid_choices", options)
		}
		return fault
	}
	if s.entropyCommitment != "" {
		entropy, ok := protocol.OpensEntropy(s.entropyCommitment, m.assignment.MatchID, s.committer, a.Entropy)
		if !ok {
			return invalid("entropy does not match entropy_commitment")
		}
		s.entropy, s.entropyText = entropy, a.Entropy // a secret has only one text
	}
	if err := m.checkSignature(s, a); err != nil {
		return err
	}
	if s.move, s.moved = a.choice, m.turn; a.Fallback {
		s.fallbacks++
	}
	m.mu.Lock()
	m.chosen[side] = true
	m.mu.Unlock()
	return nil
}

// invalid returns the error for an answer with a wrong member.
func invalid(format string, args ...any) *protocol.Error {
	return protocol.Fault(protocol.ErrInvalidFieldType, format, args...)
}

// sameMatch returns an error for an answer with the type of another message (E002) or about another
// match (E015). A type that the protocol does not have is a deviation of the form alone.
func (m *match) sameMatch(e *protocol.Envelope, messageType, matchID string) error {
	if e.MessageType != messageType && protocol.IsMessageType(e.MessageType) {
		return invalid("message_type must be %s, got %.60q", messageType, e.MessageType)
	}
	if f, broken := e.BrokenField("match_id"); broken {
		return invalid("match_id must be a string, got %s", f.Got)
	}
	if matchID != "" && matchID != m.assignment.MatchID {
		return protocol.Fault(protocol.ErrMatchIDMismatch, "the answer is about match %.60q, not %s", matchID,
			m.assignment.MatchID)
	}
	return nil
}

// conformance counts answers that do not conform to the protocol although their meaning may be
// clear. Answers are judged by their meaning, unless the league wants strict replies: then it
// returns the fault. Only a strict league demands the access token.
func conformance[Q, R any](m *match, s *matchSide, method *protocol.Method[Q, R], answer *R) error {
	strict := m.assignment.Replies == protocol.RepliesStrict
	to := protocol.ReplyTo{ConversationID: m.conversation, PlayerID: s.player.PlayerID}
	if strict {
		to.AccessToken = s.player.AccessToken
	}
	if fault := method.ReplyBreach(answer, to); fault != nil {
		m.referee.warn(s.player.PlayerID, fault.Detail)
		if strict {
			return fault
		}
	}
	return nil
}
