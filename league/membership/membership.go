// Package membership holds what players and referees share as members of a league:
// registration and re-registration, the stored identity, authentication of the
// manager, and the watch over whether the manager is there. It must not depend on the
// manager, on a role or on a carrier.
package membership

import (
	"cmp"
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

// A Membership is the registration of an agent in a league. It is immutable.
type Membership struct {
	AgentID  string
	LeagueID string
	Token    string
	Key      *protocol.TokenKey // of Token

	// ManagerKey is the manager's public key from the first registration; "" if the manager
	// signs nothing.
	ManagerKey string

	credential string // of the manager; "" if the manager does not prove itself
}

// New returns the membership that a registration response grants.
func New(agentID, token string, r *protocol.Registration) *Membership {
	m := &Membership{AgentID: agentID, LeagueID: r.LeagueID, Token: token, Key: protocol.KeyOf(token)}
	if protocol.ValidPublicKey(r.ManagerKey) {
		m.ManagerKey = r.ManagerKey
	}
	if r.ManagerAuth == protocol.ManagerAuthBearer {
		m.credential = m.Key.ManagerCredential(m.LeagueID)
	}
	return m
}

// Strict tells whether the manager proves itself; then its referees do too.
func (m *Membership) Strict() bool { return m.credential != "" }

// Current holds the membership of an agent. The zero value is that of an agent that has
// not registered. Safe for concurrent use.
type Current struct {
	p       atomic.Pointer[Membership]
	pending atomic.Pointer[chan struct{}]
}

// Membership returns the membership; nil before the agent is registered.
func (c *Current) Membership() *Membership { return c.p.Load() }

// registering announces a registration that may succeed before answered is called. Calls
// that arrive until then wait, because a manager may begin the league before the agent
// has read its response.
func (c *Current) registering() {
	c.pending.CompareAndSwap(nil, new(make(chan struct{})))
}

// answered ends the registration that registering announced, if any.
func (c *Current) answered() {
	if pending := c.pending.Swap(nil); pending != nil {
		close(*pending)
	}
}

// Await waits for a registration in progress and returns the membership; nil if there is
// none, or ctx ends first.
func (c *Current) Await(ctx context.Context) *Membership {
	if m := c.Membership(); m != nil {
		return m
	}
	if pending := c.pending.Load(); pending != nil {
		select {
		case <-*pending:
		case <-ctx.Done():
		}
	}
	return c.Membership()
}

// CheckManager returns an error for a call of a method that belongs to the manager,
// unless the call has the manager's credential. Without it an untrusted caller could
// start a match or end the league. An agent that is not registered has no manager.
func (c *Current) CheckManager(ctx context.Context, bearer string) error {
	if m := c.Await(ctx); m != nil && m.credential == "" {
		return nil // a third-party manager
	}
	return c.CheckCredential(bearer)
}

// CheckCredential returns an error for a call without the manager's credential. A third-party
// manager has none.
func (c *Current) CheckCredential(bearer string) error {
	switch m := c.Membership(); {
	case m == nil:
		return protocol.Fault(protocol.ErrInvalidMatchState, "this agent is not registered in a league")
	case bearer == "":
		return protocol.Fault(protocol.ErrTokenMissing, "the manager shows a bearer credential with this message")
	case !c.KnowsManager(bearer):
		return protocol.Fault(protocol.ErrTokenInvalid, "the bearer credential is not that of the manager")
	}
	return nil
}

// KnowsManager tells whether a credential is that of the league's manager.
func (c *Current) KnowsManager(bearer string) bool {
	m := c.Membership()
	return m != nil && m.credential != "" && protocol.SameToken(bearer, m.credential)
}

// CheckOwner returns an error for a call of a debugging tool, unless the call has the
// agent's own token or the manager's credential.
func (c *Current) CheckOwner(bearer, token string) error {
	m := c.Membership()
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
	Code   string        // of the catalogue; "" for none
	Reason string        // with the code and name of an error that is not of the catalogue
	After  time.Duration // after which the agent may register again; 0: the refusal is final
}

// Error returns the reason and the code.
func (e *RefusedError) Error() string {
	text := "registration refused: " + e.Reason
	if e.Code != "" {
		text += " (" + e.Code + " " + protocol.Code(e.Code).Name() + ")"
	}
	return text
}

// Admitted returns nil for a registration that was accepted with an id and a token, else
// a *RefusedError.
func Admitted(r *protocol.Registration, id *string, token string) error {
	if r.Status != protocol.StatusAccepted {
		refused := &RefusedError{Reason: cmp.Or(protocol.ValueOf(r.Reason), "no reason given"),
			After: protocol.Seconds(float64(max(0, r.RetryAfterSec)))}
		if name := protocol.Code(r.ErrorCode).Name(); name != "" && name == r.ErrorName {
			refused.Code = r.ErrorCode
		} else if other := strings.TrimSpace(r.ErrorCode + " " + r.ErrorName); other != "" {
			refused.Reason += " (" + other + ")"
		}
		return refused
	}
	if id == nil || *id == "" || token == "" {
		return &RefusedError{Reason: "the manager accepted, but gave no id or no token"}
	}
	return nil
}

// mostUnreadable is the number of unreadable answers in a row that show that the address is that of another program.
// One may be that of a proxy, or damaged on its way.
const mostUnreadable = 3

// Retry makes a call to the manager until it succeeds. It retries after a timeout, a broken connection, a rate limit,
// an internal error of the manager, a temporary refusal and two unreadable answers, but not after an answer of another
// program than a manager: after 2, 4, 8 and then always 8 seconds, or after the time that the manager asks for if that
// is longer, plus up to a tenth of jitter. It returns the first other error, or that of ctx. A sleep that returns
// early makes the next call early.
func Retry(ctx context.Context, sleep func(context.Context, time.Duration) error, call func(context.Context) error,
	waiting func(err error, wait time.Duration)) error {
	unreadable := 0 // answers in a row
	for i := 0; ; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := call(ctx)
		if unreadable++; !protocol.Unreadable(err) {
			unreadable = 0
		}
		again := temporary(err) || 0 < unreadable && unreadable < mostUnreadable
		if err == nil || ctx.Err() != nil || !again {
			return err
		}
		wait := max(protocol.Backoff(i, 2*time.Second, 8*time.Second), retryAfter(err))
		wait += time.Duration(rand.Int64N(int64(wait / 10))) //nolint:gosec // jitter, no secret
		if waiting != nil {
			waiting(err, wait)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// retryAfter is the time that a manager asks to wait before the next call; 0 for none.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return min(refused.After, time.Hour)
	}
	return protocol.AsError(err).RetryAfter()
}

// temporary tells whether a call that failed may succeed later.
func temporary(err error) bool {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.After > 0
	}
	e := protocol.AsError(err)
	switch {
	case e == nil, protocol.Foreign(err):
		return false
	case e.Remote && e.Code == "":
		return e.RPC == -32603 // an internal error of JSON-RPC: its disk may be full
	case e.Remote:
		return e.Code == protocol.ErrRateLimited
	}
	return e.Code.Retryable()
}

// Slug converts a display name to an identifier: lower case, with dashes for all
// characters that are no letters or digits; "agent" for a name without any.
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

// Conversation returns a new conversation id for a registration. It is unique, so that
// the manager can distinguish a repeated request from a new one.
func Conversation(role, name string) string {
	if role == protocol.RoleReferee {
		role = "ref" // as in the examples of the specification
	}
	var unique [16]byte          // another agent must not guess it, because the response holds the token
	_, _ = crand.Read(unique[:]) // never fails
	return fmt.Sprintf("conv-%s-%s-reg-%x", role, Slug(name), unique)
}

// Identify names the caller of an encoded request by a valid credential: that of the
// manager, or the agent's own token. It returns "" for a caller without one, and never
// waits. It serves the limits of a carrier; the handlers authenticate each message
// themselves.
func (c *Current) Identify(bearer string, body []byte) string {
	m := c.Membership()
	switch {
	case m == nil:
	case c.KnowsManager(bearer):
		return "manager"
	case protocol.SameToken(bearer, m.Token), protocol.SameToken(protocol.ClaimOf(body).Token, m.Token):
		return "owner"
	}
	return ""
}
