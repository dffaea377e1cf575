package referee_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
)

// Endpoints of the other agents in a fuzzed match.
const (
	managerURL = "http://manager/mcp"
	honestURL  = "http://p01/mcp"
	fuzzedURL  = "http://p02/mcp"
)

// fuzzAgents answers the calls of a referee for its manager, an honest player, and a player
// with arbitrary replies.
type fuzzAgents struct {
	steps  uint8 // steps with arbitrary replies
	bodies [2][]byte
	clock  *protocol.Clock

	mu     sync.Mutex
	calls  int
	asked  map[string]int // calls of the second player, by method
	report *protocol.MatchResultReport
}

// The steps of a match at which the second player sends an arbitrary reply.
const (
	atInvitation = 1 << iota
	atChoice
	atEnd
	atGameError
	hangsUp    // it does not reply to the second call of a method
	neverValid // its later replies are arbitrary too
)

var errHungUp = errors.New("the connection is closed")

func (r *fuzzAgents) Call(_ context.Context, q protocol.CallRequest) (any, *protocol.Timing, error) {
	answer, err := r.call(q)
	return answer, nil, err
}

func (r *fuzzAgents) call(q protocol.CallRequest) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	switch q.Endpoint {
	case managerURL:
		return r.manager(q.Method, q.Params)
	case fuzzedURL:
		step := map[string]uint8{
			protocol.Invite.Name: atInvitation, protocol.ChooseParity.Name: atChoice,
			protocol.NotifyMatchResult.Name: atEnd, protocol.NotifyGameError.Name: atGameError,
		}[q.Method]
		n := r.asked[q.Method]
		r.asked[q.Method]++
		switch {
		case r.steps&step == 0, n >= 2 && r.steps&neverValid == 0:
		case n == 1 && r.steps&hangsUp != 0:
			return nil, errHungUp
		default:
			return transport.DecodeResponse(r.bodies[n%2], q.Decode)
		}
	}
	return r.answer(q.Endpoint, q.Params), nil
}

// manager registers the referee and accepts its report.
func (r *fuzzAgents) manager(method string, params any) (any, error) {
	stamp := protocol.NewStamp(protocol.ManagerSender, r.clock)
	switch method {
	case protocol.RegisterReferee.Name:
		id := "REF01"
		answer := &protocol.RefereeRegisterResponse{
			Envelope: stamp.Envelope(protocol.RegisterReferee.Result, "conv"), RefereeID: &id,
			Registration: protocol.Registration{Status: protocol.StatusAccepted, LeagueID: "L"},
		}
		answer.AuthToken = "tok-ref01-fuzz"
		return answer, nil
	case protocol.ReportMatchResult.Name:
		r.report, _ = params.(*protocol.MatchResultReport)
		return &protocol.Ack{Envelope: stamp.Envelope(protocol.ReportMatchResult.Result, "conv"), Status: protocol.StatusAccepted}, nil
	}
	return nil, errHungUp
}

// answer returns the reply of the honest player.
func (r *fuzzAgents) answer(endpoint string, params any) any {
	id := map[string]string{honestURL: "P01", fuzzedURL: "P02"}[endpoint]
	stamp := protocol.NewStamp(protocol.PlayerSender(id), r.clock)
	const conversation = "conv-r1m1-a1"
	switch params.(type) {
	case *protocol.GameInvitation:
		yes := true
		return &protocol.GameJoinAck{Envelope: stamp.Envelope(protocol.TypeGameJoinAck, conversation), MatchID: "R1M1", PlayerID: id, Accept: &yes}
	case *protocol.ChooseParityCall:
		return &protocol.ChooseParityResponse{
			Envelope: stamp.Envelope(protocol.TypeChooseParityResponse, conversation), MatchID: "R1M1", PlayerID: id, ParityChoice: "even",
		}
	case *protocol.GameError:
		return &protocol.Ack{Envelope: stamp.Envelope(protocol.NotifyGameError.Result, conversation), Status: protocol.StatusAcknowledged}
	}
	return &protocol.Ack{Envelope: stamp.Envelope(protocol.NotifyMatchResult.Result, conversation), Status: protocol.StatusAcknowledged}
}

