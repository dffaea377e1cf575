package protocol

import (
	"context"
	"sync/atomic"
)

// A Voice is who an agent speaks as: the sender and the clock of everything it
// sends. The sender changes once, when the league gives the agent its id.
// Safe for concurrent use.
type Voice struct {
	sender  atomic.Pointer[string]
	clock   *Clock
	refused func(ctx context.Context, method string, asked *Envelope, err *Error)
}

// NewVoice makes a voice; the sender may be renamed later.
func NewVoice(sender string, clock *Clock) *Voice {
	v := &Voice{clock: clock}
	v.Rename(sender)
	return v
}

// OnRefusal has f called with every request that a handler of this voice refuses,
// from any goroutine. It must be set before the first request.
func (v *Voice) OnRefusal(f func(ctx context.Context, method string, asked *Envelope, err *Error)) {
	v.refused = f
}

// Rename changes the sender of all messages to come.
func (v *Voice) Rename(sender string) { v.sender.Store(&sender) }

// Sender is the name the agent speaks under.
func (v *Voice) Sender() string { return *v.sender.Load() }

// Clock is the agent's time.
func (v *Voice) Clock() *Clock { return v.clock }

// Envelope begins a message of the given type in the given conversation.
func (v *Voice) Envelope(messageType, conversation string) Envelope {
	return Envelope{
		Protocol:       Name,
		MessageType:    messageType,
		Sender:         v.Sender(),
		Timestamp:      v.clock.Timestamp(),
		ConversationID: conversation,
	}
}
