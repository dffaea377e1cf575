package check

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// A refereeExam is the examination of a referee. The kit is its manager, and the players
// of each match, with and without faults.
type refereeExam struct {
	*exam

	unreported atomic.Int64 // matches in a row that were not reported
	unfinished atomic.Bool  // a match was not reported in its time

	byID       sync.Map // of *refereedMatch
	unlistened string   // why the kit's players do not listen at PlayerPort; "" if they do

	form string // in which it takes matches; "" for that of the specification
}

func (x *refereeExam) scenarios() []scenario {
	names := append(lists.Map(x.matchCases(), func(row matchCase) string { return row.name }),
		"registration", play, everyMatch, "end")
	return []scenario{
		{[]string{"wire"}, x.examineServer}, {names, x.play}, {[]string{"wire", "misuse"}, x.misuse},
		{[]string{"end"}, x.finish},
	}
}

// play waits for the referee to register, and has it conduct the matches that show the
// selected requirements. All matches are conducted before they are judged, so that the report
// does not depend on their order.
func (x *refereeExam) play() {
	if !x.awaitRegistration() {
		if x.life.Err() == nil {
			x.show("registration/arrival", nil, fmt.Sprintf("it did not register within %s at %s%s", x.Wait,
				x.host.url, x.misdirected()))
		}
		x.absent = "the referee did not register with the examination: tell it that its manager is " + x.host.url
		return
	}
	x.show("registration/arrival", nil)
	matches := x.matches()
	if x.absent = x.playAll(matches); x.absent != "" {
		return
	}
	for _, m := range matches {
		x.recordMatch(m)
	}
}

// answer accepts the reports of the referee, and answers its other calls as any manager does. It closes the
// connection of the first report of one match.
func (x *refereeExam) answer(c *call) response {
	if c.kind != protocol.TypeMatchResultReport {
		return x.exam.answer(c)
	}
	if m := x.matchOf(c); m != nil && m.name == lostReport && !m.hungUp.Swap(true) {
		return response{}
	}
	return c.answer(protocol.ManagerSender,
		object{"status": protocol.StatusAccepted, "league_id": checkLeague}, "match_id")
}

// matchOf is the match that a call is about; nil for none.
func (x *refereeExam) matchOf(c *call) *refereedMatch {
	m, _ := x.byID.Load(c.match())
	match, _ := m.(*refereedMatch)
	return match
}

// finish tells the referee that round and league are over. The referee may end then.
func (x *refereeExam) finish() {
	x.show("end/notice", x.host.ask(notice(protocol.TypeRoundCompleted, nil)))
	x.show("end/notice", x.host.ask(leagueCompleted("P01", "P02")))
}

// The most that a referee may cost that takes matches, and conducts none.
const (
	maxStarts    = 20
	maxStarting  = time.Minute
	untilInvited = 6 * time.Second
	untilStarted = 5 * time.Second // for the answer to a start after the invitations
)

// hand hands a match to the referee as a league does. It returns when the referee has
// answered, or has invited a player: some referees answer when the match is over. It
// retries while the referee is busy, or has perhaps not read the answer to its registration yet.
func (x *refereeExam) hand(m *refereedMatch) {
	m.started.Store(nil)
	m.handing.Go(func() {
		r := x.host.ask(x.assignment(m))
		for n := 0; (busy(r) && n < 50 || unready(r) && n < 10) && rest(x.life, 100*time.Millisecond); n++ {
			r = x.host.ask(x.assignment(m))
		}
		m.started.Store(r)
		x.wake()
	})
	x.await(x.limitOf(protocol.StartMatch.Name), func() bool { return m.start() != nil || m.invited() })
}

// begin starts the first match, and learns in which form the referee takes matches. A
// referee that takes a match and invites nobody is asked in the next form. The problem is
// why it conducts none; "" if it does, or if the time was over.
func (x *refereeExam) begin(m *refereedMatch) (problem string) {
	var shown *reply
	var taken time.Time // when the referee took the match first; zero for never
	conducted := func(most time.Duration) bool {
		return x.await(most, func() bool { return m.invited() || m.refusal() != "" }) && m.invited()
	}
	for end := time.Now().Add(maxStarting); m.attempt <= maxStarts && time.Now().Before(end); m.attempt++ {
		x.hand(m)
		if conducted(untilInvited) {
			x.understood.Store(true)
			x.show("conducted", nil)
			return ""
		}
		refusal := m.refusal()
		if shown == nil {
			problem, shown = refusal, m.start()
		}
		if refusal == "" && taken.IsZero() {
			taken = time.Now().Add(-untilInvited)
		}
		if refusal != "" || x.life.Err() != nil { // no form was understood
			break
		}
	}
	if !taken.IsZero() { // it may be slow to begin
		if x.await(otherLimit, m.invited) {
			x.understood.Store(true)
			x.show("conducted", nil)
			return ""
		}
		problem = fmt.Sprintf("it took the match, and invited nobody within %s", time.Since(taken).Round(time.Second))
	}
	if m.cut = x.life.Err() != nil || x.givenUp() != ""; m.cut {
		return ""
	}
	if x.unlistened != "" {
		problem += ", but it may call players at the addresses of a file of its own: " + x.unlistened
		x.record("conducted", &fact{problem: skipped(problem), reply: shown})
		return problem
	}
	x.show("conducted", shown, problem)
	return "the referee conducts no match, in whatever form it is asked: " + problem
}

