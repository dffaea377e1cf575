package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/transport"
	"evenodd/transport/http"
)

// An Injection is a fault in a message to a player of a match.
type Injection struct {
	MatchID  string
	PlayerID string
	Method   string
	Fault    string // the fate of the message, or crash, hang, deny
}

// The faults of players in injections.
const (
	faultCrash = "crash"
	faultHang  = "hang"
	faultDeny  = "deny"
)

// glance is how often the manager looks whether referees have died.
const glance = time.Millisecond

var errGarbled = errors.New("the answer cannot be read")

// A faultyNetwork carries calls as a plan of faults says. No time passes: a lost message
// has missed its deadline at once.
//
// The result of a match must follow from the plan alone, whichever referee conducts it
// and whatever runs at once. Therefore the fate of a message does not depend on the
// attempt, and no two attempts at a match run at the same time if both could come to a
// result: while a referee has a match that the manager believes lost, no other referee
// gets it before that one has reported or died.
type faultyNetwork struct {
	network
	plan     *faults.Plan
	seed     uint64
	injected func(Injection)          // may be nil
	annulled func(matchID string) int // the number of results of a match that an organiser has annulled

	stopping atomic.Bool  // agents are being stopped
	round    atomic.Int64 // the current one; 0 before the first

	mu          sync.Mutex
	repetitions map[messageKey]int
	dead        map[string]bool      // referees
	handovers   map[string]*handover // the last, by match
}

// A messageKey identifies a message and its repetitions.
type messageKey struct{ from, to, method, about string }

// newFaultyNetwork makes the network of a league whose next round is given.
func newFaultyNetwork(n network, plan *faults.Plan, seed uint64, next int, injected func(Injection)) *faultyNetwork {
	f := &faultyNetwork{
		network: n, plan: plan, seed: seed, injected: injected,
		repetitions: map[messageKey]int{}, dead: map[string]bool{}, handovers: map[string]*handover{},
	}
	f.round.Store(int64(next - 1))
	return f
}

// freeClock is a clock whose pauses take no time.
func freeClock() *protocol.Clock {
	return protocol.NewClock(time.Now, func(ctx context.Context, _ time.Duration) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched() // an agent that retries again and again must let others answer
		return nil
	})
}

// beforeRound returns a function that begins a round, forgets the messages of the round before, and calls then, which
// may be nil.
func (f *faultyNetwork) beforeRound(then func(round int)) func(round int) {
	return func(round int) {
		f.mu.Lock()
		f.round.Store(int64(round))
		clear(f.repetitions)
		clear(f.handovers)
		f.mu.Unlock()
		if then != nil {
			then(round)
		}
	}
}

// A faultyCaller is the network of one agent.
type faultyCaller struct {
	*faultyNetwork
	name string
}

// A call is a request with what the plan needs to know of it.
type call struct {
	transport.Request

	to string // the receiver's name
	topic
}

// A topic is the match or the round that a message is about.
type topic struct {
	conversation string // "" for a message about neither
	matchID      string // "" for none
	attempt      int    // at the match; messages of plain members name it here alone
	round        int    // 0 for none
}

// topicOf reads the topic from the conversation id. The conversation ids of
// registrations are random, and have no topic.
func topicOf(params any) topic {
	message, ok := params.(interface{ Conversation() string })
	if !ok {
		return topic{}
	}
	conversation, _ := strings.CutPrefix(message.Conversation(), "conv-")
	if after, ok := strings.CutPrefix(conversation, "round-"); ok {
		digits, _, _ := strings.Cut(after, "-")
		if round, err := strconv.Atoi(digits); err == nil && round > 0 {
			return topic{conversation: conversation, round: round}
		}
	}
	text, _, _ := strings.Cut(conversation, "-a")
	text = strings.ToUpper(text)
	if id, ok := league.ParseMatchID(text); ok {
		attempt := protocol.ConversationAttempt(text, message.Conversation())
		return topic{conversation: conversation, matchID: text, attempt: attempt, round: id.Round}
	}
	return topic{}
}

// nameAt is the name of the agent at an endpoint.
func nameAt(endpoint string) string {
	return strings.TrimSuffix(strings.TrimPrefix(endpoint, Memory+"://"), http.Path)
}

// kindOf is "referee" for every referee, and the name for other agents.
func kindOf(name string) string {
	if _, ok := league.ParseRefereeID(name); ok {
		return "referee"
	}
	return name
}

// Call makes a call as the plan says. The call has no limit, because no time passes: it
// ends with its caller, however long this process stalls.
func (c *faultyCaller) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	q.Limit = 0
	answer, err := c.call(ctx, &call{q, nameAt(q.Endpoint), topicOf(q.Params)})
	return answer, nil, err
}

