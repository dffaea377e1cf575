package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evenodd/league/protocol"
)

// invite asks the player into a match, and judges its answer.
func (x *trial) invite(ctx context.Context, g *bout) *reply {
	r := x.askInvite(ctx, g)
	x.judgeTime("P-INV-06", r)
	x.judge("P-INV-01", x.joinTrouble(r), &r.Exchange)
	if r.trouble() == "" {
		x.judgeJoin(r, g)
	}
	return r
}

// joinTrouble says why an answer is no GAME_JOIN_ACK; "" when it is.
func (x *trial) joinTrouble(r *reply) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	if r.result["accept"] == nil && r.result["match_id"] == nil {
		return "the result has no member of a GAME_JOIN_ACK: neither accept nor match_id"
	}
	return ""
}

func (x *trial) judgeJoin(r *reply, g *bout) {
	x.judge("P-INV-02", otherMatch(r, g.match), &r.Exchange)
	accept := r.result["accept"]
	boolean := accept.Kind() == 't' || accept.Kind() == 'f'
	x.judge("P-INV-03", when(!boolean, "accept is %s", valueOf(r.result, "accept")), &r.Exchange)
	if boolean {
		x.judge("P-INV-04", when(accept.Kind() != 't', "accept is false"), &r.Exchange)
	}
	x.judge("P-INV-05", timeProblem(r.result, "arrival_timestamp"), &r.Exchange)
	x.judgeEnvelope(r, protocol.TypeGameJoinAck, g.conversation)
	x.judge("P-ENV-08", when(r.result["match_id"] == nil, "match_id is missing"), &r.Exchange)
}

// choose asks for a choice, and judges the answer. It is "" when there is none.
func (x *trial) choose(ctx context.Context, g *bout) (string, *reply) {
	r := x.askChoice(ctx, x.question(g))
	x.judgeTime("P-CHO-04", r)
	problem := r.trouble()
	if problem == "" && r.result["parity_choice"] == nil && r.result["match_id"] == nil {
		problem = "the result has no member of a CHOOSE_PARITY_RESPONSE: neither parity_choice nor match_id"
	}
	x.judge("P-CHO-01", problem, &r.Exchange)
	if r.trouble() != "" {
		return "", r
	}
	x.judge("P-CHO-02", otherMatch(r, g.match), &r.Exchange)
	choice := choiceIn(r)
	x.judge("P-CHO-03", when(choice == "", "parity_choice is %s", valueOf(r.result, "parity_choice")), &r.Exchange)
	x.judgeEnvelope(r, protocol.TypeChooseParityResponse, g.conversation)
	x.judge("P-ENV-08", when(r.result["match_id"] == nil, "match_id is missing"), &r.Exchange)
	return choice, r
}

// choiceIn is the choice of an answer; "" when it has none that is allowed.
func choiceIn(r *reply) string {
	choice, _ := r.result.text("parity_choice")
	if r.trouble() != "" || choice != "even" && choice != "odd" {
		return ""
	}
	return choice
}

// over tells the player that a match has ended, and judges its answer.
func (x *trial) over(ctx context.Context, g *bout) {
	r := x.askOver(ctx, x.ending(g))
	x.judge("P-OVR-01", r.trouble(), &r.Exchange)
	if r.trouble() == "" {
		x.judge("P-OVR-02", x.ackProblem(r, protocol.TypeGameOverAck, g.match), &r.Exchange)
	}
}

// ackProblem says what is wrong with an acknowledgement; "" for nothing.
func (x *trial) ackProblem(r *reply, messageType, match string) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	problems := []string{r.result.has("message_type", messageType), r.result.has("status", protocol.StatusAcknowledged), r.result.filled("player_id")}
	if match != "" {
		problems = append(problems, r.result.has("match_id", match))
	}
	for _, problem := range problems {
		if problem != "" {
			return problem
		}
	}
	return ""
}

