package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"evenodd/league/protocol"
)

// An answer is the answer to one POST, with the bytes as they were.
type answer struct {
	Exchange
	body   []byte
	header http.Header
	took   time.Duration
	at     time.Time // when it came
	reused bool      // it came on a connection that had been used before
}

const (
	maxAnswer = 1 << 20 // bytes read of an answer
	maxShown  = 2 << 10 // bytes shown of a body
)

// post sends a body as it is, and waits for the answer no longer than patience. It always
// returns an answer, also if the agent was given up. It retries when an agent that limits
// the rate of calls allows it.
func (x *exam) post(ctx context.Context, url string, body []byte, header http.Header, patience time.Duration) *answer {
	for attempt := 1; ; attempt++ {
		a := x.exchange(ctx, http.MethodPost, url, body, header, patience)
		x.countSilence(a)
		if !x.putOff(ctx, read(a), attempt) {
			return a
		}
	}
}

// The limits of retries for an agent that limits the rate of calls: the kit makes more
// calls than any league.
const (
	maxHeld = 5                // times that one call is made again
	maxHold = 30 * time.Second // that all calls wait together
)

// putOff waits as long as a rate limit asks for, and tells whether to retry the call.
func (x *exam) putOff(ctx context.Context, r *reply, attempt int) bool {
	limited := r.fault != nil && (r.fault.code == 22 || r.fault.catalogued() == string(protocol.ErrRateLimited))
	after := r.header.Get("Retry-After")
	if r.Status != http.StatusTooManyRequests && (r.Status != http.StatusServiceUnavailable || after == "") && !limited {
		return false
	}
	seconds, err := strconv.Atoi(after)
	if err != nil || seconds < 0 {
		seconds = 1
	}
	wait := min(time.Duration(min(seconds, 60))*time.Second, otherLimit)
	x.mu.Lock()
	x.held += wait
	enough := x.held > maxHold
	x.mu.Unlock()
	return !enough && attempt <= maxHeld && rest(ctx, wait)
}

// rest pauses, and tells whether ctx has not ended.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// exchange is post for any HTTP method, without retries. Its calls may stay unanswered.
func (x *exam) exchange(ctx context.Context, method, url string, body []byte, header http.Header, patience time.Duration) *answer {
	a := &answer{Exchange: Exchange{To: url, request: body}}
	if reason := x.givenUp(); reason != "" || x.life.Err() != nil {
		a.unasked, a.Error = true, cmp.Or(reason, outOfTime)
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := time.Now()
	defer func() {
		a.at, a.took = time.Now(), time.Since(started)
		a.TookMS = a.took.Milliseconds()
	}()
	// An agent may close a connection between two calls; the next call fails then.
	var reused atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused.Store(c.Reused) }})
	q, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		a.Error = err.Error()
		return a
	}
	q.Header = header.Clone()
	if q.Header == nil {
		q.Header = http.Header{}
	}
	if q.Header.Get("Content-Type") == "" {
		q.Header.Set("Content-Type", "application/json")
	}
	response, err := x.options.Client.Do(q)
	if err != nil && reused.Load() && ctx.Err() == nil {
		x.options.Client.CloseIdleConnections()
		q.Body = io.NopCloser(bytes.NewReader(body))
		response, err = x.options.Client.Do(q)
	}
	if err != nil {
		a.fail(x.life, err, patience)
		return a
	}
	defer func() { _ = response.Body.Close() }()
	a.Status, a.header, a.reused = response.StatusCode, response.Header, reused.Load()
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	a.response = a.body
	switch {
	case err != nil:
		a.fail(x.life, err, patience)
	case len(a.body) > maxAnswer:
		a.Error = fmt.Sprintf("the answer has more than %d bytes", maxAnswer)
	}
	return a
}

// fail sets why there is no answer. If the examination itself is over, the agent had not
// its whole time.
func (a *answer) fail(examination context.Context, err error, patience time.Duration) {
	switch {
	case examination.Err() != nil:
		a.unasked, a.Error = true, outOfTime
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		a.Error = fmt.Sprintf("no answer within %s", patience)
	default:
		a.Error = err.Error()
	}
}

const outOfTime = "the time of the examination was over"

// tokens finds the tokens of a message by the names of their members, because reports are
// published. In the result of an MCP tool the message is a text, with escaped quotation
// marks.
var tokens = regexp.MustCompile(`(?i)(\\*"(?:auth_token|access_token|token)\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"]){5,}`)

// shown returns the exchange for a report.
func (x *Exchange) shown() Exchange {
	e := *x
	if e.Request == "" {
		e.Request = shown(e.request)
	}
	if e.Response == "" {
		e.Response = shown(e.response)
	}
	return e
}

// shown returns a body for a report: shortened, as valid UTF-8, and without tokens.
func shown(body []byte) string {
	text := tokens.ReplaceAllString(string(protocol.HideTokens(body)), "$1***")
	if len(text) > maxShown {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(body))
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}
