package protocol

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/words"
)

// A MethodRow is a row of the method table without its Go types: names, messages and timeout.
type MethodRow struct {
	Name       string        // the JSON-RPC method that is sent
	Aliases    []string      // names in the specification's examples: accepted as the method as well
	ThirdParty []string      // names that only third-party agents use: transport/dialect translates them
	Request    string        // message type of the request; "" for tools that have none
	Result     string        // message type of the result
	Timeout    time.Duration // for the whole call (spec 003 table 5); usualTimeout unless the row says otherwise
	From, To   string        // the agents that call it, and those that have it, such as "player, referee"
	About      string        // what a call does, for the user of a tool
	ReadOnly   bool          // a call changes nothing
	OpenWorld  bool          // a call reaches an address that the request names

	maxReply        int64        // bytes of the result, if that is more than carriers read
	codes           map[Code]int // JSON-RPC codes this method has of its own (004)
	check           func(raw []byte) error
	request, result func() *Field // the rules of the messages
}

const usualTimeout = 10 * time.Second

// Check returns the error with which an agent rejects the params of a request; nil if it
// accepts them.
func (m *MethodRow) Check(raw []byte) error { return m.check(raw) }

// RPCCode returns the JSON-RPC code of an error of the catalogue in a response of the method.
func (m *MethodRow) RPCCode(code Code) int {
	return cmp.Or(m.codes[code], catalogue[code].rpc)
}

// A Method is a method with its Go types: Q is that of the request, R that of the result.
type Method[Q, R any] struct {
	MethodRow

	decode func(result []byte) (any, error)
}

func newMethod[Q, R any](row MethodRow) Method[Q, R] {
	m := Method[Q, R]{MethodRow: row}
	m.Timeout = cmp.Or(row.Timeout, usualTimeout)
	m.request = compile(reflect.TypeFor[Q](), cmp.Or(m.Request, m.Name))
	m.result = compile(reflect.TypeFor[R](), m.Result)
	m.decode = func(raw []byte) (any, error) { return decodeResult[R](m.result(), raw) }
	m.check = func(raw []byte) error {
		_, err := m.decodeRequest(raw, SystemClock())
		return err
	}
	return m
}

// ReadAs returns a method whose result is read as another type, such as one that keeps members as raw JSON.
func ReadAs[A, Q, R any](m Method[Q, R]) Method[Q, A] {
	return newMethod[Q, A](MethodRow{Name: m.Name, Request: m.Request, Result: m.Result, Timeout: m.Timeout})
}

var (
	refereeCodes = map[Code]int{ErrLeagueFull: 1001, ErrInvalidEndpoint: 1002, ErrUnsupportedGame: 1003}
	playerCodes  = map[Code]int{ErrLeagueFull: 2001, ErrInvalidEndpoint: 2003, ErrUnsupportedGame: 2004}
	noticeCodes  = map[Code]int{ErrTokenMissing: 3001, ErrTokenInvalid: 3001}
	matchCodes   = map[Code]int{ErrTokenMissing: 4001, ErrTokenInvalid: 4001, ErrPlayerNotRegistered: 4002}
	reportCodes  = map[Code]int{ErrTokenMissing: 5001, ErrTokenInvalid: 5001, ErrMatchNotFound: 5002}
	queryCodes   = map[Code]int{ErrTokenMissing: 6001, ErrTokenInvalid: 6001}
)

const onlyReferee = " Only the referee of the match may call it."

// byManager completes a row of a method that only the manager of the receiver may call.
func byManager(row MethodRow) MethodRow {
	row.From, row.codes = "manager", noticeCodes
	row.About += " Only its manager may call it."
	return row
}

// byReferee completes a row of a method of players that only the referee of the match may call.
func byReferee(row MethodRow) MethodRow {
	row.From, row.To, row.codes = "referee", "player", matchCodes
	row.About += onlyReferee
	return row
}

// alsoToManager completes a row of a method by which a player tells its manager of a match, too.
func alsoToManager(row MethodRow, about string) MethodRow {
	row.From += ", player"
	row.To += ", manager"
	row.About += about
	return row
}

