package check

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// A refereeExam is the examination of a referee. The kit is its manager, and the players
// of each match, with and without faults.
type refereeExam struct {
	*exam

	manager *fakeManager
	fakes   *fakes

	hangUpOn sync.Map // ids of matches whose next report gets no answer

	unreported atomic.Int64 // matches in a row that were not reported
	unfinished atomic.Bool  // a match was not reported in its time

	byID       sync.Map    // of *refereedMatch
	unlistened string      // why the kit's players do not listen at PlayerPort; "" if they do
	configured atomic.Bool // the referee calls them there

	capacity int    // matches that it conducts at the same time
	form     string // in which it takes matches; "" for that of the specification
}

// examineReferee has all matches conducted before it judges them, so that the report does
// not depend on their order.
func examineReferee(ctx context.Context, e *exam) {
	x := &refereeExam{exam: e, capacity: 1}
	x.use(x.table())
	x.manager = x.openManager(ctx, x.acceptReport)
	if x.manager.fakeAgent != nil {
		x.fakes = x.manager.fakes
		defer x.fakes.close()
		defer func() { x.recordMessages(x.fakes) }()
	}
	if x.needsMoreThan("registration") && !x.meet(ctx) {
		x.recordRegistration()
		return
	}
	if x.examineServer(ctx, x.play) && x.needs("end") {
		x.finish(ctx)
	}
}

// play waits for the referee to register, and has it conduct the matches that show the
// selected requirements. It returns why it could not.
func (x *refereeExam) play(ctx context.Context) (gaveUp string) {
	switch {
	case x.fakes == nil:
		return "there is no listener at which the referee could call a manager and players"
	case !x.manager.wait(ctx, x.options.Wait):
		mistake := x.manager.mistake()
		if ctx.Err() == nil {
			problem := fmt.Sprintf("it did not register within %s at %s%s", x.options.Wait, x.manager.url, x.misdirected(x.manager))
			x.record("registration/arrival", &fact{problem: cmp.Or(mistake, problem)})
		}
		return cmp.Or(mistake, "the referee did not register with the examination: tell it that its manager is "+x.manager.url)
	}
	x.record("registration/arrival", &fact{})
	x.recordRegistration()
	matches := x.matches()
	if gaveUp = x.playAll(ctx, matches); gaveUp != "" {
		return gaveUp
	}
	x.playCrowd(ctx)
	if x.needs("unknown game") && x.givenUp() == "" {
		x.assignUnknownGame(ctx)
	}
	for _, m := range matches {
		x.recordMatch(m)
	}
	return ""
}

// acceptReport answers the calls of the referee to its manager.
func (x *refereeExam) acceptReport(c *call) response {
	if c.kind != protocol.TypeMatchResultReport {
		return answerPing(c, "league_manager")
	}
	if _, hangUp := x.hangUpOn.LoadAndDelete(c.match()); hangUp {
		return response{}
	}
	return c.answer(protocol.ManagerSender, map[string]any{"status": protocol.StatusAccepted, "match_id": c.match(), "league_id": checkLeague})
}

// recordRegistration records how the referee has registered.
func (x *refereeExam) recordRegistration() {
	if x.fakes == nil {
		return
	}
	own, _ := x.manager.applications()
	for _, c := range own {
		x.recordApplication(c)
		if n, ok := objectOf(c.params["referee_meta"]).integer("max_concurrent_matches"); ok && n > 0 {
			x.capacity = n
		}
	}
	if len(own) > 0 {
		x.record("registration/count", &fact{call: own[len(own)-1], problem: when(len(own) > 1, "it registered %d times", len(own))})
	}
}

// assignUnknownGame assigns a match of a game that the referee does not know.
func (x *refereeExam) assignUnknownGame(ctx context.Context) {
	if x.form != "" {
		x.record("unknown game/assignment", &fact{skip: "it takes a match only as: " + x.form})
		return
	}
	q := x.assignment(x.newMatch(matchCase{name: "an unknown game"}))
	q["game_type"] = "no_such_game"
	x.record("unknown game/assignment", &fact{reply: x.sendCall(ctx, protocol.StartMatch.Name, q)})
}

// finish tells the referee that round and league are over. The referee may end then.
func (x *refereeExam) finish(ctx context.Context) {
	q := x.notice(protocol.TypeRoundCompleted, 1)
	q["matches_completed"], q["next_round_id"] = 1, nil
	x.record("end/notice", &fact{reply: x.ask(ctx, x.dialect, protocol.NotifyRoundCompleted.Name, q)})
	q = x.notice(protocol.TypeLeagueCompleted, 0)
	q["total_rounds"], q["total_matches"] = 1, 1
	q["champion"] = map[string]any{"player_id": "P01", "display_name": "Check Player 1", "points": 3}
	q["final_standings"] = []any{standingsRow(1, "P01", "Check Player 1", 1)}
	x.record("end/notice", &fact{reply: x.ask(ctx, x.dialect, protocol.NotifyLeagueCompleted.Name, q)})
}

