package check

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A playerExam is the examination of a player. The kit is its manager and its referee.
type playerExam struct {
	*exam

	manager    *fakeManager
	registered bool
	player     string // its id, as far as it is known
	matches    atomic.Int64

	mu         sync.Mutex
	unanswered map[string]int             // calls of a method in a row without an answer
	first      map[string]string          // the first value of a member of the player's replies
	times      map[string][]time.Duration // of answers, by method
	reused     bool                       // a connection was used for a second call

	takesStandings bool // the player has answered standings with a result
}

// examinePlayer begins with the calls that every player answers, and ends with those that
// may break it. The end of the league comes last, because a player may end with it.
func examinePlayer(ctx context.Context, e *exam) {
	x := &playerExam{exam: e, player: protocol.PlayerID(1), unanswered: map[string]int{}, first: map[string]string{}, times: map[string][]time.Duration{}}
	x.use(x.table())
	x.manager = x.openManager(ctx, func(c *call) response { return answerPing(c, "league_manager") })
	if x.manager.fakeAgent != nil {
		defer x.manager.fakes.close()
	}
	if x.needs("registration") {
		x.awaitRegistration(ctx)
	}
	if x.needsMoreThan("registration") {
		x.play(ctx)
	}
	x.recordRegistration()
}

// awaitRegistration waits for the player to register.
func (x *playerExam) awaitRegistration(ctx context.Context) {
	if x.manager.fakeAgent == nil || x.registered {
		return
	}
	if x.registered = x.manager.wait(ctx, x.options.Wait); x.registered {
		x.player = x.manager.agentID()
	}
}

// play plays the scenarios that the selected requirements need.
func (x *playerExam) play(ctx context.Context) {
	if !x.meet(ctx) {
		return
	}
	for _, s := range []struct {
		name string
		run  func(context.Context)
	}{
		{"announce", x.announce}, {"", x.playMatches}, {"repeat", x.repeat}, {"wire", x.examineWire}, {"methods", x.callByOtherNames},
		{"broken", x.sendBroken}, {"scripts", x.sendScripts}, {"at once", x.playAtOnce}, {"connections", x.connect},
		{"misuse", func(ctx context.Context) { x.misuse(ctx, x.playOn); x.askWithWrongTypes(ctx) }}, {"end", x.finish},
	} {
		if s.name == "" || x.needs(s.name) {
			s.run(ctx)
		}
	}
	x.recordTimes()
	if x.givenUp() == "" && ctx.Err() == nil {
		x.explainUndecided()
	}
}

// meet makes the first call, an invitation, and tells whether the examination can continue.
// A player that has just registered may not listen yet.
func (x *playerExam) meet(ctx context.Context) bool {
	m := x.newMatch()
	var r, last *reply // last is the last that was asked for
	waited := x.registered
	for attempt := 1; ; attempt++ {
		if r = x.ask(ctx, x.dialect, protocol.Invite.Name, x.invitation(m)); !r.unasked {
			last = r
		}
		away := r.Status == 0 && r.took < x.patience(inviteLimit)
		if !waited && (away || r.fault != nil && wantsMembership(r.fault)) {
			waited = true
			x.awaitRegistration(ctx)
		}
		early := x.registered && attempt <= 10 && (away || r.fault != nil)
		if !early || !rest(ctx, 100*time.Millisecond) {
			break
		}
	}
	const outsider = "the agent plays only in the league that it is registered in"
	accepted := r.trouble() == "" && isAnswer(protocol.Invite.Name, r.result)
	problem := notServed(r)
	switch {
	case r.unasked:
		if last != nil && last.Status == 0 && x.registered {
			x.record("first call", &fact{reply: last, problem: "it registered, and did not answer calls then: " + last.Error})
		}
		return false
	case r.Status == 0:
		x.record("first call", &fact{reply: r, problem: r.Error})
		if r.took >= x.patience(inviteLimit) {
			x.record("timeout of an invitation", &fact{reply: r})
		}
		x.giveUp(unreached(r))
		return false
	case r.fault != nil && !x.registered && wantsMembership(r.fault):
		x.record("first call", &fact{reply: r})
		x.understood.Store(true)
		x.record("rejected invitation", &fact{reply: r, problem: outsider + ": " + r.trouble() +
			"; start it so that it registers with this examination, whose manager listens where evenodd check says"})
		x.giveUp(outsider + "; let it register with this examination")
		return false
	case r.Status == http.StatusNotFound && !accepted:
		problem = "POST is answered with HTTP status 404"
	}
	x.record("first call", &fact{reply: r, problem: problem})
	if accepted {
		x.over(ctx, m)
	}
	return true
}

