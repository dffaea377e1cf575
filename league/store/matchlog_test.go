package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/disk"
)

// played returns an attempt in a state, with the exchanges until then.
func played(matchID string, attempt int, state string) *Match {
	m := &Match{
		Header: NewHeader("2026-01-01T00:00:00Z"), LeagueID: "cup", MatchID: matchID, Attempt: attempt,
		RefereeID: "REF01", WrittenBy: WrittenByReferee, Lifecycle: Lifecycle{State: state, States: []StateEntry{{State: state}}},
		Result:     &protocol.MatchResult{Result: league.Result{Status: league.StatusDraw, Choices: league.PerPlayer[*string]{}}, Score: league.PerPlayer[int]{}},
		Digested:   2,
		Transcript: []Exchange{{Method: "invite"}, {Method: "ask"}},
	}
	if state == protocol.StateAcknowledged {
		m.Transcript = append(m.Transcript, Exchange{Method: "tell"})
	}
	return m
}

func openLog(t *testing.T, folder Folder) (*MatchLog, *LoggedMatches) {
	t.Helper()
	log, found, _, err := OpenMatchLog(folder, "cup", "REF01")
	require.NoError(t, err)
	return log, found
}

// statesIn lists the attempts in a log with their states.
func statesIn(t *testing.T, folder Folder) (states []string) {
	t.Helper()
	read, err := ReadMatchLog(folder.Disk, folder.MatchLog("cup", "REF01"))
	require.NoError(t, err)
	require.Empty(t, read.Damage)
	for _, m := range read.Matches {
		states = append(states, fmt.Sprintf("%s-a%d %s", m.MatchID, m.Attempt, m.Lifecycle.State))
	}
	return states
}

func TestCheckpointKeepsWhatIsNotAcknowledged(t *testing.T) {
	folder := In(t.TempDir())
	log, _ := openLog(t, folder)
	for _, m := range []*Match{played("R1M1", 1, protocol.StateFinished), played("R1M2", 1, protocol.StateFinished), played("R1M3", 1, protocol.StateFinished)} {
		require.NoError(t, log.Append(m, true))
	}
	require.NoError(t, log.Write(played("R1M1", 1, protocol.StateAcknowledged)))
	require.NoError(t, log.Write(played("R1M2", 1, protocol.StateDisputed)))
	require.NoError(t, log.Write(played("R1M4", 2, protocol.StateAbandoned)))
	require.NoError(t, log.Checkpoint())
	assert.Equal(t, []string{"R1M2-a1 DISPUTED", "R1M3-a1 FINISHED"}, statesIn(t, folder))
	whole, err := folder.LoadMatch("cup", "R1M1")
	require.NoError(t, err)
	assert.Len(t, whole.Transcript, 3)
	for id, attempt := range map[string]int{"R1M2": 1, "R1M4": 2} {
		_, err = folder.LoadAttempt("cup", id, attempt)
		require.NoError(t, err)
	}

	require.NoError(t, log.Write(played("R1M2", 1, protocol.StateAcknowledged)), "the manager accepts it later")
	assert.NoFileExists(t, folder.Attempt("cup", "R1M2", 1), "it has the file of the match now")
	require.NoError(t, log.Close())
	assert.Equal(t, []string{"R1M3-a1 FINISHED"}, statesIn(t, folder))
	_, found := openLog(t, folder)
	require.Len(t, found.Matches, 1)
	assert.Len(t, found.Matches[0].Transcript, 2)
}

// A referee may give up an attempt, whose file it writes, and play it again. A checkpoint before or during its
// second play must keep what no durable file has.
func TestCheckpointKeepsAnAttemptThatIsPlayedAgain(t *testing.T) {
	both := []*Match{played("R1M1", 1, protocol.StateFinished), played("R1M1", 1, protocol.StateAcknowledged)}
	for name, play := range map[string][]*Match{"before": both[:1], "during": both[:1], "all": both} {
		folder := In(t.TempDir())
		log, _ := openLog(t, folder)
		log.syncer.slow = true
		again := func(disk.Disk, string) error {
			log.syncer.one = func(disk.Disk, string) error { return nil }
			err := log.Append(play[0], true)
			for _, m := range play[1:] {
				err = errors.Join(err, log.Write(m))
			}
			return err
		}
		require.NoError(t, log.Write(played("R1M1", 1, protocol.StateAbandoned)))
		if log.syncer.one = again; name == "before" {
			require.NoError(t, again(nil, ""))
		}
		require.NoError(t, log.Checkpoint())
		assert.Equal(t, []string{"R1M1-a1 " + play[len(play)-1].Lifecycle.State}, statesIn(t, folder), name)
		require.NoError(t, log.Write(both[1]))
		require.NoError(t, log.Close())
		assert.Empty(t, statesIn(t, folder))
		doc, err := folder.LoadMatch("cup", "R1M1")
		require.NoError(t, err)
		assert.Equal(t, both[1], doc)
	}
}

