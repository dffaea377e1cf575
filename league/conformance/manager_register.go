package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// registration returns the registration of an agent of the kit, and its method.
func (x *managerExam) registration(referee bool, name, endpoint string) (method string, q map[string]any) {
	x.applicants++
	meta := map[string]any{
		"display_name": name, "version": "1.0.0", "protocol_version": protocol.Version,
		"game_types": []any{x.game}, "contact_endpoint": endpoint,
	}
	conversation := fmt.Sprintf("conv-check-registration-%d", x.applicants)
	if referee {
		meta["max_concurrent_matches"] = 2
		q = message(protocol.TypeRefereeRegisterRequest, protocol.RefereeSender(protocol.RefereeID(len(x.referees)+1)), conversation, "")
		q["referee_meta"] = meta
		return protocol.RegisterReferee.Name, q
	}
	q = message(protocol.TypeLeagueRegisterRequest, protocol.PlayerSender(protocol.PlayerID(len(x.players)+1)), conversation, "")
	q["player_meta"] = meta
	return protocol.RegisterPlayer.Name, q
}

// registerFirst registers the referees and one player, so that there is a league.
func (x *managerExam) registerFirst(ctx context.Context) bool {
	_, referees := x.size()
	for i := range referees {
		var a *fakeAgent
		if i == 0 {
			a = x.fakes.openAt(x.options.Listener, nil, x.answerReferee)
		} else {
			a = x.fakes.open(x.answerReferee)
		}
		if a == nil || x.registerAgent(ctx, true, fmt.Sprintf("Check Referee %d", i+1), a) == nil {
			return false
		}
	}
	return x.openSpare() && x.registerPlayer(ctx, "Check Player 1") != nil
}

// openSpare opens the endpoint of applicants. It answers as a referee, because a referee
// acknowledges all notices of a player.
func (x *managerExam) openSpare() bool {
	x.spare = x.fakes.open(x.answerReferee)
	return x.spare != nil
}

// registerPlayer registers one more player; nil if that failed.
func (x *managerExam) registerPlayer(ctx context.Context, name string) *member {
	a := x.fakes.open(answerPlayer)
	if a == nil {
		return nil
	}
	return x.registerAgent(ctx, false, name, a)
}

// registerAgent registers an agent; nil if that failed.
func (x *managerExam) registerAgent(ctx context.Context, referee bool, name string, a *fakeAgent) *member {
	method, q := x.registration(referee, name, a.url)
	r := x.askAs(ctx, a, method, q)
	problem := x.admission(r, referee)
	kind := "register/player"
	if referee {
		kind = "register/referee"
	}
	x.record(kind, &fact{reply: r, problem: problem})
	if problem != "" {
		return nil
	}
	m := x.adopt(r, referee, a)
	m.registration, m.name = q, name
	conversation, _ := q["conversation_id"].(string)
	x.recordEnvelope(&fact{reply: r, message: r.result, messageType: responseType(referee), sender: protocol.ManagerSender, conversation: conversation, at: r.at})
	x.record("register/accepted", &fact{reply: r})
	return m
}

func responseType(referee bool) string {
	if referee {
		return protocol.TypeRefereeRegisterResponse
	}
	return protocol.TypeLeagueRegisterResponse
}

func idName(referee bool) string {
	if referee {
		return "referee_id"
	}
	return "player_id"
}

// admission returns why an answer admits nobody.
func (x *managerExam) admission(r *reply, referee bool) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	reason, _ := r.result.text("reason")
	problem := firstOf(r.result.has("status", protocol.StatusAccepted), r.result.filled(idName(referee)))
	return problem + when(problem != "" && reason != "", ": %s", quoted(reason))
}

