package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// A managerExam is the examination of a manager. The kit is all agents of a league, from
// the first registration to the end.
type managerExam struct {
	*exam

	fakes *fakes
	spare *fakeAgent // the endpoint of applicants that the manager must refuse

	players    []*member
	referees   []*member
	applicants int
	league     string

	conducting sync.WaitGroup
	complete   chan struct{} // closed after the last registration: a match may come before the answer to it

	mu      sync.Mutex
	matches []*assignedMatch // in the order of assignment
}

// A member is an agent of the kit that the manager has registered.
type member struct {
	*fakeAgent
	membership
	id, name string
	token    string
	proves   bool // the manager has said that it proves itself

	registration map[string]any // the message; nil if it must not be repeated
}

// examineManager runs a league. Requests that the manager must refuse come before the last
// registration, which begins the league.
func examineManager(ctx context.Context, e *exam) {
	x := &managerExam{exam: e, complete: make(chan struct{})}
	x.use(x.table())
	if !x.meet(ctx) {
		return
	}
	registered := x.examineServer(ctx, x.register)
	if x.fakes == nil {
		return
	}
	defer x.conducting.Wait()
	defer x.fakes.close()
	defer func() { x.recordMessages(x.fakes) }()
	if registered && x.needsMoreThan("wire", "misuse", "register", "refusal", "token") {
		x.run(ctx)
	}
}

// register registers the agents of the kit, all but the last, and sends registrations and
// queries that the manager must refuse. It returns why it could not.
func (x *managerExam) register(ctx context.Context) (gaveUp string) {
	if x.options.Listener == nil {
		return "there is no listener at which the manager could call the players of the examination"
	}
	x.fakes = newFakes(ctx, x.exam)
	if !x.registerFirst(ctx) {
		return "the manager registers no agents: examine it with a fresh league, that waits for players and referees"
	}
	if x.needs("refusal") {
		x.applyWrongly(ctx)
	}
	x.registerFurther(ctx)
	if x.needsMoreThan("wire", "misuse", "register", "refusal") {
		x.query(ctx)
	}
	return ""
}

// run runs the league from its start to its end.
func (x *managerExam) run(ctx context.Context) {
	if !x.begin(ctx) {
		return
	}
	x.registerLate(ctx)
	x.follow(ctx)
	if ctx.Err() != nil && !x.over() {
		return // the rest of the league is unknown
	}
	if !x.conducted(ctx) {
		x.fakes.end() // the agents need not answer the remaining calls
		x.conducting.Wait()
	}
	x.queryAfter(ctx)
	x.recordLeague()
}

// conducted waits for the answers to the last reports, which may come after the end of the
// league; false if they do not come.
func (x *managerExam) conducted(ctx context.Context) bool {
	var done atomic.Bool
	go func() { // it ends with the fakes at the latest
		x.conducting.Wait()
		done.Store(true)
		x.fakes.wake()
	}()
	return x.fakes.await(ctx, x.patience(otherLimit), done.Load)
}

// acknowledge answers the notices to an agent in a role, and its pings. The kit's referees
// play the matches of its players.
func acknowledge(c *call, to membership) response {
	if !methodOf(c.kind).Notice {
		return answerPing(c, to.role)
	}
	id := c.to.identity()
	result := map[string]any{"status": protocol.StatusAcknowledged, to.id: id}
	if round, ok := c.params.integer("round_id"); ok {
		result["round_id"] = round
	}
	return c.answer(to.sender(id), result)
}

func answerPlayer(c *call) response { return acknowledge(c, membershipOf(Player)) }

// answerReferee answers the calls of a referee, and conducts the assigned matches.
func (x *managerExam) answerReferee(c *call) response {
	if c.kind == protocol.TypeMatchAssignment {
		return x.assigned(c)
	}
	return acknowledge(c, membershipOf(Referee))
}