// The method table.
var (
	RegisterReferee = newMethod[RefereeRegisterRequest, RefereeRegisterResponse](MethodRow{
		Name: "register_referee", Request: TypeRefereeRegisterRequest, Result: "REFEREE_REGISTER_RESPONSE",
		From: "referee", To: "manager", codes: refereeCodes,
		About: "Registers a referee in the league. The response has its referee_id and its auth_token. The manager calls the referee at contact_endpoint.", OpenWorld: true})
	RegisterPlayer = newMethod[LeagueRegisterRequest, LeagueRegisterResponse](MethodRow{
		Name: "register_player", ThirdParty: []string{"league_register", "PLAYER_REGISTER_REQUEST"}, Request: TypeLeagueRegisterRequest,
		Result: "LEAGUE_REGISTER_RESPONSE", From: "player", To: "manager", codes: playerCodes,
		About: "Registers a player in the league. The response has its player_id and its auth_token. Referees and the manager call the player at contact_endpoint.", OpenWorld: true})
	NotifyRound = newMethod[RoundAnnouncement, Ack](byManager(MethodRow{
		Name: "notify_round", ThirdParty: []string{"receive_round_announcement", "announce_round"},
		Request: TypeRoundAnnouncement, Result: "ROUND_ANNOUNCEMENT_ACK", To: "player",
		About: "Tells a player the matches of the next round."}))
	StartMatch = newMethod[MatchAssignment, MatchAssignmentAck](byManager(MethodRow{
		Name: "start_match", Aliases: []string{"START_MATCH", "run_match", "RUN_MATCH"},
		ThirdParty: []string{"assign_match", "start_match_command"},
		Request:    TypeMatchAssignment, Result: "MATCH_ASSIGNMENT_ACK", To: "referee",
		About: "Assigns a match to a referee, which conducts it in the background."}))
	Invite = newMethod[GameInvitation, GameJoinAck](byReferee(MethodRow{
		Name: "handle_game_invitation", ThirdParty: []string{"receive_game_invitation"}, Request: TypeGameInvitation,
		Result: TypeGameJoinAck, Timeout: 5 * time.Second,
		About: "Invites a player to a match. The player answers whether it takes part."}))
	ChooseParity = newMethod[ChooseParityCall, ChooseParityResponse](byReferee(MethodRow{
		Name: "choose_parity", Aliases: []string{"parity_choose"}, ThirdParty: []string{"receive_parity_call"},
		Request: TypeChooseParityCall, Result: TypeChooseParityResponse, Timeout: 30 * time.Second,
		About: "Asks a player for its choice in Even/Odd."}))
	MakeMove = newMethod[GameMoveCall, GameMoveResponse](byReferee(MethodRow{
		Name: "make_move", Request: TypeGameMoveCall, Result: TypeGameMoveResponse, Timeout: 30 * time.Second,
		About: "Asks a player for its move in a game other than Even/Odd."}))
	NotifyMatchResult = newMethod[GameOver, Ack](MethodRow{
		Name: "notify_match_result", ThirdParty: []string{"receive_game_over"}, Request: TypeGameOver,
		Result: "GAME_OVER_ACK", Timeout: 5 * time.Second, From: "referee, manager", To: "player", codes: matchCodes,
		About: "Tells a player the result of its match. Only the referee of the match may call it, and the manager if the opponent forfeits."})
	NotifyGameError = newMethod[GameError, Ack](alsoToManager(byReferee(MethodRow{
		Name: "notify_game_error", Request: TypeGameError, Result: "GAME_ERROR_ACK",
		About: "Tells a player what was wrong with its answer, before the referee asks again."}),
		" A player calls it at its manager, if a referee takes it for another player."))
	ReportMatchResult = newMethod[MatchResultReport, Ack](MethodRow{
		Name: "report_match_result", Request: TypeMatchResultReport, Result: "MATCH_RESULT_ACK",
		From: "referee", To: "manager", codes: reportCodes,
		About: "Reports the result of a match to the manager." + onlyReferee})
	UpdateStandings = newMethod[StandingsUpdate, Ack](byManager(MethodRow{
		Name: "update_standings", ThirdParty: []string{"receive_standings_update", "standings_update", "notify_standings"},
		Request: TypeStandingsUpdate, Result: "STANDINGS_UPDATE_ACK", To: "player",
		About: "Tells a player the table."}))
	NotifyRoundCompleted = newMethod[RoundCompleted, Ack](byManager(MethodRow{
		Name: "notify_round_completed", ThirdParty: []string{"receive_round_completed"}, Request: TypeRoundCompleted,
		Result: "ROUND_COMPLETED_ACK", To: "player, referee",
		About: "Tells an agent that a round is complete."}))
	NotifyLeagueCompleted = newMethod[LeagueCompleted, Ack](byManager(MethodRow{
		Name: "notify_league_completed", ThirdParty: []string{"receive_league_completed"}, Request: TypeLeagueCompleted,
		Result: "LEAGUE_COMPLETED_ACK", To: "player, referee",
		About: "Tells an agent the champion and the final table."}))
	Query = newMethod[LeagueQuery, LeagueQueryResponse](MethodRow{
		Name: "league_query", Request: TypeLeagueQuery, Result: "LEAGUE_QUERY_RESPONSE",
		From: "player, referee", To: "manager", codes: queryCodes,
		About: "Answers one of " + words.And(Queries[:]) + ". It needs the token of a registered agent.", ReadOnly: true})

	// The tools for debugging and control (spec 003 §5.5, §8.11).

	GetStandings = newMethod[ToolRequest, LeagueQueryResponse](MethodRow{
		Name: "get_standings", Result: "LEAGUE_QUERY_RESPONSE", From: "player, referee", To: "manager",
		codes: queryCodes, About: "Returns the table of the league. It needs the token of a registered agent.",
		ReadOnly: true})
	GetMatchState = newMethod[ToolRequest, MatchState](MethodRow{
		Name: "get_match_state", Result: "MATCH_STATE", From: "manager", To: "referee",
		About: "Returns the state of a match that this referee conducts or has conducted. Choices and numbers follow when the match is over.", ReadOnly: true})
	GetMatchTranscript = newMethod[ToolRequest, MatchTranscript](MethodRow{
		Name: "get_match_transcript", Result: "MATCH_TRANSCRIPT", From: "manager, organiser", To: "referee, manager",
		About: "Returns the file of an attempt at a match, with all messages and without tokens. A referee answers its manager, a manager answers the organiser.", ReadOnly: true,
		maxReply: 8 << 20})
	GetPlayerState = newMethod[ToolRequest, PlayerState](MethodRow{
		Name: "get_player_state", Result: "PLAYER_STATE", From: "manager", To: "player",
		About: "Returns the state of this player and its own history.", ReadOnly: true})
	Ping = newMethod[ToolRequest, Pong](MethodRow{
		Name: "ping", Result: "PONG", From: "any", To: "any",
		About: "Returns the role and the state of the agent. It needs no token.", ReadOnly: true})
	StartLeague = newMethod[ToolRequest, LeagueStarted](MethodRow{
		Name: "start_league", Result: "LEAGUE_STARTED", From: "organiser", To: "manager",
		About: "Starts the league with the agents that have registered. It needs the admin token."})
	OrganiseLeague = newMethod[OrganiseRequest, Organised](MethodRow{
		Name: organiseMethod, Result: "ORGANISED", From: "organiser", To: "manager",
		About: "Carries out a command of the organiser: " + words.Or(commandNames(Commands[:])) +
			". The journal records it with the organiser's name and reason. It needs the admin token."})
)

