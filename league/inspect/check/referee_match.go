package check

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A refereedMatch is a match that the referee conducts with two players of the kit.
type refereedMatch struct {
	matchCase

	exam    *refereeExam
	id      string
	round   int
	attempt int
	players [2]*fakePlayer
	limit   time.Duration // for its report
	hurried bool          // the limit is shorter than that of other matches
	again   *reply        // to the same start once more; nil for none
	hungUp  atomic.Bool   // the manager has closed the connection of a report
	over    bool          // the manager has the report
	cut     bool          // the time of the examination ended in it

	handing sync.WaitGroup        // of the calls that hand the match over
	started atomic.Pointer[reply] // nil while there is no answer to the start
}

// start returns the answer to the start of the match; nil while there is none.
func (m *refereedMatch) start() *reply { return m.started.Load() }

// refusal returns why the referee has not taken the match; "" if it has, or has not
// answered in time. An error after the invitations is no refusal: the match may lack its report.
func (m *refereedMatch) refusal() string {
	r := m.start()
	switch {
	case r == nil, m.invited(), strings.HasPrefix(r.Error, "no answer within"):
		return ""
	case r.trouble() != "":
		return r.trouble()
	case notRefused(r) == "":
		return "it refuses the match: " + valueOf(r.result, "status") + " " + valueOf(r.result, "reason")
	case busy(r):
		return "it says that it is busy"
	}
	return ""
}

// busy tells whether a referee wants the match later.
func busy(r *reply) bool {
	return strings.EqualFold(r.result.text("status"), protocol.StatusBusy)
}

// unready tells whether a referee takes no match at the moment.
func unready(r *reply) bool {
	return r.failure != nil && r.failure.ErrorCode == string(protocol.ErrInvalidMatchState)
}

// unplayed tells whether a player does not join the match.
func (m *refereedMatch) unplayed() bool { return m.loses && m.kind == protocol.TypeGameInvitation }

func (m *refereedMatch) invited() bool { return len(m.received(protocol.TypeGameInvitation)) > 0 }

// received returns the calls of a kind to the players of the match.
func (m *refereedMatch) received(kind string) []*call {
	return m.exam.of(kind, m.players[0].fakeAgent, m.players[1].fakeAgent)
}

// reports returns the reports of the match, in order.
func (m *refereedMatch) reports() []*call {
	return m.exam.received(func(c *call) bool {
		return c.kind == protocol.TypeMatchResultReport && c.match() == m.id
	})
}

// reported tells whether the manager has taken a report of the match.
func (m *refereedMatch) reported() bool {
	return slices.ContainsFunc(m.reports(), func(c *call) bool { return c.Status == http.StatusOK })
}

// inHandler tells whether the referee answers the start of a match when the match is over, or not at all.
func (m *refereedMatch) inHandler() bool {
	start, report := m.start(), firstCall(m.reports())
	return start == nil || start.timedOut() || report != nil && report.answered && start.at.After(report.at)
}

// slow tells whether a match goes on because the referee gives players the protocol's own
// time for each question, for which the kit does not wait.
func (m *refereedMatch) slow() bool {
	return m.short && slices.ContainsFunc(m.players[:], func(p *fakePlayer) bool {
		asking := m.exam.asking()
		asked := p.received(asking.Request)
		return len(asked) > 1 && asked[1].at.Sub(asked[0].at) > asking.Timeout/2
	})
}

// A fakePlayer is a player of a refereedMatch.
type fakePlayer struct {
	*fakeAgent

	match  *refereedMatch
	name   string
	side   rules.Side
	choice string       // that it prefers
	times  atomic.Int64 // calls to which it deviates
}

// newMatch makes a match with two players.
func (x *refereeExam) newMatch(row matchCase) *refereedMatch {
	n := int(x.ids.Add(1))
	m := &refereedMatch{matchCase: row, exam: x, id: league.MatchID{Round: n, Number: 1}.String(), round: n, attempt: 1,
		limit: usualMatch}
	if m.long || m.short {
		m.limit = longMatch
	}
	start := x.firstTurn(m.id, new(rules.Chance))
	for i := range m.players {
		p := &fakePlayer{match: m, name: league.PlayerID(i + 1), side: rules.Side(i)}
		if choices := start.Ask(p.side).Options; len(choices) > 0 {
			p.choice = choices[i%len(choices)]
		}
		p.fakeAgent = x.open(nil, p.answer)
		m.players[i] = p
	}
	if m.name == sameChoice {
		m.players[1].choice = m.players[0].choice
	}
	x.byID.Store(m.id, m)
	return m
}

