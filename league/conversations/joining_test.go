package conversations

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
)

// A candidate is an agent of ours on its way into a league.
type candidate struct {
	name     string
	method   string // of its registration
	make     func(w *world, traits ...trait) *actor
	register func(a *actor, ctx context.Context) error
	id       func(a *actor) string
	first    func(w *world, a *actor) error // what its manager may want of it at once
}

func candidates() []candidate {
	return []candidate{
		{
			name: "player", method: protocol.RegisterPlayer.Name,
			make:     func(w *world, traits ...trait) *actor { return w.newPlayer("P01", traits...) },
			register: func(a *actor, ctx context.Context) error { return a.player.Register(ctx) },
			id:       func(a *actor) string { return a.player.ID() },
			first:    func(w *world, a *actor) error { return w.manages(a, w.credential("P01"))["notify_round"]() },
		},
		{
			name: "referee", method: protocol.RegisterReferee.Name,
			make:     func(w *world, traits ...trait) *actor { return w.newReferee("REF01", traits...) },
			register: func(a *actor, ctx context.Context) error { return a.referee.Register(ctx) },
			id:       func(a *actor) string { return a.referee.ID() },
			first: func(w *world, a *actor) error {
				_, err := w.assign(&actor{caller: w.stranger}, a, w.assignment("R1M1", 1, "REF01"))
				return err
			},
		},
	}
}

// asCandidates runs a story for both kinds of agent.
func asCandidates(t *testing.T, story func(t *testing.T, w *world, c candidate)) {
	t.Helper()
	for _, c := range candidates() {
		t.Run(c.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) { story(t, w, c) })
		})
	}
}

func TestAnAgentKeepsRegisteringUntilItIsAnswered(t *testing.T) {
	for _, test := range []struct {
		name   string
		parts  []part
		pauses []time.Duration
	}{
		{"the manager closes connections", []part{failing(errHangUp), failing(errHangUp), failing(errHangUp), failing(errHangUp), failing(errHangUp), honestly},
			[]time.Duration{2 * second, 4 * second, 8 * second, 8 * second, 8 * second}},
		{"the manager hangs", []part{silent, honestly}, []time.Duration{12 * second}},
		{"the manager answers garbage", []part{failing(errGarbage), failing(errServerError), honestly}, []time.Duration{2 * second, 4 * second}},
		{"the manager is asked too often", []part{refusing(protocol.ErrRateLimited), honestly}, []time.Duration{2 * second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			asCandidates(t, func(t *testing.T, w *world, c candidate) {
				w.boss(does(c.method, inTurn(test.parts...)))
				a := c.make(w)
				require.NoError(t, c.register(a, w.life))
				assert.Equal(t, a.id, c.id(a))
				calls := w.said(c.method)
				assert.Len(t, calls, len(test.parts))
				assertPauses(t, test.pauses, calls)
				for i := range calls {
					assert.JSONEq(t, string(calls[0].message), string(calls[i].message), "the same request, in the same conversation")
				}
			})
		})
	}
}

func TestAnAgentWaitsForAManagerThatIsNotUpYet(t *testing.T) {
	asCandidates(t, func(t *testing.T, w *world, c candidate) {
		w.later(20*second, func() { w.boss() })
		a := c.make(w)
		require.NoError(t, c.register(a, w.life))
		assertPauses(t, []time.Duration{2 * second, 4 * second, 8 * second, 8 * second}, w.said(c.method))
		assert.Len(t, w.said(c.method), 5)
	})
}

func TestAnAgentStopsRegisteringWhenItIsTold(t *testing.T) {
	asCandidates(t, func(t *testing.T, w *world, c candidate) {
		ctx, cancel := context.WithTimeout(w.life, 60*second)
		defer cancel()
		a := c.make(w)
		require.ErrorIs(t, c.register(a, ctx), context.DeadlineExceeded)
		assert.Equal(t, 60*second, w.now())
		assert.Empty(t, c.id(a))
	})
}

