package protocol

import (
	"context"
	"sync/atomic"
)

// A Stamp fills in the envelopes of the messages that an agent sends, with the
// agent's sender and the time of its clock. The sender changes once, when the
// league gives the agent its id. Safe for concurrent use.
type Stamp struct {
	sender  atomic.Pointer[string]
	clock   *Clock
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
	}
}
