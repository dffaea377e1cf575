package conversations

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// forget makes a record short.
func (r *record) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = nil
}

// A journal may end anywhere in its last line, or have lost whole lines: from
// wherever it ends, the league goes on to the same results.
func TestAJournalThatIsCutAfterAnyByteOfItsLastThreeEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("a crash test with many lives of a manager, which runs without -short")
	}
	for _, test := range []struct {
		name string
		end  fate
		last []string // the three events
		told []int    // how many agents know of the end when so many of the three are left
	}{
		{"a finished league", fate{}, []string{"agent_informed", "agent_informed", "agent_informed"}, []int{2, 3, 4, 5}},
		{"the end of a round, and results before it", fate{23, followed}, nil, []int{0, 0, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, byValue, zerolog.Nop())
				folder, base := folderOf(t), filepath.Join(t.TempDir(), "data")
				x := w.doomed(test.end, folder, 4, 1)
				w.writer("REF01", folderOf(t))
				w.players(4)
				<-x.over
				if test.end.event > 0 {
					x.bury()
				}
				require.NoError(t, x.close())
				kinds := w.kinds(folder)
				if test.last != nil {
					require.Equal(t, test.last, kinds[len(kinds)-3:])
				}
				require.NoError(t, os.CopyFS(base, os.DirFS(x.data())))
				lines := bytes.SplitAfter(journalOf(w, folder), []byte("\n"))
				lines = lines[:len(lines)-1]
				whole := bytes.Join(lines[:len(lines)-3], nil)
				last := bytes.Join(lines[len(lines)-3:], nil)

				var results []league.MatchRecord
				invitations := 0
				for n := range len(last) + 1 {
					cut := append(bytes.Clone(whole), last[:n]...)
					left := bytes.Count(last[:n], []byte("\n"))
					torn := len(cut) - 1 - bytes.LastIndexByte(cut, '\n')
					require.NoError(t, os.RemoveAll(x.data()))
					require.NoError(t, os.CopyFS(x.data(), os.DirFS(base)))
					require.NoError(t, os.WriteFile(folder.Journal(leagueID), cut, 0o644))
					invitations += w.often(protocol.Invite.Name)
					w.record.forget()

					x = w.tenure(folder, 4, 1)
					if torn == 0 {
						assert.Nil(t, x.keep.Torn)
					} else if assert.NotNil(t, x.keep.Torn, "cut after %d bytes", n) {
						assert.Equal(t, []int{len(lines) - 3 + left + 1, torn}, []int{x.keep.Torn.Line, x.keep.Torn.Bytes})
						assert.Contains(t, x.keep.Torn.String(), folder.Journal(leagueID))
					}
					x.finish()
					x.kill()
					assert.Equal(t, 5-test.told[left], w.often(protocol.NotifyLeagueCompleted.Name))
					state, _ := w.fold(folder)
					require.NotNil(t, state.Completed)
					for m := range state.Matches() {
						assert.Equal(t, 1, m.Report.Number)
						assert.Len(t, m.Attempts, 1)
					}
					if results == nil {
						results = x.manager.Results()
					}
					require.Equal(t, results, x.manager.Results(), "cut after %d bytes", n)
				}
				assert.Equal(t, 12, invitations+w.often(protocol.Invite.Name), "no match is played twice")
				w.checkKept(folder)
				w.close()
			})
		})
	}
}
