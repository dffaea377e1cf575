package protocol

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// A Method is a row of the method table: its names, messages and timeout. Q is the type
// of the request, R that of the result.
type Method[Q, R any] struct {
	Name       string        // the JSON-RPC method that is sent
	Aliases    []string      // names in the specification's examples: accepted as the method as well
	ThirdParty []string      // names that only third-party agents use: league/dialect translates them
	Request    string        // message type of the request; "" for tools that have none
	Result     string        // message type of the result
	Timeout    time.Duration // for the whole call (spec 003 table 5)
	From, To   string        // the agents that call it, and those that have it, such as "player, referee"
	Title      string        // for people, in a list of tools
	About      string        // what a call does, for the user of a tool
	ReadOnly   bool          // a call changes nothing
	OpenWorld  bool          // a call reaches an address that the request names

	codes  map[Code]int                     // JSON-RPC codes this method has of its own (004)
	decode func(result []byte) (any, error) // decodeResult[R], made once: each mention of it allocates

	replyChecks []valueCheck // of the reply of a player
}

func newMethod[Q, R any](m Method[Q, R]) Method[Q, R] {
	m.decode = decodeResult[R]
	if _, ok := any(new(R)).(playerReply); ok {
		m.replyChecks = checksOf(reflect.TypeFor[R](), shapes[m.Result], 0, false)
	}
	return m
}

var (
	refereeCodes = map[Code]int{ErrLeagueFull: 1001, ErrInvalidEndpoint: 1002, ErrUnsupportedGame: 1003}
	playerCodes  = map[Code]int{ErrLeagueFull: 2001, ErrInvalidEndpoint: 2003, ErrUnsupportedGame: 2004}
	noticeCodes  = map[Code]int{ErrTokenMissing: 3001, ErrTokenInvalid: 3001}
	matchCodes   = map[Code]int{ErrTokenMissing: 4001, ErrTokenInvalid: 4001, ErrPlayerNotRegistered: 4002}
	reportCodes  = map[Code]int{ErrTokenMissing: 5001, ErrTokenInvalid: 5001, ErrMatchNotFound: 5002, ErrDuplicateReport: 5003}
	queryCodes   = map[Code]int{ErrTokenMissing: 6001, ErrTokenInvalid: 6001}
)

const ordinary = 10 * time.Second // spec 003 table 5: all others

