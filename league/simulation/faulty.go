package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/transport"
	"evenodd/transport/http"
)

// An Injection is a fault that was put into a message to a player of a match.
type Injection struct {
	MatchID  string
	PlayerID string
	Method   string
	Fault    string // the fate of the message, or crash, hang, deny
}

// The faults of players, as injections name them.
const (
	faultCrash = "crash"
	faultHang  = "hang"
	faultDeny  = "deny"
)

// glance is the manager's pause between two looks at referees that may have died.
const glance = time.Millisecond

var errGarbled = errors.New("the answer cannot be read")

// A faulty network carries calls as a plan wants it. No time passes: a message
// that is lost has missed its deadline at once.
//
// What becomes of a match must follow from the plan alone, whoever conducts it
// and whatever runs at once. So fates do not depend on attempts, and no two
// attempts at a match run side by side where both could come to a result: a
// match whose referee has it, although the manager does not know, is handed to
// nobody else before that has reported.
type faulty struct {
	network
	plan     *faults.Plan
	seed     uint64
	injected func(Injection) // may be nil

	mu    sync.Mutex
	over  bool // agents are being stopped
	round int  // that is played; 0 before the first
	tries map[said]int
	dead  map[string]bool // referees
	given map[string]*handover
}

// said is what counts as the same message.
type said struct{ from, to, method, about string }

// A handover is a match that a referee has.
type handover struct {
	referee  string
	sent     chan struct{} // closed when it reports, or is dead
	settled  chan struct{} // closed when the manager has the report, or the referee is dead
	reported bool
}

// newFaulty makes the network of a league whose next round is given.
func newFaulty(n network, plan *faults.Plan, seed uint64, next int, injected func(Injection)) *faulty {
	return &faulty{
		network: n, plan: plan, seed: seed, round: next - 1, injected: injected,
		tries: map[said]int{}, dead: map[string]bool{}, given: map[string]*handover{},
	}
}

// freeClock is a clock whose pauses cost nothing.
func freeClock() *protocol.Clock {
	return protocol.NewClock(time.Now, func(ctx context.Context, _ time.Duration) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched() // whoever asks again and again lets others answer
		return nil
	})
}

// begin is the next round. What was said in the one before is forgotten.
func (f *faulty) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.round++
	clear(f.tries)
	clear(f.given)
}

// end tells that agents are being stopped. Whoever is stopped first is no fault:
// where pauses cost nothing, a match would be lost before its referee stops too.
func (f *faulty) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

func (f *faulty) isOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// caller is the network as one agent has it.
func (f *faulty) caller(name string) protocol.Caller { return &faultyCaller{f, name} }

type faultyCaller struct {
	*faulty
	name string
}

// A call is what Call was asked for.
type call struct {
	transport.Request

	to string // the receiver's name
	topic
}

// A topic is what a message is about.
type topic struct {
	conversation string
	matchID      string // "" for none
	round        int    // 0 for none
}

// topicOf reads a conversation id. What is not about a match or a round is
// about nothing: the ids of registrations are random.
func topicOf(params any) topic {
	said, ok := params.(interface{ Conversation() string })
	if !ok {
		return topic{}
	}
	rest, _ := strings.CutPrefix(said.Conversation(), "conv-")
	if after, ok := strings.CutPrefix(rest, "round-"); ok {
		digits, _, _ := strings.Cut(after, "-")
		if id, ok := protocol.ParseMatchID("R" + digits + "M1"); ok {
			return topic{conversation: rest, round: id.Round}
		}
	}
	text, _, _ := strings.Cut(rest, "-a")
	text = strings.ToUpper(text)
	if id, ok := protocol.ParseMatchID(text); ok {
		return topic{conversation: rest, matchID: text, round: id.Round}
	}
	return topic{}
}

// nameAt is the name of the agent at an endpoint.
func nameAt(endpoint string) string {
	name, _ := strings.CutPrefix(endpoint, Memory+"://")
	name, _ = strings.CutSuffix(name, http.Path)
	return name
}

// kindOf is what kind of agent has a name; a player is one of its own.
func kindOf(name string) string {
	if _, ok := protocol.ParseRefereeID(name); ok {
		return "referee"
	}
	return name
}

// Call carries a call, or what the plan leaves of it. It has no limit, because no
// time passes: a call ends with its caller, however long this process stalls.
func (c *faultyCaller) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	q.Limit = 0
	answer, err := c.call(ctx, &call{q, nameAt(q.Endpoint), topicOf(q.Params)})
	return answer, nil, err
}

