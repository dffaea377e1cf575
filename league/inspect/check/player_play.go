package check

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// invite invites the player to a new match.
func (x *playerExam) invite() (*match, *reply) {
	m := x.newMatch()
	r := x.host.ask(x.invitation(m))
	x.show("join", r)
	if r.trouble() == "" {
		x.show(protocol.TypeGameJoinAck, r)
	}
	x.recordReply(r)
	return m, r
}

// choose asks for a choice; "" if there is no allowed one.
func (x *playerExam) choose(m *match) (string, *reply) {
	r := x.host.ask(x.question(m))
	choice, problem := x.choiceIn(r, m)
	x.show("choice", r, problem)
	x.recordReply(r)
	return choice, r
}

// over tells the player that a match has ended.
func (x *playerExam) over(m *match) {
	x.show("over", x.host.ask(x.ending(m)))
}

// playMatches plays as a league does, on both sides, against opponents with any id.
func (x *playerExam) playMatches() {
	for range 2 {
		m, _ := x.invite()
		for x.turn(m) {
			choice, _ := x.choose(m)
			if choice == "" {
				break
			}
			x.advance(m, choice)
		}
		x.over(m)
	}
	if x.givenUp() == "" && !x.understood.Load() {
		x.giveUp("the agent has understood no message of a league")
		return
	}
	for _, opponent := range []string{"P999", "P100000"} {
		m := x.newMatch()
		m.opponent, m.side = opponent, rules.SideB
		x.playOnce("side B", "as PLAYER_B against "+quoted(opponent), m, x.question(m))
	}
	x.playUnwon()
	x.playLate()
}

// playOnce plays a match with this question, in the form that the player has understood before. The fact is
// that the player joins and chooses.
func (x *playerExam) playOnce(name, about string, m *match, question object) {
	join, reply := x.host.send(x.invitation(m)), x.host.send(question)
	x.recordReply(join)
	x.host.ask(x.ending(m))
	_, problem := x.choiceIn(reply, m)
	x.record(name, &fact{about: about, reply: reply, earlier: join, problem: cmp.Or(join.trouble(), problem)})
}

// playUnwon ends a match with a draw, and one with technical losses.
func (x *playerExam) playUnwon() {
	drawn, _ := x.invite()
	if x.turn(drawn) {
		x.choose(drawn)
	}
	q := x.endingAs(drawn, league.StatusDraw, x.verdictFor(rules.NoSide))
	x.show("no winner", x.host.ask(q))

	lost, _ := x.invite()
	x.show("error", x.host.ask(notice(protocol.TypeGameError, object{
		"conversation_id": lost.conversation, "match_id": lost.id, "auth_token": checkToken, "player_id": x.player,
		"affected_player": x.player, "action_required": x.asking().Result,
	})))
	q = x.endingAs(lost, league.StatusTechnicalLoss, rules.Verdict{
		Winner: rules.NoSide, Explain: func(rules.Verdict, [2]string) string { return "neither player chose in time" },
	})
	x.show("no winner", x.host.ask(q))
}

// playLate asks a question with a deadline that has passed when the player reads it.
func (x *playerExam) playLate() {
	m, _ := x.invite()
	q := x.question(m)
	q["deadline"] = protocol.FormatTimestamp(time.Now())
	r := x.host.send(q)
	_, problem := x.choiceIn(r, m)
	x.show("late question", r, problem)
	x.over(m)
}

// repeat repeats calls, as a referee does after a lost answer, and asks questions that a
// player must reject.
func (x *playerExam) repeat() {
	m, first := x.invite()
	x.record("repeat/join", &fact{reply: x.host.send(x.invitation(m)), earlier: first})
	x.repeatChoice(m)
	x.over(m)
	x.show("repeat/over", x.host.send(x.ending(m)))
	x.record("repeat/no match", &fact{about: "after GAME_OVER", reply: x.host.send(x.question(m))})
	x.record("repeat/no match", &fact{about: "without an invitation", reply: x.host.send(x.question(x.newMatch()))})

	again, _ := x.invite()
	again.attempt, again.conversation = 2, protocol.MatchConversation(again.id, 2)
	x.playOnce("repeat/match", "as attempt 2", again, x.question(again))
}

