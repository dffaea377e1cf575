package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// sideNames are the names of the two players in assignments.
var sideNames = [2][]string{{"player_A", "player_a", "player1"}, {"player_B", "player_b", "player2"}}

// Assignment makes a MATCH_ASSIGNMENT of the members by which a third-party manager
// describes a match. Members in the form of the specification stay.
func Assignment(said protocol.Object, f *Facts) protocol.Object {
	q := Request{Kind: protocol.TypeMatchAssignment, Params: slices.Clone(said), ThirdParty: true}
	a := &q.Params
	a.SetText("protocol", protocol.Name)
	a.SetText("message_type", q.Kind)
	if f.thirdPartyManager() && f.League != "" {
		a.SetText("league_id", f.League) // a referee is in one league
	}
	for _, names := range sideNames {
		player := protocol.ParseObject(said.Get(names[0]))
		if player.Get("player_id") == nil || player.Get("endpoint") == nil {
			a.Set(names[0], encoded(playerOn(said, names, f.thirdPartyManager())))
		}
	}
	correctTime(a, "timestamp")
	correctNumber(a, "round_id")
	q.addMissing(f)
	return q.Params
}

// playerOn finds the player of a side: player_A_id, player_a_id, player1_id or player_a, with
// player_A_endpoint or player_a_url. Without an endpoint the number of the id gives
// the port if byPort is set: P01 is at 8101.
func playerOn(said protocol.Object, names []string, byPort bool) protocol.AssignedPlayer {
	var ids, endpoints []string
	for _, name := range names {
		ids = append(ids, name+"_id", name)
		endpoints = append(endpoints, name+"_endpoint", name+"_url")
	}
	p := protocol.AssignedPlayer{
		PlayerID: cmp.Or(lists.Map(ids, said.Text)...), Endpoint: cmp.Or(lists.Map(endpoints, said.Text)...),
	}
	if n, numbered := league.ParsePlayerID(p.PlayerID); byPort && p.Endpoint == "" && numbered && n < 100 {
		p.Endpoint = fmt.Sprintf("http://localhost:81%02d/mcp", n)
	}
	if p.PlayerID != "" && protocol.ValidName(p.PlayerID) {
		p.DisplayName = p.PlayerID
	}
	return p
}

// maxAnnounced bounds the matches of a round: any caller may announce any.
const maxAnnounced = 1000

// Announced are the matches of a ROUND_ANNOUNCEMENT.
func Announced(params protocol.Object) (matches []protocol.Object) {
	raw := list(params.Get("matches"))
	for _, one := range raw[:min(len(raw), maxAnnounced)] {
		if m := protocol.ParseObject(one); m != nil {
			matches = append(matches, m)
		}
	}
	return matches
}

// IsForOurReferee tells whether an assignment has access tokens: the manager gives them to
// our referees only.
func IsForOurReferee(assignment []byte) bool {
	return bytes.Contains(assignment, []byte(`"access_token":"`))
}

// ForThirdParty returns an assignment with the players under all names that referees read,
// and without access tokens.
func ForThirdParty(assignment protocol.Object) protocol.Object {
	m := slices.Clone(assignment)
	for _, names := range sideNames {
		player := m.Object(names[0])
		player.Drop("access_token")
		m.Set(names[0], player.Append(nil))
		id, endpoint := player.Get("player_id"), player.Get("endpoint")
		if id == nil || endpoint == nil {
			continue
		}
		for _, name := range names {
			m.Set(name+"_id", id)
			m.Set(name+"_endpoint", endpoint)
		}
		m.Set(names[1], id)
		m.Set(names[1]+"_url", endpoint)
	}
	return m
}

// AsAnnouncement returns an assignment as the announcement of a round: a referee finds its
// matches by its id or its endpoint.
func AsAnnouncement(assignment protocol.Object, endpoint string) protocol.Object {
	round := only(assignment,
		"protocol", "message_type", "sender", "timestamp", "conversation_id", "league_id", "round_id")
	match := only(assignment, "match_id", "game_type")
	round.SetText("message_type", protocol.TypeRoundAnnouncement)
	for _, names := range sideNames {
		player := assignment.Object(names[0])
		match.Fill(names[0]+"_id", player.Get("player_id"))
		match.Fill(names[0]+"_endpoint", player.Get("endpoint"))
	}
	match.SetText("referee_endpoint", endpoint)
	match.Fill("referee_id", assignment.Get("referee_id"))
	round.Set("matches", append(match.Append([]byte{'['}), ']'))
	return round
}

// ReadStart translates the response of a referee to an assignment: it accepts the match
// unless it says otherwise. MatchID is "" for one of our referees.
func ReadStart(id []byte, matchID string, status int, response []byte) Reply {
	r := MethodOf(protocol.StartMatch.Name).ReadReply(id, status, response)
	switch {
	case r.Verdict == Understood:
		return Acknowledgement(id, matchID, r.Message)
	case r.Verdict == Refused && matchID != "":
		switch protocol.Code(r.Failure.ErrorCode) {
		case protocol.ErrInvalidFieldType, protocol.ErrMissingField, protocol.ErrProtocolVersion,
			protocol.ErrInvalidTimestamp:
			r.Verdict = Rejected // it may not know what an assignment is
		}
	}
	return r
}

// Acknowledgement is the MATCH_ASSIGNMENT_ACK of a referee that answered with a message; nil
// for no answer.
func Acknowledgement(id []byte, matchID string, answer protocol.Object) Reply {
	ack := slices.Clone(answer)
	status := strings.ToUpper(answer.Text("status"))
	if status != protocol.StatusBusy && status != protocol.StatusRejected {
		status = protocol.StatusAccepted
	}
	ack.FillText("protocol", protocol.Name)
	ack.FillText("message_type", protocol.StartMatch.Result)
	ack.SetText("status", status)
	if matchID != "" {
		ack.SetText("match_id", matchID)
	}
	if _, ok := protocol.ParseSecret(ack.Text("draw_commitment")); !ok {
		ack.Drop("draw_commitment")
	}
	ack.Drop("result")
	ack.Drop("game_result")
	return MethodOf(protocol.StartMatch.Name).result(id, ack)
}
