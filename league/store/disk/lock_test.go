package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store/disk"
)

func TestLockFileExcludesOthers(t *testing.T) {
	d, path := disk.Real{}, filepath.Join(t.TempDir(), "league.lock")
	_, err := d.LockFile(path, false)
	require.Error(t, err, "only an exclusive lock creates the file")
	unlock, err := d.LockFile(path, true)
	require.NoError(t, err)
	for _, exclusive := range []bool{true, false} {
		_, err = d.LockFile(path, exclusive)
		require.ErrorIs(t, err, disk.ErrInUse)
	}
	require.NoError(t, unlock())
	shared, err := d.LockFile(path, false)
	require.NoError(t, err)
	also, err := d.LockFile(path, false)
	require.NoError(t, err)
	_, err = d.LockFile(path, true)
	require.ErrorIs(t, err, disk.ErrInUse)
	require.NoError(t, errors.Join(shared(), also()))
}

func TestFileKnowsWhetherItIsAtAPath(t *testing.T) {
	d, path := disk.Real{}, filepath.Join(t.TempDir(), "file")
	file, err := d.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	assert.True(t, file.IsAt(path))
	require.NoError(t, d.Rename(path, path+".old"))
	assert.False(t, file.IsAt(path))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	assert.False(t, file.IsAt(path))
	assert.True(t, file.IsAt(path+".old"))
}
