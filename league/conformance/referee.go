package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// A bench is the examination of a referee: the kit brings a manager of another
// make than ours, and the players of each match, well- and ill-behaved.
type bench struct {
	client

	stage   *stage
	manager *actor

	mu       sync.Mutex
	token    string        // that the referee was given
	come     chan struct{} // closed when it has registered
	came     bool
	breakOff map[string]bool // matches whose next report gets no answer

	unreported atomic.Int64 // matches in a row that came to no report
	untold     atomic.Int64 // and whose players were told no result

	capacity int
	way      int // which way of starting works; only changed before matches run at once
}

// refereeID is the id that the kit gives to the referee.
const refereeID = "REF01"

// examineReferee has one match after another played, and judges them when all
// are over, so that a report does not depend on which was faster.
func examineReferee(ctx context.Context, l *lab) {
	secret := newSecret()
	x := &bench{
		client: client{lab: l, letter: "R"}, token: "tok-ref01-" + secret.Hex()[:43], come: make(chan struct{}), breakOff: map[string]bool{}, capacity: 1,
	}
	if l.options.Listener != nil {
		x.stage = openStage(ctx, l.options.Listener)
		defer x.stage.close()
		x.manager = x.stage.openAt(l.options.Listener, x.playManager)
	}
	if !x.meet(ctx) {
		x.judgeRegistration()
		return
	}
	x.speak(ctx)
	if x.stage == nil {
		x.misuse(ctx)
		x.giveUp("there is no listener at which the referee could call a manager and players")
		return
	}
	if !x.waitForReferee(ctx) {
		if ctx.Err() != nil {
			return
		}
		x.fail("R-REG-01", fmt.Sprintf("it did not register within %s at %s", l.options.Wait, x.manager.url))
		x.misuse(ctx)
		x.giveUp("the referee did not register with the examination: tell it that its manager is " + x.manager.url)
		return
	}
	x.judgeRegistration()
	contests := x.contests()
	x.playAll(ctx, contests)
	crowd := x.playCrowd(ctx)
	if x.options.Selection.Wants(Requirement{ID: "R-STA-07", Level: Should}) {
		x.refuseGame(ctx)
	}
	for _, c := range contests {
		x.judgeContest(c)
	}
	x.judgeFailures(contests)
	x.judgeCrowd(crowd)
	x.misuse(ctx)
	x.finish(ctx)
}

func (x *bench) waitForReferee(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, x.options.Wait)
	defer cancel()
	select {
	case <-x.come:
		return true
	case <-ctx.Done():
		return false
	}
}

// playManager is the kit's manager: it registers the referee, and takes reports.
func (x *bench) playManager(c *call) performance {
	switch c.kind {
	case protocol.TypeRefereeRegisterRequest:
		return x.register(c)
	case protocol.TypeLeagueRegisterRequest:
		m := c.reply(protocol.TypeLeagueRegisterResponse, protocol.ManagerSender)
		m["status"], m["player_id"], m["reason"] = protocol.StatusRejected, nil, "a referee is examined here"
		return performance{result: m}
	case protocol.TypeMatchResultReport:
		x.mu.Lock()
		lost := x.breakOff[c.match()]
		delete(x.breakOff, c.match())
		x.mu.Unlock()
		if lost {
			return performance{}
		}
		m := c.reply(protocol.TypeMatchResultAck, protocol.ManagerSender)
		m["status"], m["match_id"], m["league_id"] = protocol.StatusAccepted, c.match(), checkLeague
		return performance{result: m}
	}
	return playOther(c, "league_manager")
}

// register takes the referee in that is examined, and no other.
func (x *bench) register(c *call) performance {
	m := c.reply(protocol.TypeRefereeRegisterResponse, protocol.ManagerSender)
	m["league_id"], m["reason"] = checkLeague, nil
	endpoint, _ := objectOf(c.params["referee_meta"]).text("contact_endpoint")
	if !sameEndpoint(endpoint, x.options.URL) {
		m["status"], m["referee_id"], m["reason"] = protocol.StatusRejected, nil, "another referee is examined here: "+x.options.URL
		return performance{result: m}
	}
	m["status"], m["referee_id"], m["auth_token"] = protocol.StatusAccepted, refereeID, x.token
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.came {
		x.came = true
		close(x.come)
	}
	return performance{result: m}
}