// The most that a referee may cost that takes matches, and conducts none.
const (
	maxStarts    = 20
	maxStarting  = 30 * time.Second
	untilInvited = 3 * time.Second
	untilStarted = 5 * time.Second // for the answer to a start after the invitations
)

// hand hands a match to the referee as a league does. It returns when the referee has
// answered, or has invited a player: some referees answer when the match is over. It
// retries while the referee is busy.
func (x *refereeExam) hand(ctx context.Context, m *refereedMatch) {
	m.started.Store(nil)
	m.handing.Go(func() {
		r := x.ask(ctx, x.dialect, protocol.StartMatch.Name, x.assignment(m))
		for attempt := 0; busy(r) && attempt < 50 && rest(ctx, 100*time.Millisecond); attempt++ {
			r = x.ask(ctx, x.dialect, protocol.StartMatch.Name, x.assignment(m))
		}
		m.started.Store(r)
		x.fakes.wake()
	})
	x.fakes.await(ctx, x.patience(otherLimit), func() bool { return m.start() != nil || m.invited() })
}

// begin starts the first match, and learns in which form the referee takes matches. A
// referee that takes a match and invites nobody is asked in the next form. The problem is
// why it conducts none; "" if it does, or if the time was over.
func (x *refereeExam) begin(ctx context.Context, m *refereedMatch) (begun bool, problem string) {
	var shown *reply
	for end := time.Now().Add(maxStarting); m.attempt <= maxStarts && time.Now().Before(end); m.attempt++ {
		x.hand(ctx, m)
		if x.fakes.await(ctx, x.patience(untilInvited), func() bool { return m.invited() || m.refusal() != "" }) && m.invited() {
			x.understood.Store(true)
			x.record("conducted", &fact{})
			return true, ""
		}
		refusal := m.refusal()
		if problem == "" {
			problem, shown = firstOf(refusal, "it took the match, and invited nobody within "+untilInvited.String()), m.start()
		}
		if refusal != "" || ctx.Err() != nil { // no form was understood
			break
		}
	}
	if m.cut = ctx.Err() != nil || x.givenUp() != ""; m.cut {
		return false, ""
	}
	if x.unlistened != "" {
		problem += ", but it may call players at the addresses of a file of its own: " + x.unlistened
		x.record("conducted", &fact{skip: problem, reply: shown})
		return false, problem
	}
	x.record("conducted", &fact{problem: problem, reply: shown})
	return false, "the referee conducts no match, in whatever form it is asked: " + problem
}

// openPlayers has the players of the kit listen also at PlayerPort and the next port: some referees call
// the addresses of a file of their own. Such a call belongs to the match that it names.
func (x *refereeExam) openPlayers() {
	var listeners [2]net.Listener
	for side := range listeners {
		var err error
		port := strconv.Itoa(x.options.PlayerPort + side)
		if listeners[side], err = x.options.Listen(x.fakes.life, "tcp", net.JoinHostPort(x.fakes.host, port)); err != nil {
			x.unlistened = fmt.Sprintf("the kit's players cannot listen at port %s (%v)", port, err)
			if side > 0 {
				_ = listeners[0].Close() // half of the players would get invitations
			}
			return
		}
	}
	for side, l := range listeners {
		x.fakes.open(l, func(c *call) response {
			m, known := x.byID.Load(c.match())
			if !known {
				return answerPing(c, Player)
			}
			x.configured.Store(true)
			p := m.(*refereedMatch).players[side] //nolint:forcetypeassert // it has no others
			x.fakes.mu.Lock()
			c.to = p.fakeAgent
			x.fakes.mu.Unlock()
			return p.answer(c)
		})
	}
}

// maxUnreported is the number of matches in a row without a report after which the next get
// less time.
const maxUnreported = 2

// await waits for a match to be over: reported, and both players told.
func (x *refereeExam) await(ctx context.Context, m *refereedMatch) {
	limit := m.limit
	if x.unreported.Load() >= maxUnreported {
		limit = min(limit, time.Second)
	}
	m.over = x.fakes.await(ctx, limit, func() bool {
		return slices.ContainsFunc(m.reports(), func(c *call) bool { return c.answered && c.Status == http.StatusOK })
	})
	m.cut = !m.over && ctx.Err() != nil
	if !m.over {
		x.unfinished.Store(true)
		if !m.cut && !m.slow() {
			x.unreported.Add(1)
		}
		return
	}
	x.unreported.Store(0)
	told := func() bool { return m.players[0].ending() != nil && m.players[1].ending() != nil }
	x.fakes.await(ctx, 2*time.Second, told) // some report before they tell the players
}

