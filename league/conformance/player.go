package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// Who the kit is towards a player.
const (
	checkLeague  = "league_check"
	checkReferee = "REF01"
	checkToken   = "opaque" // worth nothing: a player cannot know whether it is right
)

// How long the protocol gives a player to answer (003 §2.7).
const (
	inviteLimit = 5 * time.Second
	chooseLimit = 30 * time.Second
	overLimit   = 5 * time.Second
	otherLimit  = 10 * time.Second
)

// A trial is the examination of a player. The kit is its league: it conducts
// matches with it, and looks at everything that comes back.
type trial struct {
	*lab

	registry   *registry // nil without a listener
	registered bool
	player     string // its id, as far as it is known
	reads      bool   // it takes standings in plain letters
	stranger   *reply // how it answers a method that nobody has

	ids     atomic.Int64 // of requests
	matches atomic.Int64

	mu      sync.Mutex
	mute    map[string]int    // calls of a method in a row that nothing came of
	said    map[string]string // what the player has said of itself, by member: the first value
	invites []time.Duration   // how long answers took
	choices []time.Duration
	all     []time.Duration
	reused  bool // a connection was used for a second call

	busy atomic.Bool // many matches are played at once
}

// examinePlayer goes from what every player does to what some do not survive, so
// that one which breaks has shown before what it can. The end of the league
// comes last, because a player may end with it.
func examinePlayer(ctx context.Context, l *lab) {
	x := &trial{lab: l, player: protocol.PlayerID(1), mute: map[string]int{}, said: map[string]string{}}
	if l.options.Listener != nil {
		x.registry = openRegistry(l.options.Listener, l.options.URL)
		defer x.registry.close()
		x.registered = x.registry.wait(ctx, l.options.Wait)
	}
	if x.registered {
		x.player, _, _ = x.registry.registrations()
	}
	if !x.meet(ctx) {
		x.judgeRegistration()
		return
	}
	for _, part := range []func(context.Context){
		x.announce, x.playMatches, x.repeat, x.speak, x.speakMethods, x.sendBroken, x.unfold, x.playAtOnce, x.connect, x.misuse, x.finish,
	} {
		part(ctx)
	}
	x.judgeTimes()
	x.judgeRegistration()
	if x.givenUp() == "" && ctx.Err() == nil {
		x.skip("P-RPC-04", "no answer had a result")
		x.skip("P-RPC-05", "no answer had an error")
		x.skip("P-ENV-02", "no reply had a message_type")
		x.skip("P-ENV-05", "no timestamp could be read as UTC")
		x.skip("P-INV-04", "no accept could be read")
		x.skip("P-OVR-02", "no GAME_OVER was acknowledged")
		x.skip("P-CHO-09", "it commits to none, and need not")
	}
}

// meet makes the first call: an invitation. It tells whether there is anybody to
// examine. One that has only just registered may not listen yet.
func (x *trial) meet(ctx context.Context) bool {
	g := x.newMatch()
	var r *reply
	var body []byte
	for try := 1; ; try++ {
		body = x.request("handle_game_invitation", x.invitation(g))
		r = read(x.exchange(ctx, http.MethodPost, x.options.URL, body, nil, x.patience(inviteLimit)))
		early := x.registered && try <= 10 && (r.Status == 0 && r.took < x.patience(inviteLimit) || r.fault != nil)
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
		x.fail("P-INV-01", "it plays only in the league it is registered in: "+r.trouble()+
			"; start it so that it registers with this examination, whose manager listens where evenodd check says", &r.Exchange)
		x.giveUp("the agent plays only in the league it is registered in; let it register with this examination")
		return false
	}
	x.pass("P-HTTP-01")
	x.inspect(r, objectOf(body)["id"])
	x.over(ctx, g)
	return true
}

// wantsMembership tells whether a refusal is about who asks or who is asked, not
// about what.
func wantsMembership(f *fault) bool {
	switch protocol.Code(f.catalogued()) {
	case protocol.ErrPlayerNotRegistered, protocol.ErrTokenMissing, protocol.ErrTokenInvalid, protocol.ErrNotAuthorized:
		return true
	}
	return f.code == 3001 || f.code == 4001 || f.code == 4002
}