// A match is a match that the kit conducts with the player.
type match struct {
	round        int
	id           string
	conversation string
	opponent     string
	role         string
	attempt      int
	position     rules.Position
}

func (m *match) side() rules.Side {
	if m.role == protocol.RolePlayerB {
		return rules.SideB
	}
	return rules.SideA
}

// newMatch makes a match that is new to the player.
func (x *playerExam) newMatch() *match { return x.matchOf(int(x.matches.Add(1)), 1) }

func (x *playerExam) matchOf(round, number int) *match {
	id := protocol.MatchID{Round: round, Number: number}.String()
	opponent := "P02"
	if x.player == opponent {
		opponent = "P01"
	}
	return &match{
		round: round, id: id, conversation: protocol.MatchConversation(id, 1),
		opponent: opponent, role: protocol.RolePlayerA, attempt: 1, position: x.options.Game.Start(),
	}
}

// advance makes the moves of both players; the opponent makes the first legal one.
func (x *playerExam) advance(m *match, choice string) {
	var moves [2]string
	moves[m.side()] = choice
	if other := m.side().Other(); slices.Contains(m.position.ToMove(), other) {
		moves[other] = firstLegal(x.options.Game, m.position, other)
	}
	m.position = m.position.Play(moves)
}

// turn has the opponent move until it is the player's turn; false when the match is over.
func (x *playerExam) turn(m *match) bool {
	for sides := m.position.ToMove(); !slices.Contains(sides, m.side()); sides = m.position.ToMove() {
		if len(sides) == 0 {
			return false
		}
		x.advance(m, "")
	}
	return true
}

// envelope begins a message of the kit's referee about a match.
func (x *playerExam) envelope(messageType string, m *match) map[string]any {
	q := message(messageType, protocol.RefereeSender(checkReferee), m.conversation, checkToken)
	q["match_id"] = m.id
	return q
}

func (x *playerExam) invitation(m *match) map[string]any {
	q := x.envelope(protocol.TypeGameInvitation, m)
	q["league_id"], q["round_id"], q["game_type"], q["role_in_match"], q["opponent_id"] = checkLeague, m.round, x.game, m.role, m.opponent
	if m.attempt > 1 {
		q["attempt"] = m.attempt
	}
	return q
}

// question asks for the player's choice in the position of a match.
func (x *playerExam) question(m *match) map[string]any {
	x.turn(m)
	q := x.envelope(x.questionType(), m)
	q["player_id"] = x.player
	x.pose(q, m.position, m.side(), m.opponent, m.round)
	return q
}

// ending is GAME_OVER of a match that the player wins.
func (x *playerExam) ending(m *match) map[string]any {
	return x.endingAs(m, protocol.StatusWin, x.verdictFor(m.side(), rules.Chance{}))
}

// endingAs is GAME_OVER with a result; 0 and "" are null.
func (x *playerExam) endingAs(m *match, status string, v rules.Verdict) map[string]any {
	ids := [2]string{m.opponent, m.opponent}
	ids[m.side()] = x.player
	q := x.envelope(protocol.TypeGameOver, m)
	q["game_type"] = x.game
	q["game_result"] = map[string]any{
		"status": status, "winner_player_id": orNull(v.WinnerOf(ids)), "drawn_number": orNull(v.Number), "number_parity": orNull(v.Parity),
		"choices": choicesOf(ids, v), "reason": v.Reason(ids),
	}
	return q
}

// maxUnanswered is the number of calls of one method in a row without an answer after
// which the method is not called again, because each call takes its whole time.
const maxUnanswered = 2

// counted makes a call of a method, unless the method does not answer, and counts it.
func (x *playerExam) counted(method string, call func() *reply) *reply {
	x.mu.Lock()
	unanswered := x.unanswered[method]
	x.mu.Unlock()
	if unanswered >= maxUnanswered {
		return notSent(x.options.URL, nil, fmt.Sprintf("%s had no answer %d times in a row, and was not called again", method, maxUnanswered))
	}
	r := call()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case r.unasked, r.Error != "" && x.concurrent.Load():
	case r.Error != "":
		x.unanswered[method]++
	default:
		x.unanswered[method] = 0
		x.reused = x.reused || r.reused
		x.times[method] = append(x.times[method], r.took)
	}
	return r
}

// call calls a method of the player as a league does.
func (x *playerExam) call(ctx context.Context, method string, params any) *reply {
	return x.counted(method, func() *reply { return x.ask(ctx, x.dialect, method, params) })
}

// callOnce calls a method once, in the form that the player has understood before.
func (x *playerExam) callOnce(ctx context.Context, method string, params any, v variation) *reply {
	return x.counted(method, func() *reply { return x.send(ctx, x.dialect, method, params, v) })
}

