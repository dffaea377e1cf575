package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// The program and its tests pass the type checker of Go for each platform of a release, and the
// analyzers of go vet for Windows and macOS. Both read the sources and generate no code, so that
// all platforms take seconds and not minutes. .ci/dist builds the programs.
func TestProgramAndTestsAreValidOnEveryPlatform(t *testing.T) {
	if os.Getenv("EVENODD_TEST_ALL") == "" {
		t.Skip("takes 20 s of processor time; set EVENODD_TEST_ALL=1")
	}
	cache := &parsedFiles{fset: token.NewFileSet(), files: map[string]*parsedFile{}}
	for platform, vetted := range map[string]bool{
		"linux/arm64":   false, // go vet ./... is for the platform of the tests
		"darwin/amd64":  false,
		"darwin/arm64":  true,
		"windows/amd64": true,
		"windows/arm64": false,
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			own := checkTypes(t, cache, platform)
			assert.Greater(t, len(own), 100)
			if platform == "linux/arm64" {
				checkFloats(t, own)
			}
			if vetted {
				vet(t, own)
			}
		})
	}
}

// parsedFiles holds each source file once. Most are the same on all platforms.
type parsedFiles struct {
	fset  *token.FileSet
	mu    sync.Mutex
	files map[string]*parsedFile
}

type parsedFile struct {
	once sync.Once
	file *ast.File
	err  error
}

func (s *parsedFiles) parse(path string) (*ast.File, error) {
	s.mu.Lock()
	f := s.files[path]
	if f == nil {
		f = &parsedFile{}
		s.files[path] = f
	}
	s.mu.Unlock()
	f.once.Do(func() {
		f.file, f.err = parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	})
	return f.file, f.err
}

// A listedPackage is a package or a variant of it for a test, as 'go list' prints it.
type listedPackage struct {
	ImportPath     string
	Name           string
	Dir            string
	GoFiles        []string
	IgnoredGoFiles []string
	ImportMap      map[string]string
	ForTest        string
	Module         *packages.Module
}

// own tells whether the package, or the variant with its own tests, is of this module.
func (p *listedPackage) own() bool {
	path, _, variant := strings.Cut(p.ImportPath, " ")
	return p.Module != nil && p.Module.Main && (!variant || p.ForTest == strings.TrimSuffix(path, "_test"))
}

// checkTypes checks the types of all packages for a platform, and returns those of this module by
// import path. It checks the functions of these alone: others compile, or they would have no users.
func checkTypes(t *testing.T, cache *parsedFiles, platform string) map[string]*packages.Package {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test",
		"-json=ImportPath,Name,Dir,GoFiles,IgnoredGoFiles,ImportMap,ForTest,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, stderr.String())
	known, own := map[string]*types.Package{"unsafe": types.Unsafe}, map[string]*packages.Package{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; { // each package follows its imports
		p := &listedPackage{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return own
		} else if err != nil {
			require.NoError(t, err)
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // a generated main
			continue
		}
		checked := p.check(t, cache, goarch, known, own)
		known[p.ImportPath] = checked.Types
		if p.own() {
			own[p.ImportPath] = checked
		}
	}
}

// check checks the types of one package, whose imports are known.
func (p *listedPackage) check(t *testing.T, cache *parsedFiles, goarch string, known map[string]*types.Package, own map[string]*packages.Package) *packages.Package {
	t.Helper()
	path, _, _ := strings.Cut(p.ImportPath, " ")
	checked := &packages.Package{
		ID: p.ImportPath, Name: p.Name, PkgPath: path, Fset: cache.fset, Module: p.Module,
		TypesSizes: types.SizesFor("gc", goarch), Imports: map[string]*packages.Package{},
	}
	for _, name := range p.GoFiles {
		f, err := cache.parse(filepath.Join(p.Dir, name))
		require.NoError(t, err)
		checked.Syntax = append(checked.Syntax, f)
	}
	for _, name := range p.IgnoredGoFiles {
		checked.IgnoredFiles = append(checked.IgnoredFiles, filepath.Join(p.Dir, name))
	}
	config := types.Config{
		IgnoreFuncBodies: !p.own(), FakeImportC: true, Sizes: checked.TypesSizes,
		Importer: importer(func(path string) (*types.Package, error) {
			if variant, ok := p.ImportMap[path]; ok {
				path = variant
			}
			if own[path] != nil {
				checked.Imports[path] = own[path]
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
	if p.own() {
		checked.TypesInfo = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
		}
	}
	checked.Types, _ = config.Check(path, cache.fset, checked.Syntax, checked.TypesInfo) // Error has the errors
	return checked
}

// An importer is a function as a types.Importer.
type importer func(path string) (*types.Package, error)

// Import returns a package that has been checked before.
func (i importer) Import(path string) (*types.Package, error) { return i(path) }
