package conduct

import (
	"errors"
	"fmt"

	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/rules"
)

// A Reply is what a player answered, as far as the referee judges by it. ReplyOf makes it.
type Reply struct {
	Type, MatchID string
	Broken        []protocol.FieldError // members that could not be read
	Breach        *protocol.Error       // what a strict league refuses about its form; nil for nothing

	Accept            *bool  // of GAME_JOIN_ACK
	PlayerID          string // of GAME_JOIN_ACK
	EntropyCommitment string // of GAME_JOIN_ACK

	Choice string // of a move
	protocol.MoveProof
	Unsigned bool           // the signature is not that of Match.Statement
	Refused  *rules.Illegal // why the program of the game refuses it, by Match.Legal; nil if it does not
}

// ReplyOf reads a message that answers a question; nil for any other.
func ReplyOf(message any) *Reply { return new(Reply).read(message) }

// Reply is ReplyOf for an answer of a side.
func (m *Match) Reply(of rules.Side, message any) *Reply {
	with := m.sides[of].messages
	if m.state == protocol.StateWaitingForPlayers {
		return with.join.New().read(message)
	}
	return with.move.New().read(message)
}

// read reads a message, and returns nil for one that answers no question.
func (r *Reply) read(message any) *Reply {
	switch a := message.(type) {
	case *protocol.GameJoinAck:
		*r = Reply{Type: a.MessageType, MatchID: a.MatchID, Broken: a.Broken(), Accept: a.Accept, PlayerID: a.PlayerID,
			EntropyCommitment: a.EntropyCommitment}
	case *protocol.ChooseParityResponse:
		*r = Reply{Type: a.MessageType, MatchID: a.MatchID, Broken: a.Broken(), Choice: a.ParityChoice,
			MoveProof: a.MoveProof}
	case *protocol.GameMoveResponse:
		*r = Reply{Type: a.MessageType, MatchID: a.MatchID, Broken: a.Broken(), Choice: a.MoveData.Choice,
			MoveProof: a.MoveProof}
	default:
		return nil
	}
	return r
}

// broken returns a member that could not be read.
func (r *Reply) broken(member string) (got string, broken bool) {
	for i := range r.Broken {
		if r.Broken[i].Field == member {
			return r.Broken[i].Got, true
		}
	}
	return "", false
}

// judgeReply returns the fault of an answer; nil for one that counts. Answers are judged by their meaning, unless the
// league is strict.
func (m *Match) judgeReply(s *side, of rules.Side, r *Reply) *protocol.Error {
	if r.Breach != nil && m.Strict() {
		return r.Breach
	}
	if fault := m.sameMatch(r); fault != nil {
		return fault
	}
	if m.state == protocol.StateWaitingForPlayers {
		return judgeJoin(r)
	}
	return m.judgeMove(s, of, r)
}

// sameMatch returns the fault of an answer with the type of another message (E002) or about another match (E015). A
// type that the protocol does not have is a deviation of the form alone.
func (m *Match) sameMatch(r *Reply) *protocol.Error {
	if want := m.method().Result; r.Type != want && protocol.IsMessageType(r.Type) {
		return invalid("message_type must be %s, got %.60q", want, r.Type)
	}
	if got, broken := r.broken("match_id"); broken {
		return invalid("match_id must be a string, got %s", got)
	}
	if id := m.assignment.MatchID; r.MatchID != "" && r.MatchID != id {
		return protocol.Fault(protocol.ErrMatchIDMismatch, "the answer is about match %.60q, not %s", r.MatchID, id)
	}
	return nil
}

// judgeJoin returns the fault of a GAME_JOIN_ACK.
func judgeJoin(r *Reply) *protocol.Error {
	if got, broken := r.broken("accept"); broken {
		return invalid("accept must be true or false, got %s", got)
	}
	if r.Accept == nil {
		return protocol.Fault(protocol.ErrMissingField, "accept must be true or false")
	}
	if _, digest := protocol.ParseSecret(r.EntropyCommitment); r.EntropyCommitment != "" && !digest {
		return invalid("entropy_commitment must be 64 hexadecimal digits")
	}
	return nil
}

// judgeMove returns the fault of a move.
func (m *Match) judgeMove(s *side, of rules.Side, r *Reply) *protocol.Error {
	given, err := r.Choice, m.checkMove(of, r)
	if got, broken := r.broken(m.form.Choice[0]); broken {
		given, err = got, fmt.Errorf("%s must be %s", m.form.Choice[0], m.form.Type)
	}
	if err != nil {
		fault := protocol.Fault(m.form.Illegal, "%v, got %.60q", err, given).With("invalid_choice",
			words.Clip(given, protocol.MaxMessageType))
		if options := m.course.Ask(of).Options; len(options) > 0 {
			fault = fault.With("valid_choices", options)
		}
		return fault
	}
	if s.entropyCommitment != "" {
		if _, ok := protocol.OpensEntropy(s.entropyCommitment, m.assignment.MatchID, s.committer, r.Entropy); !ok {
			return invalid("entropy does not match entropy_commitment")
		}
	}
	if !m.signs(s) {
		return nil
	}
	if got, broken := r.broken("signature"); broken {
		return invalid("signature must be a string of 128 hexadecimal digits, got %s", got)
	}
	switch {
	case r.Signature == "":
		return invalid("signature is missing, although the question asks for one")
	case r.Unsigned:
		return invalid("signature does not match the question, the move and the player's public key")
	}
	return nil
}

// checkMove returns why a move is not legal; nil for a legal one.
func (m *Match) checkMove(of rules.Side, r *Reply) error {
	switch err := m.course.Check(of, r.Choice); {
	case err != nil:
		return err
	case m.asksText(of) && !protocol.HarmlessLine(r.Choice):
		return errNotALine
	case r.Refused != nil:
		return errors.New(words.Clip(r.Refused.Reason, maxReason))
	}
	return nil
}

// invalid returns the fault of an answer with a wrong member.
func invalid(format string, args ...any) *protocol.Error {
	return protocol.Fault(protocol.ErrInvalidFieldType, format, args...)
}

// maxReason is the largest number of bytes of what a program says of a move that it refuses.
const maxReason = 200

var errNotALine = errors.New("must be one line of text, without control characters and marks of direction")
