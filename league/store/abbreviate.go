package store

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A briefExchange is an Exchange without message_type, and without the members of its
// message that have the value that the match, the method and the time imply. Expanding it
// gives the same bytes.
type briefExchange struct {
	Exchange
	Whole bool `json:"whole,omitzero"` // nothing is left out
}

// A messageForm is a message of a match as this program writes it.
type messageForm struct {
	method, direction, messageType string
	members                        []string // in order; the others follow
}

// messageForms is part of the format of results files: a row that records were written
// with never changes.
var messageForms = []messageForm{
	form(protocol.Invite.Name, Sent, protocol.TypeGameInvitation, "league_id", "round_id", "match_id", "game_type", "role_in_match", "opponent_id", "attempt", "draw_commitment"),
	form(protocol.Invite.Name, Received, protocol.TypeGameJoinAck, "match_id", "player_id", "arrival_timestamp", "accept", "entropy_commitment"),
	form(protocol.ChooseParity.Name, Sent, protocol.TypeChooseParityCall, "match_id", "player_id", "game_type"),
	form(protocol.ChooseParity.Name, Received, protocol.TypeChooseParityResponse, "match_id", "player_id", "parity_choice", "entropy"),
	form(protocol.MakeMove.Name, Sent, protocol.TypeGameMoveCall, "match_id", "player_id", "game_type"),
	form(protocol.MakeMove.Name, Received, protocol.TypeGameMoveResponse, "match_id", "player_id", "game_type", "move_data", "entropy"),
	form(protocol.NotifyMatchResult.Name, Sent, protocol.TypeGameOver, "match_id", "game_type", "game_result", "draw"),
	form(protocol.NotifyMatchResult.Name, Received, protocol.TypeGameOverAck, "status", "player_id", "match_id"),
	form(protocol.NotifyGameError.Name, Sent, protocol.TypeGameError, "match_id", "player_id"),
	form(protocol.NotifyGameError.Name, Received, protocol.TypeGameErrorAck, "status", "player_id", "match_id"),
}

func form(method, direction, messageType string, members ...string) messageForm {
	envelope := []string{"protocol", "message_type", "sender", "timestamp", "conversation_id"}
	return messageForm{method, direction, messageType, append(envelope, members...)}
}

// signedForms replace rows of messageForms for a player that signed in the match.
var signedForms = []messageForm{
	form(protocol.ChooseParity.Name, Sent, protocol.TypeChooseParityCall, "match_id", "player_id", "game_type", "context", "deadline",
		"sign", "started", "turn", "role_in_match", "draw_commitment", "entropy_commitments"),
	form(protocol.ChooseParity.Name, Received, protocol.TypeChooseParityResponse, "match_id", "player_id", "parity_choice", "entropy", "signature"),
	form(protocol.MakeMove.Name, Sent, protocol.TypeGameMoveCall, "match_id", "player_id", "game_type", "move_request", "deadline",
		"sign", "started", "turn", "role_in_match", "draw_commitment", "entropy_commitments", "moves"),
	form(protocol.MakeMove.Name, Received, protocol.TypeGameMoveResponse, "match_id", "player_id", "game_type", "move_data", "entropy", "signature"),
}

// formOf returns the form of the message of an exchange; nil for none.
func (m *implied) formOf(x *Exchange) *messageForm {
	tables := [...][]messageForm{nil, messageForms}
	if _, signed := m.doc.Signatures.Get(x.PlayerID); signed {
		tables[0] = signedForms
	}
	for _, forms := range tables {
		for i := range forms {
			if f := &forms[i]; f.method == x.Method && f.direction == x.Direction {
				return f
			}
		}
	}
	return nil
}

// rank is the index of a member; the number of members for any other.
func (f *messageForm) rank(name string) int {
	for i, member := range f.members {
		if member == name {
			return i
		}
	}
	return len(f.members)
}

// appendMessage appends an object with the members of rest, and with the implied members
// that rest does not have, in the form's order. Values has the implied ones; nil for none.
func (f *messageForm) appendMessage(b []byte, rest protocol.Object, values []jsontext.Value) []byte {
	b = append(b, '{')
	start, next := len(b), 0
	add := func(name string, value jsontext.Value) {
		if len(b) > start {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, name) // fails for invalid UTF-8 only, which rest does not have
		b = append(append(b, ':'), value...)
	}
	upTo := func(end int) {
		for ; next < end; next++ {
			if values[next] != nil && !rest.Has(f.members[next]) {
				add(f.members[next], values[next])
			}
		}
	}
	for _, member := range rest {
		upTo(f.rank(member.Name))
		add(member.Name, member.Value)
	}
	upTo(len(f.members))
	return append(b, '}')
}

// implied has the values of members that follow from a match, as JSON.
type implied struct {
	doc     *Match
	values  map[string]jsontext.Value // those that are the same in all messages
	members []jsontext.Value          // of one message; see of
	text    []byte                    // of members
	message []byte
}