func (c *faultyCaller) call(ctx context.Context, a *call) (any, error) {
	if a.Method == protocol.RegisterPlayer.Name || a.Method == protocol.RegisterReferee.Name {
		return c.carry(ctx, a) // one that comes back is alive
	}
	if c.isDead(c.name) || c.dies(a) {
		return nil, silence(ctx)
	}
	if c.unheard(a) {
		c.tell(a, faultCrash)
		return nil, &transport.UnreachableError{Endpoint: a.Endpoint}
	}
	if faults.In(c.plan.Hang, a.to, c.at(a)) {
		c.tell(a, faultHang)
		return nil, context.DeadlineExceeded
	}
	switch a.Method {
	case protocol.StartMatch.Name:
		return c.handOver(ctx, a)
	case protocol.ReportMatchResult.Name:
		return c.report(ctx, a)
	}
	return c.carry(ctx, a)
}

// carry lets the fate of a call have its way.
func (c *faultyCaller) carry(ctx context.Context, a *call) (any, error) {
	fate := c.fate(a)
	if fate == faults.LostRequest {
		return nil, context.DeadlineExceeded
	}
	answer, err := c.deliver(ctx, a, fate)
	return lose(answer, err, fate)
}

// deliver brings a call to its receiver.
func (c *faultyCaller) deliver(ctx context.Context, a *call, fate faults.Fate) (any, error) {
	answer, _, err := c.network.Call(ctx, a.Request)
	if protocol.Unreachable(err) && c.isOver() {
		return nil, silence(ctx)
	}
	if fate == faults.Doubled {
		_, _, _ = c.network.Call(ctx, a.Request) // the first answer counts
	}
	if ack, ok := answer.(*protocol.GameJoinAck); ok && faults.In(c.plan.Deny, a.to, c.at(a)) {
		c.tell(a, faultDeny)
		refusal, no := *ack, false
		refusal.Accept = &no
		return &refusal, err
	}
	return answer, err
}

// lose makes of an answer what its caller sees.
func lose(answer any, err error, fate faults.Fate) (any, error) {
	switch fate {
	case faults.LostAnswer, faults.Late:
		return nil, context.DeadlineExceeded
	case faults.Garbled:
		return nil, errGarbled
	}
	return answer, err
}

// handOver carries start_match. When the answer is lost, that shows only when
// the match is over: much of it takes no time, but the manager's patience does.
func (c *faultyCaller) handOver(ctx context.Context, a *call) (any, error) {
	fate := c.fate(a)
	if before := c.handed(a.matchID); before != nil {
		if err := await(ctx, before.settled); err != nil {
			return nil, err
		}
		if c.isReported(before) { // nobody need play it again
			return nil, context.DeadlineExceeded
		}
	}
	if fate == faults.LostRequest {
		return nil, context.DeadlineExceeded
	}
	given := c.give(a.matchID, a.to)
	if given == nil {
		return nil, &transport.UnreachableError{Endpoint: a.Endpoint}
	}
	answer, err := c.deliver(ctx, a, fate)
	if ack, ok := answer.(*protocol.MatchAssignmentAck); err != nil || !ok || ack.Status != protocol.StatusAccepted {
		c.takeBack(a.matchID, given)
	} else if fate.Fails() {
		if err := await(ctx, given.sent); err != nil {
			return nil, err
		}
	}
	return lose(answer, err, fate)
}

// report carries report_match_result.
func (c *faultyCaller) report(ctx context.Context, a *call) (any, error) {
	fate := c.fate(a)
	given := c.handed(a.matchID)
	c.close(given, func() { closeOnce(given.sent) })
	if fate == faults.LostRequest {
		return nil, context.DeadlineExceeded
	}
	answer, err := c.deliver(ctx, a, fate)
	if e := protocol.AsError(err); err == nil || e != nil && e.Remote {
		c.close(given, func() {
			given.reported = given.reported || err == nil
			closeOnce(given.settled)
		})
	}
	return lose(answer, err, fate)
}

// close changes a handover, if there is one.
func (f *faulty) close(h *handover, change func()) {
	if h == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func (f *faulty) handed(matchID string) *handover {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.given[matchID]
}

func (f *faulty) isReported(h *handover) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return h.reported
}

