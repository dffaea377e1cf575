package dialect

import (
	"cmp"
	"fmt"
	"slices"
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

// thirdPartyManager tells whether the agent is in the league of a third-party manager.
func (f *Facts) thirdPartyManager() bool { return f.AgentID != "" && !f.OurAgent }

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
	p, before := &q.Params, slices.Clone(q.Params)
	correctTime(p, "timestamp")
	correctTime(p, "deadline")
	if said := p.Text("message_type"); said != q.Kind && (strings.EqualFold(said, q.Kind) || said != "" && q.ThirdParty && byType[said] == nil) {
		p.Set("message_type", protocol.Quote(q.Kind))
	}
	q.correct(f)
	q.addLeague(f)
	if q.ThirdParty || !p.Has("timestamp") && !p.Has("conversation_id") {
		q.addMissing(f)
	}
	return q.ThirdParty || !same(q.Params, before) || q.Kind == protocol.TypeMatchResultReport // Assigned.Complete may add to it
}

// correct replaces third-party names and values in a message.
func (q *Request) correct(f *Facts) {
	p := &q.Params
	switch q.Kind {
	case protocol.TypeGameInvitation:
		correctInvitation(p)
	case protocol.TypeChooseParityCall:
		rename(p, byType[q.Kind].nested, "context")
		clearContext(p)
	case protocol.TypeGameOver:
		readOwnResult(p, f)
		correctResult(p)
	case protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted:
		correctRound(p, q.Kind)
	case protocol.TypeLeagueCompleted:
		correctChampion(p)
	case protocol.TypeLeagueRegisterRequest:
		q.correctMeta("player_meta")
	case protocol.TypeRefereeRegisterRequest:
		q.correctMeta("referee_meta")
	}
	sender, referee := p.Text("sender"), f.Match.Referee
	if strings.HasPrefix(sender, protocol.ManagerSender+":") { // league_manager:LM01
		p.Set("sender", protocol.Quote(protocol.ManagerSender))
	}
	if q.ThirdParty {
		correctNumber(p, "round_id")
	}
	if inMatch(q.Kind) && referee != "" && sender != "" && strings.EqualFold(protocol.AgentOf(sender), protocol.AgentOf(referee)) {
		p.Set("sender", protocol.Quote(referee)) // another spelling of its name
	}
}

// correctMeta corrects the description of an agent in a registration, and completes it in
// a third-party form. The name of the protocol in place of its version counts as no
// version.
func (q *Request) correctMeta(name string) {
	meta := protocol.ParseObject(q.Params.Get(name))
	if meta == nil {
		return
	}
	if meta.Text("protocol_version") == protocol.Name {
		meta.Drop("protocol_version")
		q.Warning = fmt.Sprintf("protocol_version %q is not a version; assuming %s", protocol.Name, protocol.Version)
	}
	if q.ThirdParty {
		if id := protocol.AgentOf(q.Params.Text("sender")); id != "" {
			Fill(&meta, "display_name", protocol.Quote(Short(id)))
		}
		Fill(&meta, "version", protocol.Quote("1.0.0"))
		Fill(&meta, "game_types", jsontext.Value(`["`+UsualGame+`"]`))
		if name == "referee_meta" {
			Fill(&meta, "max_concurrent_matches", jsontext.Value("1"))
		}
	}
	q.Params.Set(name, meta.Append(nil))
}

// completed are the members that an agent adds to a message without them. The protocol
// itself completes registrations and queries.
var completed = map[string][]string{
	protocol.TypeGameInvitation:    {"league_id", "round_id", "game_type", "role_in_match", "opponent_id"},
	protocol.TypeChooseParityCall:  {"player_id", "game_type", "deadline"},
	protocol.TypeGameMoveCall:      {"player_id", "game_type", "deadline"},
	protocol.TypeGameOver:          {"game_type"},
	protocol.TypeRoundAnnouncement: {"league_id", "round_id"},
	protocol.TypeStandingsUpdate:   {"league_id", "round_id"},
	protocol.TypeRoundCompleted:    {"league_id", "round_id"},
	protocol.TypeLeagueCompleted:   {"league_id"},
	protocol.TypeMatchResultReport: {"league_id", "game_type"},
	protocol.TypeLeagueQuery:       {"league_id"},
}

// addLeague adds the league and the game to a request without them, if the agent is in a
// league.
func (q *Request) addLeague(f *Facts) {
	for name, id := range map[string]string{"league_id": f.League, "game_type": f.Game} {
		if f.League != "" && slices.Contains(completed[q.Kind], name) {
			Fill(&q.Params, name, protocol.Quote(id))
		}
	}
}

// addMissing adds all members that the message lacks and the agent knows.
func (q *Request) addMissing(f *Facts) {
	switch q.Kind {
	case protocol.TypeRefereeRegisterRequest, protocol.TypeLeagueRegisterRequest, protocol.TypeLeagueQuery:
		return
	}
	p := &q.Params
	matchID := p.Text("match_id")
	known := map[string]string{
		"protocol":        protocol.Name,
		"message_type":    q.Kind,
		"timestamp":       protocol.FormatTimestamp(f.Now),
		"conversation_id": fmt.Sprintf("conv-%d", f.Now.UnixNano()),
		"league_id":       cmp.Or(f.League, UsualLeague),
		"game_type":       f.Game,
		"role_in_match":   protocol.RolePlayerA,
		"opponent_id":     Unknown,
		"player_id":       cmp.Or(f.AgentID, Unknown),
		"deadline":        protocol.FormatTimestamp(f.Now.Add(protocol.ChooseParity.Timeout)),
	}
	if matchID != "" && inMatch(q.Kind) {
		known["conversation_id"] = protocol.MatchConversation(matchID, 1)
	}
	p.Set("sender", protocol.Quote(senderOf(q.Kind, p.Text("sender"), f.Match.Referee)))
	for _, name := range append([]string{"protocol", "message_type", "timestamp", "conversation_id"}, completed[q.Kind]...) {
		switch {
		case p.Get(name) != nil:
		case name == "round_id":
			p.Set(name, encoded(roundOf(matchID)))
		default:
			p.Set(name, protocol.Quote(known[name]))
		}
	}
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
	case !inMatch(messageType) && messageType != protocol.TypeMatchResultReport:
		return protocol.ManagerSender
	case said != "":
		return protocol.RefereeSender(protocol.AgentOf(said))
	}
	return cmp.Or(referee, protocol.RefereeSender(Unknown))
}
