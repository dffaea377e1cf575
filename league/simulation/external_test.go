package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
	"evenodd/transport/memory"
)

// A scriptedPlayer is an external player that answers some methods.
type scriptedPlayer struct {
	pong    *protocol.Pong // the answer to a ping; nil for none
	listens func() bool
	watches func(ctx context.Context, method string) // gets every call
	joins   func(*protocol.GameInvitation) (*protocol.GameJoinAck, error)
	chooses func(context.Context, *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error)

	mu     sync.Mutex
	tokens []string // of the invitations
}

// externalAgents are external players by their endpoints.
type externalAgents map[string]*scriptedPlayer

func (o externalAgents) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	answer, err := o.call(ctx, r.Endpoint, r.Method, r.Params)
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(answer) // another process sends bytes
	if err != nil {
		return nil, nil, err
	}
	decoded, err := r.Decode(raw)
	return decoded, nil, err
}

func (o externalAgents) call(ctx context.Context, endpoint, method string, params any) (any, error) {
	s := o[endpoint]
	if s == nil || s.listens != nil && !s.listens() {
		return nil, &transport.CallError{Kind: transport.Unreachable, Endpoint: endpoint}
	}
	if s.watches != nil && method != protocol.Ping.Name {
		s.watches(ctx, method)
	}
	switch q := params.(type) {
	case *protocol.ToolRequest:
		if s.pong != nil {
			return s.pong, nil
		}
	case *protocol.GameInvitation:
		s.mu.Lock()
		s.tokens = append(s.tokens, q.AuthToken)
		s.mu.Unlock()
		if s.joins != nil {
			return s.joins(q)
		}
		return joining(q, true), nil
	case *protocol.ChooseParityCall:
		if s.chooses != nil {
			return s.chooses(ctx, q)
		}
		return chosen(q, "even"), nil
	}
	return nil, &transport.Error{Code: transport.CodeMethodNotFound, Message: "Method not found"}
}

func answering(q *protocol.Envelope, messageType string) protocol.Envelope {
	return protocol.Envelope{
		Protocol: protocol.Name, MessageType: messageType, Sender: "player:me", Timestamp: q.Timestamp,
		ConversationID: q.ConversationID, AuthToken: q.AuthToken,
	}
}

func joining(q *protocol.GameInvitation, accept bool) *protocol.GameJoinAck {
	envelope := answering(&q.Envelope, protocol.TypeGameJoinAck)
	return &protocol.GameJoinAck{Envelope: envelope, MatchID: q.MatchID, Accept: &accept}
}

func chosen(q *protocol.ChooseParityCall, choice string) *protocol.ChooseParityResponse {
	return &protocol.ChooseParityResponse{
		Envelope: answering(&q.Envelope, protocol.TypeChooseParityResponse), MatchID: q.MatchID, PlayerID: q.PlayerID, ParityChoice: choice,
	}
}

// with returns the options of a league with external players, whose referees retry a failed
// call once, without a pause.
func (o externalAgents) with(players int, endpoints ...string) simulation.Options {
	options := options(players)
	options.Timeouts, options.RetryPolicy = protocol.DefaultTimeouts(), protocol.RetryPolicy{MaxRetries: 1}
	options.SuspendAfter, options.ShutdownAfter = journal.DefaultSuspendAfter, journal.DefaultShutdownAfter
	options.UniqueDisplayNames = true
	options.External = &simulation.External{Players: endpoints, Caller: o, Note: func(string, ...any) {}}
	return options
}

// noted returns what a league will tell its user about the external players.
func noted(o simulation.Options) *[]string {
	notes := new([]string)
	o.External.Note = func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
	return notes
}

const (
	alpha = "http://localhost:8101/mcp"
	beta  = "http://localhost:8102/mcp"
)

