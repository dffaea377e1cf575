package conversations

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// A boss is a scripted league manager, to try a referee or a player alone. It
// grants the ids that are asked for, and acknowledges every report.
func (w *world) boss(traits ...trait) *actor {
	a := newActor(theBoss, nil)
	a.caller = w.caller(theBoss, 64<<10)
	stamp := protocol.NewStamp(protocol.ManagerSender, w.clock)
	reply := func(c *call, messageType string) protocol.Envelope {
		return stamp.Envelope(messageType, read[protocol.Envelope](c.message).ConversationID)
	}
	granted := protocol.Registration{
		Status: protocol.StatusAccepted, LeagueID: leagueID, ManagerAuth: protocol.ManagerAuthBearer,
	}
	a.parts = script{
		protocol.RegisterPlayer.Name: func(c *call) (jsontext.Value, error) {
			id := protocol.AgentOf(read[protocol.Envelope](c.message).Sender)
			r := protocol.LeagueRegisterResponse{Envelope: reply(c, protocol.TypeLeagueRegisterResponse), PlayerID: &id, Registration: granted}
			r.AuthToken = w.token(id)
			return written(r), nil
		},
		protocol.RegisterReferee.Name: func(c *call) (jsontext.Value, error) {
			id := protocol.AgentOf(read[protocol.Envelope](c.message).Sender)
			r := protocol.RefereeRegisterResponse{Envelope: reply(c, protocol.TypeRefereeRegisterResponse), RefereeID: &id, Registration: granted}
			r.AuthToken = w.token(id)
			return written(r), nil
		},
		protocol.ReportMatchResult.Name: func(c *call) (jsontext.Value, error) {
			q := read[protocol.MatchResultReport](c.message)
			return written(protocol.Ack{
				Envelope: reply(c, protocol.TypeMatchResultAck), Status: protocol.StatusAccepted,
				MatchID: q.MatchID, RoundID: q.RoundID,
			}), nil
		},
	}
	honest := script{}
	for method, play := range a.parts {
		honest[method] = play
	}
	for _, set := range traits {
		set(a)
	}
	for method, play := range a.parts { // a scripted boss is honest in its own way
		a.parts[method] = func(c *call) (jsontext.Value, error) {
			c.honest = func(ctx context.Context) (any, error) {
				again := *c
				return honest[method](&again)
			}
			return play(c)
		}
	}
	w.open(a, w.stage(a.parts))
	return a
}

// assignment hands a match between P01 and P02 to a referee.
func (w *world) assignment(matchID string, attempt int, refereeID string) *protocol.MatchAssignment {
	id, _ := protocol.ParseMatchID(matchID)
	seat := func(id string) protocol.AssignedPlayer {
		return protocol.AssignedPlayer{
			PlayerID: id, Endpoint: endpointOf(newActor(id, nil).host), DisplayName: "Agent " + id,
			AccessToken: w.access(id, matchID, attempt, refereeID),
		}
	}
	return &protocol.MatchAssignment{
		Envelope: protocol.NewStamp(protocol.ManagerSender, w.clock).
			Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(matchID, attempt)),
		LeagueID: leagueID, RoundID: id.Round, MatchID: matchID, Attempt: attempt, GameType: evenodd.Type,
		PlayerA: seat("P01"), PlayerB: seat("P02"),
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
		Scoring: protocol.Scoring{Win: 3, Draw: 1},
	}
}

// assign calls start_match with the manager's credential.
func (w *world) assign(boss, to *actor, q *protocol.MatchAssignment) (*protocol.MatchAssignmentAck, error) {
	return protocol.StartMatch.Call(w.life, boss.caller, protocol.Peer{Endpoint: endpointOf(to.host), Bearer: w.credential(to.id)}, q)
}
