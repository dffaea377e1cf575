package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every claim of the page on security names tests that hold it, and they are
// there.
func TestSecurityClaimsHaveTests(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	require.NoError(t, err)
	claims, _, found := strings.Cut(string(page), "\n## What stays possible")
	require.True(t, found, "the section on what no test can hold")
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)` in ([\\w/]+)")
	count := 0
	for line := range strings.Lines(claims) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		tests := named.FindAllStringSubmatch(line, -1)
		assert.NotEmpty(t, tests, "no test holds: %s", line)
		for _, test := range tests {
			count++
			assert.True(t, hasTest(t, test[2], test[1]), "%s has no %s", test[2], test[1])
		}
	}
	assert.Greater(t, count, 30)
}

// hasTest tells whether a test stands in a folder.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
