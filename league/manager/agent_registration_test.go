package manager_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// candidate is one of our agents before its registration.
type candidate struct {
	name     string
	method   string // of its registration
	make     func(w *leaguetest.World, traits ...leaguetest.Option) *leaguetest.Agent
	register func(a *leaguetest.Agent, ctx context.Context) error
	id       func(a *leaguetest.Agent) string
	first    func(w *leaguetest.World, a *leaguetest.Agent) error // a request of the manager right after the registration
}

func candidates() []candidate {
	return []candidate{
		{
			name: "player", method: protocol.RegisterPlayer.Name,
			make: func(w *leaguetest.World, traits ...leaguetest.Option) *leaguetest.Agent {
				return w.NewPlayer("P01", traits...)
			},
			register: func(a *leaguetest.Agent, ctx context.Context) error { return a.Player.Register(ctx) },
			id:       func(a *leaguetest.Agent) string { return a.Player.ID() },
			first: func(w *leaguetest.World, a *leaguetest.Agent) error {
				return w.ManagerCalls(a, w.ManagerCredential("P01"))["notify_round"]()
			},
		},
		{
			name: "referee", method: protocol.RegisterReferee.Name,
			make: func(w *leaguetest.World, traits ...leaguetest.Option) *leaguetest.Agent {
				return w.NewReferee("REF01", traits...)
			},
			register: func(a *leaguetest.Agent, ctx context.Context) error { return a.Referee.Register(ctx) },
			id:       func(a *leaguetest.Agent) string { return a.Referee.ID() },
			first: func(w *leaguetest.World, a *leaguetest.Agent) error {
				_, err := w.Assign(&leaguetest.Agent{Caller: w.Untrusted}, a, w.Assignment("R1M1", 1, "REF01"))
				return err
			},
		},
	}
}

// forBothRoles runs a test for a player and for a referee.
func forBothRoles(t *testing.T, run func(t *testing.T, w *leaguetest.World, c candidate)) {
	t.Helper()
	for _, c := range candidates() {
		t.Run(c.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) { run(t, w, c) })
		})
	}
}

func TestRegistrationIsRetriedUntilItIsAnswered(t *testing.T) {
	for _, test := range []struct {
		name   string
		parts  []leaguetest.Reply
		pauses []time.Duration
	}{
		{"the manager closes connections", []leaguetest.Reply{leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally},
			[]time.Duration{2 * leaguetest.Second, 4 * leaguetest.Second, 8 * leaguetest.Second, 8 * leaguetest.Second, 8 * leaguetest.Second}},
		{"the manager hangs", []leaguetest.Reply{leaguetest.Silent, leaguetest.Normally}, []time.Duration{12 * leaguetest.Second}},
		{"the manager sends invalid responses", []leaguetest.Reply{leaguetest.FailWith(leaguetest.ErrGarbage), leaguetest.FailWith(leaguetest.ErrServerError), leaguetest.Normally}, []time.Duration{2 * leaguetest.Second, 4 * leaguetest.Second}},
		{"the manager answers RATE_LIMITED", []leaguetest.Reply{leaguetest.RefuseWith(protocol.ErrRateLimited), leaguetest.Normally}, []time.Duration{2 * leaguetest.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
				w.ScriptedManager(leaguetest.On(c.method, leaguetest.InTurn(test.parts...)))
				a := c.make(w)
				require.NoError(t, c.register(a, w.Context))
				assert.Equal(t, a.ID, c.id(a))
				calls := w.Calls(c.method)
				assert.Len(t, calls, len(test.parts))
				leaguetest.AssertPauses(t, test.pauses, calls)
				for i := range calls {
					assert.JSONEq(t, string(calls[0].Message), string(calls[i].Message), "the same request, in the same conversation")
				}
			})
		})
	}
}

func TestAgentWaitsForTheManagerToStart(t *testing.T) {
	forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
		w.RunAt(20*leaguetest.Second, func() { w.ScriptedManager() })
		a := c.make(w)
		require.NoError(t, c.register(a, w.Context))
		leaguetest.AssertPauses(t, []time.Duration{2 * leaguetest.Second, 4 * leaguetest.Second, 8 * leaguetest.Second, 8 * leaguetest.Second}, w.Calls(c.method))
		assert.Len(t, w.Calls(c.method), 5)
	})
}

func TestRegistrationStopsWhenItIsCancelled(t *testing.T) {
	forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
		ctx, cancel := context.WithTimeout(w.Context, 60*leaguetest.Second)
		defer cancel()
		a := c.make(w)
		require.ErrorIs(t, c.register(a, ctx), context.DeadlineExceeded)
		assert.Equal(t, 60*leaguetest.Second, w.Now())
		assert.Empty(t, c.id(a))
	})
}