func TestExternalPlayersGetTheFirstIDs(t *testing.T) {
	o := externalAgents{alpha: {}, beta: {}}
	options := o.with(4, alpha, beta)
	options.Strategies = []string{"odd", "mirror"}
	result := run(t, options)
	require.Len(t, matchesOf(result), 6)
	rows := map[string]league.Standing{}
	for _, row := range result.Players {
		rows[row.PlayerID] = row
	}
	for id, want := range map[string][3]string{
		"P01": {"localhost:8101", simulation.ExternalStrategy, alpha},
		"P02": {"localhost:8102", simulation.ExternalStrategy, beta},
		"P03": {"Player 03", "odd", ""},
		"P04": {"Player 04", "mirror", ""},
	} {
		assert.Equal(t, want, [3]string{rows[id].DisplayName, rows[id].Strategy, rows[id].Endpoint}, id)
		assert.Equal(t, 3, rows[id].Played, id)
	}
	assert.Empty(t, result.Losses)
	for _, m := range matchesOf(result) {
		if m.PlayerAID == "P01" {
			assert.Equal(t, "even", m.LastMoves()[0])
		}
	}
	assert.Len(t, o[alpha].tokens, 3)
	for _, token := range o[alpha].tokens {
		assert.Len(t, token, 43, "an access token, not the token of a player")
	}
	assert.Equal(t, []simulation.Breach{
		{PlayerID: "P01", Problem: "player_id: required (and 2 more)", Count: 3},
		{PlayerID: "P01", Problem: `sender: exactly "player:P01"`, Count: 3},
		{PlayerID: "P02", Problem: "player_id: required (and 2 more)", Count: 3},
		{PlayerID: "P02", Problem: `sender: exactly "player:P02"`, Count: 3},
	}, result.Breaches, "of GAME_JOIN_ACK and CHOOSE_PARITY_RESPONSE")
}

