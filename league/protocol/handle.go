package protocol

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A broken request has fields that break a rule, or cannot be decoded.
type brokenRequest struct {
	envelope *Envelope
	matchID  string // of a message of a match; "" for none
	err      error
}

// Handle registers h for all names of the method. H receives a request that was
// decoded only if it is valid. Handle
// fills in the envelope of the result, and converts an error of h to an error message of
// the agent that the stamp belongs to.
func (m *Method[Q, R]) Handle(mux Mux, stamp *Stamp, h func(ctx context.Context, bearer string, q *Q) (*R, error)) {
	decode := func(raw []byte) (any, error) { return m.decodeParams(raw, stamp) }
	refuse := func(ctx context.Context, err error, asked *Envelope, matchID string) error {
		if e, ok := errors.AsType[*Error](err); ok && stamp.refused != nil {
			stamp.refused(ctx, m.Name, asked, e)
		}
		return m.refuse(err, stamp, asked, matchID)
	}
	handle := func(ctx context.Context, bearer string, params any) (any, error) {
		if b, is := params.(brokenRequest); is {
			return nil, refuse(ctx, b.err, b.envelope, b.matchID)
		}
		q, ok := requestOf[Q](m.Request, params)
		if !ok {
			err := Fault(ErrInvalidFieldType, "the params are not a %s", m.Request)
			return nil, refuse(ctx, err, &Envelope{MessageType: m.Request}, "")
		}
		asked := EnvelopeOf(q)
		r, failed := h(ctx, bearer, q)
		if failed != nil {
			return nil, refuse(ctx, failed, asked, matchOf(q))
		}
		conversation := asked.ConversationID
		if conversation == "" { // the request of a tool has no envelope
			conversation = "conv-" + m.Name
		}
		answered := EnvelopeOf(r)
		token, plain := answered.AuthToken, answered.plain
		*answered = stamp.Envelope(m.Result, conversation)
		answered.AuthToken, answered.plain = token, plain || answered.plain
		return Plain(r), nil
	}
	names := append([]string{m.Name}, m.Aliases...)
	if m.Request != "" {
		names = append(names, m.Request)
	}
	for _, name := range names {
		mux.Handle(name, decode, handle)
	}
}

// decodeParams returns the request, or a broken one.
func (m *Method[Q, R]) decodeParams(raw []byte, stamp *Stamp) (any, error) {
	q, err := m.decodeRequest(raw, stamp.Clock())
	// An agent that misses the end of its league waits for ever, and a report that cannot be read is refused
	// like a contradictory one.
	if err != nil && (m.Request == TypeLeagueCompleted || m.Request == TypeMatchResultReport) {
		if rest := m.readable(raw); rest != nil {
			q, err = rest, nil
		}
	}
	if err != nil {
		if jsontext.Value(raw).IsValid() { // Handle returns the error, because a carrier may decode twice
			return brokenRequest{peek(raw), m.peekMatch(raw), err}, nil
		}
		return nil, m.refuse(err, stamp, peek(raw), "")
	}
	return q, nil
}

// EnvelopeOf returns the envelope of a message, of which v is a pointer.
func EnvelopeOf(v any) *Envelope { return v.(message).envelope() }

// refuse returns the error to send, with this method's JSON-RPC code. For an error that is
// not an *Error the caller receives an internal error without details.
func (m *Method[Q, R]) refuse(err error, stamp *Stamp, asked *Envelope, matchID string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{RPC: RPCInternal, Detail: "Internal error", Remote: true, cause: err}
	}
	if asked.MessageType == "" { // a tool has no message type
		named := *asked
		named.MessageType = cmp.Or(m.Request, m.Name)
		asked = &named
	}
	return e.toSend(stamp, asked, matchID, cmp.Or(m.codes[e.Code], e.RPC))
}

// Refusal returns the error to send for a tool that is no method of the protocol, with the message of an error as any
// method has it. Asked is the envelope of its arguments.
func Refusal(tool string, err error, stamp *Stamp, asked Envelope) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{RPC: RPCInternal, Detail: "Internal error", Remote: true, cause: err}
	}
	asked.MessageType = tool
	return e.toSend(stamp, &asked, "", e.RPC)
}

// An ofMatch is a message that a referee sends to a player.
type ofMatch interface{ inMatch() string }

func (q *GameInvitation) inMatch() string   { return q.MatchID }
func (q *ChooseParityCall) inMatch() string { return q.MatchID }
func (q *GameMoveCall) inMatch() string     { return q.MatchID }
func (q *GameOver) inMatch() string         { return q.MatchID }
func (q *GameError) inMatch() string        { return q.MatchID }

// matchOf is the match of a message that a referee sends to a player; "" for other messages.
func matchOf(q any) string {
	if m, ok := q.(ofMatch); ok && short(m.inMatch(), maxEchoed) {
		return m.inMatch()
	}
	return ""
}

// maxEchoed is the longest match id that an error message repeats.
const maxEchoed = 64

// peekMatch is matchOf for a message that cannot be decoded.
func (m *Method[Q, R]) peekMatch(raw []byte) string {
	id := ParseObject(raw).Text("match_id")
	if _, game := any(new(Q)).(ofMatch); !game || !short(id, maxEchoed) {
		return ""
	}
	return id
}

// requestOf returns the request in what a carrier passed. A value of the same process is not validated:
// that belongs to the decoding of bytes. Only a tool can be called without params.
func requestOf[Q any](messageType string, params any) (q *Q, ok bool) {
	switch p := params.(type) {
	case *Broadcast[Q]:
		return p.message, true
	case *Q:
		return p, true
	case nil:
		return new(Q), messageType == ""
	}
	return nil, false
}

