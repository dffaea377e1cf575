package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// usualGame is the game of a match if nothing else is known.
const usualGame = "even_odd"

// complete puts the params of a request into the form of the protocol, and tells
// whether the request is another than it was. A request in the protocol's form
// has harmless deviations put right: see mend and supply. One that is not in the
// protocol's form at all, or has no envelope (spec 003 §5.6.1), gets what it
// lacks, too. Whatever else is wrong stays wrong.
func (o *own) complete(q *incoming) (changed bool) {
	if q.kind == "" {
		return q.foreign
	}
	p := &q.params
	changed = q.foreign
	for _, name := range []string{"timestamp", "deadline"} {
		changed = p.mendTime(name) || changed
	}
	if said := p.text("message_type"); said != q.kind && (strings.EqualFold(said, q.kind) || said != "" && q.foreign && methodOf(said) == "") {
		p.set("message_type", quoted(q.kind))
		changed = true
	}
	changed = o.mend(q) || changed
	changed = o.supply(q) || changed
	enveloped := p.names("timestamp") || p.names("conversation_id")
	if q.foreign || !enveloped {
		changed = o.fill(q) || changed
	}
	return changed || q.kind == protocol.TypeMatchResultReport // what its sender left out is added to one in plain form
}

// mend puts the words of a message into those of the protocol.
func (o *own) mend(q *incoming) (changed bool) {
	p := &q.params
	rename := func(from, to string) {
		if v := p.get(from); v != nil && p.get(to) == nil {
			p.drop(from)
			p.set(to, v)
			changed = true
		}
	}
	switch q.kind {
	case protocol.TypeGameInvitation:
		if inner := p.object(nested[q.kind]); inner != nil {
			for _, name := range nestedInvitation {
				p.adopt(name, inner.get(name))
			}
			changed = true
		}
		rename("opponent", "opponent_id")
		if role := p.text("role_in_match"); role != strings.ToUpper(role) {
			p.set("role_in_match", quoted(strings.ToUpper(role)))
			changed = true
		}
	case protocol.TypeChooseParityCall:
		rename(nested[q.kind], "context")
		changed = p.clearContext() || changed
	case protocol.TypeGameOver:
		changed = o.readOutcome(p) || changed
		changed = fillResult(p) || changed
	case protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted:
		changed = mendRound(p, q.kind)
	case protocol.TypeLeagueRegisterRequest:
		changed = o.introduce(q, "player_meta")
	case protocol.TypeRefereeRegisterRequest:
		changed = o.introduce(q, "referee_meta")
	}
	if said := p.text("sender"); strings.HasPrefix(said, protocol.ManagerSender+":") { // league_manager:LM01
		p.set("sender", quoted(protocol.ManagerSender))
		changed = true
	}
	if q.foreign {
		changed = p.plainNumber("round_id") || changed
	}
	if !ofMatch(q.kind) {
		return changed
	}
	inviter, sender := o.match(p.text("match_id")).sender, p.text("sender")
	if inviter != "" && sender != "" && sender != inviter && strings.EqualFold(protocol.AgentOf(sender), protocol.AgentOf(inviter)) {
		p.set("sender", quoted(inviter)) // its referee, who spells its name otherwise
		return true
	}
	return changed
}

// supply adds the league and the game to a request that leaves them out, has them
// null or empty, if this agent is in one league.
func (o *own) supply(q *incoming) (changed bool) {
	league := o.league()
	if league == "" {
		return false
	}
	p := &q.params
	add := func(name, value string) {
		if v := p.get(name); v == nil || string(v) == `""` {
			p.set(name, quoted(value))
			changed = true
		}
	}
	switch q.kind {
	case protocol.TypeGameInvitation, protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted,
		protocol.TypeLeagueCompleted, protocol.TypeMatchResultReport, protocol.TypeLeagueQuery:
		add("league_id", league)
	}
	if ofMatch(q.kind) && q.kind != protocol.TypeGameError || q.kind == protocol.TypeMatchResultReport {
		add("game_type", o.gameOf(p.text("match_id")))
	}
	return changed
}

