package check_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
)

func TestAgentThatNeverListensIsNotExamined(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		for _, role := range []string{check.Player, check.Manager, check.Referee} {
			began, url := time.Now(), n.closedPort()
			_, err := check.Check(n.Context(), check.Options{
				Role: role, URL: url, Listener: n.open(), Wait: time.Minute, Dial: n.dial,
			})
			assert.ErrorContains(n, err, "no server listens at "+url)
			assert.ErrorContains(n, err, "connection refused")
			assert.Equal(n, time.Minute, time.Since(began))
		}
	})
}

// An agent may register before it listens: the kit serves the registration, and waits for the agent.
func TestAgentThatListensAfterItsRegistrationIsExamined(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 4, 1, nil)
		report, err := check.Check(n.Context(), check.Options{
			Role: check.Manager, URL: url, Listener: n.open(), Dial: n.dial,
			Listen: func(context.Context, string, string) (net.Listener, error) { return nil, errors.New("no more ports") },
		})
		require.NoError(n, err)
		assert.Empty(n, verdicts(report, check.Fail))
		assert.Equal(n, "no port for an agent of the kit: no more ports", report.Ended)
		assert.False(n, report.Conforms())
	})
}