// judgeRegistration looks at how the referee has registered.
func (x *bench) judgeRegistration() {
	if x.stage == nil {
		return
	}
	calls := x.stage.told(func(c *call) bool { return c.kind == protocol.TypeRefereeRegisterRequest })
	mine := 0
	for _, c := range calls {
		meta := objectOf(c.params["referee_meta"])
		endpoint, _ := meta.text("contact_endpoint")
		if !sameEndpoint(endpoint, x.options.URL) {
			continue
		}
		mine++
		shown := c.exchange()
		x.judge("R-REG-01", firstOf(c.object.has("jsonrpc", "2.0"), c.object.filled("method"), when(c.object["id"] == nil, "id is missing")), shown)
		x.judge("R-REG-02", when(c.method != protocol.RegisterReferee.Name, "method is %s", quoted(c.method)), shown)
		problem := firstOf(c.params.has("protocol", protocol.Name), c.params.has("message_type", protocol.TypeRefereeRegisterRequest),
			senderProblem(c.params, "referee:"), timeProblem(c.params, "timestamp"), c.params.filled("conversation_id"))
		x.judge("R-REG-03", problem, shown)
		name, _ := meta.text("display_name")
		x.judge("R-REG-04", firstOf(meta.filled("display_name"), when(!protocol.ValidName(name), "display_name has %d characters, or some that nobody can read", len([]rune(name)))), shown)
		version, _ := meta.text("version")
		x.judge("R-REG-05", firstOf(meta.filled("version"), when(strings.Count(version, ".") < 2, "version is %s", quoted(version))), shown)
		x.judge("R-REG-06", when(!strings.Contains(string(meta["game_types"]), `"even_odd"`) || meta["game_types"].Kind() != '[', "game_types is %s", valueOf(meta, "game_types")), shown)
		x.judge("R-REG-07", when(!protocol.ValidURL(endpoint), "contact_endpoint is %s", quoted(endpoint)), shown)
		n, ok := meta.integer("max_concurrent_matches")
		x.judge("R-REG-08", when(!ok || n < 1, "max_concurrent_matches is %s", valueOf(meta, "max_concurrent_matches")), shown)
		if ok && n > 0 {
			x.capacity = n
		}
	}
	if mine > 0 {
		last := calls[len(calls)-1].exchange()
		x.judge("R-REG-09", when(mine > 1, "it registered %d times", mine), last)
	}
}

// refuseGame hands over a match of a game that nobody knows.
func (x *bench) refuseGame(ctx context.Context) {
	if x.way != 0 {
		x.skip("R-STA-07", "it has no start_match")
		return
	}
	c, ok := x.contest("a game that nobody knows", nil, nil)
	if !ok {
		return
	}
	q := x.assignment(c)
	q["game_type"] = "no_such_game"
	r := x.ask(ctx, protocol.StartMatch.Name, q)
	x.judge("R-STA-07", notRefused(r), &r.Exchange)
}

// finish tells the referee that round and league are over, which it may end
// with.
func (x *bench) finish(ctx context.Context) {
	if !x.options.Selection.Wants(Requirement{ID: "R-END-01", Level: Should}) {
		return
	}
	q := message(protocol.TypeRoundCompleted, protocol.ManagerSender, "conv-check-round-end", "")
	q["league_id"], q["round_id"], q["matches_completed"], q["next_round_id"] = checkLeague, 1, 1, nil
	r := x.ask(ctx, protocol.NotifyRoundCompleted.Name, q)
	x.judge("R-END-01", firstOf(r.trouble(), r.result.has("status", protocol.StatusAcknowledged)), &r.Exchange)
	q = message(protocol.TypeLeagueCompleted, protocol.ManagerSender, "conv-check-league-end", "")
	row := map[string]any{"rank": 1, "player_id": "P01", "display_name": "Check Player 1", "points": 3, "played": 1, "wins": 1, "draws": 0, "losses": 0}
	q["league_id"], q["total_rounds"], q["total_matches"] = checkLeague, 1, 1
	q["champion"] = map[string]any{"player_id": "P01", "display_name": "Check Player 1", "points": 3}
	q["final_standings"] = []any{row}
	r = x.ask(ctx, protocol.NotifyLeagueCompleted.Name, q)
	x.judge("R-END-01", firstOf(r.trouble(), r.result.has("status", protocol.StatusAcknowledged)), &r.Exchange)
}

// The longest a match is waited for.
const (
	usualContest = 15 * time.Second
	longContest  = 40 * time.Second // four invitations of 5 s, and the pauses between
)