// playAll plays the first match alone, and then up to four at the same time, if the
// referee conducts as many. It returns why none could be played.
func (x *refereeExam) playAll(ctx context.Context, matches []*refereedMatch) (gaveUp string) {
	if len(matches) == 0 {
		return ""
	}
	first := matches[0]
	x.openPlayers()
	if begun, problem := x.begin(ctx, first); !begun {
		return problem
	}
	if x.needs(wellPlayed) {
		x.startAgain(ctx, first)
	}
	x.await(ctx, first)
	atOnce := min(x.capacity, 4)
	unnamed := func(report *call) bool { return report.sent.text("match_id") == "" } // the players tell its match
	if first.start() == nil || slices.ContainsFunc(first.reports(), unnamed) {
		atOnce = 1 // a referee that answers when the match is over may serve one call at a time
	}
	slots := make(chan struct{}, atOnce)
	first.handing.Wait()
	if r := first.start(); r != nil {
		x.form = r.form
		named := x.form == "" || strings.HasPrefix(x.form, protocol.StartMatch.Name+" ") // else FRM-01 says what differs
		x.record("form of start", &fact{reply: r, problem: when(!named, "it takes a match only as: %s", x.form), defect: calledFormDefect(x.form)})
	}
	var playing sync.WaitGroup
	for _, m := range matches[1:] {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		playing.Go(func() {
			defer func() { <-slots }()
			if m.name == lostReport {
				x.hangUpOn.Store(m.id, true)
			}
			x.conduct(ctx, m)
			m.cut = m.cut || m.start() != nil && m.start().unasked
		})
	}
	playing.Wait()
	// A referee may have taken matches while it conducted others, and never conducted them.
	for _, m := range matches {
		if !m.cut && !m.over && m.refusal() == "" && !m.invited() && ctx.Err() == nil {
			m.attempt++
			x.conduct(ctx, m)
		}
	}
	return ""
}

// conduct has the referee conduct one match.
func (x *refereeExam) conduct(ctx context.Context, m *refereedMatch) {
	if x.hand(ctx, m); m.refusal() == "" {
		x.await(ctx, m)
	}
	m.handing.Wait()
}

// startAgain sends the start of a match once more.
func (x *refereeExam) startAgain(ctx context.Context, m *refereedMatch) {
	x.fakes.await(ctx, x.patience(untilStarted), func() bool { return m.start() != nil })
	if r := m.start(); r != nil && r.Error == "" {
		m.again = x.post(ctx, r.To, r.request, x.patience(otherLimit), variation{})
		m.again.interpret(protocol.StartMatch.Name)
		x.inspect(m.again, objectOf(r.request)["id"])
	}
}

// playCrowd plays as many matches at the same time as the referee conducts, and one more, of
// different players, as in a league: a report may name no match. An earlier match of P01 and P02
// may lack its report. The players choose only when the questions of all matches were asked.
func (x *refereeExam) playCrowd(ctx context.Context) {
	if x.capacity > 10 || !x.needs("crowd") {
		return
	}
	begin := make(chan struct{})
	open := sync.OnceFunc(func() { close(begin) })
	defer open()
	waits := &deviation{kind: x.questionType(), change: func(r *response) { r.until, r.after = begin, 20*time.Second }}
	matches := make([]*refereedMatch, x.capacity+1)
	for i := range matches {
		matches[i] = x.newMatch(matchCase{name: fmt.Sprintf("match %d of several at once", i+1), deviations: [2]*deviation{waits, waits}})
		for side, p := range matches[i].players {
			if !x.configured.Load() { // else the addresses are those of two players
				p.name = protocol.PlayerID(2*i + side + 3)
			}
		}
	}
	if x.givenUp() != "" {
		return
	}
	crowd, beyond := matches[:x.capacity], matches[x.capacity]
	for _, m := range crowd {
		x.hand(ctx, m)
	}
	together := 0 // matches that were in progress at the same time
	x.fakes.await(ctx, 8*time.Second, func() bool {
		together = 0
		for _, m := range crowd {
			together += min(1, len(m.received(x.questionType())))
		}
		return together == len(crowd)
	})
	r := x.ask(ctx, x.dialect, protocol.StartMatch.Name, x.assignment(beyond))
	beyond.started.Store(r)
	open()
	for _, m := range crowd {
		x.await(ctx, m)
		m.handing.Wait()
	}
	if status := r.result.text("status"); strings.EqualFold(status, protocol.StatusAccepted) {
		x.await(ctx, beyond)
	}
	if ctx.Err() != nil {
		return
	}
	x.record("crowd/together", &fact{reply: r, problem: when(together < len(crowd), "%d matches were in progress at the same time, and max_concurrent_matches is %d", together, len(crowd))})
	taken := !busy(r) && notRefused(r) != ""
	x.record("crowd/beyond", &fact{
		reply: r, note: when(taken && beyond.over, "it was conducted later"),
		problem: when(taken && !beyond.over, "it took one match more than max_concurrent_matches, and did not report it"),
	})
}