// maxAsked is the number of times that one question is asked: a choice between two that
// is drawn anew each time stays the same by chance once in 128.
const maxAsked = 8

// repeatChoice asks the same question again and again.
func (x *playerExam) repeatChoice(m *match) {
	x.turn(m)
	choice, first := x.choose(m)
	if choice == "" {
		x.miss("it made no choice that could stay the same", "repeat/choice")
		return
	}
	for range maxAsked - 1 {
		r := x.host.send(x.question(m))
		again, _ := x.choiceIn(r, m)
		x.record("repeat/choice", &fact{reply: r, earlier: first,
			problem: cmp.Or(r.trouble(), when(again != choice, "it chose %q, and asked again %q", choice, again))})
		if again == "" {
			return
		}
	}
}

// concurrentMatches is the number of matches that are played at the same time.
const concurrentMatches = 20

// playAtOnce plays many matches: it invites to all of them, asks all questions, asks them
// again in reverse order, and ends all matches.
func (x *playerExam) playAtOnce() {
	x.concurrent.Store(true)
	defer x.concurrent.Store(false)
	about := fmt.Sprintf("with %d matches at once", concurrentMatches)
	round := int(x.matches.Add(1))
	matches := make([]*match, concurrentMatches)
	for i := range matches {
		matches[i] = x.matchOf(round, i+1)
		matches[i].opponent = league.PlayerID(200 + i)
		x.turn(matches[i])
	}
	all := func(message func(*match) object) []*reply {
		replies := make([]*reply, len(matches))
		var wait sync.WaitGroup
		for i, m := range matches {
			wait.Go(func() { replies[i] = x.host.send(message(m)) })
		}
		wait.Wait()
		for _, r := range replies {
			x.record("at once/reply", &fact{about: about, reply: r})
		}
		return replies
	}
	all(x.invitation)
	first := all(x.question)
	slices.Reverse(matches)
	slices.Reverse(first)
	for i, again := range all(x.question) {
		before, _ := x.choiceIn(first[i], matches[i])
		after, _ := x.choiceIn(again, matches[i])
		changed := before != "" && after != "" && before != after
		x.record("at once/choice", &fact{about: about, reply: again, earlier: first[i],
			problem: when(changed, "it chose %q, and asked again %q", before, after)})
	}
	all(x.ending)
}

// announce announces the first round, and the standings before it.
func (x *playerExam) announce() {
	opponent := x.matchOf(1, 1).opponent
	x.show("announce/round", x.host.ask(notice(protocol.TypeRoundAnnouncement, object{"matches": []any{
		object{
			"match_id": "R1M1", "game_type": x.game, "player_A_id": x.player, "player_B_id": opponent,
			"referee_endpoint": "http://localhost:8001/mcp", "referee_id": checkReferee,
		},
	}})))
	r := x.host.ask(standingsUpdate([]any{standingsRow(1, x.player, "Agent under examination", 2),
		standingsRow(2, opponent, "Opponent", 2)}))
	x.show("announce/standings", r)
	x.takesStandings = r.trouble() == ""
}

func standingsUpdate(rows []any) object {
	return notice(protocol.TypeStandingsUpdate, object{"standings": rows, "total_players": len(rows)})
}

// finish ends the round, plays one more match, and ends the league. A player that has not
// registered with the kit may be in another league, so the kit does not end that.
func (x *playerExam) finish() {
	x.show("end/round", x.host.ask(notice(protocol.TypeRoundCompleted, object{"next_round_id": nil})))
	last := x.newMatch()
	x.playOnce("end/match", "", last, x.question(last))
	const end = "P-NOT-04"
	switch {
	case !x.Selection.Wants(Requirement{ID: end, Level: Should}): // the user wants to go on with the agent
	case !x.registered:
		x.miss("the agent did not register with this examination, so the examination must not end its league", "end/league")
	default:
		x.show("end/league", x.host.ask(leagueCompleted(x.player, last.opponent)))
	}
}
