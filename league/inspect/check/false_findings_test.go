package check_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/inspect/check"
	"evenodd/league/protocol"
)

// configured makes a referee call its players at the addresses of a file of its own.
func configured() *tamper {
	return &tamper{request: func(method string, params object) {
		for i, side := range []string{"player_A", "player_B"} {
			if p := inner(params, side); method == protocol.StartMatch.Name && p != nil {
				p["endpoint"] = fmt.Sprintf("http://localhost:%d/mcp", playerPort+i)
			}
		}
	}}
}

// checkReferee examines a referee of this program with a defect.
func checkReferee(n *network, bad *tamper, only ...string) *check.Report {
	n.Helper()
	l := n.open()
	return n.check(check.Options{
		Role: check.Referee, URL: ownReferee(n, l, 4, bad), Listener: l, Selection: check.Selection{Only: only},
	})
}

func TestRefereeThatCallsConfiguredAddressesConforms(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		requirePasses(n, checkReferee(n, configured(), "R-STA", "R-INV", "R-CHO", "R-OVR", "R-DRW", "R-REP", "R-LOS", "R-ERR"))
	})
}

// Without the ports nobody knows whether the referee invites players at configured addresses.
func TestRefereeIsUndecidedWithoutThePortsOfThePlayers(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		n.taken = map[string]bool{"9102": true} // that of one player
		r := checkReferee(n, configured())
		assert.Empty(n, verdicts(r, check.Fail))
		why := finding(n, r, "R-STA-01")
		assert.Equal(n, check.Skipped, why.Verdict)
		assert.Contains(n, why.Detail, "invited nobody within 1m10s")
		assert.Contains(n, why.Detail, "the kit's players cannot listen at port 9102 (address already in use)")
		assert.Contains(n, r.Ended, "port 9102")
		assert.False(n, r.Conforms())

		requirePasses(n, checkReferee(n, nil, "R-STA", "R-INV", "R-REP"))
	})
}

// firstReports lets a referee report each match once.
func firstReports() func(params object) bool {
	var told sync.Map
	return func(params object) bool {
		_, again := told.LoadOrStore(params["match_id"], true)
		return !again
	}
}

func TestVerdictsOnUnusualReferees(t *testing.T) {
	t.Parallel()
	var reports, starts atomic.Int64
	for name, test := range map[string]struct {
		bad   *tamper
		only  []string
		finds map[string]string // parts of the details of what fails or warns; all others must not
	}{
		// The envelope is no MUST of answers: a referee may require it.
		"requires the envelope": {&tamper{strict: true}, nil, map[string]string{"R-ERR-08": ""}},
		// It has invited both players: it conducts the match, also if it answers start_match with an error later.
		"answers the start with an error after the invitations": {&tamper{
			outgoing: never(protocol.ReportMatchResult.Name),
			response: func(_ string, _, response object) {
				if strings.Contains(string(marshal(response)), protocol.StartMatch.Result) { // in any form
					<-time.After(time.Second)
					delete(response, "result")
					response["error"] = object{"code": -32000, "message": "could not report the match"}
				}
			},
		}, []string{"R-STA-01", "R-INV-01", "R-REP-01"}, map[string]string{"R-REP-01": "no report came within"}},
		// It has just registered.
		"has not read the answer to its registration": {&tamper{
			request: func(method string, params object) {
				if method == protocol.StartMatch.Name && starts.Add(1) <= 2 {
					params["league_id"] = "league_of_others"
				}
			},
			response: answering(protocol.StartMatch.Name, func(_, response object) {
				if starts.Load() <= 2 {
					delete(response, "result")
					response["error"] = object{"code": 4005, "message": "INVALID_MATCH_STATE", "data": object{"error_code": "E008"}}
				}
			}),
		}, []string{"R-STA-01", "R-INV-01"}, nil},
		// It is busy with a match until it has reported it.
		"is busy with an unreported match": {&tamper{
			outgoing: never(protocol.ReportMatchResult.Name),
			response: answering(protocol.StartMatch.Name, func(params, response object) {
				if reports.Add(1) > 2 {
					result(response, object{"status": "BUSY", "match_id": params["match_id"]})
				}
			}),
		}, []string{"R-STA-01", "R-REP-01"}, map[string]string{"R-REP-01": "no report came within"}},
		// It counts "maybe" as a choice, and does not ask again: it shows the choice that the player made.
		"takes any choice": {&tamper{
			request: noRetries,
			outgoing: instead(protocol.NotifyMatchResult.Name, func(params object) {
				if over := inner(params, "game_result"); over["status"] == league.StatusTechnicalLoss {
					over["status"], over["winner_player_id"], over["drawn_number"], over["number_parity"] = "WIN", "P02", 4, "even"
					over["choices"] = object{"P01": "maybe", "P02": "even"}
				}
			}),
		}, []string{"R-OVR-04", "R-OVR-05", "R-ERR-06"}, map[string]string{"R-ERR-06": "it was called once"}},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				found := verdicts(checkReferee(n, test.bad, test.only...), check.Fail, check.Warn)
				assert.ElementsMatch(n, slices.Collect(maps.Keys(test.finds)), slices.Collect(maps.Keys(found)))
				for id, detail := range test.finds {
					assert.Contains(n, found[id], detail)
				}
			})
		})
	}
}

