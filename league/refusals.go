package league

import (
	"context"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// A refusalLog writes one line for every refused request. It bounds the log under a
// flood of refused requests: for each sender, so that the flood of one hides the
// refusals of no other, and for each address, because senders are not authenticated.
// Safe for concurrent use.
type refusalLog struct {
	log     zerolog.Logger
	clock   *protocol.Clock
	address func(context.Context) string

	mu         sync.Mutex
	omitted    int // lines since the last one
	young, old map[string]*rate.Limiter
}

// The lines of a refusalLog: per second on average, and at once.
const (
	senderLines, senderBurst   = 1, 20
	addressLines, addressBurst = 10, 200
	// maxLimiters is how many limiters a generation holds. When the young generation is
	// full, it becomes the old one, and the old one is forgotten.
	maxLimiters = 2000
)

func newRefusalLog(o *Options) *refusalLog {
	l := &refusalLog{log: o.Log, clock: o.Clock, address: o.CallerAddress, young: map[string]*rate.Limiter{}}
	if l.address == nil {
		l.address = func(context.Context) string { return "" }
	}
	return l
}

// write logs a refused request, unless its sender or its address has too many lines.
// Method and sender are "" when they cannot be read.
func (l *refusalLog) write(ctx context.Context, method, sender string, refusal error) {
	address, sender := l.address(ctx), printable(sender)
	omitted, ok := l.allow(address, sender)
	if !ok {
		return
	}
	l.log.Warn().Str("method", printable(method)).Str("sender", sender).Func(func(line *zerolog.Event) {
		if address != "" {
			line.Str("address", address)
		}
		if e := protocol.AsError(refusal); e.Code != "" {
			line.Str("error_code", string(e.Code)).Str("error_name", e.Code.Name()).Str("defect", e.Detail)
		} else { // an error of JSON-RPC
			line.Str("defect", refusal.Error())
		}
		if omitted > 0 {
			line.Int("omitted_before", omitted)
		}
	}).Str("event_type", protocol.EventRequestRefused).Msg("request refused")
}

// allow counts a line, and returns how many were omitted before it.
func (l *refusalLog) allow(address, sender string) (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if !l.limiter(address+" "+sender, senderLines, senderBurst).AllowN(now, 1) ||
		!l.limiter(address, addressLines, addressBurst).AllowN(now, 1) {
		l.omitted++
		return 0, false
	}
	omitted, l.omitted = l.omitted, 0
	return omitted, true
}

// limiter finds or makes the limiter of a sender or an address. L.mu is held.
func (l *refusalLog) limiter(key string, perSecond rate.Limit, burst int) *rate.Limiter {
	if known := l.young[key]; known != nil {
		return known
	}
	known := l.old[key]
	if known == nil {
		known = rate.NewLimiter(perSecond, burst)
	}
	if len(l.young) >= maxLimiters {
		l.young, l.old = map[string]*rate.Limiter{}, l.young
	}
	l.young[key] = known
	return known
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

// refusedRequest logs a request that was answered with an error.
func (l *refusalLog) refusedRequest(ctx context.Context, method string, asked *protocol.Envelope, err *protocol.Error) {
	l.write(ctx, method, asked.Sender, err)
}

// unread logs a request that no handler could read.
func (l *refusalLog) unread(ctx context.Context, method string, err error) {
	l.write(ctx, method, "", err)
}
