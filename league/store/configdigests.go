package store

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league/store/openfile"
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
	root := f.path("config")
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a folder that cannot be read whole: the entries that were read follow
		}
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || len(digests) >= maxConfigFiles {
			return nil
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		id, ofLeague := strings.CutPrefix(name, "leagues/")
		if ofLeague && !slices.Contains(leagueIDs, strings.TrimSuffix(id, ".json")) {
			return nil
		}
		if text, err := openfile.Read(path, maxConfig); err == nil {
			if digests == nil {
				digests = map[string]string{}
			}
			sum := sha256.Sum256(text)
			digests[name] = hex.EncodeToString(sum[:])
		}
		return nil
	})
	return digests
}
