package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pagesIn returns the files of a folder by name.
func pagesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	pages := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		pages[f.Name()] = string(text)
	}
	return pages
}

// The manual has a page for each command with all its flags, and the same bytes each time.
func TestManualHasEveryCommandAndFlag(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "new", "man1"), filepath.Join(dir, "again")
	for _, to := range []string{first, second} {
		var out, problems bytes.Buffer
		require.Zero(t, Execute(t.Context(), "test", []string{"man", to}, &out, &problems), problems.String())
		assert.Empty(t, out.String())
	}
	pages := pagesIn(t, first)
	assert.Equal(t, pages, pagesIn(t, second))
	commands := documented(t)
	for path, c := range commands {
		page := pages[strings.ReplaceAll(path, " ", "-")+".1"]
		require.NotEmpty(t, page, path)
		assert.Contains(t, page, c.Short, path)
		c.InheritedFlags()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				assert.Contains(t, page, "--"+f.Name, "%s --%s", path, f.Name)
			}
		})
		for line := range strings.Lines(page) {
			assert.False(t, strings.HasPrefix(line, "'"), "%s: roff takes the line for a request: %s", path, line)
		}
	}
}
