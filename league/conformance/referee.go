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

// A bench is the examination of a referee: the kit plays a third-party manager, and the
// players of each match, well- and ill-behaved.
type bench struct {
	client

	stage   *stage
	manager *actor
	desk    *registrar

	mu       sync.Mutex
	breakOff map[string]bool // matches whose next report gets no answer

	unreported atomic.Int64 // matches in a row that were not reported
	untold     atomic.Int64 // and whose players were told no result

	capacity int
	way      string // the form in which it takes matches; "" for that of the specification
}

// examineReferee has one match after another played, and judges them when all are over,
// so that a report does not depend on which was faster.
func examineReferee(ctx context.Context, l *lab) {
	x := &bench{client: client{lab: l, letter: "R"}, desk: newRegistrar(l.options.URL, true), breakOff: map[string]bool{}, capacity: 1}
	if l.options.Listener != nil {
		x.stage = openStage(ctx, l.options)
		defer x.stage.close()
		x.manager = x.stage.openAt(l.options.Listener, l.dialect, x.playManager)
		defer func() { x.judgeMessages(x.stage) }()
	}
	if x.wantsBeyond("R-REG", "R-FRM-03") && !x.meet(ctx) {
		x.judgeRegistration()
		return
	}
	if x.wants("R-HTTP", "R-RPC") {
		x.probe(ctx)
	}
	gaveUp := ""
	if x.wantsBeyond("R-HTTP", "R-RPC") {
		gaveUp = x.play(ctx)
	}
	if x.wants("R-HTTP", "R-RPC") {
		x.misuse(ctx, x.alive)
	}
	switch {
	case gaveUp != "":
		x.giveUp(gaveUp)
	case x.wants("R-END"):
		x.finish(ctx)
	}
}

// play waits for the referee to register, and has it conduct the matches that show what
// is selected. It returns why it could not.
func (x *bench) play(ctx context.Context) (gaveUp string) {
	switch {
	case x.stage == nil:
		return "there is no listener at which the referee could call a manager and players"
	case !x.desk.wait(ctx, x.options.Wait):
		if ctx.Err() == nil {
			x.fail("R-REG-10", fmt.Sprintf("it did not register within %s at %s", x.options.Wait, x.manager.url))
		}
		return "the referee did not register with the examination: tell it that its manager is " + x.manager.url
	}
	x.pass("R-REG-10")
	x.judgeRegistration()
	contests := x.contests()
	if gaveUp = x.playAll(ctx, contests); gaveUp != "" {
		return gaveUp
	}
	crowd := x.playCrowd(ctx)
	if x.wants("R-STA-07") && x.givenUp() == "" {
		x.refuseGame(ctx)
	}
	for _, c := range contests {
		x.judgeContest(c)
	}
	x.judgeFailures(contests)
	x.judgeCrowd(crowd)
	return ""
}

// playManager is the kit's manager: it registers the referee, and takes reports.
func (x *bench) playManager(c *call) performance {
	return x.desk.play(c, func(c *call) performance {
		if c.kind != protocol.TypeMatchResultReport {
			return playOther(c, "league_manager")
		}
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
	})
}

// judgeRegistration judges how the referee has registered.
func (x *bench) judgeRegistration() {
	if x.stage == nil {
		return
	}
	mine, _ := x.desk.applications(x.stage)
	for _, c := range mine {
		x.judgeApplication(c)
	}
	if len(mine) > 0 {
		x.judge("R-REG-09", when(len(mine) > 1, "it registered %d times", len(mine)), mine[len(mine)-1].exchange())
	}
}

// judgeApplication judges a REFEREE_REGISTER_REQUEST: its form and its envelope as the
// referee wrote them, and the rest as a league reads it.
func (x *bench) judgeApplication(c *call) {
	shown, d := c.exchange(), defect{}
	if c.form != "" {
		d = formDefect()
	}
	method, _ := c.came.text("method")
	x.because(d, "R-REG-01", jsonRPCProblem(c.came), shown)
	x.because(d, "R-REG-02", when(method != protocol.RegisterReferee.Name, "method is %s", quoted(method)), shown)
	x.judge("R-REG-03", firstOf(c.said.has("protocol", protocol.Name), c.said.has("message_type", protocol.TypeRefereeRegisterRequest),
		senderProblem(c.said, "referee:"), timeProblem(c.said, "timestamp"), c.said.filled("conversation_id")), shown)
	broken := x.judges.broken(c.kind, c.params)
	of := func(name string) string {
		return fieldsProblem(broken, func(field string) bool { return within(field, "referee_meta."+name) })
	}
	meta := metaOf(c.params)
	x.judge("R-MSG-01", fieldsProblem(broken, func(field string) bool { return !strings.HasPrefix(field, "referee_meta.") }), shown)
	x.judge("R-REG-04", of("display_name"), shown)
	x.judge("R-REG-05", of("version"), shown)
	x.judge("R-REG-06", firstOf(of("game_types"), x.gamesProblem(meta)), shown)
	x.judge("R-REG-07", firstOf(of("contact_endpoint"), when(!protocol.ValidURL(endpointOf(c.params)), "contact_endpoint is %s", valueOf(meta, "contact_endpoint"))), shown)
	x.judge("R-REG-08", of("max_concurrent_matches"), shown)
	if n, ok := meta.integer("max_concurrent_matches"); ok && n > 0 {
		x.capacity = n
	}
}

// refuseGame assigns a match of an unknown game.
func (x *bench) refuseGame(ctx context.Context) {
	if x.way != "" {
		x.skip("R-STA-07", "it has no start_match")
		return
	}
	c, ok := x.contest("an unknown game", nil, nil)
	if !ok {
		return
	}
	q := x.assignment(c)
	q["game_type"] = "no_such_game"
	id := x.nextID()
	r := x.send(ctx, protocol.StartMatch.Name, id, x.encode(id, protocol.StartMatch.Name, q))
	x.judge("R-STA-07", notRefused(r), &r.Exchange)
}

// finish tells the referee that round and league are over. The referee may end then.
func (x *bench) finish(ctx context.Context) {
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

// The longest that a match is waited for.
const (
	usualContest = 15 * time.Second
	longContest  = 40 * time.Second // four invitations of 5 s, and the pauses between
)