// The method table.
var (
	RegisterReferee = newMethod(Method[RefereeRegisterRequest, RefereeRegisterResponse]{
		Name: "register_referee", Request: TypeRefereeRegisterRequest, Result: TypeRefereeRegisterResponse,
		Timeout: ordinary, From: "referee", To: "manager", codes: refereeCodes,
		Title: "Register a referee", About: "Registers a referee in the league. The response has its referee_id and its auth_token. The manager calls the referee at contact_endpoint.", OpenWorld: true})
	RegisterPlayer = newMethod(Method[LeagueRegisterRequest, LeagueRegisterResponse]{
		Name: "register_player", ThirdParty: []string{"league_register"}, Request: TypeLeagueRegisterRequest, Result: TypeLeagueRegisterResponse,
		Timeout: ordinary, From: "player", To: "manager", codes: playerCodes,
		Title: "Register a player", About: "Registers a player in the league. The response has its player_id and its auth_token. Referees and the manager call the player at contact_endpoint.", OpenWorld: true})
	NotifyRound = newMethod(Method[RoundAnnouncement, Ack]{
		Name: "notify_round", ThirdParty: []string{"receive_round_announcement", "announce_round"},
		Request: TypeRoundAnnouncement, Result: TypeRoundAnnouncementAck,
		Timeout: ordinary, From: "manager", To: "player", codes: noticeCodes,
		Title: "Announce a round", About: "Tells a player the matches of the next round. Only its manager may call it."})
	StartMatch = newMethod(Method[MatchAssignment, MatchAssignmentAck]{
		Name: "start_match", Aliases: []string{"START_MATCH", "run_match", "RUN_MATCH"},
		ThirdParty: []string{"assign_match", "start_match_command"},
		Request:    TypeMatchAssignment, Result: TypeMatchAssignmentAck,
		Timeout: ordinary, From: "manager", To: "referee", codes: noticeCodes,
		Title: "Conduct a match", About: "Assigns a match to a referee, which conducts it in the background. Only its manager may call it."})
	Invite = newMethod(Method[GameInvitation, GameJoinAck]{
		Name: "handle_game_invitation", ThirdParty: []string{"receive_game_invitation"}, Request: TypeGameInvitation, Result: TypeGameJoinAck,
		Timeout: 5 * time.Second, From: "referee", To: "player", codes: matchCodes,
		Title: "Invite to a match", About: "Invites a player to a match. The player answers whether it takes part. Only the referee of the match may call it."})
	ChooseParity = newMethod(Method[ChooseParityCall, ChooseParityResponse]{
		Name: "choose_parity", Aliases: []string{"parity_choose"}, ThirdParty: []string{"receive_parity_call"},
		Request: TypeChooseParityCall, Result: TypeChooseParityResponse,
		Timeout: 30 * time.Second, From: "referee", To: "player", codes: matchCodes,
		Title: "Ask for even or odd", About: "Asks a player for its choice in Even/Odd. Only the referee of the match may call it."})
	MakeMove = newMethod(Method[GameMoveCall, GameMoveResponse]{
		Name: "make_move", Request: TypeGameMoveCall, Result: TypeGameMoveResponse,
		Timeout: 30 * time.Second, From: "referee", To: "player", codes: matchCodes,
		Title: "Ask for a move", About: "Asks a player for its move in a game other than Even/Odd. Only the referee of the match may call it."})
	NotifyMatchResult = newMethod(Method[GameOver, Ack]{
		Name: "notify_match_result", ThirdParty: []string{"receive_game_over"}, Request: TypeGameOver, Result: TypeGameOverAck,
		Timeout: 5 * time.Second, From: "referee", To: "player", codes: matchCodes,
		Title: "Tell the result", About: "Tells a player the result of its match. Only the referee of the match may call it."})
	NotifyGameError = newMethod(Method[GameError, Ack]{
		Name: "notify_game_error", Request: TypeGameError, Result: TypeGameErrorAck,
		Timeout: ordinary, From: "referee", To: "player", codes: matchCodes,
		Title: "Tell an error", About: "Tells a player what was wrong with its answer, before the referee asks again. Only the referee of the match may call it."})
	ReportMatchResult = newMethod(Method[MatchResultReport, Ack]{
		Name: "report_match_result", Request: TypeMatchResultReport, Result: TypeMatchResultAck,
		Timeout: ordinary, From: "referee", To: "manager", codes: reportCodes,
		Title: "Report a result", About: "Reports the result of a match to the manager. Only the referee of the match may call it."})
	UpdateStandings = newMethod(Method[StandingsUpdate, Ack]{
		Name: "update_standings", ThirdParty: []string{"receive_standings_update", "standings_update", "notify_standings"},
		Request: TypeStandingsUpdate, Result: TypeStandingsUpdateAck,
		Timeout: ordinary, From: "manager", To: "player", codes: noticeCodes,
		Title: "Send the standings", About: "Tells a player the table. Only its manager may call it."})
	NotifyRoundCompleted = newMethod(Method[RoundCompleted, Ack]{
		Name: "notify_round_completed", ThirdParty: []string{"receive_round_completed"}, Request: TypeRoundCompleted, Result: TypeRoundCompletedAck,
		Timeout: ordinary, From: "manager", To: "player, referee", codes: noticeCodes,
		Title: "End a round", About: "Tells an agent that a round is complete. Only its manager may call it."})
	NotifyLeagueCompleted = newMethod(Method[LeagueCompleted, Ack]{
		Name: "notify_league_completed", ThirdParty: []string{"receive_league_completed"}, Request: TypeLeagueCompleted, Result: TypeLeagueCompletedAck,
		Timeout: ordinary, From: "manager", To: "player, referee", codes: noticeCodes,
		Title: "End the league", About: "Tells an agent the champion and the final table. Only its manager may call it."})
	Query = newMethod(Method[LeagueQuery, LeagueQueryResponse]{
		Name: "league_query", Request: TypeLeagueQuery, Result: TypeLeagueQueryResponse,
		Timeout: ordinary, From: "player, referee", To: "manager", codes: queryCodes,
		Title: "Query the league", About: "Answers one of GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH, GET_PLAYER_STATS and GET_STATUS. It needs the token of a registered agent.", ReadOnly: true})

	// The tools for debugging and control (spec 003 §5.5, §8.11).

	GetStandings = newMethod(Method[ToolRequest, LeagueQueryResponse]{
		Name: "get_standings", Result: TypeLeagueQueryResponse, Timeout: ordinary, From: "player, referee", To: "manager", codes: queryCodes,
		Title: "Read the standings", About: "Returns the table of the league. It needs the token of a registered agent.", ReadOnly: true})
	GetMatchState = newMethod(Method[ToolRequest, MatchState]{
		Name: "get_match_state", Result: "MATCH_STATE", Timeout: ordinary, From: "manager", To: "referee",
		Title: "Read a match", About: "Returns the state of a match that this referee conducts or has conducted. Choices and numbers follow when the match is over.", ReadOnly: true})
	GetMatchTranscript = newMethod(Method[ToolRequest, MatchTranscript]{
		Name: "get_match_transcript", Result: "MATCH_TRANSCRIPT", Timeout: ordinary, From: "manager, organiser", To: "referee, manager",
		Title: "Read the transcript of a match", About: "Returns the records of an attempt at a match, with all messages and without tokens. A referee answers its manager, a manager answers the organiser.", ReadOnly: true})
	GetPlayerState = newMethod(Method[ToolRequest, PlayerState]{
		Name: "get_player_state", Result: "PLAYER_STATE", Timeout: ordinary, From: "manager", To: "player",
		Title: "Read the player", About: "Returns the state of this player and its own history.", ReadOnly: true})
	Ping = newMethod(Method[ToolRequest, Pong]{
		Name: "ping", Result: "PONG", Timeout: ordinary, From: "any", To: "any",
		Title: "Ping", About: "Returns the role and the state of the agent. It needs no token.", ReadOnly: true})
	StartLeague = newMethod(Method[ToolRequest, LeagueStarted]{
		Name: "start_league", Result: "LEAGUE_STARTED", Timeout: ordinary, From: "organiser", To: "manager",
		Title: "Start the league", About: "Starts the league with the agents that have registered. It needs the admin token."})
	OrganiseLeague = newMethod(Method[OrganiseRequest, Organised]{
		Name: organiseMethod, Result: "ORGANISED", Timeout: ordinary, From: "organiser", To: "manager",
		Title: "Organise the league", About: "Carries out a command of the organiser: start, pause, resume, suspend, readmit, withdraw, rematch or rule. The journal records it with the organiser's name and reason. It needs the admin token."})
)

