package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// A folder that does not exist yet has the space of the folder in which it will be.
func TestFreeSpaceOfAFolder(t *testing.T) {
	dir := t.TempDir()
	free, err := store.FreeSpace(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT RUN: this system does not report the free space")
	}
	require.NoError(t, err)
	assert.Positive(t, free)
	_, err = store.FreeSpace(filepath.Join(dir, "league", "logs"))
	require.NoError(t, err)
}
