package manager_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
)

// answer sends a query that must succeed, and returns the response and its data as JSON.
func answer(q *leaguetest.Query) (*protocol.LeagueQueryResponse, jsontext.Value) {
	q.W.T.Helper()
	r, err := q.Send()
	require.NoError(q.W.T, err)
	require.Nil(q.W.T, r.Error)
	require.True(q.W.T, *r.Success)
	require.Equal(q.W.T, q.QueryType, r.QueryType)
	return r, leaguetest.Encode(r.Data)
}

func TestBearerTokenAuthenticatesAQuery(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Player("P01")
		q := w.Query("P01", protocol.QuerySchedule)
		token := q.AuthToken
		q.AuthToken, q.Sender = "", protocol.PlayerSender("unknown")
		peer := w.ManagerPeer()
		_, err := protocol.Query.Call(w.Context, w.Untrusted, peer, &q.LeagueQuery)
		require.ErrorContains(t, err, "E011")
		peer.Bearer = "tok-of-nobody"
		_, err = protocol.Query.Call(w.Context, w.Untrusted, peer, &q.LeagueQuery)
		require.ErrorContains(t, err, "E012")
		peer.Bearer = token
		r, err := protocol.Query.Call(w.Context, w.Untrusted, peer, &q.LeagueQuery)
		require.NoError(t, err)
		assert.True(t, *r.Success)
	})
}

// ask sends a query, most often without parameters, and returns its data.
func ask(w *leaguetest.World, id, queryType string, params ...protocol.QueryParams) jsontext.Value {
	w.T.Helper()
	q := w.Query(id, queryType)
	for _, p := range params {
		q.QueryParams = p
	}
	_, data := answer(q)
	return data
}

// evenPlayers starts players that all choose even after a second, so that all matches are
// draws.
func evenPlayers(w *leaguetest.World, players int) {
	w.T.Helper()
	for i := range players {
		w.Player(league.PlayerID(i+1), leaguetest.WithStrategy("even"), leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.Normally)))
	}
}

func TestQueriesAreAnsweredDuringTheLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1)
		w.Referee("REF01")
		evenPlayers(w, 3)
		w.WaitUntil(1500 * time.Millisecond) // in the second round: P01 against P03
		assert.JSONEq(t, `{"current_round":2,"state":"RUNNING_LEAGUE","rounds":3,"matches":3,"recorded":1,
			"players":3,"referees":1,"games":["even_odd"],"agent_states":{"REGISTERED":0,"ACTIVE":4,"SUSPENDED":0,"SHUTDOWN":0}}`,
			string(ask(w, "P01", protocol.QueryStatus)))
		assert.JSONEq(t, `{"current_round":2,"total_players":3,"standings":[
			{"rank":1,"tied":true,"shared_rank":1,"player_id":"P01","display_name":"Agent P01","played":1,"wins":0,"draws":1,"losses":0,"points":1},
			{"rank":2,"tied":true,"shared_rank":1,"player_id":"P02","display_name":"Agent P02","played":1,"wins":0,"draws":1,"losses":0,"points":1},
			{"rank":3,"player_id":"P03","display_name":"Agent P03","played":0,"wins":0,"draws":0,"losses":0,"points":0}]}`,
			string(ask(w, "P01", protocol.QueryStandings)))

		assert.JSONEq(t, `{"round_id":2,"rounds":3,"total_matches":1,"matches":[{"match_id":"R2M1","round_id":2,"player_A_id":"P01","player_B_id":"P03",
			"referee_endpoint":"http://ref01:8000/mcp","status":"SCHEDULED","winner_player_id":null}]}`,
			string(ask(w, "P01", protocol.QuerySchedule, protocol.QueryParams{RoundID: 2})))
		all := protocol.QueryParams{RoundID: protocol.AllRounds}
		assert.JSONEq(t, string(ask(w, "P01", protocol.QuerySchedule, all)), string(ask(w, "P01", protocol.QuerySchedule)), "without round_id all rounds")
		round := func(n protocol.QueryRound) string {
			return string(ask(w, "P01", protocol.QuerySchedule, protocol.QueryParams{RoundID: n}))
		}
		assert.JSONEq(t, `{"round_id":1,"rounds":3,"total_matches":1,"matches":[{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02",
			"referee_endpoint":"http://ref01:8000/mcp","status":"DRAW","winner_player_id":null}]}`, round(1))
		assert.JSONEq(t, `{"round_id":3,"rounds":3,"total_matches":1,"matches":[{"match_id":"R3M1","round_id":3,"player_A_id":"P02","player_B_id":"P03",
			"referee_endpoint":null,"status":"SCHEDULED","winner_player_id":null}]}`, round(3), "its referee is not assigned yet")

		assert.JSONEq(t, `{"next_match":{"match_id":"R2M1","round_id":2,"opponent_id":"P03","referee_endpoint":"http://ref01:8000/mcp"}}`,
			string(ask(w, "P01", protocol.QueryNextMatch)))
		assert.JSONEq(t, `{"next_match":{"match_id":"R3M1","round_id":3,"opponent_id":"P03",
			"referee_endpoint":"http://ref01:8000/mcp","referee_expected":true}}`,
			string(ask(w, "P02", protocol.QueryNextMatch)), "P02 has a bye")
		other := ask(w, "REF01", protocol.QueryNextMatch, protocol.QueryParams{PlayerID: "P03"})
		assert.JSONEq(t, `{"next_match":{"match_id":"R2M1","round_id":2,"opponent_id":"P01","referee_endpoint":"http://ref01:8000/mcp"}}`,
			string(other), "agents may query other agents")
		assert.JSONEq(t, `{"rank":1,"tied":true,"shared_rank":1,"player_id":"P01","display_name":"Agent P01","played":1,"wins":0,"draws":1,"losses":0,"points":1,
			"technical_losses":0,"state":"ACTIVE","failures":0}`, string(ask(w, "P01", protocol.QueryPlayerStats)))

		w.WaitUntil(2500 * time.Millisecond) // in the last round: P01 has played all its matches
		assert.JSONEq(t, `{"next_match":null}`, string(ask(w, "P01", protocol.QueryNextMatch)))
	})
}

