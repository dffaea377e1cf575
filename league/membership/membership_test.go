package membership_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/transport"
)

const (
	leagueID = "league_2025_even_odd"
	token    = "tok-p01-secret"
)

// granted returns the membership of P01 at one of our managers or a third-party one.
func granted(own bool) *membership.Membership {
	r := &protocol.Registration{Status: protocol.StatusAccepted, LeagueID: leagueID}
	if own {
		r.ManagerAuth = protocol.ManagerAuthBearer
	}
	return membership.New("P01", token, r)
}

// credential returns the manager's credential for the holder of a token.
func credential(token string) string { return protocol.KeyOf(token).ManagerCredential(leagueID) }

// codeOf returns the error code of an error, or "".
func codeOf(err error) protocol.Code {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// errNever is a timeout.
var errNever = fmt.Errorf("no answer: %w", context.DeadlineExceeded)

// errInternal is the internal error of a manager.
var errInternal = &protocol.Error{RPC: -32603, Detail: "Internal error", Remote: true}

type unreachable struct{}

func (unreachable) Error() string { return "connection refused" }
func (unreachable) Unwrap() error { return &transport.CallError{Kind: transport.Unreachable} }

func remote(code protocol.Code) error { return &protocol.Error{Code: code, Remote: true} }

// remoteFor returns an error with the time that the manager asks to wait.
func remoteFor(wait time.Duration) error {
	e := protocol.RateLimited(wait)
	e.Remote = true
	return e
}

// attempts answers the n-th call with the n-th error, and then with success.
type attempts struct {
	errors []error
	calls  int
}

func (a *attempts) call(context.Context) error {
	a.calls++
	if a.calls > len(a.errors) {
		return nil
	}
	return a.errors[a.calls-1]
}

func TestRetryBacksOff(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		errors []error
		waits  []time.Duration
	}{
		{"immediate response", nil, nil},
		{"a timeout, then a broken connection", []error{errNever, errors.New("connection reset")}, []time.Duration{2 * s, 4 * s}},
		{"rate limited with a delay", []error{remoteFor(90 * s), remoteFor(3 * s), remoteFor(3 * s)}, []time.Duration{90 * s, 4 * s, 8 * s}},
		{"a gateway whose manager is down", []error{&transport.CallError{Kind: transport.Refused, Status: 502, Err: errors.New("HTTP 502")}}, []time.Duration{2 * s}},
		{"internal error of the manager", []error{errInternal, errInternal, errInternal, errInternal}, []time.Duration{2 * s, 4 * s, 8 * s, 8 * s}},
		{"eight seconds after the third attempt", []error{
			unreachable{}, errNever, unreachable{}, remote(protocol.ErrRateLimited), unreachable{}, errNever,
		}, []time.Duration{2 * s, 4 * s, 8 * s, 8 * s, 8 * s, 8 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				made := attempts{errors: tt.errors}
				var reported []time.Duration
				var whole time.Duration
				sleep := protocol.SystemClock().Sleep
				err := membership.Retry(t.Context(), sleep, made.call, func(err error, wait time.Duration) {
					assert.Equal(t, whole, time.Since(begin), "called before the wait")
					assert.Equal(t, tt.errors[len(reported)], err, "with the reason of the wait")
					reported = append(reported, wait)
					whole += wait
				})
				require.NoError(t, err)
				assert.Equal(t, len(tt.errors)+1, made.calls)
				require.Len(t, reported, len(tt.waits))
				for i, wait := range reported {
					assert.GreaterOrEqual(t, wait, tt.waits[i])
					assert.Less(t, wait, tt.waits[i]+tt.waits[i]/10, "at most 10% jitter")
				}
				assert.Equal(t, whole, time.Since(begin), "it waits exactly as long as it reports")
			})
		})
	}
}

func TestRetryReturnsPermanentErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"a refusal", &membership.RefusedError{Code: "E020", Reason: "the league is full"}},
		{"the manager answered with an error", remote(protocol.ErrMissingField)},
		{"the manager timed out itself", remote(protocol.ErrTimeout)},
		{"the manager answered with an error that has no code", &protocol.Error{RPC: -32601, Detail: "Method not found", Remote: true}},
		{"a local internal error", &protocol.Error{RPC: -32603, Detail: "Internal error"}},
		{"a status of another server", &transport.CallError{Kind: transport.Refused, Status: 404, Foreign: true, Err: errors.New("HTTP 404")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made, reported := attempts{errors: []error{errNever, tt.err}}, 0
				sleep := protocol.SystemClock().Sleep
				err := membership.Retry(t.Context(), sleep, made.call, func(error, time.Duration) { reported++ })
				assert.Equal(t, tt.err, err, "the error is unchanged")
				assert.Equal(t, []int{2, 1}, []int{made.calls, reported})
			})
		})
	}
}

