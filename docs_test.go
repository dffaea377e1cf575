package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each claim and each threat in docs/security.md names a test, and each named test exists.
func TestSecurityClaimsHaveTests(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	require.NoError(t, err)
	claims, _, found := strings.Cut(string(page), "\n## Remaining risks")
	require.True(t, found, "the section on remaining risks")
	_, threats, found := strings.Cut(claims, "\n| attacker | asset | protection | test |\n| --- | --- | --- | --- |\n")
	require.True(t, found, "the table of threats")
	threats, _, _ = strings.Cut(threats, "\n\n")
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)` in ([\\w/]+)")
	claimed := 0
	for line := range strings.Lines(claims) {
		if strings.HasPrefix(line, "- ") || strings.Contains(threats, line) && line != "\n" {
			claimed++
			assert.Regexp(t, named, line, "no test for this claim")
		}
	}
	assert.Greater(t, claimed, 60)
	for _, test := range named.FindAllStringSubmatch(string(page), -1) {
		assert.True(t, hasTest(t, test[2], test[1]), "%s has no %s", test[2], test[1])
	}
	assert.Len(t, regexp.MustCompile("`(?:Test|Fuzz)\\w+`").FindAllString(string(page), -1), len(named.FindAllString(string(page), -1)), "each test has its folder")
}

// ARCHITECTURE.md has one row for each package and for each library that go.mod requires,
// and no others.
func TestArchitectureListsEveryPackageAndLibrary(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	_, page, found := bytes.Cut(page, []byte("\n## Packages\n"))
	require.True(t, found)
	rows, rest, found := strings.Cut(string(page), "\n## ")
	require.True(t, found)
	_, libraries, found := strings.Cut(rest, "\n## Libraries\n")
	require.True(t, found)

	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if ne .Name \"main\"}}{{.ImportPath}}{{end}}", "./...")
	packages, err := list.Output()
	require.NoError(t, err)
	for name := range strings.FieldsSeq(string(packages)) {
		pkg := shortened(name)
		if strings.HasPrefix(pkg, "rules/") && pkg != "rules/rulestest" {
			continue // a game; cmd/games.go lists the games
		}
		assert.True(t, strings.Contains(rows, "`"+pkg+"`") || strings.Contains(rows, "`"+path.Base(pkg)+"`"), "no row for %s", pkg)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(rows, -1) {
		for _, pkg := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			_, err := os.Stat(pkg[1])
			assert.NoError(t, err, "ARCHITECTURE.md lists a package that does not exist")
		}
	}

	var module struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	text, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json").Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &module))
	var required, named []string
	for _, library := range module.Require {
		if !library.Indirect {
			required = append(required, library.Path)
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z][^|]*\.[^|]*) \|`).FindAllStringSubmatch(libraries, -1) {
		named = append(named, strings.Split(row[1], ", ")...)
	}
	assert.ElementsMatch(t, required, named)
}

// hasTest reports whether a folder contains a test.
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
