package referee_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// A referee that dies in a match may get the same attempt again before the manager notices.
// It must draw as it committed.
func TestRestartedRefereeIsBoundByItsCommitment(t *testing.T) {
	for _, test := range []struct {
		name   string
		killed bool // it wrote nothing
	}{{"stopped", false}, {"killed", true}} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.Varies = true
				folder := leaguetest.TempFolder(t)
				manager := w.ScriptedManager()
				r := w.RefereeWithFiles("REF01", folder, leaguetest.WithRandomSecrets)
				w.Player("P01", leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)))
				w.Player("P02")
				before := w.HandOver(manager, r, "R1M1", 1)
				w.WaitUntil(1 * leaguetest.Second)
				r.StopReferee()
				w.WaitUntil(2 * leaguetest.Second)
				assert.Nil(t, leaguetest.ReadMatchFile(t, folder, leaguetest.AttemptFile(1)).Draw, "the nonce of an unfinished attempt stays secret")
				if test.killed {
					require.NoError(t, os.Remove(folder.Results(leaguetest.LeagueID, "REF01")))
				}

				r = w.RefereeWithFiles("REF01", folder, leaguetest.WithRandomSecrets)
				again := w.HandOver(manager, r, "R1M1", 1)
				assert.Equal(t, 1, again.Attempt)
				assert.Equal(t, before.DrawCommitment, again.DrawCommitment)
				w.WaitUntil(60 * leaguetest.Second)
				report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
				assert.Equal(t, before.DrawCommitment, report.Draw.Commitment)
				assert.NotEqual(t, before.DrawCommitment, w.HandOver(manager, r, "R1M2", 1).DrawCommitment)
			})
		})
	}
}