func (x *playerExam) inviteOnce(ctx context.Context, m *match) *reply {
	return x.callOnce(ctx, protocol.Invite.Name, x.invitation(m), variation{})
}

func (x *playerExam) chooseOnce(ctx context.Context, m *match) *reply {
	return x.callOnce(ctx, x.questionMethod(), x.question(m), variation{})
}

func (x *playerExam) endOnce(ctx context.Context, m *match) *reply {
	return x.callOnce(ctx, protocol.NotifyMatchResult.Name, x.ending(m), variation{})
}

// withID changes the id of a request; nil makes it a notification.
func withID(id jsontext.Value) variation {
	return variation{change: func(request members) []byte {
		if request["jsonrpc"] == nil {
			return nil
		}
		if request["id"] = id; id == nil {
			delete(request, "id")
		}
		return encoded(request)
	}}
}

// recordTimes records the time that all answers took.
func (x *playerExam) recordTimes() {
	times := x.times // all calls have ended
	record := func(name string, took []time.Duration, percent int, most time.Duration) {
		if len(took) > 0 {
			slow := percentile(took, percent) > most
			x.record(name, &fact{note: latencies(took) + delay(percentile(took, 50)), problem: when(slow, "%s; p%d should be at most %s", latencies(took), percent, most)})
		}
	}
	record("times of invitations", times[protocol.Invite.Name], 95, x.patience(inviteLimit)/2)
	record("times of choices", times[x.questionMethod()], 95, x.patience(chooseLimit)/2)
	record("times", slices.Concat(slices.Collect(maps.Values(times))...), 50, roundTrip)
}

// delayedAck is the time for which a system delays an acknowledgement, for which Nagle's
// algorithm waits.
const delayedAck = 40 * time.Millisecond

// delay explains the usual time of answers, if it is that of Nagle's algorithm.
func delay(usual time.Duration) string {
	return when(usual > delayedAck && usual < delayedAck*3/2,
		"; 40 ms in each answer usually come from Nagle's algorithm: set TCP_NODELAY, or send headers and body in one write")
}

// roundTrip is the time that a message and its answer take in one network (002 §13.3).
const roundTrip = 500 * time.Millisecond

// recordRegistration records how the player registered, and the form of its calls.
func (x *playerExam) recordRegistration() {
	why := "no manager was there to register with"
	if x.manager.fakeAgent != nil {
		why = fmt.Sprintf("it did not register with the manager of this examination within %s", x.options.Wait)
		own, others := x.manager.applications()
		switch {
		case x.manager.mistake() != "":
			why = x.manager.mistake()
		case len(own) > 0:
			x.recordApplication(own[0])
			x.record("registration/count", &fact{
				call: own[0], evidence: []*Exchange{own[len(own)-1].exchange()}, problem: when(len(own) > 1, "it was ACCEPTED, and registered %d times", len(own)),
			})
		case len(others) > 0:
			c := others[0]
			x.recordApplication(c)
			x.record("registration/endpoint", &fact{call: c, problem: fmt.Sprintf("contact_endpoint is %s, but %s is examined", quoted(x.manager.endpoint(c.params)), x.options.URL)})
			x.record("registration/count", &fact{call: c, skip: "it registered with another contact_endpoint, and was REJECTED"})
		default:
			why += x.misdirected(x.manager)
		}
		x.recordForms(x.manager.fakes)
	}
	for _, name := range []string{"registration/form", "registration/request", "registration/count", "form of call"} {
		x.record(name, &fact{skip: why}) // no skip replaces a finding
	}
}

// explainUndecided skips requirements that no fact has decided.
func (x *playerExam) explainUndecided() {
	for id, why := range map[string]string{
		"P-RPC-04": "no answer had a result", "P-RPC-05": "no answer had an error", "P-ENV-02": "no reply had a message_type",
		"P-ENV-05": "no timestamp could be read as UTC", "P-INV-04": "no accept could be read", "P-OVR-02": "no GAME_OVER was acknowledged",
		"P-CHO-09": "it commits to no entropy, and need not",
	} {
		x.skip(id, why)
	}
}

// percentile is the time within which p of 100 calls were answered, of at least one.
func percentile(took []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	at := (len(sorted)*p + 99) / 100 // the nearest rank
	return sorted[at-1]
}

// latencies says how long calls took.
func latencies(took []time.Duration) string {
	return fmt.Sprintf("%d calls: p50 %s, p95 %s, p99 %s", len(took),
		short(percentile(took, 50)), short(percentile(took, 95)), short(percentile(took, 99)))
}

func short(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