// The referee may be killed between the line of an attempt and its file. Its file of an earlier state, a
// disputed or an abandoned one, becomes that of the match.
// A referee that could not read its log may begin an attempt again whose result is in it.
func TestAttemptInTheLogMayBeginAgainAfterARestart(t *testing.T) {
	folder := In(t.TempDir())
	log, _ := openLog(t, folder)
	require.NoError(t, log.Append(played("R1M1", 1, protocol.StateFinished), true))
	require.NoError(t, log.Close())
	log, _ = openLog(t, folder)
	again := played("R1M1", 1, protocol.StateFinished)
	again.Digested, again.Transcript = 1, []Exchange{{Method: "invite again"}}
	require.NoError(t, log.Append(again, true))
	require.NoError(t, log.Close())
	read, err := ReadMatchLog(folder.Disk, folder.MatchLog("cup", "REF01"))
	require.NoError(t, err)
	assert.Equal(t, again.Transcript, read.Find("R1M1", 1).Transcript)
}

func TestFileOfAnEarlierStateIsReplacedAfterACrash(t *testing.T) {
	for _, earlier := range []string{protocol.StateDisputed, protocol.StateAbandoned} {
		folder := In(t.TempDir())
		log, _ := openLog(t, folder)
		require.NoError(t, log.Write(played("R1M1", 1, earlier)))
		require.NoError(t, log.Append(played("R1M1", 1, protocol.StateAcknowledged), true))
		log, _ = openLog(t, folder)
		require.NoError(t, log.Close())
		doc, err := Read[Match](folder.Disk, folder.Match("cup", "R1M1"))
		require.NoError(t, err, earlier)
		assert.Equal(t, played("R1M1", 1, protocol.StateAcknowledged), doc)
		assert.NoFileExists(t, folder.Attempt("cup", "R1M1", 1))
	}
}

// A crash may interrupt a checkpoint before and after each of its steps, and a power cut loses
// what was not synced. The next referee has each match, whole.
func TestCheckpointInterruptedAtAnyStep(t *testing.T) {
	for _, all := range []bool{true, false} { // files of the whole disk, or one by one
		var disks []Folder
		folder := In(t.TempDir())
		snapshot := func() {
			copied := In(t.TempDir())
			require.NoError(t, os.CopyFS(copied.Path, os.DirFS(folder.Path)))
			disks = append(disks, copied)
		}
		log, _ := openLog(t, folder)
		log.syncer.all = func(disk.File) error { snapshot(); return nil }
		log.syncer.one = func(disk.Disk, string) error { snapshot(); return nil }
		log.syncer.slow = !all
		for _, id := range []string{"R1M1", "R1M2"} {
			require.NoError(t, log.Append(played(id, 1, protocol.StateFinished), true))
			require.NoError(t, log.Write(played(id, 1, protocol.StateAcknowledged)))
		}
		require.NoError(t, log.Append(played("R1M3", 1, protocol.StateFinished), true))
		require.NoError(t, log.Checkpoint())
		durable := len(disks)
		snapshot() // after the last step
		assert.Equal(t, []string{"R1M3-a1 FINISHED"}, statesIn(t, folder))

		for i, copied := range disks {
			if i < durable { // nothing is durable but the log
				for k, id := range []string{"R1M1", "R1M2"} {
					path := copied.Match("cup", id)
					require.NoError(t, []error{os.Truncate(path, 20), os.Remove(path)}[(i+k)%2])
				}
				path := copied.MatchLog("cup", "REF01")
				require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), ".REF01.wal.jsonl.1.tmp"), []byte("{"), 0o600))
			}
			next, found := openLog(t, copied)
			assert.Equal(t, protocol.StateFinished, found.Find("R1M3", 1).Lifecycle.State)
			for _, id := range []string{"R1M1", "R1M2"} {
				doc, err := copied.LoadMatch("cup", id)
				require.NoError(t, err)
				assert.Equal(t, played(id, 1, protocol.StateAcknowledged), doc, "interrupted at step %d", i)
			}
			require.NoError(t, next.Close())
			assert.Equal(t, []string{"R1M3-a1 FINISHED"}, statesIn(t, copied))
		}
	}
}

