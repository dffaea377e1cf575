package membership_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

const (
	league = "league_2025_even_odd"
	token  = "tok-p01-secret"
)

// granted returns the membership of P01 at one of our managers or a third-party one.
func granted(own bool) *membership.Membership {
	r := &protocol.Registration{Status: protocol.StatusAccepted, LeagueID: league}
	if own {
		r.ManagerAuth = protocol.ManagerAuthBearer
	}
	return membership.New("P01", token, r)
}

// credential returns the manager's credential for the holder of a token.
func credential(token string) string { return protocol.KeyOf(token).ManagerCredential(league) }

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

func (unreachable) Error() string     { return "connection refused" }
func (unreachable) Unreachable() bool { return true }

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
	tests := []struct {
		name   string
		errors []error
		waits  []time.Duration
	}{
		{"immediate response", nil, nil},
		{"one refused connection", []error{unreachable{}}, []time.Duration{2 * s}},
		{"a timeout, then a broken connection", []error{errNever, errors.New("connection reset")}, []time.Duration{2 * s, 4 * s}},
		{"protocol error codes", []error{
			protocol.Fault(protocol.ErrTimeout, "late"), protocol.Fault(protocol.ErrConnection, "gone"),
		}, []time.Duration{2 * s, 4 * s}},
		{"rate limited without a delay", []error{remote(protocol.ErrRateLimited), remote(protocol.ErrRateLimited)}, []time.Duration{2 * s, 4 * s}},
		{"rate limited with a delay", []error{remoteFor(90 * s), remoteFor(3 * s), remoteFor(3 * s)}, []time.Duration{90 * s, 4 * s, 8 * s}},
		{"internal error of the manager", []error{errInternal, errInternal, errInternal, errInternal}, []time.Duration{2 * s, 4 * s, 8 * s, 8 * s}},
		{"eight seconds after the third attempt", []error{
			unreachable{}, errNever, unreachable{}, remote(protocol.ErrRateLimited), unreachable{}, errNever,
		}, []time.Duration{2 * s, 4 * s, 8 * s, 8 * s, 8 * s, 8 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				made := attempts{errors: tt.errors}
				var reported []time.Duration
				var whole time.Duration
				err := membership.Retry(t.Context(), protocol.SystemClock(), made.call, func(err error, wait time.Duration) {
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

func TestRetryAddsJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := attempts{errors: make([]error, 50)}
		for i := range made.errors {
			made.errors[i] = unreachable{}
		}
		waits := map[time.Duration]bool{}
		require.NoError(t, membership.Retry(t.Context(), protocol.SystemClock(), made.call, func(_ error, wait time.Duration) {
			waits[wait] = true
		}))
		assert.Greater(t, len(waits), 40, "agents that start together do not retry together")
	})
}

func TestRetryNeedsNoCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := attempts{errors: []error{unreachable{}}}
		require.NoError(t, membership.Retry(t.Context(), protocol.SystemClock(), made.call, nil))
		assert.Equal(t, 2, made.calls)
	})
}

func TestRetryReturnsPermanentErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
	}{
		{"a refusal", &membership.RefusedError{Code: "E020", Reason: "the league is full"}},
		{"a wrapped refusal", fmt.Errorf("register: %w", &membership.RefusedError{Reason: "no"})},
		{"the manager answered with an error", remote(protocol.ErrMissingField)},
		{"the manager timed out itself", remote(protocol.ErrTimeout)},
		{"the manager could not reach another agent", remote(protocol.ErrConnection)},
		{"the manager answered with an error that has no code", &protocol.Error{RPC: -32601, Detail: "Method not found", Remote: true}},
		{"the manager answered with an unknown code", &protocol.Error{Detail: "E099 CLOSED", Remote: true}},
		{"the manager has an internal error that has a code", &protocol.Error{Code: protocol.ErrInvalidMatchState, RPC: -32603, Remote: true}},
		{"a local internal error", &protocol.Error{RPC: -32603, Detail: "Internal error"}},
		{"an invalid response", protocol.Fault(protocol.ErrInvalidFieldType, "the answer is not an object")},
	}
	for _, tt := range tests {
		for _, before := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, after %d timeouts", tt.name, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					made := attempts{}
					for range before {
						made.errors = append(made.errors, errNever)
					}
					made.errors = append(made.errors, tt.err)
					reported := 0
					err := membership.Retry(t.Context(), protocol.SystemClock(), made.call, func(error, time.Duration) { reported++ })
					assert.Equal(t, tt.err, err, "the error is unchanged")
					assert.Equal(t, before+1, made.calls)
					assert.Equal(t, before, reported)
				})
			})
		}
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	t.Run("while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			calls := 0
			err := membership.Retry(ctx, protocol.SystemClock(), func(context.Context) error {
				calls++
				return unreachable{}
			}, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, 20*time.Second, time.Since(begin), "immediately")
			assert.Equal(t, 4, calls, "at about 0, 2, 6 and 14 s")
		})
	})
	endings := []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"cancelled during a call", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(3*time.Second, cancel)
			return ctx, cancel
		}, context.Canceled},
		{"deadline during a call", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Second)
		}, context.DeadlineExceeded},
	}
	for _, tt := range endings {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				calls := 0
				err := membership.Retry(ctx, protocol.SystemClock(), func(ctx context.Context) error {
					calls++
					<-ctx.Done()
					return ctx.Err()
				}, func(error, time.Duration) { assert.Fail(t, "there is nothing to wait for") })
				require.ErrorIs(t, err, tt.want)
				assert.Equal(t, 3*time.Second, time.Since(begin))
				assert.Equal(t, 1, calls)
			})
		})
	}
	t.Run("a timeout of the call alone is retried", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			require.NoError(t, membership.Retry(t.Context(), protocol.SystemClock(), func(ctx context.Context) error {
				if calls++; calls > 1 {
					return nil
				}
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				<-ctx.Done()
				return ctx.Err()
			}, nil))
			assert.Equal(t, 2, calls)
		})
	})
}

func TestCallsWaitForARegistrationInProgress(t *testing.T) {
	tests := []struct {
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
	}
	for _, tt := range tests {
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
	t.Run("ten concurrent calls wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var current membership.Current
			current.Registering()
			var let, refused atomic.Int32
			for range 10 {
				go func() {
					if current.CheckManager(t.Context(), credential(token)) == nil {
						let.Add(1)
					} else {
						refused.Add(1)
					}
				}()
			}
			synctest.Wait()
			assert.Zero(t, let.Load()+refused.Load(), "no call is answered before the registration")
			current.Set(granted(true))
			current.Answered()
			synctest.Wait()
			assert.EqualValues(t, 10, let.Load())
			assert.Zero(t, refused.Load())
		})
	})
}

