package record_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

const leagues = "../../../testdata/leagues"

// The standings after a round are those that the league had when the round ended.
func TestStandingsAfterEachRound(t *testing.T) {
	folders, err := os.ReadDir(leagues)
	require.NoError(t, err)
	compared := 0
	for _, folder := range folders {
		ids, err := filepath.Glob(filepath.Join(leagues, folder.Name(), "data", "leagues", "*"))
		require.NoError(t, err)
		for _, id := range ids {
			t.Run(folder.Name()+"/"+filepath.Base(id), func(t *testing.T) {
				l := record.NewLeague()
				dir := record.NewFolder(store.Folder(filepath.Join(leagues, folder.Name())), filepath.Base(id))
				var then [][]league.Standing
				require.NoError(t, l.Update(context.Background(), dir, func(e *journal.Event, _ string) {
					if _, ok := e.Data.(*journal.RoundCompleted); ok {
						then = append(then, l.Standings())
					}
				}))
				if len(l.Decisions) > 0 {
					t.Skip("decisions change earlier results")
				}
				for i := range then {
					assert.Equal(t, then[i], l.StandingsAfter(i+1), "round %d", i+1)
					compared++
				}
			})
		}
	}
	assert.Positive(t, compared)
}

// A player that is withdrawn keeps the points of its earlier byes.
func TestPointsOfAWithdrawnPlayerIncludeItsByes(t *testing.T) {
	const withBye = "P05" // in round 1
	files, err := filepath.Glob(filepath.Join(leagues, "swiss", "data", "leagues", "*", "journal.jsonl"))
	require.NoError(t, err)
	lines, err := os.ReadFile(files[0])
	require.NoError(t, err)
	l := record.NewLeague()
	for line := range bytes.Lines(lines) {
		e, err := journal.Decode(bytes.TrimSpace(line))
		require.NoError(t, err)
		require.NoError(t, l.Fold(e))
		if l.CompletedRounds() == 1 {
			break
		}
	}
	require.NoError(t, l.Fold(&journal.Event{Seq: l.Events + 1, At: l.At, Data: &journal.Decided{
		Command: protocol.CommandWithdraw, Decision: journal.Decision{By: "A. Smith"}, AgentID: withBye,
	}}))
	player, _ := l.PlayerIndex(withBye)
	assert.Equal(t, l.Created.Scoring.Win, l.Points()[1][player])
}

// A match file that the manager wrote is no attempt with a transcript: a report must not show an empty conversation.
func TestMatchFileOfTheManagerIsNoTranscript(t *testing.T) {
	dir := store.Folder(t.TempDir())
	require.NoError(t, store.WriteDerived(dir.Match("cup", "R1M1"), &store.Match{
		SchemaVersion: store.SchemaVersion, LeagueID: "cup", RoundID: 1, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01",
		WrittenBy: store.WrittenByManager, Transcript: []store.Exchange{}, Lifecycle: store.Lifecycle{State: store.StateAcknowledged},
	}))
	_, err := dir.LoadMatch("cup", "R1M1")
	require.NoError(t, err)
	unreadable, err := record.NewFolder(dir, "cup").Attempts(func(doc *store.Match) error {
		t.Errorf("%s is visited", doc.MatchID)
		return nil
	})
	require.NoError(t, err)
	assert.Zero(t, unreadable)
}

func TestDurationsHaveTwoOrThreeDigits(t *testing.T) {
	for ms, want := range map[float64]string{
		0: "< 1 ms", 0.4: "0.4 ms", 2.5: "2.5 ms", 12: "12 ms", 999.4: "999 ms", 999.6: "1.0 s", 3200: "3.2 s", 45000: "45 s",
	} {
		assert.Equal(t, want, record.Milliseconds(ms))
	}
}

func TestFormatsInWords(t *testing.T) {
	assert.Equal(t, "round-robin", record.FormatInWords("", 1))
	assert.Equal(t, "round-robin, 2 legs", record.FormatInWords(journal.FormatRoundRobin, 2))
	assert.Equal(t, "Swiss system", record.FormatInWords(journal.FormatSwiss, 1))
	assert.Equal(t, "knockout", record.FormatInWords(journal.FormatKnockout, 1))
}

func TestEveryErrorHasAPhrase(t *testing.T) {
	assert.Equal(t, "did not answer in time", record.FailureInWords(string(protocol.ErrTimeout)))
	assert.Equal(t, "failed (E005 PLAYER_NOT_REGISTERED)", record.FailureInWords("E005"))
	assert.Equal(t, "failed", record.FailureInWords("no code"))
}
