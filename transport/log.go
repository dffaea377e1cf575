package transport

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

// Names of this package's events in log files: the member event_type of a line.
// Readers of logs match these names, not the sentences beside them.
const (
	eventMessageSent     = "MESSAGE_SENT"
	eventMessageReceived = "MESSAGE_RECEIVED"
	eventAnswerSent      = "ANSWER_SENT"
	eventErrorSent       = "ANSWERED_WITH_AN_ERROR"
	eventAnswerReceived  = "ANSWER_RECEIVED"
	eventCallFailed      = "CALL_FAILED"
	eventCallRefused     = "CALL_REFUSED"
	eventHandlerPanicked = "A_HANDLER_PANICKED"
	eventResultLost      = "A_RESULT_CANNOT_BE_ENCODED"
	eventEndpointBack    = "THE_ENDPOINT_ANSWERS_AGAIN"
	eventEndpointFailing = "THE_ENDPOINT_KEEPS_FAILING_NOTICES_TO_IT_ARE_HELD_BACK"
)

// Logged is next with a debug line for every call and every result. It is next itself
// when log is not at debug level.
func Logged(next Caller, log zerolog.Logger) Caller {
	if log.GetLevel() > zerolog.DebugLevel {
		return next
	}
	return &logged{next, log}
}

type logged struct {
	next Caller
	log  zerolog.Logger
}

func (l *logged) Call(ctx context.Context, r Request) (any, *Timing, error) {
	describe(l.log.Debug(), r.Params).Str("method", r.Method).Str("endpoint", r.Endpoint).
		Str("event_type", eventMessageSent).Msg("sent")
	start := time.Now()
	result, timing, err := l.next.Call(ctx, r)
	about, event, text := result, eventAnswerReceived, "received the answer"
	if err != nil {
		about, event, text = r.Params, eventCallFailed, "failed"
	}
	describe(l.log.Debug(), about).Str("method", r.Method).Str("endpoint", r.Endpoint).Dur("took_ms", time.Since(start)).
		Err(err).Str("event_type", event).Msg(text)
	return result, timing, err
}

// describe adds the type and the conversation of a message, but not its content, which
// may contain tokens.
func describe(e *zerolog.Event, value any) *zerolog.Event {
	if v, ok := value.(interface{ Type() string }); ok {
		e = e.Str("message_type", v.Type())
	}
	if v, ok := value.(interface{ Conversation() string }); ok {
		e = e.Str("conversation_id", v.Conversation())
	}
	return e
}