// answer answers as a player should, or deviates.
func (p *fakePlayer) answer(c *call) response {
	r, m := p.behave(c), p.match
	if m.change == nil || m.by != p.side || m.kind != "" && m.kind != c.kind || p.times.Add(1) > 1 && m.once {
		return r
	}
	p.exam.await(m.waits, func() bool {
		return slices.ContainsFunc(m.players[p.side.Other()].received(m.exam.asking().Request),
			func(c *call) bool { return c.answered })
	})
	m.change(&r)
	return r
}

// behave answers as a player should.
func (p *fakePlayer) behave(c *call) response {
	x := p.match.exam
	result := object{"player_id": p.name, "auth_token": protocol.NoToken}
	switch c.kind {
	case protocol.TypeGameInvitation:
		result["accept"], result["arrival_timestamp"] = true, protocol.FormatTimestamp(time.Now())
	case x.asking().Request:
		var allowed []string
		_ = json.Unmarshal(objectOf(c.params["move_request"])["valid_options"], &allowed) // the messages of one game list none
		x.setChoice(result, p.prefer(allowed))
	default:
		return acknowledge(c, Player, p.name)
	}
	return c.answer(protocol.PlayerSender(p.name), result, "match_id")
}

// prefer returns the player's choice among those that are allowed.
func (p *fakePlayer) prefer(allowed []string) string {
	if len(allowed) == 0 || slices.Contains(allowed, p.choice) {
		return p.choice
	}
	return slices.Min(allowed)
}

// verdict is that of the rules on a match with this end, in which both players choose as they prefer.
func (m *refereedMatch) verdict(e *ending) rules.Verdict {
	verdict := m.exam.playOut(m.id, &e.chance, func(side rules.Side, q rules.Question) string {
		if len(q.Options) == 0 {
			return moveOf(q)
		}
		return m.players[side].prefer(q.Options)
	})
	if numbered, ok := m.exam.Game.(rules.Numbered); ok {
		return numbered.JudgeNumber(verdict.Moves, e.number)
	}
	return verdict
}

// ids are those of the players.
func (m *refereedMatch) ids() [2]string { return [2]string{m.players[0].name, m.players[1].name} }

// sides are the members of an assignment that have its players.
var sides = [2]string{"player_A", "player_B"}

// assignment is MATCH_ASSIGNMENT of a match.
func (x *refereeExam) assignment(m *refereedMatch) object {
	q := notice(protocol.TypeMatchAssignment, object{
		"conversation_id": protocol.MatchConversation(m.id, m.attempt), "round_id": m.round, "match_id": m.id,
		"attempt": m.attempt, "game_type": x.game, "referee_id": x.host.identity(),
		"retry_policy": object{"max_retries": 3, "delay_sec": 0.1, "backoff_strategy": "fixed"},
	})
	if x.Program != nil {
		q["game_version"], q["game_digest"] = x.Game.Info().Version, x.Program.Digest()
	}
	for i, name := range sides {
		q[name] = object{
			"player_id": m.players[i].name, "endpoint": m.players[i].url, "display_name": "Check Player " + m.players[i].name,
			"standings": object{"wins": 0, "losses": 0, "draws": 0, "points": 0},
		}
	}
	if times, ok := q["timeouts"].(object); ok && m.short {
		times["game_join_ack_timeout_sec"], times["move_timeout_sec"] = shortTime.Seconds(), shortTime.Seconds()
	}
	return q
}

// The time for a match, and for its parts.
const (
	usualMatch = 15 * time.Second
	longMatch  = 40 * time.Second       // four invitations of 5 s, and the pauses between
	shortTime  = 500 * time.Millisecond // for a player that does not answer
	forOther   = 2 * time.Second        // that a player waits for the question to its opponent
)