func TestStandingsAndStatusAreAlsoTopLevelMembers(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Players(2)
		w.Finish()
		for _, queryType := range []string{protocol.QueryStandings, protocol.QueryStatus} {
			r, data := answer(w.Query("P01", queryType))
			whole := leaguetest.Encode(r)
			for member, value := range *leaguetest.Decode[map[string]jsontext.Value](data) {
				top, there := (*leaguetest.Decode[map[string]jsontext.Value](whole))[member]
				assert.True(t, there, member)
				assert.JSONEq(t, string(value), string(top), member)
			}
		}
		r, err := getStandings(w, w.Token("P01"))
		require.NoError(t, err)
		assert.Equal(t, w.Final.Rows(), r.Standings)
		assert.JSONEq(t, string(ask(w, "P01", protocol.QueryStandings)), string(leaguetest.Encode(r.Data)))
		assert.Equal(t, protocol.QueryStandings, r.QueryType)
		assert.True(t, *r.Success)
	})
}

func TestUnanswerableQueryGetsAnError(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(2)
		q := w.Query("P01", protocol.QueryPlayerStats)
		q.QueryParams.PlayerID = "P99"
		r, err := q.Send()
		require.NoError(t, err)
		assert.False(t, *r.Success)
		assert.Nil(t, r.Data)
		assert.Equal(t, protocol.QueryPlayerStats, r.QueryType)
		require.NotNil(t, r.Error)
		assert.Equal(t, string(protocol.ErrPlayerNotRegistered), r.Error.ErrorCode)
		assert.Equal(t, protocol.ErrPlayerNotRegistered.Name(), r.Error.ErrorName)
		assert.NotEmpty(t, r.Error.ErrorDescription)
	})
}

func TestInvalidQueryIsRejected(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *leaguetest.World, q *protocol.LeagueQuery)
		code   protocol.Code
		rpc    int
	}{
		{"another protocol", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.Protocol = "league.v3" }, protocol.ErrProtocolVersion, 18},
		{"no token", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.AuthToken = "" }, protocol.ErrTokenMissing, 6001},
		{"a wrong token", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.AuthToken += "x" }, protocol.ErrTokenInvalid, 6001},
		{"a token of an unregistered agent", func(w *leaguetest.World, q *protocol.LeagueQuery) { q.AuthToken = w.Token("P09") }, protocol.ErrTokenInvalid, 6001},
		{"a sender that is not the owner of the token", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.Sender = "player:P02" }, protocol.ErrNotAuthorized, 14},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1)
			w.Players(2)
			q := w.Query("P01", protocol.QueryStandings)
			test.change(w, &q.LeagueQuery)
			_, err := q.Send()
			leaguetest.AssertRefused(t, err, test.code, test.rpc)
		})
	}
}

// An error echoes no token, because answers are logged; it tells the form of a token.
func TestErrorsDoNotEchoTheToken(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(1)
		for _, token := range []string{w.Token("P01") + "x", w.Token("P09"), "a-secret-of-another-system"} {
			q := w.Query("P01", protocol.QueryStandings)
			q.AuthToken = token
			_, err := q.Send()
			e := protocol.AsError(err)
			require.NotNil(t, e)
			assert.Equal(t, protocol.ErrTokenInvalid, e.Code)
			assert.NotContains(t, e.Error()+string(leaguetest.Encode(e.Context)), token)
			assert.NotEmpty(t, e.Context["expected_format"])
			assert.NotContains(t, e.Context, "provided_token")
		}
	})
}

