package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// manager begins a message of the kit's manager.
func (x *trial) manager(messageType string, round int) map[string]any {
	q := message(messageType, protocol.ManagerSender, fmt.Sprintf("conv-check-r%d-%s", round, strings.ToLower(messageType)), "")
	q["league_id"] = checkLeague
	if round > 0 {
		q["round_id"] = round
	}
	return q
}

// tell sends a notice of the manager, and judges its acknowledgement.
func (x *trial) tell(ctx context.Context, id, method string, notice map[string]any, ack string) *reply {
	r := x.ask(ctx, method, notice, otherLimit)
	x.judge(id, x.ackProblem(r, ack, ""), &r.Exchange)
	return r
}

// announce opens the league: its first round, and the table before it.
func (x *trial) announce(ctx context.Context) {
	first := x.boutOf(1, 1)
	q := x.manager(protocol.TypeRoundAnnouncement, 1)
	q["matches"] = []any{
		map[string]any{
			"match_id": "R1M1", "game_type": x.game, "player_A_id": x.player, "player_B_id": first.opponent,
			"referee_endpoint": "http://localhost:8001/mcp", "referee_id": checkReferee,
		},
		map[string]any{
			"match_id": "R1M2", "game_type": x.game, "player_A_id": "P98", "player_B_id": "P99",
			"referee_endpoint": "http://localhost:8001/mcp", "referee_id": checkReferee,
		},
	}
	x.tell(ctx, "P-NOT-01", protocol.NotifyRound.Name, q, protocol.TypeRoundAnnouncementAck)
	q = x.manager(protocol.TypeStandingsUpdate, 1)
	q["standings"] = []any{x.row(1, x.player, "Agent under examination"), x.row(2, first.opponent, "Opponent")}
	r := x.tell(ctx, "P-NOT-02", protocol.UpdateStandings.Name, q, protocol.TypeStandingsUpdateAck)
	x.reads = r.trouble() == ""
}

func (x *trial) row(rank int, player, name string) map[string]any {
	return map[string]any{
		"rank": rank, "player_id": player, "display_name": name,
		"played": 3, "wins": 2, "draws": 0, "losses": 1, "points": 6,
	}
}