// openPlayers has the players of the kit listen also at PlayerPort and the next port: some referees call
// the addresses of a file of their own. Such a call belongs to the match that it names.
func (x *refereeExam) openPlayers() {
	var listeners [2]net.Listener
	for side := range listeners {
		var err error
		port := strconv.Itoa(x.PlayerPort + side)
		if listeners[side], err = x.Listen(x.life, "tcp", net.JoinHostPort(x.hostname, port)); err != nil {
			x.unlistened = fmt.Sprintf("the kit's players cannot listen at port %s (%v)", port, err)
			if side > 0 {
				_ = listeners[0].Close() // half of the players would get invitations
			}
			return
		}
	}
	for side, l := range listeners {
		x.open(l, func(c *call) response {
			m := x.matchOf(c)
			if m == nil {
				return answerPing(c, Player)
			}
			p := m.players[side]
			x.mu.Lock()
			c.to = p.fakeAgent
			x.mu.Unlock()
			return p.answer(c)
		})
	}
}

// maxUnreported is the number of matches in a row without a report after which the next get
// less time.
const maxUnreported = 2

// awaitEnd waits for a match to be over: reported, and both players told.
func (x *refereeExam) awaitEnd(m *refereedMatch) {
	if x.unreported.Load() >= maxUnreported {
		m.limit, m.hurried = min(m.limit, time.Second), true
	}
	m.over = x.await(m.limit, m.reported)
	m.cut = !m.over && x.life.Err() != nil
	if !m.over {
		x.unfinished.Store(true)
		if !m.cut && !m.slow() {
			x.unreported.Add(1)
		}
		return
	}
	x.unreported.Store(0)
	told := func() bool { return m.players[0].ending() != nil && m.players[1].ending() != nil }
	x.await(2*time.Second, told) // some report before they tell the players
}

// playAll plays the first match alone, and then up to four at the same time, if the
// referee conducts as many. It returns why none could be played.
func (x *refereeExam) playAll(matches []*refereedMatch) (gaveUp string) {
	first := matches[0]
	x.openPlayers()
	if problem := x.begin(first); problem != "" || first.cut {
		return problem
	}
	if x.needs(wellPlayed) {
		x.startAgain(first)
	}
	x.awaitEnd(first)
	own := x.received(x.isOwn)[0]
	capacity, _ := objectOf(own.params[x.as.meta]).integer("max_concurrent_matches")
	atOnce := min(max(capacity, 1), 4)
	unnamed := func(report *call) bool { return report.sent.text("match_id") == "" } // the players tell its match
	if first.inHandler() {
		x.mu.Lock()
		x.startLimit = longMatch // it may be in the middle of another match
		x.mu.Unlock()
	}
	if first.inHandler() || slices.ContainsFunc(first.reports(), unnamed) {
		atOnce = 1 // a referee that answers when the match is over may serve one call at a time
	}
	slots := make(chan struct{}, atOnce)
	first.handing.Wait()
	if r := first.start(); r != nil {
		x.form = r.form
		x.recordStart(r)
	}
	var playing sync.WaitGroup
	for _, m := range matches[1:] {
		slots <- struct{}{}
		playing.Go(func() {
			defer func() { <-slots }()
			if x.hand(m); m.refusal() == "" {
				x.awaitEnd(m)
			}
			m.handing.Wait() // a referee that conducts the match before it answers has the time of both
			if m.over = m.over || m.reported(); m.over {
				x.unreported.Store(0)
			}
			m.cut = m.cut || m.start() != nil && m.start().unasked
		})
	}
	playing.Wait()
	return ""
}

// recordStart records the form in which the referee has taken its first match. The announcement of a round with the
// referee's id is a form of the specification, too.
func (x *refereeExam) recordStart(r *reply) {
	if form, _ := formOf(objectOf(r.request)); form == protocol.NotifyRound.Name {
		r.form = ""
	}
	x.recordUnderstood(r)
}

// startAgain sends the start of a match once more.
func (x *refereeExam) startAgain(m *refereedMatch) {
	x.await(untilStarted, func() bool { return m.start() != nil })
	if r := m.start(); r != nil && r.Error == "" {
		m.again = x.deliver(request{method: r.method, asked: r.asked, url: r.To, body: r.request})
	}
}
