package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
)

// registration returns the registration of an agent of the kit.
func (x *managerExam) registration(as membership, endpoint string) object {
	x.applicants++
	name := fmt.Sprintf("Check %s %d", as.role, x.applicants)
	id := league.PlayerID(len(x.players) + 1)
	meta := object{
		"display_name": name, "version": "1.0.0", "protocol_version": protocol.Version,
		"game_types": []any{x.game}, "contact_endpoint": endpoint,
	}
	if as.role == Referee {
		id, meta["max_concurrent_matches"] = league.RefereeID(len(x.referees)+1), 2
	}
	q := message(as.Request, as.sender(id), fmt.Sprintf("conv-check-registration-%d", x.applicants), "")
	q[as.meta] = meta
	return q
}

// registerFirst registers the referees and one player, so that there is a league.
func (x *managerExam) registerFirst() bool {
	for i := range x.Referees {
		referee := x.host
		if i > 0 {
			referee = x.open(nil, x.answer)
		}
		if !x.registerAgent(membershipOf(Referee), referee) {
			return false
		}
	}
	x.openSpare()
	return x.registerPlayer()
}

// openSpare opens the endpoint of applicants. It answers as a referee, because a referee
// acknowledges all notices of a player.
func (x *managerExam) openSpare() { x.spare = x.open(nil, x.answer) }

// registerPlayer registers one more player; false if that failed.
func (x *managerExam) registerPlayer() bool {
	return x.registerAgent(membershipOf(Player), x.open(nil, answerPlayer))
}

// registerAgent registers an agent; false if that failed.
func (x *managerExam) registerAgent(as membership, a *fakeAgent) bool {
	q := x.registration(as, a.url)
	r := a.ask(q)
	problem := admission(r, as)
	x.show("register/"+as.role, r, problem)
	if problem != "" {
		return false
	}
	x.adopt(r, as, a).registration = q
	x.recordReply(r)
	return true
}

// admission returns why an answer admits nobody.
func admission(r *reply, as membership) string {
	reason := r.result.text("reason")
	problem := cmp.Or(r.trouble(), r.result.has("status", protocol.StatusAccepted), r.result.filled(as.id))
	return problem + when(problem != "" && reason != "", ": %s", quoted(reason))
}

// adopt adds an agent that the manager has registered, and records its identity.
func (x *managerExam) adopt(r *reply, as membership, a *fakeAgent) *member {
	m := &member{fakeAgent: a, membership: as, id: r.result.text(as.id), token: r.result.text("auth_token")}
	a.become(m.id)
	if x.league == "" { // a match of the league may be in progress, and reads it
		x.league = r.result.text("league_id")
	}
	twice, shared := "", r.result.filled("auth_token")
	for _, known := range x.members() {
		twice = cmp.Or(twice, when(known.id == m.id, "two agents have the id %s", quoted(m.id)))
		shared = cmp.Or(shared, when(known.token == m.token, "%s and %s have the same auth_token", known.id, m.id))
	}
	x.show("register/id", r, twice)
	x.show("register/token", r, shared)
	x.mu.Lock()
	defer x.mu.Unlock()
	if as.role == Referee {
		x.referees = append(x.referees, m)
	} else {
		x.players = append(x.players, m)
	}
	return m
}

// registerFurther registers the players but the last, which would begin the league. It repeats a
// registration, as an agent does after a lost answer.
func (x *managerExam) registerFurther() {
	for len(x.players)+1 < x.Players && x.givenUp() == "" {
		if !x.registerPlayer() {
			return
		}
	}
	first := x.players[0]
	r := first.ask(first.registration)
	id, problem := r.result.text("player_id"), admission(r, first.membership)
	x.show("register/again", r, problem,
		when(id != first.id, "it got the id %s, and before %s", quoted(id), quoted(first.id)))
	if problem == "" && id != first.id { // two players have this endpoint now
		x.adopt(r, first.membership, first.fakeAgent)
	}
}

// breaches returns the breaches of a registration.
func (x *managerExam) breaches(as membership) []breach {
	const missing, wrongType, wrongName = "refusal/missing field", "refusal/type", "refusal/name"
	all := append(breachesOfTime("refusal/timestamp"), []breach{
		{wrongName, "display_name", "", ""}, {wrongName, "display_name", strings.Repeat("n", 51), ""},
		{"refusal/protocol", "protocol", "league.v1", protocol.ErrProtocolVersion},
		{"refusal/protocol", "protocol_version", "1.0.0", protocol.ErrProtocolVersion},
		{"refusal/endpoint", "contact_endpoint", "localhost:8101/mcp", protocol.ErrInvalidEndpoint},
		{"refusal/endpoint", "contact_endpoint", "http://localhost:99999/mcp", protocol.ErrInvalidEndpoint},
		{wrongType, "game_types", []any{1, 2}, protocol.ErrInvalidFieldType},
		{"refusal/game", "game_types", []any{"chess"}, protocol.ErrUnsupportedGame},
	}...)
	for _, name := range []string{"protocol", "sender", "timestamp", "conversation_id"} {
		all = append(all, breach{missing, name, nil, protocol.ErrMissingField})
	}
	if as.role == Player {
		meta, _ := x.players[0].registration[as.meta].(object)
		all = append(all, breach{"refusal/duplicate name", "display_name", meta["display_name"], protocol.ErrDuplicateName})
	}
	for _, name := range required(as.Request, as.meta) {
		all = append(all, breach{missing, name, nil, protocol.ErrMissingField},
			breach{missing, name, jsontext.Value("null"), protocol.ErrMissingField},
			breach{wrongType, name, object{}, protocol.ErrInvalidFieldType})
	}
	return all
}

// applyWrongly sends all wrong registrations. If the manager accepts one, the applicant is
// in the league; one that would begin the league does not apply.
func (x *managerExam) applyWrongly() {
	for _, as := range []*member{x.players[0], x.referees[0]} {
		for _, b := range x.breaches(as.membership) {
			f := &fact{about: "a " + as.role + " " + b.about(), code: b.code}
			if players := x.Players; len(x.players) >= players-1 && players != 2 {
				f.problem = skipped("the manager has accepted wrong registrations, and one more would begin the league")
				x.record(b.fact, f)
				continue
			}
			q := x.registration(as.membership, x.spare.url)
			meta, _ := q[as.meta].(object)
			f.reply = as.send(b.in(q, meta))
			x.record(b.fact, f)
			if admission(f.reply, as.membership) == "" {
				endpoint, _ := meta["contact_endpoint"].(string)
				x.adopt(f.reply, as.membership, x.spare).redirected = endpoint != x.spare.url
				x.openSpare()
			}
		}
	}
}

// registerLate registers a player after the beginning of the league.
func (x *managerExam) registerLate() {
	as := membershipOf(Player)
	r := x.players[0].send(x.registration(as, x.spare.url))
	f := &fact{reply: r, code: protocol.ErrLateRegistration}
	if refusedWith(r, protocol.ErrLeagueFull) == "" {
		f.code = protocol.ErrLeagueFull
	}
	x.record("begin/late registration", f)
	if admission(r, as) == "" {
		x.adopt(r, as, x.spare).late = true
	}
}
