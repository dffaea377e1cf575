package referee

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// A transcript collects the states of a match and the exchanges between referee
// and players for the match file. Messages never change, so it encodes them only
// when the file is written, while no player waits. It is safe for concurrent use.
// A nil transcript collects nothing.
type transcript struct {
	now    func() time.Time
	tokens []string // that no file may hold

	mu      sync.Mutex
	states  []store.StateEntry
	entries []entry
	count   int // of all exchanges
	omitted int // of these, those beyond the bound
	closed  bool
}

// An entry is one exchange before it is encoded.
type entry struct {
	store.Exchange
	at      time.Time // zero for the time at which it is added
	message any       // nil for none
	fault   *protocol.Error
}

func newTranscript(now func() time.Time, tokens ...string) *transcript {
	t := &transcript{now: now, tokens: lists.Filter(tokens, func(token string) bool {
		return token != "" && token != protocol.NoToken
	})}
	t.enter(protocol.StateAssigned)
	return t
}

// enter adds a state.
func (t *transcript) enter(state string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states = append(t.states, store.StateEntry{State: state, At: milliseconds(t.now())})
}

// sent adds a request to a player at a time.
func (t *transcript) sent(playerID, method string, try int, message any, at time.Time) {
	t.add(entry{Exchange: store.Exchange{Direction: store.Sent, PlayerID: playerID, Method: method, Try: try},
		at: at, message: message})
}

// received adds the result of a call attempt: a response or nil, and the error or nil.
// Without both, the referee itself stopped, which is no exchange.
func (t *transcript) received(playerID string, e entry) {
	if e.message != nil || e.fault != nil {
		e.Direction, e.PlayerID, e.Answer = store.Received, playerID, t.answer(e.fault, e.Timing)
		t.add(e)
	}
}

// answer returns the beginning of a response with an error as it arrived; "" for none. It drops
// the rest, so that the timing does not keep it in memory.
func (t *transcript) answer(fault *protocol.Error, timing *protocol.Timing) string {
	if timing == nil || t == nil {
		return ""
	}
	body := timing.Body
	timing.Body = nil
	if fault == nil || len(body) == 0 {
		return ""
	}
	const enough = 8 * store.MaxAnswer // no token that is cut here reaches the file
	text := bytes.Clone(body[:min(len(body), enough)])
	// no escape sequence hides a token; fails for prose
	_ = (*jsontext.Value)(&text).Format(jsontext.PreserveRawStrings(false))
	return words.Clip(hidden(strings.ToValidUTF8(string(text), "\uFFFD"), t.tokens), store.MaxAnswer)
}

func (t *transcript) add(e entry) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	bound := store.MaxExchanges
	if e.Method != protocol.NotifyMatchResult.Name {
		bound -= store.ReservedExchanges
	}
	t.count++
	if t.count-t.omitted > bound {
		t.omitted++
		return
	}
	if e.at.IsZero() {
		e.at = t.now()
	}
	t.entries = append(t.entries, e)
}

// started tells whether there is any exchange.
func (t *transcript) started() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count > 0
}

// moveTo moves the states and exchanges to a document. After the last time the
// transcript collects nothing more.
func (t *transcript) moveTo(doc *store.Match, last bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	states, entries := t.states, t.entries
	t.states, t.entries, t.closed = nil, nil, t.closed || last
	doc.Omitted = t.omitted
	t.mu.Unlock()
	doc.Lifecycle.States = append(doc.Lifecycle.States, states...)
	for i := range entries {
		doc.Transcript = append(doc.Transcript, entries[i].exchange(t.tokens))
	}
}