// A bout is one match that the kit conducts with the player.
type bout struct {
	round        int
	match        string
	conversation string
	opponent     string
	role         string
	attempt      int
}

// newMatch is a match that the player has not heard of.
func (x *trial) newMatch() *bout {
	n := int(x.matches.Add(1))
	return x.boutOf(n, 1)
}

func (x *trial) boutOf(round, match int) *bout {
	id := protocol.MatchID(round, match)
	opponent := "P02"
	if x.player == opponent {
		opponent = "P01"
	}
	return &bout{
		round: round, match: id, conversation: protocol.MatchConversation(id, 1),
		opponent: opponent, role: protocol.RolePlayerA, attempt: 1,
	}
}

// envelope begins a message of the kit's referee.
func (x *trial) envelope(messageType, conversation string) map[string]any {
	return map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": protocol.RefereeSender(checkReferee),
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation, "auth_token": checkToken,
	}
}

func (x *trial) invitation(g *bout) map[string]any {
	q := x.envelope(protocol.TypeGameInvitation, g.conversation)
	q["league_id"], q["round_id"], q["match_id"], q["game_type"] = checkLeague, g.round, g.match, "even_odd"
	q["role_in_match"], q["opponent_id"] = g.role, g.opponent
	if g.attempt > 1 {
		q["attempt"] = g.attempt
	}
	return q
}

func (x *trial) question(g *bout) map[string]any {
	q := x.envelope(protocol.TypeChooseParityCall, g.conversation)
	q["match_id"], q["player_id"], q["game_type"] = g.match, x.player, "even_odd"
	q["context"] = map[string]any{
		"opponent_id": g.opponent, "round_id": g.round,
		"your_standings": map[string]any{"wins": 2, "losses": 1, "draws": 0, "points": 6},
	}
	q["deadline"] = protocol.FormatTimestamp(time.Now().Add(chooseLimit))
	return q
}

// ending is GAME_OVER as the player wins it.
func (x *trial) ending(g *bout) map[string]any {
	q := x.envelope(protocol.TypeGameOver, g.conversation)
	q["match_id"], q["game_type"] = g.match, "even_odd"
	q["game_result"] = map[string]any{
		"status": protocol.StatusWin, "winner_player_id": x.player, "drawn_number": 8, "number_parity": "even",
		"choices": map[string]any{x.player: "even", g.opponent: "odd"},
		"reason":  x.player + " chose even, number was 8 (even)",
	}
	return q
}

// request is a call in JSON-RPC, with an id of its own.
func (x *trial) request(method string, params any) []byte {
	return x.requestWith(jsontext.Value(strconv.FormatInt(x.ids.Add(1), 10)), method, params)
}

// requestWith is a call with this id; none makes a notification of it.
func (x *trial) requestWith(id jsontext.Value, method string, params any) []byte {
	q := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		q["id"] = id
	}
	return encoded(q)
}

// ask calls a method of the player by the book, and judges what holds for every
// answer.
func (x *trial) ask(ctx context.Context, method string, params any, limit time.Duration) *reply {
	return x.send(ctx, method, x.request(method, params), limit)
}

// maxMute is how many calls of one method in a row may come to nothing: then it
// is not called again, because each of them takes its whole time.
const maxMute = 2

// send posts a body that calls a method, and judges what holds for every answer.
func (x *trial) send(ctx context.Context, method string, body []byte, limit time.Duration) *reply {
	method = canonical(method)
	x.mu.Lock()
	given := x.mute[method] >= maxMute
	x.mu.Unlock()
	if given {
		a := &answer{Exchange: Exchange{To: x.options.URL, Request: shown(body), unasked: true}}
		a.Error = fmt.Sprintf("nothing came of %s %d times in a row, and it was not called again", method, maxMute)
		return read(a)
	}
	var r *reply
	for try := 1; ; try++ {
		if x.busy.Load() { // what fails when there is much at once says nothing about later
			r = read(x.exchange(ctx, http.MethodPost, x.options.URL, body, nil, x.patience(limit)))
		} else {
			r = read(x.post(ctx, x.options.URL, body, nil, x.patience(limit)))
		}
		if !x.putOff(ctx, r, try) {
			break
		}
	}
	if !r.unasked {
		x.count(method, r)
		x.inspect(r, objectOf(body)["id"])
	}
	return r
}

