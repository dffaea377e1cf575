//go:build unix

package audit_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The author of a data folder cannot make the audit wait for ever by a named pipe.
func TestNamedPipeInPlaceOfAFileIsAFinding(t *testing.T) {
	for _, file := range []string{
		journalFile, standingsFile, roundsFile, "data/leagues/cup/agents.json", r1m1, historyP01,
		"data/matches/cup/REF01.wal.jsonl",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			path := filepath.Join(w.dir.Path, file)
			_ = os.Remove(path)
			require.NoError(t, syscall.Mkfifo(path, 0o600))
			assert.Contains(t, listed(w.audit().Findings), "it is not a regular file")
		})
	}
}