// judgeTime judges whether there was an answer in time.
func (x *trial) judgeTime(id string, r *reply) { x.judge(id, r.Error, &r.Exchange) }

// judgeEnvelope judges the envelope of a reply.
func (x *trial) judgeEnvelope(r *reply, messageType, conversation string) {
	m := r.result
	x.judge("P-ENV-01", firstOf(m.has("protocol", protocol.Name), when(m["message_type"] == nil, "message_type is missing")), &r.Exchange)
	if m["message_type"] != nil {
		x.judge("P-ENV-02", m.has("message_type", messageType), &r.Exchange)
	}
	x.judge("P-ENV-03", x.senderProblem(m), &r.Exchange)
	problem := timeProblem(m, "timestamp")
	x.judge("P-ENV-04", problem, &r.Exchange)
	if problem == "" {
		x.judge("P-ENV-05", clockProblem(m, time.Now()), &r.Exchange)
	}
	x.judge("P-ENV-06", m.has("conversation_id", conversation), &r.Exchange)
	x.judge("P-ENV-07", x.playerProblem(m), &r.Exchange)
}

func firstOf(problems ...string) string {
	for _, problem := range problems {
		if problem != "" {
			return problem
		}
	}
	return ""
}

// senderProblem says what is wrong with the sender of a reply.
func (x *trial) senderProblem(m members) string {
	if problem := m.filled("sender"); problem != "" {
		return problem
	}
	sender, _ := m.text("sender")
	id, ok := strings.CutPrefix(sender, "player:")
	if !ok || id == "" {
		return "sender is " + quoted(sender) + ", not player: and an id"
	}
	return x.constant("sender", sender)
}

// playerProblem says what is wrong with the player_id of a reply.
func (x *trial) playerProblem(m members) string {
	if problem := m.filled("player_id"); problem != "" {
		return problem
	}
	id, _ := m.text("player_id")
	if x.registered && id != x.player {
		return fmt.Sprintf("player_id is %s, but the registration gave it %s", quoted(id), x.player)
	}
	return x.constant("player_id", id)
}

// constant says that a member is not what it was in the first reply.
func (x *trial) constant(name, value string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.said[name] == "" {
		x.said[name] = value
	}
	return when(x.said[name] != value, "%s is %s, and was %s before", name, quoted(value), quoted(x.said[name]))
}

// otherMatch says that a reply names another match; "" when it does not, or
// names none.
func otherMatch(r *reply, match string) string {
	if r.result["match_id"] == nil {
		return ""
	}
	return r.result.has("match_id", match)
}

// timeProblem says what is wrong with a member that must be a time.
func timeProblem(m members, name string) string {
	if problem := m.filled(name); problem != "" {
		return problem
	}
	text, _ := m.text(name)
	if _, err := protocol.ParseTimestamp(text); err != nil {
		return name + ": " + err.Error()
	}
	return ""
}

// clockProblem says that the timestamp of a message is far from now.
func clockProblem(m members, now time.Time) string {
	text, _ := m.text("timestamp")
	at, err := protocol.ParseTimestamp(text)
	if err != nil {
		return err.Error()
	}
	apart := now.Sub(at).Round(time.Second)
	return when(apart.Abs() > time.Minute, "timestamp %s is %s away from now, %s", text, apart.Abs(), protocol.FormatTimestamp(now))
}

// What must hold before more than the ordinary can be looked at.
var (
	joins   = []string{"P-INV-01", "P-INV-02"}
	chooses = []string{"P-INV-01", "P-CHO-01", "P-CHO-03"}
	plays   = []string{"P-INV-01", "P-CHO-01", "P-CHO-03", "P-OVR-01"}
)

// What is out of the ordinary is asked without judging the answer as an
// ordinary one: it is a requirement of its own, and binds less.

func (x *trial) askInvite(ctx context.Context, g *bout) *reply {
	return x.ask(ctx, "handle_game_invitation", x.invitation(g), inviteLimit)
}