func TestARegistrationThatIsRefused(t *testing.T) {
	rejected := func(reason any) part {
		return func(c *call) (jsontext.Value, error) {
			answer, err := c.answer()
			for _, member := range []string{"referee_id", "player_id"} {
				answer = edited(answer, member, null())
			}
			for _, member := range []string{"auth_token", "manager_auth"} {
				answer = edited(answer, member, nil)
			}
			answer = edited(edited(edited(answer, "status", "REJECTED"), "error_code", "E020"), "error_name", "LEAGUE_FULL")
			return edited(answer, "reason", reason), err
		}
	}
	for _, test := range []struct {
		name string
		part part
		want membership.RefusedError
	}{
		{"the league is full", rejected("no room"), membership.RefusedError{Code: "E020", Reason: "no room"}},
		{"without a reason", rejected(nil), membership.RefusedError{Code: "E020", Reason: "no reason given"}},
		{"accepted without a token", editing("auth_token", nil), membership.RefusedError{Reason: "the manager accepted, but gave no id or no token"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			asCandidates(t, func(t *testing.T, w *world, c candidate) {
				w.boss(does(c.method, test.part))
				a := c.make(w)
				var refused *membership.RefusedError
				require.ErrorAs(t, c.register(a, w.life), &refused)
				assert.Equal(t, test.want, *refused)
				assert.Len(t, w.said(c.method), 1, "a refusal is final")
				assert.Empty(t, c.id(a))
			})
		})
	}
}

func TestARegistrationThatTheRealManagerRefuses(t *testing.T) {
	asCandidates(t, func(t *testing.T, w *world, c candidate) {
		w.startManager(0, 1, func(o *league.Options) {
			o.CheckHost = func(context.Context, string) error { return errors.New("there is no such host") }
		})
		a := c.make(w)
		var refused *membership.RefusedError
		require.ErrorAs(t, c.register(a, w.life), &refused)
		assert.Equal(t, "E025", refused.Code)
		assert.Contains(t, refused.Error(), "there is no such host (E025 INVALID_ENDPOINT)")
	})
}

func TestAnAgentJoinsOnlyItsLeague(t *testing.T) {
	asCandidates(t, func(t *testing.T, w *world, c candidate) {
		w.boss()
		a := c.make(w, onlyLeague("another_league"))
		var refused *membership.RefusedError
		require.ErrorAs(t, c.register(a, w.life), &refused)
		assert.Contains(t, refused.Reason, leagueID)
		assert.Contains(t, refused.Reason, "another_league")
		assert.Empty(t, c.id(a))

		b := c.make(w, onlyLeague(leagueID), func(a *actor) { a.host = "second" })
		assert.NoError(t, c.register(b, w.life))
	})
}

// A manager may begin the league before the answer to the last registration has
// been read: what arrives meanwhile waits for it.
func TestACallThatOvertakesTheAnswerToTheRegistration(t *testing.T) {
	asCandidates(t, func(t *testing.T, w *world, c candidate) {
		var a *actor
		failed := make(chan error, 1)
		w.boss(does(c.method, func(call *call) (jsontext.Value, error) {
			w.running.Go(func() { failed <- c.first(w, a) })
			time.Sleep(3 * second)
			return call.answer()
		}))
		a = c.make(w)
		require.NoError(t, c.register(a, w.life))
		assert.NoError(t, <-failed)
		assert.Equal(t, 3*second, w.now())
	})
}

func TestACallThatOvertakesARefusal(t *testing.T) {
	asCandidates(t, func(t *testing.T, w *world, c candidate) {
		var a *actor
		failed := make(chan error, 1)
		w.boss(does(c.method, func(call *call) (jsontext.Value, error) {
			w.running.Go(func() { failed <- c.first(w, a) })
			time.Sleep(3 * second)
			return refusing(protocol.ErrTokenInvalid)(call)
		}))
		a = c.make(w)
		require.Error(t, c.register(a, w.life))
		assertRefused(t, <-failed, protocol.ErrInvalidMatchState, 4005)
	})
}