func newImplied(doc *Match) *implied {
	m := &implied{doc: doc, values: map[string]jsontext.Value{
		"protocol": quote(protocol.Name), "conversation_id": quote(doc.ConversationID),
		"league_id": quote(doc.LeagueID), "round_id": encoded(doc.RoundID), "match_id": quote(doc.MatchID),
		"game_type": quote(doc.GameType), "attempt": encoded(doc.Attempt),
		"accept": jsontext.Value("true"), "status": quote(protocol.StatusAcknowledged),
	}}
	if doc.Result != nil {
		m.values["game_result"] = encoded(&doc.Result.GameResult)
	}
	if doc.Draw != nil {
		m.values["draw"], m.values["draw_commitment"] = encoded(doc.Draw), quote(doc.Draw.Commitment)
		if doc.Draw.EntropyCommitments != nil {
			m.values["entropy_commitments"] = encoded(doc.Draw.EntropyCommitments)
		}
	}
	if doc.Started != "" {
		m.values["sign"], m.values["started"], m.values["turn"] = jsontext.Value("true"), quote(doc.Started), jsontext.Value("1")
	}
	return m
}

// encoded is the JSON of a value; nil if it has none.
func encoded(value any) jsontext.Value {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return raw
}

// quote is the JSON of a text; nil for the empty text.
func quote(text string) jsontext.Value {
	if text == "" {
		return nil
	}
	raw, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil
	}
	return raw
}

// of returns the implied values of a form's members in an exchange; nil for none. Message
// has at least the members that are not implied. The values are valid until the next call.
func (m *implied) of(f *messageForm, x *Exchange, message protocol.Object) []jsontext.Value {
	m.members, m.text = m.members[:0], m.text[:0]
	for _, name := range f.members {
		m.members = append(m.members, m.value(name, f, x, message))
	}
	return m.members
}

// quote is quote without an allocation for each text.
func (m *implied) quote(text string) jsontext.Value {
	start := len(m.text)
	var err error
	if m.text, err = jsontext.AppendQuote(m.text, text); text == "" || err != nil {
		return nil
	}
	return m.text[start:]
}

// value is the implied value of a member; nil for none.
func (m *implied) value(name string, f *messageForm, x *Exchange, message protocol.Object) jsontext.Value {
	side, opponent, role := &m.doc.PlayerA, &m.doc.PlayerB, protocol.RolePlayerA
	if x.PlayerID == opponent.PlayerID {
		side, opponent, role = opponent, side, protocol.RolePlayerB
	}
	switch name {
	case "message_type":
		return m.quote(f.messageType)
	case "sender":
		if f.direction == Received {
			return m.quote(protocol.PlayerSender(x.PlayerID))
		}
		return m.quote(protocol.RefereeSender(m.doc.RefereeID))
	case "timestamp", "arrival_timestamp":
		return m.quote(Seconds(x.At))
	case "player_id":
		return m.quote(x.PlayerID)
	case "opponent_id":
		return m.quote(opponent.PlayerID)
	case "role_in_match":
		return m.quote(role)
	case "entropy_commitment":
		return m.quote(side.EntropyCommitment)
	case "entropy":
		if m.doc.Draw != nil {
			entropy, _ := m.doc.Draw.Entropies.Get(x.PlayerID)
			return m.quote(entropy)
		}
	case "signature":
		signed, _ := m.doc.Signatures.Get(x.PlayerID)
		return m.quote(signed.Signature)
	case "moves":
		return m.movesBefore(message)
	}
	return m.values[name]
}

// movesBefore is the implied value of the moves before a question: one for each earlier turn;
// nil for none.
func (m *implied) movesBefore(message protocol.Object) jsontext.Value {
	turn, err := strconv.Atoi(string(message.Raw("turn")))
	if err != nil || turn < 2 || turn > len(m.doc.Moves)+1 {
		return nil
	}
	return encoded(m.doc.Moves[:turn-1])
}

// abbreviate leaves out what is implied. If the rest does not expand to the same bytes, the
// exchange stays whole: its message lacks an implied member, has another order, or is no
// object.
func (m *implied) abbreviate(x *Exchange) briefExchange {
	if x.Message == nil {
		return briefExchange{Exchange: *x}
	}
	f := m.formOf(x)
	if f == nil || x.MessageType != f.messageType {
		return briefExchange{Exchange: *x, Whole: true}
	}
	message := protocol.ParseObject(x.Message)
	values := m.of(f, x, message)
	rest := make(protocol.Object, 0, 8)
	last := -1
	for _, member := range message {
		i := f.rank(member.Name)
		if i <= last || i == len(f.members) || !bytes.Equal(member.Value, values[i]) {
			rest = append(rest, member)
		}
		last = max(i, last)
	}
	m.message = f.appendMessage(m.message[:0], rest, values)
	if !bytes.Equal(m.message, x.Message) {
		return briefExchange{Exchange: *x, Whole: true}
	}
	brief := briefExchange{Exchange: *x}
	brief.Message, brief.MessageType = rest.Append(nil), ""
	return brief
}

// expand is the inverse of abbreviate.
func (m *implied) expand(brief *briefExchange) (Exchange, error) {
	x := brief.Exchange
	if brief.Whole || x.Message == nil {
		return x, nil
	}
	f, rest := m.formOf(&x), protocol.Object{}
	if string(x.Message) != "{}" { // most messages are implied
		rest = protocol.ParseObject(x.Message)
	}
	if f == nil || rest == nil {
		return x, errors.New("a message of the transcript cannot be expanded")
	}
	m.message = f.appendMessage(m.message[:0], rest, m.of(f, &x, rest))
	x.MessageType, x.Message = f.messageType, bytes.Clone(m.message)
	return x, nil
}
