package conformance

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/dialect/bridge"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// Options say what is examined, and with what.
type Options struct {
	Role string     // Player, Referee or Manager
	URL  string     // of the agent
	Game rules.Game // that is played; nil means even_odd
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

	// Listen opens further ports, and Dial connects to the agent; nil means TCP. Tests
	// pass those of a network of pipes.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Check examines an agent. What the agent does wrong is in the report; an error means
// that the kit itself could not work, or that ctx ended.
func Check(ctx context.Context, o Options) (*Report, error) {
	if o.Budget == 0 {
		o.Budget = 3 * time.Minute
	}
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	if o.Game == nil {
		o.Game = evenodd.Game{}
	}
	if o.Listen == nil {
		o.Listen = new(net.ListenConfig).Listen
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	if o.Client == nil {
		o.Client = &http.Client{
			// A match of an agent is a handful of calls, and there may be many at once.
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, DialContext: o.Dial},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		defer o.Client.CloseIdleConnections()
	}
	if o.Listener != nil {
		defer func() { _ = o.Listener.Close() }() // whoever served it may have closed it
	}
	examine := map[string]func(context.Context, *lab){Player: examinePlayer, Referee: examineReferee, Manager: examineManager}[o.Role]
	if examine == nil {
		return nil, fmt.Errorf("role %q: player, referee or manager", o.Role)
	}
	started := time.Now()
	bound, cancel := context.WithTimeout(ctx, o.Budget)
	defer cancel()
	l := newLab(bound, &o)
	examine(bound, l)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := &Report{
		SchemaVersion: SchemaVersion, Role: o.Role, URL: o.URL,
		Started: started.UTC().Truncate(time.Second), TookMS: time.Since(started).Milliseconds(),
		Findings: l.report(bound.Err() != nil),
	}
	r.Causes = causesOf(r.Findings)
	return r, nil
}

// A lab is one examination: it calls the agent, and keeps the findings. Safe for
// concurrent use.
type lab struct {
	options   *Options
	life      context.Context //nolint:containedctx // of the examination; a call may have less time
	game      string          // its type
	catalogue map[string]Requirement
	dialect   *bridge.Bridge // of the kit's manager, which knows the agent's form
	judges    judge
	busy      atomic.Bool // many matches are played at once: what gets no answer now says nothing about later

	mu         sync.Mutex
	findings   map[string]*Finding
	blocked    map[string]bool // those that do not pass any more, as others do not hold
	understood bool            // the agent has understood a call that a league makes
	silent     int             // calls in a row without an answer
	held       time.Duration   // that calls were put off together
	gaveUp     string          // why nothing more is asked; "" while the examination goes on
}

func newLab(ctx context.Context, o *Options) *lab {
	l := &lab{
		options: o, life: ctx, catalogue: map[string]Requirement{}, findings: map[string]*Finding{}, blocked: map[string]bool{},
		judges:  newJudge(),
		dialect: bridge.New(bridge.Options{League: checkLeague, Clock: protocol.SystemClock(), Log: zerolog.Nop()}),
	}
	if o.Game != nil {
		l.game = o.Game.Info().Type
	}
	for _, q := range Catalogue(o.Role) {
		l.catalogue[q.ID] = q
	}
	return l
}

// maxSilent is how many calls in a row may go without an answer before the agent is
// given up: one that hangs must not take its whole time for every call.
const maxSilent = 6

// givenUp says why nothing more is asked of the agent; "" while it is.
func (l *lab) givenUp() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaveUp
}

// giveUp ends the calls of the agent.
func (l *lab) giveUp(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gaveUp == "" {
		l.gaveUp = why
	}
}

// heard counts the calls in a row without an answer.
func (l *lab) heard(a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.unasked || l.busy.Load():
		return
	case a.Error == "":
		l.silent = 0
		return
	}
	if l.silent++; l.silent >= maxSilent && l.gaveUp == "" {
		l.gaveUp = fmt.Sprintf("%d calls in a row had no answer, and the rest was not asked; the last: %s", l.silent, a.Error)
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

// wants tells whether a requirement is selected whose id begins with one of these.
func (l *lab) wants(prefixes ...string) bool {
	for _, q := range l.catalogue {
		if !l.options.Selection.Wants(q) {
			continue
		}
		for _, prefix := range prefixes {
			if strings.HasPrefix(q.ID, prefix) {
				return true
			}
		}
	}
	return false
}

// wantsBeyond tells whether a requirement is selected whose id begins with none of
// these.
func (l *lab) wantsBeyond(prefixes ...string) bool {
	for _, q := range l.catalogue {
		beyond := l.options.Selection.Wants(q)
		for _, prefix := range prefixes {
			beyond = beyond && !strings.HasPrefix(q.ID, prefix)
		}
		if beyond {
			return true
		}
	}
	return false
}
