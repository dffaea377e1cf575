package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
)

// A contest is a match that the referee conducts with two players of the kit.
type contest struct {
	name    string
	match   string
	round   int
	seats   [2]*seat
	short   bool // its players do not answer: it has little time
	limit   time.Duration
	started *reply
	again   *reply // the same start once more; nil for none
	refused string // why it was not started; "" when it was
	over    bool   // the manager has the report
	cut     bool   // the time of the examination ended in it
	lostOne bool   // the first report of it gets no answer
}

// A seat is a player of a contest.
type seat struct {
	*actor
	name   string
	choice string
	// play is what the n-th call of a kind, from 1, is answered with; nil means
	// as a player should.
	play func(s *seat, c *call, n int) *performance

	mu    sync.Mutex
	times map[string]int
}

// contest makes a match with two players; nil behaves well.
func (x *bench) contest(name string, a, b func(*seat, *call, int) *performance) (*contest, bool) {
	n := int(x.ids.Add(1))
	c := &contest{name: name, match: protocol.MatchID(n, 1), round: n, limit: x.patience(usualContest)}
	for i, play := range []func(*seat, *call, int) *performance{a, b} {
		s := &seat{name: protocol.PlayerID(i + 1), choice: []string{"even", "odd"}[i], play: play, times: map[string]int{}}
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

// answer is what a player says.
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
		protocol.TypeGameInvitation: protocol.TypeGameJoinAck, protocol.TypeChooseParityCall: protocol.TypeChooseParityResponse,
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
	case protocol.TypeChooseParityCall:
		m["parity_choice"] = s.choice
	default:
		m["status"] = protocol.StatusAcknowledged
	}
	return performance{result: m}
}