// IsErrorCode tells whether a JSON-RPC code belongs to an error of the protocol: the
// catalogue or a method has it. The codes that JSON-RPC itself defines do not count.
func IsErrorCode(rpc int) bool { return errorCodes[rpc] }

var errorCodes = func() map[int]bool {
	const lowestOfJSONRPC, highestOfJSONRPC = -32768, -32000
	codes := map[int]bool{}
	add := func(rpc int) {
		if rpc < lowestOfJSONRPC || rpc > highestOfJSONRPC {
			codes[rpc] = true
		}
	}
	for _, c := range catalogue {
		add(c.rpc)
	}
	for _, m := range methodRows {
		for _, rpc := range m.codes {
			add(rpc)
		}
	}
	return codes
}()

// A MethodRow is a row of the method table without its Go types.
type MethodRow struct {
	Name                string
	Aliases, ThirdParty []string
	Request, Result     string
	Timeout             time.Duration
	From, To            string
	Title, About        string
	ReadOnly, OpenWorld bool

	codes  map[Code]int
	checks []valueCheck // of a request that is a value
	decode func(raw []byte) error
}

// Check returns the error with which an agent rejects the params of a request; nil if it
// accepts them.
func (r MethodRow) Check(raw []byte) error { return r.decode(raw) }

func (m *Method[Q, R]) row() MethodRow {
	row := MethodRow{
		Name: m.Name, Aliases: m.Aliases, ThirdParty: m.ThirdParty, Request: m.Request, Result: m.Result,
		Timeout: m.Timeout, From: m.From, To: m.To, Title: m.Title, About: m.About, ReadOnly: m.ReadOnly, OpenWorld: m.OpenWorld, codes: m.codes,
	}
	if m.Request != "" {
		row.checks = checksOf(reflect.TypeFor[Q](), shapes[m.Request], 0, false)
	}
	row.decode = func(raw []byte) error {
		_, err := decodeRequest[Q](m.Name, m.Request, raw, SystemClock())
		return err
	}
	return row
}

