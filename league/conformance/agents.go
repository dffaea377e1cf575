package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"evenodd/league/dialect"
	"evenodd/league/protocol"
)

// The bounds of what the kit's own agents take.
const (
	maxCall     = 256 << 10 // bytes of a request
	maxCalls    = 20000     // requests that are kept in one examination
	maxRecord   = 64 << 20  // bytes of them
	maxPlaying  = 64        // requests that one agent of the kit answers at once
	maxHolding  = 45 * time.Second
	pathOfAgent = "/mcp"
)

// A stage is where the kit plays agents: it serves them, and keeps what they
// were told, in the order in which it came. Safe for concurrent use.
type stage struct {
	host   string
	life   context.Context //nolint:containedctx // of the agents that are played
	end    context.CancelFunc
	agents []*actor // only the examination itself opens them

	mu     sync.Mutex
	closed bool
	calls  []*call
	size   int           // bytes of their bodies
	moved  chan struct{} // closed, and replaced, when something was told
}

// A call is a call of one of the kit's agents.
type call struct {
	Exchange

	seq    int // place among all calls, from 1
	at     time.Time
	to     *actor
	bearer string // credential beside the message; never shown

	came members // the body as it came; nil when it was no JSON object
	said members // the message as it came
	form string  // how the form of the call differs from that of the specification; "" for not at all

	// searching tells that the caller looks for the form that the callee understands: it
	// made a call of this kind in the form of the specification before.
	searching bool

	object members // the call in the form of the specification
	method string
	kind   string // the message type that is asked for; "" for none
	params members

	began    time.Time // when its answer began; zero while there is none
	answered bool
	doneAt   time.Time
}

// A performance is how an agent of the kit answers a call. The zero value closes the
// connection.
type performance struct {
	result  map[string]any // a message; wrapped as the call was
	failure []byte         // a JSON-RPC error object, where there is no result; wrapped likewise
	status  int            // of HTTP; 0 means 200
	body    []byte         // sent as it is, where there is neither
	forever bool           // no answer at all
	after   time.Duration  // wait before it
	until   <-chan struct{}
}

// An actor is one agent of the kit. Its dialect reads what it is told, and knows how the
// agent under examination wants to be called.
type actor struct {
	stage   *stage
	url     string
	id      string // that it was registered under; the stage's mu guards it
	dialect *dialect.Dialect
	play    func(*call) performance
	server  *http.Server
	serves  sync.WaitGroup
	busy    chan struct{}
}

// openStage makes a stage under the host of a listener.
func openStage(ctx context.Context, l net.Listener) *stage {
	s := &stage{host: "localhost", moved: make(chan struct{})}
	if host, _, err := net.SplitHostPort(l.Addr().String()); err == nil {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			s.host = host
		}
	}
	s.life, s.end = context.WithCancel(ctx)
	return s
}

// close ends all agents of the stage.
func (s *stage) close() {
	s.end()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, a := range s.agents {
		_ = a.server.Close() // nothing to lose
	}
	for _, a := range s.agents {
		a.serves.Wait()
	}
}

// open serves one more agent at a free port.
func (s *stage) open(play func(*call) performance) (*actor, error) {
	l, err := (&net.ListenConfig{}).Listen(s.life, "tcp", net.JoinHostPort(s.host, "0"))
	if err != nil {
		return nil, fmt.Errorf("no port for an agent of the kit: %w", err)
	}
	return s.openAt(l, nil, play), nil
}

// openAt serves an agent on a listener. Its dialect is one of its own if none is given.
func (s *stage) openAt(l net.Listener, speaks *dialect.Dialect, play func(*call) performance) *actor {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := &actor{
		stage: s, url: "http://" + net.JoinHostPort(s.host, port) + pathOfAgent, dialect: speaks, play: play, busy: make(chan struct{}, maxPlaying),
	}
	if a.dialect == nil {
		a.dialect = dialect.New(dialect.Options{Endpoint: a.url, League: checkLeague, Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	}
	a.server = &http.Server{
		Handler: http.HandlerFunc(a.serve), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	a.serves.Go(func() { _ = a.server.Serve(l) }) // it ends with close
	s.agents = append(s.agents, a)
	return a
}

func (a *actor) serve(w http.ResponseWriter, r *http.Request) {
	if !a.enter() {
		panic(http.ErrAbortHandler)
	}
	defer a.serves.Done()
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	default:
		http.Error(w, "too many calls at once", http.StatusServiceUnavailable)
		return
	}
	body, ok := posted(w, r, maxCall)
	if !ok {
		return
	}
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	var calls []*call
	var as *performance // what is sent as it is, in place of an answer
	status, answer := a.dialect.Serve(r.Context(), from.Addr().Unmap(), r.URL.Path, body, func(ctx context.Context, canonical []byte) []byte {
		c := a.read(r, body, canonical)
		if c.object == nil {
			return c.wrap(c.refuse(codeParse, "Parse error"))
		}
		calls = append(calls, c)
		a.stage.keep(c, len(body))
		p := a.play(c)
		if !a.wait(ctx, p) {
			as = &performance{}
			return nil
		}
		answer := c.wrap(p)
		switch {
		case answer == nil:
			as = &p
		case c.object["id"] == nil: // a notification
			return nil
		}
		return answer
	})
	if as != nil {
		status, answer = cmp.Or(as.status, http.StatusOK), as.body
	}
	hangsUp := as != nil && as.status == 0 && as.body == nil
	if hangsUp {
		status = 0
	}
	for _, c := range calls {
		a.note(c, status, answer)
		defer a.answered(c)
	}
	switch {
	case hangsUp:
		panic(http.ErrAbortHandler)
	case len(answer) == 0 && as == nil: // a notification
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // JSON for an agent, no page; a caller may be gone
}

// posted is the body of a POST to an agent of the kit, of at most limit bytes. Any
// other request is refused here.
func posted(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, ok bool) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST alone", http.StatusMethodNotAllowed)
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		status := http.StatusBadRequest
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the request cannot be read", status)
		return nil, false
	}
	return body, true
}

// become tells an agent under which id it was registered.
func (a *actor) become(id string) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	a.id = id
}

