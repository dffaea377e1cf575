package protocol_test

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/memory"
)

// A player answers the invitation of a referee. Each method is a typed value, so that
// the compiler checks the caller and the handler.
func ExampleMethod_Call() {
	const endpoint = "memory://p01/mcp"
	player := protocol.NewStamp(protocol.PlayerSender("P01"), protocol.SystemClock())
	mux := transport.NewMux(zerolog.Nop())
	protocol.Invite.Handle(mux, player, func(_ context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
		accept := true
		return &protocol.GameJoinAck{MatchID: q.MatchID, PlayerID: "P01", Accept: &accept}, nil
	})
	bus := memory.NewBus()
	defer bus.Listen(endpoint, mux)()

	referee := protocol.NewStamp(protocol.RefereeSender("REF01"), protocol.SystemClock())
	match := league.Attempt{MatchID: league.MatchID{Round: 1, Number: 1}, Number: 1}
	invitation := &protocol.GameInvitation{
		Envelope: referee.Envelope(protocol.TypeGameInvitation, protocol.ConversationOf(match)),
		LeagueID: "example", RoundID: 1, MatchID: match.MatchID.String(), GameType: "even_odd",
		RoleInMatch: protocol.RolePlayerA, OpponentID: "P02", Attempt: match.Number,
	}
	invitation.AuthToken = "the referee's access token"
	ack, err := protocol.Invite.Call(context.Background(), bus, protocol.Peer{Endpoint: endpoint}, invitation)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ack.MessageType, ack.Sender, ack.ConversationID, *ack.Accept)
	// Output: GAME_JOIN_ACK player:P01 conv-r1m1-a1 true
}
