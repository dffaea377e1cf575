package store

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/disk"
)

// A referee that was stopped plays an attempt again that had no result, and may need fewer exchanges.
func TestAttemptThatIsPlayedAgainBeginsAnew(t *testing.T) {
	folder := Folder{memdisk.New(memdisk.Options{}).Process(), "data-folder"}
	log, _ := openLog(t, folder)
	m := played("R1M1", 1, protocol.StateWaitingForPlayers)
	m.Result = nil
	require.NoError(t, log.Append(m, true))
	log, _ = openLog(t, folder)
	m = played("R1M1", 1, protocol.StateWaitingForPlayers)
	m.Result, m.Transcript = nil, []Exchange{{Method: "again"}}
	require.NoError(t, log.Append(m, true))
	read, err := ReadMatchLog(folder.Disk, folder.MatchLog("cup", "REF01"))
	require.NoError(t, err)
	assert.Empty(t, read.Damage)
	assert.Equal(t, m.Transcript, read.Matches[0].Transcript)
}

// A line for which nothing waited is lost with the sync of another one: the next line of its attempt has the whole of it.
func TestLinesOfAFailedSyncAreWrittenAgain(t *testing.T) {
	o := memdisk.Options{Seed: 1}
	o.Chances[faults.FailedSync] = 0.2
	lost := 0
	for o.Seed = range 40 {
		d := memdisk.New(o)
		folder := Folder{d.Process(), "data-folder"}
		log, _, _, err := OpenMatchLog(folder, "cup", "REF01")
		if err != nil {
			continue
		}
		m := played("R1M1", 1, protocol.StateFinished)
		m.Result = nil
		require.NoError(t, log.Append(m, false))
		if err := log.Append(played("R1M2", 1, protocol.StateFinished), true); err == nil {
			continue
		}
		lost++
		m = played("R1M1", 1, protocol.StateFinished)
		m.Transcript = append(m.Transcript, Exchange{Method: "more"})
		if log.Append(m, true) != nil {
			continue
		}
		d.PowerCut()
		read, err := ReadMatchLog(d.Process(), folder.MatchLog("cup", "REF01"))
		require.NoError(t, err)
		require.Empty(t, read.Damage)
		require.Equal(t, m.Transcript, read.Find("R1M1", 1).Transcript)
	}
	assert.Positive(t, lost)
}

// The folder of a private file may be new: a power cut must not take it.
func TestPrivateFilesSurviveAPowerCut(t *testing.T) {
	identity := &Identity{Header: NewHeader(""), AgentID: "P01", AuthToken: "t"}
	for seed := range uint64(30) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		folder := Folder{d.Process(), "data-folder"}
		path := folder.Identity("player", "A")
		require.NoError(t, WritePrivate(folder.Disk, path, identity))
		secret, err := folder.Secret("cup", false)
		require.NoError(t, err)
		d.PowerCut()
		folder.Disk = d.Process()
		read, err := Read[Identity](folder.Disk, path)
		require.NoError(t, err)
		require.Equal(t, identity, read)
		again, err := folder.Secret("cup", true)
		require.NoError(t, err)
		require.Equal(t, secret, again)
	}
}

// A digit of a token or a key that is another one would be a valid token or key.
func TestFlippedBitsOfPrivateFilesAreFound(t *testing.T) {
	d := memdisk.New(memdisk.Options{}).Process()
	folder := Folder{d, "data-folder"}
	path := folder.Identity("player", "A")
	identity := &Identity{Header: NewHeader(""), AgentID: "P01", AuthToken: "token", Secret: strings.Repeat("0f", 32)}
	require.NoError(t, WritePrivate(d, path, identity))
	found := flipEach(t, d, path, func() error {
		read, err := Read[Identity](d, path)
		if err == nil {
			assert.Equal(t, identity, read)
		}
		return err
	})
	assert.Contains(t, found, path+": line 1: the line is damaged: its checksum is wrong")

	secret, err := folder.Secret("cup", false)
	require.NoError(t, err)
	found = flipEach(t, d, folder.private("cup.key"), func() error {
		read, err := folder.Secret("cup", true)
		if err == nil {
			assert.Equal(t, secret, read)
		}
		return err
	})
	assert.Contains(t, found, "data-folder/private/cup.key: not a key of 64 hexadecimal digits with their checksum: restore it, or "+
		"start a new league with --new-league")
}

// A history is not synced: after a power cut it has the first of its lines, and grows again.
func TestHistoryAfterAPowerCut(t *testing.T) {
	header := &HistoryHeader{Header: NewHeader(""), PlayerID: "P01", LeagueID: "cup"}
	lost := 0
	for seed := range uint64(60) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		p, known := d.Process(), int64(0)
		appendMatches := func(from, to int) {
			for n := from; n < to; n++ {
				m := &HistoryMatch{Attempt: n, Entropy: strings.Repeat("x", 40*n)}
				m.MatchID = fmt.Sprintf("R%dM1", n)
				require.NoError(t, AppendHistory(p, "history.jsonl", header, []any{m}, &known))
			}
		}
		appendMatches(1, 20)
		d.PowerCut()
		p, known = d.Process(), 0
		before := historyIn(t, p)
		for i, attempt := range before {
			require.Equal(t, i+1, attempt, "seed %d", seed)
		}
		lost += 19 - len(before)
		appendMatches(20, 30)
		after := historyIn(t, p)
		require.Len(t, after, len(before)+10, "seed %d", seed)
		require.True(t, slices.Equal(before, after[:len(before)]), "seed %d", seed)
	}
	assert.Positive(t, lost)
}

