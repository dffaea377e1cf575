package league

import (
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// A refusalLog has one line for every refused request, as long as they are few:
// whoever sends thousands must not fill the disk. Safe for concurrent use.
type refusalLog struct {
	log     zerolog.Logger
	limit   *rate.Limiter
	omitted atomic.Int64 // lines since the last one
}

// The lines of a refusalLog: so many a second, and so many at once.
const (
	refusalsPerSecond = 10
	refusalsAtOnce    = 100
)

func newRefusalLog(log zerolog.Logger) *refusalLog {
	return &refusalLog{log: log, limit: rate.NewLimiter(refusalsPerSecond, refusalsAtOnce)}
}

// write logs a refusal: of which method, whose request, and why.
func (l *refusalLog) write(method, sender string, code protocol.Code, defect string) {
	if !l.limit.Allow() {
		l.omitted.Add(1)
		return
	}
	line := l.log.Warn().Str("method", method).Str("sender", printable(sender)).Str("error_code", string(code)).
		Str("error_name", code.Name()).Str("defect", defect)
	if n := l.omitted.Swap(0); n > 0 {
		line = line.Int64("omitted_before", n)
	}
	line.Msg("request refused")
}

// printable is a sender's name as a log may show it.
func printable(sender string) string {
	const limit = 60
	if len(sender) > limit {
		sender = sender[:limit] + "…"
	}
	return strings.ToValidUTF8(sender, "\uFFFD")
}

// withReason adds a reason to a log line, unless it is empty.
func withReason(line *zerolog.Event, reason string) *zerolog.Event {
	if reason == "" {
		return line
	}
	return line.Str("reason", reason)
}

// logRefusal logs a request that was answered with an error.
func (m *Manager) logRefusal(method string, asked *protocol.Envelope, err *protocol.Error) {
	m.refusals.write(method, asked.Sender, err.Code, err.Detail)
}