func TestStatusListsTheGamesOfTheManager(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = rockpaperscissors.Game{}
		w.StartManager(0, 1, func(o *manager.Options) {
			o.Games = rules.NewRegistry(tictactoe.Game{}, evenodd.Game{}, rockpaperscissors.Game{})
		})
		w.Referee("REF01")
		r, _ := answer(w.Query("REF01", protocol.QueryStatus))
		assert.Equal(t, []string{"rock_paper_scissors", "even_odd", "tic_tac_toe"}, r.Games)
	})
}

// assertRateLimited asserts that a call was refused with RATE_LIMITED, and returns the retry
// delay.
func assertRateLimited(t *testing.T, err error) time.Duration {
	t.Helper()
	e := protocol.AsError(err)
	require.NotNil(t, e, "want a refusal, got %v", err)
	require.Equal(t, protocol.ErrRateLimited, e.Code)
	require.True(t, e.Code.Retryable())
	require.Positive(t, e.RetryAfter())
	return e.RetryAfter()
}

// An agent with too many queries is refused with a retry delay; other agents are not
// affected.
func TestQueriesAreRateLimitedByAgent(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(2)
		greedy, modest := w.Query("P01", protocol.QueryStatus), w.Query("P02", protocol.QueryStatus)
		for range 100 {
			_, err := greedy.Send()
			require.NoError(t, err)
		}
		_, err := greedy.Send()
		wait := assertRateLimited(t, err)
		assert.Equal(t, leaguetest.Second, wait, "20 a second, rounded up to whole seconds")
		_, err = protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), &protocol.ToolRequest{Envelope: greedy.Envelope})
		assertRateLimited(t, err)
		_, err = modest.Send()
		require.NoError(t, err, "other agents are not limited")
		w.WaitUntil(w.Now() + wait)
		for range 20 {
			_, err = greedy.Send()
			require.NoError(t, err)
		}
		_, err = greedy.Send()
		assertRateLimited(t, err)
	})
}

// Repeated reports are limited; the first report of a match is not.
func TestRepeatedReportsAreRateLimited(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1)
		w.Referee("REF01", w.OnlyAccepting())
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		for range 101 {
			mustReport(w, w.WinReport("REF01"))
		}
		_, err := w.Report(w.WinReport("REF01"))
		assertRateLimited(t, err)
		other := w.WinReport("REF01")
		other.Result.WinnerPlayerID = nil
		_, err = w.Report(other)
		assertRateLimited(t, err)
		mustReport(w, w.ReportOf("REF01", "R1M2", nil, "P03", "P04", 1, 1)) // the first of its match
		assert.Equal(t, 2, w.Manager.Status().Recorded)
	})
}

func TestRepeatedRegistrationsAreRateLimited(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		first := mustApply(w, q)
		q.AuthToken = first.AuthToken
		for range 100 {
			mustApply(w, q)
		}
		_, err := w.Apply(q)
		assert.Equal(t, leaguetest.Second, assertRateLimited(t, err))
	})
}

// Repeated moves to other endpoints are limited, so that they do not fill the journal.
func TestEndpointChangesAreRateLimited(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		first := mustApply(w, q)
		q.AuthToken = first.AuthToken
		moved, wait := 0, time.Duration(0)
		for i := range 30 {
			w.Agents()[len(w.Agents())-1].Stop()
			host := fmt.Sprintf("alpha%d", i)
			w.PingOnly(host)
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf(host)
			if _, err := w.Apply(q); err != nil {
				wait = assertRateLimited(t, err)
				break
			}
			moved++
		}
		assert.Equal(t, 20, moved)
		assert.Equal(t, 10*leaguetest.Second, wait)
		w.WaitUntil(w.Now() + wait)
		mustApply(w, q) // after the delay it may move again
		x.Kill()
	})
}

// forbidden is the error of a call to an address that must not be called.
type forbidden struct{}

func (forbidden) Error() string { return "10.0.0.7 is not an allowed address" }
func (forbidden) Unwrap() error { return &transport.CallError{Kind: transport.Forbidden} }

// A failingCaller fails the calls for which fails returns an error.
type failingCaller struct {
	protocol.Caller
	fails func(protocol.CallRequest) error
}

func (c failingCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	if err := c.fails(r); err != nil {
		return nil, nil, err
	}
	return c.Caller.Call(ctx, r)
}

// refusingCaller refuses to call one host.
func refusingCaller(next protocol.Caller, host string) protocol.Caller {
	return failingCaller{next, func(r protocol.CallRequest) error {
		if r.Endpoint == leaguetest.EndpointOf(host) {
			return forbidden{}
		}
		return nil
	}}
}

// checkEndpoint finds no host nowhere, and has no answer about the host slow.
func checkEndpoint(ctx context.Context, endpoint string) error {
	switch endpoint {
	case leaguetest.EndpointOf("nowhere"):
		return errors.New("host nowhere does not exist")
	case leaguetest.EndpointOf("slow"):
		<-ctx.Done()
	}
	return nil
}
