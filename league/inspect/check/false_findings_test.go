package check_test

import (
	"fmt"
	"net"
	nethttp "net/http"
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
func checkReferee(n *network, bad *tamper, only ...string) *conformance.Report {
	n.Helper()
	l := n.open()
	return n.check(conformance.Options{
		Role: conformance.Referee, URL: ownReferee(n, l, 4, bad), Listener: l, Selection: conformance.Selection{Only: only},
	})
}

func TestRefereeThatCallsConfiguredAddressesConforms(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		requirePasses(n, checkReferee(n, configured(), "R-STA", "R-INV", "R-CHO", "R-OVR", "R-DRW", "R-REP", "R-LOS", "R-ERR"))
	})
}

// Without the ports nobody knows whether the referee invites players at configured addresses.
func TestRefereeIsUndecidedWithoutThePortsOfThePlayers(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		n.taken = map[string]bool{"9102": true} // that of one player
		r := checkReferee(n, configured())
		assert.Empty(n, verdicts(r, conformance.Fail))
		why := finding(n, r, "R-STA-01")
		assert.Equal(n, conformance.Skipped, why.Verdict)
		assert.Contains(n, why.Detail, "invited nobody within 3s")
		assert.Contains(n, why.Detail, "the kit's players cannot listen at port 9102 (address already in use)")
		assert.Contains(n, r.Ended, "port 9102")
		assert.False(n, r.Conforms())

		requirePasses(n, checkReferee(n, nil, "R-STA", "R-INV", "R-REP"))
	})
}

func TestRefereeThatInvitesNobodyFails(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		r := checkReferee(n, &tamper{outgoing: never("handle_game_invitation")}, "R-STA")
		assert.Contains(n, verdicts(r, conformance.Fail)["R-STA-01"], "invited nobody within 3s")
	})
}

// The envelope is no MUST of answers: a referee may require it.
func TestRefereeThatRequiresTheEnvelopeGetsAWarning(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		r := checkReferee(n, &tamper{strict: true})
		assert.Empty(n, verdicts(r, conformance.Fail))
		assert.NotEmpty(n, verdicts(r, conformance.Warn)["R-ERR-08"])
	})
}

// A referee that has invited both players conducts the match, also if it answers start_match with an
// error because it could not report.
func TestMissingReportIsNoFailureToConductMatches(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		bad := &tamper{
			outgoing: never(protocol.ReportMatchResult.Name),
			response: func(_ string, _, response object) {
				if strings.Contains(string(encode(response)), protocol.TypeMatchAssignmentAck) { // in any form
					<-time.After(time.Second)
					delete(response, "result")
					response["error"] = object{"code": -32000, "message": "could not report the match"}
				}
			},
		}
		r := checkReferee(n, bad, "R-STA", "R-INV-01", "R-REP-01")
		assert.Equal(n, conformance.Pass, finding(n, r, "R-STA-01").Verdict, finding(n, r, "R-STA-01").Detail)
		assert.Contains(n, verdicts(r, conformance.Fail)["R-REP-01"], "no report came within")
		assert.Len(n, verdicts(r, conformance.Fail), 1)
	})
}

// A referee is busy with a match until it has reported it.
func TestRefereeThatIsBusyWithAnUnreportedMatchConductsMatches(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		var began atomic.Int64
		bad := &tamper{
			outgoing: never(protocol.ReportMatchResult.Name),
			response: answering(protocol.StartMatch.Name, func(params, response object) {
				if began.Add(1) > 2 {
					result(response, object{"status": "BUSY", "match_id": params["match_id"]})
				}
			}),
		}
		r := checkReferee(n, bad, "R-STA-01", "R-REP-01", "R-LOS")
		assert.Equal(n, conformance.Pass, finding(n, r, "R-STA-01").Verdict, finding(n, r, "R-STA-01").Detail)
		assert.Contains(n, verdicts(r, conformance.Fail), "R-REP-01")
	})
}

// The finding about calls names what the agent wants otherwise, here the sender.
func TestFormOfCallsNamesTheSender(t *testing.T) {
	t.Parallel()
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
			verdicts(r, conformance.Warn)["P-FRM-01"])
	})
}

func TestReasonOfAnIncompleteExamination(t *testing.T) {
	t.Parallel()
	const silent = "gave up after 6 calls without an answer; the last: no answer within 50ms"
	for name, test := range map[string]struct {
		ends bool
		want string
	}{
		"the agent hangs": {false, silent},
		"the agent ends":  {true, "the agent ended: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, func(n *network) {
				m := newModel(n)
				l := n.open()
				var calls atomic.Int64
				m.first = func(_ nethttp.ResponseWriter, r *nethttp.Request, _ []byte) bool {
					if calls.Add(1) < 10 {
						return false
					}
					if test.ends {
						_ = l.Close()
						panic(nethttp.ErrAbortHandler)
					}
					m.gone(r)
					return true
				}
				n.serveAt(l, m)
				r := n.check(conformance.Options{Role: conformance.Player, URL: urlOf(l), Patience: 50 * time.Millisecond})
				assert.True(n, strings.HasPrefix(r.Ended, test.want), r.Ended)
				assert.Equal(n, test.ends, strings.Contains(r.Ended, "connection refused"), r.Ended)
			})
		})
	}
}

