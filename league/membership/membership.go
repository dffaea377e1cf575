// Package membership is what a player and a referee have in common as members
// of a league: getting in, however long that takes, knowing the manager when
// it calls, and telling who may ask them things.
package membership

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"evenodd/league/protocol"
)

// A Membership is an agent's place in a league. It is immutable.
type Membership struct {
	AgentID  string
	LeagueID string
	Token    string
	Key      *protocol.TokenKey // of Token

	credential string // what the manager shows; "" when it shows none
}

// New makes the membership that a registration response grants.
func New(agentID, token string, r *protocol.Registration) *Membership {
	m := &Membership{AgentID: agentID, LeagueID: r.LeagueID, Token: token, Key: protocol.KeyOf(token)}
	if r.ManagerAuth == protocol.ManagerAuthBearer {
		m.credential = m.Key.ManagerCredential(m.LeagueID)
	}
	return m
}

// Strict tells whether the manager proves itself; its referees then do too.
func (m *Membership) Strict() bool { return m.credential != "" }

// Current is the membership an agent has, once it has one. The zero value is
// that of an agent that has not registered. Safe for concurrent use.
type Current struct {
	p       atomic.Pointer[Membership]
	pending atomic.Pointer[chan struct{}]
}

// Get is the membership, or nil.
func (c *Current) Get() *Membership { return c.p.Load() }

// Set replaces it.
func (c *Current) Set(m *Membership) { c.p.Store(m) }

// Registering tells that a registration is being answered, until the returned
// function is called. Calls that arrive in between wait for it: a manager may
// begin the league before its answer has been read.
func (c *Current) Registering() (answered func()) {
	pending := make(chan struct{})
	c.pending.Store(&pending)
	return func() { close(pending) }
}

// Await is the membership, after waiting for a registration that is being
// answered; nil when there is none, or ctx ends first.
func (c *Current) Await(ctx context.Context) *Membership {
	if m := c.Get(); m != nil {
		return m
	}
	if pending := c.pending.Load(); pending != nil {
		select {
		case <-*pending:
		case <-ctx.Done():
		}
	}
	return c.Get()
}

// CheckManager refuses a caller of the manager's methods that does not show
// the manager's credential, when there is one: a stranger cannot start or end
// anything. An agent that has not registered listens to nobody's manager.
func (c *Current) CheckManager(ctx context.Context, bearer string) error {
	m := c.Await(ctx)
	switch {
	case m == nil:
		return protocol.Fault(protocol.ErrInvalidMatchState, "this agent is not registered in a league")
	case m.credential == "":
		return nil // a manager of another maker
	case bearer == "":
		return protocol.Fault(protocol.ErrTokenMissing, "the manager shows a bearer credential beside this message")
	case !protocol.SameToken(bearer, m.credential):
		return protocol.Fault(protocol.ErrTokenInvalid, "the bearer credential is not that of the manager")
	}
	return nil
}

// KnowsManager tells whether a credential is that of the league's manager.
func (c *Current) KnowsManager(bearer string) bool {
	m := c.Get()
	return m != nil && m.credential != "" && protocol.SameToken(bearer, m.credential)
}

// CheckOwner lets only the agent's own token, or its manager, use a debugging
// tool.
func (c *Current) CheckOwner(bearer, token string) error {
	m := c.Get()
	switch {
	case m != nil && token != "" && protocol.SameToken(token, m.Token):
		return nil
	case c.KnowsManager(bearer):
		return nil
	case token == "":
		return protocol.Fault(protocol.ErrTokenMissing, "auth_token is required")
	}
	return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not this agent's")
}

// A RefusedError is a registration that was refused.
type RefusedError struct {
	Code   string // of the catalogue; "" when the manager named none of it
	Other  string // the code and the name of an error that is not of the catalogue
	Reason string
	After  time.Duration // the manager asks to register again after it; 0: the refusal is final
}

// Error says why.
func (e *RefusedError) Error() string {
	code := e.Other
	if e.Code != "" {
		code = e.Code + " " + protocol.Code(e.Code).Name()
	}
	if code == "" {
		return "registration refused: " + e.Reason
	}
	return fmt.Sprintf("registration refused: %s (%s)", e.Reason, code)
}

// RetryAfter is how long the manager asks to wait before the next registration.
func (e *RefusedError) RetryAfter() time.Duration { return e.After }

// Admitted tells whether a registration was accepted, with an id and a token;
// else the error says why not.
func Admitted(r *protocol.Registration, id *string, token string) error {
	if r.Status != protocol.StatusAccepted {
		reason := "no reason given"
		if r.Reason != nil && *r.Reason != "" {
			reason = *r.Reason
		}
		refused := &RefusedError{Reason: reason, After: protocol.Seconds(float64(max(0, r.RetryAfterSec)))}
		if name := protocol.Code(r.ErrorCode).Name(); name != "" && name == r.ErrorName {
			refused.Code = r.ErrorCode
		} else {
			refused.Other = strings.TrimSpace(r.ErrorCode + " " + r.ErrorName)
		}
		return refused
	}
	if id == nil || *id == "" || token == "" {
		return &RefusedError{Reason: "the manager accepted, but gave no id or no token"}
	}
	return nil
}

// retries are the waits towards a manager: three, then the last again and
// again.
var retries = [...]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}

// Insist makes a call to the manager until it is answered: after a timeout, a
// broken connection, a rate limit, an internal error of the manager or a
// registration refused for a while it waits 2, 4, 8 and then always 8 seconds, or
// as long as the manager asks for if that is longer, with a tenth of jitter, and
// tries again.
// It returns the first other error, or that of ctx.
func Insist(ctx context.Context, clock *protocol.Clock, call func(context.Context) error, waiting func(err error, wait time.Duration)) error {
	for i := 0; ; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := call(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if !passing(err) {
			return err
		}
		wait := retries[min(i, len(retries)-1)]
		wait = max(wait, protocol.AsError(err).RetryAfter())
		wait += time.Duration(rand.Int64N(int64(wait / 10))) //nolint:gosec // jitter, no secret
		if waiting != nil {
			waiting(err, wait)
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

const internalError = -32603 // of JSON-RPC

// passing tells whether a call that failed may succeed later.
func passing(err error) bool {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.After > 0
	}
	e := protocol.AsError(err)
	switch {
	case e == nil:
		return false
	case e.Remote && e.Code == "":
		return e.RPC == internalError // its disk may be full
	case e.Remote:
		return e.Code == protocol.ErrRateLimited
	}
	return e.Code.Retryable()
}

// Slug makes an identifier of a display name: lower case, with dashes for what
// is no letter or digit; "agent" for a name that has neither.
func Slug(name string) string {
	slug := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	if slug = strings.Trim(slug, "-"); slug == "" {
		return "agent" // a sender is never empty
	}
	return slug
}

// Conversation names the conversation of one registration. It is not made up
// twice, so that a manager can tell a repeated request from a new one.
func Conversation(role, name string) string {
	if role == RoleReferee {
		role = "ref" // as the examples have it
	}
	var unique [16]byte          // nobody guesses it, and asks for the answer in another's place
	_, _ = crand.Read(unique[:]) // never fails
	return fmt.Sprintf("conv-%s-%s-reg-%x", role, Slug(name), unique)
}
