package store

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league/store/disk"
)

// The bounds of what ConfigDigests reads.
const (
	maxConfig      = 4 << 20 // bytes of a file
	maxConfigFiles = 100
)

// ConfigDigests returns hex SHA-256 of each file below config, by its path there with slashes. Of the files of leagues
// it has those of some ids: that of the league, and that whose rules it has. Files that are hidden, too large or no
// regular files have none; nil if there are no files.
func (f Folder) ConfigDigests(leagueIDs ...string) (digests map[string]string) {
	digests = map[string]string{}
	if info, err := f.Disk.Lstat(f.path("config")); err == nil && info.IsDir() {
		f.addDigests(digests, "", leagueIDs)
	}
	if len(digests) == 0 {
		return nil
	}
	return digests
}

// addDigests adds those of the files below a folder in config, whose name has slashes.
func (f Folder) addDigests(digests map[string]string, folder string, leagueIDs []string) {
	entries, _ := f.Disk.ReadDir(f.path("config", filepath.FromSlash(folder))) // after an error those that were read
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			f.addDigests(digests, name, leagueIDs)
			continue
		}
		if strings.HasPrefix(e.Name(), ".") || len(digests) >= maxConfigFiles {
			continue
		}
		id, ofLeague := strings.CutPrefix(name, "leagues/")
		if ofLeague && !slices.Contains(leagueIDs, strings.TrimSuffix(id, ".json")) {
			continue
		}
		if text, err := disk.Read(f.Disk, f.path("config", filepath.FromSlash(name)), maxConfig); err == nil {
			sum := sha256.Sum256(text)
			digests[name] = hex.EncodeToString(sum[:])
		}
	}
}
