package check_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/check"
	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
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

// lets makes a result of the error with a code.
func lets(method string, code any, r object) tamper {
	return tamper{response: answering(method, func(_, response object) {
		if inner(response, "error", "data")["error_code"] == code || inner(response, "result")["error_code"] == code {
			result(response, r)
		}
	})}
}

// fails makes an error of what was another.
func fails(method string, code any, e object) tamper {
	return tamper{response: answering(method, func(_, response object) {
		if code == nil || inner(response, "error", "data")["error_code"] == code {
			delete(response, "result")
			response["error"] = e
		}
	})}
}

// noRetries changes what the manager's assignment says of retries.
func noRetries(method string, params object) {
	if p := inner(params, "retry_policy"); method == "start_match" && p != nil {
		p["max_retries"] = 0
	}
}

var unknownMethod = object{"code": -32601, "message": "Method not found"}

func flawsOfManagers() []flaw {
	registered := func(change func(r object)) func(string, object, object) {
		return answering("register_player", func(_, response object) {
			if r := inner(response, "result"); r != nil && r["status"] == "ACCEPTED" {
				change(r)
			}
		})
	}
	accepted := object{"status": "ACCEPTED", "player_id": "P77", "auth_token": "tok-p77-x", "league_id": "league_check"}
	return []flaw{
		{"gives the same token to everybody", "M-REG-04", tamper{response: registered(func(r object) { r["auth_token"] = "tok-p01-the-same" })}},
		{"gives one id twice", "M-REG-03", tamper{response: registered(func(r object) { r["player_id"] = "P01" })}},
		{"does not say that it is the manager", "M-ENV-02", tamper{response: registered(func(r object) { r["sender"] = "server" })}},
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
			meta := inner(params, "player_meta")
			if len(meta) == 5 && assert.ObjectsAreEqual([]any{"chess"}, meta["game_types"]) {
				meta["game_types"] = []any{"even_odd"}
			}
		}}},
		{"answers queries without a token", "M-AUT-01", lets("league_query", "E011", object{"success": true, "data": object{}})},
		{"answers queries of any type", "M-QRY-06", tamper{response: answering("league_query", func(_, response object) {
			if r := inner(response, "result"); r["success"] == false {
				r["success"], r["data"] = true, object{}
				delete(r, "error")
			}
		})}},
		{"takes reports of anybody", "M-RPT-05", lets("report_match_result", "E011", accepted)},
		{"takes reports of unknown matches", "M-RPT-04", lets("report_match_result", "E006", accepted)},
		{"lets latecomers in", "M-RUN-02", lets("register_player", "E019", accepted)},
		{"announces no round", "M-RND-01", tamper{outgoing: never("notify_round")}},
		{"announces the same pairs in every round", "M-RND-03", tamper{outgoing: instead("notify_round", func(params object) {
			for i, m := range params["matches"].([]any) { //nolint:forcetypeassert // it is one
				m := m.(map[string]any) //nolint:forcetypeassert // it is one
				m["player_A_id"], m["player_B_id"] = league.PlayerID(2*i+1), league.PlayerID(2*i+2)
			}
		})}},
		{"begins for anybody", "M-RUN-04", tamper{response: answering("start_league", func(_, response object) { result(response, object{"status": "STARTED"}) })}},
		{"takes reports before its league begins", "M-RPT-04", lets("report_match_result", "E030", accepted)},
		{"takes reports without a result", "M-RPT-04", lets("report_match_result", "E003", accepted)},
		{"takes winners from anywhere", "M-RPT-07", tamper{response: answering("report_match_result", func(params, response object) {
			if inner(params, "result")["winner"] == "P9999" {
				result(response, object{"status": "ACCEPTED"})
			}
		})}},
		{"does not say that a player is no referee", "M-RPT-06", fails("report_match_result", "E013", object{"code": -32000, "message": "no"})},
		{"answers queries with any token", "M-AUT-04", lets("league_query", "E014", object{"success": true, "data": object{}})},
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
		{"tells nobody the standings", "M-RND-06", tamper{outgoing: never("update_standings")}},
		{"miscounts", "M-STA-01", tamper{outgoing: instead("update_standings", func(params object) {
			params["standings"].([]any)[0].(map[string]any)["points"] = 17 //nolint:forcetypeassert // it is one
		})}},
		{"has the table upside down", "M-STA-02", tamper{outgoing: instead("update_standings", func(params object) {
			slices.Reverse(params["standings"].([]any)) //nolint:forcetypeassert // it is one
		})}},
		{"does not tell the end of a round", "M-RND-07", tamper{outgoing: never("notify_round_completed")}},
		{"tells the referee wrong endpoints", "M-ASG-03", tamper{outgoing: instead("start_match", func(params object) {
			inner(params, "player_A")["endpoint"] = "http://localhost:1/mcp"
		})}},
		{"has another champion", "M-END-02", tamper{outgoing: instead("notify_league_completed", func(params object) {
			rows := params["final_standings"].([]any)                                                //nolint:forcetypeassert // it is one
			inner(params, "champion")["player_id"] = rows[len(rows)-1].(map[string]any)["player_id"] //nolint:forcetypeassert // it is one
		})}},
	}
}

