package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// registration is a request of an agent of the kit to be registered, and its
// method.
func (x *hearing) registration(referee bool, name, endpoint string) (method string, q map[string]any) {
	x.names++
	meta := map[string]any{
		"display_name": name, "version": "1.0.0", "protocol_version": protocol.Version,
		"game_types": []any{x.game}, "contact_endpoint": endpoint,
	}
	conversation := fmt.Sprintf("conv-check-registration-%d", x.names)
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

// gather registers the referees, and one player, so that there is a league.
func (x *hearing) gather(ctx context.Context) bool {
	_, referees := x.wanted()
	first := x.stage.openAt(x.options.Listener, nil, x.playReferee)
	for i := range referees {
		a := first
		if i > 0 {
			var err error
			if a, err = x.stage.open(x.playReferee); err != nil {
				x.giveUp(err.Error())
				return false
			}
		}
		if !x.enlist(ctx, true, fmt.Sprintf("Check Referee %d", i+1), a) {
			return false
		}
	}
	return x.openSpare() && x.newPlayer(ctx, "Check Player 1")
}

// newPlayer registers one more player.
func (x *hearing) newPlayer(ctx context.Context, name string) bool {
	a, err := x.stage.open(playPlayer)
	if err != nil {
		x.giveUp(err.Error())
		return false
	}
	return x.enlist(ctx, false, name, a)
}

// enlist registers an agent as it should be.
func (x *hearing) enlist(ctx context.Context, referee bool, name string, a *actor) bool {
	method, q := x.registration(referee, name, a.url)
	r := x.askAs(ctx, a.dialect, method, q, otherLimit)
	requirement := "M-REG-02"
	if referee {
		requirement = "M-REG-01"
	}
	problem := x.admission(r, referee)
	x.judge(requirement, problem, &r.Exchange)
	if problem != "" {
		return false
	}
	m := x.adopt(r, referee, a)
	m.registration = q
	m.name = name
	conversation, _ := q["conversation_id"].(string)
	x.envelope(r.result, responseType(referee), protocol.ManagerSender, conversation, r.at, &r.Exchange)
	x.judge("M-REG-05", firstOf(r.result.filled("league_id"), when(r.result["reason"] != nil && r.result["reason"].Kind() != 'n', "reason is %s", valueOf(r.result, "reason"))), &r.Exchange)
	return true
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

// admission says why an answer admits nobody; "" when it does.
func (x *hearing) admission(r *reply, referee bool) string {
	if problem := r.trouble(); problem != "" {
		return problem
	}
	reason, _ := r.result.text("reason")
	problem := firstOf(r.result.has("status", protocol.StatusAccepted), r.result.filled(idName(referee)))
	return problem + when(problem != "" && reason != "", ": %s", quoted(reason))
}

// adopt keeps an agent that the manager has registered, and judges its identity.
func (x *hearing) adopt(r *reply, referee bool, a *actor) *member {
	m := &member{actor: a, referee: referee}
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
	x.judge("M-REG-03", twice, &r.Exchange)
	x.judge("M-REG-04", firstOf(r.result.filled("auth_token"), shared), &r.Exchange)
	x.mu.Lock()
	defer x.mu.Unlock()
	if referee {
		x.referees = append(x.referees, m)
	} else {
		x.players = append(x.players, m)
	}
	return m
}

// fill registers the players but the last, which would begin the league.
func (x *hearing) fill(ctx context.Context) {
	players, _ := x.wanted()
	unicode := string([]rune(strings.Repeat("Ærøskøbing שחקן 选手 🎲 ", 4))[:50])
	for n := 2; len(x.players) < players-1 && x.givenUp() == "" && n < 2*players; n++ {
		name := fmt.Sprintf("Check Player %d", n)
		if n == 2 {
			if x.fillUnicode(ctx, unicode) {
				continue
			}
		}
		if !x.newPlayer(ctx, name) {
			return
		}
	}
	x.repeatRegistration(ctx)
}

// fillUnicode registers a player with a long name that is not ASCII.
func (x *hearing) fillUnicode(ctx context.Context, name string) bool {
	method, q := x.registration(false, name, x.spare.url)
	r := x.askAs(ctx, x.spare.dialect, method, q, otherLimit)
	problem := x.admission(r, false)
	x.judge("M-REG-06", problem, &r.Exchange)
	if problem != "" {
		return false
	}
	x.adopt(r, false, x.spare).name = name
	return x.openSpare()
}

// repeatRegistration sends a registration once more, as an agent does whose
// answer was lost.
func (x *hearing) repeatRegistration(ctx context.Context) {
	last := x.players[len(x.players)-1]
	if last.registration == nil {
		last = x.players[0]
	}
	if last.registration == nil {
		return
	}
	r := x.askOf(ctx, last, protocol.RegisterPlayer.Name, last.registration)
	id, _ := r.result.text("player_id")
	x.judge("M-REG-07", firstOf(x.admission(r, false), when(id != last.id, "it got the id %s, and before %s", quoted(id), quoted(last.id))), &r.Exchange)
	if x.admission(r, false) == "" && id != last.id { // it has two players now that live there
		x.adopt(r, false, last.actor)
	}
}

// complete registers the last player.
func (x *hearing) complete(ctx context.Context) bool {
	players, _ := x.wanted()
	if len(x.players) < players && !x.announced() {
		name := fmt.Sprintf("Check Player %d", players)
		if players == 2 { // there was no other to have it
			name = string([]rune(strings.Repeat("Ærøskøbing שחקן 选手 🎲 ", 4))[:50])
		}
		ok := x.newPlayer(ctx, name)
		if players == 2 && ok {
			x.pass("M-REG-06")
		}
		return ok
	}
	return true
}

// A breach is a registration that is not as it must be.
type breach struct {
	what          string
	change        func(q, meta map[string]any)
	refused       string // the requirement that it is refused; "" for none
	coded         string // the requirement that it is refused with one of the codes
	code          protocol.Code
	player, judge int  // numeric codes for players and referees
	players       bool // it is one of players alone
}

// breaches are the ways in which a registration can be wrong.
func (x *hearing) breaches() []breach {
	var all []breach
	for _, name := range []string{"protocol", "sender", "timestamp", "conversation_id"} {
		all = append(all, breach{what: "without " + name, change: func(q, _ map[string]any) { delete(q, name) }, refused: "M-REF-01", coded: "M-REF-02", code: protocol.ErrMissingField, player: -32602, judge: -32602})
	}
	for _, name := range []string{"display_name", "version", "game_types", "contact_endpoint", "max_concurrent_matches"} {
		all = append(all,
			breach{what: "without " + name, change: func(_, meta map[string]any) { delete(meta, name) }, refused: "M-REF-01", coded: "M-REF-02", code: protocol.ErrMissingField, player: -32602, judge: -32602},
			breach{what: "with " + name + " null", change: func(_, meta map[string]any) { meta[name] = nil }, refused: "M-REF-01", coded: "M-REF-02", code: protocol.ErrMissingField, player: -32602, judge: -32602},
			breach{what: "with " + name + " an object", change: func(_, meta map[string]any) { meta[name] = map[string]any{} }, refused: "M-REF-03", coded: "M-REF-04", code: protocol.ErrInvalidFieldType, player: -32602, judge: -32602},
		)
	}
	all = append(all,
		breach{what: "with game_types an array of numbers", change: func(_, meta map[string]any) { meta["game_types"] = []any{1, 2} }, refused: "M-REF-03", coded: "M-REF-04", code: protocol.ErrInvalidFieldType, player: -32602, judge: -32602},
		breach{what: "with an empty display_name", change: func(_, meta map[string]any) { meta["display_name"] = "" }, refused: "M-REF-05"},
		breach{what: "with a display_name of 51 characters", change: func(_, meta map[string]any) { meta["display_name"] = strings.Repeat("n", 51) }, refused: "M-REF-05"},
		breach{what: "with protocol league.v1", change: func(q, _ map[string]any) { q["protocol"] = "league.v1" }, refused: "M-REF-06", coded: "M-REF-07", code: protocol.ErrProtocolVersion, player: 18, judge: 18},
		breach{what: "with protocol_version 1.0.0", change: func(_, meta map[string]any) { meta["protocol_version"] = "1.0.0" }, coded: "M-REF-07", code: protocol.ErrProtocolVersion, player: 18, judge: 18},
	)
	for _, at := range []string{"2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00"} {
		all = append(all, breach{what: "with timestamp " + at, change: func(q, _ map[string]any) { q["timestamp"] = at }, refused: "M-REF-08", coded: "M-REF-09", code: protocol.ErrInvalidTimestamp, player: 21, judge: 21})
	}
	for _, endpoint := range []string{"localhost:8101/mcp", "http://localhost:99999/mcp"} {
		all = append(all, breach{what: "with contact_endpoint " + endpoint, change: func(_, meta map[string]any) { meta["contact_endpoint"] = endpoint }, coded: "M-REF-15", code: protocol.ErrInvalidEndpoint, player: 2003, judge: 1002})
	}
	return append(all,
		breach{what: "with game_types [\"chess\"]", change: func(_, meta map[string]any) { meta["game_types"] = []any{"chess"} }, refused: "M-REF-10", coded: "M-REF-11", code: protocol.ErrUnsupportedGame, player: 2004, judge: 1003},
		breach{what: "with the display_name of a player that is registered", players: true, change: func(_, meta map[string]any) { meta["display_name"] = x.players[0].name }, coded: "M-REF-13", code: protocol.ErrDuplicateName, player: 2002},
	)
}

// refuse sends registrations that are wrong.
func (x *hearing) refuse(ctx context.Context) {
	for _, referee := range []bool{false, true} {
		for _, b := range x.breaches() {
			if referee && b.players || !referee && strings.Contains(b.what, "max_concurrent") {
				continue
			}
			x.apply(ctx, b, referee)
		}
	}
}

// room tells whether one more player may be let in by mistake, and not begin the
// league.
func (x *hearing) room() bool {
	players, _ := x.wanted()
	return len(x.players) < players-1 || players == 2
}

const noRoom = "the manager has let in those that it should have refused, and one more would begin the league"

// apply applies wrongly. Whoever is let in all the same is of the league; so that
// it does not begin too early, nobody applies any more when it is nearly full.
func (x *hearing) apply(ctx context.Context, b breach, referee bool) {
	if !x.room() {
		for _, id := range []string{b.refused, b.coded} {
			if id != "" {
				x.skip(id, noRoom)
			}
		}
		return
	}
	who, number := "a player", b.player
	if referee {
		who, number = "a referee", b.judge
	}
	method, q := x.registration(referee, fmt.Sprintf("Applicant %d", x.names+1), x.spare.url)
	meta, _ := q["player_meta"].(map[string]any)
	speaker := x.players[0]
	if referee {
		meta, _ = q["referee_meta"].(map[string]any)
		speaker = x.referees[0]
	}
	b.change(q, meta)
	r := x.sendOf(ctx, speaker, method, q)
	problem := notRefused(r)
	if b.refused != "" {
		x.judge(b.refused, when(problem != "", "%s %s: %s", who, b.what, problem), &r.Exchange)
	}
	if b.coded != "" {
		x.judge(b.coded, when(refusedWith(r, b.code, number) != "", "%s %s: %s", who, b.what, refusedWith(r, b.code, number)), &r.Exchange)
	}
	switch {
	case x.admission(r, referee) != "":
		if problem == "" {
			x.judge("M-REF-14", refusalProblem(r, referee), &r.Exchange)
		}
	case referee:
		x.adopt(r, true, x.spare)
		x.openSpare()
	default:
		x.adopt(r, false, x.spare)
		x.openSpare()
	}
}

// notRefused says why an answer is no refusal; "" when it is.
func notRefused(r *reply) string {
	if r.Error != "" {
		return r.Error
	}
	if r.fault != nil {
		return ""
	}
	status, _ := r.result.text("status")
	kind, _ := r.result.text("message_type")
	switch {
	case r.result == nil:
		return r.trouble()
	case strings.EqualFold(status, protocol.StatusRejected), kind == protocol.TypeLeagueError, r.result["success"].Kind() == 'f', objectOf(r.result["error"]) != nil:
		return ""
	case status != "":
		return "answered with status " + quoted(status)
	}
	return "answered as if nothing were wrong"
}

// refusedWith says why an answer is no refusal with this code of the catalogue,
// or this number; "" when it is.
func refusedWith(r *reply, code protocol.Code, number int) string {
	if problem := notRefused(r); problem != "" {
		return problem
	}
	var found []string
	if r.fault != nil {
		if r.fault.code == number || r.fault.catalogued() == string(code) {
			return ""
		}
		found = append(found, fmt.Sprintf("the error %d", r.fault.code), r.fault.catalogued())
	}
	for _, m := range []members{r.result, objectOf(r.result["error"])} {
		got, _ := m.text("error_code")
		if got == string(code) {
			return ""
		}
		if got != "" {
			found = append(found, got)
		}
	}
	return fmt.Sprintf("refused, but without %s: %s", code, strings.TrimSpace(strings.Join(found, " ")))
}

// refusalProblem says what is wrong with a refused registration.
func refusalProblem(r *reply, referee bool) string {
	if r.fault != nil {
		return when(r.fault.message == "", "the error has no message")
	}
	return firstOf(r.result.filled("reason"), when(r.result[idName(referee)] != nil && r.result[idName(referee)].Kind() != 'n', "%s is %s", idName(referee), valueOf(r.result, idName(referee))))
}
