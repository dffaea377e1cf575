package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/words"
	"evenodd/transport"
)

// A Code is an error of the catalogue: E001 … E031.
type Code string

// The error catalogue (spec 003 §2.9.3, 002 §9, 004 §6): what each code means, and what its receiver does.
// docs/protocol.md has these comments.
const (
	ErrTimeout              Code = "E001" // no answer in time. Answer faster; the caller retries
	ErrInvalidFieldType     Code = "E002" // a member has a wrong type or value. `context.fields` lists all of them
	ErrMissingField         Code = "E003" // a required member is missing or null. Add the members of `context.fields`
	ErrInvalidParityChoice  Code = "E004" // the choice is neither `even` nor `odd`. Send one of them, in lower case
	ErrPlayerNotRegistered  Code = "E005" // no player has this id. Use the id of the registration
	ErrMatchNotFound        Code = "E006" // the receiver does not know the match. Copy `match_id` from the request
	ErrDuplicateReport      Code = "E007" // the match has another result. Stop reporting: that one counts
	ErrInvalidMatchState    Code = "E008" // the call does not fit the state, as after the end of a match. Stop this call
	ErrConnection           Code = "E009" // no connection, or an answer that cannot be read. See the log of the agent
	ErrIllegalMove          Code = "E010" // the move is not legal. Send one of `valid_options`
	ErrTokenMissing         Code = "E011" // `auth_token` or the credential is missing. Send the [token](#tokens)
	ErrTokenInvalid         Code = "E012" // the token is wrong. Use that of the last registration, or register again
	ErrRefereeNotRegistered Code = "E013" // the token is not that of a referee. Register as a referee
	ErrNotAuthorized        Code = "E014" // the token is that of another agent. Send that of the agent in `sender`
	ErrMatchIDMismatch      Code = "E015" // the answer is about another match. Copy `match_id` from the question
	ErrInvalidQueryType     Code = "E016" // there is no such query. Use one of the [table](#league_query)
	ErrLeagueNotFound       Code = "E017" // the agent belongs to another league. Use the `league_id` of the registration
	ErrProtocolVersion      Code = "E018" // `protocol` or its version is not supported. Send `league.v2`, and 2.1.0
	ErrLateRegistration     Code = "E019" // registration is over. Ask the organiser; return with the token
	ErrLeagueFull           Code = "E020" // the league has all its agents. Try again after `retry_after_sec`
	ErrInvalidTimestamp     Code = "E021" // a time is not UTC. Write it as `2026-03-01T10:00:00Z`
	ErrRateLimited          Code = "E022" // too many calls. Wait for `Retry-After` or `context.retry_after_sec`
	ErrMessageTooLarge      Code = "E023" // the request is too large. Send at most 10 KB
	ErrDuplicateName        Code = "E024" // another agent has this name. Choose another `display_name`
	ErrInvalidEndpoint      Code = "E025" // the endpoint cannot be called. Correct `contact_endpoint`
	ErrUnsupportedGame      Code = "E026" // the league plays another game. Register for the league's game
	ErrLeagueNotStarted     Code = "E030" // the league has not started. Wait for the first ROUND_ANNOUNCEMENT
	ErrLeagueComplete       Code = "E031" // the league is over. Stop
)

// Codes of JSON-RPC 2.0 itself.
const (
	rpcInvalidParams = -32602
	RPCInternal      = -32603
)

type catalogueRow struct {
	name string
	rpc  int // the JSON-RPC code, where the method has none of its own
}

