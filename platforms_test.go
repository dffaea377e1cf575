package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program and its tests pass the type checker of Go for each platform of a release, and for one whose
// int has 32 bits. It reads the sources and generates no code, so that all platforms take seconds and not
// minutes. .ci/dist builds the programs.
func TestProgramAndTestsAreValidOnEveryPlatform(t *testing.T) {
	if os.Getenv("EVENODD_TEST_ALL") == "" {
		t.Skip("takes 20 s of processor time; set EVENODD_TEST_ALL=1")
	}
	cache := &parsedFiles{fset: token.NewFileSet(), files: map[string]*ast.File{}}
	for _, platform := range []string{"linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
		"linux/386"} {
		t.Run(platform, func(t *testing.T) {
			assert.Greater(t, checkTypes(t, cache, platform), 100)
		})
	}
}

// parsedFiles holds each source file once. Most are the same on all platforms.
type parsedFiles struct {
	fset  *token.FileSet
	files map[string]*ast.File
}

func (s *parsedFiles) parse(path string) (*ast.File, error) {
	if f := s.files[path]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution)
	s.files[path] = f
	return f, err
}

// A listedPackage is a package or a variant of it for a test, as 'go list' prints it.
type listedPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	ForTest    string
	Module     *struct {
		Main      bool
		GoVersion string
	}
}

// own tells whether the package, or the variant with its own tests, is of this module.
func (p *listedPackage) own() bool {
	path, _, variant := strings.Cut(p.ImportPath, " ")
	return p.Module != nil && p.Module.Main && (!variant || p.ForTest == strings.TrimSuffix(path, "_test"))
}

// checkTypes checks the types of all packages for a platform, and returns the number of those of this
// module. It checks the functions of these alone: others compile, or they would have no users.
func checkTypes(t *testing.T, cache *parsedFiles, platform string) (own int) {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test",
		"-json=ImportPath,Dir,GoFiles,ImportMap,ForTest,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); { // each package follows its imports
		var p listedPackage
		require.NoError(t, decoder.Decode(&p))
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // a generated main
			continue
		}
		known[p.ImportPath] = p.check(t, cache, goarch, known)
		if p.own() {
			own++
		}
	}
	return own
}

// check checks the types of one package, whose imports are known.
func (p *listedPackage) check(
	t *testing.T, cache *parsedFiles, goarch string, known map[string]*types.Package,
) *types.Package {
	t.Helper()
	path, _, _ := strings.Cut(p.ImportPath, " ")
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := cache.parse(filepath.Join(p.Dir, name))
		require.NoError(t, err)
		files = append(files, f)
	}
	config := types.Config{
		IgnoreFuncBodies: !p.own(), FakeImportC: true, Sizes: types.SizesFor("gc", goarch),
		Importer: importer(func(path string) (*types.Package, error) {
			if variant, ok := p.ImportMap[path]; ok {
				path = variant
			}
			if known[path] == nil {
				return nil, fmt.Errorf("go list has not listed %s", path)
			}
			return known[path], nil
		}),
		Error: func(err error) {
			if p.own() {
				assert.NoError(t, err, p.ImportPath)
			}
		},
	}
	if p.Module != nil {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	checked, _ := config.Check(path, cache.fset, files, nil) // Error has the errors
	return checked
}

// An importer is a function as a types.Importer.
type importer func(path string) (*types.Package, error)

// Import returns a package that has been checked before.
func (i importer) Import(path string) (*types.Package, error) { return i(path) }