// identity is the id of an agent, "" before it is registered.
func (a *actor) identity() string {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	return a.id
}

// enter counts a call that is being answered, for close to wait for; false when
// the stage is closed.
func (a *actor) enter() bool {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	if !a.stage.closed {
		a.serves.Add(1)
	}
	return !a.stage.closed
}

// read takes a call apart: as it came, and in the form of the specification.
func (a *actor) read(r *http.Request, came, canonical []byte) *call {
	c := &call{Exchange: Exchange{To: a.url, request: came}, at: time.Now(), to: a, came: objectOf(came), object: objectOf(canonical)}
	c.bearer, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c.method, _ = c.object.text("method")
	c.params = objectOf(c.object["params"])
	c.kind = kindOf(c.method, c.params)
	c.said, c.form = saidIn(c.came, c.method, c.kind)
	if c.said == nil {
		c.said = c.params
	}
	return c
}

// saidIn finds the message in a call as it came, and says how the form of the call
// differs from that of the specification; "" for not at all.
func saidIn(came members, method, kind string) (said members, form string) {
	name, _ := came.text("method")
	params := objectOf(came["params"])
	switch inner := objectOf(params["message"]); {
	case came["jsonrpc"] == nil && came["method"] == nil:
		return came, "the message without JSON-RPC"
	case name == "tools/call":
		tool, _ := params.text("name")
		return objectOf(params["arguments"]), "tools/call " + quoted(tool)
	case params["message_type"] == nil && (params["messageType"] != nil || params["MessageType"] != nil):
		return params, "the members of the message in another spelling: " + listed(params)
	case inner != nil && params["message_type"] == nil:
		return inner, "method " + quoted(name) + ", with the message in params.message"
	case name != methodOf(kind) && methodOf(kind) != "":
		return params, "method " + quoted(name) + " instead of " + methodOf(kind)
	}
	return params, ""
}

// A spoken method is one that the kit's agents are called by.
type spoken struct {
	name, request string
	aliases       []string
}

// protocolMethods are the methods that have messages, by name.
func protocolMethods() map[string]spoken {
	methods := map[string]spoken{}
	for _, m := range []spoken{
		{protocol.RegisterReferee.Name, protocol.RegisterReferee.Request, protocol.RegisterReferee.Aliases},
		{protocol.RegisterPlayer.Name, protocol.RegisterPlayer.Request, protocol.RegisterPlayer.Aliases},
		{protocol.NotifyRound.Name, protocol.NotifyRound.Request, protocol.NotifyRound.Aliases},
		{protocol.StartMatch.Name, protocol.StartMatch.Request, protocol.StartMatch.Aliases},
		{protocol.Invite.Name, protocol.Invite.Request, protocol.Invite.Aliases},
		{protocol.ChooseParity.Name, protocol.ChooseParity.Request, protocol.ChooseParity.Aliases},
		{protocol.MakeMove.Name, protocol.MakeMove.Request, protocol.MakeMove.Aliases},
		{protocol.NotifyMatchResult.Name, protocol.NotifyMatchResult.Request, protocol.NotifyMatchResult.Aliases},
		{protocol.NotifyGameError.Name, protocol.NotifyGameError.Request, protocol.NotifyGameError.Aliases},
		{protocol.ReportMatchResult.Name, protocol.ReportMatchResult.Request, protocol.ReportMatchResult.Aliases},
		{protocol.UpdateStandings.Name, protocol.UpdateStandings.Request, protocol.UpdateStandings.Aliases},
		{protocol.NotifyRoundCompleted.Name, protocol.NotifyRoundCompleted.Request, protocol.NotifyRoundCompleted.Aliases},
		{protocol.NotifyLeagueCompleted.Name, protocol.NotifyLeagueCompleted.Request, protocol.NotifyLeagueCompleted.Aliases},
		{protocol.Query.Name, protocol.Query.Request, protocol.Query.Aliases},
	} {
		methods[m.name] = m
	}
	return methods
}

