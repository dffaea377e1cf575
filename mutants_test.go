package main_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var plant = flag.Bool("mutants", false, "plant the bugs of testdata/mutants and run the tests that must find them")

// TestPlantedBugsAreFound plants each bug of testdata/mutants, without a change of the source file, and runs the tests
// that its row names, in order, until one fails. A bug that none of them finds is a test that the project lacks.
func TestPlantedBugsAreFound(t *testing.T) {
	rows := mutants(t)
	assert.GreaterOrEqual(t, len(rows), 25)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			mutant := row.check(t)
			if !*plant {
				return
			}
			t.Parallel()
			begun, overlay := time.Now(), row.overlay(t, mutant)
			for _, run := range row.tests {
				if found := run.with(t, overlay); found != "" {
					t.Logf("found by %s of %s after %.0f s", found, run.pkg, time.Since(begun).Seconds())
					return
				}
			}
			t.Error("no test finds it")
		})
	}
}

// A mutant is a planted bug.
type mutant struct {
	name     string // what breaks
	file     string
	was, is  string
	tests    []mutantTests // that find it, the likeliest first
	location string        // of the row
}

// Tests of a package, all of them if none is named.
type mutantTests struct {
	pkg   string
	names []string
}

// mutants reads the rows of all tables. A row ends with an empty line. Its lines begin with a word: "#" is followed by
// what breaks, "file" by a path, each "-" by a line of the old text and each "+" by one of the new text, and "test" by a
// package and names of its tests.
func mutants(t *testing.T) (rows []*mutant) {
	t.Helper()
	tables, err := filepath.Glob("testdata/mutants/*.txt")
	require.NoError(t, err)
	for _, table := range tables {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			row := &mutant{location: table}
			var was, is []string
			for line := range strings.Lines(block) {
				word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				switch word {
				case "#":
					row.name = rest
				case "file":
					row.file = rest
				case "-":
					was = append(was, rest)
				case "+":
					is = append(is, rest)
				case "test":
					words := strings.Fields(rest)
					row.tests = append(row.tests, mutantTests{words[0], words[1:]})
				default:
					require.Fail(t, "unknown word in a row", "%s: %s", table, line)
				}
			}
			row.was, row.is = strings.Join(was, "\n"), strings.Join(is, "\n")
			rows = append(rows, row)
		}
	}
	return rows
}

// check returns the source with the bug. It fails if the row no longer fits the sources, or the tests that it names.
func (m *mutant) check(t *testing.T) (source string) {
	t.Helper()
	require.NotEmpty(t, m.name, m.location)
	text, err := os.ReadFile(m.file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), m.was), "how often %s has the old text: %s", m.file, m.was)
	source = strings.Replace(string(text), m.was, m.is, 1)
	_, err = parser.ParseFile(token.NewFileSet(), m.file, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.NotEqual(t, m.was, m.is)
	require.NotEmpty(t, m.tests)
	for _, run := range m.tests {
		for _, name := range run.names {
			assert.True(t, hasTest(t, run.pkg, name), "%s has the test %s", run.pkg, name)
		}
	}
	return source
}

// overlay returns the file by which the source with the bug takes the place of the right one.
func (m *mutant) overlay(t *testing.T, source string) string {
	t.Helper()
	path, err := filepath.Abs(m.file)
	require.NoError(t, err)
	dir := t.TempDir()
	planted := filepath.Join(dir, filepath.Base(m.file))
	require.NoError(t, os.WriteFile(planted, []byte(source), 0o600))
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: planted}})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	return overlay
}

// with runs the tests on the source with the bug, and returns the first one that fails; "" for none. A bug that the
// compiler finds, or only a golden file, is no bug of a table.
func (r mutantTests) with(t *testing.T, overlay string) (found string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "-failfast", "-count=1", "-timeout=2m",
		"-overlay", overlay, "-run", "^("+strings.Join(r.names, "|")+")", "./"+r.pkg)
	out, err := run.Output()
	if err == nil {
		return ""
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var event struct{ Action, Test, Output string }
		require.NoError(t, decoder.Decode(&event))
		failed := event.Action == "fail" || strings.HasPrefix(event.Output, "panic: ")
		if failed && len(event.Test) > len(found) { // a test fails after its parts
			found = event.Test
		}
	}
	require.NotEmpty(t, found, "no test failed: %s", out[max(0, len(out)-2000):])
	require.NotRegexp(t, golden, string(out), "a golden file alone finds it")
	return found
}

// golden matches what a test says whose golden file differs.
var golden = regexp.MustCompile(`with -update|go test .* -update`)
