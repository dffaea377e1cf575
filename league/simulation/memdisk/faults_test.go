package memdisk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/disk"
)

// with is a disk all of whose places have some kinds of faults.
func with(kinds ...faults.DiskFault) *memdisk.Disk {
	o := memdisk.Options{MaxCrashes: 1}
	for _, kind := range kinds {
		o.Chances[kind] = 1
	}
	return memdisk.New(o)
}

// create creates a file that can be written, in a folder that is synced; a sync of a folder fails at most once.
func create(t testing.TB, d disk.Disk, path string) disk.File {
	t.Helper()
	f, err := d.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	require.NoError(t, err)
	if d.SyncFolder(".") != nil {
		require.NoError(t, d.SyncFolder("."))
	}
	return f
}

func write(t testing.TB, f disk.File, text string) {
	t.Helper()
	_, err := f.Write([]byte(text))
	require.NoError(t, err)
}

func content(t testing.TB, d disk.Disk, path string) string {
	t.Helper()
	text, err := disk.Read(d, path, 1<<20)
	require.NoError(t, err)
	return string(text)
}

func TestKilledProcessLeavesWhatItWroteAndNoLock(t *testing.T) {
	d := memdisk.New(memdisk.Options{})
	p := d.Process()
	f := create(t, p, "file")
	require.NoError(t, f.TryLock(true))
	unlock, err := p.LockFile("lock", true)
	require.NoError(t, err)
	write(t, f, "text")
	p.Kill()
	<-p.Ended()

	_, err = f.Write([]byte("more"))
	require.ErrorIs(t, err, memdisk.ErrKilled)
	for _, err := range []error{f.Sync(), f.Close(), f.TryLock(true), unlock(), p.Remove("file"), p.MkdirAll("a/b", 0o755)} {
		require.ErrorIs(t, err, memdisk.ErrKilled)
	}
	q := d.Process()
	assert.Equal(t, "text", content(t, q, "file"))
	require.NoError(t, create(t, q, "file").TryLock(true))
	_, err = q.LockFile("lock", true)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"kill": 1}, d.Injected())
}

func TestPowerCutLeavesAnyPartOfWhatWasNotSynced(t *testing.T) {
	synced, rest := strings.Repeat("s", 700), strings.Repeat("r", 3000)
	kinds := map[string]int{}
	for seed := range uint64(200) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		f := create(t, d.Process(), "file")
		write(t, f, synced)
		require.NoError(t, f.Sync())
		write(t, f, rest)
		d.PowerCut()

		got := content(t, d.Process(), "file")
		require.True(t, strings.HasPrefix(got, synced), "what was synced is there")
		after := strings.TrimPrefix(got, synced)
		kind := "all"
		for _, name := range []string{memdisk.LostWrite, memdisk.TornWrite, memdisk.ReorderedWrite} {
			if d.Injected()[name] > 0 {
				kind = name
			}
		}
		switch kinds[kind]++; kind {
		case memdisk.LostWrite:
			require.Empty(t, after)
		case memdisk.TornWrite:
			require.Less(t, len(after), len(rest))
			require.Equal(t, rest[:len(after)], after)
		case memdisk.ReorderedWrite:
			require.Len(t, after, len(rest))
			require.Contains(t, after, "\x00")
			require.Empty(t, strings.Trim(after, "r\x00"))
		default:
			require.Equal(t, rest, after)
		}
	}
	for _, kind := range []string{"all", memdisk.LostWrite, memdisk.TornWrite, memdisk.ReorderedWrite} {
		assert.Greater(t, kinds[kind], 20, kind)
	}
}

func TestPowerCutMayUndoATruncation(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		f := create(t, d.Process(), "file")
		write(t, f, "synced")
		require.NoError(t, f.Sync())
		require.NoError(t, f.Truncate(2))
		write(t, f, "AB")
		d.PowerCut()
		seen[content(t, d.Process(), "file")] = true
	}
	assert.Equal(t, map[string]bool{"synced": true, "sy": true, "syA": true, "syAB": true, "sync": true}, seen)
}