func (x *trial) askChoice(ctx context.Context, question map[string]any) *reply {
	return x.ask(ctx, "choose_parity", question, chooseLimit)
}

func (x *trial) askOver(ctx context.Context, ending map[string]any) *reply {
	return x.ask(ctx, "notify_match_result", ending, overLimit)
}

// choiceTrouble says why an answer is no choice; "" when it is one.
func choiceTrouble(r *reply) string {
	return firstOf(r.trouble(), when(choiceIn(r) == "", "parity_choice is %s", valueOf(r.result, "parity_choice")))
}

// playMatches plays as a league would, in both seats, against opponents with
// ordinary ids and others.
func (x *trial) playMatches(ctx context.Context) {
	for range 2 {
		g := x.newMatch()
		join := x.invite(ctx, g)
		_, answer := x.choose(ctx, g)
		x.judgeEntropy(join, answer, g)
		x.over(ctx, g)
	}
	for _, opponent := range []string{"P999", "P100000", "Agent.Ω-7"} {
		g := x.newMatch()
		g.opponent, g.role = opponent, protocol.RolePlayerB
		join := x.askInvite(ctx, g)
		answer := x.askChoice(ctx, x.question(g))
		end := x.askOver(ctx, x.ending(g))
		problem := firstOf(join.trouble(), choiceTrouble(answer), end.trouble())
		x.after(plays, "P-INV-08", when(problem != "", "as PLAYER_B against %s: %s", quoted(opponent), problem), &join.Exchange, &answer.Exchange, &end.Exchange)
	}
	x.playUnwon(ctx)
	x.playLate(ctx)
}

// judgeEntropy judges whether a commitment of the player is kept. Most make
// none.
func (x *trial) judgeEntropy(join, answer *reply, g *bout) {
	commitment, committed := join.result.text("entropy_commitment")
	if !committed || answer.trouble() != "" {
		return
	}
	player, _ := join.result.text("player_id")
	text, _ := answer.result.text("entropy")
	entropy, ok := protocol.ParseSecret(text)
	kept := ok && protocol.SameDigest(protocol.EntropyCommitment(g.match, player, entropy), commitment)
	x.judge("P-CHO-09", when(!kept, "entropy %s is not what entropy_commitment promised", valueOf(answer.result, "entropy")), &join.Exchange, &answer.Exchange)
}

// playUnwon ends one match with a draw, and one technically.
func (x *trial) playUnwon(ctx context.Context) {
	drawn := x.newMatch()
	x.invite(ctx, drawn)
	x.choose(ctx, drawn)
	q := x.ending(drawn)
	q["game_result"] = map[string]any{
		"status": protocol.StatusDraw, "winner_player_id": nil, "drawn_number": 7, "number_parity": "odd",
		"choices": map[string]any{x.player: "even", drawn.opponent: "even"}, "reason": "both chose even, number was 7 (odd)",
	}
	r := x.askOver(ctx, q)
	x.after([]string{"P-OVR-01"}, "P-OVR-04", r.trouble(), &r.Exchange)

	lost := x.newMatch()
	x.invite(ctx, lost)
	fault := x.envelope(protocol.TypeGameError, lost.conversation)
	fault["match_id"], fault["error_code"], fault["error_description"] = lost.match, "E001", "TIMEOUT_ERROR"
	fault["error_name"], fault["retryable"], fault["retry_count"], fault["max_retries"] = "TIMEOUT_ERROR", true, 1, 3
	fault["affected_player"], fault["action_required"] = x.player, protocol.TypeChooseParityResponse
	fault["retry_info"] = map[string]any{"retry_count": 1, "max_retries": 3, "next_retry_at": protocol.FormatTimestamp(time.Now().Add(2 * time.Second))}
	fault["consequence"] = "Technical loss if max retries exceeded"
	r = x.ask(ctx, "notify_game_error", fault, otherLimit)
	x.judge("P-ERR-01", x.ackProblem(r, protocol.TypeGameErrorAck, ""), &r.Exchange)
	q = x.ending(lost)
	q["game_result"] = map[string]any{
		"status": protocol.StatusTechnicalLoss, "winner_player_id": nil, "drawn_number": nil, "number_parity": nil,
		"choices": map[string]any{x.player: nil, lost.opponent: nil}, "reason": "neither player chose in time",
	}
	r = x.askOver(ctx, q)
	x.after([]string{"P-OVR-01"}, "P-OVR-04", r.trouble(), &r.Exchange)
}

