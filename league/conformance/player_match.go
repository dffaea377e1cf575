package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// invite invites the player to a match, and judges its reply.
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
	return when(r.result["accept"] == nil, "the reply has no accept; its members are %s", listed(r.result))
}

func (x *trial) judgeJoin(r *reply, g *bout) {
	x.judge("P-INV-02", otherMatch(r, g.match), &r.Exchange)
	accept := r.result["accept"]
	boolean := accept.Kind() == 't' || accept.Kind() == 'f'
	if accept != nil {
		x.judge("P-INV-03", when(!boolean, "accept is %s", valueOf(r.result, "accept")), &r.Exchange)
	}
	if boolean {
		x.judge("P-INV-04", when(accept.Kind() != 't', "accept is false"), &r.Exchange)
	}
	x.judge("P-INV-05", timeProblem(r.result, "arrival_timestamp"), &r.Exchange)
	x.judgeReply(r, protocol.TypeGameJoinAck, g.conversation)
	x.judge("P-ENV-08", when(r.result["match_id"] == nil, "match_id is missing"), &r.Exchange)
}

// choose asks for a choice, and judges the reply. The choice is "" when there is none.
func (x *trial) choose(ctx context.Context, g *bout) (string, *reply) {
	r := x.ask(ctx, x.questionMethod(), x.question(g), chooseLimit)
	x.judgeTime("P-CHO-04", r)
	problem := r.trouble()
	if problem == "" && !isAnswer(x.questionMethod(), r.result) {
		problem = "the reply has no choice; its members are " + listed(r.result)
	}
	x.judge("P-CHO-01", problem, &r.Exchange)
	if r.trouble() != "" {
		return "", r
	}
	x.judge("P-CHO-02", otherMatch(r, g.match), &r.Exchange)
	choice := x.choiceIn(r, g)
	_, value := x.choiceOf(r.result)
	if problem == "" {
		x.judge("P-CHO-03", when(choice == "", "%s", value), &r.Exchange)
	}
	x.judgeReply(r, x.choiceType(), g.conversation)
	x.judge("P-ENV-08", when(r.result["match_id"] == nil, "match_id is missing"), &r.Exchange)
	return choice, r
}

// choiceIn is the choice of a reply; "" when it has none that the rules allow.
func (x *trial) choiceIn(r *reply, g *bout) string {
	if r.trouble() != "" {
		return ""
	}
	choice, _ := x.choiceOf(r.result)
	if g.position.Check(g.seat(), choice) != nil {
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
	return firstOf(problems...)
}

// judgeTime judges whether there was an answer in time.
func (x *trial) judgeTime(id string, r *reply) { x.judge(id, r.Error, &r.Exchange) }

// judgeReply judges the envelope of a reply.
func (x *trial) judgeReply(r *reply, messageType, conversation string) {
	m, d := r.result, defect{}
	if m["sender"] == nil && m["timestamp"] == nil && m["conversation_id"] == nil {
		d = envelopeDefect()
	}
	x.because(d, "P-ENV-01", firstOf(m.has("protocol", protocol.Name), when(m["message_type"] == nil, "message_type is missing")), &r.Exchange)
	if m["message_type"] != nil {
		x.judge("P-ENV-02", m.has("message_type", messageType), &r.Exchange)
	}
	x.because(d, "P-ENV-03", x.senderProblem(m), &r.Exchange)
	problem := timeProblem(m, "timestamp")
	x.because(d, "P-ENV-04", problem, &r.Exchange)
	if problem == "" {
		x.judge("P-ENV-05", clockProblem(m, r.at), &r.Exchange)
	}
	x.because(d, "P-ENV-06", m.has("conversation_id", conversation), &r.Exchange)
	if m["player_id"] != nil {
		d = defect{}
	}
	x.because(d, "P-ENV-07", x.playerProblem(m), &r.Exchange)
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

// What must hold before anything unusual can be examined.
var (
	joins   = []string{"P-INV-01", "P-INV-02"}
	chooses = []string{"P-INV-01", "P-CHO-01", "P-CHO-03"}
)

// Unusual requests are not judged as ordinary ones: each shows a requirement of its own.

func (x *trial) askInvite(ctx context.Context, g *bout) *reply {
	return x.ask(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit)
}

func (x *trial) askOver(ctx context.Context, ending map[string]any) *reply {
	return x.ask(ctx, protocol.NotifyMatchResult.Name, ending, overLimit)
}

// inviteOnce, chooseOnce and endOnce send a message in the form that the player
// understands, and in no other.

func (x *trial) inviteOnce(ctx context.Context, g *bout) *reply {
	return x.sendIn(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit, nil)
}

func (x *trial) chooseOnce(ctx context.Context, question map[string]any) *reply {
	return x.sendIn(ctx, x.questionMethod(), question, chooseLimit, nil)
}

func (x *trial) endOnce(ctx context.Context, ending map[string]any) *reply {
	return x.sendIn(ctx, protocol.NotifyMatchResult.Name, ending, overLimit, nil)
}

// choiceTrouble says why an answer is no choice; "" when it is one.
func (x *trial) choiceTrouble(r *reply, g *bout) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	_, value := x.choiceOf(r.result)
	return when(x.choiceIn(r, g) == "", "%s", value)
}

// playMatches plays as a league would, on both sides, against opponents with ids of any
// number.
func (x *trial) playMatches(ctx context.Context) {
	for range 2 {
		g := x.newMatch()
		join := x.invite(ctx, g)
		for x.turn(g) {
			choice, answer := x.choose(ctx, g)
			x.judgeEntropy(join, answer, g)
			if choice == "" {
				break
			}
			x.advance(g, choice)
		}
		x.over(ctx, g)
	}
	if x.givenUp() == "" && !x.hasUnderstood() {
		x.giveUp("the agent has understood nothing that a league sends a player")
		return
	}
	for _, opponent := range []string{"P999", "P100000"} {
		g := x.newMatch()
		g.opponent, g.role = opponent, protocol.RolePlayerB
		join, answer := x.inviteOnce(ctx, g), x.chooseOnce(ctx, x.question(g))
		x.askOver(ctx, x.ending(g))
		problem := firstOf(join.trouble(), x.choiceTrouble(answer, g))
		x.after(chooses, "P-INV-08", when(problem != "", "as PLAYER_B against %s: %s", quoted(opponent), problem), &join.Exchange, &answer.Exchange)
	}
	x.playUnwon(ctx)
	x.playLate(ctx)
}

// judgeEntropy judges whether a commitment of the player is kept. Most players commit to
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
	if x.turn(drawn) {
		x.choose(ctx, drawn)
	}
	q := x.endingAs(drawn, protocol.StatusDraw, "", 7, "even", "even", "both chose even, number was 7 (odd)")
	if !x.evenOdd() {
		moves, _ := playout(x.options.Game.Start(), x.options.Game, rules.NoSide)
		q = x.endingAs(drawn, protocol.StatusDraw, "", 0, moves[0], moves[1], "a draw")
	}
	r := x.askOver(ctx, q)
	x.after([]string{"P-OVR-01"}, "P-OVR-04", r.trouble(), &r.Exchange)

	lost := x.newMatch()
	x.invite(ctx, lost)
	fault := x.envelopeOf(protocol.TypeGameError, lost.conversation)
	fault["match_id"], fault["error_code"], fault["error_description"] = lost.match, "E001", "TIMEOUT_ERROR"
	fault["error_name"], fault["retryable"], fault["retry_count"], fault["max_retries"] = "TIMEOUT_ERROR", true, 1, 3
	fault["affected_player"], fault["action_required"] = x.player, x.choiceType()
	fault["retry_info"] = map[string]any{"retry_count": 1, "max_retries": 3, "next_retry_at": protocol.FormatTimestamp(time.Now().Add(2 * time.Second))}
	fault["consequence"] = "Technical loss if max retries exceeded"
	r = x.ask(ctx, protocol.NotifyGameError.Name, fault, otherLimit)
	x.judge("P-ERR-01", x.ackProblem(r, protocol.TypeGameErrorAck, ""), &r.Exchange)
	r = x.askOver(ctx, x.endingAs(lost, protocol.StatusTechnicalLoss, "", 0, "", "", "neither player chose in time"))
	x.after([]string{"P-OVR-01"}, "P-OVR-04", r.trouble(), &r.Exchange)
}

