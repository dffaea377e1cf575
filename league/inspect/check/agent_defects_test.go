package check_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	conformance "evenodd/league/inspect/check"
	"evenodd/league/protocol"
)

// A flaw is a planted defect in one of our agents, and the requirement that it must break.
type flaw struct {
	name, found string
	tamper
}

// instead changes what is sent by one method.
func instead(method string, change func(params object)) func(string, object) bool {
	return func(sent string, params object) bool {
		if sent == method {
			change(params)
		}
		return true
	}
}

// never sends nothing by one method.
func never(method string) func(string, object) bool {
	return func(sent string, _ object) bool { return sent != method }
}

// answering changes what is answered to one method.
func answering(method string, change func(params, response object)) func(string, object, object) {
	return func(asked string, params, response object) {
		if asked == method {
			change(params, response)
		}
	}
}

func flawsOfManagers() []flaw {
	registered := func(change func(r object)) func(string, object, object) {
		return answering("register_player", func(_, response object) {
			if r := inner(response, "result"); r != nil && r["status"] == "ACCEPTED" {
				change(r)
			}
		})
	}
	accepted := object{"status": "ACCEPTED", "player_id": "P77", "auth_token": "tok-p77-x", "league_id": "league_check"}
	tokenless := func(params object) bool { return params["auth_token"] == nil }
	return []flaw{
		{"gives the same token to everybody", "M-REG-04", tamper{response: registered(func(r object) { r["auth_token"] = "tok-p01-the-same" })}},
		{"gives no token", "M-REG-04", tamper{response: registered(func(r object) { delete(r, "auth_token") })}},
		{"gives one id twice", "M-REG-03", tamper{response: registered(func(r object) { r["player_id"] = "P01" })}},
		{"does not say that it is the manager", "M-ENV-02", tamper{response: registered(func(r object) { r["sender"] = "server" })}},
		{"answers with local times", "M-ENV-03", tamper{response: registered(func(r object) { r["timestamp"] = "2026-11-21T04:00:00+02:00" })}},
		{"answers another conversation", "M-ENV-06", tamper{response: registered(func(r object) { r["conversation_id"] = "another" })}},
		{"takes names of any length", "M-REF-05", tamper{request: func(_ string, params object) {
			if name, _ := inner(params, "player_meta")["display_name"].(string); len(name) == 51 {
				inner(params, "player_meta")["display_name"] = name[:50]
			}
		}}},
		{"takes times of any zone", "M-REF-08", tamper{request: func(_ string, params object) {
			params["timestamp"] = protocol.FormatTimestamp(time.Now())
		}}},
		{"takes registrations without a version", "M-REF-01", tamper{request: func(method string, params object) {
			if meta := inner(params, "player_meta"); method == "register_player" && meta["version"] == nil {
				meta["version"] = "1.0.0"
			}
		}}},
		{"takes any game", "M-REF-10", tamper{request: func(_ string, params object) {
			if meta := inner(params, "player_meta"); len(meta) == 5 && slices.Equal(anyStrings(meta["game_types"]), []string{"chess"}) {
				meta["game_types"] = []any{"even_odd"}
			}
		}}},
		{"answers queries without a token", "M-AUT-01", tamper{response: answering("league_query", func(params, response object) {
			if tokenless(params) {
				result(response, object{"success": true, "data": object{}})
			}
		})}},
		{"answers queries of any type", "M-QRY-06", tamper{response: answering("league_query", func(_, response object) {
			if r := inner(response, "result"); r["success"] == false {
				r["success"], r["data"] = true, object{}
				delete(r, "error")
			}
		})}},
		{"knows every method", "M-RPC-08", tamper{response: answering("no_such_method", func(_, response object) { result(response, object{}) })}},
		{"answers with the id 1", "M-RPC-04", tamper{response: func(_ string, _, response object) { response["id"] = 1 }}},
		{"answers notifications", "M-RPC-07", tamper{silence: []byte(`{"jsonrpc":"2.0","result":{},"id":null}`)}},
		{"takes reports of anybody", "M-RPT-05", tamper{response: answering("report_match_result", func(params, response object) {
			if tokenless(params) {
				result(response, object{"status": "ACCEPTED"})
			}
		})}},
		{"takes reports of unknown matches", "M-RPT-04", tamper{response: answering("report_match_result", func(params, response object) {
			if params["match_id"] == "R99M99" {
				result(response, object{"status": "ACCEPTED"})
			}
		})}},
		{"lets latecomers in", "M-RUN-02", tamper{response: answering("register_player", func(_, response object) {
			if inner(response, "result")["error_code"] == "E019" {
				result(response, accepted)
			}
		})}},
		{"announces no round", "M-RND-01", tamper{outgoing: never("notify_round")}},
		{"announces the same pairs in every round", "M-RND-03", tamper{outgoing: instead("notify_round", func(params object) {
			for i, m := range params["matches"].([]any) { //nolint:forcetypeassert // it is one
				m := m.(map[string]any) //nolint:forcetypeassert // it is one
				m["player_A_id"], m["player_B_id"] = protocol.PlayerID(2*i+1), protocol.PlayerID(2*i+2)
			}
		})}},
		{"does not say where the referee is", "M-RND-02", tamper{outgoing: instead("notify_round", func(params object) {
			for _, m := range params["matches"].([]any) { //nolint:forcetypeassert // it is one
				delete(m.(map[string]any), "referee_endpoint") //nolint:forcetypeassert // it is one
			}
		})}},
		{"begins for anybody", "M-RUN-04", tamper{response: answering("start_league", func(_, response object) { result(response, object{"status": "STARTED"}) })}},
		{"begins for who has another token", "M-RUN-04", tamper{response: answering("start_league", func(params, response object) {
			if !tokenless(params) {
				result(response, object{"status": "STARTED"})
			}
		})}},
		{"says of a wrong token that there is none", "M-RUN-05", tamper{response: answering("start_league", func(_, response object) {
			response["error"] = object{"code": 11, "message": "AUTH_TOKEN_MISSING", "data": object{"error_code": "E011"}}
		})}},
		{"takes reports before its league begins", "M-RPT-09", tamper{response: answering("report_match_result", func(_, response object) {
			if inner(response, "error", "data")["error_code"] == "E030" {
				result(response, object{"status": "ACCEPTED"})
			}
		})}},
		{"takes reports without a result", "M-RPT-08", tamper{response: answering("report_match_result", func(params, response object) {
			if params["result"] == nil {
				result(response, object{"status": "ACCEPTED"})
			}
		})}},
		{"takes winners from anywhere", "M-RPT-07", tamper{response: answering("report_match_result", func(params, response object) {
			if inner(params, "result")["winner"] == "P9999" {
				result(response, object{"status": "ACCEPTED"})
			}
		})}},
		{"does not say that a player is no referee", "M-RPT-06", tamper{response: answering("report_match_result", func(_, response object) {
			if inner(response, "error", "data")["error_code"] == "E013" {
				response["error"] = object{"code": -32000, "message": "no"}
			}
		})}},
		{"proves itself to nobody", "M-PRV-01", tamper{unproved: true}},
		{"does not know ping", "M-RPC-14", tamper{response: answering("ping", func(_, response object) {
			delete(response, "result")
			response["error"] = object{"code": -32601, "message": "Method not found"}
		})}},
		{"answers queries with any token", "M-AUT-04", tamper{response: answering("league_query", func(_, response object) {
			if inner(response, "error", "data")["error_code"] == "E014" {
				result(response, object{"success": true, "data": object{}})
			}
		})}},
		{"calls a foreign token a missing player", "M-AUT-05", tamper{response: answering("league_query", func(_, response object) {
			if inner(response, "error", "data")["error_code"] == "E014" {
				response["error"] = object{"code": 3002, "message": "PLAYER_NOT_REGISTERED", "data": object{"error_code": "E005"}}
			}
		})}},
		{"tells nobody the next match", "M-QRY-04", tamper{response: answering("league_query", func(params, response object) {
			if params["query_type"] == "GET_NEXT_MATCH" {
				inner(response, "result")["data"] = object{}
			}
		})}},
		{"registers twice who asks twice", "M-REG-07", tamper{request: func() func(string, object) {
			var n atomic.Int64
			return func(method string, params object) {
				if method == "register_player" {
					params["conversation_id"] = fmt.Sprintf("conv-%d", n.Add(1))
				}
			}
		}()}},
		{"forgets a match when it counts them", "M-END-03", tamper{outgoing: instead("notify_league_completed", func(params object) { params["total_matches"] = 5 })}},
		{"shows where it was thrown", "M-RPC-12", tamper{response: answering("no_such_method", func(_, response object) {
			inner(response, "error")["message"] = "Traceback (most recent call last):"
		})}},
		{"tells nobody the standings", "M-RND-06", tamper{outgoing: never("update_standings")}},
		{"miscounts", "M-STA-01", tamper{outgoing: instead("update_standings", func(params object) {
			params["standings"].([]any)[0].(map[string]any)["points"] = 17 //nolint:forcetypeassert // it is one
		})}},
		{"has the table upside down", "M-STA-02", tamper{outgoing: instead("update_standings", func(params object) {
			slices.Reverse(params["standings"].([]any)) //nolint:forcetypeassert // it is one
		})}},
		{"does not tell the end of a round", "M-RND-07", tamper{outgoing: never("notify_round_completed")}},
		{"does not say which round is next", "M-RND-07", tamper{outgoing: instead("notify_round_completed", func(params object) { params["next_round_id"] = nil })}},
		{"tells the referee wrong endpoints", "M-ASG-03", tamper{outgoing: instead("start_match", func(params object) {
			inner(params, "player_A")["endpoint"] = "http://localhost:1/mcp"
		})}},
		{"has another champion", "M-END-02", tamper{outgoing: instead("notify_league_completed", func(params object) {
			rows := params["final_standings"].([]any)                                                //nolint:forcetypeassert // it is one
			inner(params, "champion")["player_id"] = rows[len(rows)-1].(map[string]any)["player_id"] //nolint:forcetypeassert // it is one
		})}},
	}
}