// IsErrorCode tells whether a JSON-RPC code belongs to an error of the protocol: the
// catalogue or a method has it. The codes that JSON-RPC itself defines do not count.
func IsErrorCode(rpc int) bool {
	const lowestOfJSONRPC, highestOfJSONRPC = -32768, -32000
	if rpc >= lowestOfJSONRPC && rpc <= highestOfJSONRPC {
		return false
	}
	for code := range catalogue {
		if slices.ContainsFunc(methodRows, func(m MethodRow) bool { return m.RPCCode(code) == rpc }) {
			return true
		}
	}
	return false
}

var methodRows = []MethodRow{
	RegisterReferee.MethodRow, RegisterPlayer.MethodRow, NotifyRound.MethodRow, StartMatch.MethodRow, Invite.MethodRow, ChooseParity.MethodRow,
	MakeMove.MethodRow,
	NotifyMatchResult.MethodRow, NotifyGameError.MethodRow, ReportMatchResult.MethodRow, UpdateStandings.MethodRow,
	NotifyRoundCompleted.MethodRow,
	NotifyLeagueCompleted.MethodRow, Query.MethodRow, GetStandings.MethodRow, GetMatchState.MethodRow, GetMatchTranscript.MethodRow,
	GetPlayerState.MethodRow, Ping.MethodRow, StartLeague.MethodRow, OrganiseLeague.MethodRow,
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
	if messageType == TypeLeagueError {
		return TypeLeagueError, true
	}
	row, ok := methodOfType[messageType]
	if !ok {
		return "", false
	}
	return row.Name, true
}

// A Broadcast is a message for many receivers. It is encoded once.
type Broadcast[Q any] struct {
	message *Q
	encode  func() ([]byte, error)
	called  *atomic.Bool // shared by its variants
}

// Many returns a broadcast of a message, which must not change afterwards.
func Many[Q any](q *Q) *Broadcast[Q] {
	q = Plain(q)
	return &Broadcast[Q]{q, sync.OnceValues(func() ([]byte, error) { return json.Marshal(q) }), new(atomic.Bool)}
}

// Variant returns the broadcast for receivers that get another message.
func (b *Broadcast[Q]) Variant(q *Q) *Broadcast[Q] {
	variant := Many(q)
	variant.called = b.called
	return variant
}

// Message returns the message.
func (b *Broadcast[Q]) Message() *Q { return b.message }

