package referee_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/http"
)

// overload is a referee with more concurrent matches than it can serve in time, in real time
// and with real connections.
type overload struct {
	t        *testing.T
	timeouts protocol.Timeouts
	retries  int
	slowness float64 // fraction of its time that a player takes

	hosts   []string // of the players' servers
	results chan *protocol.MatchResultReport
	void    atomic.Int64 // log lines about void call attempts
	failed  atomic.Int64 // log lines about failed players
}

const (
	loadMatches = 200
	loadHosts   = 4
)

// Write receives the referee's log.
func (l *overload) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(protocol.EventAttemptVoid)) {
		l.void.Add(1)
	}
	if bytes.Contains(line, []byte(protocol.EventPlayerFailed)) {
		l.failed.Add(1)
	}
	return len(line), nil
}

// pause waits the thinking time of a player.
func (l *overload) pause(ctx context.Context, window float64) error {
	timer := time.NewTimer(protocol.Seconds(window * l.slowness))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// player returns a player that answers late.
func (l *overload) player(id string) *transport.Mux {
	mux := transport.NewMux(zerolog.Nop())
	stamp := protocol.NewStamp(protocol.PlayerSender(id), protocol.SystemClock())
	protocol.Invite.Handle(mux, stamp, func(ctx context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
		accept := true
		return &protocol.GameJoinAck{MatchID: q.MatchID, PlayerID: id, Accept: &accept}, l.pause(ctx, l.timeouts.GameJoinAck)
	})
	protocol.ChooseParity.Handle(mux, stamp, func(ctx context.Context, _ string, q *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
		return &protocol.ChooseParityResponse{MatchID: q.MatchID, PlayerID: id, ParityChoice: evenodd.Even}, l.pause(ctx, l.timeouts.Move)
	})
	ack := func(context.Context, string, *protocol.GameOver) (*protocol.Ack, error) {
		return &protocol.Ack{PlayerID: id}, nil
	}
	protocol.NotifyMatchResult.Handle(mux, stamp, ack)
	protocol.NotifyGameError.Handle(mux, stamp, func(context.Context, string, *protocol.GameError) (*protocol.Ack, error) {
		return &protocol.Ack{PlayerID: id}, nil
	})
	return mux
}

// serve serves the players on a few hosts, each at its own path.
func (l *overload) serve() (stop func()) {
	var servers []*nethttp.Server
	var serving sync.WaitGroup
	for host := range loadHosts {
		routes := nethttp.NewServeMux()
		for n := host; n < 2*loadMatches; n += loadHosts {
			mux := l.player(protocol.PlayerID(n + 1))
			routes.HandleFunc(fmt.Sprintf("POST /%d/mcp", n), func(w nethttp.ResponseWriter, r *nethttp.Request) {
				if body, err := io.ReadAll(r.Body); err == nil {
					_, _ = w.Write(mux.Serve(r.Context(), "", body).Body)
				}
			})
		}
		listener, err := (&net.ListenConfig{}).Listen(l.t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(l.t, err)
		server := &nethttp.Server{Handler: routes, ReadHeaderTimeout: time.Minute}
		serving.Go(func() { _ = server.Serve(listener) })
		servers, l.hosts = append(servers, server), append(l.hosts, listener.Addr().String())
	}
	return func() {
		for _, s := range servers {
			_ = s.Close()
		}
		serving.Wait()
	}
}

// loadCarrier is HTTP with an in-process manager.
type loadCarrier struct {
	*overload
	next protocol.Caller
}

func (c loadCarrier) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	switch q := r.Params.(type) {
	case *protocol.RefereeRegisterRequest:
		id := "REF01"
		registered := &protocol.RefereeRegisterResponse{RefereeID: &id, Registration: protocol.Registration{Status: protocol.StatusAccepted, LeagueID: leaguetest.LeagueID}}
		registered.AuthToken = "tok-ref01-of-a-test"
		return registered, nil, nil
	case *protocol.MatchResultReport:
		c.results <- q
		return &protocol.Ack{}, nil, nil
	}
	return c.next.Call(ctx, r)
}

// run plays all matches concurrently and returns the number of technical losses.
func (l *overload) run() (technical int) {
	began := time.Now()
	stop := l.serve()
	defer stop()
	l.results = make(chan *protocol.MatchResultReport, loadMatches)
	stalls := referee.WatchStalls()
	defer stalls.Stop()
	client := http.NewClient(http.ClientConfig{MaxReply: 64 << 10, MaxConns: -1})
	defer client.Close()
	r, err := referee.New(referee.Options{
		Options: membership.Options{
			Name: "Referee", Endpoint: "http://127.0.0.1:1/mcp", Manager: leaguetest.EndpointOf(leaguetest.ManagerHost),
			Caller: loadCarrier{l, client}, Clock: protocol.SystemClock(), Log: zerolog.New(l),
		},
		MaxConcurrent: loadMatches, Games: rules.NewRegistry(evenodd.Game{}), Stalls: stalls.Longest,
	})
	require.NoError(l.t, err)
	defer r.Close()
	require.NoError(l.t, r.Register(l.t.Context()))
	mux := transport.NewMux(zerolog.Nop())
	r.Mount(mux)
	for n := range loadMatches {
		ack, err := mux.Dispatch(l.t.Context(), "", protocol.StartMatch.Name, l.assignment(n))
		require.NoError(l.t, err)
		require.Equal(l.t, protocol.StatusAccepted, ack.(*protocol.MatchAssignmentAck).Status)
	}
	patience := time.After(90 * time.Second)
	for range loadMatches {
		select {
		case q := <-l.results:
			if q.Result.Details.Status == protocol.StatusTechnicalLoss {
				technical++
			}
		case <-patience:
			require.Fail(l.t, "the matches do not end")
		}
	}
	l.t.Logf("%d concurrent matches in %v: %d void attempts, %d failures", loadMatches, time.Since(began).Round(time.Millisecond), l.void.Load(), l.failed.Load())
	return technical
}

func (l *overload) assignment(n int) *protocol.MatchAssignment {
	side := func(n int) protocol.AssignedPlayer {
		return protocol.AssignedPlayer{
			PlayerID: protocol.PlayerID(n + 1), Endpoint: fmt.Sprintf("http://%s/%d/mcp", l.hosts[n%loadHosts], n), DisplayName: "Player",
		}
	}
	matchID := protocol.MatchID{Round: 1, Number: n + 1}.String()
	return &protocol.MatchAssignment{
		Envelope: protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock()).
			Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(matchID, 1)),
		LeagueID: leaguetest.LeagueID, RoundID: 1, MatchID: matchID, Attempt: 1, GameType: evenodd.Type,
		PlayerA: side(2 * n), PlayerB: side(2*n + 1), Timeouts: l.timeouts,
		RetryPolicy: protocol.RetryPolicy{MaxRetries: l.retries, Delay: 0.2}, Scoring: protocol.Scoring{Win: 3, Draw: 1},
	}
}

// Players that answer after 90% of their time never lose at an overloaded referee. The test
// runs in real time with windows of 5 s, because a busy machine may use up the rest of a
// shorter one.
func TestTimelyPlayersDoNotLoseAtAnOverloadedReferee(t *testing.T) {
	leaguetest.LongTest(t)
	l := &overload{t: t, timeouts: protocol.Timeouts{GameJoinAck: 5, Move: 5, GameOver: 5, Generic: 10}, retries: 3, slowness: 0.9}
	assert.Zero(t, l.run(), "no player was late")
}

// The same players lose if they answer after 110% of their time.
func TestLatePlayersLoseAtAnOverloadedReferee(t *testing.T) {
	leaguetest.LongTest(t)
	l := &overload{t: t, timeouts: protocol.Timeouts{GameJoinAck: 5, Move: 5, GameOver: 5, Generic: 10}, retries: 1, slowness: 1.1}
	assert.Equal(t, loadMatches, l.run())
}
