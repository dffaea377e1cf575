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

// An Answer is what a manager says to a registration.
type Answer struct {
	AgentID *string
	Token   string
	*protocol.Registration
}

// An Enrolment is how an agent gets into a league, or back into it.
type Enrolment struct {
	Keep    *Keep    // who the agent was, and will be
	Current *Current // gets the membership
	Leagues []string // the only leagues to join; none means any

	Clock *protocol.Clock
	Log   zerolog.Logger

	// Apply prepares a registration: of the agent that kept says, which shows
	// its token under its own id, or of a new one when kept is nil. What it
	// returns makes the call, over and over with the same message, so that a
	// manager whose answer was lost can tell a repetition.
	Apply func(kept *store.Identity, conversation string) func(context.Context) (*Answer, error)

	// Joined is told of the place the agent has, before anybody who waits for
	// the answer goes on; back tells whether it is the one the agent had.
	Joined func(m *Membership, back bool)
}

// Enroll registers the agent, and keeps trying while the manager cannot be
// reached, until ctx ends: with the token it has, or anew when it has none or
// the manager does not know it. A refusal is a *RefusedError.
//
// Calls that arrive meanwhile wait for the answer. Those to an agent that comes
// back wait also while its manager is away: it may be in the middle of a match,
// which a refusal would lose.
func (e *Enrolment) Enroll(ctx context.Context) error {
	kept := e.Keep.Recalled()
	if kept != nil && !e.joins(kept.LeagueID) { // its token is no business of another league's manager
		e.Keep.Forget()
		kept = nil
	}
	if kept == nil {
		return e.apply(ctx, nil)
	}
	answered := e.Current.Registering()
	err := e.apply(ctx, kept)
	answered()
	if !unknown(err) {
		return err
	}
	e.Log.Warn().Str("id", kept.AgentID).Str("league_id", kept.LeagueID).
		Str("event_type", protocol.EventRegistrationLost).Msg("the manager does not know this agent any more, registering anew")
	e.Keep.Forget()
	return e.apply(ctx, nil)
}

// apply makes one registration until it is answered.
func (e *Enrolment) apply(ctx context.Context, kept *store.Identity) error {
	conversation, err := e.conversation(kept)
	if err != nil {
		return err
	}
	call := e.Apply(kept, conversation)
	answered := func() {} // from when on the manager may have let the agent in, until it says so
	open := kept != nil   // Enroll waits for the answer
	sent := false         // a call may have reached the manager
	defer func() { answered() }()
	release := func() { // the manager has not let the agent in: no call needs to wait
		if kept == nil {
			answered()
			answered, open = func() {}, false
		}
	}
	return Insist(ctx, e.Clock, func(ctx context.Context) error {
		if !open {
			answered, open = e.Current.Registering(), true
		}
		answer, err := call(ctx)
		if err != nil {
			if sent = sent || !protocol.Unreachable(err); !sent {
				release()
			}
			return err
		}
		if err = e.join(kept, answer); err != nil {
			sent = false
			release()
		}
		return err
	}, func(err error, wait time.Duration) {
		e.Log.Warn().Err(err).Dur("wait_ms", wait).Str("event_type", protocol.EventRegistrationRetried).Msg("cannot register yet, trying again")
	})
}

// join takes the place in the league that the manager gave.
func (e *Enrolment) join(kept *store.Identity, a *Answer) error {
	if err := Admitted(a.Registration, a.AgentID, a.Token); err != nil {
		return err
	}
	if !e.joins(a.LeagueID) {
		return &RefusedError{Reason: "the manager runs league " + a.LeagueID + ", not " + strings.Join(e.Leagues, " or ")}
	}
	m := New(*a.AgentID, a.Token, a.Registration)
	// A manager of another maker may overlook the token, and begin again at P01.
	back := kept != nil && kept.LeagueID == m.LeagueID && kept.AgentID == m.AgentID && (kept.AuthToken == m.Token || m.Strict())
	if kept != nil && !back {
		e.Keep.Forget()
	}
	if err := e.Keep.Remember(m, a.Registration, e.Clock.Timestamp()); err != nil {
		e.Log.Error().Err(err).Str("event_type", protocol.EventIdentityNotStored).Msg("cannot keep this agent's identity: started again, it will not be let in as the same")
	}
	if e.Joined != nil {
		e.Joined(m, back)
	}
	e.Current.Set(m)
	e.Log.Info().Str("id", m.AgentID).Str("league_id", m.LeagueID).Bool("back", back).Str("event_type", protocol.EventRegistered).Msg("registered")
	return nil
}

// joins tells whether the agent wants to be in a league.
func (e *Enrolment) joins(leagueID string) bool {
	return len(e.Leagues) == 0 || slices.Contains(e.Leagues, leagueID)
}

// conversation names that of a registration. An agent that comes back has a new
// one each time: its token says who it is.
//
// One that cannot be written down is an error, before anybody is told: an agent
// that keeps nothing where it was told to would not be let in again.
func (e *Enrolment) conversation(kept *store.Identity) (string, error) {
	if kept != nil {
		return Conversation(kept.Role, kept.DisplayName), nil
	}
	name, err := e.Keep.Conversation(e.Clock.Timestamp())
	if err != nil {
		return "", fmt.Errorf("cannot keep who this agent is: %w: make the folder writable, or use another", err)
	}
	return name, nil
}

// unknown tells whether a manager answered that it does not know a token.
func unknown(err error) bool {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Code == string(protocol.ErrTokenInvalid)
	}
	var answer *protocol.Error
	return errors.As(err, &answer) && answer.Remote && answer.Code == protocol.ErrTokenInvalid
}
