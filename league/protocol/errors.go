package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Code is an error of the catalogue: E001 … E031.
type Code string

// The error catalogue (spec 003 §2.9.3, 002 §9, 004 §6).
const (
	ErrTimeout              Code = "E001"
	ErrInvalidFieldType     Code = "E002"
	ErrMissingField         Code = "E003"
	ErrInvalidParityChoice  Code = "E004"
	ErrPlayerNotRegistered  Code = "E005"
	ErrMatchNotFound        Code = "E006"
	ErrDuplicateReport      Code = "E007"
	ErrInvalidMatchState    Code = "E008"
	ErrConnection           Code = "E009"
	ErrIllegalMove          Code = "E010"
	ErrTokenMissing         Code = "E011"
	ErrTokenInvalid         Code = "E012"
	ErrRefereeNotRegistered Code = "E013"
	ErrNotAuthorized        Code = "E014"
	ErrMatchIDMismatch      Code = "E015"
	ErrInvalidQueryType     Code = "E016"
	ErrLeagueNotFound       Code = "E017"
	ErrProtocolVersion      Code = "E018"
	ErrLateRegistration     Code = "E019"
	ErrLeagueFull           Code = "E020"
	ErrInvalidTimestamp     Code = "E021"
	ErrRateLimited          Code = "E022"
	ErrMessageTooLarge      Code = "E023"
	ErrDuplicateName        Code = "E024"
	ErrInvalidEndpoint      Code = "E025"
	ErrUnsupportedGame      Code = "E026"
	ErrLeagueNotStarted     Code = "E030"
	ErrLeagueComplete       Code = "E031"
)

// Codes of JSON-RPC 2.0 itself.
const (
	rpcMethodNotFound = -32601
	rpcInvalidParams  = -32602
	rpcInternal       = -32603
)

type catalogued struct {
	name string
	rpc  int // the JSON-RPC code, where the method has none of its own
}

