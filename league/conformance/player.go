package conformance

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// How long the protocol gives a player to answer (003 §2.7).
const (
	inviteLimit = 5 * time.Second
	chooseLimit = 30 * time.Second
	overLimit   = 5 * time.Second
	otherLimit  = 10 * time.Second
)

// A trial is the examination of a player. The kit is its league: it conducts
// matches with it, and judges everything that comes back.
type trial struct {
	client

	stage      *stage // nil without a listener
	desk       *registrar
	registered bool
	player     string // its id, as far as it is known
	reads      bool   // it takes standings in plain letters

	matches atomic.Int64

	mu      sync.Mutex
	mute    map[string]int    // calls of a method in a row without an answer
	said    map[string]string // what the player has said of itself, by member: the first value
	invites []time.Duration   // how long answers took
	choices []time.Duration
	all     []time.Duration
	reused  bool // a connection was used for a second call
}

// A part of an examination, and the requirements that it shows, by the beginnings of
// their ids.
type part struct {
	run   func(context.Context)
	shows []string
}

// examinePlayer begins with what every player does and ends with what some do not
// survive, so that a player that breaks has shown before what it can. The end of the
// league comes last, because a player may end with it.
func examinePlayer(ctx context.Context, l *lab) {
	x := &trial{client: client{lab: l, letter: "P"}, player: protocol.PlayerID(1), mute: map[string]int{}, said: map[string]string{}}
	x.desk = newRegistrar(l.options.URL, false)
	if l.options.Listener != nil {
		x.stage = openStage(ctx, l.options)
		defer x.stage.close()
		x.stage.openAt(l.options.Listener, l.dialect, func(c *call) performance {
			return x.desk.play(c, func(c *call) performance { return playOther(c, "league_manager") })
		})
	}
	if x.wants("P-REG", "P-FRM-03", "P-ENV-07", "P-NOT-04") {
		x.awaitRegistration(ctx)
	}
	if x.wantsBeyond("P-REG") {
		x.play(ctx)
	}
	x.judgeRegistration()
}

// awaitRegistration waits for the player to register.
func (x *trial) awaitRegistration(ctx context.Context) {
	if x.stage == nil || x.registered {
		return
	}
	if x.registered = x.desk.wait(ctx, x.options.Wait); x.registered {
		x.player = x.desk.registered()
	}
}

// play plays with the player whatever the selected requirements need.
func (x *trial) play(ctx context.Context) {
	if !x.meet(ctx) {
		return
	}
	// What holds of every answer shows in many parts; all of them are played only where
	// broken input may bring it about.
	everywhere := []string{"P-HTTP-02", "P-RPC-16"}
	for _, p := range []part{
		{x.announce, []string{"P-NOT-01", "P-NOT-02", "P-UNI-01"}},
		{x.playMatches, []string{"P-"}},
		{x.repeat, []string{"P-INV-07", "P-INV-09", "P-CHO-05", "P-CHO-07", "P-CHO-08", "P-OVR-03", "P-LAT", "P-RPC-05"}},
		{x.speak, []string{"P-HTTP-03", "P-HTTP-04", "P-RPC"}},
		{x.speakMethods, []string{"P-MET"}},
		{x.sendBroken, []string{"P-REQ", "P-HTTP-09", "P-HTTP-03", "P-RPC-05"}},
		{x.unfold, []string{"P-UNI"}},
		{x.playAtOnce, []string{"P-LOAD"}},
		{x.connect, []string{"P-HTTP-05", "P-HTTP-06", "P-HTTP-07", "P-HTTP-10"}},
		{func(ctx context.Context) { x.misuse(ctx, x.aliveAfter); x.askWildly(ctx) }, []string{"P-RPC-12", "P-RPC-13", "P-STA-01"}},
		{x.finish, []string{"P-NOT-03", "P-NOT-04", "P-STA-02"}},
	} {
		if !x.wants(append(p.shows, everywhere...)...) {
			continue
		}
		p.run(ctx)
	}
	x.judgeTimes()
	if x.givenUp() == "" && ctx.Err() == nil {
		x.skip("P-RPC-04", "no answer had a result")
		x.skip("P-RPC-05", "no answer had an error")
		x.skip("P-ENV-02", "no reply had a message_type")
		x.skip("P-ENV-05", "no timestamp could be read as UTC")
		x.skip("P-INV-04", "no accept could be read")
		x.skip("P-OVR-02", "no GAME_OVER was acknowledged")
		x.skip("P-CHO-09", "it commits to no entropy, and need not")
	}
}

