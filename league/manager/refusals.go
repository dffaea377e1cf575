package manager

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// A refusalLog reports refused requests, and bounds the log under a flood of them. In each
// period the first requests get a line each: a number of each sender, so that the flood of
// one hides the refusals of no other, of each address, because senders are not
// authenticated, and of all addresses. The log counts the others, and a summary shows the
// counts when the period ends. Safe for concurrent use.
type refusalLog struct {
	log     zerolog.Logger
	clock   *protocol.Clock
	address func(context.Context) string
	counted chan struct{} // has an element if a summary is due

	mu      sync.Mutex
	ends    time.Time      // of the period
	total   int            // lines in this period
	lines   map[string]int // the same, by address, and by address and sender
	codes   map[string]int // requests without a line since the last summary, by error code
	omitted int            // requests without a line since the last line or summary
}

// The limits of a refusalLog. The numbers of lines are those of one period.
const (
	refusalPeriod = time.Minute
	senderLines   = 5 // of one sender at one address
	addressLines  = 20
	totalLines    = 200
	notOurCode    = "JSON-RPC" // for errors without a code of the protocol
)

func newRefusalLog(o *Options) *refusalLog {
	l := &refusalLog{
		log: o.Log, clock: o.Clock, address: o.CallerAddress, counted: make(chan struct{}, 1),
		lines: map[string]int{}, codes: map[string]int{},
	}
	if l.address == nil {
		l.address = func(context.Context) string { return "" }
	}
	return l
}

// write logs or counts a refused request. Method and sender are "" when they cannot be read.
func (l *refusalLog) write(ctx context.Context, method, sender string, err error) {
	e := protocol.AsError(err)
	address, code, defect := l.address(ctx), cmp.Or(string(e.Code), notOurCode), e.Detail
	if e.Code == "" { // an error of JSON-RPC
		defect = err.Error()
	}
	sender = words.Clip(sender, 60)
	omitted, ok := l.allow(address, sender, code)
	if !ok {
		return
	}
	line := l.log.Warn().Str("method", words.Clip(method, 60)).Str("sender", sender)
	if address != "" {
		line.Str("address", address)
	}
	if e.Code != "" {
		line.Str("error_code", code).Str("error_name", e.Code.Name())
	}
	line.Str("defect", defect)
	if omitted > 0 {
		line.Int("omitted_before", omitted)
	}
	line.Str("event_type", "REQUEST_REFUSED").Msg("request refused")
}

// allow tells whether a request gets a line, and how many before it got none. It counts the
// request if it gets none.
func (l *refusalLog) allow(address, sender, code string) (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.clock.Now(); !now.Before(l.ends) {
		l.summarize()
		l.ends, l.total = now.Add(refusalPeriod), 0
		clear(l.lines)
	}
	sender = address + " " + sender
	if l.total >= totalLines || l.lines[address] >= addressLines || l.lines[sender] >= senderLines {
		l.omitted++
		l.codes[code]++
		signal(l.counted)
		return 0, false
	}
	l.total++
	l.lines[sender]++
	l.lines[address]++
	omitted, l.omitted = l.omitted, 0
	return omitted, true
}

// run writes the summaries that no later request causes, the last one when ctx ends.
func (l *refusalLog) run(ctx context.Context) {
	for done := false; !done; done = ctx.Err() != nil {
		select {
		case <-l.counted:
			_ = l.clock.Sleep(ctx, refusalPeriod) // a summary is due at once when ctx ends
		case <-ctx.Done():
		}
		l.mu.Lock()
		l.summarize()
		l.mu.Unlock()
	}
}

// summarize logs how many requests got no line since the last summary, if any: in total, and
// by error code. L.mu is held.
func (l *refusalLog) summarize() {
	total, codes := 0, zerolog.Dict()
	for _, code := range slices.Sorted(maps.Keys(l.codes)) {
		total += l.codes[code]
		codes.Int(code, l.codes[code])
	}
	if total == 0 {
		return
	}
	l.log.Warn().Int("omitted", total).Dict("codes", codes).Str("event_type", "REFUSED_REQUESTS_OMITTED").Msg("more requests were refused")
	clear(l.codes)
	l.omitted = 0
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

// unread logs a request that no handler could read. The sender of an unknown method learns the
// methods that agents call.
func (l *refusalLog) unread(ctx context.Context, method string, err error) {
	if e := protocol.AsError(err); e != nil && e.RPC == methodNotFound {
		err = &protocol.Error{RPC: e.RPC, Detail: e.Detail + ": call " + strings.Join([]string{
			protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name, protocol.ReportMatchResult.Name, protocol.Query.Name,
		}, ", ")}
	}
	l.write(ctx, method, "", err)
}

// leagueError logs a LEAGUE_ERROR of an agent. That of any other sender is not logged.
func (m *Manager) leagueError(_ context.Context, _ string, e *protocol.LeagueError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, _, err := m.owner(e.AuthToken); err == nil && a.queries.allow() == nil {
		m.log.Warn().Str("conversation_id", e.ConversationID).Str("message_type", protocol.TypeLeagueError).
			Str("id", a.id).Str("error", e.InWords()).Str("event_type", "LEAGUE_ERROR").Msg("an agent reports an error")
	}
}
