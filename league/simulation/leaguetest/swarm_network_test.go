package leaguetest_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// A messageFault is what happens to a message, apart from its latency.
type messageFault int

const (
	whole        messageFault = iota
	lostRequest               // the request never arrives
	lateRequest               // the request arrives when its caller has given up
	lostAnswer                // the answer never arrives
	brokenAnswer              // the connection breaks before the answer
	unreached                 // the connection is refused
	garbled                   // the answer cannot be read
	doubled                   // the request arrives twice
	stale                     // the request arrives once more, up to 20 minutes later
	foreign                   // before the request the same one about another league arrives
	endOfFaults
)

func (f messageFault) String() string {
	return [...]string{"whole", "request lost", "request late", "answer lost", "answer broken", "connection refused", "garbled",
		"doubled", "stale", "foreign"}[f]
}

// harms tells whether the caller gets no answer.
func (f messageFault) harms() bool { return f != whole && f < doubled }

func messageFaults() (all []messageFault) {
	for f := lostRequest; f < endOfFaults; f++ {
		all = append(all, f)
	}
	return all
}

// A messageKey identifies a message and its repetitions.
type messageKey struct{ from, to, method, about string }

// A fate is what happens to one message.
type fate struct {
	fault     messageFault
	out, back time.Duration // the latencies of request and answer
	again     time.Duration // until a doubled or stale request arrives once more
}

// A processCaller is the network of one process.
type processCaller struct {
	*process
	next protocol.Caller
}

// aboutOf is the match or the round of a message; "" for none.
func aboutOf(params any) string {
	m, ok := params.(interface{ Conversation() string })
	if !ok || strings.Contains(m.Conversation(), "-reg-") { // the conversation of a registration is random
		return ""
	}
	return m.Conversation()
}

// fateOf decides the fate of a message.
func (l *timedLeague) fateOf(from string, r *protocol.CallRequest) fate {
	key := messageKey{from, leaguetest.HostOf(r.Endpoint), r.Method, aboutOf(r.Params)}
	l.mu.Lock()
	l.sent[key]++
	n := l.sent[key]
	l.mu.Unlock()
	if l.plan.latency == 0 && len(l.plan.faults) == 0 {
		return fate{}
	}
	random := leaguetest.KeyedRandom(strconv.FormatUint(l.plan.seed, 10), key.from, key.to, key.method, key.about, strconv.Itoa(n))
	f := fate{out: upTo(random, l.plan.latency), back: upTo(random, l.plan.latency)}
	for _, fault := range messageFaults() {
		if hit := random.Float64() < l.plan.faults[fault]; hit && f.fault == whole {
			f.fault = fault
		}
	}
	if f.again = upTo(random, 3*time.Second); f.fault == stale {
		f.again = upTo(random, 20*time.Minute)
	}
	if f.fault != whole {
		l.count(f.fault.String())
		l.note("%s to %s: %s %s is %v", key.from, key.to, key.method, key.about, f.fault)
		if f.fault.harms() {
			l.harmed(key)
		}
	}
	return f
}

func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Float64() * float64(most))
}

var errClosed = &transport.CallError{Kind: transport.Closed, Err: errors.New("the connection is closed")}

// A response is what a caller gets.
type response struct {
	answer any
	timing *protocol.Timing
	err    error
}

// Call makes a call of the process. One that has crashed makes none, and gets no answer.
func (c *processCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	c.awaitSyncs()
	if passes, dies := c.step(); !passes {
		if dies && c.crash.sent {
			c.sendLast(r)
		}
		return c.gone()
	}
	if r.Limit > 0 {
		limited, cancel := context.WithTimeout(ctx, r.Limit)
		defer cancel()
		ctx = limited
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.network, cancel)()
	f := c.fateOf(c.host, &r)
	if r.Method == protocol.StartMatch.Name {
		c.began(r.Params)
	}
	arrived := make(chan response, 1)
	c.world.Background.Go(func() { arrived <- c.send(ctx, r, f) })
	select {
	case a := <-arrived:
		if c.passes() {
			return a.answer, a.timing, a.err
		}
		return c.gone()
	case <-ctx.Done():
		if c.dead.Load() {
			return c.gone()
		}
		return nil, nil, ctx.Err()
	}
}

// sendLast sends a message of a process that has crashed just after it.
func (c *processCaller) sendLast(r protocol.CallRequest) {
	f := c.fateOf(c.host, &r)
	if f.fault == unreached || f.fault == lostRequest {
		return
	}
	c.count("crashes just after a message was sent")
	if r.Method == protocol.StartMatch.Name {
		c.began(r.Params)
	}
	c.later(f.out, func() { c.deliverLate(r, late) })
}