// everyMatch is the scenario of requirements that all matches show.
const everyMatch = "every match"

// The matches, by the behavior of their players. They are scenarios of the table.
const (
	wellPlayed      = "two good players"
	sameChoice      = "two good players that choose the same"
	refusesToPlay   = "a player that refuses the invitation"
	neverJoins      = "a player that never answers the invitation"
	neverChooses    = "a player that never chooses"
	choosesMaybe    = "a player that chooses maybe, and then a legal choice"
	alwaysMaybe     = "a player that always chooses maybe"
	choosesLate     = "a player that chooses too late once"
	otherMatchOnly  = "a player that answers about another match"
	answersErrors   = "a player that answers with an error"
	answersNonsense = "a player that answers what is no JSON"
	hangsUp         = "a player that closes the connection"
	noEnvelope      = "a player whose answers have no envelope"
	lostReport      = "two good players, and a manager that closes the connection"
)

// A matchCase is a row of the table of matches. Its name is a scenario of the table of
// requirements. One player may differ from a good player.
type matchCase struct {
	name   string
	by     rules.Side        // the player that deviates
	kind   string            // of the calls that it answers in another way; "" for all
	once   bool              // it deviates only for the first of them
	waits  time.Duration     // at most, until the other player has answered a question
	change func(r *response) // changes the response of a good player; nil for two good players
	loses  bool              // it loses
	code   protocol.Code     // of the GAME_ERROR that it is sent; "" for none, or any
	short  bool              // it does not answer: the referee is told short timeouts
	long   bool              // a referee retries after a pause, when a connection breaks
}

// matchCases returns all matches, the first of which shows the form in which the referee
// takes matches.
func (x *refereeExam) matchCases() []matchCase {
	const a, b, invitation = rules.SideA, rules.SideB, protocol.TypeGameInvitation
	question := x.asking().Request
	instead := func(r response) func(*response) { return func(good *response) { *good = r } }
	silent := instead(response{after: maxHolding})
	maybe := func(r *response) { x.setChoice(r.result, "maybe") }
	late, lost, illegal := protocol.ErrTimeout, protocol.ErrConnection, x.moveForm().Illegal
	return []matchCase{
		{name: wellPlayed},
		{name: sameChoice},
		{name: refusesToPlay, by: b, kind: invitation, change: func(r *response) { r.result["accept"] = false }, loses: true},
		{name: neverJoins, by: a, kind: invitation, change: silent, loses: true, code: late, short: true},
		{name: neverChooses, by: b, kind: question, change: silent, loses: true, code: late, short: true},
		{name: choosesMaybe, by: a, kind: question, once: true, waits: forOther, change: maybe, code: illegal},
		{name: alwaysMaybe, by: b, kind: question, change: maybe, loses: true, code: illegal},
		{name: choosesLate, by: a, kind: question, once: true, change: func(r *response) { r.after = 3 * shortTime },
			code: late, short: true},
		{name: otherMatchOnly, by: b, kind: question, change: func(r *response) { r.result["match_id"] = "R99M99" },
			loses: true},
		{name: answersErrors, by: a, kind: question, change: instead(refuse(-32000, "the player has no choice")),
			loses: true},
		{name: answersNonsense, by: b, kind: question, loses: true, code: lost, long: true,
			change: instead(response{status: http.StatusOK, body: []byte("<html>not what you asked for</html>")})},
		{name: hangsUp, by: b, kind: question, change: instead(response{}), loses: true, code: lost, long: true},
		{name: noEnvelope, by: b, change: func(r *response) {
			maps.DeleteFunc(r.result, func(name string, _ any) bool { return isEnvelope(name) })
		}},
		{name: lostReport, long: true},
	}
}

// matches makes the matches that show a selected requirement, and the first of all. Matches whose players
// answer at once show what a usual league shows.
func (x *refereeExam) matches() []*refereedMatch {
	needed := lists.Filter(x.matchCases(), func(row matchCase) bool {
		usual := !row.short && !row.long && x.needs(play)
		return usual || row.name == wellPlayed || x.needs(row.name, everyMatch)
	})
	return lists.Map(needed, x.newMatch)
}
