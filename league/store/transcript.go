package store

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A Transcript has the exchanges of a match. In JSON a question of a game with views lists a move that its receiver was
// shown in an earlier question no second time: the value of its member moves is then {"after": n, "more": […]}, the
// first n moves of the question before, and more. A match of 400 turns would have megabytes of moves otherwise.
type Transcript []Exchange

// maxExpanded limits the moves in all questions of a transcript that is read, in bytes: those of the longest match fit
// several times.
const maxExpanded = 32 << 20

// movesMember is the member of a question that lists the moves so far.
const movesMember = "moves"

// A shortList is the JSON of moves after others.
type shortList struct {
	After int              `json:"after"`
	More  []jsontext.Value `json:"more"`
}

// MarshalJSONTo writes the exchanges.
func (t Transcript) MarshalJSONTo(enc *jsontext.Encoder) error {
	text, err := t.appendTo(nil)
	if err != nil {
		return err
	}
	return enc.WriteValue(text)
}

// size is about the number of bytes of the JSON.
func (t Transcript) size() (n int) {
	for i := range t {
		n += len(t[i].Message) + 256
	}
	return n
}

// appendTo appends the JSON of the exchanges.
func (t Transcript) appendTo(b []byte) (_ []byte, err error) {
	b = append(slices.Grow(b, t.size()), '[')
	shown := map[string][]jsontext.Value{} // by player
	for i := range t {
		x := &t[i]
		if listsTurns(x) {
			message := protocol.ParseObject(x.Message)
			moves, before := elements(message.Raw(movesMember)), shown[x.PlayerID]
			shown[x.PlayerID] = moves
			if n := len(before); n > 0 && n <= len(moves) && slices.EqualFunc(before, moves[:n], equal) {
				if short, err := json.Marshal(shortList{n, moves[n:]}); err == nil { // it was read as JSON
					message.Set(movesMember, short)
					shorter := *x
					shorter.Message = message.Append(nil)
					x = &shorter
				}
			}
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = x.appendTo(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendTo appends what json.Marshal returns. The usual members take a fourth of its time that way: it would parse the
// message again, which a referee or a file has as compact JSON.
func (x *Exchange) appendTo(b []byte) ([]byte, error) {
	usual := x.Error == nil && x.MessageOmitted == "" && x.Answer == "" && x.UnreadableMembers == nil && !x.WrongToken &&
		x.Timing == nil && x.Void == "" && x.Stalled == 0 && !x.Local && x.Used == nil
	if !usual || !isCompact(x.Message) {
		text, err := json.Marshal(x)
		return append(b, text...), err
	}
	for _, member := range [...]struct{ name, value string }{
		{`{"at":`, x.At}, {`,"direction":`, x.Direction}, {`,"player_id":`, x.PlayerID}, {`,"method":`, x.Method},
		{`,"message_type":`, x.MessageType},
	} {
		if member.value == "" && member.name == `,"message_type":` {
			continue
		}
		var err error
		if b, err = jsontext.AppendQuote(append(b, member.name...), member.value); err != nil {
			return nil, err
		}
	}
	b = strconv.AppendInt(append(b, `,"try":`...), int64(x.Try), 10)
	if x.Message != nil {
		b = append(append(b, `,"message":`...), x.Message...)
	}
	return append(b, '}'), nil
}

// isCompact tells whether JSON is nil, or has no white space and no escape sequence, which json.Marshal would change.
func isCompact(text jsontext.Value) bool {
	has := func(c byte) bool { return bytes.IndexByte(text, c) >= 0 }
	if has('\\') {
		return false
	}
	if has(' ') || has('\n') || has('\t') || has('\r') { // most messages have none, not in a text either
		inText := false
		for _, c := range text {
			if c == '"' {
				inText = !inText
			} else if c <= ' ' && !inText {
				return false
			}
		}
	}
	return text == nil || len(text) > 0
}

// marshal returns the JSON of a value, a match without its exchanges, with these exchanges.
func (t Transcript) marshal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	const member = `"transcript":`
	before, after, _ := bytes.Cut(text, []byte(member+"[]")) // no text has it: its quotes would be escaped
	b := append(append(make([]byte, 0, len(text)+t.size()), before...), member...)
	if b, err = t.appendTo(b); err != nil {
		return nil, err
	}
	return append(b, after...), nil
}

func equal(a, b jsontext.Value) bool { return bytes.Equal(a, b) }

// listsTurns tells whether an exchange is a question with moves of a game with views: such moves have turns.
func listsTurns(x *Exchange) bool {
	if x.Direction != Sent || x.Method != protocol.MakeMove.Name {
		return false
	}
	_, list, found := bytes.Cut(x.Message, []byte(`"moves":[{`))
	first, _, _ := bytes.Cut(list, []byte("}"))
	return found && bytes.Contains(first, []byte(`"turn":`))
}

// elements are the elements of a JSON array; nil for any other value.
func elements(list jsontext.Value) (all []jsontext.Value) {
	if list.Kind() != '[' || json.Unmarshal(list, &all) != nil {
		return nil
	}
	return all
}

// UnmarshalJSONFrom reads exchanges, and restores the lists of moves in questions.
func (t *Transcript) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	all := make([]Exchange, 0, 16) // most matches have fewer
	if err := json.UnmarshalDecode(dec, &all); err != nil {
		return err
	}
	shown, expanded := map[string][]jsontext.Value{}, 0
	for i := range all {
		x := &all[i]
		if x.Direction != Sent || x.Method != protocol.MakeMove.Name {
			continue
		}
		if bytes.IndexByte(x.Message, '\n') >= 0 { // somebody has indented the file
			_ = x.Message.Compact() // it was read as JSON
		}
		if listsTurns(x) {
			shown[x.PlayerID] = elements(protocol.ParseObject(x.Message).Raw(movesMember))
			continue
		}
		if !bytes.Contains(x.Message, []byte(`"after":`)) {
			continue
		}
		message := protocol.ParseObject(x.Message)
		var short shortList
		before, list := shown[x.PlayerID], message.Raw(movesMember)
		if list.Kind() != '{' || json.Unmarshal(list, &short) != nil || short.After < 1 || short.After > len(before) {
			continue // the message keeps a list that readers cannot parse
		}
		moves := slices.Concat(before[:short.After], short.More)
		text, err := json.Marshal(moves)
		if expanded += len(text); err != nil || expanded > maxExpanded || len(text) > MaxMessage {
			continue
		}
		message.Set(movesMember, text)
		x.Message, shown[x.PlayerID] = message.Append(nil), moves
	}
	*t = all
	return nil
}
