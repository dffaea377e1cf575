package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A contest is a match that the referee conducts with two players of the kit.
type contest struct {
	name    string
	match   string
	round   int
	attempt int
	seats   [2]*seat
	short   bool // its players do not answer: it has little time
	limit   time.Duration
	again   *reply // the same start once more; nil for none
	over    bool   // the manager has the report
	cut     bool   // the time of the examination ended in it
	lostOne bool   // the first report of it gets no answer

	handing sync.WaitGroup // of the calls that hand the match over
	mu      sync.Mutex
	started *reply // the answer to the start; nil while there is none
}

// start is the answer to the start of the match; nil while there is none.
func (c *contest) start() *reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}

// startExchange is the evidence of the start.
func (c *contest) startExchange() *Exchange {
	if r := c.start(); r != nil {
		return &r.Exchange
	}
	return nil
}

// refusedStart says why the referee has not taken the match; "" when it has, or has not
// answered in time.
func (c *contest) refusedStart() string {
	r := c.start()
	switch {
	case r == nil, strings.HasPrefix(r.Error, "no answer within"):
		return ""
	case r.trouble() != "":
		return r.trouble()
	case notRefused(r) == "":
		return "it refuses the match: " + valueOf(r.result, "status") + " " + valueOf(r.result, "reason")
	case busy(r):
		return "it says that it is busy"
	}
	return ""
}

// busy tells whether a referee asks for a match to be given it later.
func busy(r *reply) bool {
	status, _ := r.result.text("status")
	return strings.EqualFold(status, protocol.StatusBusy)
}

// A seat is a player of a contest.
type seat struct {
	*actor
	lab    *lab
	name   string
	side   rules.Side
	choice string // that it prefers, where that is allowed
	// play is what the n-th call of a kind, from 1, is answered with; nil means
	// as a player should.
	play func(s *seat, c *call, n int) *performance

	mu    sync.Mutex
	times map[string]int
}

// contest makes a match with two players; nil behaves well.
func (x *bench) contest(name string, a, b func(*seat, *call, int) *performance) (*contest, bool) {
	n := int(x.ids.Add(1))
	c := &contest{name: name, match: protocol.MatchID{Round: n, Number: 1}.String(), round: n, attempt: 1, limit: x.patience(usualContest)}
	start := x.options.Game.Start()
	for i, play := range []func(*seat, *call, int) *performance{a, b} {
		choices := options(x.options.Game, start, rules.Side(i))
		s := &seat{lab: x.lab, name: protocol.PlayerID(i + 1), side: rules.Side(i), play: play, times: map[string]int{}}
		if len(choices) > 0 {
			s.choice = choices[i%len(choices)]
		}
		var err error
		if s.actor, err = x.stage.open(s.answer); err != nil {
			x.giveUp(err.Error())
			return nil, false
		}
		s.become(s.name)
		c.seats[i] = s
	}
	return c, true
}

// answer is how a player answers a call.
func (s *seat) answer(c *call) performance {
	s.mu.Lock()
	s.times[c.kind]++
	n := s.times[c.kind]
	s.mu.Unlock()
	if s.play != nil {
		if p := s.play(s, c, n); p != nil {
			return *p
		}
	}
	return s.behave(c)
}

// behave answers as a player should.
func (s *seat) behave(c *call) performance {
	acks := map[string]string{
		protocol.TypeGameInvitation: protocol.TypeGameJoinAck, s.lab.questionType(): s.lab.choiceType(),
		protocol.TypeGameOver: protocol.TypeGameOverAck, protocol.TypeGameError: protocol.TypeGameErrorAck,
	}
	kind, known := acks[c.kind]
	if !known {
		return playOther(c, "player")
	}
	m := c.reply(kind, protocol.PlayerSender(s.name))
	m["match_id"], m["player_id"], m["auth_token"] = c.match(), s.name, protocol.NoToken
	switch c.kind {
	case protocol.TypeGameInvitation:
		m["accept"], m["arrival_timestamp"] = true, m["timestamp"]
	case s.lab.questionType():
		s.lab.setChoice(m, s.choose(c))
	default:
		m["status"] = protocol.StatusAcknowledged
	}
	return performance{result: m}
}