// playLate asks with a deadline that is over as soon as it is read.
func (x *trial) playLate(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	q := x.question(g)
	q["deadline"] = protocol.FormatTimestamp(time.Now())
	r := x.chooseOnce(ctx, q)
	x.after(chooses, "P-CHO-06", x.choiceTrouble(r, g), &r.Exchange)
	x.over(ctx, g)
}

// repeat repeats calls, as a referee does whose answer was lost, and asks what a player
// must not answer.
func (x *trial) repeat(ctx context.Context) {
	g := x.newMatch()
	first := x.invite(ctx, g)
	again := x.inviteOnce(ctx, g)
	x.after(joins, "P-INV-07", sameJoin(first, again), &first.Exchange, &again.Exchange)
	x.repeatChoice(ctx, g)
	x.over(ctx, g)
	r := x.endOnce(ctx, x.ending(g))
	x.after([]string{"P-OVR-01", "P-OVR-02"}, "P-OVR-03", x.ackProblem(r, protocol.TypeGameOverAck, g.match), &r.Exchange)
	late := x.chooseOnce(ctx, x.question(g))
	x.after([]string{"P-OVR-01"}, "P-CHO-08", x.chose(late), &late.Exchange)

	stranger := x.newMatch()
	r = x.chooseOnce(ctx, x.question(stranger))
	x.judge("P-CHO-07", x.chose(r), &r.Exchange)

	anew := x.newMatch()
	x.invite(ctx, anew)
	anew.attempt, anew.conversation = 2, protocol.MatchConversation(anew.match, 2)
	join, answer := x.inviteOnce(ctx, anew), x.chooseOnce(ctx, x.question(anew))
	x.after(chooses, "P-INV-09", firstOf(join.trouble(), x.choiceTrouble(answer, anew)), &join.Exchange, &answer.Exchange)
	x.over(ctx, anew)
}

// maxAsked is how often a choice is asked for in one match: a choice between two that is
// drawn anew each time stays the same by chance once in 128.
const maxAsked = 8

// repeatChoice asks the same question again and again.
func (x *trial) repeatChoice(ctx context.Context, g *bout) {
	x.turn(g)
	was, first := x.choose(ctx, g)
	if was == "" {
		x.skip("P-CHO-05", "it made no choice that could stay the same")
		return
	}
	for range maxAsked - 1 {
		r := x.chooseOnce(ctx, x.question(g))
		if problem := r.trouble(); problem != "" {
			x.fail("P-CHO-05", "asked again: "+problem, &first.Exchange, &r.Exchange)
			return
		}
		is := x.choiceIn(r, g)
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
func (x *trial) chose(r *reply) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.fault != nil || r.object["error"] != nil:
		return ""
	case isAnswer(x.questionMethod(), r.result):
		_, value := x.choiceOf(r.result)
		return value
	}
	return "answered without an error"
}
