package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// A call is what one of the kit's agents was told.
type call struct {
	Exchange

	seq    int // place among all calls, from 1
	at     time.Time
	to     *actor
	path   string
	bearer string // credential beside the message; never shown
	method string // of JSON-RPC; "" in a bare message
	kind   string // the message type that is meant, "" when nothing tells

	object members
	params members // the message
	tool   bool    // it came as a call of an MCP tool
	bare   bool    // it came without JSON-RPC

	said     time.Time // when its answer began; zero while there is none
	answered bool
	doneAt   time.Time
}

// A performance is what an agent of the kit makes of a call. The zero value
// breaks the connection off.
type performance struct {
	result  map[string]any // a message; wrapped as the call was
	status  int            // of HTTP; 0 means 200
	body    []byte         // sent as it is, where there is no result
	forever bool           // no answer at all
	after   time.Duration  // wait before it
	until   <-chan struct{}
}

// An actor is one agent of the kit.
type actor struct {
	stage  *stage
	url    string
	id     string // that it was registered under; the stage's mu guards it
	play   func(*call) performance
	server *http.Server
	serves sync.WaitGroup
	busy   chan struct{}
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
		return nil, fmt.Errorf("no place for an agent of the kit: %w", err)
	}
	return s.openAt(l, play), nil
}

// openAt serves an agent on a listener.
func (s *stage) openAt(l net.Listener, play func(*call) performance) *actor {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := &actor{
		stage: s, url: "http://" + net.JoinHostPort(s.host, port) + pathOfAgent, play: play, busy: make(chan struct{}, maxPlaying),
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
	c := a.understand(r, body)
	a.stage.keep(c, len(body))
	a.perform(w, r, c, a.play(c))
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

// understand reads a call in whatever form it came.
func (a *actor) understand(r *http.Request, body []byte) *call {
	c := &call{Exchange: Exchange{To: a.url, Request: shown(body)}, at: time.Now(), to: a, path: r.URL.Path, object: objectOf(body)}
	c.bearer, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c.method, _ = c.object.text("method")
	c.params = objectOf(c.object["params"])
	if c.method == "tools/call" {
		c.method, _ = c.params.text("name")
		c.params, c.tool = objectOf(c.params["arguments"]), true
	}
	if inner := objectOf(c.params["message"]); inner["message_type"] != nil {
		c.params = inner
	}
	if c.object["jsonrpc"] == nil && c.params == nil {
		c.params, c.bare = c.object, true
	}
	c.kind = kindOfCall(c.method, c.params)
	return c
}

// form tells what is around the message of a call, and how it is written.
func (c *call) form() string {
	form := []string{c.method, fmt.Sprint(c.tool, c.bare)}
	for _, o := range []members{c.object, objectOf(c.object["params"]), c.params} {
		form = append(form, slices.Sorted(maps.Keys(o))...)
	}
	return strings.Join(form, " ")
}

// kindOfCall is the message type that a call means, whatever name it goes by.
func kindOfCall(method string, params members) string {
	if kind, _ := params.text("message_type"); kind != "" {
		return strings.ToUpper(kind)
	}
	names := map[string]string{
		"handle_game_invitation": protocol.TypeGameInvitation, "receive_game_invitation": protocol.TypeGameInvitation,
		"choose_parity": protocol.TypeChooseParityCall, "parity_choose": protocol.TypeChooseParityCall, "receive_parity_call": protocol.TypeChooseParityCall,
		"notify_match_result": protocol.TypeGameOver, "receive_game_over": protocol.TypeGameOver,
		"notify_game_error": protocol.TypeGameError, "report_match_result": protocol.TypeMatchResultReport,
		"match_result_report": protocol.TypeMatchResultReport, "register_referee": protocol.TypeRefereeRegisterRequest,
		"register_player": protocol.TypeLeagueRegisterRequest, "notify_round": protocol.TypeRoundAnnouncement,
		"update_standings": protocol.TypeStandingsUpdate, "notify_round_completed": protocol.TypeRoundCompleted,
		"notify_league_completed": protocol.TypeLeagueCompleted,
	}
	for _, start := range startMethods {
		names[start] = protocol.TypeMatchAssignment
	}
	if kind := names[strings.ToLower(method)]; kind != "" {
		return kind
	}
	return strings.ToUpper(method)
}

// startMethods are the names under which a referee is told to conduct a match.
var startMethods = [...]string{"start_match", "run_match", "assign_match", "start_match_command", "match_assignment"} //nolint:gochecknoglobals // a table

// keep puts a call of so many bytes into the record, unless it is full.
func (s *stage) keep(c *call, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.seq = len(s.calls) + 1
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

// perform answers a call as the play has it.
func (a *actor) perform(w http.ResponseWriter, r *http.Request, c *call, p performance) {
	defer a.answered(c)
	wait := p.after
	if p.forever {
		wait = maxHolding
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.until:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-a.stage.life.Done():
		panic(http.ErrAbortHandler)
	}
	body := p.body
	switch {
	case p.result != nil:
		body = c.wrap(p.result)
	case p.status == 0 && body == nil: // the connection is broken off
		a.note(c, 0, nil)
		panic(http.ErrAbortHandler)
	}
	status := p.status
	if status == 0 {
		status = http.StatusOK
	}
	a.note(c, status, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON for an agent, no page; a caller that has gone is its own loss
}

// note writes down how a call is answered.
func (a *actor) note(c *call, status int, body []byte) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	c.Status, c.Response, c.said = status, shown(body), time.Now()
	if status == 0 {
		c.Error = "the kit broke the connection off"
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
	return !c.said.IsZero() && !c.said.After(at)
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

// wrap puts a message into the form in which the call came.
func (c *call) wrap(message map[string]any) []byte {
	if c.bare {
		return encoded(message)
	}
	var result any = message
	if c.tool {
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": string(encoded(message))}}}
	}
	return encoded(map[string]any{"jsonrpc": "2.0", "id": c.id(), "result": result})
}

// refuse answers a call with an error object.
func (c *call) refuse(code int, message string) performance {
	return performance{status: http.StatusOK, body: encoded(map[string]any{
		"jsonrpc": "2.0", "id": c.id(), "error": map[string]any{"code": code, "message": message},
	})}
}

func (c *call) id() jsontext.Value { return idOf(c.object) }

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
