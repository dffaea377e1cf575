package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// invite invites the player to a match.
func (x *playerExam) invite(ctx context.Context, m *match) *reply {
	r := x.call(ctx, protocol.Invite.Name, x.invitation(m))
	x.record("join", &fact{reply: r, match: m.id})
	x.recordReply(r, protocol.TypeGameJoinAck, "player:", m.conversation)
	return r
}

// choose asks for a choice; "" if there is no allowed one.
func (x *playerExam) choose(ctx context.Context, m *match) (string, *reply) {
	r := x.call(ctx, x.questionMethod(), x.question(m))
	x.record("choice", &fact{reply: r, match: m.id, problem: x.choiceProblem(r, m)})
	x.recordReply(r, x.choiceType(), "player:", m.conversation)
	return x.choiceIn(r, m), r
}

// over tells the player that a match has ended.
func (x *playerExam) over(ctx context.Context, m *match) {
	r := x.call(ctx, protocol.NotifyMatchResult.Name, x.ending(m))
	x.record("over", &fact{reply: r, match: m.id})
}

// playMatches plays as a league does, on both sides, against opponents with any id.
func (x *playerExam) playMatches(ctx context.Context) {
	for range 2 {
		m := x.newMatch()
		join := x.invite(ctx, m)
		for x.turn(m) {
			choice, r := x.choose(ctx, m)
			x.record("entropy", &fact{reply: r, earlier: join, match: m.id})
			if choice == "" {
				break
			}
			x.advance(m, choice)
		}
		x.over(ctx, m)
	}
	if x.givenUp() == "" && !x.understood.Load() {
		x.giveUp("the agent has understood no message of a league")
		return
	}
	for _, opponent := range []string{"P999", "P100000"} {
		m := x.newMatch()
		m.opponent, m.role = opponent, protocol.RolePlayerB
		x.playOnce(ctx, "side B", "as PLAYER_B against "+quoted(opponent), m)
	}
	x.playUnwon(ctx)
	x.playLate(ctx)
}

// playOnce plays a match in the form that the player has understood before. The fact is
// that the player joins and chooses.
func (x *playerExam) playOnce(ctx context.Context, name, about string, m *match) {
	join, choice := x.inviteOnce(ctx, m), x.chooseOnce(ctx, m)
	x.call(ctx, protocol.NotifyMatchResult.Name, x.ending(m))
	x.record(name, &fact{about: about, reply: choice, earlier: join, problem: firstOf(join.trouble(), x.choiceProblem(choice, m))})
}

// keepsCommitment returns that the player does not reveal the entropy that it has
// committed to. Most players commit to none.
func keepsCommitment(f *fact) string {
	join, choice := f.earlier.result, f.reply.result
	commitment, committed := join.text("entropy_commitment"), join["entropy_commitment"].Kind() == '"'
	if !committed || f.reply.trouble() != "" {
		return undecided
	}
	entropy, ok := protocol.ParseSecret(choice.text("entropy"))
	kept := ok && protocol.OpensEntropy(commitment, f.match, join.text("player_id"), entropy)
	return when(!kept, "entropy %s is not what entropy_commitment promised", valueOf(choice, "entropy"))
}