// gone is what a process sees that has crashed: nothing until it has ended.
func (c *processCaller) gone() (any, *protocol.Timing, error) {
	<-c.network.Done()
	return nil, nil, context.Canceled
}

// late is the time in which a request is handled whose caller does not wait for the answer.
const late = 10 * time.Second

// send carries a request and its answer.
func (c *processCaller) send(ctx context.Context, r protocol.CallRequest, f fate) response {
	never := func() response {
		<-ctx.Done()
		return response{err: ctx.Err()}
	}
	switch f.fault {
	case unreached:
		return response{err: &transport.CallError{Kind: transport.Unreachable, Endpoint: r.Endpoint}}
	case lostRequest:
		return never()
	case lateRequest:
		c.later(r.Limit+f.again, func() { c.deliverLate(r, late) })
		return never()
	case foreign:
		c.deliverForeign(ctx, r)
	}
	if sleep(ctx, f.out) != nil {
		return never()
	}
	a, silent := c.deliver(ctx, r)
	if transport.KindOf(a.err) == transport.Unreachable && !silent {
		return a
	}
	if silent || f.fault == lostAnswer || sleep(ctx, f.back) != nil {
		return never()
	}
	switch f.fault {
	case doubled, stale:
		c.later(f.again, func() { c.deliverLate(r, late) })
	case brokenAnswer:
		return response{err: errClosed}
	case garbled:
		return response{err: &transport.CallError{Kind: transport.Unreadable, Status: 200, Err: errors.New("no JSON")}}
	}
	return a
}

// deliver makes a call at the process that has a host now. Silent tells that the caller gets no answer.
func (c *processCaller) deliver(ctx context.Context, r protocol.CallRequest) (a response, silent bool) {
	to := c.processAt(leaguetest.HostOf(r.Endpoint))
	if to == nil || to.dead.Load() {
		return response{err: &transport.CallError{Kind: transport.Unreachable, Endpoint: r.Endpoint}}, to != nil && to.mute.Load()
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(to.ctx, cancel)()
	a.answer, a.timing, a.err = c.next.Call(call, r)
	if to.dead.Load() || a.err != nil && call.Err() != nil && ctx.Err() == nil { // it ended before its answer
		return response{err: errClosed}, to.mute.Load()
	}
	return a, false
}

// deliverLate delivers a request whose caller does not wait for the answer.
func (c *processCaller) deliverLate(r protocol.CallRequest, limit time.Duration) {
	ctx, cancel := context.WithTimeout(c.world.Context, limit)
	defer cancel()
	_, _ = c.deliver(ctx, r)
}

// deliverForeign delivers a request of another league, with the tokens of that one. Its receiver must not accept it.
func (c *processCaller) deliverForeign(ctx context.Context, r protocol.CallRequest) {
	params := reflect.ValueOf(r.Params)
	if message := params.MethodByName("Message"); message.IsValid() { // of a protocol.Broadcast
		params = message.Call(nil)[0]
	}
	if r.Method == protocol.Ping.Name || params.Kind() != reflect.Pointer || params.Elem().Kind() != reflect.Struct {
		return
	}
	changed := reflect.New(params.Type().Elem())
	changed.Elem().Set(params.Elem())
	token := changed.Elem().FieldByName("AuthToken")
	if r.Bearer == "" && (!token.IsValid() || token.String() == "") {
		return // no token tells of which league it is
	}
	if token.IsValid() {
		token.SetString(otherToken(token.String()))
	}
	if id := changed.Elem().FieldByName("LeagueID"); id.IsValid() && id.String() != "" {
		id.SetString("league_of_others")
	}
	r.Bearer, r.Params = otherToken(r.Bearer), changed.Interface()
	a, _ := c.deliver(ctx, r)
	if a.err == nil && a.answer != nil {
		c.problem("%s accepted %s of another league: %s", leaguetest.HostOf(r.Endpoint), r.Method, leaguetest.Encode(a.answer))
	}
}

// otherToken is a token that another league could have in place of one; "" for none.
func otherToken(token string) string {
	if token == "" {
		return ""
	}
	other := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(other[:])
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	return protocol.SystemClock().Sleep(ctx, d)
}

// later calls a function after a while, unless the league has ended.
func (l *timedLeague) later(d time.Duration, do func()) {
	l.world.Background.Go(func() {
		if sleep(l.world.Context, d) == nil {
			do()
		}
	})
}