func TestLossesOfExternalPlayersAreExplained(t *testing.T) {
	for _, tt := range []struct {
		name   string
		player *scriptedPlayer
		want   simulation.Loss
	}{
		{"a choice that is none", &scriptedPlayer{chooses: func(_ context.Context, q *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
			return chosen(q, "maybe"), nil
		}}, simulation.Loss{
			Code: protocol.ErrInvalidParityChoice, Reason: "P01 sent no valid CHOOSE_PARITY_RESPONSE (E004) - P02 wins by default",
			Detail: `choice must be "even" or "odd", got "maybe"`, Method: "choose_parity", Failures: 2, Answer: `"parity_choice":"maybe"`,
		}},
		{"a long choice", &scriptedPlayer{chooses: func(_ context.Context, q *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
			return chosen(q, strings.Repeat("maybe", 1000)), nil
		}}, simulation.Loss{
			Code: protocol.ErrInvalidParityChoice, Reason: "P01 sent no valid CHOOSE_PARITY_RESPONSE (E004) - P02 wins by default",
			Detail: `choice must be "even" or "odd", got "maybemaybe`, Method: "choose_parity", Failures: 2, Answer: `"parity_choice":"maybemaybe`,
		}},
		{"a refusal", &scriptedPlayer{joins: func(q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
			no := joining(q, false)
			no.MatchID = ""
			return no, nil
		}}, simulation.Loss{
			Reason: "P01 refused the invitation - P02 wins by default", Method: "handle_game_invitation", Answer: `"accept":false`,
		}},
		{"silence", &scriptedPlayer{chooses: func(ctx context.Context, _ *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, simulation.Loss{
			Code: protocol.ErrTimeout, Reason: "P01 did not send CHOOSE_PARITY_RESPONSE in time - P02 wins by default",
			Detail: "no answer in time", Method: "choose_parity", Failures: 2, Answer: simulation.NoAnswer,
		}},
		{"an error", &scriptedPlayer{joins: func(*protocol.GameInvitation) (*protocol.GameJoinAck, error) {
			return nil, &transport.Error{Code: -32601, Message: "Method not found"}
		}}, simulation.Loss{
			Code: protocol.ErrInvalidFieldType, Reason: "P01 answered GAME_INVITATION with JSON-RPC error -32601 - P02 wins by default",
			Detail: "answered with an error: JSON-RPC error -32601: Method not found", Method: "handle_game_invitation", Failures: 2,
			Answer: "JSON-RPC error -32601: Method not found",
		}},
		{"a failure with a token", &scriptedPlayer{chooses: func(context.Context, *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
			return nil, errors.New("my token is tok-p01-" + strings.Repeat("a", 43))
		}}, simulation.Loss{
			Code: protocol.ErrConnection, Reason: "P01 could not be reached for CHOOSE_PARITY_RESPONSE - P02 wins by default",
			Detail: "my token is ***", Method: "choose_parity", Failures: 2, Answer: simulation.Unusable,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := externalAgents{alpha: tt.player}
			options := o.with(2, alpha)
			if tt.want.Code == protocol.ErrTimeout { // the others answer, however busy the machine is
				options.External.Patience = 20 * time.Millisecond
			}
			result := run(t, options)
			require.Len(t, result.Losses, 1)
			got := result.Losses[0]
			tt.want.Name = tt.want.Code.Name()
			assert.Contains(t, got.Answer, tt.want.Answer)
			assert.Less(t, len(got.Answer)+len(got.Detail), 1000, "only the start of an answer is stored")
			if tt.want.Answer == simulation.NoAnswer {
				assert.Equal(t, simulation.NoAnswer, got.Answer)
			}
			assert.Contains(t, got.Detail, tt.want.Detail)
			assert.NotContains(t, got.Answer, "auth_token")
			tt.want.Answer, tt.want.Detail = got.Answer, got.Detail
			tt.want.MatchID, tt.want.RoundID, tt.want.PlayerID = "R1M1", 1, "P01"
			assert.Equal(t, tt.want, got)
		})
	}
}

// A breach names no text of the player, so a player that sends another value each time uses
// bounded memory.
func TestBreachesDoNotRepeatTheTextOfThePlayer(t *testing.T) {
	var invitations atomic.Int64
	o := externalAgents{alpha: {joins: func(q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
		name := "other" + strings.Repeat("!", int(invitations.Add(1)))
		ack := joining(q, true)
		ack.PlayerID, ack.MatchID = "P01", ""
		ack.Protocol, ack.Sender = name, "player:"+name
		return ack, nil
	}}}
	options := o.with(2, alpha)
	options.Legs = 30
	result := run(t, options)
	assert.Equal(t, []simulation.Breach{
		{PlayerID: "P01", Problem: `protocol: exactly "league.v2" (and 3 more)`, Count: 30},
		{PlayerID: "P01", Problem: `sender: exactly "player:P01"`, Count: 30},
	}, result.Breaches)
}

func TestManagerIsNotAnExternalPlayer(t *testing.T) {
	options := externalAgents{alpha: {pong: &protocol.Pong{Status: "ok", Role: "league_manager"}}}.with(2, alpha)
	_, err := simulation.Run(t.Context(), options)
	require.EqualError(t, err, "a league manager answers at "+alpha+": give the player's own URL")
}

func TestMissingExternalPlayerIsReported(t *testing.T) {
	o := externalAgents{}
	_, err := simulation.Run(t.Context(), o.with(4, alpha, beta))
	require.EqualError(t, err, "nobody listens at "+alpha+": start the agent, and look at its port\n"+
		"nobody listens at "+beta+": start the agent, and look at its port")
}

// Without a registration desk, the simulation waits only until the player listens.
func TestSimulationWaitsForALateExternalPlayer(t *testing.T) {
	var pings atomic.Int64
	options := externalAgents{alpha: {listens: func() bool { return pings.Add(1) > 2 }}}.with(2, alpha)
	options.External.Wait = time.Hour
	notes := noted(options)
	result := run(t, options)
	assert.Len(t, matchesOf(result), 1)
	assert.Equal(t, []string{"Nobody listens at " + alpha + " yet: waiting for it, 1h0m0s at most."}, *notes)
}

// A registrationDesk is the default endpoint of the manager, where external players register.
type registrationDesk struct {
	bus  *memory.Bus
	open chan struct{} // closed when the desk is served
	shut chan struct{}
}

const desk = "memory://desk/mcp"

func newRegistrationDesk() *registrationDesk {
	return &registrationDesk{memory.NewWireBus(), make(chan struct{}), make(chan struct{})}
}

func (r *registrationDesk) serve(mux *transport.Mux, _ func() *protocol.Stamp) func() {
	stop := r.bus.Listen(desk, mux)
	close(r.open)
	return func() { stop(); close(r.shut) }
}

// run starts a league in the background, and returns when the desk is open. The returned
// function waits for the end of the league.
func (r *registrationDesk) run(t *testing.T, o simulation.Options) (finish func() (*simulation.Result, error)) {
	t.Helper()
	var result *simulation.Result
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		result, err = simulation.Run(t.Context(), o)
	}()
	<-r.open
	return func() (*simulation.Result, error) {
		<-over
		return result, err
	}
}

// register registers a player.
func (r *registrationDesk) register(t *testing.T, name, sender, endpoint string) *protocol.LeagueRegisterResponse {
	t.Helper()
	to := protocol.Peer{Endpoint: desk}
	answer, err := protocol.RegisterPlayer.Call(t.Context(), r.bus, to, &protocol.LeagueRegisterRequest{
		Envelope: protocol.NewStamp(sender, protocol.SystemClock()).Envelope(protocol.TypeLeagueRegisterRequest, "conv-reg-"+name),
		PlayerMeta: protocol.PlayerMeta{
			AgentMeta: protocol.AgentMeta{DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{"even_odd"}, ContactEndpoint: endpoint},
		},
	})
	require.NoError(t, err)
	return answer
}

// namesOf returns the display name and the strategy of each player.
func namesOf(r *simulation.Result) map[string]string {
	names := map[string]string{}
	for _, row := range r.Players {
		names[row.PlayerID] = row.DisplayName + "/" + row.Strategy
	}
	return names
}

func TestExternalPlayersRegisterThemselves(t *testing.T) {
	o := externalAgents{alpha: {}, "http://127.0.0.1:8102/mcp": {}}
	options := o.with(4, alpha, beta)
	r := newRegistrationDesk()
	options.External.Serve, options.External.Wait = r.serve, time.Hour
	finish := r.run(t, options)

	refused := r.register(t, "Spy", "player:spy", "http://localhost:9999/mcp")
	assert.Equal(t, protocol.StatusRejected, refused.Status)
	assert.Equal(t, "E014", refused.ErrorCode)
	assert.Equal(t, "this is a simulated league, which takes only the players it was started with: name this one with --player http://localhost:9999/mcp", *refused.Reason)
	assert.Empty(t, refused.AuthToken)
	referee, err := protocol.RegisterReferee.Call(t.Context(), r.bus, protocol.Peer{Endpoint: desk}, &protocol.RefereeRegisterRequest{
		Envelope: protocol.NewStamp("referee:spy", protocol.SystemClock()).Envelope(protocol.TypeRefereeRegisterRequest, "conv-reg-referee"),
		RefereeMeta: protocol.RefereeMeta{
			AgentMeta:            protocol.AgentMeta{DisplayName: "Spy", Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{"even_odd"}, ContactEndpoint: "http://localhost:9999/mcp"},
			MaxConcurrentMatches: 2,
		},
	})
	require.NoError(t, err)
	assert.Equal(t, protocol.StatusRejected, referee.Status)
	assert.Empty(t, referee.AuthToken)

	second := r.register(t, "Beta", "player:beta", "http://127.0.0.1:8102/mcp") // another URL of beta
	assert.Equal(t, "P02", *second.PlayerID, "the id of its position in the options, although it registered first")
	assert.NotEmpty(t, second.AuthToken)
	again := r.register(t, "Beta", "player:beta", "http://127.0.0.1:8102/mcp") // its answer was lost
	assert.Equal(t, second.AuthToken, again.AuthToken)
	twice := r.register(t, "Gamma", "player:gamma", beta)
	assert.Equal(t, protocol.StatusRejected, twice.Status)
	assert.Equal(t, `the player at this endpoint has registered as "Beta" already`, *twice.Reason)
	first := r.register(t, "Alpha", "player:P04", alpha)
	assert.Equal(t, "P04", *first.PlayerID, "the requested id")
	result, err := finish()
	require.NoError(t, err)
	<-r.shut
	assert.Equal(t, map[string]string{
		"P01": "Player 04/even", "P02": "Beta/external", "P03": "Player 03/random", "P04": "Alpha/external",
	}, namesOf(result))
}

// The simulation registers an external player whose own registration was refused. A
// built-in player changes its name if an external player has it.
func TestPlayerWithARefusedRegistrationIsRegisteredByTheSimulation(t *testing.T) {
	options := externalAgents{alpha: {}, beta: {}}.with(3, alpha, beta)
	r := newRegistrationDesk()
	options.External.Serve, options.External.Wait = r.serve, time.Hour
	notes := noted(options)
	finish := r.run(t, options)
	assert.Equal(t, "P01", *r.register(t, "Player 03", "player:P01", alpha).PlayerID)
	assert.Equal(t, "E024", r.register(t, "Player 03", "player:P02", beta).ErrorCode)
	result, err := finish()
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"P01": "Player 03/external", "P02": "localhost:8102/external", "P03": "Player 03 (built-in)/random",
	}, namesOf(result))
	assert.Equal(t, []string{"The registration of " + beta + ` under the name "Player 03" was refused: ` +
		`registration refused: display_name "Player 03" is taken: choose another (E024 DUPLICATE_NAME). ` +
		"The simulation registers it instead."}, *notes)
}

