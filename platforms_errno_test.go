package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Windows returns its own errors of sockets, and never syscall.ECONNREFUSED and its like. Package
// transport has those of each system.
func TestErrorsOfSocketsAreThoseOfTheSystem(t *testing.T) {
	t.Parallel()
	unix := regexp.MustCompile(`syscall\.E(ADDR|CONN|NOBUFS|NET|HOST|MFILE|NFILE|TIMEDOUT|PIPE)`)
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "transport" {
			return err
		}
		text, err := os.ReadFile(path)
		assert.Empty(t, unix.FindString(string(text)), path)
		return err
	}))
}