var methodRows = []MethodRow{
	RegisterReferee.row(), RegisterPlayer.row(), NotifyRound.row(), StartMatch.row(), Invite.row(), ChooseParity.row(), MakeMove.row(),
	NotifyMatchResult.row(), NotifyGameError.row(), ReportMatchResult.row(), UpdateStandings.row(), NotifyRoundCompleted.row(),
	NotifyLeagueCompleted.row(), Query.row(), GetStandings.row(), GetMatchState.row(), GetMatchTranscript.row(), GetPlayerState.row(), Ping.row(), StartLeague.row(), OrganiseLeague.row(),
}

// Methods returns all rows of the method table. The tools have no Request and come last.
func Methods() []MethodRow { return slices.Clone(methodRows) }

// methodOfType is the method of each message type that is a request.
var methodOfType = func() map[string]*MethodRow {
	methods := map[string]*MethodRow{}
	for i, m := range methodRows {
		if m.Request != "" {
			methods[m.Request] = &methodRows[i]
		}
	}
	return methods
}()

// MethodFor returns the method of a message by its message_type (spec 003 §5.11.2:
// mcp_message). An agent uses it as the fallback of its mux.
func MethodFor(params any) (method string, ok bool) {
	var messageType string
	switch p := params.(type) {
	case []byte:
		var head struct {
			MessageType string `json:"message_type"`
		}
		if json.Unmarshal(p, &head) != nil {
			return "", false
		}
		messageType = head.MessageType
	case interface{ Type() string }:
		messageType = p.Type()
	}
	row, ok := methodOfType[messageType]
	if !ok {
		return "", false
	}
	return row.Name, true
}

// A Broadcast is a message for many receivers. It is validated once and encoded once.
type Broadcast[Q any] struct {
	message *Q
	valid   atomic.Bool
	once    sync.Once
	encoded []byte
	err     error
}

// Many returns a broadcast of a message, which must not change afterwards.
func Many[Q any](q *Q) *Broadcast[Q] { return &Broadcast[Q]{message: q} }

// Message returns the message.
func (b *Broadcast[Q]) Message() *Q { return b.message }

// Encoded returns the JSON of the message. The first call encodes it.
func (b *Broadcast[Q]) Encoded() ([]byte, error) {
	b.once.Do(func() { b.encoded, b.err = json.Marshal(b.message) })
	return b.encoded, b.err
}

// Conversation returns the conversation id of the message.
func (b *Broadcast[Q]) Conversation() string {
	return envelopeOf(b.message).ConversationID
}

// Type returns the type of the message.
func (b *Broadcast[Q]) Type() string { return envelopeOf(b.message).MessageType }

// Call sends q to the peer and waits for the result, for the method's timeout at
// most. An error is an *Error, or the error of ctx when the caller has canceled it.
func (m *Method[Q, R]) Call(ctx context.Context, caller Caller, to Peer, q *Q) (*R, error) {
	r, _, err := m.call(ctx, caller, to, q, m.Timeout, false)
	return r, err
}

