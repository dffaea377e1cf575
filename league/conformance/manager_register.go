package conformance

import (
	"context"
	"fmt"
	"strings"

	"evenodd/league/protocol"
)

// registration returns the registration of an agent of the kit.
func (x *managerExam) registration(as membership, name, endpoint string) map[string]any {
	x.applicants++
	id := protocol.PlayerID(len(x.players) + 1)
	meta := map[string]any{
		"display_name": name, "version": "1.0.0", "protocol_version": protocol.Version,
		"game_types": []any{x.game}, "contact_endpoint": endpoint,
	}
	if as.role == Referee {
		id, meta["max_concurrent_matches"] = protocol.RefereeID(len(x.referees)+1), 2
	}
	q := message(as.request, as.sender(id), fmt.Sprintf("conv-check-registration-%d", x.applicants), "")
	q[as.meta] = meta
	return q
}

// registerFirst registers the referees and one player, so that there is a league.
func (x *managerExam) registerFirst(ctx context.Context) bool {
	l := x.options.Listener
	for i := range x.options.Referees {
		if x.registerAgent(ctx, membershipOf(Referee), fmt.Sprintf("Check Referee %d", i+1), x.fakes.open(l, x.answerReferee)) == nil {
			return false
		}
		l = nil
	}
	return x.openSpare() && x.registerPlayer(ctx, "Check Player 1") != nil
}

// openSpare opens the endpoint of applicants. It answers as a referee, because a referee
// acknowledges all notices of a player.
func (x *managerExam) openSpare() bool {
	x.spare = x.fakes.open(nil, x.answerReferee)
	return x.spare != nil
}

// registerPlayer registers one more player; nil if that failed.
func (x *managerExam) registerPlayer(ctx context.Context, name string) *member {
	return x.registerAgent(ctx, membershipOf(Player), name, x.fakes.open(nil, answerPlayer))
}

// registerAgent registers an agent; nil if that failed, and for no agent.
func (x *managerExam) registerAgent(ctx context.Context, as membership, name string, a *fakeAgent) *member {
	if a == nil {
		return nil
	}
	q := x.registration(as, name, a.url)
	r := x.ask(ctx, a.dialect, as.method, q)
	problem := admission(r, as)
	x.record("register/"+as.role, &fact{reply: r, problem: problem})
	if problem != "" {
		return nil
	}
	m := x.adopt(r, as, a)
	m.registration, m.name = q, name
	conversation, _ := q["conversation_id"].(string)
	x.recordReply(r, as.response, protocol.ManagerSender, conversation)
	x.record("register/accepted", &fact{reply: r})
	return m
}

// admission returns why an answer admits nobody.
func admission(r *reply, as membership) string {
	reason, _ := r.result.text("reason")
	problem := firstOf(r.trouble(), r.result.has("status", protocol.StatusAccepted), r.result.filled(as.id))
	return problem + when(problem != "" && reason != "", ": %s", quoted(reason))
}

// adopt adds an agent that the manager has registered, and records its identity.
func (x *managerExam) adopt(r *reply, as membership, a *fakeAgent) *member {
	m := &member{fakeAgent: a, membership: as}
	m.id, _ = r.result.text(as.id)
	m.token, _ = r.result.text("auth_token")
	proof, _ := r.result.text("manager_auth")
	m.proves = proof == protocol.ManagerAuthBearer
	a.become(m.id)
	if league, _ := r.result.text("league_id"); x.league == "" {
		x.league = league
	}
	twice, shared := "", r.result.filled("auth_token")
	for _, known := range x.members() {
		twice = firstOf(twice, when(known.id == m.id, "two agents have the id %s", quoted(m.id)))
		shared = firstOf(shared, when(known.token == m.token, "%s and %s have the same auth_token", known.id, m.id))
	}
	x.record("register/id", &fact{reply: r, problem: twice})
	x.record("register/token", &fact{reply: r, problem: shared})
	x.mu.Lock()
	defer x.mu.Unlock()
	if as.role == Referee {
		x.referees = append(x.referees, m)
	} else {
		x.players = append(x.players, m)
	}
	return m
}