// begin begins the league, and tells whether it began.
func (x *managerExam) begin(ctx context.Context) bool {
	x.reportEarly(ctx)
	x.startWithoutRight(ctx)
	complete := x.registerLast(ctx)
	close(x.complete)
	if !complete {
		return false
	}
	if x.options.Admin != "" {
		x.awaitPings(ctx)
		r := x.start(ctx, "conv-check-start", x.options.Admin)
		if problem := r.trouble(); problem != "" && !x.announced() {
			x.record("begin/league", &fact{reply: r, about: "start_league", problem: problem})
			x.giveUp("the league did not begin: " + problem)
			return false
		}
	}
	if !x.fakes.await(ctx, x.options.Wait, x.announced) {
		if ctx.Err() == nil {
			x.giveUp(fmt.Sprintf("the league did not begin: no round and no match within %s of %d players and %d referees registering; "+
				"say how many it waits for, or give the examination the admin token", x.options.Wait, len(x.players), len(x.referees)))
		}
		return false
	}
	x.record("begin/league", &fact{})
	return true
}

// start calls start_league with a token; "" is none.
func (x *managerExam) start(ctx context.Context, conversation, token string) *reply {
	return x.ask(ctx, x.dialect, "start_league", message("START_LEAGUE", protocol.ManagerSender, conversation, token))
}

// maxPinging is the time to wait for the manager to ping its agents before the kit starts
// the league. A manager that pings may leave out agents that have not answered yet; most
// managers do not ping.
const maxPinging = 2 * time.Second

// awaitPings waits until the manager has called every agent, and awaits none any more by
// GET_STATUS.
func (x *managerExam) awaitPings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxPinging)
	defer cancel()
	x.fakes.await(ctx, maxPinging, func() bool {
		return !slices.ContainsFunc(x.members(), func(m *member) bool { return len(x.received(m.fakeAgent, "")) == 0 })
	})
	p := x.players[0]
	for rest(ctx, 20*time.Millisecond) {
		r := x.ask(ctx, p.dialect, protocol.Query.Name, x.question(p, protocol.QueryStatus, nil))
		if awaited := objectOf(r.result["data"])["awaited"]; awaited.Kind() != '[' || len(awaited) == len("[]") {
			return
		}
	}
}

// members returns the players and the referees.
func (x *managerExam) members() []*member { return slices.Concat(x.players, x.referees) }

// received returns the calls of a kind to an agent; nil is any agent, and "" any kind.
func (x *managerExam) received(a *fakeAgent, kind string) []*call {
	return x.fakes.received(func(c *call) bool { return (a == nil || c.to == a) && (kind == "" || c.kind == kind) })
}

// announced tells whether the manager has sent a message of a league that has begun.
func (x *managerExam) announced() bool {
	return len(x.received(nil, protocol.TypeRoundAnnouncement))+len(x.received(nil, protocol.TypeMatchAssignment)) > 0
}

// startWithoutRight tries to begin the league without the admin token.
func (x *managerExam) startWithoutRight(ctx context.Context) {
	for _, s := range []struct {
		token string
		code  protocol.Code
	}{
		{"", protocol.ErrTokenMissing}, {strings.Repeat("0", 43), protocol.ErrTokenInvalid}, {x.players[0].token, protocol.ErrTokenInvalid},
	} {
		r := x.start(ctx, "conv-check-start-unasked", s.token)
		if r.fault != nil && r.fault.code == codeUnknownMethod {
			x.record("begin/without right", &fact{skip: "it has no start_league"})
			return
		}
		x.record("begin/without right", &fact{reply: r, code: s.code, numbers: []int{3001}})
	}
}

// maxStill is the time without a message after which the kit leaves the league.
const maxStill = 15 * time.Second

// follow waits for the league to end.
func (x *managerExam) follow(ctx context.Context) {
	seen := -1
	for {
		now := len(x.received(nil, ""))
		if x.over() || now == seen || ctx.Err() != nil {
			break
		}
		seen = now
		x.fakes.await(ctx, x.patience(maxStill), func() bool { return x.over() || len(x.received(nil, "")) > seen })
		x.conductAnnounced()
	}
}

// over tells whether all players know that the league is over.
func (x *managerExam) over() bool {
	for _, p := range x.players {
		if !slices.ContainsFunc(x.received(p.fakeAgent, protocol.TypeLeagueCompleted), func(c *call) bool { return c.answered }) {
			return false
		}
	}
	for _, r := range x.referees { // the manager may tell them a moment later
		x.fakes.await(x.fakes.life, 200*time.Millisecond, func() bool { return len(x.received(r.fakeAgent, protocol.TypeLeagueCompleted)) > 0 })
	}
	return len(x.players) > 0
}
