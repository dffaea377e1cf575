package check

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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

// The facts that a player with a usual name, and one with a long name, can register.
const (
	registerPlayer   = "register/player"
	registerLongName = "register/long name"
)

// registerFirst registers the referees and one player, so that there is a league.
func (x *managerExam) registerFirst(ctx context.Context) bool {
	l := x.options.Listener
	for i := range x.options.Referees {
		if x.registerAgent(ctx, membershipOf(Referee), "register/referee", fmt.Sprintf("Check Referee %d", i+1), x.fakes.open(l, x.answerReferee)) == nil {
			return false
		}
		l = nil
	}
	x.openSpare()
	return x.registerPlayer(ctx, registerPlayer, "Check Player 1") != nil
}

// openSpare opens the endpoint of applicants. It answers as a referee, because a referee
// acknowledges all notices of a player.
func (x *managerExam) openSpare() { x.spare = x.fakes.open(nil, x.answerReferee) }

// registerPlayer registers one more player; nil if that failed.
func (x *managerExam) registerPlayer(ctx context.Context, fact, name string) *member {
	return x.registerAgent(ctx, membershipOf(Player), fact, name, x.fakes.open(nil, answerPlayer))
}

// registerAgent registers an agent, which is the fact with this name; nil if that failed.
func (x *managerExam) registerAgent(ctx context.Context, as membership, name, displayed string, a *fakeAgent) *member {
	q := x.registration(as, displayed, a.url)
	r := x.ask(ctx, a.dialect, as.method, q)
	problem := admission(r, as)
	x.record(name, &fact{reply: r, problem: problem})
	if problem != "" {
		return nil
	}
	m := x.adopt(r, as, a)
	m.registration, m.name = q, displayed
	conversation, _ := q["conversation_id"].(string)
	x.recordReply(r, as.response, protocol.ManagerSender, conversation)
	x.record("register/accepted", &fact{reply: r})
	return m
}

// admission returns why an answer admits nobody.
func admission(r *reply, as membership) string {
	reason := r.result.text("reason")
	problem := firstOf(r.trouble(), r.result.has("status", protocol.StatusAccepted), r.result.filled(as.id))
	return problem + when(problem != "" && reason != "", ": %s", quoted(reason))
}

// adopt adds an agent that the manager has registered, and records its identity.
func (x *managerExam) adopt(r *reply, as membership, a *fakeAgent) *member {
	m := &member{fakeAgent: a, membership: as, id: r.result.text(as.id), token: r.result.text("auth_token")}
	m.proves = r.result.text("manager_auth") == protocol.ManagerAuthBearer
	a.become(m.id)
	if x.league == "" { // a match of the league may be in progress, and reads it
		x.league = r.result.text("league_id")
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
		if n == 2 && x.registerPlayer(ctx, registerLongName, longName()) != nil {
			continue
		}
		if x.registerPlayer(ctx, registerPlayer, fmt.Sprintf("Check Player %d", n)) == nil {
			return
		}
	}
	x.repeatRegistration(ctx)
}

// repeatRegistration repeats a registration, as an agent does after a lost answer.
func (x *managerExam) repeatRegistration(ctx context.Context) {
	last := x.players[len(x.players)-1]
	if last.registration == nil {
		last = x.players[0]
	}
	r := x.ask(ctx, last.dialect, last.method, last.registration)
	id := r.result.text("player_id")
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
		return x.registerPlayer(ctx, registerPlayer, fmt.Sprintf("Check Player %d", players)) != nil
	}
	ok := x.registerPlayer(ctx, registerPlayer, longName()) != nil // no other player could have it
	if ok {
		x.record(registerLongName, &fact{})
	}
	return ok
}

// sendBroken sends copies of a message, each with a breach.
func (x *managerExam) sendBroken(ctx context.Context, as *member, method string, message map[string]any, breaches ...breach) {
	messageType, _ := message["message_type"].(string)
	for _, b := range breaches {
		r := x.send(ctx, as.dialect, method, b.in(maps.Clone(message), nil), variation{})
		x.record(b.fact, &fact{about: messageType + " " + b.about(), reply: r, code: b.code, numbers: b.numbers})
	}
}