// finish ends the round, plays one more match, and ends the league. Only an agent that
// has registered with the kit is told of the end: any other is in a league of its own.
func (x *trial) finish(ctx context.Context) {
	q := x.manager(protocol.TypeRoundCompleted, 1)
	q["matches_completed"], q["matches_played"], q["next_round_id"] = 2, 2, 2
	q["summary"] = map[string]any{"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0}
	x.tell(ctx, "P-NOT-03", "notify_round_completed", q, protocol.TypeRoundCompletedAck)
	q["next_round_id"], q["conversation_id"] = nil, "conv-check-last-round"
	x.tell(ctx, "P-NOT-03", "notify_round_completed", q, protocol.TypeRoundCompletedAck)

	last := x.newMatch()
	join, answer := x.inviteOnce(ctx, last), x.chooseOnce(ctx, x.question(last))
	x.askOver(ctx, x.ending(last))
	x.after(chooses, "P-STA-02", firstOf(join.trouble(), x.choiceTrouble(answer, last)), &join.Exchange, &answer.Exchange)

	switch {
	case !x.wants("P-NOT-04"): // a user that leaves this out wants to go on with the agent
		return
	case !x.registered:
		x.skip("P-NOT-04", "the agent did not register with this examination, and its league is not ours to end")
		return
	}
	q = x.manager(protocol.TypeLeagueCompleted, 0)
	q["total_rounds"], q["total_matches"] = 1, 2
	q["champion"] = map[string]any{"player_id": x.player, "display_name": "Agent under examination", "points": 6}
	q["final_standings"] = []any{x.row(1, x.player, "Agent under examination"), x.row(2, last.opponent, "Opponent")}
	x.tell(ctx, "P-NOT-04", "notify_league_completed", q, protocol.TypeLeagueCompletedAck)
}

// Names that programs get wrong: two of the astral planes, right to left,
// letters made of several code points, and what looks like markup.
var scripts = [...]string{
	"🎲🏆👩‍👩‍👧‍👦", "שלום עולם", "مرحبا بالعالم", "e\u0301a\u0308o\u0302", "数学の天才", "Ω≈ç√∫", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", `<b>"Bobby"</b>'; --`, "नमस्ते", "İstanbul ß",
}

// fifty is a name of fifty characters.
func fifty(name string) string {
	runes := []rune(strings.Repeat(name+" ", 50))
	return strings.TrimSpace(string(runes[:49])) + "."
}

// unfold sends text in many scripts: in the table, in a question, and as what
// must come back.
func (x *trial) unfold(ctx context.Context) {
	rows := []any{x.row(1, x.player, scripts[0])}
	for i, name := range scripts {
		rows = append(rows, x.row(i+2, protocol.PlayerID(i+101), name))
	}
	if x.wantsBeyond("P-NOT-01", "P-NOT-02") && !x.failed("P-NOT-02") && !x.reads {
		x.announce(ctx)
	}
	q := x.manager(protocol.TypeStandingsUpdate, 1)
	q["standings"] = rows
	r := x.sendIn(ctx, protocol.UpdateStandings.Name, q, otherLimit, nil)
	x.judge("P-UNI-01", when(r.Error != "" || x.reads && r.trouble() != "", "standings with names in many scripts: %s", r.trouble()), &r.Exchange)

	g := x.newMatch()
	g.conversation = "conv-שלום-e\u0301-🎲-" + strings.ToLower(g.match)
	join := x.inviteOnce(ctx, g)
	question := x.question(g)
	context := contextOf(question)
	context["opponent_name"], context["motto"] = fifty(scripts[0]), strings.Join(scripts[:], " ")
	context["history"] = []any{map[string]any{"opponent": scripts[1], "choice": "even"}}
	if x.evenOdd() {
		context["your_standings"] = map[string]any{"wins": 2147483647, "losses": 0, "draws": 0, "points": 2147483647}
	}
	answer := x.chooseOnce(ctx, question)
	x.after(chooses, "P-UNI-01", firstOf(join.trouble(), x.choiceTrouble(answer, g)), &join.Exchange, &answer.Exchange)
	x.after([]string{"P-UNI-01", "P-ENV-06"}, "P-UNI-02", firstOf(join.Error, answer.Error, scriptProblem(join, g), scriptProblem(answer, g)),
		&join.Exchange, &answer.Exchange)
	x.askOver(ctx, x.ending(g))

	rows = []any{x.row(1, x.player, fifty(scripts[1]))}
	for i := 2; i <= protocol.MaxStandings; i++ {
		rows = append(rows, x.row(i, protocol.PlayerID(i+100), fifty(scripts[i%len(scripts)])))
	}
	q = x.manager(protocol.TypeStandingsUpdate, 1)
	q["standings"], q["total_players"] = rows, len(rows)
	url, body := x.inForm(ctx, x.dialect, protocol.UpdateStandings.Name, x.encode(x.nextID(), protocol.UpdateStandings.Name, q))
	r = read(x.post(ctx, url, body, nil, x.patience(otherLimit)))
	understoodBy(ctx, protocol.UpdateStandings.Name, x.encode(jsontext.Value("1"), protocol.UpdateStandings.Name, map[string]any{}), r)
	x.judge("P-UNI-03", x.ackProblem(r, protocol.TypeStandingsUpdateAck, ""), &r.Exchange)
}

// contextOf is the context of a question, to be added to.
func contextOf(question map[string]any) map[string]any {
	in := question
	if request, ok := question["move_request"].(map[string]any); ok {
		in = request
	}
	context, _ := in["context"].(map[string]any)
	return context
}

// scriptProblem says that a conversation_id is there and is another than was
// sent.
func scriptProblem(r *reply, g *bout) string {
	if r.result["conversation_id"] == nil {
		return ""
	}
	return r.result.has("conversation_id", g.conversation)
}

// atOnce is how many matches are played at once.
const atOnce = 20

// playAtOnce plays twenty matches at once: all are invited to, then all asked for a
// choice, then once more in the other order, then ended, so that each is open with all
// the others.
func (x *trial) playAtOnce(ctx context.Context) {
	x.busy.Store(true)
	defer x.busy.Store(false)
	round := int(x.matches.Add(1))
	bouts := make([]*bout, atOnce)
	for i := range bouts {
		bouts[i] = x.boutOf(round, i+1)
		bouts[i].opponent = protocol.PlayerID(200 + i)
		x.turn(bouts[i])
	}
	all := func(send func(context.Context, *bout) *reply) []*reply {
		replies := make([]*reply, len(bouts))
		var wait sync.WaitGroup
		for i, g := range bouts {
			wait.Go(func() { replies[i] = send(ctx, g) })
		}
		wait.Wait()
		for i, r := range replies {
			x.judgeOne(r, bouts[i])
		}
		return replies
	}
	choose := func(ctx context.Context, g *bout) *reply { return x.chooseOnce(ctx, x.question(g)) }
	all(x.inviteOnce)
	first := all(choose)
	slices.Reverse(bouts)
	again := all(choose)
	slices.Reverse(again)
	slices.Reverse(bouts)
	for i, r := range first {
		x.judgeTwo(r, again[i], bouts[i])
	}
	all(func(ctx context.Context, g *bout) *reply { return x.endOnce(ctx, x.ending(g)) })
}

// steady is what must hold in one match, before many can be told apart.
var steady = []string{"P-INV-02", "P-CHO-02", "P-CHO-05", "P-ENV-06"}

// judgeOne judges an answer of one match of many.
func (x *trial) judgeOne(r *reply, g *bout) {
	x.after(chooses, "P-LOAD-01", when(r.trouble() != "", "with %d matches at once: %s", atOnce, r.trouble()), &r.Exchange)
	problem := firstOf(otherMatch(r, g.match), scriptProblem(r, g))
	x.after(steady, "P-LOAD-02", when(problem != "", "with %d matches at once: %s", atOnce, problem), &r.Exchange)
}

// judgeTwo judges whether a choice stayed the same.
func (x *trial) judgeTwo(first, again *reply, g *bout) {
	was, is := x.choiceIn(first, g), x.choiceIn(again, g)
	x.after(steady, "P-LOAD-02", when(was != "" && is != "" && was != is, "with %d matches at once it chose %q, and asked again %q", atOnce, was, is),
		&first.Exchange, &again.Exchange)
}

// judgeTimes judges how long answers took, all in all.
func (x *trial) judgeTimes() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.judgeLatency("P-LAT-01", x.invites, x.patience(inviteLimit))
	x.judgeLatency("P-LAT-02", x.choices, x.patience(chooseLimit))
	if len(x.all) > 0 {
		half, said := percentile(x.all, 50), latencies(x.all)
		if half > roundTrip {
			x.fail("P-LAT-03", said+"; half of them in 500 ms were to be expected")
		} else {
			x.note("P-LAT-03", said)
		}
	}
}

// roundTrip is how long a message and its answer take in one network (002
// §13.3).
const roundTrip = 500 * time.Millisecond

func (x *trial) judgeLatency(id string, took []time.Duration, limit time.Duration) {
	switch {
	case len(took) == 0:
		return
	case percentile(took, 95) > limit/2:
		x.fail(id, fmt.Sprintf("%s; half of the time there is, %s", latencies(took), limit/2))
	default:
		x.note(id, latencies(took))
	}
}
