package check_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/league/inspect/check"
	"evenodd/league/program"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules/evenodd"
)

func TestMain(m *testing.M) {
	if code, asked := program.Supervise(os.Args[1:], os.Environ()); asked {
		os.Exit(code)
	}
	leaguetest.UseMemory(os.Setenv)
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
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.id = "P07"
		r := examine(n, m, func(o *check.Options) { o.URL = strings.Replace(o.URL, "localhost", "127.0.0.1", 1) })
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
	})
}

func TestReportsShowNoTokens(t *testing.T) {
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
	inVirtualTime(t, func(n *network) {
		ctx, cancel := context.WithCancel(n.Context())
		cancel()
		for _, role := range []string{check.Player, check.Referee, check.Manager} {
			_, err := check.Check(ctx, check.Options{Role: role, URL: "http://localhost:1/mcp", Game: evenodd.Game{}, Listener: n.open()})
			assert.ErrorIs(n, err, context.Canceled)
		}
	})
}

func TestRequirementThatIsSelectedAlonePasses(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		for _, id := range []string{"P-CHO-03", "P-INV-07", "P-LOAD-02", "P-STA-02", "P-REG-01", "P-NOT-04", "P-LAT-03"} {
			r := examine(n, newModel(n), func(o *check.Options) { o.Selection.Only = []string{id} })
			assert.Len(n, r.Findings, 1)
			assert.Equal(n, check.Pass, finding(n, r, id).Verdict, finding(n, r, id).Detail)
			assert.True(n, r.Conforms())
		}
		for _, id := range []string{"R-REG-06", "R-RPC-08", "R-STA-04", "R-INV-01", "R-LOS-03", "R-OVR-04", "R-ERR-06", "R-ERR-08", "R-END-01"} {
			r := checkReferee(n, nil, id)
			assert.Equal(n, check.Pass, finding(n, r, id).Verdict, finding(n, r, id).Detail)
		}
	})
}

// serveConnections handles each connection in its own way.
func serveConnections(n *network, do func(net.Conn, <-chan struct{})) (url string) {
	n.Helper()
	l := n.open()
	over := make(chan struct{})
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				do(c, over)
			})
		}
	})
	n.Cleanup(func() {
		close(over)
		_ = l.Close()
		serving.Wait()
	})
	return urlOf(l)
}

// request reads a request, as much of it as comes at once.
func request(c net.Conn) bool {
	_, err := c.Read(make([]byte, 64<<10))
	return err == nil
}

// endless writes the same until the other has enough.
func endless(c net.Conn, head, again string) {
	_, err := io.WriteString(c, head)
	for err == nil {
		_, err = io.WriteString(c, again)
	}
}

func TestExaminationEndsInItsBudgetWhateverTheConnectionDoes(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, do := range map[string]func(net.Conn, <-chan struct{}){
		"says nothing": func(_ net.Conn, over <-chan struct{}) { <-over },
		"never stops talking": func(c net.Conn, _ <-chan struct{}) {
			if request(c) {
				endless(c, ok+"Connection: close\r\n\r\n", strings.Repeat("x", 1<<20))
			}
		},
		"hangs up": func(c net.Conn, _ <-chan struct{}) { request(c) },
	} {
		for _, role := range []string{check.Player, check.Referee, check.Manager} {
			t.Run(name+"/"+role, func(t *testing.T) {
				inVirtualTime(t, func(n *network) {
					began := time.Now()
					r := n.check(check.Options{Role: role, URL: serveConnections(n, do), Listener: n.open()})
					assert.False(n, r.Conforms())
					assert.Len(n, r.Findings, len(check.Catalogue(role)))
					assert.LessOrEqual(n, time.Since(began), 3*time.Minute+time.Second, "the budget")
				})
			})
		}
	}
}

func TestAgentThatNeverListensIsNotExamined(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		for _, role := range []string{check.Player, check.Manager, check.Referee} {
			began, url := time.Now(), n.closedPort()
			_, err := check.Check(n.Context(), check.Options{
				Role: role, URL: url, Game: evenodd.Game{}, Listener: n.open(), Wait: time.Minute, Dial: n.dial,
			})
			assert.ErrorContains(n, err, "no server listens at "+url)
			assert.ErrorContains(n, err, "connection refused")
			assert.Equal(n, time.Minute, time.Since(began))
		}
	})
}

// An agent may register before it listens: the kit serves the registration, and waits for the agent.
func TestAgentThatListensAfterItsRegistrationIsExamined(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m, manager, url := newModel(n), n.open(), n.closedPort()
		go func() {
			m.register(n, urlOf(manager), url)
			time.Sleep(5 * time.Second)
			n.serveAt(n.pipes.Listen(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")), m)
		}()
		r := n.check(check.Options{Role: check.Player, URL: url, Listener: manager, Wait: time.Minute})
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
	})
}

func TestManagerWhoseLeagueRunsIsGivenUp(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 2, 1, nil)
		play := func() *check.Report {
			return n.check(check.Options{
				Role: check.Manager, URL: url, Listener: n.open(), Players: 2, Selection: check.Selection{Level: check.Must},
			})
		}
		first := play()
		require.Empty(n, verdicts(first, check.Fail))
		require.True(n, first.Conforms())
		second := play()
		assert.Contains(n, verdicts(second, check.Fail)["M-REG-01"], "REJECTED")
		assert.Contains(n, verdicts(second, check.Skipped)["M-RUN-01"], "fresh league")
	})
}

// Some managers assign matches by the announcement of a round alone.
func TestManagerThatAssignsMatchesByAnnouncementsConforms(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 4, 1, &tamper{announce: true, response: func(_ string, _, response object) {
			delete(inner(response, "result"), "manager_auth") // the manager of others
		}})
		report := n.check(check.Options{Role: check.Manager, URL: url, Listener: n.open(),
			Selection: check.Selection{Only: []string{"M-FRM", "M-ASG", "M-RPT", "M-STA", "M-END"}}})
		assert.Equal(n, map[string]string{"M-FRM-03": "notify_round instead of start_match"},
			verdicts(report, check.Fail, check.Warn, check.Skipped))
	})
}

func TestManagerThatWaitsForMorePlayersDoesNotConform(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 6, 1, nil)
		report := n.check(check.Options{
			Role: check.Manager, URL: url, Listener: n.open(), Wait: 200 * time.Millisecond, Selection: check.Selection{Level: check.Must},
		})
		assert.Empty(n, verdicts(report, check.Fail))
		assert.Contains(n, verdicts(report, check.Skipped)["M-RUN-01"], "4 players and 1 referees")
		assert.True(n, finding(n, report, "M-RUN-01").CutOff)
		assert.Contains(n, report.Ended, "the league did not begin: no round and no match within 200ms of 4 players")
		assert.False(n, report.Conforms(), "a league that never begins has not shown that it is one")
	})
}

func TestExaminationWithoutPortsEndsEarly(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 4, 1, nil)
		report, err := check.Check(n.Context(), check.Options{
			Role: check.Manager, URL: url, Game: evenodd.Game{}, Listener: n.open(), Dial: n.dial,
			Listen: func(context.Context, string, string) (net.Listener, error) { return nil, errors.New("no more ports") },
		})
		require.NoError(n, err)
		assert.Empty(n, verdicts(report, check.Fail))
		assert.Equal(n, "no port for an agent of the kit: no more ports", report.Ended)
		assert.False(n, report.Conforms())
	})
}
