package conformance

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A refereedMatch is a match that the referee conducts with two players of the kit.
type refereedMatch struct {
	exam    *refereeExam
	name    string // of the scenario
	id      string
	round   int
	attempt int
	players [2]*fakePlayer
	short   bool // a player does not answer: the referee is told short timeouts
	limit   time.Duration
	again   *reply // to the same start once more; nil for none
	over    bool   // the manager has the report
	cut     bool   // the time of the examination ended in it

	handing sync.WaitGroup        // of the calls that hand the match over
	started atomic.Pointer[reply] // nil while there is no answer to the start
}

// start returns the answer to the start of the match; nil while there is none.
func (m *refereedMatch) start() *reply { return m.started.Load() }

// startExchange is the evidence of the start.
func (m *refereedMatch) startExchange() *Exchange {
	if r := m.start(); r != nil {
		return &r.Exchange
	}
	return nil
}

// refusal returns why the referee has not taken the match; "" if it has, or has not
// answered in time.
func (m *refereedMatch) refusal() string {
	r := m.start()
	switch {
	case r == nil, strings.HasPrefix(r.Error, "no answer within"):
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
	status, _ := r.result.text("status")
	return strings.EqualFold(status, protocol.StatusBusy)
}

func (m *refereedMatch) invited() bool { return len(m.received(protocol.TypeGameInvitation)) > 0 }

// received returns the calls of a kind to the players of the match.
func (m *refereedMatch) received(kind string) []*call {
	return m.exam.fakes.received(func(c *call) bool {
		return c.kind == kind && !c.searching && (c.to == m.players[0].fakeAgent || c.to == m.players[1].fakeAgent)
	})
}

// reports returns the reports of the match, in order.
func (m *refereedMatch) reports() []*call {
	return m.exam.fakes.received(func(c *call) bool { return c.kind == protocol.TypeMatchResultReport && c.match() == m.id })
}

// slow tells whether a match goes on because the referee gives players the protocol's own
// time for each question, for which the kit does not wait.
func (m *refereedMatch) slow() bool {
	return m.short && slices.ContainsFunc(m.players[:], func(p *fakePlayer) bool {
		asked := p.received(m.exam.questionType())
		return len(asked) > 1 && asked[1].at.Sub(asked[0].at) > chooseLimit/2
	})
}

// A fakePlayer is a player of a refereedMatch.
type fakePlayer struct {
	*fakeAgent

	exam   *refereeExam
	name   string
	side   rules.Side
	choice string // that it prefers

	deviate deviate
	mu      sync.Mutex
	times   map[string]int // calls by kind
}

// A deviate answers the n-th call of a kind, from 1, in place of the usual behavior; nil
// for the usual behavior.
type deviate func(p *fakePlayer, c *call, n int) *response

// newMatch makes a match with two players; nil without ports.
func (x *refereeExam) newMatch(name string, a, b deviate) *refereedMatch {
	n := int(x.ids.Add(1))
	m := &refereedMatch{exam: x, name: name, id: protocol.MatchID{Round: n, Number: 1}.String(), round: n, attempt: 1, limit: x.patience(usualMatch)}
	start := x.options.Game.Start()
	for i, d := range []deviate{a, b} {
		p := &fakePlayer{exam: x, name: protocol.PlayerID(i + 1), side: rules.Side(i), deviate: d, times: map[string]int{}}
		if choices := options(x.options.Game, start, p.side); len(choices) > 0 {
			p.choice = choices[i%len(choices)]
		}
		if p.fakeAgent = x.fakes.open(nil, p.answer); p.fakeAgent == nil {
			return nil
		}
		p.become(p.name)
		m.players[i] = p
	}
	return m
}

// received returns the calls of a kind, without those that search for the player's form.
func (p *fakePlayer) received(kind string) []*call {
	return p.fakes.received(func(c *call) bool { return c.to == p.fakeAgent && c.kind == kind && !c.searching })
}

func (p *fakePlayer) answer(c *call) response {
	p.mu.Lock()
	p.times[c.kind]++
	n := p.times[c.kind]
	p.mu.Unlock()
	if p.deviate != nil {
		if r := p.deviate(p, c, n); r != nil {
			return *r
		}
	}
	return p.behave(c)
}

// behave answers as a player should.
func (p *fakePlayer) behave(c *call) response {
	result := map[string]any{"match_id": c.match(), "player_id": p.name, "auth_token": protocol.NoToken}
	switch c.kind {
	case protocol.TypeGameInvitation:
		result["accept"], result["arrival_timestamp"] = true, protocol.FormatTimestamp(time.Now())
	case p.exam.questionType():
		var allowed []string
		_ = json.Unmarshal(objectOf(c.params["move_request"])["valid_options"], &allowed) // none in even_odd
		p.exam.setChoice(result, p.prefer(allowed))
	case protocol.TypeGameOver, protocol.TypeGameError:
		result["status"] = protocol.StatusAcknowledged
	default:
		return answerPing(c, "player")
	}
	return c.answer(protocol.PlayerSender(p.name), result)
}

// prefer returns the player's choice among those that are allowed.
func (p *fakePlayer) prefer(allowed []string) string {
	if len(allowed) == 0 || slices.Contains(allowed, p.choice) {
		return p.choice
	}
	return slices.Min(allowed)
}

// verdict is that of the rules on a match in which both players choose as they prefer, and
// this number is drawn.
func (m *refereedMatch) verdict(number int) rules.Verdict {
	game := m.exam.options.Game
	position := game.Start()
	var moves [2]string
	for sides := position.ToMove(); len(sides) > 0; sides = position.ToMove() {
		for _, side := range sides {
			moves[side] = m.players[side].prefer(options(game, position, side))
		}
		position = position.Play(moves)
	}
	if numbered, ok := game.(rules.Numbered); ok {
		return numbered.JudgeNumber(moves, number)
	}
	return position.Judge(rules.Chance{})
}

// assignment is MATCH_ASSIGNMENT of a match.
func (x *refereeExam) assignment(m *refereedMatch) map[string]any {
	q := message(protocol.TypeMatchAssignment, protocol.ManagerSender, protocol.MatchConversation(m.id, m.attempt), "")
	q["league_id"], q["round_id"], q["match_id"], q["attempt"], q["game_type"] = checkLeague, m.round, m.id, m.attempt, x.game
	q["referee_id"] = x.manager.agentID()
	for i, name := range []string{"player_A", "player_B"} {
		q[name] = map[string]any{
			"player_id": m.players[i].name, "endpoint": m.players[i].url, "display_name": "Check Player " + m.players[i].name,
			"standings": map[string]any{"wins": 0, "losses": 0, "draws": 0, "points": 0},
		}
	}
	join, move := inviteLimit.Seconds(), chooseLimit.Seconds()
	if m.short {
		join, move = shortTime.Seconds(), shortTime.Seconds()
	}
	q["timeouts"] = map[string]any{"game_join_ack_timeout_sec": join, "move_timeout_sec": move, "game_over_timeout_sec": overLimit.Seconds(), "generic_response_timeout_sec": 5}
	q["retry_policy"] = map[string]any{"max_retries": 3, "delay_sec": 0.1, "backoff_strategy": "fixed"}
	q["scoring"] = map[string]any{"win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0}
	return q
}

// The time for a match, and for its parts.
const (
	usualMatch = 15 * time.Second
	longMatch  = 40 * time.Second       // four invitations of 5 s, and the pauses between
	shortTime  = 500 * time.Millisecond // for a player that does not answer; a referee may give it the protocol's own time instead
	hesitation = 500 * time.Millisecond // of a player before it joins
	forOther   = 2 * time.Second        // that a player waits for the question to its opponent
)

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
	answersBroken   = "a player that answers HTTP 500"
	hangsUp         = "a player that closes the connection"
	answersHuge     = "a player that answers 1 MB"
	bothFail        = "two players that always choose maybe"
	noEnvelope      = "a player whose answers have no envelope"
	lostReport      = "two good players, and a manager that closes the connection"
)

// prompt are the matches whose players answer at once. They show all requirements that
// name no scenario.
func prompt() []string {
	return []string{wellPlayed, sameChoice, refusesToPlay, choosesMaybe, alwaysMaybe, otherMatchOnly, bothFail, noEnvelope}
}

// at deviates for one kind of call.
func at(kind string, do func(p *fakePlayer, c *call, n int) response) deviate {
	return func(p *fakePlayer, c *call, n int) *response {
		if c.kind != kind {
			return nil
		}
		r := do(p, c, n)
		return &r
	}
}

// changed changes the answer to one kind of call.
func changed(kind string, change func(m map[string]any)) deviate {
	return at(kind, func(p *fakePlayer, c *call, _ int) response {
		r := p.behave(c)
		change(r.result)
		return r
	})
}

// always gives the same response to one kind of call.
func always(kind string, r response) deviate {
	return at(kind, func(*fakePlayer, *call, int) response { return r })
}

// matches returns the matches of the examination that show a selected requirement. The
// first shows the form in which the referee takes matches.
func (x *refereeExam) matches() []*refereedMatch {
	question := x.questionType()
	maybe := changed(question, func(m map[string]any) { x.setChoice(m, "maybe") })
	huge := []byte(`{"jsonrpc": "2.0", "id": 1, "result": {"comment": "` + strings.Repeat("x", 1<<20) + `"}}`)
	failure := (&call{}).refuse(-32000, "the player has no choice")
	bare := func(p *fakePlayer, c *call, _ int) *response {
		r := p.behave(c)
		for _, name := range []string{"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token"} {
			delete(r.result, name)
		}
		return &r
	}
	late := at(question, func(p *fakePlayer, c *call, n int) response {
		r := p.behave(c)
		if n == 1 {
			r.after = 3 * shortTime
		}
		return r
	})
	var all []*refereedMatch
	for _, s := range []struct {
		name        string
		a, b        deviate
		long, short bool // long: a referee retries a broken connection after a pause
	}{
		{name: wellPlayed, a: x.waitsForOther(), b: x.joinsLast()},
		{name: sameChoice, a: x.joinsLast()},
		{name: refusesToPlay, b: changed(protocol.TypeGameInvitation, func(m map[string]any) { m["accept"] = false })},
		{name: neverJoins, a: always(protocol.TypeGameInvitation, response{never: true}), short: true},
		{name: neverChooses, b: always(question, response{never: true}), short: true},
		{name: choosesMaybe, a: x.choosesMaybeFirst()},
		{name: alwaysMaybe, b: maybe},
		{name: choosesLate, a: late, short: true},
		{name: otherMatchOnly, b: changed(question, func(m map[string]any) { m["match_id"] = "R99M99" })},
		{name: answersErrors, a: always(question, failure)},
		{name: answersNonsense, b: always(question, response{status: http.StatusOK, body: []byte("<html>not what you asked for</html>")}), long: true},
		{name: answersBroken, a: always(question, response{status: http.StatusInternalServerError, body: []byte("Internal Server Error")}), long: true},
		{name: hangsUp, b: always(question, response{}), long: true},
		{name: answersHuge, a: always(question, response{status: http.StatusOK, body: huge}), long: true},
		{name: bothFail, a: maybe, b: maybe},
		{name: noEnvelope, b: bare},
		{name: lostReport, long: true},
	} {
		if !x.needsMatch(s.name) {
			continue
		}
		m := x.newMatch(s.name, s.a, s.b)
		if m == nil {
			break
		}
		if m.short = s.short; s.long || s.short {
			m.limit = x.patience(longMatch)
		}
		if s.name == sameChoice {
			m.players[1].choice = m.players[0].choice
		}
		all = append(all, m)
	}
	return all
}

// needsMatch tells whether a match shows a selected requirement.
func (x *refereeExam) needsMatch(name string) bool {
	return x.selects(func(r *rule) bool {
		scenarios := r.namedScenarios()
		switch {
		case len(scenarios) == 0:
			return slices.Contains(prompt(), name)
		case slices.Contains(scenarios, name) || slices.Contains(scenarios, everyMatch):
			return true
		}
		other := []string{"registration", "play", "wire", "misuse", "end"}
		return name == wellPlayed && slices.ContainsFunc(scenarios, func(s string) bool { return !slices.Contains(other, s) })
	})
}

// waitsForOther has a player choose only when its opponent was asked as well. If players
// move in turn it chooses at once.
func (x *refereeExam) waitsForOther() deviate {
	if !x.simultaneous() {
		return nil
	}
	return at(x.questionType(), func(p *fakePlayer, c *call, _ int) response {
		x.awaitOther(p, c, forOther, func(*call) bool { return true })
		return p.behave(c)
	})
}

// joinsLast has a player answer the invitation when its opponent is asked for a choice,
// which should not happen before, or after a pause.
func (x *refereeExam) joinsLast() deviate {
	return at(protocol.TypeGameInvitation, func(p *fakePlayer, c *call, n int) response {
		if n == 1 {
			x.awaitOther(p, c, hesitation, func(*call) bool { return true })
		}
		return p.behave(c)
	})
}

// choosesMaybeFirst has a player ask for the state of the match and make an illegal choice
// when its opponent has chosen; then it makes a legal choice.
func (x *refereeExam) choosesMaybeFirst() deviate {
	return at(x.questionType(), func(p *fakePlayer, c *call, n int) response {
		r := p.behave(c)
		if n == 1 {
			x.awaitOther(p, c, forOther, func(k *call) bool { return k.answered })
			x.askState(c.match())
			x.setChoice(r.result, "maybe")
		}
		return r
	})
}

// awaitOther waits for a question to the other player of a match.
func (x *refereeExam) awaitOther(p *fakePlayer, c *call, most time.Duration, want func(*call) bool) {
	match := c.match()
	x.fakes.await(x.fakes.life, most, func() bool {
		return len(x.fakes.received(func(k *call) bool {
			return k.kind == x.questionType() && k.to != p.fakeAgent && k.match() == match && want(k)
		})) > 0
	})
}
