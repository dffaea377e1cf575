package cmd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
)

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

// A forgetfulManager admits one agent, and loses its token. A registration after that is refused if the league has
// started.
type forgetfulManager struct {
	started bool
	heard   []string
}

func (m *forgetfulManager) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	m.heard = append(m.heard, r.Method)
	q, registers := r.Params.(*protocol.LeagueRegisterRequest)
	switch {
	case !registers, q.AuthToken != "":
		return nil, nil, &protocol.Error{Code: protocol.ErrTokenInvalid, RPC: 12, Remote: true}
	case m.started && len(m.heard) > 1:
		reason := "the league has started"
		return &protocol.LeagueRegisterResponse{Registration: protocol.Registration{
			Status: protocol.StatusRejected, Reason: &reason, ErrorCode: "E019", ErrorName: "LATE_REGISTRATION",
		}}, nil, nil
	}
	id := league.PlayerID(len(m.heard))
	a := &protocol.LeagueRegisterResponse{PlayerID: &id, Registration: protocol.Registration{
		Status: protocol.StatusAccepted, LeagueID: "L", ManagerAuth: protocol.ManagerAuthBearer,
	}}
	a.AuthToken = "tok-" + id
	return a, nil, nil
}

// An agent that its manager no longer knows registers again, and ends if it is refused.
func TestDroppedAgentRegistersAgain(t *testing.T) {
	for _, started := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &forgetfulManager{started: started}
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
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(8*time.Second, cancel)
			err = (&participant{node: &node{log: zerolog.Nop()}, options: o, calls: m}).takePart(ctx, p)
			assert.Equal(t, []string{"register_player", "league_query", "register_player", "register_player"}, m.heard[:4])
			if !started {
				assert.Equal(t, exitInterrupted, exitCode(err))
				assert.Equal(t, "P04", p.ID())
				return
			}
			var refused *membership.RefusedError
			require.ErrorAs(t, err, &refused)
			assert.EqualError(t, err, "the manager at http://localhost:8000/mcp no longer knows this agent and refuses to register it again: "+
				"registration refused: the league has started (E019 LATE_REGISTRATION). A manager drops agents that do not answer: "+
				"make sure that it can reach http://localhost:8101/mcp, or set another URL with --endpoint")
		})
	}
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
		assert.Equal(t, test.wantPlayer, o.wantedID(8100, league.PlayerID), test.endpoint)
		assert.Equal(t, test.wantReferee, o.wantedID(8000, league.RefereeID), test.endpoint)
	}
}

func TestHealthOfAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		problem string // "" for a healthy agent
	}{
		"ok":                       {200, `{"status":"ok"}`, ""},
		"disk almost full":         {200, `{"status":"warning"}`, ""},
		"another status":           {200, `{"status":"down"}`, `is not healthy: its status is "down"`},
		"no status":                {200, `{}`, `is not healthy: its status is ""`},
		"not JSON":                 {200, "<html>", "does not answer with the health of an agent"},
		"not there":                {404, `{"status":"ok"}`, "answers with the HTTP status 404"},
		"redirect to another host": {302, `{"status":"ok"}`, "answers with the HTTP status 302"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			_, err := askHealth(t.Context(), s.URL+"/healthz", "")
			if c.problem == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.problem)
		})
	}
}