// A proxy that has just no server may answer with a page of its own, but another program always does.
func TestRetryEndsAfterThreeUnreadableAnswersInARow(t *testing.T) {
	page := error(&transport.CallError{Kind: transport.Unreadable, Status: 200, Err: errors.New("no JSON")})
	for _, tt := range []struct {
		name   string
		errors []error
		want   error
		calls  int
	}{
		{"two", []error{page, page}, nil, 3},
		{"three", []error{page, page, page, page}, page, 3},
		{"three with a timeout between them", []error{page, page, context.DeadlineExceeded, page}, nil, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := attempts{errors: tt.errors}
				err := membership.Retry(t.Context(), protocol.SystemClock().Sleep, made.call, nil)
				assert.Equal(t, tt.want, err)
				assert.Equal(t, tt.calls, made.calls)
			})
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		calls := 0
		err := membership.Retry(ctx, protocol.SystemClock().Sleep, func(context.Context) error {
			calls++
			return unreachable{}
		}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 20*time.Second, time.Since(begin), "immediately")
		assert.Equal(t, 4, calls, "at about 0, 2, 6 and 14 s")
	})
}

func TestCallsWaitForARegistrationInProgress(t *testing.T) {
	for _, tt := range []struct {
		name     string
		answered time.Duration // when the agent has read the response
		patience time.Duration // of the call
		grant    bool
		member   bool
		took     time.Duration
	}{
		{"accepted meanwhile", 3 * time.Second, 10 * time.Second, true, true, 3 * time.Second},
		{"rejected meanwhile", 3 * time.Second, 10 * time.Second, false, false, 3 * time.Second},
		{"the call times out first", 30 * time.Second, 10 * time.Second, true, false, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var current membership.Current
				current.Registering()
				time.AfterFunc(tt.answered, func() {
					if tt.grant {
						current.Set(granted(true))
					}
					current.Answered()
				})
				ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
				defer cancel()
				assert.Equal(t, tt.member, current.Await(ctx) != nil)
				assert.Equal(t, tt.took, time.Since(begin))
			})
		})
	}
}

func TestCallsDoNotWaitWithoutARegistration(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(*membership.Current)
		member  bool
	}{
		{"no registration", func(*membership.Current) {}, false},
		{"a rejected registration", func(c *membership.Current) { c.Registering(); c.Answered() }, false},
		{"a member", func(c *membership.Current) { c.Set(granted(true)) }, true},
		{"a member that registers again", func(c *membership.Current) {
			c.Set(granted(true))
			c.Registering()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var current membership.Current
				tt.prepare(&current)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				assert.Equal(t, tt.member, current.Await(ctx) != nil)
				assert.Equal(t, tt.member, current.Membership() != nil)
				assert.Zero(t, time.Since(begin))
			})
		})
	}
}

// members are memberships in all states.
var members = map[string]*membership.Membership{
	"no member":                       nil,
	"member of our manager":           granted(true),
	"member of a third-party manager": granted(false),
	"member without a token":          membership.New("P01", "", &protocol.Registration{LeagueID: leagueID}),
}

func TestCheckManagerNeedsTheCredential(t *testing.T) {
	for _, tt := range []struct {
		member string
		name   string
		bearer string
		want   protocol.Code // "" means accepted
	}{
		{"no member", "shows nothing", "", protocol.ErrInvalidMatchState},
		{"member of our manager", "shows the credential", credential(token), ""},
		{"member of our manager", "shows nothing", "", protocol.ErrTokenMissing},
		{"member of our manager", "shows another agent's credential", credential("tok-p02-secret"), protocol.ErrTokenInvalid},
		{"member of our manager", "shows another league's credential",
			protocol.KeyOf(token).ManagerCredential("another"), protocol.ErrTokenInvalid},
		{"member of our manager", "shows the agent's own token", token, protocol.ErrTokenInvalid},
		{"member of a third-party manager", "shows nothing", "", ""},
	} {
		t.Run(tt.member+" "+tt.name, func(t *testing.T) {
			var current membership.Current
			current.Set(members[tt.member])
			err := current.CheckManager(t.Context(), tt.bearer)
			assert.Equal(t, tt.want, codeOf(err))
			assert.Equal(t, tt.want == "", err == nil)
		})
	}
}