// The finding about calls names what the agent wants otherwise, here the sender.
func TestFormOfCallsNamesTheSender(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.call = func(_ string, params object) (object, *refusal, bool) {
			if params["sender"] == "league_manager" {
				return nil, &refusal{code: -32000, message: "unknown sender"}, true
			}
			return nil, nil, false
		}
		r := examine(n, m)
		assert.Equal(n, `it understands notify_round only as: notify_round with the sender "league_manager:LM01"`,
			verdicts(r, check.Warn)["P-FRM-01"])
	})
}

// The pairs of nearly all matches of the kit are the same: the dialect finds the match of a report
// without match_id only if it knows which reports were accepted.
func TestReportsWithoutMatchCount(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		l := n.open()
		first := firstReports()
		bad := &tamper{outgoing: func(method string, params object) bool {
			if method != protocol.ReportMatchResult.Name {
				return true
			}
			send := first(params)
			for _, name := range []string{"match_id", "round_id", "league_id", "game_type", "sender"} {
				delete(params, name)
			}
			return send
		}}
		requirePasses(n, n.check(check.Options{
			Role: check.Referee, URL: ownReferee(n, l, 2, bad), Listener: l,
			Selection: check.Selection{Only: []string{"R-MSG-01", "R-STA", "R-REP-01", "R-LOS"}},
		}))
	})
}

// Referees that keep to the documents in another way than ours get the finding that names the difference, and no other.
func TestUnusualRefereesGetNoFurtherFindings(t *testing.T) {
	const started, handler, lost = "R-STA-04", "R-STA-03", "R-REP-07" // a SHOULD each
	for name, test := range map[string]struct {
		referee *fakeReferee
		finds   []string
	}{
		"it plays each start of a match":                      {&fakeReferee{}, []string{started, lost}},
		"it conducts matches in its handler":                  {&fakeReferee{inHandler: true}, []string{started, lost, handler}},
		"in its handler, and serves one call at a time":       {&fakeReferee{inHandler: true, alone: true}, []string{started, lost, handler}},
		"in its handler, one call at a time, and slowly":      {&fakeReferee{inHandler: true, alone: true, thinks: time.Second}, []string{handler, lost}},
		"it acts on announcements":                            {&fakeReferee{announced: true}, []string{started, lost}},
		"it acts on announcements, and acknowledges all else": {&fakeReferee{announced: true, obliging: true}, []string{started, lost}},
		"it is slow to begin":                                 {&fakeReferee{begins: 4 * time.Second}, []string{started, lost}},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				r := checkFakeReferee(n, test.referee, "R-STA", "R-FRM", "R-INV", "R-CHO", "R-OVR", "R-REP", "R-LOS-01", "R-LOS-03", "R-LOS-04")
				assert.Empty(n, verdicts(r, check.Fail))
				for id, detail := range verdicts(r, check.Warn) {
					assert.Contains(n, test.finds, id, detail)
				}
				assert.True(n, r.Conforms(), r.Ended)
			})
		})
	}
}

// think waits, but not longer than the test runs.
func (m *model) think(d time.Duration) {
	select {
	case <-time.After(d):
	case <-m.dead:
	}
}

// servesTools has the player be an MCP server alone, whose initialize takes some time.
func servesTools(m *model, initialize time.Duration) {
	m.first = func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		var q struct {
			Method string         `json:"method"`
			ID     jsontext.Value `json:"id"`
			Params object         `json:"params"`
		}
		if json.Unmarshal(body, &q) != nil || q.ID == nil {
			return false
		}
		var result any
		switch q.Method {
		case "initialize":
			m.think(initialize)
			result = object{"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{}}}
		case "tools/list":
			var tools []any
			for name := range methods {
				tools = append(tools, object{"name": name, "inputSchema": object{"type": "object"}})
			}
			result = object{"tools": tools}
		case "tools/call":
			name, _ := q.Params["name"].(string)
			answer := m.answerOne(marshal(object{"jsonrpc": "2.0", "method": name, "params": q.Params["arguments"], "id": 1}))
			var response object
			_ = json.Unmarshal(answer, &response)
			result = object{"content": []any{object{"type": "text", "text": string(marshal(response["result"]))}}}
		default:
			_, _ = w.Write(marshal(object{"jsonrpc": "2.0", "id": q.ID, "error": object{"code": -32601, "message": "Method not found"}}))
			return true
		}
		_, _ = w.Write(marshal(object{"jsonrpc": "2.0", "id": q.ID, "result": result}))
		return true
	}
}

