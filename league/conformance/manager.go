package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
)

// A hearing is the examination of a manager: the kit brings all agents of a
// league, which the manager runs from the first registration to the end.
type hearing struct {
	client

	stage *stage
	spare *actor // at whose endpoint applicants live that are to be refused

	players  []*member
	referees []*member
	names    int // applicants that there were
	league   string

	conducting sync.WaitGroup
	settled    chan struct{} // closed when nobody more is registered: a match may come before the answer to the registration that began the league

	mu      sync.Mutex
	matches map[string]*fixture
	order   []string // of matches, as they were handed out
}

// A member is an agent of the kit that the manager has registered.
type member struct {
	*actor
	id, name string
	token    string
	referee  bool
	proves   bool // the manager has said that it proves itself

	registration map[string]any // the message; nil where it must not be sent again
}

// askOf calls a method of the manager as one of the agents does.
func (x *hearing) askOf(ctx context.Context, m *member, method string, params any) *reply {
	return x.askAs(ctx, m.dialect, method, params, otherLimit)
}

// sendOf calls a method once, in the form that the manager understands.
func (x *hearing) sendOf(ctx context.Context, m *member, method string, params any) *reply {
	return x.sendIn(ctx, m.dialect, method, params, otherLimit, nil)
}

// sender is the member as it signs.
func (m *member) sender() string {
	if m.referee {
		return protocol.RefereeSender(m.id)
	}
	return protocol.PlayerSender(m.id)
}

// The numbers of agents that a league has when nothing else is said.
const (
	usualPlayers  = 4
	usualReferees = 1
)

// examineManager runs a league from outside. What is refused comes before the
// last registration, which begins it.
func examineManager(ctx context.Context, l *lab) {
	x := &hearing{client: client{lab: l, letter: "M"}, matches: map[string]*fixture{}, settled: make(chan struct{})}
	if !x.meet(ctx) {
		return
	}
	wire := []string{"M-HTTP", "M-RPC"}
	if x.wants(wire...) {
		x.probe(ctx)
	}
	gaveUp := ""
	if x.wantsBeyond(wire...) {
		gaveUp = x.register(ctx)
	}
	if x.wants(wire...) {
		x.misuse(ctx, x.alive)
	}
	if gaveUp != "" {
		x.giveUp(gaveUp)
	}
	if x.stage == nil {
		return
	}
	defer x.conducting.Wait()
	defer x.stage.close()
	defer func() { x.judgeMessages(x.stage) }()
	if gaveUp == "" && x.wantsBeyond(append(wire, "M-REG", "M-REF", "M-AUT")...) {
		x.run(ctx)
	}
}

// register has the agents of the kit registered, all but the last, and sends registrations
// and queries that are to be refused. It returns why it could not.
func (x *hearing) register(ctx context.Context) (gaveUp string) {
	if x.options.Listener == nil {
		return "there is no listener at which the manager could call the players of the examination"
	}
	x.stage = openStage(ctx, x.options)
	if !x.gather(ctx) {
		return "the manager registers no agents: examine it with a fresh league, that waits for players and referees"
	}
	if x.wants("M-REF") {
		x.refuse(ctx)
	}
	x.fill(ctx)
	if x.wants("M-QRY", "M-AUT", "M-ENV", "M-MSG") {
		x.query(ctx)
	}
	return ""
}

// run has the league run from its start to its end.
func (x *hearing) run(ctx context.Context) {
	if !x.begin(ctx) {
		return
	}
	x.comeLate(ctx)
	x.follow(ctx)
	if ctx.Err() != nil && !x.over() {
		return // nobody knows what would have come
	}
	if !x.conducted(ctx) {
		x.stage.end() // what is still to be answered need not be
		x.conducting.Wait()
	}
	x.queryAfter(ctx)
	x.judgeLeague()
}

