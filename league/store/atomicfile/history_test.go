package atomicfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// TestRandomHistories writes files on disks with faults, with crashes at any moment. A file has the content of the last
// write that succeeded, or that of a later one that failed, and never a part of one.
func TestRandomHistories(t *testing.T) {
	const seeds, missing = 300, "no file"
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := memdisk.Options{Seed: seed, Chances: faults.AllDiskFaults(0.05), MaxCrashes: 3}
		o.Chances[faults.FlippedBit] = 0 // the files have no checksums
		d := memdisk.New(o)
		possible := map[string][]string{}
		for number := range 40 {
			p := d.Process()
			path := fmt.Sprintf("folder%d/file", r.IntN(3))
			if possible[path] == nil {
				possible[path] = []string{missing}
			}
			text := fmt.Sprintf("%d %s", number, strings.Repeat("x", r.IntN(1500)))
			write := atomicfile.WriteFile
			if r.IntN(3) == 0 {
				write = atomicfile.CreateFile
			}
			err := atomicfile.MakeFolder(p, path[:len("folder0")], 0o755)
			if err == nil {
				err = write(p, path, []byte(text), 0o644)
			}
			switch {
			case err == nil:
				seen["success"]++
				possible[path] = []string{text}
			case errors.Is(err, fs.ErrExist): // CreateFile replaces none
			default:
				seen["failure"]++
				possible[path] = append(possible[path], text)
			}
			cut := r.IntN(4) == 0
			if p.Kill(); cut {
				d.PowerCut()
			}
			for path, texts := range possible {
				is, err := disk.Read(d.Process(), path, 1<<20)
				switch {
				case errors.Is(err, fs.ErrNotExist):
					is = []byte(missing)
				case err != nil:
					continue // a fault of the disk
				}
				require.True(t, slices.Contains(texts, string(is)), "seed %d: %s is %.20q", seed, path, is)
				if cut {
					possible[path] = []string{string(is)}
				}
			}
		}
		for kind, n := range d.Injected() {
			seen[kind] += n
		}
	}
	for _, what := range []string{"success", "failure", "failed sync", "full disk", "read error", "power cut", "undone name"} {
		assert.Positive(t, seen[what], what)
	}
}