// kindOf is the message type that a call in the form of the specification asks for; "" for
// none.
func kindOf(method string, params members) string {
	for _, m := range protocolMethods() {
		if method == m.name || method == m.request || slices.Contains(m.aliases, method) {
			return m.request
		}
	}
	kind, _ := params.text("message_type")
	if methodOf(kind) == "" {
		return ""
	}
	return kind
}

// methodOf is the method of a message type; "" for none.
func methodOf(kind string) string {
	method, _ := protocol.MethodFor(encoded(map[string]any{"message_type": kind}))
	return method
}

// keep puts a call of so many bytes into the record, unless it is full.
func (s *stage) keep(c *call, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.seq = len(s.calls) + 1
	c.searching = c.form != "" && slices.ContainsFunc(s.calls, func(k *call) bool {
		return k.to == c.to && k.kind == c.kind && k.form == ""
	})
	if len(s.calls) < maxCalls && s.size+size <= maxRecord {
		s.calls = append(s.calls, c)
		s.size += size
	}
	s.stir()
}

// stir wakes who waits for something to happen; s.mu is held.
func (s *stage) stir() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// wake wakes those that wait for something to happen.
func (s *stage) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stir()
}

// told are the calls that want chooses, in the order in which they came.
func (s *stage) told(want func(*call) bool) []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*call
	for _, c := range s.calls {
		if want(c) {
			found = append(found, c)
		}
	}
	return found
}

// await waits until done holds; false when most or ctx ends before.
func (s *stage) await(ctx context.Context, most time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		if done() {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// wait waits until an answer is due; false when the caller or the stage is gone.
func (a *actor) wait(ctx context.Context, p performance) bool {
	wait := p.after
	if p.forever {
		wait = maxHolding
	}
	if wait == 0 && p.until == nil {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.until:
	case <-ctx.Done():
		return false
	case <-a.stage.life.Done():
		return false
	}
	return !p.forever
}

// note keeps how a call is answered.
func (a *actor) note(c *call, status int, body []byte) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	c.Status, c.response, c.began = status, body, time.Now()
	if status == 0 {
		c.Error = "the kit closed the connection"
	}
}

// answered notes that a call is over.
func (a *actor) answered(c *call) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	c.answered, c.doneAt = true, time.Now()
	c.TookMS = c.doneAt.Sub(c.at).Milliseconds()
	a.stage.stir()
}

// before tells whether a call was answered before a moment. That its answer began
// is enough: whoever has read it may go on before the rest is noted.
func (c *call) before(at time.Time) bool {
	c.to.stage.mu.Lock()
	defer c.to.stage.mu.Unlock()
	return !c.began.IsZero() && !c.began.After(at)
}

// end is when a call was answered; while it is not, now.
func (c *call) end() time.Time {
	c.to.stage.mu.Lock()
	defer c.to.stage.mu.Unlock()
	if !c.answered {
		return time.Now()
	}
	return c.doneAt
}

// exchange is a call for a finding. It may still be going on.
func (c *call) exchange() *Exchange {
	if c == nil {
		return nil
	}
	c.to.stage.mu.Lock()
	defer c.to.stage.mu.Unlock()
	x := c.Exchange
	return &x
}

// wrap is the response to a call in the form of the specification; nil where there is
// none.
func (c *call) wrap(p performance) []byte {
	response := map[string]any{"jsonrpc": "2.0", "id": c.id()}
	switch {
	case p.result != nil:
		response["result"] = p.result
	case p.failure != nil:
		response["error"] = jsontext.Value(p.failure)
	default:
		return nil
	}
	return encoded(response)
}

// refuse answers a call with an error.
func (c *call) refuse(code int, message string) performance {
	return performance{failure: encoded(map[string]any{"code": code, "message": message})}
}

// id is the id of the call, null where it has none that JSON-RPC knows.
func (c *call) id() jsontext.Value {
	if id := c.object["id"]; id.IsValid() && (id.Kind() == '"' || id.Kind() == '0') {
		return id
	}
	return jsontext.Value("null")
}

// encoded is the JSON of what the kit sends, with the members in order, so that
// two reports can be compared.
func encoded(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // an error of the kit, which all of its tests find
	}
	return b
}

// reply begins an answer to a call.
func (c *call) reply(messageType, sender string) map[string]any {
	conversation, _ := c.params.text("conversation_id")
	if conversation == "" {
		conversation = "conv-check"
	}
	return map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": sender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation,
	}
}

// match is the match that a call is about.
func (c *call) match() string {
	id, _ := c.params.text("match_id")
	return id
}
