package protocol

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// LeagueErrorMethod is the method of LEAGUE_ERROR as a message of its own, beside the type of the message.
const LeagueErrorMethod = "notify_league_error"

// HandleLeagueError registers LEAGUE_ERROR as a notice, which is never answered by an error: two agents would answer
// each other without end. Take gets what can be read of it, and must authenticate its sender.
func HandleLeagueError(mux Mux, stamp *Stamp, take func(ctx context.Context, bearer string, e *LeagueError)) {
	decode := func(raw []byte) (any, error) {
		e := new(LeagueError)
		if !jsontext.Value(raw).IsValid() {
			return nil, Fault(ErrInvalidFieldType, "the params cannot be read as a %s", TypeLeagueError)
		}
		_ = decodeLeniently(raw, e) // members that cannot be read stay empty
		return e, nil
	}
	handle := func(ctx context.Context, bearer string, params any) (any, error) {
		e, ok := params.(*LeagueError)
		if !ok {
			e = new(LeagueError)
		}
		take(ctx, bearer, e)
		conversation := e.ConversationID
		if !short(conversation, 128) {
			conversation = ""
		}
		return &Ack{Envelope: stamp.Envelope("LEAGUE_ERROR_ACK", cmp.Or(conversation, "conv-error")),
			Status: StatusAcknowledged}, nil
	}
	for _, name := range []string{LeagueErrorMethod, TypeLeagueError} {
		mux.Handle(name, decode, handle)
	}
}

// InWords is the error for a log: its code and name, and its detail without tokens.
func (e *LeagueError) InWords() string {
	said := &Error{Detail: e.ErrorDescription}
	e.describe(said, "")
	return WithoutTokens(said.Error())
}