func TestCallsDoNotWaitWithoutARegistration(t *testing.T) {
	tests := []struct {
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
	}
	for _, tt := range tests {
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
	"member without a token":          membership.New("P01", "", &protocol.Registration{LeagueID: league}),
}

func TestCheckManagerNeedsTheCredential(t *testing.T) {
	tests := []struct {
		member string
		name   string
		bearer string
		want   protocol.Code // "" means accepted
	}{
		{"no member", "shows nothing", "", protocol.ErrInvalidMatchState},
		{"no member", "shows a credential", credential(token), protocol.ErrInvalidMatchState},
		{"member of our manager", "shows the credential", credential(token), ""},
		{"member of our manager", "shows nothing", "", protocol.ErrTokenMissing},
		{"member of our manager", "shows another agent's credential", credential("tok-p02-secret"), protocol.ErrTokenInvalid},
		{"member of our manager", "shows another league's credential",
			protocol.KeyOf(token).ManagerCredential("another"), protocol.ErrTokenInvalid},
		{"member of our manager", "shows the agent's own token", token, protocol.ErrTokenInvalid},
		{"member of our manager", "shows part of the credential", credential(token)[:20], protocol.ErrTokenInvalid},
		{"member of our manager", "shows the credential and more", credential(token) + "x", protocol.ErrTokenInvalid},
		{"member of a third-party manager", "shows nothing", "", ""},
		{"member of a third-party manager", "shows something", "anything", ""},
	}
	for _, tt := range tests {
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
	tests := []struct {
		member        string
		name          string
		bearer, token string
		want          protocol.Code // "" means accepted
	}{
		{"no member", "shows nothing", "", "", protocol.ErrTokenMissing},
		{"no member", "shows a token", "", token, protocol.ErrTokenInvalid},
		{"no member", "shows a bearer", credential(token), "", protocol.ErrTokenMissing},
		{"member of our manager", "shows its own token", "", token, ""},
		{"member of our manager", "shows the manager's bearer", credential(token), "", ""},
		{"member of our manager", "shows both", credential(token), token, ""},
		{"member of our manager", "shows its own token and a wrong bearer", "wrong", token, ""},
		{"member of our manager", "shows the manager's bearer and a wrong token", credential(token), "wrong", ""},
		{"member of our manager", "shows nothing", "", "", protocol.ErrTokenMissing},
		{"member of our manager", "shows a wrong bearer", "wrong", "", protocol.ErrTokenMissing},
		{"member of our manager", "shows a wrong token", "", "tok-p02-secret", protocol.ErrTokenInvalid},
		{"member of our manager", "shows token and bearer exchanged", token, credential(token), protocol.ErrTokenInvalid},
		{"member of a third-party manager", "shows its own token", "", token, ""},
		{"member of a third-party manager", "shows nothing", "", "", protocol.ErrTokenMissing},
		{"member of a third-party manager", "shows the credential of our manager", credential(token), "", protocol.ErrTokenMissing},
		{"member of a third-party manager", "shows a wrong token", "", "wrong", protocol.ErrTokenInvalid},
		{"member without a token", "shows nothing", "", "", protocol.ErrTokenMissing},
	}
	for _, tt := range tests {
		t.Run(tt.member+" "+tt.name, func(t *testing.T) {
			var current membership.Current
			current.Set(members[tt.member])
			err := current.CheckOwner(tt.bearer, tt.token)
			assert.Equal(t, tt.want, codeOf(err))
			assert.Equal(t, tt.want == "", err == nil)
		})
	}
}

func TestMembershipHasIDTokenAndKey(t *testing.T) {
	for _, own := range []bool{true, false} {
		m := granted(own)
		assert.Equal(t, []string{"P01", league, token}, []string{m.AgentID, m.LeagueID, m.Token})
		assert.Equal(t, own, m.Strict(), "referees authenticate themselves if the manager does")
		assert.Equal(t, credential(token), m.Key.ManagerCredential(league), "the key is derived from the token")
	}
	unknown := membership.New("P01", token, &protocol.Registration{LeagueID: league, ManagerAuth: "mutual_tls"})
	assert.False(t, unknown.Strict(), "an unknown authentication method counts as none")
}

func TestRegistrationIsAcceptedOnlyWithIDAndToken(t *testing.T) {
	text := func(s string) *string { return &s }
	const accepted, rejected = protocol.StatusAccepted, protocol.StatusRejected
	noID := "registration refused: the manager accepted, but gave no id or no token"
	tests := []struct {
		name     string
		response protocol.Registration
		id       *string
		token    string
		want     string // "" when accepted
	}{
		{"accepted", protocol.Registration{Status: accepted}, text("P01"), token, ""},
		{"accepted without an id", protocol.Registration{Status: accepted}, nil, token, noID},
		{"accepted with an empty id", protocol.Registration{Status: accepted}, text(""), token, noID},
		{"accepted without a token", protocol.Registration{Status: accepted}, text("P01"), "", noID},
		{"rejected, with reason and code", protocol.Registration{Status: rejected, Reason: text("the league is full"), ErrorCode: "E020", ErrorName: "LEAGUE_FULL"},
			nil, "", "registration refused: the league is full (E020 LEAGUE_FULL)"},
		{"rejected, with a code without a name", protocol.Registration{Status: rejected, Reason: text("the league is full"), ErrorCode: "E020"},
			nil, "", "registration refused: the league is full (E020)"},
		{"rejected, with a code that has another name", protocol.Registration{Status: rejected, Reason: text("taken"), ErrorCode: "E021", ErrorName: "DUPLICATE_NAME"},
			nil, "", "registration refused: taken (E021 DUPLICATE_NAME)"},
		{"rejected, with a reason alone", protocol.Registration{Status: rejected, Reason: text("go away")},
			nil, "", "registration refused: go away"},
		{"rejected, with an unknown code", protocol.Registration{Status: rejected, Reason: text("closed"), ErrorCode: "E099"},
			nil, "", "registration refused: closed (E099)"},
		{"rejected, without a reason", protocol.Registration{Status: rejected}, nil, "", "registration refused: no reason given"},
		{"rejected, with an empty reason", protocol.Registration{Status: rejected, Reason: text("")}, nil, "", "registration refused: no reason given"},
		{"rejected, but with an id and a token", protocol.Registration{Status: rejected, Reason: text("full")},
			text("P01"), token, "registration refused: full"},
		{"no status", protocol.Registration{}, text("P01"), token, "registration refused: no reason given"},
		{"another status", protocol.Registration{Status: "accepted"}, text("P01"), token, "registration refused: no reason given"},
	}
	for _, tt := range tests {
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
	tests := []struct{ name, display, want string }{
		{"words", "Agent Alpha", "agent-alpha"},
		{"digits", "Player 8101", "player-8101"},
		{"an identifier", "p01", "p01"},
		{"space around", "  Alpha ", "alpha"},
		{"punctuation", "a_b.c/d:e", "a-b-c-d-e"},
		{"letters of other scripts", "Ünïcode 東京", "ünïcode-東京"},
		{"no letter or digit", "★ ★", "agent"},
		{"nothing", "", "agent"},
		{"invalid UTF-8", "a\xffb", "a-b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, membership.Slug(tt.display))
		})
	}
}

// displayNames generates valid display names: 1 to 50 characters.
var displayNames = rapid.StringOfN(rapid.Rune(), 1, 50, -1).Filter(protocol.ValidName)

func TestSlugsAreIdentifiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slug := membership.Slug(displayNames.Draw(t, "display name"))
		assert.NotEmpty(t, slug)
		assert.Equal(t, slug, strings.Trim(slug, "-"))
		for _, r := range slug {
			assert.True(t, r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r), "%q in %q", r, slug)
			assert.Equal(t, unicode.ToLower(r), r, "%q in %q", r, slug)
		}
	})
}

func TestEveryDisplayNameCanRegister(t *testing.T) {
	// A display name and its slug are part of a valid message.
	clock := protocol.SystemClock()
	rapid.Check(t, func(t *rapid.T) {
		display := displayNames.Draw(t, "display name")
		stamp := protocol.NewStamp(protocol.PlayerSender(membership.Slug(display)), clock)
		raw, err := json.Marshal(&protocol.LeagueRegisterRequest{
			Envelope: stamp.Envelope(protocol.TypeLeagueRegisterRequest, membership.Conversation("player", display)),
			PlayerMeta: protocol.PlayerMeta{
				DisplayName: display, Version: "1.0.0", GameTypes: []string{"even_odd"}, ContactEndpoint: "http://localhost:8101/mcp",
			},
		})
		require.NoError(t, err)
		assert.Empty(t, protocol.Examine(protocol.TypeLeagueRegisterRequest, raw))
	})
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