// breaches returns the breaches of a registration.
func (x *managerExam) breaches(as membership) []breach {
	const missing, wrongType, wrongName, timestamp = "refusal/missing field", "refusal/type", "refusal/name", "refusal/timestamp"
	invalid, invalidTime, wrongVersion, endpoint, game := []int{codeInvalidParams}, []int{21}, []int{18}, []int{2003}, []int{2004}
	names := []string{"display_name", "version", "game_types", "contact_endpoint"}
	if as.role == Referee {
		endpoint, game, names = []int{1002}, []int{1003}, append(names, "max_concurrent_matches")
	}
	var all []breach
	for _, name := range []string{"protocol", "sender", "timestamp", "conversation_id"} {
		all = append(all, breach{missing, protocol.ErrMissingField, invalid, name, nil})
	}
	for _, name := range names {
		all = append(all, breach{missing, protocol.ErrMissingField, invalid, name, nil},
			breach{missing, protocol.ErrMissingField, invalid, name, jsontext.Value("null")},
			breach{wrongType, protocol.ErrInvalidFieldType, invalid, name, map[string]any{}})
	}
	if as.role == Player {
		all = append(all, breach{"refusal/duplicate name", protocol.ErrDuplicateName, []int{2002}, "display_name", x.players[0].name})
	}
	return append(all,
		breach{wrongName, "", invalid, "display_name", ""},
		breach{wrongName, "", invalid, "display_name", strings.Repeat("n", 51)},
		breach{"refusal/protocol", protocol.ErrProtocolVersion, wrongVersion, "protocol", "league.v1"},
		breach{"refusal/version", protocol.ErrProtocolVersion, wrongVersion, "protocol_version", "1.0.0"},
		breach{timestamp, protocol.ErrInvalidTimestamp, invalidTime, "timestamp", "2025-01-15T10:30:00+02:00"},
		breach{timestamp, protocol.ErrInvalidTimestamp, invalidTime, "timestamp", "2025-01-15T10:30:00"},
		breach{"refusal/endpoint", protocol.ErrInvalidEndpoint, endpoint, "contact_endpoint", "localhost:8101/mcp"},
		breach{"refusal/endpoint", protocol.ErrInvalidEndpoint, endpoint, "contact_endpoint", "http://localhost:99999/mcp"},
		breach{wrongType, protocol.ErrInvalidFieldType, invalid, "game_types", []any{1, 2}},
		breach{"refusal/game", protocol.ErrUnsupportedGame, game, "game_types", []any{"chess"}},
	)
}

// applyWrongly sends all wrong registrations. If the manager accepts one, the applicant is
// in the league; one that would begin the league does not apply.
func (x *managerExam) applyWrongly(ctx context.Context) {
	for _, speaker := range []*member{x.players[0], x.referees[0]} {
		for _, b := range x.breaches(speaker.membership) {
			f := &fact{about: "a " + speaker.role + " " + b.about(), code: b.code, numbers: b.numbers}
			if players := x.options.Players; len(x.players) >= players-1 && players != 2 {
				f.skip = "the manager has accepted wrong registrations, and one more would begin the league"
				x.record(b.fact, f)
				continue
			}
			q := x.registration(speaker.membership, fmt.Sprintf("Applicant %d", x.applicants+1), x.spare.url)
			meta, _ := q[speaker.meta].(map[string]any)
			f.reply = x.send(ctx, speaker.dialect, speaker.method, b.in(q, meta), variation{})
			x.record(b.fact, f)
			switch r := f.reply; {
			case admission(r, speaker.membership) == "":
				x.adopt(r, speaker.membership, x.spare)
				x.openSpare()
			case notRefused(r) == "" && r.fault != nil:
				x.record("refusal/reason", &fact{reply: r, problem: when(r.fault.message == "", "the error has no message")})
			case notRefused(r) == "":
				x.record("refusal/reason", &fact{reply: r, problem: every(filled("reason"), null(speaker.membership.id))(&fact{reply: r})})
			}
		}
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
