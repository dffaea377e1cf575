package membership

import (
	"cmp"
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

// Apply prepares the request of a registration, with an envelope that has a token if the agent
// registers again, else with a registration code. The returned function sends the same
// message each time, so that the manager recognizes a repetition after a lost response.
type Apply func(e protocol.Envelope, code string) func(context.Context) (*Answer, error)

// Meta describes the agent in its registration.
func (o *Options) Meta(games []string) protocol.AgentMeta {
	return protocol.AgentMeta{
		DisplayName: o.Name, Version: o.Version, ProtocolVersion: protocol.Version, GameTypes: games,
		ContactEndpoint: o.Endpoint, LargeMessages: o.Large,
	}
}

// Send returns a function that sends a request of registration, for Apply. Answer reads the response.
func Send[Q, R any](o *Options, method *protocol.Method[Q, R], request *Q,
	answer func(*R) *Answer) func(context.Context) (*Answer, error) {
	limit := cmp.Or(o.RegisterTimeout, method.Timeout)
	return func(ctx context.Context) (*Answer, error) {
		response, _, err := method.CallWithin(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, request, limit)
		if err != nil {
			return nil, err
		}
		return answer(response), nil
	}
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
	known := a.identities.Identity()
	if known != nil && !a.joins(known.LeagueID) { // the manager of another league must not see the token
		a.identities.Discard()
		known = nil
	}
	if known == nil {
		return a.apply(ctx, request, joined, nil)
	}
	a.registering()
	err := a.apply(ctx, request, joined, known)
	a.answered()
	if !unknown(err) {
		return err
	}
	a.options.Log.Warn().Str("id", known.AgentID).Str("league_id", known.LeagueID).
		Str("event_type", "REGISTRATION_LOST").Msg(
		"the manager does not know this agent any more, registering anew")
	a.identities.Discard()
	return a.apply(ctx, request, joined, nil)
}

// apply sends one registration until the manager responds.
func (a *Agent) apply(ctx context.Context, request Apply, joined func(*Membership, bool), known *store.Identity) error {
	e, code := a.stamp.Envelope("", ""), a.options.RegistrationCode
	if known != nil { // each time in a new conversation
		e.Sender, e.AuthToken, code = a.identities.role+":"+known.AgentID, known.AuthToken, ""
		e.ConversationID = Conversation(known.Role, known.DisplayName)
	} else {
		// That of a new agent is stored first: an agent that cannot write its folder could not register again after a
		// restart, so it does not register.
		var err error
		if e.ConversationID, err = a.identities.Conversation(a.options.Clock.Timestamp()); err != nil {
			return fmt.Errorf("cannot write the identity of this agent: %w: make the folder writable, or use another", err)
		}
	}
	call := request(e, code)
	last := ""    // the reason of the last failure
	sent := false // a request may have reached the manager
	if known == nil {
		defer a.answered()
	}
	return Retry(ctx, a.options.Clock.Sleep, func(ctx context.Context) error {
		a.registering()
		answer, err := call(ctx)
		if err == nil {
			err, sent = a.join(known, answer, joined), false
		} else {
			sent = sent || !protocol.Unreachable(err)
		}
		if known == nil && !sent { // calls to a new agent need to wait only while it may be registered
			a.answered()
		}
		return err
	}, func(err error, wait time.Duration) {
		level := zerolog.DebugLevel // the log has each reason once
		if reason := err.Error(); reason != last {
			level = zerolog.WarnLevel
			if last == "" && a.options.Waiting != nil && a.options.Waiting(err) {
				level = zerolog.InfoLevel
			}
			last = reason
		}
		a.options.Log.WithLevel(level).Err(err).Dur("wait_ms", wait).Str("event_type",
			"REGISTRATION_RETRY").Msg("cannot register yet, trying again")
	})
}

// join stores the identity and the membership that the manager granted.
func (a *Agent) join(known *store.Identity, answer *Answer, joined func(*Membership, bool)) error {
	if err := Admitted(answer.Registration, answer.AgentID, answer.Token); err != nil {
		return err
	}
	if !a.joins(answer.LeagueID) {
		return &RefusedError{Reason: "the manager runs league " + answer.LeagueID + ", not " +
			strings.Join(a.options.Leagues, " or ")}
	}
	m := New(*answer.AgentID, answer.Token, answer.Registration)
	// A third-party manager may ignore the token and grant P01 to another agent.
	back := known != nil && known.LeagueID == m.LeagueID && known.AgentID == m.AgentID &&
		(known.AuthToken == m.Token || m.Strict())
	if known != nil && !back {
		a.identities.Discard()
	}
	if back && known.ManagerKey != "" && m.ManagerKey != known.ManagerKey {
		a.options.Log.Error().Str("manager_key", m.ManagerKey).Str("expected", known.ManagerKey).Str("event_type",
			"MANAGER_KEY_CHANGED").
			Msg("the manager shows another public key than at the first registration: the first one counts")
		m.ManagerKey = known.ManagerKey
	}
	if err := a.identities.Save(m, answer.Registration, a.options.Clock.Timestamp()); err != nil {
		a.options.Log.Error().Err(err).Str("event_type", "IDENTITY_NOT_STORED").Msg(
			"cannot write the identity of this agent: after a restart it cannot register as the same agent")
	}
	a.stamp.SetSender(a.identities.role + ":" + m.AgentID)
	if joined != nil {
		joined(m, back)
	}
	a.p.Store(m)
	a.options.Log.Info().Str("id", m.AgentID).Str("league_id", m.LeagueID).Bool("back", back).Str("public_key",
		a.PublicKey()).Str("event_type", "REGISTERED").Msg("registered")
	return nil
}

// joins tells whether the agent may join a league.
func (a *Agent) joins(leagueID string) bool {
	return len(a.options.Leagues) == 0 || slices.Contains(a.options.Leagues, leagueID)
}

// unknown tells whether a manager answered that it does not know the token (E012).
func unknown(err error) bool {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Code == string(protocol.ErrTokenInvalid)
	}
	answer, ok := errors.AsType[*protocol.Error](err)
	return ok && answer.Remote && answer.Code == protocol.ErrTokenInvalid
}

