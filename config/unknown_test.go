package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

func TestUnknownMembersAreListed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config", "system.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(`{
		"schema_version": "1.0.0", "_remark": "ours", "colour": "red",
		"timeouts": {"move_timeot_sec": 5, "move_timeout_sec": 6, "$why": "slow"}
	}`), 0o600))
	l := config.NewLoader(dir, config.Known{})
	assert.Empty(t, l.Unknown(), "nothing was read")
	system, err := l.System()
	require.NoError(t, err)
	assert.Equal(t, []string{path + ": colour", path + ": timeouts.move_timeot_sec (did you mean move_timeout_sec?)"}, l.Unknown())
	assert.Equal(t, 6, system.Timeouts.Move)

	empty := config.NewLoader(t.TempDir(), config.Known{})
	_, err = empty.System()
	require.NoError(t, err)
	assert.Empty(t, empty.Unknown(), "what is built in has effect")
}