// playLate asks with a deadline that is over as soon as it is read.
func (x *trial) playLate(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	q := x.question(g)
	q["deadline"] = protocol.FormatTimestamp(time.Now())
	r := x.askChoice(ctx, q)
	x.after(chooses, "P-CHO-06", choiceTrouble(r), &r.Exchange)
	x.over(ctx, g)
}

// repeat asks the same once more, as a referee does whose answer got lost, and
// what a player must not answer.
func (x *trial) repeat(ctx context.Context) {
	g := x.newMatch()
	first := x.invite(ctx, g)
	again := x.askInvite(ctx, g)
	x.after(joins, "P-INV-07", sameJoin(first, again), &first.Exchange, &again.Exchange)
	x.repeatChoice(ctx, g)
	x.over(ctx, g)
	r := x.askOver(ctx, x.ending(g))
	x.after([]string{"P-OVR-01", "P-OVR-02"}, "P-OVR-03", x.ackProblem(r, protocol.TypeGameOverAck, g.match), &r.Exchange)
	late := x.askChoice(ctx, x.question(g))
	x.after([]string{"P-OVR-01"}, "P-CHO-08", chose(late), &late.Exchange)

	stranger := x.newMatch()
	r = x.askChoice(ctx, x.question(stranger))
	x.judge("P-CHO-07", chose(r), &r.Exchange)

	anew := x.newMatch()
	x.invite(ctx, anew)
	anew.attempt, anew.conversation = 2, protocol.MatchConversation(anew.match, 2)
	join, answer := x.askInvite(ctx, anew), x.askChoice(ctx, x.question(anew))
	x.after(plays, "P-INV-09", firstOf(join.trouble(), choiceTrouble(answer)), &join.Exchange, &answer.Exchange)
	x.over(ctx, anew)
}

// maxAsked is how often a choice is asked for in one match: one that is drawn
// anew each time stays the same by chance once in 128.
const maxAsked = 8

// repeatChoice asks for the same choice again and again.
func (x *trial) repeatChoice(ctx context.Context, g *bout) {
	was, first := x.choose(ctx, g)
	if was == "" {
		x.skip("P-CHO-05", "it made no choice that could stay the same")
		return
	}
	for range maxAsked - 1 {
		is, r := x.choose(ctx, g)
		if problem := r.trouble(); problem != "" {
			x.fail("P-CHO-05", "asked again: "+problem, &first.Exchange, &r.Exchange)
			return
		}
		x.judge("P-CHO-05", when(is != was, "it chose %q, and asked again %q", was, is), &first.Exchange, &r.Exchange)
	}
}

// sameJoin says how a second answer to an invitation differs from the first.
func sameJoin(first, again *reply) string {
	switch {
	case again.trouble() != "":
		return "invited again: " + again.trouble()
	case !sameJSON(first.result["accept"], again.result["accept"]):
		return "accept is " + valueOf(again.result, "accept") + ", and was " + valueOf(first.result, "accept")
	}
	return ""
}

// chose says that a choice was made where none was to be made.
func chose(r *reply) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.fault != nil || r.object["error"] != nil:
		return ""
	case r.result["parity_choice"] != nil:
		return "parity_choice is " + valueOf(r.result, "parity_choice")
	}
	return "answered without an error"
}
