package leaguetest

import (
	"context"
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// ScriptedManager starts a manager that consists of a script, to test a referee or a
// player alone. It grants each requested id and acknowledges each report.
func (w *World) ScriptedManager(traits ...Option) *Agent {
	a := NewAgent(ManagerHost, nil)
	a.Caller = w.Caller(ManagerHost, 64<<10)
	stamp := protocol.NewStamp(protocol.ManagerSender, w.Clock)
	reply := func(c *Call, messageType string) protocol.Envelope {
		return stamp.Envelope(messageType, Decode[protocol.Envelope](c.Message).ConversationID)
	}
	admit := func(c *Call, messageType string) (e protocol.Envelope, id string) {
		e, id = reply(c, messageType), protocol.AgentOf(Decode[protocol.Envelope](c.Message).Sender)
		e.AuthToken = w.Token(id)
		return e, id
	}
	granted := protocol.Registration{
		Status: protocol.StatusAccepted, LeagueID: LeagueID, ManagerAuth: protocol.ManagerAuthBearer,
	}
	a.Script = Script{
		protocol.RegisterPlayer.Name: func(c *Call) (jsontext.Value, error) {
			e, id := admit(c, protocol.RegisterPlayer.Result)
			return Encode(protocol.LeagueRegisterResponse{Envelope: e, PlayerID: &id, Registration: granted}), nil
		},
		protocol.RegisterReferee.Name: func(c *Call) (jsontext.Value, error) {
			e, id := admit(c, protocol.RegisterReferee.Result)
			return Encode(protocol.RefereeRegisterResponse{Envelope: e, RefereeID: &id, Registration: granted}), nil
		},
		protocol.ReportMatchResult.Name: func(c *Call) (jsontext.Value, error) {
			q := Decode[protocol.MatchResultReport](c.Message)
			return Encode(protocol.Ack{
				Envelope: reply(c, protocol.ReportMatchResult.Result), Status: protocol.StatusAccepted,
				MatchID: q.MatchID, RoundID: q.RoundID,
			}), nil
		},
	}
	honest := maps.Clone(a.Script)
	for _, set := range traits {
		set(a)
	}
	for method, play := range a.Script { // OwnAnswer of a scripted method is the reply above
		a.Script[method] = func(c *Call) (jsontext.Value, error) {
			c.own = func(ctx context.Context) (any, error) {
				again := *c
				return honest[method](&again)
			}
			return play(c)
		}
	}
	w.Open(a, w.ScriptMux(a.Script))
	return a
}

// Assignment is the assignment of a match between P01 and P02 to a referee.
func (w *World) Assignment(matchID string, attempt int, refereeID string) *protocol.MatchAssignment {
	id, _ := league.ParseMatchID(matchID)
	side := func(id string) protocol.AssignedPlayer {
		return protocol.AssignedPlayer{
			PlayerID: id, Endpoint: EndpointOf(strings.ToLower(id)), DisplayName: "Agent " + id,
			AccessToken: w.AccessToken(id, matchID, attempt, refereeID),
		}
	}
	return &protocol.MatchAssignment{
		Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).
			Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(matchID, attempt)),
		LeagueID: LeagueID, RoundID: id.Round, MatchID: matchID, Attempt: attempt, GameType: evenodd.Type,
		PlayerA: side("P01"), PlayerB: side("P02"),
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
		Scoring: league.MatchPoints{Win: 3, Draw: 1},
	}
}

// Assign calls start_match with the credential of the manager.
func (w *World) Assign(manager, to *Agent, q *protocol.MatchAssignment) (*protocol.MatchAssignmentAck, error) {
	return protocol.StartMatch.Call(w.Context, manager.Caller,
		protocol.Peer{Endpoint: EndpointOf(to.Host), Bearer: w.ManagerCredential(to.ID)}, q)
}