// clearContext drops members of a question's context that say nothing: null, the
// empty string, an empty object, and a round 0. Nulls in your_standings are zeros.
func (o *object) clearContext() (changed bool) {
	context := objectOf(o.get("context"))
	if context == nil {
		return false
	}
	before := len(context)
	standings := objectOf(context.get("your_standings"))
	for i := range standings {
		if v := &standings[i].value; v.Kind() == 'n' || string(*v) == `""` {
			*v = jsontext.Value("0")
			changed = true
		}
	}
	if changed {
		context.set("your_standings", standings.appendTo(nil))
	}
	context = slices.DeleteFunc(context, func(m member) bool {
		return m.value.Kind() == 'n' || string(m.value) == `""` || string(m.value) == "{}" || m.name == "round_id" && string(m.value) == "0"
	})
	if changed = changed || len(context) < before; changed {
		o.set("context", context.appendTo(nil))
	}
	return changed
}

// introduce puts what an agent says of itself in a registration under the
// protocol's names. The name of the protocol in place of its version counts as
// no version. A registration in another form than the protocol's gets what it lacks.
func (o *own) introduce(q *incoming, meta string) (changed bool) {
	p := &q.params
	said := objectOf(p.get(meta))
	if said == nil {
		return false
	}
	if said.text("protocol_version") == protocol.Name {
		said.drop("protocol_version")
		changed = true
		o.options.Log.Warn().Str("sender", short(p.text("sender"))).
			Str("event_type", protocol.EventVersionAssumed).Msgf("protocol_version %q is not a version; assuming %s", protocol.Name, protocol.Version)
	}
	if q.foreign {
		if id := protocol.AgentOf(p.text("sender")); id != "" {
			said.fill("display_name", quoted(short(id)))
		}
		said.adopt("version", quoted("1.0.0"))
		said.adopt("game_types", jsontext.Value(`["`+usualGame+`"]`))
		if meta == "referee_meta" {
			said.adopt("max_concurrent_matches", jsontext.Value("1"))
		}
		changed = true
	}
	if changed {
		p.set(meta, said.appendTo(nil))
	}
	return changed
}

// mendRound puts ROUND_COMPLETED and standings right where managers were seen to deviate:
// the round before the first counts as the first, ROUND_COMPLETED may lack next_round_id,
// and an incomplete summary is dropped.
func mendRound(p *object, kind string) (changed bool) {
	if string(p.get("round_id")) == "0" {
		p.set("round_id", jsontext.Value("1"))
		changed = true
	}
	if kind != protocol.TypeRoundCompleted {
		return changed
	}
	changed = p.supply("next_round_id", jsontext.Value("null")) || changed
	summary := p.object("summary")
	for _, name := range []string{"total_matches", "wins", "draws", "technical_losses"} {
		if p.names("summary") && !summary.holds(name) {
			p.drop("summary")
			changed = true
		}
	}
	return changed
}

// plainNumber has a number stand without what others have around it: 1 for "1", "R1" or
// "ROUND_1".
func (o *object) plainNumber(name string) (changed bool) {
	digits := strings.TrimLeft(o.text(name), "ROUNDround_")
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && digits == strconv.Itoa(n) {
		o.set(name, encoded(n))
		return true
	}
	return false
}

// ofMatch tells whether a message is one that a referee sends to a player.
func ofMatch(kind string) bool {
	switch kind {
	case protocol.TypeGameInvitation, protocol.TypeChooseParityCall, protocol.TypeGameMoveCall, protocol.TypeGameOver, protocol.TypeGameError:
		return true
	}
	return false
}