// playUnwon ends a match with a draw, and one with technical losses.
func (x *playerExam) playUnwon(ctx context.Context) {
	drawn := x.newMatch()
	x.invite(ctx, drawn)
	if x.turn(drawn) {
		x.choose(ctx, drawn)
	}
	q := x.endingAs(drawn, protocol.StatusDraw, x.verdictFor(rules.NoSide, rules.Chance{}))
	x.record("no winner", &fact{reply: x.call(ctx, protocol.NotifyMatchResult.Name, q)})

	lost := x.newMatch()
	x.invite(ctx, lost)
	fault := x.envelope(protocol.TypeGameError, lost)
	maps.Copy(fault, map[string]any{
		"error_code": "E001", "error_description": "TIMEOUT_ERROR", "error_name": "TIMEOUT_ERROR", "retryable": true, "retry_count": 1, "max_retries": 3,
		"retry_info":      map[string]any{"retry_count": 1, "max_retries": 3, "next_retry_at": protocol.FormatTimestamp(time.Now().Add(2 * time.Second))},
		"affected_player": x.player, "action_required": x.choiceType(), "consequence": "Technical loss if max retries exceeded",
	})
	x.record("error", &fact{reply: x.call(ctx, protocol.NotifyGameError.Name, fault)})
	q = x.endingAs(lost, protocol.StatusTechnicalLoss, rules.Verdict{
		Winner: rules.NoSide, Explain: func(rules.Verdict, [2]string) string { return "neither player chose in time" },
	})
	x.record("no winner", &fact{reply: x.call(ctx, protocol.NotifyMatchResult.Name, q)})
}

// playLate asks a question with a deadline that has passed when the player reads it.
func (x *playerExam) playLate(ctx context.Context) {
	m := x.newMatch()
	x.invite(ctx, m)
	q := x.question(m)
	q["deadline"] = protocol.FormatTimestamp(time.Now())
	r := x.callOnce(ctx, x.questionMethod(), q, variation{})
	x.record("late question", &fact{reply: r, problem: x.choiceProblem(r, m)})
	x.over(ctx, m)
}

// repeat repeats calls, as a referee does after a lost answer, and asks questions that a
// player must reject.
func (x *playerExam) repeat(ctx context.Context) {
	m := x.newMatch()
	first := x.invite(ctx, m)
	x.record("repeat/join", &fact{reply: x.inviteOnce(ctx, m), earlier: first})
	x.repeatChoice(ctx, m)
	x.over(ctx, m)
	x.record("repeat/over", &fact{reply: x.endOnce(ctx, m), match: m.id})
	x.record("repeat/choice after the end", &fact{reply: x.chooseOnce(ctx, m)})
	x.record("repeat/choice without a match", &fact{reply: x.chooseOnce(ctx, x.newMatch())})

	again := x.newMatch()
	x.invite(ctx, again)
	again.attempt, again.conversation = 2, protocol.MatchConversation(again.id, 2)
	join, choice := x.inviteOnce(ctx, again), x.chooseOnce(ctx, again)
	x.record("repeat/match", &fact{reply: choice, earlier: join, problem: firstOf(join.trouble(), x.choiceProblem(choice, again))})
	x.over(ctx, again)
}

// maxAsked is the number of times that one question is asked: a choice between two that
// is drawn anew each time stays the same by chance once in 128.
const maxAsked = 8

// repeatChoice asks the same question again and again.
func (x *playerExam) repeatChoice(ctx context.Context, m *match) {
	x.turn(m)
	choice, first := x.choose(ctx, m)
	if choice == "" {
		x.record("repeat/choice", &fact{skip: "it made no choice that could stay the same"})
		return
	}
	for range maxAsked - 1 {
		r := x.chooseOnce(ctx, m)
		again := x.choiceIn(r, m)
		problem := when(r.trouble() != "", "asked again: %s", r.trouble())
		x.record("repeat/choice", &fact{reply: r, earlier: first, problem: firstOf(problem, when(again != choice, "it chose %q, and asked again %q", choice, again))})
		if problem != "" {
			return
		}
	}
}

// concurrentMatches is the number of matches that are played at the same time.
const concurrentMatches = 20