// decodeRequest decodes and validates a request.
func (m *Method[Q, R]) decodeRequest(raw []byte, clock *Clock) (*Q, error) {
	q := new(Q)
	if m.Request == "" {
		return q, m.decodeTool(raw, q)
	}
	err := json.Unmarshal(raw, q)
	if err == nil && len(examineValid(m.request(), raw)) == 0 {
		return q, nil
	}
	if completed, ok := completeLegacy(raw, m.Request, clock); ok {
		*q = *new(Q)
		raw, err = completed, json.Unmarshal(completed, q)
	}
	if broken := examine(m.request(), raw); len(broken) > 0 {
		return nil, brokenFields(broken)
	}
	if err != nil {
		return nil, Fault(ErrInvalidFieldType, "the params cannot be read as a %s", m.Request)
	}
	return q, nil
}

// readable returns a message without the members that break a rule, which Envelope.Refusal describes;
// nil if its envelope breaks one.
func (m *Method[Q, R]) readable(raw []byte) *Q {
	message, q, all := ParseObject(raw), new(Q), examine(m.request(), raw)
	for _, broken := range all {
		name := broken.Field
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		inEnvelope := func(f Field) bool { return f.Name == name }
		if message == nil || slices.ContainsFunc(m.request().Fields[:envelopeSize], inEnvelope) {
			return nil
		}
		message.Drop(name)
	}
	if json.Unmarshal(message.Append(nil), q) != nil {
		return nil
	}
	EnvelopeOf(q).broken = all
	return q
}

// peek returns the readable part of the envelope of a refused request.
func peek(raw []byte) *Envelope {
	var e Envelope
	_ = decodeLeniently(raw, &e) // unreadable members stay empty
	e.MessageType = clip(e.MessageType)
	if !short(e.ConversationID, 128) {
		e.ConversationID = clip(e.ConversationID)
	}
	return &e
}

// decodeTool decodes the request of a method without a message type. Most of these read only
// the token; the members of organise_league are validated, apart from its envelope.
func (m *Method[Q, R]) decodeTool(raw []byte, q *Q) error {
	if m.Name == organiseMethod && len(raw) > 0 {
		if broken := examine(&Field{Fields: m.request().Fields[envelopeSize:]}, raw); len(broken) > 0 {
			return brokenFields(broken)
		}
	}
	if len(raw) > 0 && json.Unmarshal(raw, q) != nil {
		return Fault(ErrInvalidFieldType, "the params of %s are an object with auth_token", m.Name)
	}
	return nil
}

// completeLegacy completes a request in the first form of the protocol (spec
// 003 §5.4.2, §5.6.1, §5.11), which has neither a timestamp nor a
// conversation_id. It adds the missing members of the envelope and, to a
// registration, the version, the game and the capacity. Members that are there
// stay as they are. It returns false for a request in any other form.
func completeLegacy(raw []byte, messageType string, clock *Clock) ([]byte, bool) {
	request := ParseObject(raw)
	if request == nil || request.Has("timestamp") || request.Has("conversation_id") {
		return nil, false
	}
	now := clock.Now()
	request.Add("protocol", Quote(Name))
	request.Add("message_type", Quote(messageType))
	request.Add("timestamp", Quote(FormatTimestamp(now)))
	request.Add("conversation_id", Quote("conv-"+strconv.FormatInt(now.UnixNano(), 10)))
	sender := playerPrefix + nameless
	for _, name := range []string{"player_meta", "referee_meta"} {
		meta := ParseObject(request.Raw(name))
		if meta == nil {
			continue
		}
		meta.Add("version", Quote("1.0.0"))
		meta.Add("game_types", jsontext.Value(`["`+evenOdd+`"]`))
		if name == "referee_meta" {
			meta.Add("max_concurrent_matches", jsontext.Value("1"))
			sender = refereePrefix + nameless
		}
		request.Set(name, meta.Append(nil))
	}
	request.Add("sender", Quote(sender))
	return request.Append(nil), true
}

// A Stamp fills in the envelopes of the messages that an agent sends, with the
// agent's sender and the time of its clock. The sender changes once, when the
// league gives the agent its id. Safe for concurrent use.
type Stamp struct {
	sender  atomic.Pointer[string]
	clock   *Clock
	plain   atomic.Bool
	refused func(ctx context.Context, method string, asked *Envelope, err *Error)
}

// NewStamp returns a stamp; SetSender may change its sender later.
func NewStamp(sender string, clock *Clock) *Stamp {
	s := &Stamp{clock: clock}
	s.SetSender(sender)
	return s
}

// OnRefusal has f called, from any goroutine, with every request that a handler of
// this agent refuses. It must be set before the first request.
func (s *Stamp) OnRefusal(f func(ctx context.Context, method string, asked *Envelope, err *Error)) {
	s.refused = f
}

// SetSender changes the sender of all later messages.
func (s *Stamp) SetSender(sender string) { s.sender.Store(&sender) }

// SetPlain makes all later messages plain: see Plain.
func (s *Stamp) SetPlain(plain bool) { s.plain.Store(plain) }

// Sender returns the sender of the agent's messages.
func (s *Stamp) Sender() string { return *s.sender.Load() }

// Clock returns the agent's clock.
func (s *Stamp) Clock() *Clock { return s.clock }

// Envelope returns the envelope of a message of the given type in the given
// conversation.
func (s *Stamp) Envelope(messageType, conversation string) Envelope {
	return Envelope{
		Protocol:       Name,
		MessageType:    messageType,
		Sender:         s.Sender(),
		Timestamp:      s.clock.Timestamp(),
		ConversationID: conversation,
		plain:          s.plain.Load(),
	}
}
