package conformance_test

import (
	"context"
	nethttp "net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
)

// hanging is an agent that takes every call and answers none.
func hanging(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server.URL + "/mcp"
}

func roleRequirement(role string) string {
	return map[string]string{conformance.Manager: "M-HTTP-01", conformance.Referee: "R-HTTP-01"}[role]
}

func TestNobodyListensAtAManagerOrReferee(t *testing.T) {
	for _, role := range []string{conformance.Manager, conformance.Referee} {
		t.Run(role, func(t *testing.T) {
			closed := openPort(t)
			require.NoError(t, closed.Close())
			report, err := conformance.Check(t.Context(), conformance.Options{Role: role, URL: at(closed), Listener: openPort(t)})
			require.NoError(t, err)
			assert.False(t, report.Conforms())
			assert.Contains(t, verdicts(report, conformance.Fail)[roleRequirement(role)], "refused")
			for id, why := range verdicts(report, conformance.Skipped) {
				assert.Equal(t, "the agent cannot be reached", why, id)
			}
			assert.Len(t, verdicts(report, conformance.Fail, conformance.Skipped), len(conformance.Catalogue(role)))
		})
	}
}

func TestHangingManagerAndReferee(t *testing.T) {
	for _, role := range []string{conformance.Manager, conformance.Referee} {
		t.Run(role, func(t *testing.T) {
			began := time.Now()
			report, err := conformance.Check(t.Context(), conformance.Options{
				Role: role, URL: hanging(t), Listener: openPort(t), Patience: 100 * time.Millisecond, Budget: 5 * time.Second, Wait: 100 * time.Millisecond,
			})
			require.NoError(t, err)
			assert.False(t, report.Conforms())
			assert.Less(t, time.Since(began), 10*time.Second)
			assert.Contains(t, verdicts(report, conformance.Fail)[roleRequirement(role)], "no answer within")
		})
	}
}

// A league that has begun lets nobody in, and the examination says what it wants.
func TestManagerWhoseLeagueRuns(t *testing.T) {
	url, _ := ourManager(t, 2, 1, nil)
	play := func() *conformance.Report {
		report, err := conformance.Check(t.Context(), conformance.Options{
			Role: conformance.Manager, URL: url, Listener: openPort(t), Players: 2, Selection: conformance.Selection{Level: conformance.Must},
		})
		require.NoError(t, err)
		return report
	}
	first := play()
	require.Empty(t, verdicts(first, conformance.Fail))
	require.True(t, first.Conforms())
	second := play()
	assert.Contains(t, verdicts(second, conformance.Fail)["M-REG-01"], "REJECTED")
	assert.Contains(t, verdicts(second, conformance.Skipped)["M-RUN-01"], "fresh league")
}

func TestManagerThatWaitsForMore(t *testing.T) {
	url, _ := ourManager(t, 6, 1, nil)
	report, err := conformance.Check(t.Context(), conformance.Options{
		Role: conformance.Manager, URL: url, Listener: openPort(t), Wait: 200 * time.Millisecond, Selection: conformance.Selection{Level: conformance.Must},
	})
	require.NoError(t, err)
	assert.Empty(t, verdicts(report, conformance.Fail))
	assert.Contains(t, verdicts(report, conformance.Skipped)["M-RUN-01"], "4 players and 1 referees")
	assert.True(t, finding(t, report, "M-RUN-01").CutOff)
	assert.False(t, report.Conforms(), "a league that never begins has not shown that it is one")
}

func TestRefereeThatDoesNotRegister(t *testing.T) {
	elsewhere := openPort(t)
	require.NoError(t, elsewhere.Close())
	report, err := conformance.Check(t.Context(), conformance.Options{
		Role: conformance.Referee, URL: ourReferee(t, elsewhere, 1, nil), Listener: openPort(t), Wait: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	assert.Contains(t, verdicts(report, conformance.Fail)["R-REG-10"], "did not register")
	assert.Contains(t, verdicts(report, conformance.Skipped)["R-INV-01"], "tell it that its manager is")
}

// Without a place to be called at, what needs none is examined all the same.
func TestWithoutAListener(t *testing.T) {
	url, _ := ourManager(t, 4, 1, nil)
	report, err := conformance.Check(t.Context(), conformance.Options{Role: conformance.Manager, URL: url})
	require.NoError(t, err)
	assert.Empty(t, verdicts(report, conformance.Fail, conformance.Warn))
	assert.Contains(t, verdicts(report, conformance.Pass), "M-RPC-09")
	assert.Contains(t, verdicts(report, conformance.Skipped)["M-REG-01"], "no listener")
}

// An examination that runs out of time says so, and is over.
func TestBudgetOfAReferee(t *testing.T) {
	l := openPort(t)
	report, err := conformance.Check(t.Context(), conformance.Options{
		Role: conformance.Referee, URL: ourReferee(t, l, 1, nil), Listener: l, Budget: 700 * time.Millisecond,
	})
	require.NoError(t, err)
	assert.Empty(t, verdicts(report, conformance.Fail))
	assert.Less(t, report.TookMS, (10 * time.Second).Milliseconds())
}

func TestCanceledExaminations(t *testing.T) {
	for _, role := range []string{conformance.Manager, conformance.Referee} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := conformance.Check(ctx, conformance.Options{Role: role, URL: "http://localhost:1/mcp", Listener: openPort(t)})
		assert.ErrorIs(t, err, context.Canceled)
	}
}