// conducted waits for the answers to the last reports, which may come after the
// end of the league; false when they do not.
func (x *hearing) conducted(ctx context.Context) bool {
	done := make(chan struct{})
	go func() { // it ends with the stage at the latest
		defer close(done)
		x.conducting.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, x.patience(otherLimit))
	defer cancel()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// wanted are the players and referees that the league waits for.
func (x *hearing) wanted() (players, referees int) {
	players, referees = x.options.Players, x.options.Referees
	if players == 0 {
		players = usualPlayers
	}
	if referees == 0 {
		referees = usualReferees
	}
	return players, referees
}

// openSpare makes an endpoint for those who apply in vain.
func (x *hearing) openSpare() bool {
	a, err := x.stage.open(x.playReferee) // a referee acknowledges whatever a player does
	if err != nil {
		x.giveUp(err.Error())
		return false
	}
	x.spare = a
	return true
}

// playPlayer answers as a player whose matches somebody else plays for it.
func playPlayer(c *call) performance {
	acks := map[string]string{
		protocol.TypeRoundAnnouncement: protocol.TypeRoundAnnouncementAck, protocol.TypeStandingsUpdate: protocol.TypeStandingsUpdateAck,
		protocol.TypeRoundCompleted: protocol.TypeRoundCompletedAck, protocol.TypeLeagueCompleted: protocol.TypeLeagueCompletedAck,
		protocol.TypeGameOver: protocol.TypeGameOverAck, protocol.TypeGameError: protocol.TypeGameErrorAck,
	}
	ack, known := acks[c.kind]
	if !known {
		return playOther(c, "player")
	}
	m := c.reply(ack, protocol.PlayerSender(c.to.identity()))
	m["status"], m["player_id"] = protocol.StatusAcknowledged, c.to.identity()
	if round, ok := c.params.integer("round_id"); ok {
		m["round_id"] = round
	}
	return performance{result: m}
}

// playOther answers what an agent of no matter which role is asked.
func playOther(c *call, role string) performance {
	if c.method == protocol.Ping.Name {
		m := c.reply("PONG", role+":check")
		m["status"], m["role"] = "ok", role
		return performance{result: m}
	}
	return c.refuse(codeUnknownMethod, "Method not found")
}

// playReferee answers as a referee, and conducts what it is handed.
func (x *hearing) playReferee(c *call) performance {
	var ack string
	switch c.kind {
	case protocol.TypeMatchAssignment:
		return x.assigned(c)
	case protocol.TypeRoundAnnouncement:
		ack = protocol.TypeRoundAnnouncementAck
	case protocol.TypeRoundCompleted:
		ack = protocol.TypeRoundCompletedAck
	case protocol.TypeLeagueCompleted:
		ack = protocol.TypeLeagueCompletedAck
	case protocol.TypeStandingsUpdate:
		ack = protocol.TypeStandingsUpdateAck
	default:
		return playOther(c, "referee")
	}
	m := c.reply(ack, protocol.RefereeSender(c.to.identity()))
	m["status"], m["referee_id"] = protocol.StatusAcknowledged, c.to.identity()
	return performance{result: m}
}

// begin has the league begin, and tells whether it did.
func (x *hearing) begin(ctx context.Context) bool {
	x.reportEarly(ctx)
	x.startUnasked(ctx)
	complete := x.complete(ctx)
	close(x.settled)
	if !complete {
		return false
	}
	if x.options.Admin != "" {
		x.awaitPings(ctx)
		r := x.ask(ctx, "start_league", message("START_LEAGUE", protocol.ManagerSender, "conv-check-start", x.options.Admin))
		if problem := r.trouble(); problem != "" && !x.announced() {
			x.fail("M-RUN-01", "start_league: "+problem, &r.Exchange)
			x.giveUp("the league did not begin")
			return false
		}
	}
	if !x.stage.await(ctx, x.options.Wait, x.announced) {
		if ctx.Err() != nil {
			return false
		}
		players, referees := len(x.players), len(x.referees)
		x.giveUp(fmt.Sprintf("the league did not begin within %s of %d players and %d referees registering; "+
			"say how many it waits for, or give the examination the admin token", x.options.Wait, players, referees))
		return false
	}
	x.pass("M-RUN-01")
	return true
}

// maxPinging is how long the examination waits for the manager to ping its agents
// before it starts the league by hand. A manager that pings may leave out agents that
// have not answered yet; most managers do not ping.
const maxPinging = 2 * time.Second

// awaitPings waits until the manager has called every agent, and counts on none any
// more in GET_STATUS.
func (x *hearing) awaitPings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxPinging)
	defer cancel()
	x.stage.await(ctx, maxPinging, x.pinged)
	for rest(ctx, 20*time.Millisecond) {
		r := x.askOf(ctx, x.players[0], protocol.Query.Name, x.question(x.players[0], protocol.QueryStatus, nil))
		if awaited := objectOf(r.result["data"])["awaited"]; awaited.Kind() != '[' || len(awaited) == len("[]") {
			return
		}
	}
}

