package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/store"
)

// Earlier versions wrote distinct ranks of tied players. A league that shares ranks has none.
func TestDistinctRanksAreFoundInALeagueThatSharesRanks(t *testing.T) {
	t.Parallel()
	for name, shares := range map[string]bool{"shared ranks": true, "earlier version": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLeagueAs(t, shares)
			w.round(1)
			w.documents()
			require.Empty(t, listed(w.audit().Findings), "as the program writes it")

			path := w.dir.Standings(leagueID)
			d, err := store.Read[store.Standings](path)
			require.NoError(t, err)
			var tied []string
			for i := range d.Standings {
				r := &d.Standings[i]
				if r.Tied {
					tied = append(tied, r.PlayerID)
				}
				r.Rank, r.Tied, r.DecidedBy, r.TiebreakValues = i+1, false, "", nil
			}
			require.Len(t, tied, 4, "one winner and one loser in each match")
			require.NoError(t, store.Write(path, d))
			findings := w.audit().Findings
			if !shares {
				assert.Empty(t, listed(findings))
				return
			}
			require.Len(t, findings, len(tied), listed(findings))
			for i, f := range findings {
				assert.Equal(t, []string{audit.RuleStandings, tied[i]}, []string{f.Rule, f.AgentID}, listed(findings))
			}
		})
	}
}