var catalogue = map[Code]catalogueRow{
	ErrTimeout:              {"TIMEOUT_ERROR", -1},
	ErrInvalidFieldType:     {"INVALID_FIELD_TYPE", rpcInvalidParams},
	ErrMissingField:         {"MISSING_REQUIRED_FIELD", rpcInvalidParams},
	ErrInvalidParityChoice:  {"INVALID_PARITY_CHOICE", 4004},
	ErrPlayerNotRegistered:  {"PLAYER_NOT_REGISTERED", 3002},
	ErrMatchNotFound:        {"MATCH_NOT_FOUND", 4003},
	ErrDuplicateReport:      {"DUPLICATE_REPORT", 5003},
	ErrInvalidMatchState:    {"INVALID_MATCH_STATE", 4005},
	ErrConnection:           {"CONNECTION_ERROR", -2},
	ErrIllegalMove:          {"ILLEGAL_MOVE", 4004},
	ErrTokenMissing:         {"AUTH_TOKEN_MISSING", 11},
	ErrTokenInvalid:         {"AUTH_TOKEN_INVALID", 12},
	ErrRefereeNotRegistered: {"REFEREE_NOT_REGISTERED", 13},
	ErrNotAuthorized:        {"NOT_AUTHORIZED", 14},
	ErrMatchIDMismatch:      {"MATCH_ID_MISMATCH", 15},
	ErrInvalidQueryType:     {"INVALID_QUERY_TYPE", 6002},
	ErrLeagueNotFound:       {"LEAGUE_NOT_FOUND", 6003},
	ErrProtocolVersion:      {"PROTOCOL_VERSION_MISMATCH", 18},
	ErrLateRegistration:     {"LATE_REGISTRATION", 19},
	ErrLeagueFull:           {"LEAGUE_FULL", 20},
	ErrInvalidTimestamp:     {"INVALID_TIMESTAMP", 21},
	ErrRateLimited:          {"RATE_LIMITED", 22},
	ErrMessageTooLarge:      {"MESSAGE_TOO_LARGE", 23},
	ErrDuplicateName:        {"DUPLICATE_NAME", 2002},
	ErrInvalidEndpoint:      {"INVALID_ENDPOINT", 25},
	ErrUnsupportedGame:      {"UNSUPPORTED_GAME_TYPE", 26},
	ErrLeagueNotStarted:     {"LEAGUE_NOT_STARTED", 30},
	ErrLeagueComplete:       {"LEAGUE_ALREADY_COMPLETE", 31},
}

// Name returns the name of the code in the catalogue, such as TIMEOUT_ERROR.
func (c Code) Name() string { return catalogue[c].name }

// Retryable tells whether the caller may repeat the call: after a timeout, a connection
// error (spec 003 §2.9.4) or a rate limit.
func (c Code) Retryable() bool {
	return c == ErrTimeout || c == ErrConnection || c == ErrRateLimited
}

// An Error is the error of a call between two agents: an error of the catalogue, or one
// of JSON-RPC itself with an empty Code. It is sent as a JSON-RPC error whose data is a
// message: see messageOf.
type Error struct {
	Code Code // of the catalogue; "" for none
	// the JSON-RPC code; 0 for an error message in place of a result whose code is not of the catalogue
	RPC     int
	Detail  string         // one sentence for people
	Context map[string]any // details that help to correct the call; never a token
	Remote  bool           // the other side returned this error

	message any // of an error that is about to be sent: see toSend
	cause   error
}

// Fault returns an error of the catalogue.
func Fault(code Code, format string, args ...any) *Error {
	return &Error{Code: code, RPC: catalogue[code].rpc, Detail: fmt.Sprintf(format, args...)}
}

// With adds a member to the context of the error and returns the error.
func (e *Error) With(key string, value any) *Error {
	if e.Context == nil {
		e.Context = map[string]any{}
	}
	e.Context[key] = value
	return e
}

// Coded sets a JSON-RPC code other than that of the catalogue, and returns the error.
func (e *Error) Coded(rpc int) *Error {
	e.RPC = rpc
	return e
}

// Because sets the cause and returns the error.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error returns the code, the name and the detail.
func (e *Error) Error() string {
	kind := string(e.Code) + " " + e.Code.Name()
	switch {
	case e.Code == "" && e.RPC == 0:
		return e.Detail
	case e.Code == "":
		kind = fmt.Sprintf("JSON-RPC error %d", e.RPC)
	}
	if e.Detail == "" {
		return kind
	}
	return kind + ": " + e.Detail
}

// Unwrap returns the local cause of the error; nil for none.
func (e *Error) Unwrap() error { return e.cause }

// RPCError returns the members of the JSON-RPC error. Carriers use it to encode the
// error.
func (e *Error) RPCError() (code int, message string, data any) {
	message = cmp.Or(e.Code.Name(), e.Detail)
	if e.message == nil {
		return e.RPC, message, nil
	}
	return e.RPC, message, e.message
}