var catalogue = map[Code]catalogued{
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

// Name is the catalogue's name of the code, such as TIMEOUT_ERROR.
func (c Code) Name() string { return catalogue[c].name }

// Retryable tells whether the same call may be made again: a timeout or a
// broken connection (spec 003 §2.9.4), and a caller that was too fast.
func (c Code) Retryable() bool {
	return c == ErrTimeout || c == ErrConnection || c == ErrRateLimited
}

// An Error is what went wrong between two agents: an error of the catalogue,
// or one of JSON-RPC itself (Code is then empty). It crosses the wire as a
// JSON-RPC error whose data is a whole LEAGUE_ERROR.
type Error struct {
	Code    Code           // of the catalogue; "" when the error names none
	RPC     int            // the JSON-RPC code; 0 for an error message in place of a result whose code is not of the catalogue
	Detail  string         // one sentence for people
	Context map[string]any // what helps to mend it; never a token
	Remote  bool           // the other side answered with this error

	message *LeagueError // the error as a message, once it is about to travel
	cause   error
}

// Fault makes an error of the catalogue.
func Fault(code Code, format string, args ...any) *Error {
	return &Error{Code: code, RPC: catalogue[code].rpc, Detail: fmt.Sprintf(format, args...)}
}

// With adds a member to the error's context, and returns the error.
func (e *Error) With(key string, value any) *Error {
	if e.Context == nil {
		e.Context = map[string]any{}
	}
	e.Context[key] = value
	return e
}

// Coded gives the error another JSON-RPC code than the catalogue's.
func (e *Error) Coded(rpc int) *Error {
	e.RPC = rpc
	return e
}

// Because gives the error a cause.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error says what went wrong, code first.
func (e *Error) Error() string {
	switch {
	case e.Code == "" && e.RPC == 0:
		return e.Detail
	case e.Code == "" && e.Detail == "":
		return fmt.Sprintf("JSON-RPC error %d", e.RPC)
	case e.Code == "":
		return fmt.Sprintf("JSON-RPC error %d: %s", e.RPC, e.Detail)
	case e.Detail == "":
		return string(e.Code) + " " + e.Code.Name()
	}
	return string(e.Code) + " " + e.Code.Name() + ": " + e.Detail
}

// Unwrap is what caused the error on this side, if anything.
func (e *Error) Unwrap() error { return e.cause }

// RPCError is the error as JSON-RPC writes it; carriers find it by this
// method.
func (e *Error) RPCError() (code int, message string, data any) {
	message = e.Code.Name()
	if message == "" {
		message = e.Detail
	}
	if e.message == nil {
		return e.RPC, message, nil
	}
	return e.RPC, message, e.message
}

// travelling is a copy of e that carries its LEAGUE_ERROR, as an answer to the
// request whose envelope is given. Its receiver sees a remote error, also where
// the carrier hands it over as it is.
func (e *Error) travelling(stamp *Stamp, request *Envelope, code int) *Error {
	out := *e
	out.RPC, out.Remote = code, true
	if out.Code == "" {
		return &out
	}
	conversation := request.ConversationID
	if conversation == "" {
		conversation = "conv-error"
	}
	context := maps.Clone(e.Context)
	if context == nil {
		context = map[string]any{}
	}
	if e.Detail != "" {
		context["detail"] = e.Detail
	}
	if request.MessageType != "" {
		context["action"] = request.MessageType
	}
	out.Context = context
	retryable := e.Code.Retryable()
	out.message = &LeagueError{
		Envelope:            stamp.Envelope(TypeLeagueError, conversation),
		ErrorCode:           string(e.Code),
		ErrorName:           e.Code.Name(),
		ErrorDescription:    e.Code.Name(),
		OriginalMessageType: request.MessageType,
		Context:             context,
		Retryable:           &retryable,
	}
	return &out
}

// AsError reads any error of a call as an Error: what the other side answered,
// E001 when time ran out, E022 for HTTP 429, E009 when nothing readable came
// back. It returns nil for nil, and for the end of the caller's own context.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	var remote interface {
		RPCError() (code int, message string, data any)
	}
	if errors.As(err, &remote) {
		e := fromRemote(remote.RPCError())
		if e.cause = err; HTTPStatus(err) == tooManyRequests {
			e.Code = ErrRateLimited
		}
		return e
	}
	if HTTPStatus(err) == tooManyRequests {
		return &Error{Code: ErrRateLimited, RPC: catalogue[ErrRateLimited].rpc, Detail: err.Error(), Remote: true, cause: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: ErrTimeout, RPC: catalogue[ErrTimeout].rpc, Detail: "no answer in time", cause: err}
	}
	return &Error{Code: ErrConnection, RPC: catalogue[ErrConnection].rpc, Detail: err.Error(), cause: err}
}

func fromRemote(code int, message string, data any) *Error {
	e := &Error{RPC: code, Detail: clip(message), Remote: true}
	raw, ok := data.(jsontext.Value)
	if !ok {
		return e
	}
	var l LeagueError
	if json.Unmarshal(raw, &l) == nil {
		l.describe(e, message)
	}
	return e
}

// catalogued tells whether the code of an error message is one of the catalogue:
// it has the catalogue's name beside it, or no name in a whole message of this
// protocol. Third-party agents number their errors otherwise, and so does 004 §6.1.
// Beside is the message of the JSON-RPC error; "" for none.
func (l *LeagueError) catalogued(beside string) bool {
	whole := l.Protocol == Name && (l.MessageType == TypeLeagueError || l.MessageType == TypeGameError)
	own, name := Code(l.ErrorCode).Name(), l.name()
	return own != "" && (name == own || name == "" && (whole || beside == own))
}

var errorName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// name is the name of the error; "" for none. The examples of the specification
// have it as error_description.
func (l *LeagueError) name() string {
	if l.ErrorName == "" && errorName.MatchString(l.ErrorDescription) {
		return l.ErrorDescription
	}
	return l.ErrorName
}

// text is what the message says for people; "" for nothing but the name.
func (l *LeagueError) text() string {
	if l.ErrorDescription == l.name() {
		return ""
	}
	return l.ErrorDescription
}

// foreign is an error of another catalogue for people: its own code, name and text.
func (l *LeagueError) foreign(beside string) string {
	said, name := l.ErrorCode, l.name()
	if name == "" && errorName.MatchString(beside) {
		name = beside
	}
	if name != "" {
		said += " " + name
	}
	detail, _ := l.Context["detail"].(string)
	switch text := cmp.Or(detail, l.text(), beside); {
	case strings.HasPrefix(text, l.ErrorCode): // as in "E012: wrong token"
		return text
	case text != "" && text != name:
		said += ": " + text
	}
	return said
}