// An audit finds a referee that has drawn an attempt again, or judged it otherwise.
func TestSecondResultOfAnAttemptInTheLogIsDamage(t *testing.T) {
	for name, change := range map[string]func(m *Match){
		"result": func(m *Match) { m.Result.Status = league.StatusTechnicalLoss },
		"nonce":  func(m *Match) { m.Draw = &protocol.Draw{Nonce: "b"} },
	} {
		folder := In(t.TempDir())
		log, _ := openLog(t, folder)
		first, second := played("R1M1", 1, protocol.StateFinished), played("R1M1", 1, protocol.StateAcknowledged)
		first.Draw, second.Draw = &protocol.Draw{Nonce: "a"}, &protocol.Draw{Nonce: "a"}
		change(second)
		require.NoError(t, log.Append(first, true))
		require.NoError(t, log.Append(second, true))
		read, err := ReadMatchLog(folder.Disk, folder.MatchLog("cup", "REF01"))
		require.NoError(t, err)
		require.Len(t, read.Damage, 1, name)
		require.ErrorIs(t, read.Damage[0], ErrContradiction)
		assert.Equal(t, 3, read.Damage[0].Line)
	}
}

// A cutting disk has a power cut when a file is renamed to a path.
type cutting struct {
	disk.Disk

	path string
	cut  func()
}

func (d cutting) Rename(from, to string) error {
	if to == d.path {
		defer d.cut()
	}
	return d.Disk.Rename(from, to)
}

// A match whose result the log has as durable is in the log, or whole in its file, after a power cut while the log is
// replaced, or after that.
func TestPowerCutLosesNoResult(t *testing.T) {
	finished, acknowledged := played("R1M1", 1, protocol.StateFinished), played("R1M1", 1, protocol.StateAcknowledged)
	for seed := range uint64(64) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		folder := Folder{d.Process(), "data"}
		if seed%2 == 0 {
			folder.Disk = cutting{folder.Disk, folder.MatchLog("cup", "REF01"), d.PowerCut}
		}
		log, _ := openLog(t, folder)
		log.syncer.slow = seed%4 < 2 // then the files are synced one by one
		require.NoError(t, log.Append(played("R1M2", 1, protocol.StateFinished), true))
		require.NoError(t, log.Append(finished, true))
		require.NoError(t, log.Write(acknowledged))
		_ = log.Checkpoint()
		d.PowerCut()
		require.Error(t, log.Close())
		folder.Disk = d.Process()
		log, found := openLog(t, folder)
		require.NotNil(t, found.Find("R1M2", 1), "seed %d", seed)
		if known := found.Find("R1M1", 1); known == nil || known.Lifecycle.State == protocol.StateAcknowledged {
			doc, err := folder.LoadMatch("cup", "R1M1")
			require.NoError(t, err, "seed %d", seed)
			assert.Equal(t, acknowledged, doc)
		}
		require.NoError(t, log.Close())
	}
}

// After a sync that failed, the log stays, and the next checkpoint writes the files again.
func TestFilesAreWrittenAgainAfterAFailedSync(t *testing.T) {
	for _, all := range []bool{true, false} {
		folder := In(t.TempDir())
		log, _ := openLog(t, folder)
		broken := errors.New("no sync")
		log.syncer.all = func(disk.File) error { return broken }
		log.syncer.one = func(disk.Disk, string) error { return broken }
		log.syncer.slow = !all
		require.NoError(t, log.Append(played("R1M1", 1, protocol.StateFinished), true))
		require.NoError(t, log.Write(played("R1M1", 1, protocol.StateAcknowledged)))
		require.ErrorIs(t, log.Checkpoint(), broken)
		assert.Equal(t, []string{"R1M1-a1 ACKNOWLEDGED"}, statesIn(t, folder))
		require.NoError(t, os.WriteFile(folder.Match("cup", "R1M1"), nil, 0o600)) // what the disk has

		log.syncer.all, log.syncer.one = func(disk.File) error { return nil }, func(disk.Disk, string) error { return nil }
		require.NoError(t, log.Checkpoint())
		doc, err := folder.LoadMatch("cup", "R1M1")
		require.NoError(t, err)
		assert.Equal(t, played("R1M1", 1, protocol.StateAcknowledged), doc)
		assert.Empty(t, statesIn(t, folder))
		require.NoError(t, log.Close())
	}
}

