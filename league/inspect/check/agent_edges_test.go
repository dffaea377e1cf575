package check_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
)

func TestAgentThatCannotBeReachedFailsOneRequirement(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		for role, id := range map[string]string{check.Player: "P-HTTP-01", check.Manager: "M-HTTP-01", check.Referee: "R-HTTP-01"} {
			report := n.check(check.Options{Role: role, URL: n.closedPort(), Listener: n.open(), Wait: time.Millisecond})
			assert.False(n, report.Conforms())
			assert.Contains(n, verdicts(report, check.Fail)[id], "connection refused")
			assert.Len(n, verdicts(report, check.Fail, check.Skipped), len(check.Catalogue(role)))
			assert.Equal(n, "the agent cannot be reached", finding(n, report, id[:1]+"-RPC-07").Detail)
		}
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