func TestNameIsDurableAfterSyncFolder(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(100) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		p := d.Process()
		for _, name := range []string{"old", "new"} {
			f := create(t, p, name)
			write(t, f, name)
			require.NoError(t, f.Sync())
		}
		require.NoError(t, p.Rename("new", "old"))
		require.NoError(t, p.Mkdir("folder", 0o755))
		_, err := p.OpenFile("folder/file", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		if seed%2 == 0 {
			require.NoError(t, p.SyncFolder("folder"))
			require.NoError(t, p.SyncFolder("."))
		}
		d.PowerCut()
		p = d.Process()
		entries, err := p.ReadDir(".")
		require.NoError(t, err)
		names := content(t, p, "old")
		for _, e := range entries {
			names += " " + e.Name()
		}
		if _, err := p.Stat("folder/file"); err == nil {
			names += "/file"
		}
		if seed%2 == 0 {
			require.Equal(t, "new folder old/file", names)
		}
		seen[names] = true
	}
	assert.Equal(t, map[string]bool{
		"new folder old/file": true, "new folder old": true, "new old": true, // folder in the order of the alphabet
		"old folder new old/file": true, "old folder new old": true, "old new old": true,
	}, seen)
}

func TestLaterNameIsNotThereWithoutTheEarlierOne(t *testing.T) {
	for seed := range uint64(50) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		p := d.Process()
		f := create(t, p, "a")
		write(t, f, "first")
		require.NoError(t, f.Sync())
		require.NoError(t, p.Rename("a", "b"))
		second, err := p.OpenFile("a", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		write(t, second, "second")
		require.NoError(t, second.Sync())
		d.PowerCut()
		p = d.Process()
		if _, err := p.Stat("b"); errors.Is(err, fs.ErrNotExist) {
			require.Equal(t, "first", content(t, p, "a"))
		} else {
			require.Equal(t, "first", content(t, p, "b"))
		}
	}
}

func TestSyncAllMakesEverythingDurable(t *testing.T) {
	for seed := range uint64(20) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		p := d.Process()
		require.NoError(t, p.MkdirAll("a/b", 0o755))
		folder, err := disk.Open(p, "a")
		require.NoError(t, err)
		f, err := p.OpenFile("a/b/file", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		write(t, f, "text")
		require.NoError(t, p.SyncAll(folder))
		d.PowerCut()
		require.Equal(t, "text", content(t, d.Process(), "a/b/file"))
	}
}

// After a failed sync the cache has the data, the next sync succeeds, and a power cut shows that the data was lost.
func TestFailedSyncLosesItsData(t *testing.T) {
	d := with(faults.FailedSync)
	p := d.Process()
	f := create(t, p, "file")
	write(t, f, "lost")
	require.ErrorIs(t, f.Sync(), syscall.EIO)
	assert.Equal(t, "lost", content(t, p, "file"))
	require.NoError(t, f.Sync())
	write(t, f, " later")
	require.NoError(t, f.Sync())
	assert.Equal(t, "lost later", content(t, p, "file"))
	d.PowerCut()
	assert.Equal(t, "\x00\x00\x00\x00 later", content(t, d.Process(), "file"))

	f = create(t, d.Process(), "other")
	write(t, f, strings.Repeat("x", 512)+"lost")
	require.ErrorIs(t, f.Sync(), syscall.EIO)
	require.NoError(t, f.Sync())
	d.PowerCut()
	assert.Equal(t, strings.Repeat("\x00", 516), content(t, d.Process(), "other"), "and all that follows it")
	assert.Equal(t, 3, d.Injected()["failed sync"], "one of the folder")
}

