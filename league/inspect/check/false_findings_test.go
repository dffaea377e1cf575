package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		assert.Contains(n, why.Detail, "invited nobody within 3s")
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