// Without a wait no registration is accepted, not even while the simulation pings the player.
func TestSimulationThatDoesNotWaitAcceptsNoRegistration(t *testing.T) {
	r := newRegistrationDesk()
	status := ""
	register := sync.OnceFunc(func() { status = r.register(t, "Mallory", "player:mallory", alpha).Status })
	options := externalAgents{alpha: {listens: func() bool {
		if status == "" {
			register()
		}
		return true
	}}}.with(2, alpha)
	options.External.Serve, options.External.Wait = r.serve, 0
	result := run(t, options)
	assert.Equal(t, protocol.StatusRejected, status)
	assert.Equal(t, map[string]string{"P01": "localhost:8101/external", "P02": "Player 02/random"}, namesOf(result))
}

// The simulation registers a player that does not register in time. The player cannot
// register afterwards.
func TestSimulationRegistersPassiveExternalPlayers(t *testing.T) {
	var r *registrationDesk
	once := sync.OnceFunc(func() {
		late := r.register(t, "Alpha", "player:alpha", alpha)
		assert.Equal(t, protocol.StatusRejected, late.Status)
		assert.Contains(t, *late.Reason, "has registered this player already")
	})
	o := externalAgents{alpha: {joins: func(q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
		once()
		return joining(q, true), nil
	}}}
	options := o.with(2, alpha)
	r = newRegistrationDesk()
	options.External.Serve, options.External.Wait = r.serve, time.Nanosecond
	result := run(t, options)
	assert.Equal(t, map[string]string{"P01": "localhost:8101/external", "P02": "Player 02/random"}, namesOf(result))
}

