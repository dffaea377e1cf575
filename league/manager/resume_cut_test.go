package manager_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// clearRecord empties a record.
func clearRecord(r *leaguetest.Recorder) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Exchanges = nil
}

// A crash may cut the journal after any byte, or lose whole lines. The league resumes from
// each such journal to the same results.
func TestLeagueResumesFromAJournalCutAfterAnyByte(t *testing.T) {
	for _, test := range []struct {
		name     string
		end      leaguetest.CrashPoint
		last     []string // the three events
		informed []int    // informed agents by number of the last three events that are left
	}{
		{"a finished league", leaguetest.CrashPoint{}, []string{"agent_informed", "agent_informed", "agent_informed"}, []int{2, 3, 4, 5}},
		{"the end of a round, and results before it", leaguetest.CrashPoint{Event: 23, When: leaguetest.AfterTelling}, nil, []int{0, 0, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
				folder, base := leaguetest.MemoryFolder(t), filepath.Join(string(leaguetest.MemoryFolder(t)), "data")
				x := w.StartMortalManager(test.end, folder, 4, 1)
				w.RefereeWithFiles("REF01", leaguetest.MemoryFolder(t))
				w.Players(4)
				<-x.Done
				if test.end.Event > 0 {
					x.RestoreDisk()
				}
				require.NoError(t, x.CloseFiles())
				kinds := w.EventTypes(folder)
				if test.last != nil {
					require.Equal(t, test.last, kinds[len(kinds)-3:])
				}
				require.NoError(t, os.CopyFS(base, os.DirFS(x.DataFolder())))
				lines := bytes.SplitAfter(leaguetest.ReadJournal(w, folder), []byte("\n"))
				lines = lines[:len(lines)-1]
				whole := bytes.Join(lines[:len(lines)-3], nil)
				last := bytes.Join(lines[len(lines)-3:], nil)

				var results []league.MatchRecord
				invitations := 0
				for n := range len(last) + 1 {
					atEnd := n == len(last) || last[n] == '\n' || n > 0 && last[n-1] == '\n' // of a line
					if !leaguetest.All() && n%16 > 0 && !atEnd {
						continue
					}
					cut := append(bytes.Clone(whole), last[:n]...)
					left := bytes.Count(last[:n], []byte("\n"))
					torn := len(cut) - 1 - bytes.LastIndexByte(cut, '\n')
					require.NoError(t, os.RemoveAll(x.DataFolder()))
					require.NoError(t, os.CopyFS(x.DataFolder(), os.DirFS(base)))
					require.NoError(t, os.WriteFile(folder.Journal(leaguetest.LeagueID), cut, 0o644))
					invitations += w.CountCalls(protocol.Invite.Name)
					clearRecord(w.Recorder)

					x = w.StartManagerIn(folder, 4, 1)
					if torn == 0 {
						assert.Nil(t, x.Files.Torn)
					} else if assert.NotNil(t, x.Files.Torn, "cut after %d bytes", n) {
						assert.Equal(t, []int{len(lines) - 3 + left + 1, torn}, []int{x.Files.Torn.Line, x.Files.Torn.Bytes})
						assert.Contains(t, x.Files.Torn.String(), folder.Journal(leaguetest.LeagueID))
					}
					x.Finish()
					x.Kill()
					assert.Equal(t, 5-test.informed[left], w.CountCalls(protocol.NotifyLeagueCompleted.Name))
					state, _ := w.FoldJournal(folder)
					require.NotNil(t, state.Completed)
					for m := range state.Matches() {
						assert.Equal(t, 1, m.Report.Number)
						assert.Len(t, m.Attempts, 1)
					}
					if results == nil {
						results = x.Manager.Results()
					}
					require.Equal(t, results, x.Manager.Results(), "cut after %d bytes", n)
				}
				assert.Equal(t, 12, invitations+w.CountCalls(protocol.Invite.Name), "no match is played twice")
				w.CheckFiles(folder)
				w.Close()
			})
		})
	}
}