// playAtOnce plays many matches: it invites to all of them, asks all questions, asks them
// again in reverse order, and ends all matches.
func (x *playerExam) playAtOnce(ctx context.Context) {
	x.concurrent.Store(true)
	defer x.concurrent.Store(false)
	about := fmt.Sprintf("with %d matches at once", concurrentMatches)
	round := int(x.matches.Add(1))
	matches := make([]*match, concurrentMatches)
	for i := range matches {
		matches[i] = x.matchOf(round, i+1)
		matches[i].opponent = protocol.PlayerID(200 + i)
		x.turn(matches[i])
	}
	all := func(send func(context.Context, *match) *reply) []*reply {
		replies := make([]*reply, len(matches))
		var wait sync.WaitGroup
		for i, m := range matches {
			wait.Go(func() { replies[i] = send(ctx, m) })
		}
		wait.Wait()
		for i, r := range replies {
			m := matches[i]
			x.record("at once/reply", &fact{about: about, reply: r, match: m.id, conversation: m.conversation})
		}
		return replies
	}
	all(x.inviteOnce)
	first := all(x.chooseOnce)
	slices.Reverse(matches)
	again := all(x.chooseOnce)
	slices.Reverse(again)
	slices.Reverse(matches)
	for i, r := range first {
		before, after := x.choiceIn(r, matches[i]), x.choiceIn(again[i], matches[i])
		changed := before != "" && after != "" && before != after
		x.record("at once/choice", &fact{about: about, reply: again[i], earlier: r, problem: when(changed, "it chose %q, and asked again %q", before, after)})
	}
	all(x.endOnce)
}

// notice begins a message of the kit's manager.
func (x *exam) notice(messageType string, round int) map[string]any {
	q := message(messageType, protocol.ManagerSender, fmt.Sprintf("conv-check-r%d-%s", round, strings.ToLower(messageType)), "")
	q["league_id"] = checkLeague
	if round > 0 {
		q["round_id"] = round
	}
	return q
}

// tell sends a notice of the manager.
func (x *playerExam) tell(ctx context.Context, name, method string, notice map[string]any) *reply {
	r := x.call(ctx, method, notice)
	x.record(name, &fact{reply: r})
	return r
}

// announce announces the first round, and the standings before it.
func (x *playerExam) announce(ctx context.Context) {
	opponent := x.matchOf(1, 1).opponent
	pairing := func(id, a, b string) map[string]any {
		return map[string]any{
			"match_id": id, "game_type": x.game, "player_A_id": a, "player_B_id": b,
			"referee_endpoint": "http://localhost:8001/mcp", "referee_id": checkReferee,
		}
	}
	q := x.notice(protocol.TypeRoundAnnouncement, 1)
	q["matches"] = []any{pairing("R1M1", x.player, opponent), pairing("R1M2", "P98", "P99")}
	x.tell(ctx, "announce/round", protocol.NotifyRound.Name, q)
	q = x.notice(protocol.TypeStandingsUpdate, 1)
	q["standings"] = []any{standingsRow(1, x.player, "Agent under examination", 2), standingsRow(2, opponent, "Opponent", 2)}
	x.takesStandings = x.tell(ctx, "announce/standings", protocol.UpdateStandings.Name, q).trouble() == ""
}