// mostCauses is the number of different reasons that an agent tells of, because a manager could
// send any number.
const mostCauses = 20

// The intervals between requests to the manager, and the time limit of each.
const (
	watchFirst = 5 * time.Second // before the first request, if the manager proves itself
	watchEvery = 15 * time.Second
	watchLimit = 5 * time.Second
)

// untold is how many requests in a row show that the league is over before Watch registers again.
const untold = 4

// Watch checks periodically whether the manager answers. It sends GET_STATUS with the
// agent's token to a manager that proves itself, which shows also whether the manager
// still knows the agent. It pings any other manager.
//
// Until the manager has reached this agent, Watch asks in short intervals, and calls
// Options.Unreached with each new reason why it could not.
//
// It registers again if the league is over for long and the agent was not told: the manager may have told a process
// before it, which has crashed.
//
// Watch calls changed when the manager stops or resumes answering: with the reason, or
// with the error that the manager returns, if any. It calls register when the manager
// does not know the agent's token any more (E012). It returns the error of register, or
// nil when ctx ends.
func (a *Agent) Watch(ctx context.Context, changed func(away bool, err error),
	register func(context.Context) error) error {
	wait, wasAway, told, over := watchEvery, false, map[string]bool{}, 0
	if a.Membership().Strict() {
		wait = watchFirst
	}
	for a.options.Clock.Sleep(ctx, wait) == nil {
		status, failure := a.askManager(ctx)
		if ctx.Err() != nil {
			break
		}
		if away := !protocol.Answered(failure); away != wasAway {
			wasAway = away
			changed(away, failure)
		}
		over = overAfter(over, status)
		if a.Membership().Strict() && unknown(failure) || over == untold {
			if err := register(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		wait = watchEvery
		// a manager that has not reached this agent yet says so in its status
		if status != nil && (status.Unreachable != "" || slices.Contains(status.Awaited, a.ID())) {
			a.tellUnreached(status.Unreachable, told)
			wait = watchFirst
		}
	}
	return nil //nolint:nilerr // Sleep fails only when ctx has ended
}

// overAfter counts the requests in a row, up to untold, that show that the league is over.
func overAfter(before int, status *protocol.StatusData) int {
	if status == nil || status.State != protocol.StateLeagueCompleted {
		return 0
	}
	return before%untold + 1
}

// tellUnreached tells why the manager cannot call this agent, each reason once. The reason ends
// with the number of tries.
func (a *Agent) tellUnreached(reason string, told map[string]bool) {
	cause := reason[:max(0, strings.LastIndex(reason, ","))]
	if reason == "" || told[cause] || len(told) == mostCauses {
		return
	}
	told[cause] = true
	a.options.Log.Warn().Str("reason", reason).Str("endpoint", a.options.Endpoint).
		Str("event_type", "AGENT_OUT_OF_REACH").Msg("the manager cannot call this agent")
	if a.options.Unreached != nil {
		a.options.Unreached(reason)
	}
}

// askManager sends one request to the manager. The status is nil if the manager does not give one.
func (a *Agent) askManager(ctx context.Context) (*protocol.StatusData, error) {
	o, m := a.options, a.Membership()
	peer := protocol.Peer{Endpoint: o.Manager}
	if !m.Strict() {
		_, _, err := protocol.Ping.CallWithin(ctx, o.Caller, peer, &protocol.ToolRequest{}, watchLimit)
		return nil, err
	}
	q := &protocol.LeagueQuery{
		Envelope: a.stamp.Envelope(protocol.TypeLeagueQuery, "conv-watch"),
		LeagueID: m.LeagueID, QueryType: protocol.QueryStatus,
	}
	q.AuthToken = m.Token
	response, _, err := protocol.Query.CallWithin(ctx, o.Caller, peer, q, watchLimit)
	if err != nil {
		return nil, err
	}
	return &response.StatusData, nil
}