// adopt adds an agent that the manager has registered, and records its identity.
func (x *managerExam) adopt(r *reply, referee bool, a *fakeAgent) *member {
	m := &member{fakeAgent: a, referee: referee}
	m.id, _ = r.result.text(idName(referee))
	m.token, _ = r.result.text("auth_token")
	proof, _ := r.result.text("manager_auth")
	m.proves = proof == protocol.ManagerAuthBearer
	a.become(m.id)
	if league, _ := r.result.text("league_id"); x.league == "" {
		x.league = league
	}
	twice, shared := "", ""
	for _, known := range slices.Concat(x.players, x.referees) {
		if known.id == m.id {
			twice = "two agents have the id " + quoted(m.id)
		}
		if known.token == m.token {
			shared = fmt.Sprintf("%s and %s have the same auth_token", known.id, m.id)
		}
	}
	x.record("register/id", &fact{reply: r, problem: twice})
	x.record("register/token", &fact{reply: r, problem: firstOf(r.result.filled("auth_token"), shared)})
	x.mu.Lock()
	defer x.mu.Unlock()
	if referee {
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
	players, _ := x.size()
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
	method, q := x.registration(false, longName(), x.spare.url)
	r := x.askAs(ctx, x.spare, method, q)
	problem := x.admission(r, false)
	x.record("register/long name", &fact{reply: r, problem: problem})
	if problem != "" {
		return false
	}
	x.adopt(r, false, x.spare).name = longName()
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
	r := x.askAs(ctx, last.fakeAgent, protocol.RegisterPlayer.Name, last.registration)
	id, _ := r.result.text("player_id")
	admission := x.admission(r, false)
	x.record("register/again", &fact{reply: r, problem: firstOf(admission, when(id != last.id, "it got the id %s, and before %s", quoted(id), quoted(last.id)))})
	if admission == "" && id != last.id { // two players have this endpoint now
		x.adopt(r, false, last.fakeAgent)
	}
}

// registerLast registers the last player.
func (x *managerExam) registerLast(ctx context.Context) bool {
	players, _ := x.size()
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
	change  func(q, meta map[string]any)
	players bool // only players make it
}

// breaches returns all wrong registrations.
func (x *managerExam) breaches() []breach {
	invalid := [2]int{codeInvalidParams, codeInvalidParams}
	set := func(name string, value any) func(q, meta map[string]any) {
		return func(_, meta map[string]any) { meta[name] = value }
	}
	envelope := func(name string, value any) func(q, meta map[string]any) {
		return func(q, _ map[string]any) { q[name] = value }
	}
	const missing, wrongType = "refusal/missing field", "refusal/type"
	var all []breach
	for _, name := range []string{"protocol", "sender", "timestamp", "conversation_id"} {
		all = append(all, breach{"without " + name, missing, protocol.ErrMissingField, invalid, func(q, _ map[string]any) { delete(q, name) }, false})
	}
	for _, name := range []string{"display_name", "version", "game_types", "contact_endpoint", "max_concurrent_matches"} {
		all = append(all,
			breach{"without " + name, missing, protocol.ErrMissingField, invalid, func(_, meta map[string]any) { delete(meta, name) }, false},
			breach{"with " + name + " null", missing, protocol.ErrMissingField, invalid, set(name, nil), false},
			breach{"with " + name + " an object", wrongType, protocol.ErrInvalidFieldType, invalid, set(name, map[string]any{}), false},
		)
	}
	version, timestamp, endpoint := [2]int{18, 18}, [2]int{21, 21}, [2]int{2003, 1002}
	return append(all, []breach{
		{"with game_types an array of numbers", wrongType, protocol.ErrInvalidFieldType, invalid, set("game_types", []any{1, 2}), false},
		{"with an empty display_name", "refusal/name", "", invalid, set("display_name", ""), false},
		{"with a display_name of 51 characters", "refusal/name", "", invalid, set("display_name", strings.Repeat("n", 51)), false},
		{"with protocol league.v1", "refusal/protocol", protocol.ErrProtocolVersion, version, envelope("protocol", "league.v1"), false},
		{"with protocol_version 1.0.0", "refusal/version", protocol.ErrProtocolVersion, version, set("protocol_version", "1.0.0"), false},
		{"with timestamp 2025-01-15T10:30:00+02:00", "refusal/timestamp", protocol.ErrInvalidTimestamp, timestamp, envelope("timestamp", "2025-01-15T10:30:00+02:00"), false},
		{"with timestamp 2025-01-15T10:30:00", "refusal/timestamp", protocol.ErrInvalidTimestamp, timestamp, envelope("timestamp", "2025-01-15T10:30:00"), false},
		{"with contact_endpoint localhost:8101/mcp", "refusal/endpoint", protocol.ErrInvalidEndpoint, endpoint, set("contact_endpoint", "localhost:8101/mcp"), false},
		{"with contact_endpoint http://localhost:99999/mcp", "refusal/endpoint", protocol.ErrInvalidEndpoint, endpoint, set("contact_endpoint", "http://localhost:99999/mcp"), false},
		{`with game_types ["chess"]`, "refusal/game", protocol.ErrUnsupportedGame, [2]int{2004, 1003}, set("game_types", []any{"chess"}), false},
		{"with the display_name of a registered player", "refusal/duplicate name", protocol.ErrDuplicateName, [2]int{2002}, set("display_name", x.players[0].name), true},
	}...)
}

// applyWrongly sends all wrong registrations.
func (x *managerExam) applyWrongly(ctx context.Context) {
	for i, who := range []string{"a player", "a referee"} {
		referee := i == 1
		for _, b := range x.breaches() {
			if referee && b.players || !referee && strings.Contains(b.what, "max_concurrent") {
				continue
			}
			x.apply(ctx, b, referee, &fact{about: who + " " + b.what, code: b.code, numbers: b.numbers[i : i+1]})
		}
	}
}

// apply sends a wrong registration. If the manager accepts it, the applicant is in the
// league; one that would begin the league does not apply.
func (x *managerExam) apply(ctx context.Context, b breach, referee bool, f *fact) {
	if players, _ := x.size(); len(x.players) >= players-1 && players != 2 {
		f.skip = "the manager has accepted wrong registrations, and one more would begin the league"
		x.record(b.fact, f)
		return
	}
	method, q := x.registration(referee, fmt.Sprintf("Applicant %d", x.applicants+1), x.spare.url)
	name, speaker := "player_meta", x.players[0]
	if referee {
		name, speaker = "referee_meta", x.referees[0]
	}
	meta, _ := q[name].(map[string]any)
	b.change(q, meta)
	f.reply = x.sendAs(ctx, speaker.fakeAgent, method, q)
	x.record(b.fact, f)
	switch {
	case x.admission(f.reply, referee) == "":
		x.adopt(f.reply, referee, x.spare)
		x.openSpare()
	case notRefused(f.reply) == "":
		x.record("refusal/reason", &fact{reply: f.reply, problem: reasonProblem(f.reply, idName(referee))})
	}
}

// reasonProblem returns what is wrong with a refused registration.
func reasonProblem(r *reply, idName string) string {
	if r.fault != nil {
		return when(r.fault.message == "", "the error has no message")
	}
	id := r.result[idName]
	return firstOf(r.result.filled("reason"), when(id != nil && id.Kind() != 'n', "%s is %s", idName, valueOf(r.result, idName)))
}

// registerLate registers a player after the beginning of the league.
func (x *managerExam) registerLate(ctx context.Context) {
	method, q := x.registration(false, "Check Latecomer", x.spare.url)
	r := x.sendAs(ctx, x.players[0].fakeAgent, method, q)
	f := &fact{reply: r, code: protocol.ErrLateRegistration, numbers: []int{19}}
	if refusedWith(r, protocol.ErrLeagueFull, 2001) == "" {
		f.code, f.numbers = protocol.ErrLeagueFull, []int{2001}
	}
	x.record("begin/late registration", f)
}