func TestRejectedRegistrationIsNotRetried(t *testing.T) {
	rejected := func(reason any) leaguetest.Reply {
		return func(c *leaguetest.Call) (jsontext.Value, error) {
			answer, err := c.OwnAnswer()
			for _, member := range []string{"referee_id", "player_id"} {
				answer = leaguetest.Edit(answer, member, leaguetest.Null())
			}
			for _, member := range []string{"auth_token", "manager_auth"} {
				answer = leaguetest.Edit(answer, member, nil)
			}
			answer = leaguetest.Edit(leaguetest.Edit(leaguetest.Edit(answer, "status", "REJECTED"), "error_code", "E020"), "error_name", "LEAGUE_FULL")
			return leaguetest.Edit(answer, "reason", reason), err
		}
	}
	for _, test := range []struct {
		name string
		part leaguetest.Reply
		want membership.RefusedError
	}{
		{"the league is full", rejected("no free slot"), membership.RefusedError{Code: "E020", Reason: "no free slot"}},
		{"without a reason", rejected(nil), membership.RefusedError{Code: "E020", Reason: "no reason given"}},
		{"accepted without a token", leaguetest.EditAnswer("auth_token", nil), membership.RefusedError{Reason: "the manager accepted, but gave no id or no token"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
				w.ScriptedManager(leaguetest.On(c.method, test.part))
				a := c.make(w)
				var refused *membership.RefusedError
				require.ErrorAs(t, c.register(a, w.Context), &refused)
				assert.Equal(t, test.want, *refused)
				assert.Len(t, w.Calls(c.method), 1, "a refusal is final")
				assert.Empty(t, c.id(a))
			})
		})
	}
}

func TestRejectionHasReasonAndCode(t *testing.T) {
	forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
		w.StartManager(0, 1, func(o *league.Options) {
			o.CheckHost = func(context.Context, string) error { return errors.New("there is no such host") }
		})
		a := c.make(w)
		var refused *membership.RefusedError
		require.ErrorAs(t, c.register(a, w.Context), &refused)
		assert.Equal(t, "E025", refused.Code)
		assert.Contains(t, refused.Error(), "there is no such host (E025 INVALID_ENDPOINT)")
	})
}

func TestAgentJoinsOnlyItsLeague(t *testing.T) {
	forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
		w.ScriptedManager()
		a := c.make(w, leaguetest.WithLeague("another_league"))
		var refused *membership.RefusedError
		require.ErrorAs(t, c.register(a, w.Context), &refused)
		assert.Contains(t, refused.Reason, leaguetest.LeagueID)
		assert.Contains(t, refused.Reason, "another_league")
		assert.Empty(t, c.id(a))

		b := c.make(w, leaguetest.WithLeague(leaguetest.LeagueID), func(a *leaguetest.Agent) { a.Host = "second" })
		assert.NoError(t, c.register(b, w.Context))
	})
}

// The manager may start the league before the agent has read the response to its
// registration. Its calls wait for that response.
func TestCallDuringRegistrationWaitsForTheResponse(t *testing.T) {
	forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
		var a *leaguetest.Agent
		failed := make(chan error, 1)
		w.ScriptedManager(leaguetest.On(c.method, func(call *leaguetest.Call) (jsontext.Value, error) {
			w.Background.Go(func() { failed <- c.first(w, a) })
			time.Sleep(3 * leaguetest.Second)
			return call.OwnAnswer()
		}))
		a = c.make(w)
		require.NoError(t, c.register(a, w.Context))
		assert.NoError(t, <-failed)
		assert.Equal(t, 3*leaguetest.Second, w.Now())
	})
}

func TestCallDuringARejectedRegistrationFails(t *testing.T) {
	forBothRoles(t, func(t *testing.T, w *leaguetest.World, c candidate) {
		var a *leaguetest.Agent
		failed := make(chan error, 1)
		w.ScriptedManager(leaguetest.On(c.method, func(call *leaguetest.Call) (jsontext.Value, error) {
			w.Background.Go(func() { failed <- c.first(w, a) })
			time.Sleep(3 * leaguetest.Second)
			return leaguetest.RefuseWith(protocol.ErrTokenInvalid)(call)
		}))
		a = c.make(w)
		require.Error(t, c.register(a, w.Context))
		leaguetest.AssertRefused(t, <-failed, protocol.ErrInvalidMatchState, 4005)
	})
}