// describe copies what an error message says into e, and reports whether its code
// is one of the catalogue. Any other code goes into the detail.
func (l *LeagueError) describe(e *Error, beside string) bool {
	switch {
	case l.ErrorCode == "":
		return false
	case !l.catalogued(beside):
		e.Detail = clip(l.foreign(beside))
		return false
	case l.text() != "":
		e.Detail = clip(l.text())
	case e.Detail == Code(l.ErrorCode).Name():
		e.Detail = "" // it would be said twice
	}
	e.Code, e.Context = Code(l.ErrorCode), l.Context
	if detail, ok := l.Context["detail"].(string); ok {
		e.Detail = clip(detail)
	}
	return true
}

const tooManyRequests = 429 // of HTTP

// HTTPStatus returns the HTTP status of the answer by which a call failed; 0
// where there was no answer, or where HTTP did not carry it.
func HTTPStatus(err error) int {
	var answered interface{ HTTPStatus() int }
	if errors.As(err, &answered) {
		return answered.HTTPStatus()
	}
	return 0
}

// Unreachable tells whether a call failed because nobody listens at the
// endpoint: a refused connection or an unknown host.
func Unreachable(err error) bool {
	var u interface{ Unreachable() bool }
	return errors.As(err, &u) && u.Unreachable()
}

// Answered tells whether the other side answered a call: with a result, with an
// error, or with a response that cannot be read.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	e := AsError(err)
	if e == nil || Forbidden(err) || Local(err) {
		return false // the call was not made, or its caller gave up
	}
	if e.Remote || e.Code != ErrTimeout && e.Code != ErrConnection {
		return true
	}
	return HTTPStatus(err) > 0
}

// Vacant tells whether a server answered a call that it has no agent at this path.
func Vacant(err error) bool {
	var v interface{ Vacant() bool }
	return errors.As(err, &v) && v.Vacant()
}

// RateLimited refuses a caller that asks too often (E022), and says how long to
// wait: in context.retry_after_sec, in whole seconds.
func RateLimited(wait time.Duration) *Error {
	seconds := int(math.Ceil(wait.Seconds()))
	return Fault(ErrRateLimited, "too many requests: wait %d seconds", seconds).With(retryAfter, seconds)
}

const retryAfter = "retry_after_sec"

// RetryAfter is how long the caller is asked to wait, an hour at most, by the
// error or by the carrier it came with; 0 when nothing is said of it.
func (e *Error) RetryAfter() time.Duration {
	var seconds float64
	var carried interface{ RetryAfter() time.Duration }
	if errors.As(e.cause, &carried) {
		seconds = carried.RetryAfter().Seconds()
	}
	switch n := e.Context[retryAfter].(type) {
	case int:
		seconds = float64(n)
	case float64:
		seconds = n
	}
	return Seconds(max(0, min(seconds, time.Hour.Seconds())))
}

// Forbidden tells whether a call was not made because the endpoint is at an
// address that this side does not call.
func Forbidden(err error) bool {
	var f interface{ Forbidden() bool }
	return errors.As(err, &f) && f.Forbidden()
}

// Local tells whether a call failed by this side's own fault: it had no file
// descriptor, no port, no memory. What another agent answered is never that.
func Local(err error) bool {
	if e := AsError(err); e == nil || e.Remote {
		return false
	}
	var l interface{ Local() bool }
	return errors.As(err, &l) && l.Local()
}

// TooFast answers a caller that asks too often, whose request nobody has read.
func TooFast(stamp *Stamp, wait time.Duration) error {
	return RateLimited(wait).travelling(stamp, &Envelope{}, catalogue[ErrRateLimited].rpc)
}

// TooLarge answers a request of more than limit bytes, which nobody has read.
func TooLarge(stamp *Stamp, limit int64) error {
	return Fault(ErrMessageTooLarge, "a request has at most %d bytes", limit).
		travelling(stamp, &Envelope{}, catalogue[ErrMessageTooLarge].rpc)
}