// pinged tells whether every agent of the examination was called.
func (x *hearing) pinged() bool {
	called := map[*actor]bool{}
	for _, c := range x.stage.told(func(*call) bool { return true }) {
		called[c.to] = true
	}
	return !slices.ContainsFunc(slices.Concat(x.players, x.referees), func(m *member) bool { return !called[m.actor] })
}

// announced tells whether anything was said that only a league that runs says.
func (x *hearing) announced() bool {
	return len(x.stage.told(func(c *call) bool {
		return c.kind == protocol.TypeRoundAnnouncement || c.kind == protocol.TypeMatchAssignment
	})) > 0
}

// startUnasked tries to begin the league without the right to.
func (x *hearing) startUnasked(ctx context.Context) {
	for _, try := range []struct {
		token string
		code  protocol.Code
	}{
		{"", protocol.ErrTokenMissing}, {strings.Repeat("0", 43), protocol.ErrTokenInvalid}, {x.players[0].token, protocol.ErrTokenInvalid},
	} {
		r := x.ask(ctx, "start_league", message("START_LEAGUE", protocol.ManagerSender, "conv-check-start-unasked", try.token))
		if r.fault != nil && r.fault.code == codeUnknownMethod {
			x.skip("M-RUN-04", "it has no start_league")
			x.skip("M-RUN-05", "it has no start_league")
			return
		}
		x.judge("M-RUN-04", notRefused(r), &r.Exchange)
		x.judge("M-RUN-05", refusedBy(r, try.code, 3001), &r.Exchange)
	}
}

// reportEarly reports a match of a league that has not begun.
func (x *hearing) reportEarly(ctx context.Context) {
	if x.announced() || len(x.players) == 0 {
		return
	}
	f := &fixture{match: protocol.MatchID{Round: 1, Number: 1}.String(), round: 1, a: x.players[0].id, b: x.players[0].id + "0", referee: x.referees[0]}
	x.decide(f, 0)
	r := x.sendOf(ctx, x.referees[0], protocol.ReportMatchResult.Name, x.report(f))
	x.judge("M-RPT-09", notRefused(r), &r.Exchange)
	x.judge("M-RPT-06", refusedBy(r, protocol.ErrLeagueNotStarted, 30, 5002), &r.Exchange)
}

// maxStill is how long a league may say nothing before it is left.
const maxStill = 15 * time.Second

// follow waits for the league to end.
func (x *hearing) follow(ctx context.Context) {
	seen := -1
	for {
		now := len(x.stage.told(func(*call) bool { return true }))
		if x.over() || now == seen || ctx.Err() != nil {
			break
		}
		seen = now
		x.stage.await(ctx, x.patience(maxStill), func() bool {
			return x.over() || len(x.stage.told(func(*call) bool { return true })) > seen
		})
		x.conductAnnounced()
	}
}

// over tells whether all players know that the league is over.
func (x *hearing) over() bool {
	for _, p := range x.players {
		if len(x.stage.told(func(c *call) bool { return c.to == p.actor && c.kind == protocol.TypeLeagueCompleted && c.answered })) == 0 {
			return false
		}
	}
	for _, r := range x.referees { // it may be told a moment later
		x.stage.await(x.stage.life, 200*time.Millisecond, func() bool {
			return len(x.stage.told(func(c *call) bool { return c.to == r.actor && c.kind == protocol.TypeLeagueCompleted })) > 0
		})
	}
	return len(x.players) > 0
}