// A report that goes to a path or a method of the referee's own is named where the report is missing.
func TestMissingReportNamesTheCallThatNoManagerReads(t *testing.T) {
	t.Parallel()
	for call, want := range map[string][2]string{
		"POST /report instead of POST /mcp": {"/report", `{"winner":"P01"}`},
		"the unknown method submit_result":  {"/mcp", `{"jsonrpc":"2.0","id":1,"method":"submit_result","params":{}}`},
	} {
		inVirtualTime(t, func(n *network) {
			l := n.open()
			bad := &tamper{outgoing: func(method string, _ object) bool {
				if method == protocol.ReportMatchResult.Name {
					post(n, l, want[0], want[1])
				}
				return method != protocol.ReportMatchResult.Name
			}}
			r := n.check(conformance.Options{
				Role: conformance.Referee, URL: ownReferee(n, l, 1, bad), Listener: l, Selection: conformance.Selection{Only: []string{"R-REP-01", "R-FRM-03"}},
			})
			assert.Contains(n, verdicts(r, conformance.Fail)["R-REP-01"], "; it calls "+call)
			assert.Equal(n, call, verdicts(r, conformance.Warn)["R-FRM-03"])
		})
	}
}

// post sends a body to a path of the kit's manager, and returns the status of the answer.
func post(n *network, manager net.Listener, path, body string) int {
	n.Helper()
	q, err := nethttp.NewRequestWithContext(n.Context(), nethttp.MethodPost, "http://"+manager.Addr().String()+path, strings.NewReader(body))
	require.NoError(n, err)
	r, err := n.client().Do(q)
	require.NoError(n, err)
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode
}

// The pairs of nearly all matches of the kit are the same: the dialect finds the match of a report
// without match_id only if it knows which reports were accepted.
func TestReportsWithoutMatchCount(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		l := n.open()
		var told sync.Map
		bad := &tamper{outgoing: func(method string, params object) bool {
			if method != protocol.ReportMatchResult.Name {
				return true
			}
			_, again := told.LoadOrStore(params["match_id"], true)
			for _, name := range []string{"match_id", "round_id", "league_id", "game_type", "sender"} {
				delete(params, name)
			}
			return !again
		}}
		requirePasses(n, n.check(conformance.Options{
			Role: conformance.Referee, URL: ownReferee(n, l, 2, bad), Listener: l,
			Selection: conformance.Selection{Only: []string{"R-MSG-01", "R-STA", "R-REP-01", "R-REP-08", "R-LOS"}},
		}))
	})
}

// A referee that has reported a match, and does not report it again, has reported it.
func TestReportThatIsNotRepeatedIsAReport(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		var told sync.Map
		r := checkReferee(n, &tamper{outgoing: func(method string, params object) bool {
			if method != protocol.ReportMatchResult.Name {
				return true
			}
			_, again := told.LoadOrStore(params["match_id"], true)
			return !again
		}}, "R-REP-01", "R-REP-07")
		assert.Equal(n, conformance.Pass, finding(n, r, "R-REP-01").Verdict, finding(n, r, "R-REP-01").Detail)
		assert.Contains(n, verdicts(r, conformance.Warn)["R-REP-07"], "was not sent again")
	})
}

// A referee that counts "maybe" as a choice, and does not ask again, shows the choice that the player made.
func TestChoiceThatIsNotAskedForAgainIsNoWrongResult(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		r := checkReferee(n, &tamper{
			request: func(method string, params object) {
				if p := inner(params, "retry_policy"); method == protocol.StartMatch.Name && p != nil {
					p["max_retries"] = 0
				}
			},
			outgoing: instead(protocol.NotifyMatchResult.Name, func(params object) {
				if over := inner(params, "game_result"); over["status"] == protocol.StatusTechnicalLoss {
					over["status"], over["winner_player_id"], over["drawn_number"], over["number_parity"] = "WIN", "P02", 4, "even"
					over["choices"] = object{"P01": "maybe", "P02": "even"}
				}
			}),
		}, "R-OVR-03", "R-OVR-04", "R-OVR-05", "R-ERR-06")
		assert.Empty(n, verdicts(r, conformance.Fail))
		assert.Contains(n, verdicts(r, conformance.Warn)["R-ERR-06"], "it was called once")
	})
}
