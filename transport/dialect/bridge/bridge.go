// Package bridge connects our agents to third-party agents, at the edge of a process.
//
// First, a call of our agent goes out in the form of the specification. If the endpoint does not understand it, the
// bridge tries the other forms in turn, and remembers the one that the endpoint answers (calls.go, peers.go). Then
// each call to it is translated, and its answer is translated back. A player that acknowledges a question and posts
// its choice later keeps the call open until then (questions.go). A third-party referee gets its match in the form
// that it knows; the bridge translates its report to the form of the specification (assignments.go). A third-party
// manager starts a match at our referee; if its call waits for the result, the bridge answers it with the report
// (starts.go). Requests to our agent pass the other way (serve.go): the bridge translates each before a handler sees
// it, with what it has learned from earlier messages.
//
// Package dialect translates the messages, as values. The bridge has the memory, the locks and the waiting; it knows no
// carrier, and the code behind it sees only the form of the specification.
package bridge

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// Options describe the agent of a bridge.
type Options struct {
	Endpoint string // the endpoint that other agents know; "" for a manager
	League   string // the id of the league that the agent runs; "" if it is no manager
	Game     string // of that league
	Clock    *protocol.Clock
	Log      zerolog.Logger
}

// A Bridge connects one agent. It is safe for concurrent use.
type Bridge struct {
	options  Options
	lines    protocol.LineQuota // of the log lines that any caller can cause
	life     context.Context    //nolint:containedctx // ends with Close
	end      func()
	late     sync.WaitGroup // the calls of sendLate
	starting sync.Mutex     // held by the goroutine that starts waiting matches

	mu          sync.Mutex    // guards the fields below; never held during a call
	member      membership    // the zero value before the agent is in a league
	game        string        // of that league, as its rounds are announced; "" before
	registering chan struct{} // closed when the last registration has ended
	known       boundedMap[dialect.Match]
	peers       boundedMap[*peer]          // the other agents, by endpoint
	assigned    boundedMap[*assignedMatch] // the matches of third-party referees, by match id: the last assignment
	questions   map[*question]bool         // the open questions of a referee
	waiting     []start                    // matches for which the agent, a referee, has no free slot yet
	awaited     map[awaitedReport]string   // the reports for which requests wait, with the ids of their matches
}

// New returns a bridge that knows no other agent. Close ends its work.
func New(o Options) *Bridge {
	b := &Bridge{options: o, questions: map[*question]bool{}, awaited: map[awaitedReport]string{}}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// Close ends the calls that the bridge makes in the background. Other calls go on.
func (b *Bridge) Close() {
	b.mu.Lock()
	b.end()
	b.mu.Unlock()
	b.late.Wait()
}

// Call makes one call in the form that the endpoint understands. The caller gets one
// response, however many forms are tried. The carrier's interface http.Calls documents the rest.
func (b *Bridge) Call(ctx context.Context, q *transport.Request, body []byte, post transport.Post) (transport.Posted,
	error) {
	defer b.beforeCall(ctx, q.Method, body)()
	c := b.newCall(q, body, post)
	question := c.ask()
	defer b.close(question)
	r, err := c.make(ctx)
	switch {
	case err == nil && r.Verdict == dialect.Deferred && question != nil:
		return question.await(ctx)
	case err == nil && r.Status == dialect.StatusOK && c.method != nil && c.method.Registers:
		b.registered(c.method.From, r.Body)
	}
	return transport.Posted{Status: r.Status, Body: r.Body, Arrived: r.arrived}, err
}

// Serve answers a request in its own form. From is the address of the caller. Next serves a
// request in the form of the specification. The bridge passes each request to it once. Upper and lower case of
// the path do not count.
func (b *Bridge) Serve(ctx context.Context, from netip.Addr, path string, body []byte, next serveFunc) (
	status int, answer transport.Answer,
) {
	s := server{b, next}
	switch strings.ToLower(strings.TrimSuffix(path, "/")) {
	case "/mcp":
		return dialect.StatusOK, s.serve(ctx, from, body)
	case dialect.RegisterPath:
		return s.serveRegistration(ctx, body)
	case "/run_match":
		return s.serveRunMatch(ctx, body)
	case "/create_schedule":
		return s.serveSchedule(ctx)
	}
	return dialect.StatusNotFound, transport.Answer{}
}

// A serveFunc serves a request in the form of the specification.
type serveFunc = func(ctx context.Context, body []byte) transport.Answer

// warn begins a log line that any caller can cause; nil if there are too many.
func (b *Bridge) warn() *zerolog.Event {
	omitted, ok := b.lines.Take(b.options.Clock.Now())
	if !ok {
		return nil
	}
	return b.options.Log.Warn().Func(func(line *zerolog.Event) { //nolint:zerologlint // the caller adds the message
		if omitted > 0 {
			line.Int("omitted_before", omitted)
		}
	})
}

// A membership in a league.
type membership struct {
	role       string // protocol.RolePlayer or protocol.RoleReferee; "" if the agent is in no league
	leagueID   string
	agentID    string
	thirdParty bool // the manager does not prove that it is one of our agents
}

func (m *membership) exists() bool { return m.role != "" }

func (b *Bridge) membership() membership {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.member
}

// awaitMembership waits for the response to a registration: a manager may begin the
// league before the agent has read it.
func (b *Bridge) awaitMembership(ctx context.Context) membership {
	b.mu.Lock()
	registering, joined := b.registering, b.member.exists()
	b.mu.Unlock()
	if registering != nil && !joined {
		ctx, cancel := context.WithTimeout(ctx, registrationWait)
		defer cancel()
		select {
		case <-registering:
		case <-ctx.Done():
		}
	}
	return b.membership()
}

// registrationWait is the longest wait for the response to a registration that has been sent.
const registrationWait = 2 * time.Second

// facts are what the agent knows when it translates a request about a match; "" for none.
func (b *Bridge) facts(matchID string) *dialect.Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	match := b.known.values[matchID]
	f := &dialect.Facts{
		Now: b.options.Clock.Now(), League: b.options.League, Match: match,
		Game: cmp.Or(match.Game, b.game, b.options.Game, dialect.UsualGame),
	}
	if m := &b.member; m.exists() {
		f.League, f.AgentID, f.OurAgent = m.leagueID, m.agentID, !m.thirdParty
	}
	return f
}

