package referee

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A chronicle collects what a match's file will tell: the states of the match,
// and what was said between referee and players. Messages are kept as they are,
// because they never change, and encoded when the file is written, which is
// when no player waits. Nil collects nothing.
type chronicle struct {
	clock  *protocol.Clock
	tokens []string       // that must not be in a file
	beside sync.WaitGroup // what is said beside the match: the file waits for what comes of it, as nothing else does

	mu      sync.Mutex
	states  []store.StateEntry
	entries []entry
	count   int // of all entries there ever were
	omitted int // of these, those beyond the bound
	closed  bool
}

// An entry is one exchange of a transcript to be.
type entry struct {
	at        time.Time
	direction string
	playerID  string
	method    string
	try       int
	message   any // nil for none
	fault     *protocol.Error
	account   account
}

func newChronicle(clock *protocol.Clock, tokens ...string) *chronicle {
	c := &chronicle{clock: clock}
	for _, token := range tokens {
		if token != "" && token != protocol.NoToken {
			c.tokens = append(c.tokens, token)
		}
	}
	c.enter(store.StateAssigned)
	return c
}

// enter notes a state.
func (c *chronicle) enter(state string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = append(c.states, store.StateEntry{State: state, At: milliseconds(c.clock.Now())})
}

// sent notes a request to a player.
func (c *chronicle) sent(playerID, method string, try int, message any) {
	c.add(entry{direction: store.Sent, playerID: playerID, method: method, try: try, message: message})
}

// received notes what came of it: an answer, or nil, what was wrong, and what is
// known of how that came about.
func (c *chronicle) received(playerID, method string, try int, answer any, fault *protocol.Error, known account) {
	if answer == nil && fault == nil {
		return // this side gave up
	}
	c.add(entry{
		direction: store.Received, playerID: playerID, method: method, try: try, message: answer, fault: fault, account: known,
	})
}

// acknowledged notes what came of something a player is told.
func (c *chronicle) acknowledged(playerID, method string, try int, ack *protocol.Ack, err error, timing *protocol.Timing) {
	if err != nil {
		c.received(playerID, method, try, nil, protocol.AsError(err), account{timing: timing})
		return
	}
	c.received(playerID, method, try, ack, nil, account{timing: timing})
}

func (c *chronicle) add(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	bound := store.MaxExchanges
	if e.method != protocol.NotifyMatchResult.Name {
		bound -= store.ReservedExchanges
	}
	if c.count-c.omitted >= bound {
		c.count++
		c.omitted++
		return
	}
	c.count++
	e.at = c.clock.Now()
	c.entries = append(c.entries, e)
}

// begun tells whether anything was said.
func (c *chronicle) begun() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count > 0
}

// await waits until everything that was said beside the match is answered, or
// was in vain: no longer than a call takes.
func (c *chronicle) await() {
	if c != nil {
		c.beside.Wait()
	}
}

// pour adds what was collected to a document; it is not kept here any longer.
// After the last time nothing more is collected.
func (c *chronicle) pour(into *store.Match, last bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	states, entries := c.states, c.entries
	c.states, c.entries, c.closed = nil, nil, c.closed || last
	into.Omitted = c.omitted
	c.mu.Unlock()
	into.Lifecycle.States = append(into.Lifecycle.States, states...)
	for i := range entries {
		into.Transcript = append(into.Transcript, entries[i].exchange(c.tokens))
	}
}

// exchange is the entry as a file has it.
func (e *entry) exchange(tokens []string) store.Exchange {
	x := store.Exchange{
		At: milliseconds(e.at), Direction: e.direction, PlayerID: e.playerID, Method: e.method, Try: e.try,
		Error:  exchangeError(e.fault, tokens),
		Timing: e.account.timing, Void: e.account.void, Stalled: protocol.Milliseconds(e.account.stalled), Local: e.account.local,
	}
	if e.message == nil {
		return x
	}
	if m, ok := e.message.(interface{ Type() string }); ok {
		x.MessageType = hidden(clip(m.Type()), tokens)
	}
	var problems []string
	code := protocol.ErrInvalidFieldType
	if m, ok := e.message.(interface{ Broken() []protocol.FieldError }); ok {
		for _, f := range m.Broken() {
			if f.Field == tokenMember {
				continue
			}
			x.UnreadableMembers = append(x.UnreadableMembers, f.Field)
			problems = append(problems, strings.TrimSpace(f.Field+" cannot be read: "+f.Got))
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
		x.Error = withProblems(x.Error, code, hidden(strings.Join(problems, "; "), tokens))
	}
	return x
}

// tokenMember is the member of a message that no file has.
const tokenMember = "auth_token"

// hidden is a text for people without tokens, and not endless.
func hidden(text string, tokens []string) string {
	for _, token := range tokens {
		text = strings.ReplaceAll(text, token, protocol.HiddenToken)
	}
	text = string(protocol.HideTokens([]byte(text)))
	return strings.ToValidUTF8(text[:min(len(text), store.MaxDetail)], "")
}

// exchangeError is a fault as a file has it; nil for none.
func exchangeError(fault *protocol.Error, tokens []string) *store.ExchangeError {
	if fault == nil {
		return nil
	}
	return &store.ExchangeError{ErrorCode: string(fault.Code), ErrorName: fault.Code.Name(), Detail: hidden(fault.Detail, tokens)}
}

// withProblems adds to an error what was wrong with the form of a message.
func withProblems(e *store.ExchangeError, code protocol.Code, problems string) *store.ExchangeError {
	if e == nil {
		return &store.ExchangeError{ErrorCode: string(code), ErrorName: code.Name(), Detail: problems}
	}
	e.Detail = strings.TrimPrefix(e.Detail+"; "+problems, "; ")
	return e
}

// encodedWithoutToken is a message as JSON, without its auth_token: what it was
// is nobody's business, also where it was no token at all.
func encodedWithoutToken(message any) (jsontext.Value, error) {
	// What came as a value has not been through an encoder yet.
	raw, err := json.Marshal(message, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var members protocol.Object
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	members.Drop(tokenMember)
	raw, err = json.Marshal(members)
	return protocol.HideTokens(raw), err // it may stand elsewhere, too
}

// milliseconds is a time as match files have it: RFC 3339, UTC.
func milliseconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
