package dialect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// Facts are what an agent knows when it translates a request.
type Facts struct {
	Now      time.Time
	League   string // the id of the league that the agent is in or runs; "" for none
	AgentID  string // "" before the agent is in a league
	OurAgent bool   // the manager of that league proves itself, so it is one of our agents
	Game     string // of the match that the request is about
	Match    Match  // the zero value for a match that is not known
}

// A Match is what an agent knows of a match from the messages about it.
type Match struct {
	Game     string // as the invitation names it; "" if it does not
	Lenient  bool   // the league accepts answers without token
	Referee  string // the sender of the invitation
	Opponent string // as the invitation names it
	CalledAs string // the player_id of the last question, if it is not the assigned id
	InParams bool   // its referee reads replies that are shaped as requests
}

// ThirdPartyManager tells whether the agent is in the league of a third-party manager.
func (f *Facts) ThirdPartyManager() bool { return f.AgentID != "" && !f.OurAgent }

// UsualGame is the game of a match if no agent names another.
const UsualGame = "even_odd"

// Complete puts the params of a request into the form of the specification, and tells
// whether it changed them. It corrects harmless deviations in every form. It adds all
// missing members if the form is third-party or there is no envelope (spec 003
// §5.6.1). Any other error stays.
func (q *Request) Complete(f *Facts) (changed bool) {
	if q.Kind == "" {
		return q.ThirdParty
	}
	p := &q.Params
	changed = q.ThirdParty
	for _, name := range []string{"timestamp", "deadline"} {
		changed = correctTime(p, name) || changed
	}
	if said := p.Text("message_type"); said != q.Kind && (strings.EqualFold(said, q.Kind) || said != "" && q.ThirdParty && byType[said] == nil) {
		p.Set("message_type", protocol.Quote(q.Kind))
		changed = true
	}
	changed = q.correct(f) || changed
	changed = q.addLeague(f) || changed
	if q.ThirdParty || !p.Has("timestamp") && !p.Has("conversation_id") {
		changed = q.addMissing(f) || changed
	}
	return changed || q.Kind == protocol.TypeMatchResultReport // Assigned.Complete may add to it
}

// correct replaces third-party names and values in a message.
func (q *Request) correct(f *Facts) (changed bool) {
	p := &q.Params
	switch q.Kind {
	case protocol.TypeGameInvitation:
		changed = correctInvitation(p)
	case protocol.TypeChooseParityCall:
		changed = rename(p, nested[q.Kind], "context")
		changed = clearContext(p) || changed
	case protocol.TypeGameOver:
		changed = readOwnResult(p, f)
		changed = correctResult(p) || changed
	case protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted:
		changed = correctRound(p, q.Kind)
	case protocol.TypeLeagueRegisterRequest:
		changed = q.correctMeta("player_meta")
	case protocol.TypeRefereeRegisterRequest:
		changed = q.correctMeta("referee_meta")
	}
	sender := p.Text("sender")
	if strings.HasPrefix(sender, protocol.ManagerSender+":") { // league_manager:LM01
		p.Set("sender", protocol.Quote(protocol.ManagerSender))
		changed = true
	}
	if q.ThirdParty {
		changed = correctNumber(p, "round_id") || changed
	}
	referee := f.Match.Referee
	if ofMatch(q.Kind) && referee != "" && sender != "" && sender != referee && strings.EqualFold(protocol.AgentOf(sender), protocol.AgentOf(referee)) {
		p.Set("sender", protocol.Quote(referee)) // another spelling of its name
		changed = true
	}
	return changed
}

// addLeague adds the league and the game to a request without them, if the agent is in a
// league.
func (q *Request) addLeague(f *Facts) (changed bool) {
	if f.League == "" {
		return false
	}
	switch q.Kind {
	case protocol.TypeGameInvitation, protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted,
		protocol.TypeLeagueCompleted, protocol.TypeMatchResultReport, protocol.TypeLeagueQuery:
		changed = Fill(&q.Params, "league_id", protocol.Quote(f.League))
	}
	if ofMatch(q.Kind) && q.Kind != protocol.TypeGameError || q.Kind == protocol.TypeMatchResultReport {
		changed = Fill(&q.Params, "game_type", protocol.Quote(f.Game)) || changed
	}
	return changed
}