// CallWithin is Call with a limit in place of the method's timeout. It tells where
// the time of the call went; nil when the carrier does not measure it. Its errors, and those
// of Ask and CallMany, are those of Call.
func (m *Method[Q, R]) CallWithin(ctx context.Context, caller Caller, to Peer, q *Q, limit time.Duration) (*R, *Timing, error) {
	return m.call(ctx, caller, to, q, limit, false)
}

// Ask is CallWithin for a question whose time belongs to the other side: when the
// request leaves, the time that it was queued at this side is added to the window.
func (m *Method[Q, R]) Ask(ctx context.Context, caller Caller, to Peer, q *Q, window time.Duration) (*R, *Timing, error) {
	return m.call(ctx, caller, to, q, window, true)
}

// CallMany is CallWithin for one of the receivers of a broadcast.
func (m *Method[Q, R]) CallMany(ctx context.Context, caller Caller, to Peer, b *Broadcast[Q], limit time.Duration) (*R, error) {
	r, _, err := m.call(ctx, caller, to, b, limit, false)
	return r, err
}

func (m *Method[Q, R]) call(ctx context.Context, caller Caller, to Peer, params any, limit time.Duration, extend bool) (*R, *Timing, error) {
	decode := m.decode
	if decode == nil { // no row of the table
		decode = decodeResult[R]
	}
	result, measured, err := caller.Call(ctx, CallRequest{
		Endpoint: to.Endpoint, Bearer: to.Bearer, Method: m.Name, Params: params, Decode: decode,
		Limit:         max(limit, 1), // 0 would be no limit
		ExtendByQueue: extend, Networks: to.Networks,
	})
	timing := (*Timing)(measured)
	if err != nil {
		if ended := ctx.Err(); errors.Is(ended, context.Canceled) {
			return nil, timing, ended // whatever the carrier made of it
		}
		if e := AsError(err); e != nil {
			return nil, timing, e
		}
		return nil, timing, err
	}
	r, ok := result.(*R)
	if !ok || r == nil {
		return nil, timing, &Error{Code: ErrInvalidFieldType, RPC: rpcInvalidParams, Detail: "the answer is not a " + m.Result}
	}
	return r, timing, nil
}

// decodeResult reads a result. The caller judges results by their meaning, so unreadable
// members are listed in the envelope and do not make the result an error. An error
// message in place of a result (spec 003 §8.10) is an error.
func decodeResult[R any](raw []byte) (any, error) {
	r := new(R)
	if json.Unmarshal(raw, r) != nil {
		*r = *new(R)
		if err := decodeLeniently(raw, r); err != nil {
			return nil, err
		}
	}
	if t := envelopeOf(r).MessageType; t == TypeLeagueError || t == TypeGameError {
		e := &Error{Remote: true}
		var l LeagueError
		if json.Unmarshal(raw, &l) == nil && l.describe(e, "") {
			e.RPC = catalogue[e.Code].rpc
		} else if e.Detail == "" {
			e.Detail = t
		}
		return nil, e
	}
	return r, nil
}

// decodeLeniently reads an object into a message, member by member. It lists unreadable
// members in the envelope.
func decodeLeniently[V any](raw []byte, v *V) error {
	members := ParseObject(raw)
	if members == nil {
		return &Error{Code: ErrInvalidFieldType, RPC: rpcInvalidParams, Detail: "the result is not an object"}
	}
	var broken []FieldError
	for _, m := range members {
		one := append(append(append([]byte{'{'}, Quote(m.Name)...), ':'), m.Value...)
		one = append(one, '}')
		if json.Unmarshal(one, new(V)) != nil { // decoding into v could leave half a value
			broken = append(broken, FieldError{Field: m.Name, Rule: "of the right type", Got: shown(m.Name, m.Value), kind: breachValue})
			continue
		}
		_ = json.Unmarshal(one, v) // cannot fail
	}
	envelopeOf(v).broken = broken
	return nil
}