// messageOf returns the message of an error: LEAGUE_ERROR if the manager sends it, GAME_ERROR if an agent does in a
// match, "" for none, and else a message without a type.
func (e *Error) messageOf(stamp *Stamp, request *Envelope, matchID string) any {
	name, retryable := e.Code.Name(), e.Code.Retryable()
	envelope := stamp.Envelope("", cmp.Or(request.ConversationID, "conv-error"))
	if envelope.Sender != ManagerSender && matchID != "" {
		envelope.MessageType = TypeGameError
		id := AgentOf(envelope.Sender)
		return Plain(&GameError{
			Envelope: envelope, MatchID: matchID, PlayerID: id, ErrorCode: string(e.Code), ErrorName: name,
			ErrorDescription: name, AffectedPlayer: id, ActionRequired: request.MessageType, Context: e.Context,
			Retryable: &retryable,
		})
	}
	message := &LeagueError{
		Envelope: envelope, ErrorCode: string(e.Code), ErrorName: name, ErrorDescription: name,
		OriginalMessageType: request.MessageType, Context: e.Context, Retryable: &retryable,
	}
	if envelope.Sender != ManagerSender { // it has the members of a LEAGUE_ERROR, but is none
		return message
	}
	message.MessageType = TypeLeagueError
	return Plain(message)
}

// toSend returns a copy of e with its message, as the response to a request of a match, "" for none. The
// copy is a remote error, because some carriers pass it to the caller unchanged.
func (e *Error) toSend(stamp *Stamp, request *Envelope, matchID string, code int) *Error {
	out := *e
	out.RPC, out.Remote = code, true
	if out.Code == "" {
		return &out
	}
	out.Context = map[string]any{}
	maps.Copy(out.Context, e.Context)
	if e.Detail != "" {
		out.Context["detail"] = e.Detail
	}
	if request.MessageType != "" {
		out.Context["action"] = request.MessageType
	}
	out.message = out.messageOf(stamp, request, matchID)
	return &out
}

// AsError converts any error of a call to an Error: the error that the other side
// returned, E001 for a timeout, E022 for HTTP 429, and E009 for everything else. It
// returns nil for nil and for a canceled context.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	var e *Error
	remote, answered := errors.AsType[*transport.Error](err)
	switch limited := transport.StatusOf(err) == tooManyRequests; {
	case answered:
		e = fromRemote(remote)
		if limited {
			e.Code = ErrRateLimited
		}
	case limited:
		e = Fault(ErrRateLimited, "%v", err)
		e.Remote = true
	case errors.Is(err, context.DeadlineExceeded):
		e = Fault(ErrTimeout, "no answer in time")
	case transport.KindOf(err) == transport.Closed:
		e = Fault(ErrConnection, "%s", ClosedUnanswered)
	default:
		e = Fault(ErrConnection, "%v", err)
	}
	return e.Because(err)
}

// ClosedUnanswered describes a call whose connection the agent closed without an answer.
const ClosedUnanswered = "the agent closed the connection without an answer: probably an exception in its handler; look at its log"

func fromRemote(remote *transport.Error) *Error {
	e := &Error{RPC: remote.Code, Detail: clip(remote.Message), Remote: true}
	var l LeagueError
	if raw, ok := remote.Data.(jsontext.Value); ok && json.Unmarshal(raw, &l) == nil {
		l.describe(e, remote.Message)
	}
	return e
}

var errorName = words.Pattern(`^[A-Z][A-Z0-9_]*$`)

// describe copies the contents of an error message to e, and tells whether its code belongs to
// the catalogue: the message has the catalogue's name of the code, or no name but a complete
// envelope. Third-party agents and 004 §6.1 use the same codes for other errors, which become a
// part of the detail. Beside is the message of the JSON-RPC error; "" for none.
func (l *LeagueError) describe(e *Error, beside string) bool {
	name, text := l.ErrorName, l.ErrorDescription
	if name == "" && errorName().MatchString(text) { // as in the examples of the specification
		name = text
	}
	if text == name {
		text = ""
	}
	if detail, ok := l.Context["detail"].(string); ok {
		text = cmp.Or(detail, text)
	}
	whole := l.Protocol == Name && (l.MessageType == TypeLeagueError || l.MessageType == TypeGameError)
	switch own := Code(l.ErrorCode).Name(); {
	case l.ErrorCode == "":
		return false
	case own != "" && (name == own || name == "" && (whole || beside == own)):
		if e.Detail == own {
			e.Detail = "" // Error writes the name already
		}
		e.Code, e.Context, e.Detail = Code(l.ErrorCode), l.Context, clip(cmp.Or(text, e.Detail))
		return true
	}
	if name == "" && errorName().MatchString(beside) {
		name = beside
	}
	text = cmp.Or(text, beside)
	if !strings.HasPrefix(text, l.ErrorCode) { // as in "E012: wrong token"
		said := strings.TrimSpace(l.ErrorCode + " " + name)
		if text != "" && text != name {
			said += ": " + text
		}
		text = said
	}
	e.Detail = clip(text)
	return false
}