func anyStrings(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, one := range list {
		text, _ := one.(string)
		all = append(all, text)
	}
	return all
}

func TestEveryDefectOfAManagerIsFound(t *testing.T) {
	t.Parallel()
	for _, f := range flawsOfManagers() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, func(n *network) {
				url, _ := ownManager(n, 4, 1, &f.tamper)
				requireFound(n, f.found, conformance.Options{Role: conformance.Manager, URL: url, Listener: n.open()})
			})
		})
	}
}

// requireFound fails unless an examination finds the planted defect.
func requireFound(n *network, id string, o conformance.Options) {
	n.Helper()
	o.Selection.Only = []string{id}
	report := n.check(o)
	require.Len(n, report.Findings, 1)
	f, wanted := report.Findings[0], conformance.Fail
	if f.Level == conformance.Should {
		wanted = conformance.Warn
	}
	assert.Equal(n, id, f.ID)
	assert.Equal(n, wanted, f.Verdict, f.Detail)
	assert.NotEmpty(n, f.Detail)
}

func flawsOfReferees() []flaw {
	over := func(change func(params, result object)) func(string, object) bool {
		return instead("notify_match_result", func(params object) { change(params, inner(params, "game_result")) })
	}
	// policy changes what the manager's assignment says of retries.
	policy := func(retries int) func(string, object) {
		return func(method string, params object) {
			if p := inner(params, "retry_policy"); method == "start_match" && p != nil {
				p["max_retries"] = retries
			}
		}
	}
	swapped := func(winner any) any {
		if winner == "P01" {
			return "P02"
		}
		return "P01"
	}
	return []flaw{
		{"says that it conducts no match at once", "R-REG-08", tamper{outgoing: instead("register_referee", func(params object) { inner(params, "referee_meta")["max_concurrent_matches"] = 0 })}},
		{"registers without a name", "R-REG-04", tamper{outgoing: instead("register_referee", func(params object) { delete(inner(params, "referee_meta"), "display_name") })}},
		{"knows no way to begin a match", "R-STA-01", tamper{
			request: func(_ string, params object) { clear(params) },
			response: func(_ string, _, response object) {
				delete(response, "result")
				response["error"] = object{"code": -32601, "message": "Method not found"}
			},
		}},
		{"has two players A", "R-INV-03", tamper{outgoing: instead("handle_game_invitation", func(params object) { params["role_in_match"] = "PLAYER_A" })}},
		{"does not say who the opponent is", "R-INV-02", tamper{outgoing: instead("handle_game_invitation", func(params object) { delete(params, "opponent_id") })}},
		{"sends local times", "R-ENV-03", tamper{outgoing: instead("handle_game_invitation", func(params object) { params["timestamp"] = "2026-11-21T04:00:00" })}},
		{"gives no deadline", "R-CHO-02", tamper{outgoing: instead("choose_parity", func(params object) { delete(params, "deadline") })}},
		{"tells what the other chose", "R-CHO-03", tamper{outgoing: instead("choose_parity", func(params object) { inner(params, "context")["opponent_choice"] = "even" })}},
		{"whispers what the other chose, in words of its own", "R-CHO-03", whisper()},
		{"asks before both have joined", "R-INV-04", tamper{hasty: true}},
		{"invites to another round", "R-INV-02", tamper{outgoing: instead("handle_game_invitation", func(params object) { params["round_id"] = 77 })}},
		{"has deadlines that are over", "R-CHO-05", tamper{outgoing: instead("choose_parity", func(params object) { params["deadline"] = "1999-01-15T10:30:00Z" })}},
		{"knows no standings", "R-CHO-06", tamper{outgoing: instead("choose_parity", func(params object) { delete(inner(params, "context"), "your_standings") })}},
		{"tells each that it has won", "R-OVR-06", tamper{outgoing: func() func(string, object) bool {
			var n atomic.Int64
			return over(func(_, r object) { r["winner_player_id"] = protocol.PlayerID(int(n.Add(1)%2) + 1) })
		}()}},
		{"calls a loss a win", "R-LOS-07", tamper{outgoing: over(func(_, r object) { r["status"] = "WIN" })}},
		{"says that every failure was a timeout", "R-ERR-03", tamper{outgoing: instead("notify_game_error", func(params object) { params["error_code"] = "E001" })}},
		{"does not say how many tries are left", "R-ERR-04", tamper{outgoing: instead("notify_game_error", func(params object) { delete(params, "retry_info") })}},
		{"reports under another name", "R-REP-09", tamper{outgoing: instead("report_match_result", func(params object) { params["sender"] = "referee:REF07" })}},
		{"reports once and never again", "R-REP-07", tamper{outgoing: func() func(string, object) bool {
			var told sync.Map
			return func(method string, params object) bool {
				_, again := told.LoadOrStore(params["match_id"], true)
				return method != "report_match_result" || !again
			}
		}()}},
		{"changes its mind", "R-REP-08", tamper{outgoing: func() func(string, object) bool {
			var told sync.Map
			return instead("report_match_result", func(params object) {
				if _, again := told.LoadOrStore(params["match_id"], true); again {
					inner(params, "result")["winner"] = "P01"
				} else {
					inner(params, "result")["winner"] = "P02"
				}
			})
		}()}},
		{"tells anybody how a match stands", "R-AUT-01", tamper{response: answering("get_match_state", func(params, response object) {
			if params["auth_token"] == nil {
				result(response, object{"match_id": params["match_id"], "state": "COLLECTING_CHOICES"})
			}
		})}},
		{"tells choices while the match is played", "R-CHO-07", tamper{response: answering("get_match_state", func(params, response object) {
			result(response, object{"match_id": params["match_id"], "choices": object{"P02": "odd"}})
		})}},
		{"does not know ping", "R-RPC-14", tamper{response: answering("ping", func(_, response object) {
			delete(response, "result")
			response["error"] = object{"code": -32601, "message": "Method not found"}
		})}},
		{"draws eleven", "R-OVR-03", tamper{outgoing: over(func(_, r object) { r["drawn_number"], r["number_parity"] = 11, "odd" })}},
		{"has the wrong winner", "R-OVR-04", tamper{outgoing: over(func(_, r object) { r["winner_player_id"] = swapped(r["winner_player_id"]) })}},
		{"tells other choices", "R-OVR-05", tamper{outgoing: over(func(_, r object) { r["choices"] = object{"P01": "odd", "P02": "odd"} })}},
		{"draws another number than it committed to", "R-DRW-01", tamper{outgoing: over(func(params, _ object) { inner(params, "draw")["nonce"] = strings.Repeat("0", 64) })}},
		{"tells players no result", "R-OVR-01", tamper{outgoing: never("notify_match_result")}},
		{"reports nothing", "R-REP-01", tamper{outgoing: never("report_match_result")}},
		{"reports without its token", "R-REP-03", tamper{outgoing: instead("report_match_result", func(params object) { delete(params, "auth_token") })}},
		{"reports another winner", "R-REP-04", tamper{outgoing: instead("report_match_result", func(params object) {
			inner(params, "result")["winner"] = swapped(inner(params, "result")["winner"])
		})}},
		{"has a winner where both failed", "R-LOS-06", tamper{outgoing: instead("report_match_result", func(params object) {
			if inner(params, "result")["winner"] == nil {
				inner(params, "result")["winner"] = "P01"
			}
		})}},
		{"counts points of its own", "R-REP-05", tamper{outgoing: instead("report_match_result", func(params object) { inner(params, "result")["score"] = object{"P01": 2, "P02": 2} })}},
		{"does not say what was wrong", "R-ERR-01", tamper{outgoing: never("notify_game_error")}},
		{"does not say who was wrong", "R-ERR-02", tamper{outgoing: instead("notify_game_error", func(params object) { delete(params, "affected_player") })}},
		{"asks for ever", "R-ERR-05", tamper{request: policy(6)}},
		{"gives no second chance", "R-ERR-06", tamper{request: policy(0)}},
		{"does not ask again who was silent", "R-ERR-07", tamper{request: policy(0)}},
		{"answers notifications", "R-RPC-07", tamper{silence: []byte(`{}`)}},
	}
}

// whisper tells a player, when it is asked again, what the other chose.
func whisper() tamper {
	var asked sync.Map // how often, by match and player
	return tamper{outgoing: instead("choose_parity", func(params object) {
		if _, again := asked.LoadOrStore([2]any{params["match_id"], params["player_id"]}, true); again && params["player_id"] == "P01" {
			inner(params, "context")["hint"] = object{"they_say": "Odd"}
		}
	})}
}

func TestEveryDefectOfARefereeIsFound(t *testing.T) {
	t.Parallel()
	for _, f := range flawsOfReferees() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, func(n *network) {
				l := n.open()
				requireFound(n, f.found, conformance.Options{Role: conformance.Referee, URL: ownReferee(n, l, 4, &f.tamper), Listener: l})
			})
		})
	}
}