// Encoded returns the JSON of the message. The first call encodes it.
func (b *Broadcast[Q]) Encoded() ([]byte, error) { return b.encode() }

// FirstCall tells whether this is the first call of it and its variants: a log has one line for all of them.
func (b *Broadcast[Q]) FirstCall() bool { return !b.called.Swap(true) }

// Conversation returns the conversation id of the message.
func (b *Broadcast[Q]) Conversation() string {
	return EnvelopeOf(b.message).ConversationID
}

// Type returns the type of the message.
func (b *Broadcast[Q]) Type() string { return EnvelopeOf(b.message).MessageType }

// Call sends q to the peer and waits for the result, for the method's timeout at
// most. An error is an *Error, or the error of ctx when the caller has canceled it.
func (m *Method[Q, R]) Call(ctx context.Context, caller Caller, to Peer, q *Q) (*R, error) {
	r, _, err := m.call(ctx, caller, to, Plain(q), m.Timeout, false)
	return r, err
}

// CallWithin is Call with a limit in place of the method's timeout. It tells where
// the time of the call went; nil when the carrier does not measure it. Its errors, and those
// of Ask and CallMany, are those of Call.
func (m *Method[Q, R]) CallWithin(ctx context.Context, caller Caller, to Peer, q *Q, limit time.Duration) (*R, *Timing,
	error) {
	return m.call(ctx, caller, to, Plain(q), limit, false)
}

// Ask is CallWithin for a question whose time belongs to the other side: when the
// request leaves, the time that it was queued at this side is added to the window.
func (m *Method[Q, R]) Ask(ctx context.Context, caller Caller, to Peer, q *Q, window time.Duration) (*R, *Timing,
	error) {
	return m.call(ctx, caller, to, Plain(q), window, true)
}

// CallMany is CallWithin for one of the receivers of a broadcast.
func (m *Method[Q, R]) CallMany(ctx context.Context, caller Caller, to Peer, b *Broadcast[Q], limit time.Duration) (*R,
	error) {
	r, _, err := m.call(ctx, caller, to, b, limit, false)
	return r, err
}

func (m *Method[Q, R]) call(ctx context.Context, caller Caller, to Peer, params any, limit time.Duration,
	extend bool) (*R, *Timing, error) {
	result, timing, err := caller.Call(ctx, CallRequest{
		Endpoint: to.Endpoint, Bearer: to.Bearer, Method: m.Name, Params: params, Decode: m.decode,
		MaxReply:      m.maxReply,
		Limit:         max(limit, 1), // 0 would be no limit
		ExtendByQueue: extend, Networks: to.Networks,
	})
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
		return nil, timing, &Error{Code: ErrInvalidFieldType, RPC: rpcInvalidParams, Detail: "the answer is not a " +
			m.Result}
	}
	return r, timing, nil
}

// decodeResult reads a result. The caller judges results by their meaning, so unreadable
// members are listed in the envelope and do not make the result an error; nor do the members of
// a player's reply that break a rule. An error message in place of a result is an error.
func decodeResult[R any](rules *Field, raw []byte) (any, error) {
	r := new(R)
	if err := decodeLeniently(raw, r); err != nil {
		return nil, err
	}
	if t := EnvelopeOf(r).MessageType; t == TypeLeagueError || t == TypeGameError {
		e := &Error{Remote: true}
		var l LeagueError
		if json.Unmarshal(raw, &l) == nil && l.describe(e, "") {
			e.RPC = catalogue[e.Code].rpc
		} else if e.Detail == "" {
			e.Detail = t
		}
		return nil, e
	}
	if reply, ok := any(r).(playerReply); ok {
		reply.envelope().breaches = examineValid(rules, raw)
	}
	return r, nil
}

// decodeLeniently reads an object into an empty message, member by member if it cannot be read as a whole. It lists
// unreadable members in the envelope.
func decodeLeniently[V any](raw []byte, v *V) error {
	if json.Unmarshal(raw, v) == nil {
		return nil
	}
	*v = *new(V) // it may have half a value
	members := ParseObject(raw)
	if members == nil {
		return &Error{Code: ErrInvalidFieldType, RPC: rpcInvalidParams, Detail: "the result is not an object"}
	}
	var broken []FieldError
	for _, m := range members {
		one := Object{m}.Append(nil)
		if json.Unmarshal(one, new(V)) != nil { // decoding into v could leave half a value
			broken = append(broken, FieldError{Field: m.Name, Rule: "of the right type", Got: shown(m.Name, m.Value),
				kind: breachValue})
			continue
		}
		_ = json.Unmarshal(one, v) // cannot fail
	}
	EnvelopeOf(v).broken = broken
	return nil
}
