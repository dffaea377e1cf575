package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league"
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
	InParams bool   // its referee reads replies that are shaped as requests
}

// thirdPartyManager tells whether the agent is in the league of a third-party manager.
func (f *Facts) thirdPartyManager() bool { return f.AgentID != "" && !f.OurAgent }

// UsualGame is the game of a match if no agent names another.
const UsualGame = "even_odd"

// Complete puts the params of a request into the form of the specification, and tells
// whether it changed them. It corrects harmless deviations in every form. It adds all
// missing members if the form is third-party or there is no envelope. Any other error stays.
func (q *Request) Complete(f *Facts) (changed bool) {
	if q.Kind == "" {
		return q.ThirdParty
	}
	p, before := &q.Params, slices.Clone(q.Params)
	correctTime(p, "timestamp")
	correctTime(p, "deadline")
	said := p.Text("message_type")
	if strings.EqualFold(said, q.Kind) || said != "" && q.ThirdParty && byType[said] == nil {
		p.SetText("message_type", q.Kind)
	}
	q.correct(f)
	q.addMissing(f)
	return q.ThirdParty || !same(q.Params, before) ||
		q.Kind == protocol.TypeMatchResultReport // Assigned.Complete may add to it
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
	case protocol.TypeLeagueRegisterRequest, protocol.TypeRefereeRegisterRequest:
		q.correctMeta(byType[q.Kind])
	}
	if league.HasDate(f.League) && p.Text("league_id") == UsualLeague { // the only one that the agent knows
		p.SetText("league_id", f.League)
	}
	sender, referee := p.Text("sender"), f.Match.Referee
	if strings.HasPrefix(sender, protocol.ManagerSender+":") { // league_manager:LM01
		p.SetText("sender", protocol.ManagerSender)
	}
	if q.ThirdParty {
		correctNumber(p, "round_id")
	}
	isReferee := referee != "" && sender != "" && strings.EqualFold(protocol.AgentOf(sender), protocol.AgentOf(referee))
	if inMatch(q.Kind) && isReferee {
		p.SetText("sender", referee) // another spelling of its name
	}
}

// addMissing adds the members that the message must have and lacks, by the table of fields, if
// the agent knows them: in any form the league and the game, if the agent is in a league. The
// protocol itself completes queries, and registrations in its own form.
func (q *Request) addMissing(f *Facts) {
	p := &q.Params
	var known map[string]any
	if f.League != "" {
		known = map[string]any{"league_id": f.League, "game_type": f.Game}
	}
	isCompleted := q.ThirdParty || !p.Has("timestamp") && !p.Has("conversation_id")
	switch m := byType[q.Kind]; {
	case m.Registers && q.ThirdParty:
		known = q.knownMembers(f)
		known["sender"] = m.From + ":" + Unknown
	case isCompleted && q.Kind != protocol.TypeLeagueQuery && !m.Registers:
		p.SetText("sender", senderOf(q.Kind, p.Text("sender"), f.Match.Referee))
		known = q.knownMembers(f)
	}
	for _, broken := range protocol.Examine(q.Kind, p.Append(nil)) {
		if value, ok := known[broken.Field]; ok {
			p.Fill(broken.Field, encoded(value))
		}
	}
}

// knownMembers are the members of a message that the agent knows.
func (q *Request) knownMembers(f *Facts) map[string]any {
	matchID := q.Params.Text("match_id")
	known := map[string]any{
		"protocol":        protocol.Name,
		"message_type":    q.Kind,
		"timestamp":       protocol.FormatTimestamp(f.Now),
		"conversation_id": fmt.Sprintf("conv-%d", f.Now.UnixNano()),
		"league_id":       cmp.Or(f.League, UsualLeague),
		"round_id":        roundOf(matchID),
		"attempt":         1,
		"game_type":       f.Game,
		"role_in_match":   protocol.RolePlayerA,
		"opponent_id":     Unknown,
		"player_id":       cmp.Or(f.AgentID, Unknown),
		"deadline":        protocol.FormatTimestamp(f.Now.Add(protocol.ChooseParity.Timeout)),
		"timeouts":        protocol.DefaultTimeouts(),
		"retry_policy":    protocol.DefaultRetryPolicy(),
		"scoring":         league.MatchPoints{Win: 3, Draw: 1},
	}
	if matchID != "" && (inMatch(q.Kind) || q.Kind == protocol.TypeMatchAssignment) {
		known["conversation_id"] = protocol.MatchConversation(matchID, 1)
	}
	if q.Kind == protocol.TypeMatchResultReport { // Assigned.Complete knows that of a report
		delete(known, "round_id")
	}
	return known
}

// roundOf is the round in the id of a match; 1 if there is none.
func roundOf(matchID string) int {
	if id, ok := league.ParseMatchID(matchID); ok {
		return id.Round
	}
	return 1
}

// senderOf is the sender of a message whose caller gives a name in another form, or none.
// Referee is the sender of the invitation to the match; "" if it is not known.
func senderOf(messageType, said, referee string) string {
	switch {
	case protocol.ValidSender(said):
		return said
	case !inMatch(messageType) && messageType != protocol.TypeMatchResultReport:
		return protocol.ManagerSender
	case said != "":
		return protocol.RefereeSender(protocol.AgentOf(said))
	}
	return cmp.Or(referee, protocol.RefereeSender(Unknown))
}
