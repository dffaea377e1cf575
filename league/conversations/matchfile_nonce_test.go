package conversations

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// A referee that dies in a match may be handed the same attempt again before the
// manager knows of its death, and finish it before it can be handed another: what
// it draws then must be what it had committed to.
func TestARefereeThatWasKilledInAMatchIsBoundByItsCommitment(t *testing.T) {
	for _, test := range []struct {
		name   string
		killed bool // and wrote nothing
	}{{"told to stop", false}, {"killed", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.varies = true
				folder := folderOf(t)
				boss := w.boss()
				r := w.writer("REF01", folder, byChance)
				w.player("P01", does(protocol.ChooseParity.Name, inTurn(silent, honestly)))
				w.player("P02")
				before := w.hand(boss, r, "R1M1", 1)
				w.at(1 * second)
				r.halt()
				w.at(2 * second)
				assert.Nil(t, matchFile(t, folder, attemptFile(1)).Draw, "nobody may know the nonce of an attempt that goes on")
				if test.killed {
					require.NoError(t, os.Remove(folder.Attempt(leagueID, "R1M1", 1, "REF01")))
				}

				r = w.writer("REF01", folder, byChance)
				again := w.hand(boss, r, "R1M1", 1)
				assert.Equal(t, 1, again.Attempt)
				assert.Equal(t, before.DrawCommitment, again.DrawCommitment)
				w.at(60 * second)
				report := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
				assert.Equal(t, before.DrawCommitment, report.Draw.Commitment)
				assert.NotEqual(t, before.DrawCommitment, w.hand(boss, r, "R1M2", 1).DrawCommitment)
			})
		})
	}
}
