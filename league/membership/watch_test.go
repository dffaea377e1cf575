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

// watched answers the requests of a watch in order.
type watched struct {
	answers  []func(ctx context.Context) error
	asked    []time.Duration
	requests []string
	began    time.Time
	state    string // of the league, in the answers
}

func (p *watched) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	n := min(len(p.asked), len(p.answers)-1)
	p.asked = append(p.asked, time.Since(p.began))
	if r.Endpoint != "manager" || r.Bearer != "" {
		return nil, nil, fmt.Errorf("%s with bearer %q", r.Endpoint, r.Bearer)
	}
	request := r.Method
	if q, ok := r.Params.(*protocol.LeagueQuery); ok {
		request = fmt.Sprint(r.Method, " ", q.QueryType, " ", q.Sender, " ", q.AuthToken, " ", q.LeagueID)
	}
	p.requests = append(p.requests, request)
	if err := p.answers[n](ctx); err != nil {
		return nil, nil, err
	}
	if r.Method == protocol.Ping.Name {
		return &protocol.Pong{Status: "ok"}, nil, nil
	}
	return &protocol.LeagueQueryResponse{StatusData: protocol.StatusData{State: p.state}}, nil, nil
}

// watch runs a watch for five minutes and returns the calls of its callbacks.
func watch(t *testing.T, p *watched, m *membership.Membership, register func(context.Context) error) (events []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p.began = time.Now()
	a := membership.AgentWith(nil, membership.Options{Clock: protocol.SystemClock(), Caller: p, Manager: "manager"})
	a.Set(m)
	changed := func(away bool, err error) {
		text := fmt.Sprint(time.Since(p.began), " back")
		if away {
			text = fmt.Sprint(time.Since(p.began), " away ", codeOf(err))
		}
		events = append(events, text)
	}
	err = a.Watch(ctx, changed, register)
	return events, err
}

func reachable(context.Context) error          { return nil }
func unreachableManager(context.Context) error { return unreachable{} }
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func answerWith(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestManagerIsUnreachableOnlyWithoutAnyResponse(t *testing.T) {
	type answers = []func(context.Context) error
	for _, tt := range []struct {
		name    string
		answers answers
		want    []string
	}{
		{"always reachable", answers{reachable}, nil},
		{"rate limited", answers{reachable, answerWith(remote(protocol.ErrRateLimited)), reachable}, nil},
		{"HTTP 500", answers{reachable, answerWith(&transport.CallError{Kind: transport.Refused, Status: 500, Err: errors.New("HTTP 500")})}, nil},
		{"no JSON", answers{answerWith(&transport.CallError{Kind: transport.Unreadable, Status: 200, Err: errors.New("the answer is no JSON")})}, nil},
		{"never reachable", answers{unreachableManager}, []string{"15s away E009"}},
		{"unreachable for a while", answers{reachable, unreachableManager, unreachableManager, unreachableManager, reachable, reachable}, []string{"30s away E009", "1m15s back"}},
		{"no response", answers{reachable, hangs, reachable}, []string{"35s away E001", "50s back"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &watched{answers: tt.answers}
				events, err := watch(t, p, granted(false), nil)
				require.NoError(t, err)
				assert.Equal(t, tt.want, events)
				assert.Equal(t, 5*time.Minute, time.Since(p.began), "it ends with its context")
				assert.Equal(t, 15*time.Second, p.asked[0])
				assert.Equal(t, "ping", p.requests[0], "a third-party manager is pinged")
			})
		})
	}
}

func TestAuthenticatedManagerIsQueriedWithTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &watched{answers: []func(context.Context) error{reachable, answerWith(remote(protocol.ErrRateLimited)), reachable}}
		events, err := watch(t, p, granted(true), nil)
		require.NoError(t, err)
		assert.Empty(t, events)
		assert.Equal(t, []time.Duration{5 * time.Second, 20 * time.Second, 35 * time.Second}, p.asked[:3])
		assert.Equal(t, "league_query GET_STATUS player:P01 "+token+" "+leagueID, p.requests[0])
	})
}

func TestUnknownAgentRegistersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &watched{answers: []func(context.Context) error{reachable, answerWith(remote(protocol.ErrTokenInvalid)), reachable}}
		var registered []time.Duration
		events, err := watch(t, p, granted(true), func(context.Context) error {
			registered = append(registered, time.Since(p.began))
			return nil
		})
		require.NoError(t, err)
		assert.Empty(t, events)
		assert.Equal(t, []time.Duration{20 * time.Second}, registered)
		assert.Equal(t, 5*time.Minute, time.Since(p.began), "the watch continues")
	})
}

// Its manager told a process before it, which has crashed since.
func TestAgentThatIsNotToldTheEndRegistersAgain(t *testing.T) {
	for state, want := range map[string][]time.Duration{
		protocol.StateLeagueCompleted: {50 * time.Second, 110 * time.Second, 170 * time.Second, 230 * time.Second, 290 * time.Second},
		"RUNNING_LEAGUE":              nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &watched{answers: []func(context.Context) error{reachable}, state: state}
			var registered []time.Duration
			_, err := watch(t, p, granted(true), func(context.Context) error {
				registered = append(registered, time.Since(p.began))
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, want, registered)
		})
	}
}

func TestWatchEndsWithARefusedRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &membership.RefusedError{Code: string(protocol.ErrLateRegistration), Reason: "the league has started"}
		p := &watched{answers: []func(context.Context) error{answerWith(remote(protocol.ErrTokenInvalid))}}
		_, err := watch(t, p, granted(true), func(context.Context) error { return refused })
		assert.Equal(t, refused, err)
		assert.Equal(t, 5*time.Second, time.Since(p.began))
	})
}

func TestCancelledWatchCallsNoCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(17*time.Second, cancel)
		p := &watched{began: time.Now(), answers: []func(context.Context) error{hangs}}
		a := membership.AgentWith(nil, membership.Options{Clock: protocol.SystemClock(), Caller: p, Manager: "manager"})
		a.Set(granted(false))
		require.NoError(t, a.Watch(ctx, func(bool, error) { assert.Fail(t, "a cancelled ping shows nothing about the manager") }, nil))
		assert.Equal(t, 17*time.Second, time.Since(p.began))
	})
}