// The league of a large game admits only players that take large messages: the user is told that an external player
// must.
func TestSimulationRegistersExternalPlayersForLargeMessages(t *testing.T) {
	o := externalAgents{alpha: {}}
	options := o.with(2, alpha)
	program := largeProgram{rulestest.NewProgram("large_nim", tictactoe.Game{})}
	options.GameType, options.Games = "large_nim", rules.NewRegistry(program.Rules())
	options.Programs = map[string]referee.Program{"large_nim": program}
	notes := noted(options)
	result := run(t, options)
	assert.Equal(t, map[string]string{"P01": "localhost:8101/external", "P02": "Player 02/random"}, namesOf(result))
	assert.Contains(t, *notes, "Messages of large_nim can have 64 KB: "+alpha+" must take them.")
}

// A largeProgram is the program of a large game.
type largeProgram struct{ *rulestest.Program }

func (p largeProgram) Rules() *rules.Program {
	game := p.Program.Rules()
	info := game.Info()
	info.Large = true
	return rules.NewProgram(info, game.MaxTurns())
}

// A league with external players has files and can be audited. It cannot be resumed,
// because the state of the players is unknown.
func TestLeagueWithExternalPlayersCannotBeResumed(t *testing.T) {
	options := externalAgents{alpha: {}}.with(3, alpha)
	folder := stored(t, options)
	findings, _ := audited(t, folder, options.Games)
	assert.Empty(t, findings)

	options.Files, options.External = openFiles(t, folder, options.LeagueID), nil
	defer options.Files.Close()
	_, err := simulation.Run(t.Context(), options)
	require.EqualError(t, err, "the league league_2025_even_odd cannot be resumed: it has external players, whose state is unknown")
}

func TestInvalidExternalPlayersAreRejected(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*simulation.Options)
		want   string
	}{
		{"too many", func(o *simulation.Options) { o.External.Players = []string{alpha, beta, "http://localhost:1/mcp"} }, "3 external players in a league of 2"},
		{"one twice", func(o *simulation.Options) { o.External.Players = []string{alpha, "http://127.0.0.1:8101/mcp/"} }, "http://127.0.0.1:8101/mcp/ is named twice: name each player once"},
		{"over HTTP", func(o *simulation.Options) { o.Transport = simulation.HTTP }, "a league with external players uses the transport memory or wire for all other agents, not http"},
		{"with faults", func(o *simulation.Options) { o.Faults = "drop=0.1" }, "a league with external players has no simulated faults, because its time is real"},
		{"no patience", func(o *simulation.Options) { o.External.Patience = -1 }, "a time to wait for external players must not be negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := externalAgents{alpha: {}}.with(2, alpha)
			tt.change(&o)
			require.EqualError(t, o.Validate(), tt.want)
		})
	}
}
