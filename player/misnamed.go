package player

import (
	"context"

	"evenodd/league/protocol"
)

// misnamed tells that a referee takes this player for another one: it asks the player under another id, or invites it
// against itself. Then its results may count for another player. The log and a manager of this program learn of it
// once. The player plays on. p.mu is held.
func (p *Player) misnamed(ctx context.Context, e *protocol.Envelope, matchID string, fault *protocol.Error) {
	if p.wasMisnamed {
		return
	}
	p.wasMisnamed = true
	p.options.Log.Warn().Str("conversation_id", e.ConversationID).Str("match_id", matchID).Str("sender", e.Sender).
		Str("error_code", string(fault.Code)).Str("defect", fault.Detail).Str("event_type", "MISNAMED").
		Msg("the referee takes this player for another one: compare its list of players with that of the manager")
	member := p.Membership()
	if member == nil || !member.Strict() { // a third-party manager does not expect the message
		return
	}
	q := &protocol.GameError{
		Envelope: p.Stamp().Envelope(protocol.TypeGameError, e.ConversationID), MatchID: matchID, PlayerID: member.AgentID,
		AffectedPlayer: member.AgentID, ErrorCode: string(fault.Code), ErrorName: fault.Code.Name(),
		ErrorDescription: fault.Code.Name(), ActionRequired: "NONE",
		Context: map[string]any{"detail": fault.Detail, "sender": e.Sender},
	}
	q.AuthToken = member.Token
	ctx = context.WithoutCancel(ctx)
	p.telling.Go(p.options.Guard.Of(func() {
		// A manager may not know the message: the log has the rest.
		_, _ = protocol.NotifyGameError.Call(ctx, p.options.Caller, protocol.Peer{Endpoint: p.options.Manager}, q)
	}))
}
