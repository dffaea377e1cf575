package check

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A playerExam is the examination of a player. The kit is its manager and its referee.
type playerExam struct {
	*exam

	registered bool
	player     string // its id, as far as it is known
	matches    atomic.Int64

	takesStandings bool // the player has answered standings with a result
}

// scenarios begin with the calls that every player answers. The end of the league comes last,
// because a player may end with it.
func (x *playerExam) scenarios() []scenario {
	return []scenario{
		{[]string{"announce"}, x.announce}, {nil, x.playMatches}, {[]string{"repeat"}, x.repeat},
		{[]string{"wire"}, x.useWire}, {[]string{"broken"}, x.sendBroken}, {[]string{"scripts"}, x.sendScripts},
		{[]string{"at once"}, x.playAtOnce},
		{[]string{"misuse"}, x.misuse}, {[]string{"end"}, x.finish},
	}
}

// meet makes the first call, an invitation, and tells whether the examination can continue. A player that
// has just registered may not know yet that it is in the league.
func (x *playerExam) meet() bool {
	if x.needs("registration") && x.awaitRegistration() {
		x.registered, x.player = true, x.host.identity()
	}
	m := x.newMatch()
	r := x.host.ask(x.invitation(m))
	for attempt := 1; attempt < maxSilent-1 && x.registered && !r.timedOut() && r.trouble() != ""; attempt++ {
		rest(x.life, 100*time.Millisecond)
		r = x.host.ask(x.invitation(m))
	}
	if r.timedOut() {
		x.record("join", &fact{reply: r})
	}
	if r.trouble() == "" {
		x.over(m)
	}
	return x.met(r, when(r.Status == 404 && r.trouble() != "", "POST is answered with HTTP status 404"))
}

// A match is a match that the kit conducts with the player.
type match struct {
	round        int
	id           string
	conversation string
	opponent     string
	side         rules.Side
	attempt      int
	position     rules.Position
}

// newMatch makes a match that is new to the player.
func (x *playerExam) newMatch() *match { return x.matchOf(int(x.matches.Add(1)), 1) }

func (x *playerExam) matchOf(round, number int) *match {
	id := league.MatchID{Round: round, Number: number}.String()
	opponent := "P02"
	if x.player == opponent {
		opponent = "P01"
	}
	return &match{
		round: round, id: id, conversation: protocol.MatchConversation(id, 1),
		opponent: opponent, side: rules.SideA, attempt: 1, position: x.Game.Start(),
	}
}

// advance makes the moves of both players; the opponent makes the first legal one.
func (x *playerExam) advance(m *match, choice string) {
	var moves [2]string
	moves[m.side] = choice
	if other := m.side.Other(); slices.Contains(m.position.ToMove(), other) {
		moves[other] = options(x.Game, m.position, other)[0]
	}
	m.position = m.position.Play(moves)
}

// turn has the opponent move until it is the player's turn; false when the match is over.
func (x *playerExam) turn(m *match) bool {
	for sides := m.position.ToMove(); !slices.Contains(sides, m.side); sides = m.position.ToMove() {
		if len(sides) == 0 {
			return false
		}
		x.advance(m, "")
	}
	return true
}

// envelope begins a message of the kit's referee about a match.
func (x *playerExam) envelope(messageType string, m *match) object {
	q := message(messageType, protocol.RefereeSender(checkReferee), m.conversation, checkToken)
	q["match_id"] = m.id
	return q
}

func (x *playerExam) invitation(m *match) object {
	q := x.envelope(protocol.TypeGameInvitation, m)
	q["league_id"], q["round_id"], q["game_type"], q["opponent_id"] = checkLeague, m.round, x.game, m.opponent
	q["role_in_match"] = roleOf(m.side)
	if m.attempt > 1 {
		q["attempt"] = m.attempt
	}
	return q
}

// roleOf is the role of a side in an invitation.
func roleOf(side rules.Side) string {
	return [...]string{protocol.RolePlayerA, protocol.RolePlayerB}[side]
}

// question asks for the player's choice in the position of a match.
func (x *playerExam) question(m *match) object {
	x.turn(m)
	q := x.envelope(x.asking().Request, m)
	q["player_id"] = x.player
	x.pose(q, m.position, m.side, m.opponent, m.round)
	return q
}

// ending is GAME_OVER of a match that the player wins.
func (x *playerExam) ending(m *match) object {
	return x.endingAs(m, league.StatusWin, x.verdictFor(m.side))
}

// endingAs is GAME_OVER with a result; 0 and "" are null.
func (x *playerExam) endingAs(m *match, status string, v rules.Verdict) object {
	ids := [2]string{m.opponent, m.opponent}
	ids[m.side] = x.player
	q := x.envelope(protocol.TypeGameOver, m)
	q["game_type"] = x.game
	q["game_result"] = object{
		"status": status, "winner_player_id": protocol.NonZero(v.WinnerOf(ids)), "drawn_number": protocol.NonZero(v.Number),
		"number_parity": protocol.NonZero(v.Parity),
		"choices":       choicesOf(ids, v), "reason": v.Reason(ids),
	}
	return q
}

// recordTimes records the time that all answers took.
func (x *exam) recordTimes() {
	record := func(name string, took []time.Duration, percent int, most time.Duration) {
		if len(took) == 0 {
			return
		}
		slices.Sort(took)
		percentile := func(p int) time.Duration { return took[(len(took)*p+99)/100-1] } // the nearest rank
		note := fmt.Sprintf("%d calls: p50 %s, p95 %s, p99 %s", len(took), short(percentile(50)), short(percentile(95)),
			short(percentile(99)))
		x.record(name, &fact{note: note,
			problem: when(percentile(percent) > most, "%s; p%d should be at most %s", note, percent, most)})
	}
	record("times of questions", x.times[protocol.Invite.Name], 95, protocol.Invite.Timeout/2)
	record("times of questions", x.times[x.asking().Name], 95, x.asking().Timeout/2)
	record("times", slices.Concat(slices.Collect(maps.Values(x.times))...), 50, 500*time.Millisecond)
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