// finish ends the round, plays one more match, and ends the league. A player that has not
// registered with the kit may be in another league, so the kit does not end that.
func (x *playerExam) finish(ctx context.Context) {
	q := x.notice(protocol.TypeRoundCompleted, 1)
	q["matches_completed"], q["matches_played"], q["next_round_id"] = 2, 2, 2
	q["summary"] = map[string]any{"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0}
	x.tell(ctx, "end/round", protocol.NotifyRoundCompleted.Name, q)
	q["next_round_id"], q["conversation_id"] = nil, "conv-check-last-round"
	x.tell(ctx, "end/round", protocol.NotifyRoundCompleted.Name, q)

	last := x.newMatch()
	x.playOnce(ctx, "end/match", "", last)
	switch {
	case !x.selects(func(r *rule) bool { return r.ID == "P-NOT-04" }): // the user wants to go on with the agent
		return
	case !x.registered:
		x.record("end/league", &fact{skip: "the agent did not register with this examination, so the examination must not end its league"})
		return
	}
	q = x.notice(protocol.TypeLeagueCompleted, 0)
	q["total_rounds"], q["total_matches"] = 1, 2
	q["champion"] = map[string]any{"player_id": x.player, "display_name": "Agent under examination", "points": 6}
	q["final_standings"] = []any{standingsRow(1, x.player, "Agent under examination", 2), standingsRow(2, last.opponent, "Opponent", 2)}
	x.tell(ctx, "end/league", protocol.NotifyLeagueCompleted.Name, q)
}

// same wants the text of a member that the first reply had.
func (x *playerExam) same(name string) test {
	return func(f *fact) string {
		x.mu.Lock()
		defer x.mu.Unlock()
		value := f.read().text(name)
		if x.first[name] == "" {
			x.first[name] = value
		}
		return when(x.first[name] != value, "%s is %s, and was %s before", name, quoted(value), quoted(x.first[name]))
	}
}

func (x *playerExam) registeredID(f *fact) string {
	if !x.registered {
		return ""
	}
	return f.read().has("player_id", x.player)
}

func acceptIsBoolean(f *fact) string {
	kind := f.reply.result["accept"].Kind()
	return when(kind != 't' && kind != 'f', "accept is %s", valueOf(f.reply.result, "accept"))
}

// hasChoice wants a reply to a question to make a choice, of any value.
func (x *playerExam) hasChoice(f *fact) string {
	return when(!isAnswer(x.questionMethod(), f.reply.result), "the reply has no choice; its members are %s", listed(f.reply.result))
}

// acknowledges wants the acknowledgement of a notice.
func acknowledges(messageType string) test {
	return every(hasResult, has("message_type", messageType), has("status", protocol.StatusAcknowledged), filled("player_id"), func(f *fact) string {
		return when(f.match != "", "%s", f.reply.result.has("match_id", f.match))
	})
}

// sameMatch returns that a reply names another match. A reply may name none.
func sameMatch(f *fact) string { return f.reply.result.hasNoOther("match_id", f.match) }

func understoodSameMatch(f *fact) string { return firstOf(f.reply.trouble(), sameMatch(f)) }

// choiceIn returns the choice of a reply; "" if it has none that the rules allow.
func (x *playerExam) choiceIn(r *reply, m *match) string {
	if r.trouble() != "" {
		return ""
	}
	choice, _ := x.choiceOf(r.result)
	if m.position.Check(m.side(), choice) != nil {
		return ""
	}
	return choice
}

// choiceProblem returns why a reply is no allowed choice.
func (x *playerExam) choiceProblem(r *reply, m *match) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	_, value := x.choiceOf(r.result)
	return when(x.choiceIn(r, m) == "", "%s", value)
}

// makesNoChoice returns that a reply makes a choice where none is allowed.
func (x *playerExam) makesNoChoice(f *fact) string {
	r := f.reply
	switch {
	case r.Error != "":
		return r.Error
	case r.failed():
		return ""
	case isAnswer(x.questionMethod(), r.result):
		_, value := x.choiceOf(r.result)
		return value
	}
	return "answered without an error"
}

// rejectedAs returns why an answer is not an error with this code of the catalogue.
func rejectedAs(code protocol.Code) func(*fact) string {
	return func(f *fact) string {
		r := f.reply
		if problem := isRejected(f); problem != "" {
			return problem
		}
		return when(r.fault == nil || r.fault.catalogued() != string(code), "%s, without %s in error.data.error_code", r.trouble(), code)
	}
}

// isRejected returns why an answer is no error.
func isRejected(f *fact) string { return notFailed(f.reply) }

// sameJoin returns how a second answer to an invitation differs from the first.
func sameJoin(f *fact) string {
	first, again := f.earlier.result, f.reply.result
	return firstOf(f.reply.trouble(),
		when(!sameJSON(first["accept"], again["accept"]), "accept is %s, and was %s", valueOf(again, "accept"), valueOf(first, "accept")))
}
