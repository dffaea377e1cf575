package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// An Answer is the manager's response to a registration.
type Answer struct {
	AgentID *string
	Token   string
	*protocol.Registration
}

// Apply prepares the request of a registration: with the id and token of the known
// identity, or for a new agent if known is nil. The returned function sends the same
// message each time, so that the manager recognizes a repetition after a lost response.
type Apply func(known *store.Identity, conversation string) func(context.Context) (*Answer, error)

// A registration is one call of Agent.Register.
type registration struct {
	*Agent
	request Apply
	joined  func(m *Membership, back bool) // may be nil
}

// Register registers the agent with its token, or as a new agent if it has none or the
// manager does not know it. While the manager is unreachable it retries, until ctx
// ends. A refusal is a *RefusedError. The manager answers a repeated request as it
// answered the first: with the same conversation id, or with the same token,
// registration is idempotent.
//
// Register calls joined with the new membership, before the calls that wait for it
// continue. Back tells whether it is the one that the agent had before.
//
// Calls to the agent wait for the response. Calls to an agent that returns also wait
// while its manager is away: the agent may be in a match, which it would lose with an
// error.
func (a *Agent) Register(ctx context.Context, request Apply, joined func(m *Membership, back bool)) error {
	r := &registration{a, request, joined}
	known := r.identities.Identity()
	if known != nil && !r.joins(known.LeagueID) { // the manager of another league must not see the token
		r.identities.Discard()
		known = nil
	}
	if known == nil {
		return r.apply(ctx, nil)
	}
	r.registering()
	err := r.apply(ctx, known)
	r.answered()
	if !unknown(err) {
		return err
	}
	r.options.Log.Warn().Str("id", known.AgentID).Str("league_id", known.LeagueID).
		Str("event_type", protocol.EventRegistrationLost).Msg("the manager does not know this agent any more, registering anew")
	r.identities.Discard()
	return r.apply(ctx, nil)
}

// apply sends one registration until the manager responds.
func (r *registration) apply(ctx context.Context, known *store.Identity) error {
	conversation, err := r.conversation(known)
	if err != nil {
		return err
	}
	call := r.request(known, conversation)
	last := ""    // the reason of the last failure
	sent := false // a request may have reached the manager
	if known == nil {
		defer r.answered()
	}
	return Retry(ctx, r.options.Clock, func(ctx context.Context) error {
		r.registering()
		answer, err := call(ctx)
		if err == nil {
			err, sent = r.join(known, answer), false
		} else {
			sent = sent || !protocol.Unreachable(err)
		}
		if known == nil && !sent { // calls to a new agent need to wait only while it may be registered
			r.answered()
		}
		return err
	}, func(err error, wait time.Duration) {
		level := zerolog.DebugLevel // the log has each reason once
		if reason := err.Error(); reason != last {
			if level = zerolog.WarnLevel; last == "" && r.options.Waiting != nil {
				r.options.Waiting(err)
			}
			last = reason
		}
		r.options.Log.WithLevel(level).Err(err).Dur("wait_ms", wait).Str("event_type", protocol.EventRegistrationRetried).Msg("cannot register yet, trying again")
	})
}

// join stores the identity and the membership that the manager granted.
func (r *registration) join(known *store.Identity, a *Answer) error {
	if err := Admitted(a.Registration, a.AgentID, a.Token); err != nil {
		return err
	}
	if !r.joins(a.LeagueID) {
		return &RefusedError{Reason: "the manager runs league " + a.LeagueID + ", not " + strings.Join(r.options.leagues(), " or ")}
	}
	m := New(*a.AgentID, a.Token, a.Registration)
	// A third-party manager may ignore the token and grant P01 to another agent.
	back := known != nil && known.LeagueID == m.LeagueID && known.AgentID == m.AgentID && (known.AuthToken == m.Token || m.Strict())
	if known != nil && !back {
		r.identities.Discard()
	}
	if back && known.ManagerKey != "" && m.ManagerKey != known.ManagerKey {
		r.options.Log.Error().Str("manager_key", m.ManagerKey).Str("expected", known.ManagerKey).Str("event_type", protocol.EventManagerKeyChanged).
			Msg("the manager shows another public key than at the first registration: the first one counts")
		m.ManagerKey = known.ManagerKey
	}
	if err := r.identities.Save(m, a.Registration, r.options.Clock.Timestamp()); err != nil {
		r.options.Log.Error().Err(err).Str("event_type", protocol.EventIdentityNotStored).Msg("cannot write the identity of this agent: after a restart it cannot register as the same agent")
	}
	if r.joined != nil {
		r.joined(m, back)
	}
	r.set(m)
	r.options.Log.Info().Str("id", m.AgentID).Str("league_id", m.LeagueID).Bool("back", back).Str("public_key", r.PublicKey()).Str("event_type", protocol.EventRegistered).Msg("registered")
	return nil
}

// joins tells whether the agent may join a league.
func (a *Agent) joins(leagueID string) bool {
	only := a.options.leagues()
	return len(only) == 0 || slices.Contains(only, leagueID)
}

// conversation returns the conversation id of a registration. An agent with a token
// gets a new one each time. That of a new agent is stored first: an agent that cannot
// write its folder could not register again after a restart, so it does not register.
func (r *registration) conversation(known *store.Identity) (string, error) {
	if known != nil {
		return Conversation(known.Role, known.DisplayName), nil
	}
	name, err := r.identities.Conversation(r.options.Clock.Timestamp())
	if err != nil {
		return "", fmt.Errorf("cannot write the identity of this agent: %w: make the folder writable, or use another", err)
	}
	return name, nil
}

// unknown tells whether a manager answered that it does not know the token (E012).
func unknown(err error) bool {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Code == string(protocol.ErrTokenInvalid)
	}
	answer, ok := errors.AsType[*protocol.Error](err)
	return ok && answer.Remote && answer.Code == protocol.ErrTokenInvalid
}