func TestEveryDefectOfAManagerIsFound(t *testing.T) {
	t.Parallel()
	for _, f := range flawsOfManagers() {
		t.Run(f.name, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				url, _ := ownManager(n, 4, 1, &f.tamper)
				only := check.Selection{Only: []string{f.found}}
				o := check.Options{Role: check.Manager, URL: url, Listener: n.open(), Selection: only}
				requireFound(n, f.found, n.check(o))
			})
		})
	}
}

// requireFound fails unless a report about one requirement has the planted defect.
func requireFound(n *network, id string, report *check.Report) {
	n.Helper()
	require.Len(n, report.Findings, 1)
	f, wanted := report.Findings[0], check.Fail
	if f.Level == check.Should {
		wanted = check.Warn
	}
	assert.Equal(n, id, f.ID)
	assert.Equal(n, wanted, f.Verdict, f.Detail)
	assert.NotEmpty(n, f.Detail)
}

func flawsOfReferees() []flaw {
	over := func(change func(params, result object)) func(string, object) bool {
		return instead("notify_match_result", func(params object) { change(params, inner(params, "game_result")) })
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
		{"has two players A", "R-INV-02", tamper{outgoing: instead("handle_game_invitation", func(params object) { params["role_in_match"] = "PLAYER_A" })}},
		{"tells what the other chose", "R-CHO-03", tamper{outgoing: instead("choose_parity", func(params object) { inner(params, "context")["opponent_choice"] = "even" })}},
		{"knows no standings", "R-CHO-02", tamper{outgoing: instead("choose_parity", func(params object) { delete(inner(params, "context"), "your_standings") })}},
		{"calls a loss a win", "R-LOS-07", tamper{outgoing: over(func(_, r object) { r["status"] = "WIN" })}},
		{"says that every failure was a timeout", "R-ERR-03", tamper{outgoing: instead("notify_game_error", func(params object) { params["error_code"] = "E001" })}},
		{"does not say how many tries are left", "R-ERR-02", tamper{outgoing: instead("notify_game_error", func(params object) { delete(params, "retry_info") })}},
		{"reports under another name", "R-ENV-02", tamper{outgoing: instead("report_match_result", func(params object) { params["sender"] = "referee:REF07" })}},
		{"reports once and never again", "R-REP-07", tamper{outgoing: func() func(string, object) bool {
			isFirst := firstReports()
			return func(method string, params object) bool { return method != "report_match_result" || isFirst(params) }
		}()}},
		{"does not know ping", "R-RPC-14", fails("ping", nil, unknownMethod)},
		{"has the wrong winner", "R-OVR-04", tamper{outgoing: over(func(_, r object) { r["winner_player_id"] = swapped(r["winner_player_id"]) })}},
		{"tells other choices", "R-OVR-05", tamper{outgoing: over(func(_, r object) { r["choices"] = object{"P01": "odd", "P02": "odd"} })}},
		{"tells players no result", "R-OVR-01", tamper{outgoing: never("notify_match_result")}},
		{"reports nothing", "R-REP-01", tamper{outgoing: never("report_match_result")}},
		{"reports without its token", "R-REP-03", tamper{outgoing: instead("report_match_result", func(params object) { delete(params, "auth_token") })}},
		{"reports another winner", "R-REP-04", tamper{outgoing: instead("report_match_result", func(params object) {
			inner(params, "result")["winner"] = swapped(inner(params, "result")["winner"])
		})}},
		{"counts points of its own", "R-REP-05", tamper{outgoing: instead("report_match_result", func(params object) { inner(params, "result")["score"] = object{"P01": 2, "P02": 2} })}},
		{"does not say what was wrong", "R-ERR-01", tamper{outgoing: never("notify_game_error")}},
		{"gives no second chance", "R-ERR-06", tamper{request: noRetries}},
		{"does not ask again who was silent", "R-ERR-07", tamper{request: noRetries}},
	}
}