// assignment is MATCH_ASSIGNMENT of a contest.
func (x *bench) assignment(c *contest) map[string]any {
	q := message(protocol.TypeMatchAssignment, protocol.ManagerSender, protocol.MatchConversation(c.match, 1), "")
	q["league_id"], q["round_id"], q["match_id"], q["attempt"], q["game_type"] = checkLeague, c.round, c.match, 1, "even_odd"
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

// shortTime is what a player that does not answer has; a referee may well take
// the protocol's own times instead.
const shortTime = 500 * time.Millisecond

// otherwise is the same for those who know the members by other names.
func (x *bench) otherwise(c *contest) map[string]any {
	q := x.assignment(c)
	for i, names := range [][]string{{"player_A", "player_a", "player1"}, {"player_B", "player_b", "player2"}} {
		for _, name := range names {
			q[name+"_id"], q[name+"_endpoint"], q[name+"_url"] = c.seats[i].name, c.seats[i].url, c.seats[i].url
		}
	}
	q["player_a"], q["player_b"] = c.seats[0].name, c.seats[1].name
	return q
}

// A startWay is how a referee is told to conduct a match.
type startWay struct {
	method string
	tool   bool // as an MCP tool
}

// startWays are the ways that were seen, that of the documents first.
func startWays() []startWay {
	return []startWay{
		{method: "start_match"}, {method: "run_match"}, {method: "assign_match"}, {method: "START_MATCH"}, {method: "start_match_command"},
		{method: "MATCH_ASSIGNMENT"}, {method: "start_match", tool: true}, {method: "notify_round"},
	}
}

// tell starts a contest in one way.
func (x *bench) tell(ctx context.Context, c *contest, n int) *reply {
	w := startWays()[n]
	switch {
	case n == 0:
		return x.ask(ctx, w.method, x.assignment(c))
	case w.tool:
		return x.ask(ctx, "tools/call", map[string]any{"name": w.method, "arguments": x.otherwise(c)})
	case w.method == protocol.NotifyRound.Name:
		q := message(protocol.TypeRoundAnnouncement, protocol.ManagerSender, "conv-check-round", "")
		entry := x.otherwise(c)
		entry["player_A_id"], entry["player_B_id"] = c.seats[0].name, c.seats[1].name
		delete(entry, "player_A")
		delete(entry, "player_B")
		entry["referee_id"], entry["referee_endpoint"] = refereeID, x.options.URL
		q["league_id"], q["round_id"], q["matches"] = checkLeague, c.round, []any{entry}
		return x.ask(ctx, w.method, q)
	}
	return x.ask(ctx, w.method, x.otherwise(c))
}

// start has the referee begin a contest. While it says that it is busy, it is
// asked again.
func (x *bench) start(ctx context.Context, c *contest) {
	for try := 0; ; try++ {
		c.started = x.tell(ctx, c, x.way)
		status, _ := c.started.result.text("status")
		if !strings.EqualFold(status, protocol.StatusBusy) || try >= 50 || !rest(ctx, 100*time.Millisecond) {
			break
		}
	}
	c.cut = c.started.unasked
	c.refused = c.started.trouble()
	if c.refused == "" && notRefused(c.started) == "" {
		c.refused = "refused"
	}
	if status, _ := c.started.result.text("status"); strings.EqualFold(status, protocol.StatusBusy) {
		c.refused = "it says that it is busy"
	}
}

// findWay plays the first contest, and learns how the referee wants to be told.
func (x *bench) findWay(ctx context.Context, c *contest) {
	first := ""
	var shown *Exchange
	for n := range startWays() {
		x.way = n
		x.start(ctx, c)
		begun := c.refused == "" && (x.invited(c) || x.stage.await(ctx, x.patience(3*time.Second), func() bool { return x.invited(c) }))
		if begun {
			break
		}
		if n == 0 {
			first = firstOf(c.refused, "it took the match, and invited nobody within 3 s")
			shown = &c.started.Exchange
		}
		if c.refused == "" {
			c.refused = "it invited nobody"
		}
		if c.started.unasked {
			break
		}
	}
	if c.refused == "" || x.invited(c) {
		c.refused = ""
		x.pass("R-STA-01")
		x.judge("R-STA-02", first, shown)
		return
	}
	if c.cut = ctx.Err() != nil; c.cut {
		return
	}
	x.fail("R-STA-01", first, shown)
	x.giveUp("the referee conducts no match, however it is told to: " + first)
}

// invited tells whether a player of a contest was invited.
func (x *bench) invited(c *contest) bool {
	return len(x.toldOf(c, protocol.TypeGameInvitation)) > 0
}

// toldOf are the calls of a kind to the players of a contest.
func (x *bench) toldOf(c *contest, kind string) []*call {
	return x.stage.told(func(k *call) bool {
		return k.kind == kind && (k.to == c.seats[0].actor || k.to == c.seats[1].actor)
	})
}

// told are the calls of a kind to a player.
func (s *seat) told(kind string) []*call {
	return s.stage.told(func(k *call) bool { return k.to == s.actor && k.kind == kind })
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

// playAll plays the first contest alone, and the others as many at once as the
// referee conducts, but no more than four.
func (x *bench) playAll(ctx context.Context, contests []*contest) {
	if len(contests) == 0 {
		return
	}
	first := contests[0]
	x.findWay(ctx, first)
	if first.refused == "" {
		first.again = x.tell(ctx, first, x.way)
		x.await(ctx, first)
	}
	if x.givenUp() != "" {
		return
	}
	places := make(chan struct{}, min(x.capacity, 4))
	var playing sync.WaitGroup
	for _, c := range contests[1:] {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		playing.Go(func() {
			defer func() { <-places }()
			if c.lostOne {
				x.mu.Lock()
				x.breakOff[c.match] = true
				x.mu.Unlock()
			}
			if x.start(ctx, c); c.refused == "" {
				x.await(ctx, c)
			}
		})
	}
	playing.Wait()
}

// A crowd is as many matches at once as the referee conducts, and one more.
type crowd struct {
	contests []*contest
	beyond   *contest
	together int // matches that were under way at the same time
}

// playCrowd has players that choose only when all matches have come so far.
func (x *bench) playCrowd(ctx context.Context) *crowd {
	wanted := slices.ContainsFunc(refereeRegisters(), func(q Requirement) bool {
		return (q.ID == "R-STA-05" || q.ID == "R-STA-06") && x.options.Selection.Wants(q)
	})
	if x.givenUp() != "" || x.capacity > 10 || !wanted {
		return nil
	}
	begin := make(chan struct{})
	open := sync.OnceFunc(func() { close(begin) })
	defer open()
	waits := func(s *seat, c *call, _ int) *performance {
		if c.kind != protocol.TypeChooseParityCall {
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
			x.start(ctx, c)
			continue
		}
		w.beyond = c
		asked := func() bool {
			w.together = 0
			for _, c := range w.contests {
				if len(x.toldOf(c, protocol.TypeChooseParityCall)) > 0 {
					w.together++
				}
			}
			return w.together == len(w.contests)
		}
		x.stage.await(ctx, 8*time.Second, asked)
		c.started = x.tell(ctx, c, x.way)
	}
	open()
	if ctx.Err() != nil {
		return nil
	}
	for _, c := range w.contests {
		x.await(ctx, c)
	}
	if status, _ := w.beyond.started.result.text("status"); strings.EqualFold(status, protocol.StatusAccepted) {
		x.await(ctx, w.beyond)
	}
	if ctx.Err() != nil {
		return nil
	}
	return w
}
