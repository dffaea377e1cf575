package manager_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
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
				folder, base := leaguetest.TempFolder(t), filepath.Join(leaguetest.TempFolder(t).Path, "data")
				x := w.StartMortalManager(test.end, folder, 4, 1)
				w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
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

				var results []record.Match
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
					for _, m := range state.Matches() {
						assert.Equal(t, 1, m.Report.Number)
						assert.Len(t, m.Attempts, 1)
					}
					if results == nil {
						results = leaguetest.Results(x.Manager)
					}
					require.Equal(t, results, leaguetest.Results(x.Manager), "cut after %d bytes", n)
				}
				assert.Equal(t, 12, invitations+w.CountCalls(protocol.Invite.Name), "no match is played twice")
				w.CheckFiles(folder)
				w.Close()
			})
		})
	}
}

// A power cut ends the whole machine after any byte of the write-ahead log. The journal has no
// report of a result that is not durable, and the match file may be missing or damaged. The
// league resumes to the same result.
func TestLeagueResumesFromALogCutAfterAnyByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
		folder, base := leaguetest.TempFolder(t), filepath.Join(leaguetest.TempFolder(t).Path, "data")
		x := w.StartManagerIn(folder, 2, 1)
		r := w.RefereeWithFiles("REF01", folder)
		w.Players(2)
		x.Finish()
		x.Kill()
		r.StopReferee()
		require.NoError(t, os.CopyFS(base, os.DirFS(x.DataFolder())))
		results := leaguetest.Results(x.Manager)
		acknowledged, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
		require.NoError(t, err)
		elsewhere := leaguetest.TempFolder(t)
		leaguetest.LogWhole(t, elsewhere, "REF01", []*store.Match{acknowledged})
		recorded, err := os.ReadFile(elsewhere.MatchLog(leaguetest.LeagueID, "REF01"))
		require.NoError(t, err)
		lines := bytes.SplitAfter(recorded, []byte("\n"))
		require.Len(t, lines, 4, "the header, the result, and its acknowledgement")
		durable := len(lines[0]) + len(lines[1])
		matchFile, err := os.ReadFile(folder.Match(leaguetest.LeagueID, "R1M1"))
		require.NoError(t, err)
		events := bytes.SplitAfter(leaguetest.ReadJournal(w, folder), []byte("\n"))
		reported := slices.Index(w.EventTypes(folder), "match_reported")

		resume := func(cut, events []byte, matchFile *[]byte) {
			require.NoError(t, os.RemoveAll(x.DataFolder()))
			require.NoError(t, os.CopyFS(x.DataFolder(), os.DirFS(base)))
			require.NoError(t, os.WriteFile(folder.MatchLog(leaguetest.LeagueID, "REF01"), cut, 0o644))
			require.NoError(t, os.WriteFile(folder.Journal(leaguetest.LeagueID), events, 0o644))
			path := folder.Match(leaguetest.LeagueID, "R1M1")
			if matchFile == nil {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.WriteFile(path, *matchFile, 0o644))
			}
			clearRecord(w.Recorder)
			x = w.StartManagerIn(folder, 2, 1)
			r = w.RefereeWithFiles("REF01", folder)
			x.Finish()
			x.Kill()
			r.StopReferee()
			require.Equal(t, results, leaguetest.Results(x.Manager), "cut after %d bytes", len(cut))
			for _, m := range w.CheckAudited(folder).Matches() {
				assert.Len(t, m.Attempts, 1)
			}
			doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(doc.Transcript), 8)
		}
		before, after := bytes.Join(events[:reported], nil), bytes.Join(events[:reported+1], nil)
		torn, empty := matchFile[:len(matchFile)/2], []byte{}
		for n := range len(recorded) + 1 {
			atEnd := n == len(recorded) || recorded[n] == '\n' || n > 0 && recorded[n-1] == '\n' // of a line
			switch {
			case !leaguetest.All() && n%97 > 0 && !atEnd:
			case n < durable:
				resume(recorded[:n], before, nil)
			default:
				for i, file := range []*[]byte{nil, &torn, &empty, &matchFile} {
					if atEnd || n%8 == i {
						resume(recorded[:n], before, file)
					}
					if atEnd || n%8 == 4+i {
						resume(recorded[:n], after, file)
					}
				}
			}
		}
		w.Close()
	})
}

// A restarted manager repeats the results of the last round before its first pause.
func TestRestartedManagerRepeatsTheResultsBeforeThePause(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		paced := func(o *manager.Options) { o.Pace = 30 }
		x := w.StartManagerIn(folder, 4, 1, paced)
		w.Referee("REF01")
		w.Players(4)
		w.WaitUntil(40 * leaguetest.Second) // between the first round and the second
		x.Kill()
		w.WaitUntil(50 * leaguetest.Second)
		x = w.StartManagerIn(folder, 4, 1, paced)
		finish(x)
		assert.Equal(t, []int{30, 80, 110}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p01")))
		assert.Equal(t, []int{30, 50, 80, 110}, leaguetest.Seconds(w.Calls(protocol.UpdateStandings.Name, "p01")))
		assert.Equal(t, []int{30, 50, 80, 110}, leaguetest.Seconds(w.Calls(protocol.NotifyRoundCompleted.Name, "ref01")))
	})
}

// A stopping manager waits for the running matches and assigns no others.
func TestStoppingManagerWaitsForRunningMatches(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience int // seconds
		began    int // matches
		recorded int
		stopped  int // second of the end
		attempts int
	}{
		{"the running match ends in time", 10, 1, 1, 4, 1},
		{"the running match takes too long", 1, 1, 0, 2, 1},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
			x, o := w.OpenManager(leaguetest.CrashPoint{}, folder, 4, 1)
			o.StopWithin, o.Concurrency = protocol.Seconds(float64(test.patience)), 1
			require.NoError(t, x.Start(o))
			w.RefereeWithFiles("REF01", files)
			w.Players(4, leaguetest.WithDelays(0, 4*leaguetest.Second, 0))
			w.WaitUntil(1 * leaguetest.Second)
			x.Cancel()
			<-x.Done
			assert.Equal(t, test.stopped, int(w.Now()/leaguetest.Second))
			require.ErrorIs(t, x.Err, context.Canceled)
			assert.Nil(t, x.Final)
			assert.Len(t, w.Calls(protocol.StartMatch.Name), test.began)
			assert.Equal(t, test.recorded, x.Manager.Status().Recorded)
			x.Kill()

			x = w.StartManagerIn(folder, 4, 1)
			state := finish(x)
			for _, m := range state.Matches() {
				assert.Len(t, m.Attempts, test.attempts)
			}
			assert.Len(t, w.Calls(protocol.Invite.Name), 12)
		})
	}
}