const tooManyRequests = 429 // of HTTP

// HTTPStatus is transport.StatusOf.
func HTTPStatus(err error) int { return transport.StatusOf(err) }

// Unreachable tells whether a call failed because the connection was refused or the host
// is unknown.
func Unreachable(err error) bool { return transport.KindOf(err) == transport.Unreachable }

// Unreadable tells whether a call was answered, but by nothing that can be read.
func Unreadable(err error) bool { return transport.KindOf(err) == transport.Unreadable }

// ConnectionRefused tells whether a call failed because nothing listens at the address.
func ConnectionRefused(err error) bool { return errors.Is(err, transport.ErrConnectionRefused) }

// Accepted tells whether the other side accepted the connection of a call that failed without a
// readable response.
func Accepted(err error) bool {
	kind := transport.KindOf(err)
	return kind == transport.Closed || kind == transport.Broken
}

// Answered tells whether the other side responded to a call: with a result, an error, or
// an unreadable response.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	e := AsError(err)
	if e == nil || Forbidden(err) || Local(err) {
		return false // there was no call, or the caller canceled it
	}
	if e.Remote || e.Code != ErrTimeout && e.Code != ErrConnection {
		return true
	}
	kind := transport.KindOf(err)
	return kind == transport.Refused || kind == transport.Unreadable
}

// Vacant tells whether a server responded that it has no agent at this path.
func Vacant(err error) bool {
	e, ok := errors.AsType[*transport.CallError](err)
	return ok && e.Vacant
}

// Foreign tells whether something answered a call that is no agent, such as another server, so that the same call fails
// again until somebody corrects the address.
func Foreign(err error) bool {
	e, ok := errors.AsType[*transport.CallError](err)
	return ok && (e.Foreign || e.Kind == transport.Unreadable)
}

// RateLimited returns E022, with the time to wait in whole seconds in
// context.retry_after_sec.
func RateLimited(wait time.Duration) *Error {
	seconds := int(math.Ceil(wait.Seconds()))
	return Fault(ErrRateLimited, "too many requests: wait %d seconds", seconds).With(retryAfter, seconds)
}

const retryAfter = "retry_after_sec"

// RetryAfter returns the time that the other side asks to wait, an hour at most, from the
// error or from the carrier; 0 for none.
func (e *Error) RetryAfter() time.Duration {
	var seconds float64
	if carried, ok := errors.AsType[*transport.CallError](e.cause); ok {
		seconds = carried.After.Seconds()
	}
	switch n := e.Context[retryAfter].(type) {
	case int:
		seconds = float64(n)
	case float64:
		seconds = n
	}
	return Seconds(max(0, min(seconds, time.Hour.Seconds())))
}

// Forbidden tells whether a call was not made because this side does not call the address
// of the endpoint (SSRF protection).
func Forbidden(err error) bool { return transport.KindOf(err) == transport.Forbidden }

// Local tells whether a call failed because this side lacked a file descriptor, a port or
// memory. A response of the other side is never a local error.
func Local(err error) bool {
	e := AsError(err)
	return e != nil && !e.Remote && transport.KindOf(err) == transport.Local
}

// CauseOf returns what other agents may learn of an error: its cause, if it has one. Its text may have more, as the
// last line of a program on standard error, in which there may be secrets.
func CauseOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Cause() string
	}](err); ok {
		return e.Cause()
	}
	return err.Error()
}

// TooFast returns the error for a caller over its rate limit, whose request was not read.
func TooFast(stamp *Stamp, wait time.Duration) error {
	return RateLimited(wait).toSend(stamp, &Envelope{}, "", catalogue[ErrRateLimited].rpc)
}

// TooLarge returns the error for a request of more than limit bytes, which was not read.
func TooLarge(stamp *Stamp, limit int64) error {
	return Fault(ErrMessageTooLarge, "a request has at most %d bytes", limit).
		toSend(stamp, &Envelope{}, "", catalogue[ErrMessageTooLarge].rpc)
}
