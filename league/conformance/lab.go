package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"evenodd/league/protocol"
)

// Options say what is examined, and with what.
type Options struct {
	Role string // Player, Referee or Manager
	URL  string // of the agent
	// Listener is where the kit's own manager and players can be called, under
	// one host; an agent that registers by itself finds its manager there. The
	// kit closes it. Nil: agents that must be registered first cannot be examined
	// beyond that.
	Listener  net.Listener
	Selection Selection
	Patience  time.Duration // of one call; 0 means that of the protocol
	Wait      time.Duration // for the agent to register with the kit; 0 means 10 s
	Budget    time.Duration // of the whole examination; 0 means 3 minutes
	Players   int           // of the league that a manager under examination waits for; 0 means 4
	Referees  int           // likewise; 0 means 1
	Admin     string        // token by which that manager starts its league; "" waits for it to start by itself
	Client    *http.Client  // nil: one of the kit's own
}

// Check examines an agent. What the agent does wrong stands in the report; an
// error means that the kit itself could not work, or ctx ended.
func Check(ctx context.Context, o Options) (*Report, error) {
	if o.Budget == 0 {
		o.Budget = 3 * time.Minute
	}
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	if o.Client == nil {
		o.Client = &http.Client{
			// A match of an agent is a handful of calls, and there may be many at once.
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		defer o.Client.CloseIdleConnections()
	}
	if o.Listener != nil {
		defer func() { _ = o.Listener.Close() }() // whoever served it may have closed it
	}
	catalogue := Catalogue(o.Role)
	if catalogue == nil {
		return nil, fmt.Errorf("role %q: player, referee or manager", o.Role)
	}
	examine := map[string]func(context.Context, *lab){Player: examinePlayer, Referee: examineReferee, Manager: examineManager}[o.Role]
	l := &lab{options: &o, findings: map[string]*Finding{}, blocked: map[string]bool{}}
	started := time.Now()
	bound, cancel := context.WithTimeout(ctx, o.Budget)
	defer cancel()
	examine(bound, l)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := &Report{
		SchemaVersion: SchemaVersion, Role: o.Role, URL: o.URL,
		Started: started.UTC().Truncate(time.Second), TookMS: time.Since(started).Milliseconds(),
	}
	for _, q := range catalogue {
		if !o.Selection.Wants(q) {
			continue
		}
		f := l.findings[q.ID]
		switch {
		case f == nil && l.givenUp() != "":
			f = &Finding{Verdict: Skipped, Detail: l.givenUp(), CutOff: true}
		case f == nil && bound.Err() != nil:
			f = &Finding{Verdict: Skipped, Detail: fmt.Sprintf("the examination took all of its %s", o.Budget), CutOff: true}
		case f == nil:
			f = &Finding{Verdict: Skipped, Detail: "the agent never came so far"}
		}
		f.Requirement = q
		if f.Verdict == Fail && q.Level == Should {
			f.Verdict = Warn
		}
		r.Findings = append(r.Findings, *f)
	}
	return r, nil
}

// A lab is one examination: it posts, and keeps the findings. Safe for
// concurrent use.
type lab struct {
	options *Options

	mu       sync.Mutex
	findings map[string]*Finding
	blocked  map[string]bool // those that do not pass any more, as others do not hold
	silent   int             // calls in a row that nothing came of
	held     time.Duration   // that calls were put off together
	gaveUp   string          // why nothing more is asked; "" while there is hope
}

// A lab gives an agent up after this many calls in a row that nothing came of:
// one that hangs must not take its whole time for everything it could be asked.
const maxSilent = 6

// givenUp says why nothing more is asked of the agent; "" while it is.
func (l *lab) givenUp() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaveUp
}

// giveUp has nothing more asked of the agent.
func (l *lab) giveUp(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gaveUp == "" {
		l.gaveUp = why
	}
}

// heard counts the calls in a row that nothing came of.
func (l *lab) heard(a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.unasked:
		return
	case a.Error == "":
		l.silent = 0
		return
	}
	if l.silent++; l.silent >= maxSilent && l.gaveUp == "" {
		l.gaveUp = fmt.Sprintf("nothing came of %d calls in a row, and the rest was not asked; the last: %s", l.silent, a.Error)
	}
}

// patience is how long to wait for an answer for which the protocol gives so
// much time.
func (l *lab) patience(limit time.Duration) time.Duration {
	if p := l.options.Patience; p > 0 {
		return min(p, limit)
	}
	return limit
}

// fail finds that a requirement does not hold. The first failure stands.
func (l *lab) fail(id, detail string, shown ...*Exchange) {
	l.find(id, Fail, detail, shown)
}

// pass finds that a requirement holds, as far as nothing else says otherwise.
func (l *lab) pass(id string) { l.find(id, Pass, "", nil) }

// note is pass with something to say.
func (l *lab) note(id, detail string) { l.find(id, Pass, detail, nil) }

// skip says why a requirement could not be examined; what was found before
// stands.
func (l *lab) skip(id, why string, shown ...*Exchange) { l.find(id, Skipped, why, shown) }