// historyIn are the attempts of a history, none if it is missing.
func historyIn(t *testing.T, d disk.Disk) (attempts []int) {
	t.Helper()
	h, _, _, err := ReadHistoryLines(d, "history.jsonl")
	if missing(err) {
		return nil
	}
	require.NoError(t, err)
	for _, m := range h.Matches {
		attempts = append(attempts, m.Attempt)
	}
	return attempts
}

// flipEach calls read with each bit of a file flipped, and returns its errors.
func flipEach(t *testing.T, d disk.Disk, path string, read func() error) (errs []string) {
	t.Helper()
	text, err := disk.Read(d, path, maxPrivate)
	require.NoError(t, err)
	f, err := d.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	require.NoError(t, err)
	for i := range 8 * len(text) {
		damaged := bytes.Clone(text)
		damaged[i/8] ^= 1 << (i % 8)
		require.NoError(t, f.Truncate(0))
		_, err = f.Write(damaged)
		require.NoError(t, err)
		if err := read(); err != nil {
			errs = append(errs, err.Error())
		}
	}
	return errs
}

// The attempt's own file may be on the disk, and the log without it, when its file becomes that of the match.
func TestCountedAttemptSurvivesAPowerCut(t *testing.T) {
	for seed := range uint64(30) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		folder := Folder{d.Process(), "data-folder"}
		m := played("R1M1", 2, protocol.StateFinished)
		m.LeagueID = "cup"
		require.NoError(t, folder.KeepAttempt(m))
		require.NoError(t, folder.CountAttempt(m))
		d.PowerCut()
		folder.Disk = d.Process()
		read, err := folder.LoadAttempt("cup", "R1M1", 2)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, m.Transcript, read.Transcript)
	}
}

// The folder of a player, which is made without a sync, may be the first in the data folder.
func TestFilesInTheFolderOfAnUnsyncedOneSurviveAPowerCut(t *testing.T) {
	for seed := range uint64(30) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		folder := Folder{d.Process(), "some/data-folder"}
		require.NoError(t, AppendHistory(folder.Disk, HistoryLines(folder.History("P01")), &HistoryHeader{}, nil, new(int64)))
		log, _ := openLog(t, folder)
		require.NoError(t, log.Append(played("R1M1", 1, protocol.StateFinished), true))
		d.PowerCut()
		folder.Disk = d.Process()
		require.Equal(t, []string{"R1M1-a1 FINISHED"}, statesIn(t, folder), "seed %d", seed)
	}
}

// The last line of an attempt, for which nothing waited, is lost with the sync of another one. No checkpoint may remove
// the lines before it, unless it has made the file of the attempt durable.
func TestCheckpointAfterALostLine(t *testing.T) {
	o := memdisk.Options{}
	o.Chances[faults.FailedSync] = 0.25
	lost := 0
	for o.Seed = range 1500 {
		d := memdisk.New(o)
		folder := Folder{d.Process(), "data-folder"}
		log, _, _, err := OpenMatchLog(folder, "cup", "REF01")
		if err != nil || log.Append(played("R1M1", 1, protocol.StateFinished), true) != nil {
			continue
		}
		if log.Write(played("R1M1", 1, protocol.StateAcknowledged)) != nil {
			continue
		}
		for range 3 {
			if err := log.Checkpoint(); err != nil {
				lost++
			}
		}
		d.PowerCut()
		folder.Disk = d.Process()
		read, err := ReadMatchLog(folder.Disk, folder.MatchLog("cup", "REF01"))
		require.NoError(t, err)
		if read.Find("R1M1", 1) == nil {
			there, err := folder.LoadMatch("cup", "R1M1")
			require.NoError(t, err, "seed %d", o.Seed)
			require.Len(t, there.Transcript, 3)
		}
	}
	assert.Positive(t, lost)
}

// Later syncs of a file succeed, and do not write what a failed one has lost.
func TestHistoryIsDurableAfterAFailedSync(t *testing.T) {
	header := &HistoryHeader{Header: NewHeader(""), PlayerID: "P01", LeagueID: "cup"}
	o := memdisk.Options{}
	o.Chances[faults.FailedSync] = 0.5
	failed := 0
	for o.Seed = range 40 {
		d := memdisk.New(o)
		p, known := d.Process(), int64(0)
		add := func(attempt int) {
			m := &HistoryMatch{Attempt: attempt}
			m.MatchID = fmt.Sprintf("R%dM1", attempt)
			require.NoError(t, AppendHistory(p, "history.jsonl", header, []any{m}, &known))
		}
		add(1)
		if SyncFile(p, "history.jsonl") == nil {
			continue
		}
		failed++
		add(2)
		for SyncAgain(p, "history.jsonl") != nil {
		}
		add(3)
		require.NoError(t, SyncFile(p, "history.jsonl"))
		d.PowerCut()
		require.Equal(t, []int{1, 2, 3}, historyIn(t, d.Process()), "seed %d", o.Seed)
	}
	assert.Positive(t, failed)
}
