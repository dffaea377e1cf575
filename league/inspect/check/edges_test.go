package check_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	conformance "evenodd/league/inspect/check"
	"evenodd/league/protocol"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// alone has the kit examine a model that registers nowhere.
func alone(n *network, m *model, options ...func(*conformance.Options)) *conformance.Report {
	n.Helper()
	o := conformance.Options{Role: conformance.Player, URL: n.serve(m)}
	for _, option := range options {
		option(&o)
	}
	return n.check(o)
}

func TestPlayerThatCannotBeReachedFailsOneRequirement(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		r := n.check(conformance.Options{Role: conformance.Player, URL: n.closedPort()})
		assert.False(n, r.Conforms())
		assert.Contains(n, verdicts(r, conformance.Fail)["P-HTTP-01"], "connection refused")
		assert.Len(n, verdicts(r, conformance.Fail), 1)
		assert.Equal(n, "the agent cannot be reached", finding(n, r, "P-CHO-03").Detail)
	})
}

func TestPlayerThatAnswersNoInvitationIsSlowNotOutOfReach(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		taken(func(m *model, _ http.ResponseWriter, r *http.Request, body []byte) bool {
			if bytes.Contains(body, []byte("GAME_INVITATION")) {
				m.gone(r)
				return true
			}
			return false
		})(m)
		r := alone(n, m)
		assert.Contains(n, verdicts(r, conformance.Fail), "P-INV-06")
		assert.Equal(n, "the agent did not answer in time", finding(n, r, "P-CHO-03").Detail)
	})
}

func TestPlayerThatRegistersBeforeItListensFailsOneRequirement(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		manager, url := n.open(), n.closedPort()
		registered := make(chan object, 1)
		go func() { registered <- newModel(n).register(n, urlOf(manager), url) }()
		r := n.check(conformance.Options{Role: conformance.Player, URL: url, Listener: manager, Wait: time.Minute})
		<-registered
		assert.False(n, r.Conforms())
		fails := verdicts(r, conformance.Fail)
		assert.Regexp(n, "it registered, and did not answer calls then: .*connection refused", fails["P-HTTP-01"])
		assert.Len(n, fails, 1)
		assert.Contains(n, finding(n, r, "P-HTTP-01").Hint, "Listen before you register")
	})
}

func TestDelayOfNaglesAlgorithmIsExplained(t *testing.T) {
	t.Parallel()
	const advice = "set TCP_NODELAY"
	for delay, explained := range map[time.Duration]bool{44 * time.Millisecond: true, 10 * time.Millisecond: false} {
		inVirtualTime(t, func(n *network) {
			m := newModel(n)
			m.gate = func(*http.Request) func() {
				<-time.After(delay)
				return func() {}
			}
			r := alone(n, m)
			assert.Equal(n, explained, strings.Contains(finding(n, r, "P-LAT-03").Detail, advice), delay)
		})
	}
}

func TestPlayerThatDoesNotRegisterIsExaminedWithoutTheEndOfTheLeague(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var ended atomic.Bool
		m.amend = func(messageType string, _, _ object) {
			if messageType == "LEAGUE_COMPLETED" {
				ended.Store(true)
			}
		}
		r := alone(n, m)
		assert.True(n, r.Conforms())
		assert.Empty(n, verdicts(r, conformance.Fail, conformance.Warn))
		assert.Equal(n, "no manager was there to register with", finding(n, r, "P-REG-01").Detail)
		assert.Contains(n, finding(n, r, "P-NOT-04").Detail, "must not end its league")
		assert.False(n, ended.Load())

		r = alone(n, newModel(n), func(o *conformance.Options) { o.Listener, o.Wait = n.open(), time.Nanosecond })
		assert.Contains(n, finding(n, r, "P-REG-01").Detail, "did not register with the manager of this examination within 1ns")
	})
}

func TestLeagueDoesNotEndIfItsEndIsNotSelected(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var ended atomic.Bool
		m.amend = func(messageType string, _, _ object) { ended.Store(ended.Load() || messageType == "LEAGUE_COMPLETED") }
		r := examine(n, m, func(o *conformance.Options) { o.Selection.Only = []string{"P-REG", "P-NOT-01"} })
		assert.Len(n, r.Findings, 10)
		assert.Empty(n, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
		assert.False(n, ended.Load())
	})
}

func TestPlayerOfAnotherLeagueIsGivenUp(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		refuses(4001, "GAME_INVITATION")(m)
		r := alone(n, m)
		assert.Contains(n, verdicts(r, conformance.Fail)["P-INV-01"], "the agent plays only in the league that it is registered in")
		assert.Len(n, verdicts(r, conformance.Fail), 1)
		assert.Contains(n, finding(n, r, "P-CHO-01").Detail, "let it register with this examination")
	})
}

