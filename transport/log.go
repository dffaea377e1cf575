package transport

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

// Logged is next with a debug line for every call sent and every answer
// received. When log is not at debug level it is next itself.
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

func (l *logged) Call(ctx context.Context, endpoint, bearer, method string, params any, decode func([]byte) (any, error)) (any, error) {
	describe(l.log.Debug(), params).Str("method", method).Str("endpoint", endpoint).Msg("sent")
	start := time.Now()
	result, err := l.next.Call(ctx, endpoint, bearer, method, params, decode)
	took := time.Since(start)
	if err != nil {
		describe(l.log.Debug(), params).Str("method", method).Str("endpoint", endpoint).Dur("took_ms", took).Err(err).Msg("failed")
		return result, err
	}
	describe(l.log.Debug(), result).Str("method", method).Str("endpoint", endpoint).Dur("took_ms", took).Msg("received the answer")
	return result, nil
}

// describe adds what a value can say of itself: its type and its conversation,
// never its content, which may hold tokens.
func describe(e *zerolog.Event, value any) *zerolog.Event {
	if v, ok := value.(interface{ Type() string }); ok {
		e = e.Str("message_type", v.Type())
	}
	if v, ok := value.(interface{ Conversation() string }); ok {
		e = e.Str("conversation_id", v.Conversation())
	}
	return e
}
