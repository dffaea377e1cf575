package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each arrow of the diagram of packages in ARCHITECTURE.md is an import, and each package of
// it exists.
func TestPackageDiagramShowsImports(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	_, diagram, found := strings.Cut(string(page), "\nflowchart LR\n")
	require.True(t, found)
	diagram, _, _ = strings.Cut(diagram, "```")

	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	out, err := list.Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		for i := range paths {
			paths[i] = shortened(paths[i])
		}
		imports[paths[0]] = paths[1:]
	}

	packages := map[string]string{} // by the id of the node
	for _, node := range regexp.MustCompile(`(?m)^ +(\w+)(?:\["([\w./]+)"\])?(?: -->.*)?$`).FindAllStringSubmatch(diagram, -1) {
		switch {
		case node[2] != "":
			packages[node[1]] = strings.TrimSuffix(node[2], ".go")
		case packages[node[1]] == "":
			packages[node[1]] = node[1]
		}
	}
	delete(packages, "end")
	for _, name := range packages {
		assert.Contains(t, imports, name, "the diagram shows a package that does not exist")
	}
	arrows := 0
	for line := range strings.Lines(diagram) {
		ends := strings.Split(regexp.MustCompile(`\[.*?\]`).ReplaceAllString(line, ""), "-->")
		for i := range ends[1:] {
			from := packages[strings.TrimSpace(ends[i])]
			for to := range strings.SplitSeq(ends[i+1], "&") {
				arrows++
				assert.True(t, slices.Contains(imports[from], packages[strings.TrimSpace(to)]), "%s does not import %s", from, strings.TrimSpace(to))
			}
		}
	}
	assert.Greater(t, arrows, 30)
}