// judge is fail when there is a problem, else pass.
func (l *lab) judge(id, problem string, shown ...*Exchange) {
	if problem != "" {
		l.fail(id, problem, shown...)
		return
	}
	l.pass(id)
}

// after is judge for what follows from other requirements: where one of them does
// not hold, it was not to be expected, and is skipped.
func (l *lab) after(before []string, id, problem string, shown ...*Exchange) {
	if problem == "" {
		l.pass(id)
		return
	}
	for _, other := range before {
		if l.failed(other) {
			l.block(id, other+" does not hold, and without it this cannot")
			return
		}
	}
	l.fail(id, problem, shown...)
}

// block is skip for what was seen not to hold, through no fault of its own: it
// does not pass any more.
func (l *lab) block(id, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.findings[id]; before == nil || before.Verdict != Fail {
		l.findings[id], l.blocked[id] = &Finding{Verdict: Skipped, Detail: why}, true
	}
}

// failed tells whether a requirement is known not to hold.
func (l *lab) failed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.findings[id] != nil && l.findings[id].Verdict == Fail
}

func (l *lab) find(id string, v Verdict, detail string, shown []*Exchange) {
	if !slices.ContainsFunc(Catalogue(l.options.Role), func(q Requirement) bool { return q.ID == id }) {
		panic("no requirement " + id) // a slip of ours, that every test of the kit finds
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	cut := false
	for _, x := range shown {
		if x != nil && x.unasked && v == Fail { // what was not asked is nobody's failure
			v, detail, shown, cut = Skipped, x.Error, nil, true
			break
		}
	}
	before := l.findings[id]
	if before != nil && (before.Verdict == Fail || v == Skipped || v == before.Verdict) || l.blocked[id] && v == Pass {
		return
	}
	f := &Finding{Verdict: v, Detail: detail, CutOff: cut}
	if v != Pass {
		for _, x := range shown {
			if x != nil {
				f.Exchanges = append(f.Exchanges, *x)
			}
		}
	}
	l.findings[id] = f
}

// An answer is what came of a post, with the bytes as they were.
type answer struct {
	Exchange
	body   []byte
	header http.Header
	took   time.Duration
	reused bool // it came on a connection that had been used before
}

const (
	maxAnswer = 1 << 20 // bytes read of an answer
	maxShown  = 2 << 10 // bytes shown of a body
)

// post sends a body as it is, and waits for the answer no longer than patience.
// It always returns an exchange. Of an agent that was given up nothing is asked;
// the exchange says so.
func (l *lab) post(ctx context.Context, url string, body []byte, header http.Header, patience time.Duration) *answer {
	a := l.exchange(ctx, http.MethodPost, url, body, header, patience)
	l.heard(a)
	return a
}

// exchange is post for any method, and for calls that may well go unanswered.
func (l *lab) exchange(ctx context.Context, method, url string, body []byte, header http.Header, patience time.Duration) *answer {
	a := &answer{Exchange: Exchange{To: url, Request: shown(body)}}
	if reason := l.givenUp(); reason != "" || ctx.Err() != nil {
		a.unasked, a.Error = true, cmp.Or(reason, outOfTime)
		return a
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := time.Now()
	defer func() {
		a.took = time.Since(started)
		a.TookMS = a.took.Milliseconds()
	}()
	// Between two calls an agent may close a connection; that is found out by the
	// next call alone, and is no fault.
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
	response, err := l.options.Client.Do(q)
	if err != nil && reused.Load() && ctx.Err() == nil {
		l.options.Client.CloseIdleConnections()
		q.Body = io.NopCloser(bytes.NewReader(body))
		response, err = l.options.Client.Do(q)
	}
	if err != nil {
		a.fail(whole, err, patience)
		return a
	}
	defer func() { _ = response.Body.Close() }()
	a.Status, a.header, a.reused = response.StatusCode, response.Header, reused.Load()
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	a.Response = shown(a.body)
	switch {
	case err != nil:
		a.fail(whole, err, patience)
	case len(a.body) > maxAnswer:
		a.Error = fmt.Sprintf("the answer has more than %d bytes", maxAnswer)
	}
	return a
}

// fail notes why there is no answer. Where the examination itself is over, the
// agent had not its whole time.
func (a *answer) fail(examination context.Context, err error, patience time.Duration) {
	switch {
	case examination.Err() != nil:
		a.unasked, a.Error = true, outOfTime
	case errors.Is(err, context.DeadlineExceeded):
		a.Error = fmt.Sprintf("no answer within %s", patience)
	default:
		a.Error = err.Error()
	}
}

const outOfTime = "the time of the examination was over"

// tokens are the credentials of a message, by name. An agent that is in a league
// shows its own, and a report is read by many. They stand in text as well, with
// every quotation mark escaped, where a message came as the result of an MCP tool.
var tokens = regexp.MustCompile(`(?i)(\\*"(?:auth_token|access_token|token)\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"]){5,}`)

// shown is a body for people: cut when it is long, and always text, without
// tokens.
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