// canonical is the method that another name stands for, as far as it takes as
// long.
func canonical(method string) string {
	switch method {
	case "parity_choose", protocol.TypeChooseParityCall, "mcp_message":
		return "choose_parity"
	}
	return method
}

// count keeps how long an answer took, and whether there was one.
func (x *trial) count(method string, r *reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case r.Error == "":
		x.mute[method] = 0
	case x.busy.Load():
		return
	default:
		x.mute[method]++
		return
	}
	x.reused = x.reused || r.reused
	x.all = append(x.all, r.took)
	switch method {
	case "handle_game_invitation":
		x.invites = append(x.invites, r.took)
	case "choose_parity":
		x.choices = append(x.choices, r.took)
	}
}

// inspect judges what holds for every answer to a call with this id; nil for a
// notification.
func (x *trial) inspect(r *reply, id jsontext.Value) {
	if r.Status == 0 {
		return // whoever asked says which requirement that breaks
	}
	x.judge("P-HTTP-02", when(r.Status >= 500, "HTTP status %d", r.Status), &r.Exchange)
	x.judge("P-HTTP-08", when(len(r.body) > maxReply, "the answer has more than %d bytes", maxReply), &r.Exchange)
	mark := traceIn(r.body)
	x.judge("P-RPC-16", when(mark != "", "the answer holds what looks like a stack trace: %q", strings.TrimSpace(mark)), &r.Exchange)
	if id == nil || r.Error != "" {
		return
	}
	x.judge("P-HTTP-03", when(r.Status != http.StatusOK, "HTTP status %d", r.Status), &r.Exchange)
	kind, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	x.judge("P-HTTP-04", when(!strings.EqualFold(strings.TrimSpace(kind), "application/json"), "Content-Type is %q", r.header.Get("Content-Type")), &r.Exchange)
	x.judge("P-RPC-15", jsonProblem(r.body), &r.Exchange)
	x.inspectResponse(r)
	x.judge(idRequirement(id), idProblem(r, id), &r.Exchange)
}

const maxReply = 64 << 10 // bytes of an answer that a referee reads

// inspectResponse judges the members of a JSON-RPC response.
func (x *trial) inspectResponse(r *reply) {
	version, _ := r.object.text("jsonrpc")
	x.judge("P-RPC-01", when(version != "2.0", `jsonrpc is %s, not "2.0"`, cmp.Or(string(r.object["jsonrpc"]), "missing")), &r.Exchange)
	result, problem := r.object["result"], r.object["error"]
	x.judge("P-RPC-02", when(result == nil && (problem == nil || problem.Kind() == 'n'), "the answer has neither result nor error"), &r.Exchange)
	x.judge("P-RPC-03", when(result != nil && problem != nil, "the answer has both; error is %s", kindOf(problem)), &r.Exchange)
	if result != nil && (problem == nil || problem.Kind() == 'n') {
		x.judge("P-RPC-04", when(result.Kind() != '{', "the result is %s", kindOf(result)), &r.Exchange)
	}
	if problem == nil || problem.Kind() == 'n' {
		return
	}
	x.judge("P-RPC-05", errorObjectProblem(problem), &r.Exchange)
}

// idRequirement is the requirement that an id is an example of.
func idRequirement(id jsontext.Value) string {
	if id.Kind() == '"' {
		return "P-RPC-07"
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	switch {
	case err != nil || n >= 1<<53 || n <= -1<<53:
		return "P-RPC-09"
	case n <= 0 || n > 1<<31-1:
		return "P-RPC-08"
	}
	return "P-RPC-06"
}

// when is a problem if there is one.
func when(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
