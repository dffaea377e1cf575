package check

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport/dialect/bridge"
)

// Options configure an examination.
type Options struct {
	Role string     // Player, Referee or Manager
	URL  string     // of the agent
	Game rules.Game // nil means even_odd
	// Listener serves the kit's manager; an agent that registers by itself finds its
	// manager there. The kit closes it. Nil skips all requirements that need a
	// registration.
	Listener  net.Listener
	Selection Selection
	Patience  time.Duration  // of one call; 0 means that of the protocol
	Wait      time.Duration  // for the agent to register with the kit; 0 means 10 s
	Budget    time.Duration  // of the whole examination; 0 means 3 minutes
	Players   int            // that a manager under examination waits for; 0 means 4
	Referees  int            // likewise; 0 means 1
	Admin     string         // token by which that manager starts its league; "" waits for it to start by itself
	Roots     *x509.CertPool // authorities of certificates; nil means those of the system
	// PlayerPort is the port of the kit's first player for referees that do not call the endpoints of the
	// assignment; 0 means 8101. The second player has the next port.
	PlayerPort int

	// Listen opens further ports on the host of Listener, and Dial connects to the agent;
	// nil means TCP. Tests pass those of a network of pipes.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)

	client *http.Client
}

func (o *Options) setDefaults() {
	o.Budget, o.Wait = cmp.Or(o.Budget, 3*time.Minute), cmp.Or(o.Wait, 10*time.Second)
	o.Players, o.Referees, o.PlayerPort = cmp.Or(o.Players, 4), cmp.Or(o.Referees, 1), cmp.Or(o.PlayerPort, 8101)
	if o.Game == nil {
		o.Game = evenodd.Game{}
	}
	if o.Listen == nil {
		o.Listen = new(net.ListenConfig).Listen
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	o.client = &http.Client{ // shows responses unchanged
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 4 * time.Second,
			DialContext: o.Dial, DisableCompression: true,
			MaxIdleConnsPerHost: 64, MaxResponseHeaderBytes: 64 << 10, // several matches make calls at the same time
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Check examines an agent. The report contains the faults of the agent. An error means
// that the kit itself could not work, or that ctx ended.
func Check(ctx context.Context, o Options) (*Report, error) {
	examine := map[string]func(context.Context, *exam){Player: examinePlayer, Referee: examineReferee, Manager: examineManager}[o.Role]
	if examine == nil {
		return nil, fmt.Errorf("role %q: player, referee or manager", o.Role)
	}
	o.setDefaults()
	defer o.client.CloseIdleConnections()
	if o.Listener != nil {
		defer func() { _ = o.Listener.Close() }() // its server may have closed it before
	}
	started := time.Now()
	bound, cancel := context.WithTimeout(ctx, o.Budget)
	defer cancel()
	x := newExam(bound, &o)
	examine(bound, x)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := &Report{
		SchemaVersion: SchemaVersion, Role: o.Role, URL: o.URL,
		Started: started.UTC().Truncate(time.Second), TookMS: time.Since(started).Milliseconds(),
	}
	r.Findings, r.Ended = x.report(bound.Err() != nil)
	r.Causes = causesOf(r.Findings)
	return r, nil
}

// An exam is the examination of one agent: it calls the agent, records facts about it, and
// keeps the findings. Safe for concurrent use.
type exam struct {
	options    *Options
	life       context.Context //nolint:containedctx // of the examination; a call may have less time
	game       string          // its type
	rules      []rule          // the table of the role
	judges     map[string][]judge
	dialect    *bridge.Bridge // of the kit's manager, which learns the form that the agent understands
	ids        atomic.Int64   // of calls
	understood atomic.Bool    // the agent has understood a call of a league; if it has not, it passes nothing: see withdraw
	concurrent atomic.Bool    // many matches are played at once: an unanswered call says nothing about the next

	mu       sync.Mutex
	findings map[string]*Finding // by the id of the requirement
	blocked  map[string]bool     // requirements that cannot pass any more, because another one fails
	silent   int                 // calls in a row without an answer
	held     time.Duration       // sum of the pauses that the agent asked for
	gaveUp   string              // why no further calls are made; "" while they are
}

func newExam(ctx context.Context, o *Options) *exam {
	x := &exam{
		options: o, life: ctx, findings: map[string]*Finding{}, blocked: map[string]bool{},
		dialect: bridge.New(bridge.Options{League: checkLeague, Clock: protocol.SystemClock(), Log: zerolog.Nop()}),
	}
	if o.Game != nil {
		x.game = o.Game.Info().Type
	}
	return x
}

// maxSilent is the number of calls in a row without an answer after which the agent is
// given up: an agent that hangs must not take the whole time of every call.
const maxSilent = 6

// givenUp returns why no further calls are made; "" while they are.
func (x *exam) givenUp() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.gaveUp
}

func (x *exam) giveUp(why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gaveUp = cmp.Or(x.gaveUp, why)
}

// countSilence counts the calls in a row without an answer.
func (x *exam) countSilence(r *reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case r.unasked || x.concurrent.Load():
		return
	case r.Error == "":
		x.silent = 0
		return
	}
	if x.silent++; x.silent >= maxSilent {
		ended := when(r.closed, "the agent ended: %s", r.Error)
		x.gaveUp = cmp.Or(x.gaveUp, ended, fmt.Sprintf("gave up after %d calls without an answer; the last: %s", x.silent, r.Error))
	}
}

// patience is the time to wait for an answer for which the protocol gives this limit.
func (x *exam) patience(limit time.Duration) time.Duration {
	if p := x.options.Patience; p > 0 {
		return min(p, limit)
	}
	return limit
}

// examineServer examines JSON-RPC of a manager or referee before and after its own
// scenarios, which may give the agent up; false if they do. Requests that the agent may not
// survive come last.
func (x *exam) examineServer(ctx context.Context, scenarios func(context.Context) (gaveUp string)) bool {
	if x.needs("wire") {
		x.examineWire(ctx)
	}
	gaveUp := ""
	if x.needsMoreThan("wire", "misuse") {
		gaveUp = scenarios(ctx)
	}
	if x.needs("wire", "misuse") {
		x.misuse(ctx, x.alive)
		x.sendLarge(ctx)
	}
	if gaveUp != "" {
		x.giveUp(gaveUp)
	}
	return gaveUp == ""
}

// message begins a message of the kit.
func message(messageType, sender, conversation, token string) map[string]any {
	m := map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": sender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation,
	}
	if token != "" {
		m["auth_token"] = token
	}
	return m
}

// recordReply records the envelope of a reply of the agent, as the agent wrote it.
func (x *exam) recordReply(r *reply, messageType, sender, conversation string) {
	if r.trouble() == "" {
		x.recordEnvelope(&fact{reply: r, message: r.result, messageType: messageType, sender: sender, conversation: conversation, at: r.at})
	}
}

// recordCall records the envelope of a call of the agent, as the agent wrote it.
func (x *exam) recordCall(c *call, sender string) {
	x.recordEnvelope(&fact{call: c, message: c.sent, messageType: c.kind, sender: sender, at: c.at})
}

func (x *exam) recordEnvelope(f *fact) {
	if f.message["timestamp"] == nil && f.message["conversation_id"] == nil {
		f.defect = envelopeDefect
	}
	x.record("envelope", f)
}
