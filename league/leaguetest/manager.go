package leaguetest

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

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
	granted := protocol.Registration{
		Status: protocol.StatusAccepted, LeagueID: LeagueID, ManagerAuth: protocol.ManagerAuthBearer,
	}
	a.Script = Script{
		protocol.RegisterPlayer.Name: func(c *Call) (jsontext.Value, error) {
			id := protocol.AgentOf(Decode[protocol.Envelope](c.Message).Sender)
			r := protocol.LeagueRegisterResponse{Envelope: reply(c, protocol.TypeLeagueRegisterResponse), PlayerID: &id, Registration: granted}
			r.AuthToken = w.Token(id)
			return Encode(r), nil
		},
		protocol.RegisterReferee.Name: func(c *Call) (jsontext.Value, error) {
			id := protocol.AgentOf(Decode[protocol.Envelope](c.Message).Sender)
			r := protocol.RefereeRegisterResponse{Envelope: reply(c, protocol.TypeRefereeRegisterResponse), RefereeID: &id, Registration: granted}
			r.AuthToken = w.Token(id)
			return Encode(r), nil
		},
		protocol.ReportMatchResult.Name: func(c *Call) (jsontext.Value, error) {
			q := Decode[protocol.MatchResultReport](c.Message)
			return Encode(protocol.Ack{
				Envelope: reply(c, protocol.TypeMatchResultAck), Status: protocol.StatusAccepted,
				MatchID: q.MatchID, RoundID: q.RoundID,
			}), nil
		},
	}
	honest := Script{}
	for method, play := range a.Script {
		honest[method] = play
	}
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
	id, _ := protocol.ParseMatchID(matchID)
	seat := func(id string) protocol.AssignedPlayer {
		return protocol.AssignedPlayer{
			PlayerID: id, Endpoint: EndpointOf(NewAgent(id, nil).Host), DisplayName: "Agent " + id,
			AccessToken: w.AccessToken(id, matchID, attempt, refereeID),
		}
	}
	return &protocol.MatchAssignment{
		Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).
			Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(matchID, attempt)),
		LeagueID: LeagueID, RoundID: id.Round, MatchID: matchID, Attempt: attempt, GameType: evenodd.Type,
		PlayerA: seat("P01"), PlayerB: seat("P02"),
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
		Scoring: protocol.Scoring{Win: 3, Draw: 1},
	}
}

// Assign calls start_match with the credential of the manager.
func (w *World) Assign(manager, to *Agent, q *protocol.MatchAssignment) (*protocol.MatchAssignmentAck, error) {
	return protocol.StartMatch.Call(w.Context, manager.Caller, protocol.Peer{Endpoint: EndpointOf(to.Host), Bearer: w.ManagerCredential(to.ID)}, q)
}