// exchange encodes the entry for the file.
func (e *entry) exchange(tokens []string) store.Exchange {
	x := e.Exchange
	x.At, x.Error = milliseconds(e.at), exchangeError(e.fault, tokens)
	if e.message == nil {
		return x
	}
	if m, ok := e.message.(interface{ Type() string }); ok {
		x.MessageType = hidden(words.Clip(m.Type(), protocol.MaxMessageType), tokens)
	}
	var problems []string
	code := protocol.ErrInvalidFieldType
	if m, ok := e.message.(interface{ Broken() []protocol.FieldError }); ok {
		for _, f := range m.Broken() {
			if f.Field != tokenMember {
				x.UnreadableMembers = append(x.UnreadableMembers, f.Field)
				problems = append(problems, strings.TrimSpace(f.Field+" cannot be read: "+f.Got))
			}
		}
	}
	raw, err := encodedWithoutToken(e.message)
	switch {
	case err != nil:
		x.MessageOmitted = store.OmittedUnencoded
		problems = append(problems, "the message has no encoding as JSON and is omitted")
	case len(raw) > store.MaxMessage:
		x.MessageOmitted, code = store.OmittedTooLarge, protocol.ErrMessageTooLarge
		problems = append(problems, fmt.Sprintf("the message is omitted because it is too large: %d bytes", len(raw)))
	default:
		for _, token := range tokens {
			raw = bytes.ReplaceAll(raw, []byte(token), []byte(protocol.HiddenToken))
		}
		x.Message = raw
	}
	if len(problems) > 0 {
		if x.Error == nil {
			x.Error = &store.ExchangeError{ErrorCode: string(code), ErrorName: code.Name()}
		}
		x.Error.Detail = strings.TrimPrefix(x.Error.Detail+"; "+hidden(strings.Join(problems, "; "), tokens), "; ")
	}
	return x
}

// tokenMember is the member of a message that no file holds.
const tokenMember = "auth_token"

// hidden returns a text without tokens, with at most store.MaxDetail bytes.
func hidden(text string, tokens []string) string {
	for _, token := range tokens {
		text = strings.ReplaceAll(text, token, protocol.HiddenToken)
	}
	text = protocol.WithoutTokens(text)
	return strings.ToValidUTF8(text[:min(len(text), store.MaxDetail)], "")
}

// exchangeError encodes a fault for a file; nil for none.
func exchangeError(fault *protocol.Error, tokens []string) *store.ExchangeError {
	if fault == nil {
		return nil
	}
	return &store.ExchangeError{ErrorCode: string(fault.Code), ErrorName: fault.Code.Name(),
		Detail: hidden(fault.Detail, tokens)}
}

// encodedWithoutToken encodes a message without its auth_token, even if its value
// is no token, and hides tokens in other members.
func encodedWithoutToken(message any) (jsontext.Value, error) {
	// The memory carrier passes values, which may hold invalid UTF-8.
	raw, err := json.Marshal(message, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	text, ok := withoutToken(raw)
	if !ok {
		members := protocol.ParseObject(raw)
		members.Drop(tokenMember)
		text = members.Append(nil)
	}
	return protocol.HideTokens(text), nil
}

// withoutToken takes the auth_token out of the JSON of a message, if that needs no parser: an object without escape
// sequences, whose token is a text before all members that are objects or arrays, or which has none.
func withoutToken(raw []byte) (text []byte, ok bool) {
	if len(raw) == 0 || raw[0] != '{' || bytes.IndexByte(raw, '\\') >= 0 {
		return nil, false
	}
	member := []byte(`"` + tokenMember + `":`)
	begin := bytes.Index(raw, member)
	if begin < 0 {
		return raw, true
	}
	value := raw[begin+len(member):]
	end := bytes.IndexByte(value[1:], '"') + 2
	if bytes.ContainsAny(raw[1:begin], "{[") || value[0] != '"' || bytes.Contains(value, member) {
		return nil, false
	}
	after := value[end:]
	if after[0] == ',' {
		after = after[1:]
	} else if begin > 1 {
		begin-- // the comma before the last member
	}
	return append(raw[:begin], after...), true
}

// milliseconds formats a time for match files: RFC 3339 in UTC.
func milliseconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