// meet makes the first call, an invitation, and tells whether the examination can go
// on. A player that has only just registered may not listen yet.
func (x *trial) meet(ctx context.Context) bool {
	g := x.newMatch()
	var r *reply
	waited := x.registered
	for try := 1; ; try++ {
		id := x.nextID()
		r = x.call(ctx, x.dialect, protocol.Invite.Name, x.encode(id, protocol.Invite.Name, x.invitation(g)), x.patience(inviteLimit))
		x.inspect(r, id)
		away := r.Status == 0 && r.took < x.patience(inviteLimit)
		if !x.registered && !waited && (away || r.fault != nil && wantsMembership(r.fault)) {
			waited = true
			x.awaitRegistration(ctx)
		}
		early := x.registered && try <= 10 && (away || r.fault != nil)
		if !early || !rest(ctx, 100*time.Millisecond) {
			break
		}
	}
	switch {
	case r.unasked:
		return false
	case r.Status == 0:
		x.fail("P-HTTP-01", r.Error, &r.Exchange)
		if r.took >= x.patience(inviteLimit) {
			x.fail("P-INV-06", r.Error, &r.Exchange)
		}
		x.giveUp("the agent cannot be reached")
		return false
	case r.fault != nil && !x.registered && wantsMembership(r.fault):
		x.pass("P-HTTP-01")
		x.understand()
		x.fail("P-INV-01", "it plays only in the league it is registered in: "+r.trouble()+
			"; start it so that it registers with this examination, whose manager listens where evenodd check says", &r.Exchange)
		x.giveUp("the agent plays only in the league it is registered in; let it register with this examination")
		return false
	}
	problem := notServed(r)
	if r.Status == http.StatusNotFound && !accepts(r) {
		problem = "POST is answered with HTTP status 404"
	}
	x.judge("P-HTTP-01", problem, &r.Exchange)
	if accepts(r) {
		x.over(ctx, g)
	}
	return true
}

// accepts tells whether a reply answers an invitation.
func accepts(r *reply) bool { return r.trouble() == "" && isAnswer(protocol.Invite.Name, r.result) }

// A bout is one match that the kit conducts with the player.
type bout struct {
	round        int
	match        string
	conversation string
	opponent     string
	role         string
	attempt      int
	position     rules.Position
}

// seat is the player's.
func (g *bout) seat() rules.Side {
	if g.role == protocol.RolePlayerB {
		return rules.SideB
	}
	return rules.SideA
}

// newMatch is a match that the player has not heard of.
func (x *trial) newMatch() *bout { return x.boutOf(int(x.matches.Add(1)), 1) }

func (x *trial) boutOf(round, match int) *bout {
	id := protocol.MatchID{Round: round, Number: match}.String()
	opponent := "P02"
	if x.player == opponent {
		opponent = "P01"
	}
	return &bout{
		round: round, match: id, conversation: protocol.MatchConversation(id, 1),
		opponent: opponent, role: protocol.RolePlayerA, attempt: 1, position: x.options.Game.Start(),
	}
}

// advance makes the moves of both players; the opponent makes the first that is legal.
func (x *trial) advance(g *bout, choice string) {
	var moves [2]string
	moves[g.seat()] = choice
	other := g.seat().Other()
	for _, seat := range g.position.ToMove() {
		if seat == other {
			moves[other] = firstLegal(x.options.Game, g.position, other)
		}
	}
	g.position = g.position.Play(moves)
}

// turn has the opponent move until it is the player's turn; false when the match is over.
func (x *trial) turn(g *bout) bool {
	for {
		seats := g.position.ToMove()
		if len(seats) == 0 {
			return false
		}
		for _, seat := range seats {
			if seat == g.seat() {
				return true
			}
		}
		x.advance(g, "")
	}
}

// envelopeOf begins a message of the kit's referee.
func (x *trial) envelopeOf(messageType, conversation string) map[string]any {
	return message(messageType, protocol.RefereeSender(checkReferee), conversation, checkToken)
}

