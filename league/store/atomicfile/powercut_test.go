package atomicfile_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// powerCuts is how many power cuts a test has, each of which leaves something else.
const powerCuts = 64

// A cutting disk has a power cut after a new name is on its way to the disk.
type cutting struct {
	disk.Disk

	cut func()
}

func (d cutting) Rename(from, to string) error {
	defer d.cut()
	return d.Disk.Rename(from, to)
}

func (d cutting) Link(from, to string) error {
	defer d.cut()
	return d.Disk.Link(from, to)
}

func TestPowerCutLeavesNoPartOfAFile(t *testing.T) {
	for seed := range uint64(powerCuts) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		require.NoError(t, atomicfile.WriteFile(d.Process(), "file", []byte("old"), 0o644))
		p := cutting{d.Process(), d.PowerCut}
		require.Error(t, atomicfile.WriteFile(p, "file", []byte("new"), 0o644))
		text, err := disk.Read(d.Process(), "file", 10)
		require.NoError(t, err)
		assert.Contains(t, []string{"old", "new"}, string(text))

		p.Disk = d.Process()
		require.Error(t, atomicfile.CreateFile(p, "other", []byte("new"), 0o644))
		if text, err = disk.Read(d.Process(), "other", 10); !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
			assert.Equal(t, "new", string(text))
		}
	}
}

func TestWrittenFileSurvivesAPowerCut(t *testing.T) {
	for seed := range uint64(powerCuts) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		for n, write := range []func(d disk.Disk, path string, data []byte, mode fs.FileMode) error{
			atomicfile.CreateFile, atomicfile.WriteFile,
		} {
			data := []byte{byte(n)}
			require.NoError(t, write(d.Process(), "file", data, 0o644))
			d.PowerCut()
			text, err := disk.Read(d.Process(), "file", 10)
			require.NoError(t, err)
			assert.Equal(t, data, text)
		}
	}
}

// A folder that another process has made, or whose sync has failed, may not be durable.
func TestFolderSurvivesAPowerCut(t *testing.T) {
	for seed := range uint64(powerCuts) {
		o := memdisk.Options{Seed: seed}
		o.Chances[faults.FailedSync] = float64(seed%2) / 2
		d := memdisk.New(o)
		p := d.Process()
		require.NoError(t, p.Mkdir("a", 0o755))
		for atomicfile.MakeFolder(p, "a/b", 0o755) != nil {
		}
		require.NoError(t, p.Mkdir("a/b/c", 0o755))
		for atomicfile.MakeFolder(p, "a/b/c", 0o755) != nil {
		}
		d.PowerCut()
		_, err := d.Process().Stat("a/b/c")
		require.NoError(t, err, "seed %d", seed)
	}
}