func (c *faultyCaller) call(ctx context.Context, a *call) (any, error) {
	if a.Method == protocol.RegisterPlayer.Name || a.Method == protocol.RegisterReferee.Name {
		return c.send(ctx, a) // an agent that registers is alive
	}
	if c.isDead(c.name) || c.diesBefore(a) {
		return nil, untilStopped(ctx)
	}
	if c.receiverIsDown(a) {
		c.note(a, faultCrash)
		return nil, &transport.CallError{Kind: transport.Unreachable, Endpoint: a.Endpoint}
	}
	if faults.Active(c.plan.Hang, a.to, c.roundOf(a)) {
		c.note(a, faultHang)
		return nil, context.DeadlineExceeded
	}
	switch a.Method {
	case protocol.StartMatch.Name:
		return c.assign(ctx, a)
	case protocol.ReportMatchResult.Name:
		return c.report(ctx, a)
	}
	return c.send(ctx, a)
}

// send makes a call with the fate of its message.
func (c *faultyCaller) send(ctx context.Context, a *call) (any, error) {
	fate := c.fate(a)
	answer, err := c.deliver(ctx, a, fate)
	return received(answer, err, fate)
}

// deliver makes a call, unless its request is lost.
func (c *faultyCaller) deliver(ctx context.Context, a *call, fate faults.MessageFault) (any, error) {
	if fate == faults.LostRequest {
		return nil, context.DeadlineExceeded
	}
	answer, _, err := c.network.Call(ctx, a.Request)
	if protocol.Unreachable(err) && c.stopping.Load() {
		// The agent was stopped before its callers, which is no fault.
		return nil, untilStopped(ctx)
	}
	if fate == faults.Doubled {
		_, _, _ = c.network.Call(ctx, a.Request) // the first answer counts
	}
	if ack, ok := answer.(*protocol.GameJoinAck); ok && faults.Active(c.plan.Deny, a.to, c.roundOf(a)) {
		c.note(a, faultDeny)
		refusal, no := *ack, false
		refusal.Accept = &no
		return &refusal, err
	}
	return answer, err
}

// received is the answer as the caller receives it.
func received(answer any, err error, fate faults.MessageFault) (any, error) {
	switch fate {
	case faults.LostAnswer, faults.Late:
		return nil, context.DeadlineExceeded
	case faults.Garbled:
		return nil, errGarbled
	}
	return answer, err
}

// roundOf is the round that a call belongs to.
func (c *faultyCaller) roundOf(a *call) int {
	if a.round > 0 {
		return a.round
	}
	return int(c.round.Load())
}

// receiverIsDown tells whether nobody listens at the receiver.
func (c *faultyCaller) receiverIsDown(a *call) bool {
	if a.Method == protocol.StartMatch.Name && faults.Active(c.plan.RefereeCrash, a.to, a.round) &&
		faults.DeathIn(c.seed, a.matchID) == faults.BeforeAccepting {
		c.kill(a.to)
	}
	return c.isDead(a.to) || faults.Active(c.plan.Crash, a.to, c.roundOf(a))
}

// fate decides the fate of a message, and counts its repetitions.
func (c *faultyCaller) fate(a *call) faults.MessageFault {
	_, toPlayer := league.ParsePlayerID(a.to)
	key := messageKey{c.name, a.to, a.Method, a.conversation}
	m := faults.Message{Caller: kindOf(c.name), Receiver: kindOf(a.to), Method: a.Method, About: a.matchID}
	switch {
	case a.conversation == "": // such as a ping, which gets a new fate in each round
		m.About = fmt.Sprintf("round-%d", c.round.Load())
	case a.matchID == "":
		m.About = a.conversation
	case !toPlayer: // between manager and referees, whichever has the match
		key = messageKey{m.Caller, m.Receiver, a.Method, a.matchID}
	}
	c.mu.Lock()
	m.Repetition = c.repetitions[key]
	c.repetitions[key]++
	c.mu.Unlock()
	m.MustArrive = a.matchID == "" || !toPlayer
	fate := c.plan.FaultOf(c.seed, m)
	if fate != faults.NoFault {
		c.note(a, fate.String())
	}
	return fate
}

// note tells of a fault in a message to a player of a match.
func (c *faultyCaller) note(a *call, fault string) {
	if _, ok := league.ParsePlayerID(a.to); ok && a.matchID != "" && c.injected != nil {
		c.injected(Injection{MatchID: a.matchID, PlayerID: a.to, Method: a.Method, Fault: fault})
	}
}

// learnsResult tells whether a player receives the result of its match.
func (f *faultyNetwork) learnsResult(id league.MatchID, playerID string) bool {
	return !faults.Active(f.plan.Crash, playerID, id.Round) && !faults.Active(f.plan.Hang, playerID, id.Round) &&
		f.plan.FaultOf(f.seed, faults.Message{
			Caller: "referee", Receiver: playerID, Method: protocol.NotifyMatchResult.Name, About: id.String(),
		}) != faults.LostRequest
}

// await waits until something has happened, or ctx ends.
func await(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// untilStopped waits until ctx ends: a dead agent gets no answer. A call that nothing ends, such as a ping because of a
// report, fails at once, because its caller does not end before the call.
func untilStopped(ctx context.Context) error {
	if ctx.Done() != nil {
		<-ctx.Done()
	}
	return context.Canceled
}
