package simulation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
)

// A league on a disk with faults resumes after each crash, and has the results of the league without them.
func TestFaultsOfTheDiskChangeNoResult(t *testing.T) {
	first, count := max(*swarmSeed, 1), uint64(12)
	if leaguetest.All() {
		count = 2000
	}
	injected := map[string]int{}
	for seed := first; seed < first+count; seed++ {
		l := leagueOf(seed)
		synctest.Test(t, func(t *testing.T) {
			l.Faults = l.withoutDisk()
			o := l.options()
			want, err := simulation.Run(t.Context(), o)
			require.NoError(t, err, l.again())
			l.Faults = append(l.Faults, "disk=0.05")
			o = l.options()
			got, err := simulation.Run(t.Context(), o)
			require.NoError(t, err, l.again())
			require.Equal(t, outputOf(t, want), outputOf(t, got), l.again())
			for kind, n := range got.Disk.Injected() {
				injected[kind] += n
			}
			report, err := audit.Run(got.Folder(), audit.Options{Games: o.Games})
			require.NoError(t, err, l.again())
			for _, audited := range report.Leagues {
				require.Empty(t, audited.Findings, l.again())
			}
		})
	}
	for _, kind := range []string{"failed sync", "slow sync", "full disk", "read error", "flipped bit", "power cut", "kill"} {
		assert.Positive(t, injected[kind], kind)
	}
}

// outputOf is what the output of a league has of its matches and its table.
func outputOf(t *testing.T, r *simulation.Result) string {
	t.Helper()
	var text strings.Builder
	lines := json.NewEncoder(&text)
	for _, m := range matchesOf(r) {
		require.NoError(t, lines.Encode([]any{
			m.MatchID, m.RoundID, m.PlayerAID, m.PlayerBID, m.Status, m.WinnerPlayerID, m.DrawnNumber, m.Choices, m.Reason, m.Faults,
			m.Fallbacks,
		}))
	}
	for _, p := range r.Players {
		require.NoError(t, lines.Encode(p))
	}
	return text.String()
}
