package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/transport"
)

func TestRateLimitedCallerGetsALeagueError(t *testing.T) {
	stamp := protocol.NewStamp("league_manager", protocol.SystemClock())
	body := transport.EncodeError(protocol.TooFast(stamp, 1500*time.Millisecond))
	var answer struct {
		Error struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	assert.Equal(t, 22, answer.Error.Code)
	assert.Equal(t, "RATE_LIMITED", answer.Error.Message)
	assert.Empty(t, protocol.Examine(protocol.TypeLeagueError, answer.Error.Data))
	var e protocol.LeagueError
	require.NoError(t, json.Unmarshal(answer.Error.Data, &e))
	assert.Equal(t, "E022", e.ErrorCode)
	assert.True(t, *e.Retryable)
	assert.Equal(t, map[string]any{"detail": "too many requests: wait 2 seconds", "retry_after_sec": 2.0}, e.Context)
}

// A breaker must never decide a match, nor keep an agent out of its league.
func TestBreakerHoldsBackOnlyNotices(t *testing.T) {
	for method, want := range map[string]bool{
		"register_player": true, "register_referee": true, "start_match": true, "handle_game_invitation": true,
		"choose_parity": true, "parity_choose": true, "make_move": true, "report_match_result": true,
		"notify_league_completed": true, "league_query": true, "ping": true,
		"notify_round": true, "notify_match_result": true,
		"update_standings": false, "notify_round_completed": false, "notify_game_error": false,
	} {
		assert.Equal(t, want, essential(method), method)
	}
}

// forgetfulManager is a manager that can lose the tokens of its agents. It
// admits no new player after the league has started.
type forgetfulManager struct {
	mu       sync.Mutex
	admitted int
	known    string // the only token that counts
	started  bool
	heard    []string
}

func (m *forgetfulManager) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	answer, err := m.call(r.Method, r.Params)
	return answer, nil, err
}

func (m *forgetfulManager) call(method string, params any) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch q := params.(type) {
	case *protocol.LeagueRegisterRequest:
		m.heard = append(m.heard, fmt.Sprint("register ", q.Sender, " ", q.AuthToken))
		switch {
		case q.AuthToken != "" && q.AuthToken != m.known:
			return nil, &protocol.Error{Code: protocol.ErrTokenInvalid, RPC: 12, Remote: true}
		case m.started:
			reason := "the league has started"
			return &protocol.LeagueRegisterResponse{Registration: protocol.Registration{
				Status: protocol.StatusRejected, Reason: &reason, ErrorCode: "E019", ErrorName: "LATE_REGISTRATION",
			}}, nil
		}
		m.admitted++
		id := protocol.PlayerID(m.admitted)
		m.known = "tok-" + id
		r := &protocol.LeagueRegisterResponse{PlayerID: &id, Registration: protocol.Registration{
			Status: protocol.StatusAccepted, LeagueID: "L", ManagerAuth: protocol.ManagerAuthBearer,
		}}
		r.AuthToken = m.known
		return r, nil
	case *protocol.LeagueQuery:
		m.heard = append(m.heard, fmt.Sprint(q.QueryType, " ", q.Sender, " ", q.AuthToken))
		if q.AuthToken != m.known {
			return nil, &protocol.Error{Code: protocol.ErrTokenInvalid, RPC: 6001, Remote: true}
		}
		return &protocol.LeagueQueryResponse{}, nil
	}
	return nil, fmt.Errorf("%s was not to be expected", method)
}

// forget makes the manager lose the issued token.
func (m *forgetfulManager) forget(started bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.started = "nobody's", started
}

// player returns a player and its process, which calls the manager.
func (m *forgetfulManager) player(t *testing.T) (*participant, agent) {
	t.Helper()
	decide, err := strategy.New("even")
	require.NoError(t, err)
	p, err := player.New(player.Options{
		Options: membership.Options{
			Name: "Alpha", ID: "P01", Endpoint: "http://localhost:8101/mcp", Manager: "http://localhost:8000/mcp", Caller: m,
			Clock: protocol.SystemClock(), Log: zerolog.Nop(),
		},
		Games: []string{"even_odd"}, Strategy: decide,
	})
	require.NoError(t, err)
	o := &agentOptions{address: address{endpoint: "http://localhost:8101/mcp"}, manager: "http://localhost:8000/mcp"}
	return &participant{node: &node{log: zerolog.Nop()}, options: o, calls: m}, p
}

func TestDroppedAgentRegistersAgainBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &forgetfulManager{}
		process, player := m.player(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(8*time.Second, func() { m.forget(false) })
		time.AfterFunc(60*time.Second, cancel)
		assert.Equal(t, exitInterrupted, exitCode(process.takePart(ctx, player)))
		assert.Equal(t, "P02", player.ID())
		assert.Equal(t, []string{
			"register player:P01 ", "GET_STATUS player:P01 tok-P01", // after 5 s
			"GET_STATUS player:P01 tok-P01", "register player:P01 tok-P01", "register player:P01 ", // after 20 s
			"GET_STATUS player:P02 tok-P02", "GET_STATUS player:P02 tok-P02",
		}, m.heard)
	})
}

func TestDroppedAgentEndsAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &forgetfulManager{}
		process, player := m.player(t)
		began := time.Now()
		time.AfterFunc(8*time.Second, func() { m.forget(true) })
		err := process.takePart(t.Context(), player)
		var refused *membership.RefusedError
		require.ErrorAs(t, err, &refused)
		assert.EqualError(t, err, "the manager at http://localhost:8000/mcp no longer knows this agent and refuses to register it again: "+
			"registration refused: the league has started (E019 LATE_REGISTRATION). A manager drops agents that do not answer: "+
			"make sure that it can reach http://localhost:8101/mcp, or set another URL with --endpoint")
		assert.Equal(t, 20*time.Second, time.Since(began))
	})
}

func TestAgentsAskForTheIDOfTheirPort(t *testing.T) {
	for _, test := range []struct {
		given, endpoint         string
		wantPlayer, wantReferee string
	}{
		{"", "http://localhost:8101/mcp", "P01", ""},
		{"", "http://localhost:8199/mcp", "P99", ""},
		{"", "https://10.1.2.3:8112/mcp", "P12", ""},
		{"", "http://localhost:8100/mcp", "", ""},
		{"", "http://localhost:8200/mcp", "", ""},
		{"", "http://localhost:8001/mcp", "", "REF01"},
		{"", "http://localhost:8099/mcp", "", "REF99"},
		{"", "http://localhost:8000/mcp", "", ""},
		{"", "http://localhost/mcp", "", ""},
		{"P77", "http://localhost:8101/mcp", "P77", "P77"},
	} {
		o := &agentOptions{id: test.given, address: address{endpoint: test.endpoint}}
		assert.Equal(t, test.wantPlayer, o.wantedID(8100, protocol.PlayerID), test.endpoint)
		assert.Equal(t, test.wantReferee, o.wantedID(8000, protocol.RefereeID), test.endpoint)
	}
}
