package transport

import (
	"context"
	"time"

	"github.com/rs/zerolog"
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
		Str("event_type", "MESSAGE_SENT").Msg("sent")
	start := time.Now()
	result, timing, err := l.next.Call(ctx, r)
	about, event, text := result, "ANSWER_RECEIVED", "received the answer"
	if err != nil {
		about, event, text = r.Params, "CALL_FAILED", "failed"
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
