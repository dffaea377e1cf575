package check_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"evenodd/league/inspect/check"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// alone has the kit examine a model that registers nowhere.
func alone(n *network, m *model, options ...func(*check.Options)) *check.Report {
	n.Helper()
	o := check.Options{Role: check.Player, URL: n.serve(m)}
	for _, option := range options {
		option(&o)
	}
	return n.check(o)
}

func TestPlayerThatRegistersBeforeItListensFailsOneRequirement(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		manager, url := n.open(), n.closedPort()
		registered := make(chan object, 1)
		go func() { registered <- newModel(n).register(n, urlOf(manager), url) }()
		r := n.check(check.Options{Role: check.Player, URL: url, Listener: manager, Wait: time.Minute})
		<-registered
		assert.False(n, r.Conforms())
		fails := verdicts(r, check.Fail)
		assert.Regexp(n, "it registered, and did not answer calls then: .*connection refused", fails["P-HTTP-01"])
		assert.Len(n, fails, 1)
		assert.Contains(n, finding(n, r, "P-HTTP-01").Hint, "Listen before you register")
	})
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
		assert.Empty(n, verdicts(r, check.Fail, check.Warn))
		assert.Contains(n, finding(n, r, "P-REG-01").Detail, "did not register with the manager of this examination within 1ns")
		assert.Contains(n, finding(n, r, "P-NOT-04").Detail, "must not end its league")
		assert.False(n, ended.Load())

		r = examine(n, m, func(o *check.Options) { o.Selection.Only = []string{"P-REG", "P-NOT-01"} })
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
		assert.False(n, ended.Load(), "the end of the league is not selected")
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
		r := n.check(check.Options{Role: check.Player, URL: url, Listener: manager, Wait: time.Minute})
		assert.Equal(n, "it was ACCEPTED, and registered 2 times", verdicts(r, check.Warn)["P-REG-09"])
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
		r := examine(n, m, func(o *check.Options) { o.URL = strings.Replace(o.URL, "localhost", "127.0.0.1", 1) })
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
	})
}

func TestReportsShowNoTokens(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		const token = "secret-of-a-player"
		m.amend = func(_ string, _, result object) {
			result["auth_token"], result["content"] = token, `{"AUTH_TOKEN": "`+token+`"}` // as in the result of a tool
			result["conversation_id"] = "open sesame"
			delete(result, "protocol")
		}
		r := alone(n, m, func(o *check.Options) { o.Admin = "sesame" })
		assert.Contains(n, finding(n, r, "P-ENV-06").Detail, `conversation_id is "open ***"`)
		shown := finding(n, r, "P-ENV-01").Exchanges[0].Response
		assert.Contains(n, shown, `"auth_token":"***"`)
		assert.NotContains(n, string(marshal(r)), token)
		assert.NotContains(n, string(marshal(r)), "sesame")
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
		r := alone(n, m, func(o *check.Options) { o.Budget = 300 * time.Millisecond })
		assert.Empty(n, verdicts(r, check.Fail), "what had not its time has not failed")
		assert.Contains(n, finding(n, r, "P-STA-02").Detail, "the time of the examination was over")
		assert.Less(n, r.TookMS, int64(5000))
	})
}

func TestCanceledExaminationReturnsTheContextError(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		ctx, cancel := context.WithCancel(n.Context())
		cancel()
		for _, role := range []string{check.Player, check.Referee, check.Manager} {
			_, err := check.Check(ctx, check.Options{Role: role, URL: "http://localhost:1/mcp", Listener: n.open()})
			assert.ErrorIs(n, err, context.Canceled)
		}
	})
}

func TestRequirementThatIsSelectedAlonePasses(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		for _, id := range []string{"P-CHO-03", "P-INV-07", "P-LOAD-02", "P-STA-02", "P-REG-01", "P-NOT-04", "P-LAT-03"} {
			r := examine(n, newModel(n), func(o *check.Options) { o.Selection.Only = []string{id} })
			assert.Len(n, r.Findings, 1)
			assert.Equal(n, check.Pass, finding(n, r, id).Verdict, finding(n, r, id).Detail)
			assert.True(n, r.Conforms())
		}
		for _, id := range []string{"R-REG-06", "R-RPC-08", "R-STA-04", "R-INV-01", "R-LOS-03", "R-OVR-04", "R-ERR-06", "R-ERR-08", "R-END-01"} {
			l := n.open()
			r := n.check(check.Options{
				Role: check.Referee, URL: ownReferee(n, l, 4, nil), Listener: l, Selection: check.Selection{Only: []string{id}},
			})
			assert.Equal(n, check.Pass, finding(n, r, id).Verdict, finding(n, r, id).Detail)
		}
	})
}