// A player that is only an MCP server has the time of the protocol for its answers, as in a league.
func TestSlowToolServerIsNotAccusedOfSilence(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{0, 1300 * time.Millisecond, 2200 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond} {
		t.Run(slow.String(), func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				m := newModel(n)
				servesTools(m, slow)
				r := alone(n, m, func(o *check.Options) { o.Selection.Only = []string{"P-HTTP-01", "P-INV", "P-CHO", "P-OVR-01"} })
				assert.Empty(n, verdicts(r, check.Fail))
				assert.Empty(n, verdicts(r, check.Skipped))
			})
		})
	}
	t.Run("longer than the protocol allows", func(t *testing.T) {
		inVirtualTime(t, func(n *network) {
			m := newModel(n)
			servesTools(m, 6*time.Second)
			r := alone(n, m, func(o *check.Options) { o.Selection.Only = []string{"P-HTTP-01", "P-INV"} })
			assert.Equal(n, "no answer within 5s", verdicts(r, check.Fail)["P-INV-06"])
		})
	})
}

// JSON-RPC demands the id null in the answer to a request that is invalid.
func TestNullIDOfAnInvalidRequestIsNoFinding(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.wrap = func(response object) any {
			if inner(response, "error")["code"] == -32602 && strings.Contains(fmt.Sprint(inner(response, "error")["message"]), "params") {
				response["id"], inner(response, "error")["code"] = nil, -32600
			}
			return response
		}
		assert.NotContains(n, verdicts(examine(n, m), check.Fail, check.Warn), "P-RPC-06")
	})
}

// A manager that takes registrations that it should refuse has the finding about that, and none about its league, which
// follows from them.
func TestWronglyTakenRegistrationIsOneFinding(t *testing.T) {
	t.Parallel()
	const invented = "http://localhost:99999/mcp"
	only := check.Selection{Only: []string{"M-REF-15", "M-RUN", "M-RND", "M-ASG", "M-STA", "M-END"}}
	t.Run("with an endpoint that cannot exist", func(t *testing.T) {
		inVirtualTime(t, func(n *network) {
			elsewhere := n.serve(newModel(n))
			url, _ := ownManager(n, 4, 1, &tamper{
				request: func(method string, params object) {
					if meta := inner(params, "player_meta"); method == "register_player" && meta["contact_endpoint"] == invented {
						meta["contact_endpoint"] = elsewhere
					}
				},
				outgoing: instead("start_match", func(params object) {
					for _, side := range []string{"player_A", "player_B"} {
						if p := inner(params, side); p["endpoint"] == elsewhere {
							p["endpoint"] = invented
						}
					}
				}),
			})
			r := n.check(check.Options{Role: check.Manager, URL: url, Listener: n.open(), Selection: only})
			assert.Equal(n, []string{"M-REF-15"}, slices.Collect(maps.Keys(verdicts(r, check.Fail, check.Warn))))
		})
	})
	t.Run("after the start", func(t *testing.T) {
		inVirtualTime(t, func(n *network) {
			row := object{"rank": 5, "player_id": "P77", "display_name": "Late", "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
			late := lets("register_player", "E019", object{"status": "ACCEPTED", "player_id": "P77", "auth_token": "tok-p77-x", "league_id": "league_check"})
			late.outgoing = func(_ string, params object) bool {
				for _, name := range []string{"standings", "final_standings"} {
					if rows, is := params[name].([]any); is {
						params[name] = append(rows, row)
					}
				}
				return true
			}
			url, _ := ownManager(n, 4, 1, &late)
			r := n.check(check.Options{Role: check.Manager, URL: url, Listener: n.open(), Selection: only})
			assert.Equal(n, []string{"M-RUN-02"}, slices.Collect(maps.Keys(verdicts(r, check.Fail, check.Warn))))
		})
	})
}

// A league that stopped could still have kept its schedule.
func TestLeagueThatStopsBreaksNoSchedule(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		var stopped atomic.Bool
		url, _ := ownManager(n, 4, 1, &tamper{outgoing: func(method string, _ object) bool {
			return !stopped.Swap(stopped.Load() || method == "notify_round_completed")
		}})
		r := n.check(check.Options{Role: check.Manager, URL: url, Listener: n.open(),
			Selection: check.Selection{Only: []string{"M-RND-03", "M-STA-01"}}})
		assert.Empty(n, verdicts(r, check.Fail))
		assert.Equal(n, "the league stopped: no message came within 30s", verdicts(r, check.Skipped)["M-RND-03"])
	})
}
