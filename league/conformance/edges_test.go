package conformance_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/league/conformance"
)

func TestMain(m *testing.M) {
	// An examination waits more than it works; as many at once as there are
	// processors would leave those idle. The command line may say otherwise.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	// A server waits half a second before it closes a connection on which too much
	// came, so that its answer is read.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// alone has the kit examine a model that registers nowhere.
func alone(t *testing.T, m *model, options ...func(*conformance.Options)) *conformance.Report {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	o := conformance.Options{Role: conformance.Player, URL: server.URL + "/mcp"}
	for _, option := range options {
		option(&o)
	}
	r, err := conformance.Check(t.Context(), o)
	require.NoError(t, err)
	return r
}

func TestNobodyListens(t *testing.T) {
	door := openPort(t)
	url := at(door)
	require.NoError(t, door.Close())
	r, err := conformance.Check(t.Context(), conformance.Options{Role: conformance.Player, URL: url})
	require.NoError(t, err)
	assert.False(t, r.Conforms())
	assert.Contains(t, verdicts(r, conformance.Fail)["P-HTTP-01"], "connection refused")
	assert.Len(t, verdicts(r, conformance.Fail), 1)
	assert.Equal(t, "the agent cannot be reached", finding(t, r, "P-CHO-03").Detail)
}

// A player that registers nowhere is examined all the same, but nobody ends its
// league.
func TestUnregistered(t *testing.T) {
	m := newModel(t)
	var ended atomic.Bool
	m.amend = func(messageType string, _, _ object) {
		if messageType == "LEAGUE_COMPLETED" {
			ended.Store(true)
		}
	}
	r := alone(t, m)
	assert.True(t, r.Conforms())
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn))
	assert.Equal(t, "no manager was there to register with", finding(t, r, "P-REG-01").Detail)
	assert.Contains(t, finding(t, r, "P-NOT-04").Detail, "not ours to end")
	assert.False(t, ended.Load())

	r = alone(t, newModel(t), func(o *conformance.Options) { o.Listener, o.Wait = openPort(t), time.Nanosecond })
	assert.Contains(t, finding(t, r, "P-REG-01").Detail, "did not register with the manager of this examination within 1ns")
}

// Whoever leaves the end out goes on with the agent.
func TestTheEndCanBeLeftOut(t *testing.T) {
	m := newModel(t)
	var ended atomic.Bool
	m.amend = func(messageType string, _, _ object) { ended.Store(ended.Load() || messageType == "LEAGUE_COMPLETED") }
	r := examine(t, m, func(o *conformance.Options) { o.Selection.Only = []string{"P-REG", "P-NOT-01"} })
	assert.Len(t, r.Findings, 10)
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
	assert.False(t, ended.Load())
}

// A player of another league refuses strangers, which is right; it cannot be
// examined there.
func TestMemberOfAnotherLeague(t *testing.T) {
	m := newModel(t)
	refuses(4001, "GAME_INVITATION")(m)
	r := alone(t, m)
	assert.Contains(t, verdicts(r, conformance.Fail)["P-INV-01"], "it plays only in the league it is registered in")
	assert.Len(t, verdicts(r, conformance.Fail), 1)
	assert.Contains(t, finding(t, r, "P-CHO-01").Detail, "let it register with this examination")
}

func TestRegistersTwice(t *testing.T) {
	m := newModel(t)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	desk := openPort(t)
	var again sync.Once
	url := server.URL + "/mcp"
	m.call = func(string, object) (object, *refusal, bool) {
		again.Do(func() { m.register(t, at(desk), url) })
		return nil, nil, false
	}
	registered := make(chan object, 1)
	go func() { registered <- m.register(t, at(desk), url) }()
	r, err := conformance.Check(t.Context(), conformance.Options{Role: conformance.Player, URL: url, Listener: desk, Wait: time.Minute})
	require.NoError(t, err)
	assert.Equal(t, "it was ACCEPTED, and registered 2 times", verdicts(r, conformance.Warn)["P-REG-09"])
	result := (<-registered)["result"].(object)
	assert.Equal(t, "P01", result["player_id"])
	assert.Equal(t, "conv-register-1", result["conversation_id"])
	assert.NotContains(t, finding(t, r, "P-REG-09").Exchanges[0].Response, result["auth_token"])
}