// The next sync of a folder writes the names that a failed one has not.
func TestFailedSyncOfAFolder(t *testing.T) {
	lost := 0
	for seed := range uint64(20) {
		o := memdisk.Options{Seed: seed}
		o.Chances[faults.FailedSync] = 1
		d := memdisk.New(o)
		p := d.Process()
		require.NoError(t, p.Mkdir("one", 0o755))
		require.ErrorIs(t, p.SyncFolder("."), syscall.EIO)
		require.NoError(t, p.SyncFolder("."))
		require.NoError(t, p.Mkdir("one/two", 0o755))
		require.ErrorIs(t, p.SyncFolder("one"), syscall.EIO)
		d.PowerCut()
		p = d.Process()
		_, err := p.Stat("one")
		require.NoError(t, err)
		if _, err = p.Stat("one/two"); err != nil {
			lost++
		}
	}
	assert.Positive(t, lost)
	assert.Less(t, lost, 20)
}

// Data that was written again after a failed sync is durable.
func TestDataThatIsWrittenAgainIsDurable(t *testing.T) {
	d := with(faults.FailedSync)
	f := create(t, d.Process(), "file")
	write(t, f, "lost")
	require.ErrorIs(t, f.Sync(), syscall.EIO)
	require.NoError(t, f.Truncate(0))
	write(t, f, "again")
	require.NoError(t, f.Sync())
	d.PowerCut()
	assert.Equal(t, "again", content(t, d.Process(), "file"))
}

func TestFullDisk(t *testing.T) {
	d := with(faults.FullDisk)
	p := d.Process()
	_, err := p.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
	require.EqualError(t, err, "open file: no space left on device")
	require.ErrorIs(t, p.Mkdir("folder", 0o755), syscall.ENOSPC)
	f := create(t, p, "file")
	n, err := f.Write(bytes.Repeat([]byte("x"), 600))
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Zero(t, n)
	n, err = f.Write(bytes.Repeat([]byte("x"), 600))
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Equal(t, 512, n, "a part is written")
	write(t, f, "more")
	d.SetFull(true)
	_, err = f.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	d.SetFull(false)
	write(t, f, "x")
}

func TestReadError(t *testing.T) {
	d := with(faults.ReadError)
	write(t, create(t, d.Process(), "file"), strings.Repeat("x", 600))
	f := create(t, d.Process(), "file")
	text := make([]byte, 700)
	_, err := f.Read(text)
	require.EqualError(t, err, "read file: input/output error")
	n, err := f.Read(text)
	require.ErrorIs(t, err, syscall.EIO)
	assert.Equal(t, 512, n)
	n, err = f.Read(text)
	require.NoError(t, err)
	assert.Equal(t, 88, n)
}

func TestBitFlipsWhileThePowerIsOff(t *testing.T) {
	d := with(faults.FlippedBit)
	p := d.Process()
	f := create(t, p, "file")
	before := strings.Repeat("x", 1000)
	write(t, f, before)
	require.NoError(t, f.Sync())
	p.Kill()
	assert.Equal(t, before, content(t, d.Process(), "file"))
	d.PowerCut()
	after := content(t, d.Process(), "file")
	flipped := 0
	for i := range before {
		flipped += bits.OnesCount8(before[i] ^ after[i])
	}
	assert.Equal(t, 2, flipped, "one in 512 bytes")
	assert.Equal(t, 2, d.RestoreFlippedBits())
	assert.Equal(t, before, content(t, d.Process(), "file"))
	d.PowerCut()
	assert.Equal(t, before, content(t, d.Process(), "file"), "each fault happens once")
}

func TestSlowSyncTakesTimeOfTheDisk(t *testing.T) {
	d := with(faults.SlowSync)
	f := create(t, d.Process(), "file")
	write(t, f, "x")
	require.NoError(t, f.Sync())
	slept := d.Slept()
	assert.Positive(t, slept)
	assert.Less(t, slept, 20*time.Second, "of the file and its folder")

	var took time.Duration
	o := memdisk.Options{Sleep: func(t time.Duration) { took += t }}
	o.Chances[faults.SlowSync] = 1
	f = create(t, memdisk.New(o).Process(), "file")
	write(t, f, "x")
	require.NoError(t, f.Sync())
	assert.Equal(t, slept, took)
}