func TestEveryDefectOfARefereeIsFound(t *testing.T) {
	t.Parallel()
	for _, f := range flawsOfReferees() {
		t.Run(f.name, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				requireFound(n, f.found, checkReferee(n, &f.tamper, f.found))
			})
		})
	}
}

// A tamper plants a defect in one of this program's agents: it changes the requests and
// responses of the agent on their way. Nil members change nothing.
type tamper struct {
	request  func(method string, params object)
	response func(method string, params, response object)
	outgoing func(method string, params object) bool // false: it is not sent
	strict   bool                                    // rejects answers without an envelope
	announce bool                                    // assigns matches by the announcement of a round alone
}

// handler serves an agent whose conversations are tampered with.
func (x *tamper) handler(mux *transport.Mux) nethttp.Handler {
	return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, err := io.ReadAll(nethttp.MaxBytesReader(w, r.Body, 10<<10))
		if err != nil {
			w.WriteHeader(nethttp.StatusRequestEntityTooLarge)
			return
		}
		var q object
		_ = json.Unmarshal(body, &q)
		method, _ := q["method"].(string)
		params, _ := q["params"].(map[string]any)
		if x.request != nil && params != nil {
			x.request(method, params)
			body = marshal(q)
		}
		answer := mux.Serve(r.Context(), "", body).Body
		var response object
		if x.response != nil && json.Unmarshal(answer, &response) == nil && response != nil {
			x.response(method, params, response)
			answer = marshal(response)
		}
		w.Header().Set("Content-Type", "application/json")
		if answer == nil {
			w.WriteHeader(nethttp.StatusNoContent)
			return
		}
		_, _ = w.Write(answer)
	})
}

// A tamperedCaller is the outgoing side.
type tamperedCaller struct {
	protocol.Caller
	*tamper
}

func (c tamperedCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	if decode := r.Decode; c.strict {
		r.Decode = func(answer []byte) (any, error) {
			if !bytes.Contains(answer, []byte(`"message_type"`)) {
				return nil, errors.New("no envelope")
			}
			return decode(answer)
		}
	}
	if c.announce && r.Method == protocol.StartMatch.Name {
		assignment := protocol.ParseObject(marshal(r.Params))
		announcement := dialect.AsAnnouncement(assignment, r.Endpoint).Append(nil)
		r.Method, r.Params = protocol.NotifyRound.Name, jsontext.Value(announcement)
		r.Decode = func([]byte) (any, error) {
			return &protocol.MatchAssignmentAck{Status: protocol.StatusAccepted, MatchID: assignment.Text("match_id")}, nil
		}
		return c.Caller.Call(ctx, r)
	}
	if c.outgoing == nil {
		return c.Caller.Call(ctx, r)
	}
	var encoded []byte
	if many, ok := r.Params.(interface{ Encoded() ([]byte, error) }); ok {
		encoded, _ = many.Encoded()
	} else {
		encoded = marshal(r.Params)
	}
	var q object
	if json.Unmarshal(encoded, &q) != nil || !c.outgoing(r.Method, q) {
		return nil, nil, errors.New("not sent")
	}
	r.Params = q
	return c.Caller.Call(ctx, r)
}

// result makes an answer of what was an error.
func result(response object, r object) {
	delete(response, "error")
	response["result"] = r
}

func inner(m object, names ...string) object {
	for _, name := range names {
		m, _ = m[name].(map[string]any)
	}
	return m
}