// A player that asks for an id gets it, and may be called by another name of its
// host.
func TestKeepsTheIDItAsksFor(t *testing.T) {
	m := newModel(t)
	m.id = "P07"
	r := examine(t, m, func(o *conformance.Options) { o.URL = strings.Replace(o.URL, "127.0.0.1", "localhost", 1) })
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
}

// The token of a player that is in a league is in its replies.
func TestReportsShowNoTokens(t *testing.T) {
	m := newModel(t)
	const token = "secret-of-a-player"
	m.amend = func(_ string, _, result object) {
		result["auth_token"] = token
		delete(result, "protocol")
	}
	r := alone(t, m)
	shown := finding(t, r, "P-ENV-01").Exchanges[0].Response
	assert.Contains(t, shown, `"auth_token":"***"`)
	assert.NotContains(t, string(marshal(r)), token)
}

// An examination ends when its time is over, and says what it did not come to.
func TestBudget(t *testing.T) {
	m := newModel(t)
	var calls atomic.Int64
	m.first = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if calls.Add(1) > 20 {
			m.gone(r)
			return true
		}
		return false
	}
	r := alone(t, m, func(o *conformance.Options) { o.Budget = 300 * time.Millisecond })
	assert.Empty(t, verdicts(r, conformance.Fail), "what had not its time has not failed")
	assert.Contains(t, finding(t, r, "P-STA-02").Detail, "the time of the examination was over")
	assert.Less(t, r.TookMS, int64(5000))
}

// One that has all the time spent on waiting was not examined, and did nothing
// wrong.
func TestWaitingTakesTheBudget(t *testing.T) {
	r := alone(t, newModel(t), func(o *conformance.Options) {
		o.Listener, o.Wait, o.Budget = openPort(t), time.Minute, 10*time.Millisecond
	})
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn, conformance.Pass))
	assert.Equal(t, "the examination took all of its 10ms", finding(t, r, "P-INV-01").Detail)
	assert.False(t, r.Conforms())
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := conformance.Check(ctx, conformance.Options{Role: conformance.Player, URL: "http://localhost:1/mcp"})
	assert.ErrorIs(t, err, context.Canceled)
}

// A hanging player is given up soon: no more than six calls take their time.
func TestHangingTakesNoTime(t *testing.T) {
	m := newModel(t)
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
	r := alone(t, m, func(o *conformance.Options) { o.Patience = 50 * time.Millisecond })
	assert.LessOrEqual(t, calls.Load(), int64(8))
	assert.Contains(t, finding(t, r, "P-RPC-12").Detail, "6 calls in a row had no answer")
}

// What is asked for alone gets the same verdict, whatever has to come before it.
func TestRequirementsAlone(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"P-CHO-03", "P-INV-07", "P-LOAD-02", "P-STA-02", "P-REG-01", "P-NOT-04", "P-LAT-03"} {
		r := examine(t, newModel(t), func(o *conformance.Options) { o.Selection.Only = []string{id} })
		assert.Len(t, r.Findings, 1)
		assert.Equal(t, conformance.Pass, finding(t, r, id).Verdict, finding(t, r, id).Detail)
		assert.True(t, r.Conforms())
	}
	for _, id := range []string{"R-REG-06", "R-RPC-08", "R-STA-05", "R-INV-04", "R-CHO-07", "R-LOS-03", "R-OVR-04", "R-ERR-06", "R-ERR-08", "R-END-01"} {
		l := openPort(t)
		r, err := conformance.Check(t.Context(), conformance.Options{
			Role: conformance.Referee, URL: ourReferee(t, l, 4, nil), Listener: l, Selection: conformance.Selection{Only: []string{id}},
		})
		require.NoError(t, err)
		assert.Equal(t, conformance.Pass, finding(t, r, id).Verdict, finding(t, r, id).Detail)
		assert.Less(t, r.TookMS, int64(20_000))
	}
}
