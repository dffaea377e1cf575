package dialect

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A start is a match that a referee of ours was told to conduct when it had no
// room for one more.
type start struct {
	matchID string
	body    []byte // the assignment, as the protocol has it
	serve   func(ctx context.Context, body []byte) []byte
}

// maxWaiting is how many matches wait for room. A round has no more.
const maxWaiting = 100

// begin has a referee of ours begin the matches that a request tells it to begin
// in a form that the protocol does not have. Done is false where the request is
// none of those, and is to be answered as any other.
func (o *own) begin(ctx context.Context, q *incoming, serve func(ctx context.Context, body []byte) []byte) (answer []byte, done bool) {
	at := o.settled(ctx)
	switch {
	case at == nil && q.kind == protocol.TypeRoundAnnouncement, at != nil && at.strict && q.kind == protocol.TypeRoundAnnouncement:
		return nil, false
	case at != nil && !at.referee:
		o.hear(q)
		return nil, false
	case q.kind == protocol.TypeRoundAnnouncement:
		return o.beginRound(ctx, q, at, serve)
	case !q.foreign && (q.params.names("attempt") || q.params.names("timeouts") || q.params.names("scoring")): // nobody else has these
		return nil, false
	}
	q.params = o.assignment(q.params, at)
	q.foreign, q.method = true, protocol.StartMatch.Name
	return o.adorn(q, o.assign(ctx, q.params.text("match_id"), q.canonical(), at, serve)), true
}

// hear takes note of a round that is announced to a player: some never say it
// again.
func (o *own) hear(q *incoming) {
	if q.kind != protocol.TypeRoundAnnouncement {
		return
	}
	for _, m := range announced(q.params) {
		if id := m.text("match_id"); id != "" && len(id) <= maxMatchID {
			o.learn(id, func(a *acquaintance) { a.round = max(1, q.params.number("round_id")) })
		}
	}
}

// maxMatchID is how many bytes the id of a match has that is remembered.
const maxMatchID = 200

// announced are the matches of a ROUND_ANNOUNCEMENT.
func announced(params object) []object {
	var list []jsontext.Value
	if v := params.get("matches"); v.Kind() != '[' || json.Unmarshal(v, &list) != nil {
		return nil
	}
	matches := make([]object, 0, min(len(list), maxWaiting))
	for _, raw := range list[:min(len(list), maxMatches)] {
		if m := objectOf(raw); m != nil {
			matches = append(matches, m)
		}
	}
	return matches
}

// beginRound begins those matches of a round that are this referee's.
func (o *own) beginRound(ctx context.Context, q *incoming, at *place, serve func(ctx context.Context, body []byte) []byte) ([]byte, bool) {
	if q.params.get("matches").Kind() != '[' {
		return nil, false
	}
	refused, why := 0, object{}
	for _, m := range announced(q.params) {
		if forfeited := m.get("forfeited_by"); !o.conducts(at, m) || forfeited != nil && string(forfeited) != "[]" {
			continue
		}
		for _, name := range []string{"league_id", "round_id", "game_type"} {
			if v := q.params.get(name); v != nil {
				m.fill(name, v)
			}
		}
		one := &incoming{id: jsontext.Value("1"), method: protocol.StartMatch.Name, params: o.assignment(m, at)}
		answer := o.assign(ctx, m.text("match_id"), one.canonical(), at, serve)
		if problem := objectOf(errorOf(answer)); problem != nil {
			refused, why = refused+1, problem
		}
	}
	if refused > 0 { // one line, however many: anybody may announce
		o.options.Log.Warn().Int("matches", refused).Str("error", why.text("message")).
			Str("event_type", protocol.EventAnnouncedMatchesNotStarted).Msg("matches of an announced round cannot be begun")
	}
	if q.id == nil {
		return nil, true
	}
	o.complete(q)
	ack := protocol.Ack{
		Envelope: protocol.Envelope{
			Protocol: protocol.Name, MessageType: protocol.TypeRoundAnnouncementAck, Sender: protocol.RefereeSender(at.agentID),
			Timestamp: o.options.Clock.Timestamp(), ConversationID: q.params.text("conversation_id"),
		},
		Status: protocol.StatusAcknowledged, RefereeID: at.agentID, RoundID: q.params.number("round_id"),
	}
	return o.adorn(q, respond(q.id, encoded(ack))), true
}

// respond is a JSON-RPC response.
func respond(id, result jsontext.Value) []byte {
	return object{{"jsonrpc", jsontext.Value(`"2.0"`)}, {"result", result}, {"id", id}}.appendTo(nil)
}

func errorOf(answer []byte) jsontext.Value {
	response := objectOf(answer)
	return response.get("error")
}

// conducts tells whether a match was announced as this referee's.
func (o *own) conducts(at *place, match object) bool {
	if id := match.text("referee_id"); id != "" && strings.EqualFold(protocol.AgentOf(id), at.agentID) {
		return true
	}
	endpoint := match.text("referee_endpoint")
	return endpoint != "" && samePlace(endpoint, o.options.Endpoint)
}

// samePlace tells whether two endpoints are the same. The names that a machine
// has for itself mean the same.
func samePlace(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil {
		return a == b
	}
	return x.Scheme == y.Scheme && x.Port() == y.Port() && x.Path == y.Path && hostOf(x) == hostOf(y)
}