func TestCrashDuringASync(t *testing.T) {
	for kind, want := range map[faults.DiskFault]string{faults.PowerCut: "power cut", faults.Kill: "kill"} {
		d := with(kind)
		p := d.Process()
		require.NoError(t, p.Mkdir("folder", 0o755))
		require.ErrorIs(t, p.SyncFolder("."), memdisk.ErrKilled)
		<-p.Ended()

		d = with(kind)
		p, other := d.Process(), d.Process()
		f, err := p.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		write(t, f, "text")
		require.ErrorIs(t, f.Sync(), memdisk.ErrKilled)
		<-p.Ended()
		_, err = other.Stat("file")
		assert.Equal(t, kind == faults.PowerCut, errors.Is(err, memdisk.ErrKilled), "a power cut ends all processes")
		assert.Equal(t, 1, d.Injected()[want])
		f = create(t, d.Process(), "other")
		write(t, f, "text")
		require.NoError(t, f.Sync(), "no more than MaxCrashes")
	}
}

// Half of the crashes come when the sync has done its work: a power cut leaves all of the file.
func TestCrashDuringASyncIsBeforeOrAfterItsEffect(t *testing.T) {
	for _, kind := range []faults.DiskFault{faults.PowerCut, faults.Kill} {
		whole := 0
		for seed := range uint64(200) {
			o := memdisk.Options{Seed: seed, MaxCrashes: 2} // one of the folder
			o.Chances[kind] = 1
			d := memdisk.New(o)
			p := d.Process()
			require.NoError(t, p.Mkdir("folder", 0o755))
			require.ErrorIs(t, p.SyncFolder("."), memdisk.ErrKilled)
			f := create(t, d.Process(), "file")
			write(t, f, strings.Repeat("text", 4096)) // it is rarely kept as a whole by chance
			require.ErrorIs(t, f.Sync(), memdisk.ErrKilled)
			d.PowerCut()
			if len(strings.Trim(content(t, d.Process(), "file"), "\x00")) == 4*4096 {
				whole++
			}
		}
		assert.InDelta(t, 120, whole, 30, "%v: half, and some by chance", kind)
	}
}

// TestFaultsDoNotDependOnTheOrderOfCalls has several files written in two orders.
func TestFaultsDoNotDependOnTheOrderOfCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := memdisk.Options{Seed: rapid.Uint64().Draw(t, "seed"), Chances: faults.AllDiskFaults(0.2)}
		o.Chances[faults.PowerCut], o.Chances[faults.Kill] = 0, 0 // what follows differs
		scripts := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"write", "write", "sync", "read", "truncate", "names"}), 1, 12),
			1, 4).Draw(t, "scripts")
		play := func(order []int) string {
			d := memdisk.New(o)
			p, next := d.Process(), make([]int, len(scripts))
			result := make([]string, len(scripts))
			for _, i := range order {
				result[i] += step(p, fmt.Sprint("file", i), scripts[i][next[i]]) + "; "
				next[i]++
			}
			d.PowerCut()
			var all []string
			for i := range scripts {
				text, err := disk.Read(d.Process(), fmt.Sprint("file", i), 1<<20)
				all = append(all, fmt.Sprintf("%s: %q %v", result[i], text, err))
			}
			return fmt.Sprint(all, d.Injected(), d.Slept())
		}
		var order []int
		for i, script := range scripts {
			for range script {
				order = append(order, i)
			}
		}
		other := rapid.Permutation(order).Draw(t, "order")
		require.Equal(t, play(order), play(other))
	})
}

// step does one thing with a file.
func step(d disk.Disk, path, do string) string {
	if do == "names" {
		return fmt.Sprint(d.Rename(path, path+"x"), d.Rename(path+"x", path))
	}
	f, err := d.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	switch do {
	case "write":
		n, err := f.Write(bytes.Repeat([]byte(path), 100))
		return fmt.Sprint(n, err)
	case "sync":
		return fmt.Sprint(f.Sync())
	case "truncate":
		return fmt.Sprint(f.Truncate(700))
	}
	text := make([]byte, 5000)
	n, err := f.ReadAt(text, 0)
	return fmt.Sprintf("%q %v", text[:n], err)
}