func TestPlayerThatRegistersTwiceGetsAWarning(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		manager := n.open()
		var again sync.Once
		url := n.serve(m)
		m.call = func(string, object) (object, *refusal, bool) {
			again.Do(func() { m.register(n, urlOf(manager), url) })
			return nil, nil, false
		}
		registered := make(chan object, 1)
		go func() { registered <- m.register(n, urlOf(manager), url) }()
		r := n.check(conformance.Options{Role: conformance.Player, URL: url, Listener: manager, Wait: time.Minute})
		assert.Equal(n, "it was ACCEPTED, and registered 2 times", verdicts(r, conformance.Warn)["P-REG-09"])
		result := (<-registered)["result"].(object)
		assert.Equal(n, "P01", result["player_id"])
		assert.Equal(n, "conv-register-1", result["conversation_id"])
		assert.NotContains(n, finding(n, r, "P-REG-09").Exchanges[0].Response, result["auth_token"])
	})
}

// The host of the contact_endpoint may differ from that of the URL.
func TestPlayerGetsTheIDThatItAsksFor(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.id = "P07"
		r := examine(n, m, func(o *conformance.Options) { o.URL = strings.Replace(o.URL, "localhost", "127.0.0.1", 1) })
		assert.Empty(n, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
	})
}

func TestReportsShowNoTokens(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		const token = "secret-of-a-player"
		m.amend = func(_ string, _, result object) {
			result["auth_token"] = token
			delete(result, "protocol")
		}
		r := alone(n, m)
		shown := finding(n, r, "P-ENV-01").Exchanges[0].Response
		assert.Contains(n, shown, `"auth_token":"***"`)
		assert.NotContains(n, string(marshal(r)), token)
	})
}

func TestRequirementsThatTheBudgetCutsOffDoNotFail(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var calls atomic.Int64
		m.first = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
			if calls.Add(1) > 20 {
				m.gone(r)
				return true
			}
			return false
		}
		r := alone(n, m, func(o *conformance.Options) { o.Budget = 300 * time.Millisecond })
		assert.Empty(n, verdicts(r, conformance.Fail), "what had not its time has not failed")
		assert.Contains(n, finding(n, r, "P-STA-02").Detail, "the time of the examination was over")
		assert.Less(n, r.TookMS, int64(5000))
	})
}

func TestExaminationWhoseBudgetEndsInTheWaitSkipsEverything(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		r := alone(n, newModel(n), func(o *conformance.Options) {
			o.Listener, o.Wait, o.Budget = n.open(), time.Minute, 10*time.Millisecond
		})
		assert.Empty(n, verdicts(r, conformance.Fail, conformance.Warn, conformance.Pass))
		assert.Equal(n, "the examination took all of its 10ms", finding(n, r, "P-INV-01").Detail)
		assert.False(n, r.Conforms())
	})
}

func TestCanceledExaminationReturnsTheContextError(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		ctx, cancel := context.WithCancel(n.Context())
		cancel()
		for _, role := range []string{conformance.Player, conformance.Referee, conformance.Manager} {
			_, err := conformance.Check(ctx, conformance.Options{Role: role, URL: "http://localhost:1/mcp", Listener: n.open()})
			assert.ErrorIs(n, err, context.Canceled)
		}
	})
}

func TestExceptionInAHandlerIsExplained(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var calls atomic.Int64
		m.first = func(http.ResponseWriter, *http.Request, []byte) bool {
			if calls.Add(1) > 1 {
				panic(http.ErrAbortHandler)
			}
			return false
		}
		r := alone(n, m, func(*conformance.Options) {})
		assert.Contains(n, finding(n, r, "P-RPC-12").Detail, "the last: "+protocol.ClosedUnanswered)
	})
}

func TestPlayerThatHangsIsGivenUpAfterSixCalls(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var calls atomic.Int64
		m.first = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if calls.Add(1) > 1 {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				m.gone(r)
				return true
			}
			return false
		}
		r := alone(n, m, func(o *conformance.Options) { o.Patience = 50 * time.Millisecond })
		assert.LessOrEqual(n, calls.Load(), int64(8))
		assert.Contains(n, finding(n, r, "P-RPC-12").Detail, "gave up after 6 calls without an answer")
	})
}

func TestRequirementThatIsSelectedAlonePasses(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		for _, id := range []string{"P-CHO-03", "P-INV-07", "P-LOAD-02", "P-STA-02", "P-REG-01", "P-NOT-04", "P-LAT-03"} {
			r := examine(n, newModel(n), func(o *conformance.Options) { o.Selection.Only = []string{id} })
			assert.Len(n, r.Findings, 1)
			assert.Equal(n, conformance.Pass, finding(n, r, id).Verdict, finding(n, r, id).Detail)
			assert.True(n, r.Conforms())
		}
		for _, id := range []string{"R-REG-06", "R-RPC-08", "R-STA-05", "R-INV-04", "R-CHO-07", "R-LOS-03", "R-OVR-04", "R-ERR-06", "R-ERR-08", "R-END-01"} {
			l := n.open()
			r := n.check(conformance.Options{
				Role: conformance.Referee, URL: ownReferee(n, l, 4, nil), Listener: l, Selection: conformance.Selection{Only: []string{id}},
			})
			assert.Equal(n, conformance.Pass, finding(n, r, id).Verdict, finding(n, r, id).Detail)
		}
	})
}