func hostOf(u *url.URL) string {
	switch host := strings.ToLower(u.Hostname()); host {
	case "127.0.0.1", "::1":
		return "localhost"
	default:
		return host
	}
}

// assign hands the referee a match, or keeps it until there is room: others
// know no referee that is busy.
func (o *own) assign(ctx context.Context, matchID string, body []byte, at *place, serve func(ctx context.Context, body []byte) []byte) []byte {
	answer := serve(ctx, body)
	response := objectOf(answer)
	result := objectOf(response.get("result"))
	if result.text("status") != protocol.StatusBusy || at == nil || at.strict || !o.await(start{matchID, body, serve}) {
		return answer
	}
	o.startWaiting(context.WithoutCancel(ctx)) // there may be room by now
	result.set("status", quoted(protocol.StatusAccepted))
	result.drop("reason")
	response.set("result", result.appendTo(nil))
	return response.appendTo(nil)
}

// await keeps a match until there is room; false when too many wait.
func (o *own) await(s start) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.ContainsFunc(o.waiting, func(w start) bool { return w.matchID == s.matchID }) {
		return true
	}
	if len(o.waiting) >= maxWaiting {
		return false
	}
	o.waiting = append(o.waiting, s)
	return true
}

// startWaiting begins matches that wait, as far as there is room. Who comes while
// another is at it has it look again: there may be more room than it has seen.
func (o *own) startWaiting(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.again = true
	if o.starting {
		return
	}
	o.starting = true
	for o.again {
		o.again = false
		for len(o.waiting) > 0 && o.startNext(ctx) {
		}
	}
	o.starting = false
}

// startNext begins the first match that waits, if there is room. O.mu is held, but
// not while the referee is asked.
func (o *own) startNext(ctx context.Context) (started bool) {
	next := o.waiting[0]
	o.mu.Unlock()
	response := objectOf(next.serve(ctx, next.body))
	result := objectOf(response.get("result"))
	o.mu.Lock()
	if result.text("status") == protocol.StatusBusy {
		return false
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(w start) bool { return w.matchID == next.matchID })
	return true
}

// assignment makes a MATCH_ASSIGNMENT of what others say when they hand over a
// match. What is there in the protocol's form stays; the rest is as usual.
func (o *own) assignment(said object, at *place) object {
	a := slices.Clone(said)
	now, matchID := o.options.Clock.Now(), said.text("match_id")
	sender := said.text("sender")
	a.set("protocol", quoted(protocol.Name))
	a.set("message_type", quoted(protocol.TypeMatchAssignment))
	a.set("sender", quoted(senderIn(protocol.TypeMatchAssignment, sender, "")))
	a.mendTime("timestamp")
	a.fill("timestamp", quoted(protocol.FormatTimestamp(now)))
	a.fill("conversation_id", quoted(protocol.MatchConversation(matchID, 1)))
	if at != nil && !at.strict && at.leagueID != "" {
		a.set("league_id", quoted(at.leagueID)) // a referee is in one league
	}
	a.fill("league_id", quoted(usualLeague))
	a.plainNumber("round_id")
	a.fill("round_id", encoded(roundOf(matchID)))
	a.fill("attempt", jsontext.Value("1"))
	a.fill("game_type", quoted(o.gameOf(matchID)))
	foreign := at != nil && !at.strict
	for side, name := range []string{"player_A", "player_B"} {
		if seat := objectOf(said.get(name)); !seat.holds("player_id") || !seat.holds("endpoint") {
			a.set(name, encoded(playerOn(said, side, foreign)))
		}
	}
	a.fill("timeouts", encoded(protocol.DefaultTimeouts()))
	a.fill("retry_policy", encoded(protocol.DefaultRetryPolicy()))
	a.fill("scoring", encoded(protocol.Scoring{Win: 3, Draw: 1}))
	return a
}

// playerOn finds the player of a side in what others say of a match: player_A_id,
// player_a_id, player1_id or player_a, with player_A_endpoint or player_a_url.
func playerOn(said object, side int, foreign bool) protocol.AssignedPlayer {
	var ids, endpoints []string
	for _, prefix := range sideNames[side] {
		ids = append(ids, prefix+"_id", prefix)
		endpoints = append(endpoints, prefix+"_endpoint", prefix+"_url")
	}
	p := protocol.AssignedPlayer{PlayerID: said.firstText(ids), Endpoint: said.firstText(endpoints)}
	if n, numbered := protocol.ParsePlayerID(p.PlayerID); foreign && p.Endpoint == "" && numbered && n < 100 {
		p.Endpoint = fmt.Sprintf("http://localhost:81%02d/mcp", n) // as spec 003 numbers the ports
	}
	if p.PlayerID != "" && protocol.ValidName(p.PlayerID) {
		p.DisplayName = p.PlayerID
	}
	return p
}

// sideNames are the names of the two sides in members of assignments.
var sideNames = [2][]string{{"player_A", "player_a", "player1"}, {"player_B", "player_b", "player2"}}

// startedWord is how the one who told the referee to begin wants to hear that it
// has.
func startedWord(method, status string) string {
	switch strings.ToLower(method) {
	case "assign_match":
		return strings.ToLower(status)
	case "start_match_command":
		if status == protocol.StatusAccepted {
			return "STARTED"
		}
	}
	return status
}
