package page

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVendoredFilesAreThoseOfTheTable(t *testing.T) {
	table, err := files.ReadFile("assets/LICENSES.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.SplitSeq(string(table), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || !strings.Contains(cells[1], ".") {
			continue
		}
		name := strings.TrimSpace(cells[1])
		text, err := files.ReadFile("assets/" + name)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		assert.Equal(t, strings.TrimSpace(cells[5]), hex.EncodeToString(sum[:]), name)
		listed[name] = true
	}
	names, err := fs.Glob(files, "assets/*.min.*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.True(t, listed[strings.TrimPrefix(name, "assets/")], "%s is not in LICENSES.md", name)
	}
}

// The pages transfer little, so that a class of phones loads them at once.
func TestAssetsAreSmall(t *testing.T) {
	all, err := readAssets()
	require.NoError(t, err)
	sum := 0
	for name, a := range all {
		if strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".css") {
			sum += len(a.text)
		}
	}
	assert.Less(t, sum, 90<<10, "bytes of all scripts and styles")
}
