package manager_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/leaguetest"
)

// A power cut ends the whole machine after any byte of the results file. The journal has no
// report of a result that is not durable, and the match file may be missing or damaged. The
// league resumes to the same result.
func TestLeagueResumesFromResultsCutAfterAnyByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
		folder, base := leaguetest.MemoryFolder(t), filepath.Join(string(leaguetest.MemoryFolder(t)), "data")
		x := w.StartManagerIn(folder, 2, 1)
		r := w.RefereeWithFiles("REF01", folder)
		w.Players(2)
		x.Finish()
		x.Kill()
		r.StopReferee()
		require.NoError(t, os.CopyFS(base, os.DirFS(x.DataFolder())))
		results := x.Manager.Results()
		recorded, err := os.ReadFile(folder.Results(leaguetest.LeagueID, "REF01"))
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
			require.NoError(t, os.WriteFile(folder.Results(leaguetest.LeagueID, "REF01"), cut, 0o644))
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
			require.Equal(t, results, x.Manager.Results(), "cut after %d bytes", len(cut))
			for m := range w.CheckAudited(folder).Matches() {
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
