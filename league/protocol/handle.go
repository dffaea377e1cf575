package protocol

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A broken request has fields that break a rule, or cannot be decoded.
type broken struct {
	envelope *Envelope
	err      error
}

// A validated request was decoded from JSON.
type validated[Q any] struct{ request *Q }

// Conversation returns the conversation id of the request.
func (v validated[Q]) Conversation() string { return envelopeOf(v.request).ConversationID }

// Type returns the message type of the request.
func (v validated[Q]) Type() string { return envelopeOf(v.request).MessageType }

// Handle registers h for all names of the method. H receives valid requests only. Handle
// fills in the envelope of the result, and converts an error of h to a LEAGUE_ERROR of
// the agent that the stamp belongs to.
func (m *Method[Q, R]) Handle(mux Mux, stamp *Stamp, h func(ctx context.Context, bearer string, q *Q) (*R, error)) {
	decode := func(raw []byte) (any, error) {
		q, err := decodeRequest[Q](m.Name, m.Request, raw, stamp.Clock())
		// An agent that misses the end of its league waits for ever, and a report that cannot be read is refused
		// like a contradictory one.
		if err != nil && (m.Request == TypeLeagueCompleted || m.Request == TypeMatchResultReport) {
			if rest := readable[Q](m.Request, raw); rest != nil {
				q, err = rest, nil
			}
		}
		if err != nil {
			if jsontext.Value(raw).IsValid() { // handle returns the error, because a carrier may decode twice
				return broken{peek(raw), err}, nil
			}
			return nil, m.refuse(err, stamp, peek(raw))
		}
		return validated[Q]{q}, nil
	}
	refuse := func(ctx context.Context, err error, asked *Envelope) error {
		if e, ok := errors.AsType[*Error](err); ok && stamp.refused != nil {
			stamp.refused(ctx, m.Name, asked, e)
		}
		return m.refuse(err, stamp, asked)
	}
	var checks []valueCheck
	if m.Request != "" {
		checks = methodOfType[m.Request].checks
	}
	handle := func(ctx context.Context, bearer string, params any) (any, error) {
		if b, is := params.(broken); is {
			return nil, refuse(ctx, b.err, b.envelope)
		}
		q, err := admit[Q](m.Request, checks, params)
		if err != nil {
			envelope := &Envelope{MessageType: m.Request}
			if q != nil {
				envelope = envelopeOf(q)
			}
			return nil, refuse(ctx, err, envelope)
		}
		asked := envelopeOf(q)
		r, failed := h(ctx, bearer, q)
		if failed != nil {
			return nil, refuse(ctx, failed, asked)
		}
		conversation := asked.ConversationID
		if conversation == "" { // the request of a tool has no envelope
			conversation = "conv-" + m.Name
		}
		answered := envelopeOf(r)
		token := answered.AuthToken
		*answered = stamp.Envelope(m.Result, conversation)
		answered.AuthToken = token
		return r, nil
	}
	names := append([]string{m.Name}, m.Aliases...)
	if m.Request != "" {
		names = append(names, m.Request)
	}
	for _, name := range names {
		mux.Handle(name, decode, handle)
	}
}

func envelopeOf(v any) *Envelope { return v.(message).envelope() }

// refuse returns the error to send, with this method's JSON-RPC code. For an error that is
// not an *Error the caller receives an internal error without details.
func (m *Method[Q, R]) refuse(err error, stamp *Stamp, asked *Envelope) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{RPC: RPCInternal, Detail: "Internal error", Remote: true, cause: err}
	}
	code := e.RPC
	if own, ok := m.codes[e.Code]; ok {
		code = own
	}
	if asked.MessageType == "" { // a tool has no message type
		named := *asked
		named.MessageType = cmp.Or(m.Request, m.Name)
		asked = &named
	}
	return e.toSend(stamp, asked, code)
}

// admit finds the request in what a carrier passed, and validates it unless that was
// done before.
func admit[Q any](messageType string, checks []valueCheck, params any) (*Q, error) {
	switch p := params.(type) {
	case validated[Q]:
		return p.request, nil
	case *Broadcast[Q]:
		if p.valid.Load() {
			return p.message, nil
		}
		err := validateValue(messageType, checks, p.message)
		p.valid.Store(err == nil)
		return p.message, err
	case *Q:
		return p, validateValue(messageType, checks, p)
	case nil:
		return new(Q), validateValue(messageType, checks, new(Q))
	}
	return nil, Fault(ErrInvalidFieldType, "the params are not a %s", messageType)
}

// validateValue validates a request that was not encoded.
func validateValue[Q any](messageType string, checks []valueCheck, q *Q) error {
	if allHold(checks, unsafe.Pointer(q)) { //nolint:gosec // these are the checks of a Q
		return nil
	}
	raw, err := json.Marshal(q)
	if err != nil {
		return Fault(ErrInvalidFieldType, "the message cannot be encoded")
	}
	if broken := Examine(messageType, raw); len(broken) > 0 {
		return brokenFields(broken)
	}
	return nil
}

// decodeRequest decodes and validates a request.
func decodeRequest[Q any](method, messageType string, raw []byte, clock *Clock) (*Q, error) {
	q := new(Q)
	if messageType == "" {
		return q, decodeTool(method, raw, q)
	}
	err := json.Unmarshal(raw, q)
	if err == nil && len(examineValid(shapes[messageType], raw)) == 0 {
		return q, nil
	}
	if completed, ok := completeLegacy(raw, messageType, clock); ok {
		*q = *new(Q)
		raw, err = completed, json.Unmarshal(completed, q)
	}
	if broken := Examine(messageType, raw); len(broken) > 0 {
		return nil, brokenFields(broken)
	}
	if err != nil {
		return nil, Fault(ErrInvalidFieldType, "the params cannot be read as a %s", messageType)
	}
	return q, nil
}

// readable returns a message without the members that break a rule, which Envelope.Refusal describes;
// nil if its envelope breaks one.
func readable[Q any](messageType string, raw []byte) *Q {
	message, q, all := ParseObject(raw), new(Q), Examine(messageType, raw)
	for _, broken := range all {
		name := broken.Field
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		if message == nil || slices.ContainsFunc(envelopeFields(messageType), func(f field) bool { return f.name == name }) {
			return nil
		}
		message.Drop(name)
	}
	if json.Unmarshal(message.Append(nil), q) != nil {
		return nil
	}
	envelopeOf(q).broken = all
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
// the token; the fields of organise_league are validated.
func decodeTool[Q any](method string, raw []byte, q *Q) error {
	if method == organiseMethod && len(raw) > 0 {
		if broken := examineFields(&organiseShape, raw); len(broken) > 0 {
			return brokenFields(broken)
		}
	}
	if len(raw) > 0 && json.Unmarshal(raw, q) != nil {
		return Fault(ErrInvalidFieldType, "the params of %s are an object with auth_token", method)
	}
	return nil
}
