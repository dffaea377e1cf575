package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// Options configure an examination.
type Options struct {
	Role string     // Player, Referee or Manager
	URL  string     // of the agent
	Game rules.Game // of the league that the kit plays
	// Program is asked for the rules of a game that is a *rules.Program; nil for any other game.
	Program interface {
		Ask(ctx context.Context, history []rules.Entry) (*rules.State, error)
		Digest() string // of its files
	}
	// Listener serves the kit's manager; an agent that registers by itself finds its
	// manager there. The kit closes it.
	Listener  net.Listener
	Selection Selection
	Wait      time.Duration  // for the agent to listen, and then to register with the kit; 0 means 10 s
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

// examiners begin the examination of an agent in a role.
var examiners = map[string]func(*exam) examiner{
	Player:  func(x *exam) examiner { return &playerExam{exam: x, player: league.PlayerID(1)} },
	Referee: func(x *exam) examiner { return &refereeExam{exam: x} },
	Manager: func(x *exam) examiner { return &managerExam{exam: x, complete: make(chan struct{})} },
}

// Check examines an agent. The report contains the faults of the agent. An error means
// that the kit itself could not work, or that ctx ended.
func Check(ctx context.Context, o Options) (*Report, error) {
	begin := examiners[o.Role]
	if begin == nil {
		return nil, fmt.Errorf("role %q: player, referee or manager", o.Role)
	}
	o.setDefaults()
	defer o.client.CloseIdleConnections()
	defer func() { _ = o.Listener.Close() }() // its server may have closed it before
	started := time.Now()
	bound, cancel := context.WithTimeout(ctx, o.Budget)
	x := &exam{
		Options: o, life: bound, end: cancel, hostname: hostOf(o.Listener), game: o.Game.Info().Type,
		changed: make(chan struct{}), findings: map[string]*Finding{},
		hung: map[string]bool{}, times: map[string][]time.Duration{}, as: membershipOf(o.Role),
		token: "tok-" + strings.ToLower(membershipOf(o.Role).nth(1)) + "-" + rand.Text(),
	}
	failed := x.examine(begin(x))
	if err := cmp.Or(ctx.Err(), failed); err != nil {
		return nil, err
	}
	r := &Report{
		SchemaVersion: SchemaVersion, Role: o.Role, URL: o.URL,
		Started: started.UTC().Truncate(time.Second), TookMS: time.Since(started).Milliseconds(),
	}
	r.Findings, r.Ended = x.report(errors.Is(bound.Err(), context.DeadlineExceeded))
	r.Causes = causesOf(r.Findings)
	return r, nil
}

// An examiner examines the agents of a role. The kit plays all other roles.
type examiner interface {
	table() []rule
	answer(*call) response // to a call of the agent to the kit's agent at the listener
	meet() bool            // makes the first call, and tells whether the examination goes on
	scenarios() []scenario // requests that the agent may not survive come last
}

// A scenario makes calls, and records facts about the answers.
type scenario struct {
	names []string // scenarios of the table, of which a selected requirement needs one; nil is always needed
	run   func()
}

// examine runs the scenarios that the selected requirements need. Only those of JSON-RPC run
// for an agent that takes no part in the league.
func (x *exam) examine(role examiner) error {
	x.rules = role.table()
	defer x.close()
	x.host = x.open(x.Listener, role.answer)
	if err := x.awaitListener(); err != nil {
		return err
	}
	defer x.recordAll()
	if !role.meet() {
		return nil
	}
	for _, s := range role.scenarios() {
		if (x.absent == "" || slices.Contains(s.names, "wire")) && (s.names == nil || x.needs(s.names...)) {
			s.run()
		}
	}
	x.giveUp(x.absent)
	return nil
}

// awaitListener waits until a server listens at the URL of the agent. It returns an error if none does,
// and if the agent has not called the kit: some agents register, and do not listen then.
func (x *exam) awaitListener() error {
	u, err := url.Parse(x.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(x.life, max(x.Wait, time.Second))
	defer cancel()
	for {
		attempt, stop := context.WithTimeout(ctx, 5*time.Second)
		c, failed := x.Dial(attempt, "tcp", protocol.HostPort(u))
		stop()
		if failed == nil {
			return c.Close()
		}
		if err == nil || ctx.Err() == nil && !errors.Is(failed, context.DeadlineExceeded) {
			err = failed // the last attempt may have had no time
		}
		switch {
		case rest(ctx, 100*time.Millisecond):
		case x.received(func(*call) bool { return true }) != nil:
			return nil
		case protocol.Forbidden(err):
			return fmt.Errorf("%s cannot be tested: %w", x.URL, err)
		default:
			return fmt.Errorf("no server listens at %s: start the agent, and check its port (%w)", x.URL, err)
		}
	}
}

// recordAll records what all scenarios have shown.
func (x *exam) recordAll() {
	x.recordTimes()
	if x.Role != Manager {
		x.recordRegistration()
	}
	x.recordMessages()
}

// An exam is the examination of one agent: it calls the agent, plays the other agents, records facts, and
// keeps the findings. Safe for concurrent use.
type exam struct {
	Options

	life       context.Context    //nolint:containedctx // of the examination; a call may have less time
	end        context.CancelFunc // ends life
	game       string             // its type
	rules      []rule             // the table of the role
	hostname   string             // of the kit's agents
	agents     []*fakeAgent       // of the kit; only the examination itself opens them
	host       *fakeAgent         // at the listener: the manager of the agent, or a referee of a manager under examination
	as         membership         // of the agent
	token      string             // that the agent gets
	ids        atomic.Int64       // of calls
	understood atomic.Bool        // the agent has understood a call of a league: see shownNothing
	concurrent atomic.Bool        // many matches are played at once: an unanswered call says nothing about the next
	conducting sync.WaitGroup     // of the matches that a referee of the kit conducts

	mu       sync.Mutex
	calls    []*call             // of the agent, in the order in which they arrived
	size     int                 // bytes of the calls
	changed  chan struct{}       // closed, and replaced, at every event
	findings map[string]*Finding // by the id of the requirement
	silent   int                 // calls in a row without an answer
	gaveUp   string              // why no further calls are made; "" while they are
	hung     map[string]bool     // methods that the agent has not answered in time
	// startLimit is the time for the answer to the start of a match, if it is longer than that of the protocol.
	startLimit time.Duration
	times      map[string][]time.Duration // of answers, by method

	absent string // why the agent takes no part in the league; "" if it does
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

// giveUp ends the calls for a reason. The first reason counts; "" changes nothing.
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
	case r.timedOut() && r.method == protocol.StartMatch.Name: // some referees answer when the match is over
		return
	case r.Error == "":
		x.silent = 0
		return
	}
	if x.silent++; x.silent >= maxSilent {
		ended := when(r.closed, "the agent ended: %s", r.Error)
		x.gaveUp = cmp.Or(x.gaveUp, ended,
			fmt.Sprintf("gave up after %d calls without an answer; the last: %s", x.silent, r.Error))
	}
}

// An object is a message of the kit, or a part of one.
type object = map[string]any

// message begins a message of the kit.
func message(messageType, sender, conversation, token string) object {
	m := object{
		"protocol": protocol.Name, "message_type": messageType, "sender": sender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation,
	}
	if token != "" {
		m["auth_token"] = token
	}
	return m
}

// notice is a notice of the kit's manager or referee: the example of the protocol with these members.
func notice(messageType string, with object) object {
	example, _ := protocol.Example(messageType)
	q := object{}
	_ = json.Unmarshal(example, &q) // it is an object
	q["timestamp"] = protocol.FormatTimestamp(time.Now())
	if q["league_id"] != nil {
		q["league_id"] = checkLeague
	}
	maps.Copy(q, with)
	return q
}

// leagueCompleted says that a league of two players is over.
func leagueCompleted(champion, second string) object {
	return notice(protocol.TypeLeagueCompleted, object{
		"champion":        object{"player_id": champion, "display_name": "Check Champion", "points": 6},
		"final_standings": []any{standingsRow(1, champion, "Check Champion", 2), standingsRow(2, second, "Check Player", 0)},
	})
}

// recordReply records the envelope of a reply of the agent, as the agent wrote it.
func (x *exam) recordReply(r *reply) {
	if r.trouble() == "" {
		x.recordEnvelope(&fact{reply: r})
	}
}

// recordCall records the envelope of a call of the agent, as the agent wrote it.
func (x *exam) recordCall(c *call) { x.recordEnvelope(&fact{call: c}) }

func (x *exam) recordEnvelope(f *fact) {
	switch x.Role {
	case Player:
		f.sender = "player:"
	case Referee:
		f.sender = protocol.RefereeSender(x.host.identity())
	case Manager:
		f.sender = protocol.ManagerSender
	}
	f.defect = when(f.sent()["timestamp"] == nil && f.sent()["conversation_id"] == nil, envelopeDefect)
	x.record("envelope", f)
}