func TestCheckOwnerNeedsTokenOrCredential(t *testing.T) {
	for _, tt := range []struct {
		member        string
		name          string
		bearer, token string
		want          protocol.Code // "" means accepted
	}{
		{"no member", "shows nothing", "", "", protocol.ErrTokenMissing},
		{"no member", "shows a token", "", token, protocol.ErrTokenInvalid},
		{"member of our manager", "shows its own token", "", token, ""},
		{"member of our manager", "shows the manager's bearer", credential(token), "", ""},
		{"member of our manager", "shows nothing", "", "", protocol.ErrTokenMissing},
		{"member of our manager", "shows a wrong token", "", "tok-p02-secret", protocol.ErrTokenInvalid},
		{"member of our manager", "shows token and bearer exchanged", token, credential(token), protocol.ErrTokenInvalid},
		{"member of a third-party manager", "shows its own token", "", token, ""},
		{"member of a third-party manager", "shows the credential of our manager", credential(token), "", protocol.ErrTokenMissing},
		{"member without a token", "shows nothing", "", "", protocol.ErrTokenMissing},
	} {
		t.Run(tt.member+" "+tt.name, func(t *testing.T) {
			var current membership.Current
			current.Set(members[tt.member])
			err := current.CheckOwner(tt.bearer, tt.token)
			assert.Equal(t, tt.want, codeOf(err))
			assert.Equal(t, tt.want == "", err == nil)
		})
	}
}

func TestRegistrationIsAcceptedOnlyWithIDAndToken(t *testing.T) {
	text := func(s string) *string { return &s }
	const accepted, rejected = protocol.StatusAccepted, protocol.StatusRejected
	noID := "registration refused: the manager accepted, but gave no id or no token"
	for _, tt := range []struct {
		name     string
		response protocol.Registration
		id       *string
		token    string
		want     string // "" when accepted
	}{
		{"accepted", protocol.Registration{Status: accepted}, text("P01"), token, ""},
		{"accepted without an id", protocol.Registration{Status: accepted}, nil, token, noID},
		{"accepted without a token", protocol.Registration{Status: accepted}, text("P01"), "", noID},
		{"rejected, with reason and code", protocol.Registration{Status: rejected, Reason: text("the league is full"), ErrorCode: "E020", ErrorName: "LEAGUE_FULL"},
			nil, "", "registration refused: the league is full (E020 LEAGUE_FULL)"},
		{"rejected, with a code that has another name", protocol.Registration{Status: rejected, Reason: text("taken"), ErrorCode: "E021", ErrorName: "DUPLICATE_NAME"},
			nil, "", "registration refused: taken (E021 DUPLICATE_NAME)"},
		{"rejected, without a reason", protocol.Registration{Status: rejected}, nil, "", "registration refused: no reason given"},
		{"rejected, but with an id and a token", protocol.Registration{Status: rejected, Reason: text("full")},
			text("P01"), token, "registration refused: full"},
		{"no status", protocol.Registration{}, text("P01"), token, "registration refused: no reason given"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := membership.Admitted(&tt.response, tt.id, tt.token)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.want)
			var refused *membership.RefusedError
			require.ErrorAs(t, err, &refused)
			named := tt.response.ErrorName == "LEAGUE_FULL"
			assert.Equal(t, named, refused.Code == string(protocol.ErrLeagueFull))
			assert.Equal(t, named, refused.Code != "", "a code without its name is ignored")
		})
	}
}

func TestSlugHasLowerCaseLettersAndDigits(t *testing.T) {
	for display, want := range map[string]string{
		"Agent Alpha": "agent-alpha",
		"a_b.c/d:e":   "a-b-c-d-e",
		"Ünïcode 東京":  "ünïcode-東京",
		"★ ★":         "agent",
		"a\xffb":      "a-b",
	} {
		assert.Equal(t, want, membership.Slug(display), "%q", display)
	}
}

func TestConversationsAreUnique(t *testing.T) {
	made := map[string]bool{}
	for range 100 {
		id := membership.Conversation(protocol.RoleReferee, "Agent Alpha")
		assert.Regexp(t, `^conv-ref-agent-alpha-reg-[0-9a-f]{32}$`, id)
		made[id] = true
	}
	assert.Len(t, made, 100)
	assert.Regexp(t, `^conv-player-agent-reg-[0-9a-f]{32}$`, membership.Conversation("player", "★"))
}