// correctMeta corrects the description of an agent in a registration, and completes it in
// a third-party form. The name of the protocol in place of its version counts as no
// version.
func (q *Request) correctMeta(name string) (changed bool) {
	p := &q.Params
	meta := protocol.ParseObject(p.Get(name))
	if meta == nil {
		return false
	}
	if meta.Text("protocol_version") == protocol.Name {
		meta.Drop("protocol_version")
		changed = true
		q.Warning = fmt.Sprintf("protocol_version %q is not a version; assuming %s", protocol.Name, protocol.Version)
	}
	if q.ThirdParty {
		if id := protocol.AgentOf(p.Text("sender")); id != "" {
			Fill(&meta, "display_name", protocol.Quote(Short(id)))
		}
		Fill(&meta, "version", protocol.Quote("1.0.0"))
		Fill(&meta, "game_types", jsontext.Value(`["`+UsualGame+`"]`))
		if name == "referee_meta" {
			Fill(&meta, "max_concurrent_matches", jsontext.Value("1"))
		}
		changed = true
	}
	if changed {
		p.Set(name, meta.Append(nil))
	}
	return changed
}

// addMissing adds all members that the message lacks and the agent knows. The protocol
// itself completes registrations and queries.
func (q *Request) addMissing(f *Facts) (changed bool) {
	p := &q.Params
	add := func(name string, value jsontext.Value) {
		if p.Get(name) == nil {
			p.Set(name, value)
			changed = true
		}
	}
	switch q.Kind {
	case protocol.TypeRefereeRegisterRequest, protocol.TypeLeagueRegisterRequest, protocol.TypeLeagueQuery:
		return false
	}
	matchID := p.Text("match_id")
	conversation := fmt.Sprintf("conv-%d", f.Now.UnixNano())
	if matchID != "" && ofMatch(q.Kind) {
		conversation = protocol.MatchConversation(matchID, 1)
	}
	add("protocol", protocol.Quote(protocol.Name))
	add("message_type", protocol.Quote(q.Kind))
	add("timestamp", protocol.Quote(protocol.FormatTimestamp(f.Now)))
	add("conversation_id", protocol.Quote(conversation))
	if sender := senderOf(q.Kind, p.Text("sender"), f.Match.Referee); sender != p.Text("sender") {
		p.Set("sender", protocol.Quote(sender))
		changed = true
	}
	league := protocol.Quote(cmp.Or(f.League, UsualLeague))
	switch q.Kind {
	case protocol.TypeGameInvitation:
		add("league_id", league)
		add("round_id", encoded(roundOf(matchID)))
		add("game_type", protocol.Quote(f.Game))
		add("role_in_match", protocol.Quote(protocol.RolePlayerA))
		add("opponent_id", protocol.Quote(Unknown))
	case protocol.TypeChooseParityCall, protocol.TypeGameMoveCall:
		add("player_id", protocol.Quote(cmp.Or(f.AgentID, Unknown)))
		add("game_type", protocol.Quote(f.Game))
		add("deadline", protocol.Quote(protocol.FormatTimestamp(f.Now.Add(protocol.ChooseParity.Timeout))))
	case protocol.TypeGameOver:
		add("game_type", protocol.Quote(f.Game))
	case protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted:
		add("league_id", league)
		if q.Kind != protocol.TypeLeagueCompleted {
			add("round_id", jsontext.Value("1"))
		}
	}
	return changed
}

// roundOf is the round in the id of a match; 1 if there is none.
func roundOf(matchID string) int {
	if id, ok := protocol.ParseMatchID(matchID); ok {
		return id.Round
	}
	return 1
}

// senderOf is the sender of a message whose caller gives a name in another form, or none.
// Referee is the sender of the invitation to the match; "" if it is not known.
func senderOf(messageType, said, referee string) string {
	_, id, typed := strings.Cut(said, ":")
	switch {
	case said == protocol.ManagerSender || typed && id != "" && (strings.HasPrefix(said, "player:") || strings.HasPrefix(said, "referee:")):
		return said
	case !ofMatch(messageType) && messageType != protocol.TypeMatchResultReport:
		return protocol.ManagerSender
	case said != "":
		return protocol.RefereeSender(protocol.AgentOf(said))
	}
	return cmp.Or(referee, protocol.RefereeSender(Unknown))
}