// give notes that a referee may have a match from now on; nil when it is dead.
func (f *faulty) give(matchID, referee string) *handover {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead[referee] {
		return nil
	}
	h := &handover{referee: referee, sent: make(chan struct{}), settled: make(chan struct{})}
	f.given[matchID] = h
	return h
}

// takeBack notes that it does not have it.
func (f *faulty) takeBack(matchID string, h *handover) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.given[matchID] == h {
		delete(f.given, matchID)
	}
	closeOnce(h.sent)
	closeOnce(h.settled)
}

// dies tells whether a referee dies of what it is about to say.
func (c *faultyCaller) dies(a *call) bool {
	if a.matchID == "" || !faults.In(c.plan.RefereeCrash, c.name, a.round) {
		return false
	}
	told := a.Method == protocol.NotifyMatchResult.Name
	asked := told || a.Method == protocol.ChooseParity.Name || a.Method == protocol.MakeMove.Name
	switch faults.DeathIn(c.seed, a.matchID) {
	case faults.BeforeInviting:
	case faults.InTheMiddle:
		if !asked && a.Method != protocol.ReportMatchResult.Name {
			return false
		}
	default: // one that should have died before it had the match was handed it by an earlier life
		if a.Method != protocol.ReportMatchResult.Name {
			return false
		}
	}
	c.kill(c.name)
	return true
}

// unheard tells whether nobody listens at the receiver.
func (c *faultyCaller) unheard(a *call) bool {
	if a.Method == protocol.StartMatch.Name && faults.In(c.plan.RefereeCrash, a.to, a.round) &&
		faults.DeathIn(c.seed, a.matchID) == faults.BeforeAccepting {
		c.kill(a.to)
	}
	return c.isDead(a.to) || faults.In(c.plan.Crash, a.to, c.at(a))
}

// kill ends a referee: nobody waits for it any more.
func (f *faulty) kill(referee string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead[referee] = true
	for _, h := range f.given {
		if h.referee == referee {
			closeOnce(h.sent)
			closeOnce(h.settled)
		}
	}
}

func (f *faulty) isDead(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead[name]
}

// at is the round a call belongs to.
func (f *faulty) at(a *call) int {
	if a.round > 0 {
		return a.round
	}
	return f.now()
}

// now is the round that is played.
func (f *faulty) now() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.round
}

// fate decides about a call, which is made now.
func (c *faultyCaller) fate(a *call) faults.Fate {
	_, toPlayer := protocol.ParsePlayerID(a.to)
	key := said{c.name, a.to, a.Method, a.conversation}
	m := faults.Message{Caller: kindOf(c.name), Receiver: kindOf(a.to), Method: a.Method, About: a.matchID}
	switch {
	case a.conversation == "": // whoever is asked whether he is there has a new chance in each round
		m.About = fmt.Sprintf("round-%d", c.now())
	case a.matchID == "":
		m.About = a.conversation
	case !toPlayer: // between manager and referees: whichever has the match
		key = said{m.Caller, m.Receiver, a.Method, a.matchID}
	}
	c.mu.Lock()
	m.Try = c.tries[key]
	c.tries[key]++
	c.mu.Unlock()
	m.Insisted = a.matchID == "" || !toPlayer
	fate := c.plan.Fate(c.seed, m)
	if fate != faults.Whole {
		c.tell(a, fate.String())
	}
	return fate
}

// tell notes a fault that a player of a match had.
func (c *faultyCaller) tell(a *call, fault string) {
	if _, ok := protocol.ParsePlayerID(a.to); ok && a.matchID != "" && c.injected != nil {
		c.injected(Injection{MatchID: a.matchID, PlayerID: a.to, Method: a.Method, Fault: fault})
	}
}

// learns tells whether a player was told how its match ended.
func (f *faulty) learns(id protocol.MatchID, playerID string) bool {
	return !faults.In(f.plan.Crash, playerID, id.Round) && !faults.In(f.plan.Hang, playerID, id.Round) &&
		f.plan.Fate(f.seed, faults.Message{
			Caller: "referee", Receiver: playerID, Method: protocol.NotifyMatchResult.Name, About: id.String(),
		}) != faults.LostRequest
}

// await waits until something has happened, or the caller is no more.
func await(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silence is what a dead agent hears: it waits for nothing but its end.
func silence(ctx context.Context) error {
	<-ctx.Done()
	return context.Canceled
}