// FuzzReply lets a player send an arbitrary reply at any step. The referee does not panic,
// the match ends with a report after a bounded number of messages, and the honest opponent
// does not get a technical loss.
func FuzzReply(f *testing.F) {
	choice := `{"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","sender":"player:P02","timestamp":"2026-01-01T00:00:00Z",` +
		`"conversation_id":"conv-r1m1-a1","match_id":"R1M1","player_id":"P02","parity_choice":"odd"}`
	join := `{"protocol":"league.v2","message_type":"GAME_JOIN_ACK","sender":"player:P02","timestamp":"2026-01-01T00:00:00Z",` +
		`"conversation_id":"conv-r1m1-a1","match_id":"R1M1","player_id":"P02","accept":true,"entropy_commitment":"` + protocol.Secret{1}.Hex() + `"}`
	response := func(result string) []byte { return []byte(`{"jsonrpc":"2.0","result":` + result + `,"id":1}`) }
	for _, body := range [][]byte{
		response(choice), response(join), response("null"), response("[]"), response(`{"accept":false}`), response(`{"accept":"yes"}`),
		response(`{"parity_choice":"Even"}`), response(`{"message_type":"LEAGUE_ERROR","error_code":"E022"}`), response(`{"match_id":7}`),
		[]byte(`{"jsonrpc":"2.0","error":{"code":4004,"message":"no","data":{"error_code":"E009"}},"id":1}`), []byte("<html>"), nil,
	} {
		for _, steps := range []uint8{atInvitation, atChoice, atChoice | neverValid, atChoice | hangsUp, atEnd | atGameError | atChoice, 63} {
			f.Add(steps, body, response(choice))
		}
	}
	f.Fuzz(func(t *testing.T, steps uint8, first, second []byte) {
		if len(first) > 64<<10 || len(second) > 64<<10 {
			return // larger bodies are not read
		}
		clock := protocol.NewClock(time.Now, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
		r := &fuzzAgents{steps: steps, bodies: [2][]byte{first, second}, clock: clock, asked: map[string]int{}}
		judge, err := referee.New(referee.Options{
			Options: membership.Options{
				Name: "Referee", Endpoint: "http://ref01/mcp", Manager: managerURL, Caller: r, Clock: clock,
			},
			MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}),
			Nonce: func(string) protocol.Secret { return protocol.Secret{7} },
		})
		require.NoError(t, err)
		require.NoError(t, judge.Register(context.Background()))
		mux := transport.NewMux(zerolog.Nop())
		judge.Mount(mux)
		matchSide := func(id, endpoint string) protocol.AssignedPlayer {
			return protocol.AssignedPlayer{PlayerID: id, Endpoint: endpoint, DisplayName: id, AccessToken: "access-to-" + id}
		}
		assignment := &protocol.MatchAssignment{
			Envelope: protocol.NewStamp(protocol.ManagerSender, clock).Envelope(protocol.TypeMatchAssignment, "conv-r1m1-a1"),
			LeagueID: "L", RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: evenodd.Type,
			PlayerA: matchSide("P01", honestURL), PlayerB: matchSide("P02", fuzzedURL),
			Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), Scoring: league.MatchPoints{Win: 3, Draw: 1},
		}
		_, err = mux.Dispatch(context.Background(), "", protocol.StartMatch.Name, assignment)
		require.NoError(t, err)
		judge.Rest(context.Background())
		judge.Close()

		require.NotNil(t, r.report, "the match has a result")
		require.LessOrEqual(t, r.calls, 2+2*(4+7)+2*(4+32)+8+2,
			"registration, report, four attempts per question, retries after E022 within the window, GAME_ERROR and GAME_OVER")
		result := r.report.Result
		if result.Status == league.StatusTechnicalLoss {
			require.NotNil(t, result.WinnerPlayerID)
			require.Equal(t, "P01", *result.WinnerPlayerID)
		} else {
			require.NotNil(t, result.DrawnNumber)
			choice, _ := result.Choices.Get("P01")
			require.Equal(t, "even", *choice)
		}
		encoded, err := json.Marshal(r.report)
		require.NoError(t, err, "the manager can decode it")
		require.Empty(t, protocol.Examine(protocol.TypeMatchResultReport, encoded))
		require.Less(t, len(encoded), 10<<10, "the manager reads at most 10 KiB")
	})
}