func (x *trial) invitation(g *bout) map[string]any {
	q := x.envelopeOf(protocol.TypeGameInvitation, g.conversation)
	q["league_id"], q["round_id"], q["match_id"], q["game_type"] = checkLeague, g.round, g.match, x.game
	q["role_in_match"], q["opponent_id"] = g.role, g.opponent
	if g.attempt > 1 {
		q["attempt"] = g.attempt
	}
	return q
}

// question asks for the player's choice in the position of a match.
func (x *trial) question(g *bout) map[string]any {
	x.turn(g)
	q := x.envelopeOf(x.questionType(), g.conversation)
	q["match_id"], q["player_id"] = g.match, x.player
	x.pose(q, g.position, g.seat(), g.opponent, g.round)
	return q
}

// ending is GAME_OVER as the player wins it.
func (x *trial) ending(g *bout) map[string]any {
	if x.evenOdd() {
		return x.endingAs(g, protocol.StatusWin, x.player, 8, "even", "odd", x.player+" chose even, number was 8 (even)")
	}
	moves, _ := playout(x.options.Game.Start(), x.options.Game, g.seat())
	return x.endingAs(g, protocol.StatusWin, x.player, 0, moves[g.seat()], moves[g.seat().Other()], x.player+" has won")
}

// endingAs is GAME_OVER with a result; 0 and "" are null.
func (x *trial) endingAs(g *bout, status, winner string, number int, mine, theirs, reason string) map[string]any {
	q := x.envelopeOf(protocol.TypeGameOver, g.conversation)
	q["match_id"], q["game_type"] = g.match, x.game
	parity := ""
	if number > 0 {
		parity = parityOf(number)
	}
	q["game_result"] = map[string]any{
		"status": status, "winner_player_id": orNull(winner), "drawn_number": orNull(number), "number_parity": orNull(parity),
		"choices": map[string]any{x.player: orNull(mine), g.opponent: orNull(theirs)}, "reason": reason,
	}
	return q
}

// maxMute is how many calls of one method in a row may have no answer: then it is not
// called again, because each of them takes its whole time.
const maxMute = 2

// muted is the reply to a call that is not made, because the method has answered too
// often nothing; nil where it is made.
func (x *trial) muted(method string) *reply {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mute[method] < maxMute {
		return nil
	}
	a := &answer{Exchange: Exchange{To: x.options.URL, unasked: true}}
	a.Error = fmt.Sprintf("%s had no answer %d times in a row, and was not called again", method, maxMute)
	return read(a)
}

// ask calls a method of the player as a league would, and judges what holds of every
// answer.
func (x *trial) ask(ctx context.Context, method string, params any, limit time.Duration) *reply {
	if r := x.muted(method); r != nil {
		return r
	}
	r := x.askAs(ctx, x.dialect, method, params, limit)
	x.count(method, r)
	return r
}

// sendIn calls a method once, in the form that the player understands. Change, if it is
// not nil, changes the request; where it returns nil, the request cannot be made in that
// form.
func (x *trial) sendIn(ctx context.Context, method string, params any, limit time.Duration, change func(request members) []byte) *reply {
	if r := x.muted(method); r != nil {
		return r
	}
	r := x.client.sendIn(ctx, x.dialect, method, params, limit, change)
	x.count(method, r)
	return r
}

// withID changes the id of a request; nil makes a notification of it.
func withID(id jsontext.Value) func(members) []byte {
	return func(request members) []byte {
		if request["jsonrpc"] == nil {
			return nil
		}
		if request["id"] = id; id == nil {
			delete(request, "id")
		}
		return encoded(request)
	}
}

// count keeps how long an answer took, and whether there was one.
func (x *trial) count(method string, r *reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case r.unasked, r.Error != "" && x.busy.Load():
		return
	case r.Error != "":
		x.mute[method]++
		return
	}
	x.mute[method] = 0
	x.reused = x.reused || r.reused
	x.all = append(x.all, r.took)
	switch method {
	case protocol.Invite.Name:
		x.invites = append(x.invites, r.took)
	case x.questionMethod():
		x.choices = append(x.choices, r.took)
	}
}

// when is a problem if there is one.
func when(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// firstOf is the first problem that there is.
func firstOf(problems ...string) string {
	for _, problem := range problems {
		if problem != "" {
			return problem
		}
	}
	return ""
}