// choose is the player's choice in reply to a question.
func (s *seat) choose(c *call) string {
	var allowed []string
	_ = json.Unmarshal(objectOf(c.params["move_request"])["valid_options"], &allowed) // none in even_odd
	return s.preferred(allowed)
}

// preferred is the choice of the player among those that are allowed: the one that it
// prefers, or the first in alphabetical order.
func (s *seat) preferred(allowed []string) string {
	if len(allowed) == 0 || slices.Contains(allowed, s.choice) {
		return s.choice
	}
	return slices.Min(allowed)
}

// decided is the verdict of the rules on a match in which both players choose as they
// prefer, and this number is drawn.
func (x *bench) decided(c *contest, number int) rules.Verdict {
	position := x.options.Game.Start()
	var moves [2]string
	for seats := position.ToMove(); len(seats) > 0; seats = position.ToMove() {
		for _, side := range seats {
			moves[side] = c.seats[side].preferred(options(x.options.Game, position, side))
		}
		position = position.Play(moves)
	}
	if numbered, ok := x.options.Game.(rules.Numbered); ok {
		return numbered.JudgeNumber(moves, number)
	}
	return position.Judge(rules.Chance{})
}

// assignment is MATCH_ASSIGNMENT of a contest.
func (x *bench) assignment(c *contest) map[string]any {
	q := message(protocol.TypeMatchAssignment, protocol.ManagerSender, protocol.MatchConversation(c.match, c.attempt), "")
	q["league_id"], q["round_id"], q["match_id"], q["attempt"], q["game_type"] = checkLeague, c.round, c.match, c.attempt, x.game
	q["referee_id"] = x.desk.registered()
	for i, name := range []string{"player_A", "player_B"} {
		q[name] = map[string]any{
			"player_id": c.seats[i].name, "endpoint": c.seats[i].url, "display_name": "Check Player " + c.seats[i].name,
			"standings": map[string]any{"wins": 0, "losses": 0, "draws": 0, "points": 0},
		}
	}
	join, move := inviteLimit.Seconds(), chooseLimit.Seconds()
	if c.short {
		join, move = shortTime.Seconds(), shortTime.Seconds()
	}
	q["timeouts"] = map[string]any{"game_join_ack_timeout_sec": join, "move_timeout_sec": move, "game_over_timeout_sec": overLimit.Seconds(), "generic_response_timeout_sec": 5}
	q["retry_policy"] = map[string]any{"max_retries": 3, "delay_sec": 0.1, "backoff_strategy": "fixed"}
	q["scoring"] = map[string]any{"win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0}
	return q
}

// shortTime is how long a player has that does not answer; a referee may well give it the
// protocol's own times instead.
const shortTime = 500 * time.Millisecond

// hand hands a match to the referee, as a league does, and returns when the referee has
// answered, or has invited a player: some answer only when the match is over. While it
// says that it is busy, it is asked again.
func (x *bench) hand(ctx context.Context, c *contest) {
	c.mu.Lock()
	c.started = nil
	c.mu.Unlock()
	c.handing.Go(func() {
		var r *reply
		for try := 0; ; try++ {
			r = x.askAs(ctx, x.dialect, protocol.StartMatch.Name, x.assignment(c), otherLimit)
			if !busy(r) || try >= 50 || !rest(ctx, 100*time.Millisecond) {
				break
			}
		}
		c.mu.Lock()
		c.started = r
		c.mu.Unlock()
		x.stage.wake()
	})
	x.stage.await(ctx, x.patience(otherLimit), func() bool { return c.start() != nil || x.invited(c) })
}

// What a referee that acknowledges starts, and conducts nothing, may cost.
const (
	maxStarts    = 20
	maxStarting  = 30 * time.Second
	untilInvited = 3 * time.Second
	untilStarted = 5 * time.Second // for the answer to a start after the invitations
)

// begin starts the first contest, and learns in which form the referee takes matches. A
// referee that takes a match and invites nobody is asked in the next form. The problem
// says why it conducts none; "" where it does, or where the time was over.
func (x *bench) begin(ctx context.Context, c *contest) (begun bool, problem string) {
	var shown *Exchange
	for end := time.Now().Add(maxStarting); c.attempt <= maxStarts && time.Now().Before(end); c.attempt++ {
		x.hand(ctx, c)
		refused := c.refusedStart()
		if refused == "" && x.stage.await(ctx, x.patience(untilInvited), func() bool { return x.invited(c) || c.refusedStart() != "" }) && x.invited(c) {
			x.understand()
			x.pass("R-STA-01")
			return true, ""
		}
		refused = c.refusedStart()
		if problem == "" {
			problem, shown = firstOf(refused, "it took the match, and invited nobody within "+untilInvited.String()), c.startExchange()
		}
		if refused != "" || ctx.Err() != nil { // no form was understood
			break
		}
	}
	if c.cut = ctx.Err() != nil || x.givenUp() != ""; c.cut {
		return false, ""
	}
	x.fail("R-STA-01", problem, shown)
	return false, "the referee conducts no match, in whatever form it is asked: " + problem
}

// invited tells whether a player of a contest was invited.
func (x *bench) invited(c *contest) bool {
	return len(x.toldOf(c, protocol.TypeGameInvitation)) > 0
}

// toldOf are the calls of a kind to the players of a contest.
func (x *bench) toldOf(c *contest, kind string) []*call {
	return x.stage.told(func(k *call) bool {
		return k.kind == kind && !k.searching && (k.to == c.seats[0].actor || k.to == c.seats[1].actor)
	})
}

// told are the calls of a kind to a player, without those that look for its form.
func (s *seat) told(kind string) []*call {
	return s.stage.told(func(k *call) bool { return k.to == s.actor && k.kind == kind && !k.searching })
}

// reports are those of a contest, in the order in which they came.
func (x *bench) reports(c *contest) []*call {
	return x.stage.told(func(k *call) bool { return k.kind == protocol.TypeMatchResultReport && k.match() == c.match })
}

// maxUnreported is how many matches in a row may come to no report, or to no
// GAME_OVER, before the next are not waited for as long: a referee that reports
// nothing must not take the time of everything else.
const maxUnreported = 2

// await waits for a contest to be over: reported, and both players told.
func (x *bench) await(ctx context.Context, c *contest) {
	limit := c.limit
	if x.unreported.Load() >= maxUnreported {
		limit = min(limit, time.Second)
	}
	c.over = x.stage.await(ctx, limit, func() bool {
		return slices.ContainsFunc(x.reports(c), func(k *call) bool {
			x.stage.mu.Lock()
			defer x.stage.mu.Unlock()
			return k.answered && k.Status == http.StatusOK
		})
	})
	c.cut = !c.over && ctx.Err() != nil
	switch {
	case c.over:
		x.unreported.Store(0)
	case !c.cut && !x.slow(c):
		x.unreported.Add(1)
	}
	if c.over { // some report before they tell the players
		most := 2 * time.Second
		if x.untold.Load() >= maxUnreported {
			most = 100 * time.Millisecond
		}
		if x.stage.await(ctx, most, func() bool {
			return len(c.seats[0].told(protocol.TypeGameOver)) > 0 && len(c.seats[1].told(protocol.TypeGameOver)) > 0
		}) {
			x.untold.Store(0)
		} else {
			x.untold.Add(1)
		}
	}
}

// playAll plays the first contest alone, and then up to four at once, if the referee
// conducts as many. It returns why none could be played; "" where one was.
func (x *bench) playAll(ctx context.Context, contests []*contest) (gaveUp string) {
	if len(contests) == 0 {
		return ""
	}
	first := contests[0]
	if begun, problem := x.begin(ctx, first); !begun {
		return problem
	}
	if x.wants("R-STA-04") {
		x.stage.await(ctx, x.patience(untilStarted), func() bool { return first.start() != nil })
	}
	if r := first.start(); r != nil && r.Error == "" && x.wants("R-STA-04") {
		first.again = x.sendTo(ctx, r.url, protocol.StartMatch.Name, objectOf(r.sent)["id"], r.sent, otherLimit)
	}
	x.await(ctx, first)
	slots := make(chan struct{}, min(x.capacity, 4))
	if first.start() == nil { // it answers when the match is over, and may serve one call at a time
		slots = make(chan struct{}, 1)
	}
	first.handing.Wait()
	if r := first.start(); r != nil {
		x.way = r.form
		x.because(calledFormDefect(x.way), "R-STA-02", when(x.way != "", "it takes a match only as: %s", x.way), &r.Exchange)
	}
	var playing sync.WaitGroup
	for _, c := range contests[1:] {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		playing.Go(func() {
			defer func() { <-slots }()
			if c.lostOne {
				x.mu.Lock()
				x.breakOff[c.match] = true
				x.mu.Unlock()
			}
			if x.hand(ctx, c); c.refusedStart() == "" {
				x.await(ctx, c)
			}
			c.handing.Wait()
			c.cut = c.cut || c.start() != nil && c.start().unasked
		})
	}
	playing.Wait()
	x.playQueued(ctx, contests)
	return ""
}

// playQueued starts the contests again, one at a time, that a referee took while it
// conducted others, and did not come to.
func (x *bench) playQueued(ctx context.Context, contests []*contest) {
	for _, c := range contests {
		if c.cut || c.over || c.refusedStart() != "" || x.invited(c) || ctx.Err() != nil {
			continue
		}
		c.attempt++
		if x.hand(ctx, c); c.refusedStart() == "" {
			x.await(ctx, c)
		}
		c.handing.Wait()
	}
}

// A crowd is as many matches at once as the referee conducts, and one more.
type crowd struct {
	contests []*contest
	beyond   *contest
	together int // matches that were under way at the same time
}

// playCrowd has players that choose only when all matches have come so far.
func (x *bench) playCrowd(ctx context.Context) *crowd {
	if x.givenUp() != "" || x.capacity > 10 || !x.wants("R-STA-05", "R-STA-06") {
		return nil
	}
	begin := make(chan struct{})
	open := sync.OnceFunc(func() { close(begin) })
	defer open()
	waits := func(s *seat, c *call, _ int) *performance {
		if c.kind != x.questionType() {
			return nil
		}
		p := s.behave(c)
		p.until, p.after = begin, 20*time.Second
		return &p
	}
	w := &crowd{}
	for i := range x.capacity + 1 {
		c, ok := x.contest(fmt.Sprintf("match %d of several at once", i+1), waits, waits)
		if !ok {
			return nil
		}
		if i < x.capacity {
			w.contests = append(w.contests, c)
			x.hand(ctx, c)
			continue
		}
		w.beyond = c
		asked := func() bool {
			w.together = 0
			for _, c := range w.contests {
				if len(x.toldOf(c, x.questionType())) > 0 {
					w.together++
				}
			}
			return w.together == len(w.contests)
		}
		x.stage.await(ctx, 8*time.Second, asked)
		r := x.askAs(ctx, x.dialect, protocol.StartMatch.Name, x.assignment(c), otherLimit)
		c.mu.Lock()
		c.started = r
		c.mu.Unlock()
	}
	open()
	if ctx.Err() != nil {
		return nil
	}
	for _, c := range w.contests {
		x.await(ctx, c)
		c.handing.Wait()
	}
	if status, _ := w.beyond.started.result.text("status"); strings.EqualFold(status, protocol.StatusAccepted) {
		x.await(ctx, w.beyond)
	}
	if ctx.Err() != nil {
		return nil
	}
	return w
}