// longName has 50 characters that are not ASCII.
func longName() string {
	return string([]rune(strings.Repeat("Ærøskøbing שחקן 选手 🎲 ", 4))[:50])
}

// registerFurther registers the players but the last, which would begin the league.
func (x *managerExam) registerFurther(ctx context.Context) {
	players := x.options.Players
	for n := 2; len(x.players) < players-1 && x.givenUp() == "" && n < 2*players; n++ {
		if n == 2 && x.registerLongName(ctx) {
			continue
		}
		if x.registerPlayer(ctx, fmt.Sprintf("Check Player %d", n)) == nil {
			return
		}
	}
	x.repeatRegistration(ctx)
}

func (x *managerExam) registerLongName(ctx context.Context) bool {
	as := membershipOf(Player)
	r := x.ask(ctx, x.spare.dialect, as.method, x.registration(as, longName(), x.spare.url))
	problem := admission(r, as)
	x.record("register/long name", &fact{reply: r, problem: problem})
	if problem != "" {
		return false
	}
	x.adopt(r, as, x.spare).name = longName()
	return x.openSpare()
}

// repeatRegistration repeats a registration, as an agent does after a lost answer.
func (x *managerExam) repeatRegistration(ctx context.Context) {
	last := x.players[len(x.players)-1]
	if last.registration == nil {
		last = x.players[0]
	}
	if last.registration == nil {
		return
	}
	r := x.ask(ctx, last.dialect, last.method, last.registration)
	id, _ := r.result.text("player_id")
	problem := admission(r, last.membership)
	x.record("register/again", &fact{reply: r, problem: firstOf(problem, when(id != last.id, "it got the id %s, and before %s", quoted(id), quoted(last.id)))})
	if problem == "" && id != last.id { // two players have this endpoint now
		x.adopt(r, last.membership, last.fakeAgent)
	}
}

// registerLast registers the last player.
func (x *managerExam) registerLast(ctx context.Context) bool {
	players := x.options.Players
	if len(x.players) >= players || x.announced() {
		return true
	}
	if players > 2 {
		return x.registerPlayer(ctx, fmt.Sprintf("Check Player %d", players)) != nil
	}
	ok := x.registerPlayer(ctx, longName()) != nil // no other player could have it
	if ok {
		x.record("register/long name", &fact{})
	}
	return ok
}

// A breach is a registration that the manager must refuse.
type breach struct {
	what    string
	fact    string
	code    protocol.Code // "" for any
	numbers [2]int        // of JSON-RPC, for players and referees
	inMeta  bool          // the member is one of player_meta or referee_meta
	member  string
	value   any // nil and without: the member is missing
	without bool
}

