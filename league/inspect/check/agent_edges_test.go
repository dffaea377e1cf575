package check_test

import (
	"context"
	"errors"
	"maps"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	conformance "evenodd/league/inspect/check"
)

func roleRequirement(role string) string {
	return map[string]string{conformance.Manager: "M-HTTP-01", conformance.Referee: "R-HTTP-01"}[role]
}

func TestManagerOrRefereeThatCannotBeReachedFails(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		for _, role := range []string{conformance.Manager, conformance.Referee} {
			report := n.check(conformance.Options{Role: role, URL: n.closedPort(), Listener: n.open()})
			assert.False(n, report.Conforms())
			assert.Contains(n, verdicts(report, conformance.Fail)[roleRequirement(role)], "refused")
			assert.Len(n, verdicts(report, conformance.Fail, conformance.Skipped), len(conformance.Catalogue(role)))
		}
	})
}

func TestManagerOrRefereeThatHangsFails(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		over := make(chan struct{})
		defer close(over)
		hanging := n.serve(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
			select {
			case <-r.Context().Done():
			case <-over:
			}
		}))
		for _, role := range []string{conformance.Manager, conformance.Referee} {
			report := n.check(conformance.Options{Role: role, URL: hanging, Listener: n.open()})
			assert.False(n, report.Conforms())
			assert.Less(n, report.TookMS, time.Minute.Milliseconds())
			assert.Contains(n, verdicts(report, conformance.Fail)[roleRequirement(role)], "no answer within")
		}
	})
}

func TestManagerWhoseLeagueRunsIsGivenUp(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 2, 1, nil)
		play := func() *conformance.Report {
			return n.check(conformance.Options{
				Role: conformance.Manager, URL: url, Listener: n.open(), Players: 2, Selection: conformance.Selection{Level: conformance.Must},
			})
		}
		first := play()
		require.Empty(n, verdicts(first, conformance.Fail))
		require.True(n, first.Conforms())
		second := play()
		assert.Contains(n, verdicts(second, conformance.Fail)["M-REG-01"], "REJECTED")
		assert.Contains(n, verdicts(second, conformance.Skipped)["M-RUN-01"], "fresh league")
	})
}

func TestManagerThatWaitsForMorePlayersDoesNotConform(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 6, 1, nil)
		report := n.check(conformance.Options{
			Role: conformance.Manager, URL: url, Listener: n.open(), Wait: 200 * time.Millisecond, Selection: conformance.Selection{Level: conformance.Must},
		})
		assert.Empty(n, verdicts(report, conformance.Fail))
		assert.Contains(n, verdicts(report, conformance.Skipped)["M-RUN-01"], "4 players and 1 referees")
		assert.True(n, finding(n, report, "M-RUN-01").CutOff)
		assert.Contains(n, report.Ended, "the league did not begin: no round and no match within 200ms of 4 players")
		assert.False(n, report.Conforms(), "a league that never begins has not shown that it is one")
	})
}

func TestAgentInTheOtherRoleIsNamed(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		report := examine(n, newModel(n), func(o *conformance.Options) { o.Role = conformance.Referee })
		const want = "it registered as a player, not as a referee: examine it with 'evenodd check player'"
		assert.Equal(n, want, finding(n, report, "R-REG-10").Detail)
		assert.Equal(n, want, finding(n, report, "R-INV-01").Detail)

		manager := n.open()
		report = n.check(conformance.Options{Role: conformance.Player, URL: ownReferee(n, manager, 1, nil), Listener: manager, Wait: time.Minute})
		assert.Equal(n, "it registered as a referee, not as a player: examine it with 'evenodd check referee'", finding(n, report, "P-REG-01").Detail)
	})
}

func TestRefereeThatDoesNotRegisterFailsOneRequirement(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		elsewhere := n.open()
		require.NoError(n, elsewhere.Close())
		report := n.check(conformance.Options{
			Role: conformance.Referee, URL: ownReferee(n, elsewhere, 1, nil), Listener: n.open(), Wait: 100 * time.Millisecond,
		})
		assert.Contains(n, verdicts(report, conformance.Fail)["R-REG-10"], "did not register")
		assert.Contains(n, verdicts(report, conformance.Skipped)["R-INV-01"], "tell it that its manager is")
	})
}

// A referee that registers at a path of its own gets the answer of a manager, and the finding names the path.
func TestRefereeThatRegistersAtAnotherPathFails(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		manager := n.open()
		answered := make(chan int, 1)
		go func() {
			q, err := nethttp.NewRequestWithContext(n.Context(), nethttp.MethodPost, "http://"+manager.Addr().String()+"/register_referee", strings.NewReader("{}"))
			assert.NoError(n, err)
			r, err := n.client().Do(q)
			if assert.NoError(n, err) {
				answered <- r.StatusCode
				_ = r.Body.Close()
			}
		}()
		report := n.check(conformance.Options{
			Role: conformance.Referee, URL: n.serve(nethttp.NotFoundHandler()), Listener: manager, Wait: time.Second,
			Selection: conformance.Selection{Only: []string{"R-REG-10", "R-REG-01", "R-FRM-03"}},
		})
		assert.Equal(n, nethttp.StatusNotFound, <-answered)
		assert.Contains(n, verdicts(report, conformance.Fail)["R-REG-10"], "did not register within 1s")
		for _, id := range []string{"R-REG-10", "R-REG-01", "R-FRM-03"} {
			assert.Contains(n, finding(n, report, id).Detail, "POST /register_referee instead of POST /mcp")
		}
	})
}

func TestRequirementsThatNeedNoListenerPassWithoutOne(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 4, 1, nil)
		report := n.check(conformance.Options{Role: conformance.Manager, URL: url})
		assert.Empty(n, verdicts(report, conformance.Fail, conformance.Warn))
		assert.Contains(n, verdicts(report, conformance.Pass), "M-RPC-09")
		assert.Contains(n, verdicts(report, conformance.Skipped)["M-REG-01"], "no listener")
	})
}

func TestRefereeThatTheBudgetCutsOffDoesNotFail(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		l := n.open()
		report := n.check(conformance.Options{
			Role: conformance.Referee, URL: ownReferee(n, l, 1, nil), Listener: l, Budget: 700 * time.Millisecond,
		})
		assert.Empty(n, verdicts(report, conformance.Fail))
		assert.Less(n, report.TookMS, (10 * time.Second).Milliseconds())
	})
}

func TestExaminationWithoutPortsEndsEarly(t *testing.T) {
	t.Parallel()
	for _, role := range []string{conformance.Referee, conformance.Manager} {
		t.Run(role, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				l := n.open()
				var url string
				if role == conformance.Manager {
					url, _ = ownManager(n, 4, 1, nil)
				} else {
					url = ownReferee(n, l, 4, nil)
				}
				report, err := conformance.Check(n.Context(), conformance.Options{
					Role: role, URL: url, Listener: l, Dial: n.dial,
					Listen: func(context.Context, string, string) (net.Listener, error) { return nil, errors.New("no more ports") },
				})
				require.NoError(n, err)
				assert.Empty(n, verdicts(report, conformance.Fail))
				assert.Contains(n, slices.Collect(maps.Values(verdicts(report, conformance.Skipped))), "no port for an agent of the kit: no more ports")
				assert.False(n, report.Conforms())
				assert.Less(n, report.TookMS, (10 * time.Second).Milliseconds())
			})
		})
	}
}
