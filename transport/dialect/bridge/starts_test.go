package bridge_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
)

// between are players P01 to P04, at the ports that the specification gives them.
func between(w *world) {
	for n := 1; n <= 4; n++ {
		w.player(fmt.Sprintf("http://localhost:81%02d/mcp", n), league.PlayerID(n))
	}
}

// Our referee conducts a match that a third-party manager assigns in any form.
func TestMatchIsStartedInEachForm(t *testing.T) {
	for _, test := range []struct{ name, path, body, status string }{
		{"assign_match", "/mcp", call("assign_match", `{"match_id":"M","player1_id":"P01","player1_endpoint":"http://localhost:8101/mcp",
			"player2_id":"P02","player2_endpoint":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"start_match_command", "/mcp", call("start_match_command", `{"match_id":"M","player_a":"P01","player_a_url":"http://localhost:8101/mcp",
			"player_b":"P02","player_b_url":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"START_MATCH", "/mcp", call("START_MATCH", `{"match_id":"M","player_A_id":"P01","player_A_endpoint":"http://localhost:8101/mcp",
			"player_B_id":"P02","player_B_endpoint":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"a round with a word", "/mcp", call("START_MATCH", `{"protocol":"league.v2","message_type":"START_MATCH","sender":"league_manager:MANAGER","timestamp":"2026-11-22T04:22:19Z",
			"conversation_id":"c","match_id":"R1M1","round_id":"ROUND_1","player_a":"P01","player_b":"P02","player_a_endpoint":"http://localhost:8101/mcp",
			"player_b_endpoint":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"start_match", "/mcp", call("start_match", `{"message_type":"START_MATCH","match_id":"M","player_a":"P01","player_a_url":"http://localhost:8101/mcp",
			"player_b":"P02","player_b_url":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"run_match", "/mcp", call("run_match", `{"match_id":"M","round_id":2,"player_a_id":"P01","player_b_id":"P02"}`), "ACCEPTED"},
		{"RUN_MATCH", "/mcp", call("RUN_MATCH", `{"match_id":"M","player_a":"P01","player_b":"P02"}`), "ACCEPTED"},
		{"the message type", "/mcp", call("MATCH_ASSIGNMENT", `{"message_type":"MATCH_ASSIGNMENT","timestamp":"20261120T170342Z","league_id":"another","match_id":"M","player1":"P01","player2":"P02"}`), "ACCEPTED"},
		{"mcp_message", "/mcp", call("mcp_message", `{"message_type":"MATCH_ASSIGNMENT","match_id":"M","player1":"P01","player2":"P02"}`), "ACCEPTED"},
		{"a tool", "/mcp", call("tools/call", `{"name":"start_match","arguments":{"match_id":"M","player_A_id":"P01","player_B_id":"P02"}}`), "ACCEPTED"},
		{"alone", "/mcp", `{"message_type":"MATCH_ASSIGNMENT","match_id":"M","player1":"P01","player2":"P02"}`, "ACCEPTED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			between(w)
			reported := make(chan struct{})
			w.onReport = func() { close(reported) }
			a := w.referee(ourReferee, "REF01", 1)
			answer := ask(t, a, test.path, test.body)
			message := answer
			switch {
			case strings.Contains(test.body, "tools/call"):
				message = read(t, []byte(contentOf(t, answer, false)))
			case strings.Contains(test.body, "jsonrpc"):
				require.Contains(t, answer, "result", "%v", answer)
				message = answer["result"].(object)
			}
			assert.Equal(t, test.status, message["status"], "%v", answer)
			assert.Equal(t, "MATCH_ASSIGNMENT_ACK", message["message_type"])
			<-reported
		})
	}
}

// A start without match or player is rejected, and so is one without the credential of a
// manager that proves itself.
func TestInvalidOrUnauthenticatedStartIsRejected(t *testing.T) {
	full := call("assign_match", `{"match_id":"R1M1","player1_id":"P01","player1_endpoint":"http://localhost:8101/mcp","player2_id":"P02","player2_endpoint":"http://localhost:8102/mcp"}`)
	announced := call("notify_round", `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c",
		"league_id":"league_of_others","round_id":1,"matches":[{"match_id":"R1M1","game_type":"even_odd","player_A_id":"P01","player_B_id":"P02","referee_id":"REF01","referee_endpoint":"http://localhost:8001/mcp"}]}`)
	for _, test := range []struct {
		name, body string
		strict     bool
		code       int
	}{
		{"a player without endpoint", call("assign_match", `{"match_id":"M","player1_id":"someone","player2_id":"P02"}`), false, -32602},
		{"no match", call("assign_match", `{"player1_id":"P01","player2_id":"P02"}`), false, -32602},
		{"no player", call("START_MATCH", `{"match_id":"M"}`), false, -32602},
		{"the manager proves itself", full, true, 3001},
		{"the manager proves itself, as a tool", call("tools/call", `{"name":"start_match","arguments":{"match_id":"M","player_A_id":"P01","player_B_id":"P02","player_A_endpoint":"http://a","player_B_endpoint":"http://b"}}`), true, 3001},
		{"the manager proves itself, endpoints are not guessed", call("assign_match", `{"match_id":"M","player1_id":"P01","player2_id":"P02"}`), true, -32602},
		{"the manager proves itself, announcements are for players", announced, true, -32601},
		{"an announcement without matches", call("notify_round", `{"round_id":1}`), false, -32601},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.strict = test.strict
			answer := ask(t, w.referee(ourReferee, "REF01", 1), "/mcp", test.body)
			if result, isTool := answer["result"].(object); isTool {
				require.Contains(t, result, "content")
				assert.Equal(t, "E011", read(t, []byte(contentOf(t, answer, true)))["error_code"])
				return
			}
			assert.EqualValues(t, test.code, answer["error"].(object)["code"], "%v", answer)
		})
	}
}

// A referee conducts the matches of an announced round that name its id or its endpoint,
// later if it has no free slot. Its manager may call it within a report.
func TestRefereeStartsItsMatchesOfAnAnnouncedRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		between(w)
		a := w.referee(ourReferee, "REF01", 1)
		w.onReport = func() { // while the referee reports
			assert.Equal(t, "ok", ask(t, a, "/mcp", call("ping", `{}`))["result"].(object)["status"])
		}
		answer := ask(t, a, "/mcp", call("ROUND_ANNOUNCEMENT", `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager",
			"timestamp":"2026-11-20T17:02:32Z","conversation_id":"c-9","league_id":"league_of_others","round_id":2,"matches":[
			{"match_id":"a","game_type":"even_odd","player_A_id":"P01","player_B_id":"P02","referee_endpoint":"http://127.0.0.1:8001/mcp"},
			{"match_id":"other","game_type":"even_odd","player_A_id":"P03","player_B_id":"P04","referee_endpoint":"http://localhost:8002/mcp","referee_id":"REF02"},
			{"match_id":"b","player_A_id":"x","player_A_endpoint":"http://localhost:8101/mcp","player_B_id":"y","player_B_endpoint":"http://localhost:8103/mcp","referee_id":"REF01"},
			{"match_id":"gone","player_A_id":"P03","player_B_id":"P04","referee_id":"REF01","forfeited_by":["P03"]},
			{"match_id":"c","player_A_id":"P03","player_B_id":"P04","referee_id":"REF01","forfeited_by":[]}]}`))
		ack := answer["result"].(object)
		assert.Equal(t, "ROUND_ANNOUNCEMENT_ACK", ack["message_type"])
		assert.Equal(t, "referee:REF01", ack["sender"])
		assert.Equal(t, "c-9", ack["conversation_id"])
		assert.Equal(t, "ACKNOWLEDGED", ack["status"])
		assert.EqualValues(t, 2, ack["round_id"])
		assert.Equal(t, "x-1", answer["id"])
		synctest.Wait()
		assert.ElementsMatch(t, []string{"a", "b", "c"}, w.reported())
		for _, r := range w.reports {
			assert.EqualValues(t, 2, r["round_id"])
		}
	})
}

// Waiting matches start even if the report of the match before is refused.
func TestMatchesWaitForAFreeSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuses = true
		between(w)
		a := w.referee(ourReferee, "REF01", 1)
		for _, id := range []string{"a", "b", "b", "c"} {
			answer := ask(t, a, "/mcp", call("assign_match", `{"match_id":"`+id+`","player1_id":"P01","player2_id":"P02"}`))
			assert.Equal(t, "ACCEPTED", answer["result"].(object)["status"])
		}
		synctest.Wait()
		assert.Subset(t, w.reported(), []string{"a", "b", "c"}) // in whatever form, and as often as it takes
	})
}

// Our manager gets BUSY from a referee without a free slot, and finds another.
func TestStartOfOurManagerNeverWaits(t *testing.T) {
	busy := `{"jsonrpc":"2.0","result":{"message_type":"MATCH_ASSIGNMENT_ACK","status":"BUSY","match_id":"M"},"id":1}`
	w := newWorld(t)
	w.strict = true
	a, calls := w.enter(ourReferee)
	register(t, calls, "register_referee")
	served := 0
	_, answer := a.dialect.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(call("run_match", `{"match_id":"M","player_A_id":"P01","player_B_id":"P02"}`)),
		func(context.Context, []byte) []byte { served++; return []byte(busy) })
	assert.Equal(t, "BUSY", read(t, answer)["result"].(object)["status"])
	assert.Equal(t, 1, served)
}

// register makes the registration call of an agent.
func register(t *testing.T, calls caller, method string) {
	t.Helper()
	_, _, err := calls.Call(t.Context(), transport.Request{
		Endpoint: managerURL, Method: method, Params: object{"sender": "referee:REF01"}, Decode: func(b []byte) (any, error) { return b, nil },
	})
	require.NoError(t, err)
}

// The answer to /run_match is the result, even if the manager accepts the report only
// afterwards.
func TestRunMatchAnswersWithTheResult(t *testing.T) {
	body := `{"match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","player_a_endpoint":"http://localhost:8101/mcp","player_b_endpoint":"http://localhost:8102/mcp"}`
	t.Run("the manager answers the report meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			between(w)
			a := w.referee(ourReferee, "REF01", 1)
			began := time.Now()
			answer := ask(t, a, "/run_match", body)
			assert.Zero(t, time.Since(began))
			synctest.Wait() // until the manager has the report
			assert.Equal(t, []string{"R1M1"}, w.reported())
			result := w.reports[0]["result"].(object)
			assert.Equal(t, result["winner"], answer["winner"])
			assert.Equal(t, result["details"].(object)["drawn_number"], answer["result"].(object)["drawn_number"])
			assert.Equal(t, result["details"].(object)["choices"], answer["result"].(object)["choices"])
			number := int(answer["result"].(object)["drawn_number"].(float64))
			assert.Equal(t, map[int]string{0: "even", 1: "odd"}[number%2], answer["result"].(object)["number_parity"])
		})
	})
	t.Run("the manager serves one request at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			between(w)
			answered := make(chan struct{})
			w.onReport = func() { <-answered }
			answer := ask(t, w.referee(ourReferee, "REF01", 1), "/run_match", body)
			assert.Equal(t, "R1M1", answer["match_id"])
			assert.Contains(t, answer, "result")
			close(answered)
			synctest.Wait()
			assert.Equal(t, []string{"R1M1"}, w.reported())
		})
	})
	t.Run("the match takes longer than an answer may", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t) // without players: each is tried for a while
			a := w.referee(ourReferee, "REF01", 1)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			status, answer := a.serve(ctx, "", "/run_match", body)
			assert.Equal(t, 200, status)
			assert.Equal(t, "ACCEPTED", read(t, answer)["status"], "it was begun")
		})
	})
}

// A manager may begin its league before it answers the last registration.
func TestStartBeforeTheRegistrationIsReadIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		between(w)
		a, calls := w.enter(ourReferee)
		a.mux.Handle("start_match", func(b []byte) (any, error) { return b, nil }, func(_ context.Context, _ string, params any) (any, error) {
			return object{"status": "ACCEPTED", "league": read(t, params.([]byte))["league_id"]}, nil
		})
		began := make(chan []byte, 1)
		w.onRegister = func() {
			go func() { // the test ends after it: it reads what this sends
				_, answer := a.serve(context.Background(), "", "/mcp", call("run_match", `{"match_id":"M","player_a_id":"P01","player_b_id":"P02"}`))
				began <- answer
			}()
			synctest.Wait() // it waits for the answer
		}
		register(t, calls, "register_referee")
		assert.Equal(t, leagueID, read(t, <-began)["result"].(object)["league"])
	})
}

// Third-party ids name files, rounds and conversations, as our ids do.
func TestMatchWithThirdPartyIdsIsPlayed(t *testing.T) {
	for _, ids := range []struct{ match, a, b string }{
		{"match_63f3cb53", "player_d403b162", "player_95e1cf11"},
		{"M1", "P1", "P2"},
		{"6b1f7c2e-8f9e-4bd4-a12a-a99999999999", "agent.one", "agent-two"},
		{"round 1 / match 1", "Agent Alpha", "../P02"},
	} {
		t.Run(ids.match, func(t *testing.T) {
			w := newWorld(t)
			w.folder = t.TempDir()
			_, one := w.player("http://localhost:8101/mcp", ids.a)
			_, two := w.player("http://localhost:8102/mcp", ids.b)
			reported := make(chan struct{})
			w.onReport = func() { close(reported) }
			a := w.referee(ourReferee, "ref_b4a7cebf", 1)
			ask(t, a, "/mcp", call("assign_match", text(t, object{"match_id": ids.match, "player1_id": ids.a, "player2_id": ids.b,
				"player1_endpoint": "http://localhost:8101/mcp", "player2_endpoint": "http://localhost:8102/mcp"})))
			<-reported
			w.finish()
			assert.Equal(t, []string{ids.match}, w.reported())
			assert.Equal(t, 1, one.Record().Stats.TotalMatches)
			assert.Equal(t, 1, two.Record().Stats.TotalMatches)
			_, err := os.Stat(store.Folder(w.folder).Match(leagueID, ids.match))
			assert.Equal(t, protocol.ValidLeagueID(ids.match), err == nil, "its file: %v", err)
			details := w.reports[0]["result"].(object)["details"].(object)
			assert.NotContains(t, details["status"], "TECHNICAL", "%v", details)
		})
	}
}

// The answer to /create_schedule has all rounds, from one query each.
func TestCreateScheduleReturnsAllRounds(t *testing.T) {
	d := bridge.New(bridge.Options{League: "L", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	mux, lenient := transport.NewMux(zerolog.Nop()), false
	stamp := protocol.NewStamp("league_manager", protocol.SystemClock())
	protocol.Query.Handle(mux, stamp, func(_ context.Context, bearer string, q *protocol.LeagueQuery) (*protocol.LeagueQueryResponse, error) {
		if lenient && bearer == "" && q.Sender == "player:P01" {
			return &protocol.LeagueQueryResponse{Data: protocol.ScheduleData{RoundID: 1, Rounds: 1, Matches: []protocol.ScheduledMatch{{MatchID: "R1M1", RoundID: 1, PlayerAID: "P01", PlayerBID: "P02"}}}}, nil
		}
		if bearer != "tok-p01" {
			return nil, protocol.Fault(protocol.ErrTokenMissing, "no token")
		}
		assert.Equal(t, "L", q.LeagueID)
		assert.Equal(t, "GET_SCHEDULE", q.QueryType)
		assert.True(t, q.NamelessSender(), "the token identifies the caller")
		if q.QueryParams.RoundID == 3 {
			return &protocol.LeagueQueryResponse{Error: &protocol.QueryError{ErrorCode: "E006", ErrorName: "MATCH_NOT_FOUND"}}, nil
		}
		r := int(q.QueryParams.RoundID)
		return &protocol.LeagueQueryResponse{Data: protocol.ScheduleData{RoundID: q.QueryParams.RoundID, Rounds: 2, Matches: []protocol.ScheduledMatch{
			{MatchID: league.MatchID{Round: r, Number: 1}.String(), RoundID: r, PlayerAID: "P01", PlayerBID: "P02"}, {MatchID: league.MatchID{Round: r, Number: 2}.String(), RoundID: r, PlayerAID: "P03", PlayerBID: "P04"},
		}}}, nil
	})
	manager := &agent{dialect: d, mux: mux}
	status, answer := manager.serve(t.Context(), "tok-p01", "/create_schedule", "")
	require.Equal(t, 200, status, string(answer))
	assert.JSONEq(t, `{"schedule":[
		{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02"},{"match_id":"R1M2","round_id":1,"player_A_id":"P03","player_B_id":"P04"},
		{"match_id":"R2M1","round_id":2,"player_A_id":"P01","player_B_id":"P02"},{"match_id":"R2M2","round_id":2,"player_A_id":"P03","player_B_id":"P04"}]}`, string(answer))
	status, answer = manager.serve(t.Context(), "", "/create_schedule", "")
	assert.Equal(t, 400, status)
	assert.Equal(t, "AUTH_TOKEN_MISSING", read(t, answer)["error"])

	lenient = true
	status, answer = manager.serve(t.Context(), "", "/create_schedule", "")
	assert.Equal(t, 200, status, string(answer))
	assert.Len(t, read(t, answer)["schedule"], 1)

	player, _ := newWorld(t).player(ourPlayer, "P01")
	status, _ = player.serve(t.Context(), "", "/create_schedule", "")
	assert.Equal(t, 400, status, "a player has none")
}