// The manager may have renamed the file of a result that an organiser has annulled.
func TestAnnulledResultIsNotWrittenAgainInPlaceOfItsRematch(t *testing.T) {
	folder := In(t.TempDir())
	log, _ := openLog(t, folder)
	require.NoError(t, log.Write(played("R1M1", 1, protocol.StateAcknowledged)))
	require.NoError(t, os.Rename(folder.Match("cup", "R1M1"), folder.Attempt("cup", "R1M1", 1)))
	log.failed = true
	require.NoError(t, log.Checkpoint())
	assert.NoFileExists(t, folder.Match("cup", "R1M1"))
	require.NoError(t, WriteMatch(folder.Disk, folder.Match("cup", "R1M1"), played("R1M1", 2, protocol.StateAcknowledged)))
	require.NoError(t, log.Write(played("R1M1", 1, protocol.StateAcknowledged)), "reported late")
	doc, err := folder.LoadMatch("cup", "R1M1")
	require.NoError(t, err)
	assert.Equal(t, 2, doc.Attempt)
	require.NoError(t, log.Close())
}

// The manager keeps the file of an annulled result only after the round, and the referee before it
// writes the file of the match: one of them has read it before the other one has replaced it.
func TestAnnulledResultIsKeptOnce(t *testing.T) {
	folder := In(t.TempDir())
	log, _ := openLog(t, folder)
	require.NoError(t, log.Write(played("R1M1", 1, protocol.StateAcknowledged)))
	read, err := folder.LoadMatch("cup", "R1M1")
	require.NoError(t, err)
	require.NoError(t, log.Write(played("R1M1", 2, protocol.StateAcknowledged)))
	for _, keeper := range []string{"the referee", "the manager too"} {
		for attempt, path := range map[int]string{1: folder.Attempt("cup", "R1M1", 1), 2: folder.Match("cup", "R1M1")} {
			doc, err := Read[Match](disk.Real{}, path)
			require.NoError(t, err, keeper)
			assert.Equal(t, attempt, doc.Attempt, keeper)
			found, err := folder.LoadAttempt("cup", "R1M1", attempt)
			require.NoError(t, err, keeper)
			assert.Equal(t, doc, found, keeper)
		}
		require.NoError(t, folder.KeepAttempt(read))
	}
	require.NoError(t, log.Close())
}

// A sync of the whole disk that takes long, because other programs write, is the last one.
func TestSlowSyncOfTheWholeDiskIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := In(t.TempDir())
		log, _ := openLog(t, folder)
		files, whole := 0, 0
		log.syncer.folder, _ = disk.Open(folder.Disk, folder.Path)
		log.syncer.all = func(disk.File) error { whole++; time.Sleep(slowest + time.Millisecond); return nil }
		log.syncer.one = func(disk.Disk, string) error { files++; return nil }
		for _, id := range []string{"R1M1", "R1M2"} {
			require.NoError(t, log.Write(played(id, 1, protocol.StateAcknowledged)))
			require.NoError(t, log.Checkpoint())
		}
		assert.Equal(t, []int{1, 2}, []int{whole, files}, "the file of the match, and that of its attempt")
		require.NoError(t, log.Close())
	})
}

// A log that was cut after any byte has all lines before it, and can be continued.
func TestLogCutAfterAnyByte(t *testing.T) {
	folder := In(t.TempDir())
	log, _ := openLog(t, folder)
	require.NoError(t, log.Append(played("R1M1", 1, protocol.StateFinished), true))
	require.NoError(t, log.Append(played("R1M1", 1, protocol.StateAcknowledged), true))
	require.NoError(t, log.Close())
	path := folder.MatchLog("cup", "REF01")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for n := range len(text) + 1 {
		cut := In(t.TempDir())
		require.NoError(t, os.MkdirAll(cut.Matches("cup"), 0o755))
		require.NoError(t, os.WriteFile(cut.MatchLog("cup", "REF01"), text[:n], 0o600))
		log, found := openLog(t, cut)
		lines := strings.Count(string(text[:n]), "\n")
		assert.Len(t, found.Matches, min(max(lines-1, 0), 1))
		require.NoError(t, log.Append(played("R1M2", 1, protocol.StateFinished), true))
		require.NoError(t, log.Close())
		require.Contains(t, statesIn(t, cut), "R1M2-a1 FINISHED", "cut after byte %d", n)
	}
}
