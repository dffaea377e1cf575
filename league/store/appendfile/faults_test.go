package appendfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

const path = "data/lines.jsonl"

// openLines opens a file of sealed lines, and returns them.
func openLines(d disk.Disk) (f *appendfile.File, lines []string, err error) {
	f, _, err = appendfile.Open(d, path, "the file", func(number int, text []byte) error {
		if err := appendfile.CheckSeal(number, text); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		lines = append(lines, string(text))
		return nil
	})
	return f, lines, err
}

// line is a sealed line of any length.
func line(n, length int) []byte {
	return appendfile.Seal(fmt.Appendf(nil, `{"number":%d,"text":%q}`, n, bytes.Repeat([]byte("x"), length)))
}

// with is a disk whose places have some kinds of faults.
func with(kinds ...faults.DiskFault) *memdisk.Disk {
	var o memdisk.Options
	for _, kind := range kinds {
		o.Chances[kind] = 1
	}
	return memdisk.New(o)
}

// After a failed sync the system counts the data as written: a sync of the reopened file succeeds, and a power cut shows
// that the data is lost.
func TestLineOfAFailedSyncIsNeverAcknowledged(t *testing.T) {
	d := with(faults.FailedSync)
	p := d.Process()
	f, _, err := openLines(p)
	for ; err != nil; f, _, err = openLines(p) {
		require.ErrorContains(t, err, "the folder's entry is not safe yet")
	}
	n, err := f.Append(line(1, 1), true)
	require.NoError(t, err)
	require.EqualError(t, f.Sync(n), "cannot write the file: sync data/lines.jsonl: input/output error. "+
		"Nothing that was acknowledged is lost: repair the disk and start again")
	_, err = f.Append(line(2, 1), true)
	require.ErrorIs(t, err, syscall.EIO)
	require.Error(t, f.Close())

	f, lines, err := openLines(p)
	require.NoError(t, err)
	require.Empty(t, lines, "a line that is not on the disk")
	n, err = f.Append(line(3, 1), true)
	require.NoError(t, err)
	require.NoError(t, f.Sync(n))
	d.PowerCut()
	_, lines, err = openLines(d.Process())
	require.NoError(t, err)
	assert.Equal(t, []string{string(line(3, 1))}, lines)
}

func TestFullDiskSaysHowToGoOn(t *testing.T) {
	d := memdisk.New(memdisk.Options{})
	p := d.Process()
	f, _, err := openLines(p)
	require.NoError(t, err)
	d.SetFull(true)
	n, err := f.Append(line(1, 1), true)
	require.NoError(t, err)
	require.EqualError(t, f.Sync(n), "cannot write the file: write data/lines.jsonl: no space left on device. "+
		"Nothing that was acknowledged is lost: free space on the disk and start again")
}

// Where a file system writes later bytes first, a power cut leaves zeros for those that it has not written.
func TestZerosTearLines(t *testing.T) {
	whole := append(line(1, 1), '\n')
	for name, rest := range map[string][]byte{
		"only zeros":                   make([]byte, 600),
		"zeros in the last line":       append(append(line(2, 900)[:500:500], make([]byte, 12)...), "}\n"...),
		"zeros and a whole line after": append(append(make([]byte, 20), '\n'), append(line(3, 1), '\n')...),
	} {
		end, torn, err := appendfile.Lines(bytes.NewReader(append(bytes.Clone(whole), rest...)), func(number int, _ []byte) error {
			assert.Equal(t, 1, number, name)
			return nil
		})
		require.NoError(t, err, name)
		assert.Equal(t, len(whole), int(end), name)
		assert.Equal(t, len(rest), torn, name)
	}
}

// A flipped bit in the last line feed makes a durable line look like a torn one.
func TestLineWithADamagedLineFeedIsNotTorn(t *testing.T) {
	text := bytes.Join([][]byte{line(1, 1), line(2, 1), nil}, []byte("\n"))
	for bit := range 8 {
		for at, tail := range map[int]string{len(text) - 1: "", len(line(1, 1)): `{"torn`} {
			damaged := append(bytes.Clone(text[:at+1]), tail...)
			damaged[at] ^= 1 << bit
			_, _, err := appendfile.Lines(bytes.NewReader(damaged), func(int, []byte) error { return nil })
			require.ErrorIs(t, err, appendfile.ErrUnended, "bit %d of byte %d", bit, at)
		}
	}
	for cut := range text {
		_, _, err := appendfile.Lines(bytes.NewReader(text[:cut]), func(int, []byte) error { return nil })
		require.NoError(t, err, "a torn line of %d bytes", cut)
	}
}

// TestRandomHistories appends lines on disks with faults, with crashes at any moment. Each line whose sync succeeded is
// there afterwards, or the opening refuses.
func TestRandomHistories(t *testing.T) {
	const seeds = 200
	injected := map[string]int{}
	for seed := range uint64(seeds) {
		for kind, n := range randomHistory(t, seed) {
			injected[kind] += n
		}
	}
	for _, kind := range []string{"failed sync", "full disk", "read error", "flipped bit", "power cut", "torn write", "lost write"} {
		assert.Positive(t, injected[kind], kind)
	}
}

func randomHistory(t *testing.T, seed uint64) map[string]int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	o := memdisk.Options{Seed: seed, Chances: faults.AllDiskFaults(0.05), MaxCrashes: 3}
	if r.IntN(3) == 0 {
		o.Chances[faults.FlippedBit] = 0.3
	}
	d := memdisk.New(o)
	var acknowledged, appended []string
	for range 6 {
		p, failed := d.Process(), d.Injected()["failed sync"]
		f, lines, err := openLines(p)
		if err != nil {
			flipped := d.RestoreFlippedBits() > 0
			require.True(t, flipped || isDiskError(err), "seed %d: %v", seed, err)
			if p.Kill(); strings.Contains(err.Error(), "restart the machine") {
				d.PowerCut()
			}
			continue
		}
		require.GreaterOrEqual(t, len(lines), len(acknowledged), "seed %d: a line is lost", seed)
		require.True(t, slices.Equal(acknowledged, lines[:len(acknowledged)]), "seed %d: a line is another one", seed)
		for _, text := range lines[len(acknowledged):] { // an opened line is durable
			require.Contains(t, appended, text, "seed %d", seed)
		}
		acknowledged = lines
		for range r.IntN(12) {
			text := line(len(appended), r.IntN(600))
			appended = append(appended, string(text))
			number, err := f.Append(text, r.IntN(2) == 0)
			if err != nil {
				continue
			}
			lines = append(lines[:number-1:number-1], string(text))
			if r.IntN(2) == 0 && f.Sync(number) == nil {
				acknowledged = lines
			}
		}
		switch r.IntN(4) {
		case 0:
			if f.Close() == nil {
				acknowledged = lines
			}
		case 1:
			if p.Kill(); d.Injected()["failed sync"] > failed {
				d.PowerCut() // the process may have been killed after the failed sync, before it removed the lines
			}
		default:
			d.PowerCut()
		}
		_ = f.Close() // ends its goroutine
	}
	return d.Injected()
}

// isDiskError tells whether an error is that of a fault or of the end of the process.
func isDiskError(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, memdisk.ErrKilled)
}