// breaches returns all wrong registrations.
func (x *managerExam) breaches() []breach {
	invalid, version, timestamp, endpoint := [2]int{codeInvalidParams, codeInvalidParams}, [2]int{18, 18}, [2]int{21, 21}, [2]int{2003, 1002}
	const missing, wrongType = "refusal/missing field", "refusal/type"
	var all []breach
	for _, name := range []string{"protocol", "sender", "timestamp", "conversation_id"} {
		all = append(all, breach{"without " + name, missing, protocol.ErrMissingField, invalid, false, name, nil, true})
	}
	for _, name := range []string{"display_name", "version", "game_types", "contact_endpoint", "max_concurrent_matches"} {
		all = append(all,
			breach{"without " + name, missing, protocol.ErrMissingField, invalid, true, name, nil, true},
			breach{"with " + name + " null", missing, protocol.ErrMissingField, invalid, true, name, nil, false},
			breach{"with " + name + " an object", wrongType, protocol.ErrInvalidFieldType, invalid, true, name, map[string]any{}, false},
		)
	}
	with := func(member, value, fact string, code protocol.Code, numbers [2]int) {
		inMeta := member != "protocol" && member != "timestamp"
		all = append(all, breach{"with " + member + " " + quoted(value), fact, code, numbers, inMeta, member, value, false})
	}
	with("display_name", "", "refusal/name", "", invalid)
	with("display_name", strings.Repeat("n", 51), "refusal/name", "", invalid)
	with("protocol", "league.v1", "refusal/protocol", protocol.ErrProtocolVersion, version)
	with("protocol_version", "1.0.0", "refusal/version", protocol.ErrProtocolVersion, version)
	with("timestamp", "2025-01-15T10:30:00+02:00", "refusal/timestamp", protocol.ErrInvalidTimestamp, timestamp)
	with("timestamp", "2025-01-15T10:30:00", "refusal/timestamp", protocol.ErrInvalidTimestamp, timestamp)
	with("contact_endpoint", "localhost:8101/mcp", "refusal/endpoint", protocol.ErrInvalidEndpoint, endpoint)
	with("contact_endpoint", "http://localhost:99999/mcp", "refusal/endpoint", protocol.ErrInvalidEndpoint, endpoint)
	return append(all,
		breach{"with game_types an array of numbers", wrongType, protocol.ErrInvalidFieldType, invalid, true, "game_types", []any{1, 2}, false},
		breach{`with game_types ["chess"]`, "refusal/game", protocol.ErrUnsupportedGame, [2]int{2004, 1003}, true, "game_types", []any{"chess"}, false},
		breach{"with the display_name of a registered player", duplicateName, protocol.ErrDuplicateName, [2]int{2002}, true, "display_name", x.players[0].name, false},
	)
}

const duplicateName = "refusal/duplicate name" // only of a player

// applyWrongly sends all wrong registrations.
func (x *managerExam) applyWrongly(ctx context.Context) {
	for i, role := range []string{Player, Referee} {
		for _, b := range x.breaches() {
			if role == Referee && b.fact == duplicateName || role == Player && b.member == "max_concurrent_matches" {
				continue
			}
			x.apply(ctx, b, membershipOf(role), &fact{about: "a " + role + " " + b.what, code: b.code, numbers: b.numbers[i : i+1]})
		}
	}
}

// apply sends a wrong registration. If the manager accepts it, the applicant is in the
// league; one that would begin the league does not apply.
func (x *managerExam) apply(ctx context.Context, b breach, as membership, f *fact) {
	if players := x.options.Players; len(x.players) >= players-1 && players != 2 {
		f.skip = "the manager has accepted wrong registrations, and one more would begin the league"
		x.record(b.fact, f)
		return
	}
	speaker := x.players[0]
	if as.role == Referee {
		speaker = x.referees[0]
	}
	q := x.registration(as, fmt.Sprintf("Applicant %d", x.applicants+1), x.spare.url)
	in := q
	if b.inMeta {
		in, _ = q[as.meta].(map[string]any)
	}
	if in[b.member] = b.value; b.without {
		delete(in, b.member)
	}
	f.reply = x.send(ctx, speaker.dialect, as.method, q, variation{})
	x.record(b.fact, f)
	switch {
	case admission(f.reply, as) == "":
		x.adopt(f.reply, as, x.spare)
		x.openSpare()
	case notRefused(f.reply) == "" && f.reply.fault != nil:
		x.record("refusal/reason", &fact{reply: f.reply, problem: when(f.reply.fault.message == "", "the error has no message")})
	case notRefused(f.reply) == "":
		x.record("refusal/reason", &fact{reply: f.reply, problem: every(filled("reason"), null(as.id))(&fact{reply: f.reply})})
	}
}

// registerLate registers a player after the beginning of the league.
func (x *managerExam) registerLate(ctx context.Context) {
	as := membershipOf(Player)
	r := x.send(ctx, x.players[0].dialect, as.method, x.registration(as, "Check Latecomer", x.spare.url), variation{})
	f := &fact{reply: r, code: protocol.ErrLateRegistration, numbers: []int{19}}
	if refusedWith(r, protocol.ErrLeagueFull, 2001) == "" {
		f.code, f.numbers = protocol.ErrLeagueFull, []int{2001}
	}
	x.record("begin/late registration", f)
}