// fill gives a message what it lacks, as far as this agent can know it.
func (o *own) fill(q *incoming) (changed bool) {
	p := &q.params
	lacks := func(name string, value jsontext.Value) {
		if !p.holds(name) {
			p.set(name, value)
			changed = true
		}
	}
	switch q.kind {
	case protocol.TypeRefereeRegisterRequest, protocol.TypeLeagueRegisterRequest, protocol.TypeLeagueQuery:
		return false // the protocol knows itself what the first form of these lacked
	}
	now, matchID := o.options.Clock.Now(), p.text("match_id")
	known, at := o.match(matchID), o.place()
	if at == nil {
		at = &place{leagueID: usualLeague, agentID: nameless}
	}
	conversation := fmt.Sprintf("conv-%d", now.UnixNano())
	if matchID != "" && ofMatch(q.kind) {
		conversation = protocol.MatchConversation(matchID, 1)
	}
	lacks("protocol", quoted(protocol.Name))
	lacks("message_type", quoted(q.kind))
	lacks("timestamp", quoted(protocol.FormatTimestamp(now)))
	lacks("conversation_id", quoted(conversation))
	sender := senderIn(q.kind, p.text("sender"), known.sender)
	if sender != p.text("sender") {
		p.set("sender", quoted(sender))
		changed = true
	}
	switch q.kind {
	case protocol.TypeGameInvitation:
		round := known.round
		if round == 0 {
			round = roundOf(matchID)
		}
		lacks("league_id", quoted(at.leagueID))
		lacks("round_id", encoded(round))
		lacks("game_type", quoted(o.gameOf(matchID)))
		lacks("role_in_match", quoted(protocol.RolePlayerA))
		lacks("opponent_id", quoted(nameless))
	case protocol.TypeChooseParityCall, protocol.TypeGameMoveCall:
		lacks("player_id", quoted(at.agentID))
		lacks("game_type", quoted(o.gameOf(matchID)))
		lacks("deadline", quoted(protocol.FormatTimestamp(now.Add(patience))))
	case protocol.TypeGameOver:
		lacks("game_type", quoted(o.gameOf(matchID)))
	case protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted:
		lacks("league_id", quoted(at.leagueID))
		if q.kind != protocol.TypeLeagueCompleted {
			lacks("round_id", jsontext.Value("1"))
		}
	}
	return changed
}

// patience is how long a player has to decide where nameless says (spec 003 table
// 5).
const patience = 30 * time.Second

// roundOf is the round that a match's id names, 1 where it names none.
func roundOf(matchID string) int {
	if id, ok := protocol.ParseMatchID(matchID); ok {
		return id.Round
	}
	return 1
}

// senderIn is the sender of a message of a kind whose caller gave a name of
// another form, or none.
func senderIn(kind, said, inviter string) string {
	_, id, typed := strings.Cut(said, ":")
	switch {
	case said == protocol.ManagerSender || typed && id != "" && (strings.HasPrefix(said, "player:") || strings.HasPrefix(said, "referee:")):
		return said
	case !ofMatch(kind) && kind != protocol.TypeMatchResultReport:
		return protocol.ManagerSender
	case said != "":
		return protocol.RefereeSender(protocol.AgentOf(said))
	case inviter != "":
		return inviter
	}
	return protocol.RefereeSender(nameless)
}

// fillResult gives the result in a GAME_OVER the members that follow from others.
// A result may stand beside the envelope, and a winner or a status is enough. A
// result that has neither stays as it is.
func fillResult(p *object) (changed bool) {
	result := objectOf(p.get("game_result"))
	if result == nil {
		result = only(slices.Clone(*p), append([]string{"status", "choices", "drawn_number", "number_parity"}, winners...)...)
	}
	before := string(result.appendTo(nil))
	for _, name := range winners {
		if v := result.raw(name); v != nil {
			result.supply("winner_player_id", v)
		}
	}
	if isDraw(result.text("winner_player_id")) {
		result.set("winner_player_id", jsontext.Value("null"))
	}
	word := strings.ToUpper(result.text("status"))
	switch {
	case slices.Contains([]string{protocol.StatusWin, protocol.StatusDraw, protocol.StatusTechnicalLoss}, word):
		result.set("status", quoted(word))
	case result.holds("winner_player_id"):
		result.set("status", quoted(protocol.StatusWin))
	case result.names("winner_player_id"):
		result.set("status", quoted(protocol.StatusDraw))
	default:
		return false
	}
	if !result.holds("choices") {
		result.set("choices", jsontext.Value("{}"))
	}
	if after := result.appendTo(nil); string(after) != before || !p.holds("game_result") {
		p.set("game_result", after)
		return true
	}
	return false
}