func (b *Bridge) envelope(messageType, sender, conversation string) protocol.Envelope {
	return protocol.NewStamp(sender, b.options.Clock).Envelope(messageType, conversation)
}

// beforeCall learns from a call of our agent. The caller calls the result when the call has
// ended, with or without a response.
func (b *Bridge) beforeCall(ctx context.Context, method string, body []byte) (afterCall func()) {
	switch method {
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		registering := make(chan struct{})
		b.mu.Lock()
		b.registering = registering
		b.mu.Unlock()
		return func() { close(registering) }
	case protocol.ReportMatchResult.Name:
		b.beforeReport(body)
		return func() { b.startWaiting(context.WithoutCancel(ctx)) }
	}
	return func() {}
}

// registered reads the response to the registration of a player or a referee. The agent forgets what it knew about
// another league.
func (b *Bridge) registered(role string, body []byte) {
	r := protocol.ParseObject(body).Object("result")
	if r.Text("status") != protocol.StatusAccepted {
		return
	}
	thirdParty := r.Text("manager_auth") != protocol.ManagerAuthBearer
	m := membership{role, r.Text("league_id"), r.Text(role + "_id"), thirdParty}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.member.exists() && b.member != m {
		b.known, b.waiting, b.game = boundedMap[dialect.Match]{}, nil, ""
	}
	b.member = m
}

// A bounded map evicts the least recently set key when it has too many. The zero value is
// empty.
type boundedMap[V any] struct {
	values map[string]V
	keys   []string // the most recently set one last
}

// maxKept bounds the matches and the endpoints that are remembered: any caller may name any.
const maxKept = 4096

func (b *boundedMap[V]) full() bool { return len(b.keys) >= maxKept }

func (b *boundedMap[V]) set(key string, value V) {
	if b.values == nil {
		b.values = map[string]V{}
	}
	key = strings.Clone(key)
	if i := slices.Index(b.keys, key); i >= 0 {
		b.keys = slices.Delete(b.keys, i, i+1)
	} else if b.full() {
		delete(b.values, b.keys[0])
		b.keys = b.keys[1:]
	}
	b.keys = append(b.keys, key)
	b.values[key] = value
}

// learnMatch changes what is known about a match.
func (b *Bridge) learnMatch(id string, change func(*dialect.Match)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.known.values[id]
	change(&m)
	b.known.set(id, m)
}

// learnGame learns the game of the league from the announcement of a round.
func (b *Bridge) learnGame(announcement protocol.Object) {
	const longest = 200
	for _, m := range dialect.Announced(announcement) {
		if game := m.Text("game_type"); game != "" && len(game) <= longest {
			b.mu.Lock()
			b.game = strings.Clone(game)
			b.mu.Unlock()
			return
		}
	}
}
