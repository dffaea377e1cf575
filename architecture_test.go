package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "evenodd"

// An importRule forbids imports, with the reason. Paths of this module omit its name; the
// root is "main".
type importRule struct {
	name   string
	reason string
	breaks func(importer, imported string) bool
}

func importRules() []importRule {
	carriers := []string{"transport/http", "transport/memory", "transport/nats", "transport/mcp"}
	return []importRule{
		{"the protocol imports nothing", "every agent imports league/protocol, and with it all that league/protocol imports",
			func(p, i string) bool { return in(p, "league/protocol") && ours(i) }},
		{"rules are pure", "the result of a game follows from values alone, so that audit and simulation can compute it again",
			func(p, i string) bool {
				return in(p, "rules") && (ours(i) && i != "rules" || impure(i))
			}},
		{"a game knows no other game", "adding a game changes no other game",
			func(p, i string) bool { return in(p, "rules") && in(i, "rules") && i != "rules" && p != i }},
		{"pairings and tables are pure", "pairings, ranks and statistics follow from values alone",
			func(p, i string) bool { return in(p, "league/pairing", "league", "league/view/stats") && ours(i) }},
		{"statistics are pure", "the same results and seed give the same numbers, in a page, a report and a table",
			func(p, i string) bool {
				return in(p, "league/view/stats") && (impure(i) && i != "math/rand/v2" || in(i, "io", "context", "sync", "github.com/rs/zerolog"))
			}},
		{"the fold is pure", "a league's state follows from its events alone; league/store gives it the types of documents, and its file is league/journal/journalfile",
			func(p, i string) bool {
				pure := slices.Contains([]string{"league/protocol", "league/pairing", "league", "league/store"}, i)
				return p == "league/journal" && (ours(i) && !pure || impure(i) || in(i, "io", "context", "sync", "github.com/rs/zerolog"))
			}},
		{"decisions are pure", "a decision follows from the league's state and its arguments, so that a table test and the audit can repeat it",
			func(p, i string) bool {
				pure := i == "league/journal" || in(i, "league/protocol", "league", "league/pairing", "rules")
				return in(p, "league/decide") && (ours(i) && !pure || impure(i) && i != "time" || in(i, "context", "sync", "github.com/rs/zerolog"))
			}},
		{"faults are pure", "faults follow from the seed and the decision, so that concurrency does not change them",
			func(p, i string) bool {
				return in(p, "league/simulation/faults") && (ours(i) && i != "league/protocol" || impure(i))
			}},
		{"carriers do not know the protocol", "transport carries values and does not interpret them, so that it can carry other protocols",
			func(p, i string) bool { return in(p, "transport") && ours(i) && !in(i, "transport") }},
		{"carriers do not import each other", "a process links only the carriers it uses",
			func(p, i string) bool {
				return slices.ContainsFunc(carriers, func(c string) bool { return in(p, c) && !in(i, c) && in(i, carriers...) })
			}},
		{"roles do not import carriers", "a role that can distinguish HTTP from memory may behave differently; it uses a protocol.Caller",
			func(p, i string) bool { return role(p) && in(i, "transport") }},
		{"roles do not use HTTP", "only carriers, pages, the conformance kit and cmd use HTTP; a strategy may call a language model",
			func(p, i string) bool {
				return i == "net/http" && !in(p, "transport/http", "transport/mcp", "league/view/page", "league/inspect/check", "cmd", "player/strategy/external")
			}},
		{"few packages start programs", "the package that starts a program must end it, with all processes that it started",
			func(p, i string) bool { return i == "os/exec" && !in(p, "player/strategy/external", "cmd/supervise") }},
		{"supervision knows no league", "cmd/supervise restarts and stops processes; cmd says which",
			func(p, i string) bool { return in(p, "cmd/supervise") && ours(i) }},
		{"roles do not import each other", "manager, referee and player are separate programs that exchange messages; they share league/protocol, league/membership, league/store and league/table",
			func(p, i string) bool {
				if !role(p) {
					return false
				}
				shared := in(i, "league/protocol", "league/membership", "league/store", "league")
				return !in(p, "referee") && in(i, "referee") ||
					!in(p, "player") && in(i, "player") ||
					!in(p, "league/manager") && in(i, "league/manager") && !shared
			}},
		{"dialects stay at the edge", "third-party forms are translated at the edge of a process: the code behind it sees the specification's form. The conformance kit is such an edge",
			func(p, i string) bool {
				return in(p, "transport/dialect") && ours(i) && !in(i, "league/protocol", "transport/dialect") ||
					in(i, "transport/dialect") && !in(p, "cmd", "transport/dialect", "league/inspect/check")
			}},
		{"the translation is pure", "league/dialect takes and returns values, so that a table of messages tests it; league/dialect/bridge has the locks, the waiting and the log",
			func(p, i string) bool {
				return p == "transport/dialect" && (in(i, "sync", "context", "net", "os", "math/rand", "crypto/rand", "github.com/rs/zerolog", "transport/dialect/bridge") && i != "net/url")
			}},
		{"roles are not configured by files", "options are passed down, so that a test or a simulation needs no file and no environment",
			func(p, i string) bool { return role(p) && in(i, "config") }},
		{"config does not import agents", "settings are values that cmd passes to agents",
			func(p, i string) bool {
				return in(p, "config") && ours(i) && !in(i, "config", "league/protocol", "league/store/atomicfile")
			}},
		{"viper stays in config", "settings come from one place",
			func(p, i string) bool {
				return in(i, "github.com/spf13/viper", "go.yaml.in/yaml/v3") && !in(p, "config")
			}},
		{"cobra stays in cmd", "the command line is one user interface of several",
			func(p, i string) bool { return in(i, "github.com/spf13/cobra") && !in(p, "cmd") }},
		{"only tests import test packages", "the binary needs no test library",
			func(_, i string) bool {
				return in(i, "github.com/stretchr/testify", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/chromedp", "transport/pipenet", "league/simulation/leaguetest", "rules/rulestest") || i == "testing"
			}},
		{"only cmd imports the simulation", "the simulation imports all roles and carriers, and so does each of its importers",
			func(p, i string) bool {
				return in(i, "league/simulation") && !in(p, "cmd", "league/simulation")
			}},
		{"only main imports cmd", "no package depends on the command line",
			func(p, i string) bool { return in(i, "cmd") && !in(p, "main", "cmd") }},
		{"pure packages do not log", "their callers log what they did",
			func(p, i string) bool {
				return in(i, "github.com/rs/zerolog") && in(p, "rules", "league/protocol", "league/pairing", "league", "league/simulation/faults")
			}},
	}
}

// impure reports whether a package is about time, network, randomness or files.
func impure(path string) bool {
	return slices.Contains([]string{"time", "os", "math/rand", "math/rand/v2", "crypto/rand"}, path) || in(path, "net")
}

// in reports whether a path is one of the packages or below one.
func in(path string, packages ...string) bool {
	return slices.ContainsFunc(packages, func(pkg string) bool { return path == pkg || strings.HasPrefix(path, pkg+"/") })
}

// ours reports whether a path belongs to this module.
func ours(path string) bool {
	return in(path, "main", "cmd", "config", "league/manager", "player", "referee", "rules", "transport")
}

// role reports whether a package belongs to a manager, a referee or a player.
func role(path string) bool {
	return in(path, "league/manager", "referee", "player") && !in(path, "league/simulation", "league/view/page", "league/inspect/check")
}

// shortened returns an import path without the module name.
func shortened(importPath string) string {
	if importPath == module {
		return "main"
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func TestImportRules(t *testing.T) {
	// -e lists packages that do not build too.
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...")
	out, err := list.Output()
	require.NoError(t, err)
	type pkg struct {
		ImportPath string
		Imports    []string // of what is shipped, not of tests
	}
	var packages []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var r pkg
		if err := d.Decode(&r); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		packages = append(packages, r)
		require.True(t, ours(shortened(r.ImportPath)), "%s is unknown: add it to ours()", r.ImportPath)
	}
	require.GreaterOrEqual(t, len(packages), 10, "go list found the module")

	for _, n := range importRules() {
		t.Run(n.name, func(t *testing.T) {
			for _, r := range packages {
				if in(shortened(r.ImportPath), "league/simulation/leaguetest", "rules/rulestest") { // a harness that only tests import may import all
					continue
				}
				for _, imported := range r.Imports {
					if n.breaks(shortened(r.ImportPath), shortened(imported)) {
						assert.Fail(t, fmt.Sprintf("%s must not import %s: %s", r.ImportPath, imported, n.reason))
					}
				}
			}
		})
	}
}

// Each import rule must forbid at least one of these imports.
func TestEveryImportRuleCanFail(t *testing.T) {
	tests := []struct {
		name, importer, imported string
		broken                   string // the rule; "" if the import is allowed
	}{
		{"protocol imports transport", "league/protocol", "transport", "the protocol imports nothing"},
		{"protocol imports json", "league/protocol", "github.com/go-json-experiment/json", ""},
		{"rules look at the clock", "rules/evenodd", "time", "rules are pure"},
		{"rules ask the network", "rules", "net/url", "rules are pure"},
		{"rules ask for chance", "rules/tictactoe", "math/rand/v2", "rules are pure"},
		{"rules import the protocol", "rules/evenodd", "league/protocol", "rules are pure"},
		{"a game imports the rules", "rules/evenodd", "rules", ""},
		{"a game imports another", "rules/tictactoe", "rules/evenodd", "a game knows no other game"},
		{"the table imports the protocol", "league", "league/protocol", "pairings and tables are pure"},
		{"statistics read the clock", "league/view/stats", "time", "statistics are pure"},
		{"statistics draw from a seed", "league/view/stats", "math/rand/v2", ""},
		{"the pairing does sums", "league/pairing", "math", ""},
		{"the fold reads a file", "league/journal", "os", "the fold is pure"},
		{"the fold knows its file", "league/journal", "league/journal/journalfile", "the fold is pure"},
		{"the fold looks at the clock", "league/journal", "time", "the fold is pure"},
		{"the fold counts points", "league/journal", "league", ""},
		{"the file folds", "league/journal/journalfile", "league/journal", ""},
		{"decisions read the journal's file", "league/decide", "league/journal/journalfile", "decisions are pure"},
		{"decisions take a lock", "league/decide", "sync", "decisions are pure"},
		{"decisions write files", "league/decide", "league/store", "decisions are pure"},
		{"decisions compare times", "league/decide", "time", ""},
		{"decisions read the state", "league/decide", "league/journal", ""},
		{"faults ask for chance", "league/simulation/faults", "math/rand/v2", "faults are pure"},
		{"faults know the simulation", "league/simulation/faults", "league/simulation", "faults are pure"},
		{"faults name players", "league/simulation/faults", "league/protocol", ""},
		{"a carrier imports the protocol", "transport/nats", "league/protocol", "carriers do not know the protocol"},
		{"a carrier imports the codec", "transport/http", "transport", ""},
		{"a carrier imports another", "transport/mcp", "transport/http", "carriers do not import each other"},
		{"the manager imports a carrier", "league/manager", "transport/http", "roles do not import carriers"},
		{"a strategy imports the codec", "player/strategy", "transport", "roles do not import carriers"},
		{"the simulation imports carriers", "league/simulation", "transport/memory", ""},
		{"the kit imports a carrier", "league/inspect/check", "transport/http", ""},
		{"a player speaks HTTP", "player", "net/http", "roles do not use HTTP"},
		{"the dialects speak HTTP", "transport/dialect", "net/http", "roles do not use HTTP"},
		{"the codec speaks HTTP", "transport", "net/http", "roles do not use HTTP"},
		{"a strategy asks a model", "player/strategy/external", "net/http", ""},
		{"a strategy of counts speaks HTTP", "player/strategy", "net/http", "roles do not use HTTP"},
		{"a strategy runs a program", "player/strategy/external", "os/exec", ""},
		{"a command runs a program", "cmd", "os/exec", "few packages start programs"},
		{"supervision runs a program", "cmd/supervise", "os/exec", ""},
		{"supervision imports a player", "cmd/supervise", "player", "supervision knows no league"},
		{"the page speaks HTTP", "league/view/page", "net/http", ""},
		{"a referee imports a player", "referee", "player/strategy", "roles do not import each other"},
		{"a player imports a referee", "player", "referee", "roles do not import each other"},
		{"a player imports the manager", "player", "league/manager", "roles do not import each other"},
		{"a referee imports the table", "referee", "league", ""},
		{"a referee imports the journal", "referee", "league/journal", "roles do not import each other"},
		{"the manager imports a referee", "league/manager", "referee", "roles do not import each other"},
		{"the store imports a player", "league/store", "player", "roles do not import each other"},
		{"a player imports its strategies", "player", "player/strategy", ""},
		{"a referee imports the protocol", "referee", "league/protocol", ""},
		{"a player imports membership", "player", "league/membership", ""},
		{"a referee imports the store", "referee", "league/store", ""},
		{"the manager imports the table", "league/manager", "league", ""},
		{"the dialects import a carrier", "transport/dialect", "transport", "dialects stay at the edge"},
		{"the manager knows dialects", "league/manager", "transport/dialect", "dialects stay at the edge"},
		{"a command hands dialects on", "cmd", "transport/dialect", ""},
		{"the conformance kit reads every form", "league/inspect/check", "transport/dialect", ""},
		{"the simulation knows dialects", "league/simulation", "transport/dialect", "dialects stay at the edge"},
		{"the dialects import the protocol", "transport/dialect", "league/protocol", ""},
		{"the bridge imports the dialects", "transport/dialect/bridge", "transport/dialect", ""},
		{"the bridge imports the manager", "transport/dialect/bridge", "league/manager", "dialects stay at the edge"},
		{"the translation holds a lock", "transport/dialect", "sync", "the translation is pure"},
		{"the translation logs", "transport/dialect", "github.com/rs/zerolog", "the translation is pure"},
		{"the translation reads addresses", "transport/dialect", "net/url", ""},
		{"the bridge holds a lock", "transport/dialect/bridge", "sync", ""},
		{"a referee reads settings", "referee", "config", "roles are not configured by files"},
		{"the simulation reads settings", "league/simulation", "config", ""},
		{"config imports the manager", "config", "league/manager", "config does not import agents"},
		{"config imports the protocol", "config", "league/protocol", ""},
		{"config writes files whole", "config", "league/store/atomicfile", ""},
		{"config imports the store", "config", "league/store", "config does not import agents"},
		{"a command reads files itself", "cmd", "github.com/spf13/viper", "viper stays in config"},
		{"config reads files", "config", "github.com/spf13/viper", ""},
		{"a command parses YAML", "cmd", "go.yaml.in/yaml/v3", "viper stays in config"},
		{"config has a command", "config", "github.com/spf13/cobra", "cobra stays in cmd"},
		{"cmd has a command", "cmd", "github.com/spf13/cobra", ""},
		{"the manager asserts", "league/manager", "github.com/stretchr/testify/assert", "only tests import test packages"},
		{"a command imports testing", "cmd", "testing", "only tests import test packages"},
		{"a page starts a browser", "league/view/page", "github.com/chromedp/chromedp", "only tests import test packages"},
		{"a carrier travels through pipes", "transport/http", "transport/pipenet", "only tests import test packages"},
		{"a referee imports the harness", "referee", "league/simulation/leaguetest", "only tests import test packages"},
		{"the manager simulates", "league/manager", "league/simulation", "only cmd imports the simulation"},
		{"a command simulates", "cmd", "league/simulation", ""},
		{"config imports commands", "config", "cmd", "only main imports cmd"},
		{"main imports commands", "main", "cmd", ""},
		{"rules log", "rules", "github.com/rs/zerolog", "pure packages do not log"},
		{"the table logs", "league", "github.com/rs/zerolog", "pure packages do not log"},
		{"a referee logs", "referee", "github.com/rs/zerolog", ""},
	}
	bitten := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var broken []string
			for _, n := range importRules() {
				if n.breaks(tt.importer, tt.imported) {
					broken = append(broken, n.name)
				}
			}
			if tt.broken == "" {
				assert.Empty(t, broken)
				return
			}
			assert.Contains(t, broken, tt.broken)
			bitten[tt.broken] = true
		})
	}
	for _, n := range importRules() {
		assert.True(t, bitten[n.name], "no case shows that the rule %q forbids an import", n.name)
	}
}

// A source is a parsed Go file, by its path with slashes from the root.
type source struct {
	path  string
	files *token.FileSet
	file  *ast.File
}

func parsed(t *testing.T, name string, text any) source {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	require.NotNil(t, file, "%v", err) // one that is half-written is read as far as it goes
	return source{filepath.ToSlash(name), files, file}
}

// sources returns all Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(name) == ".go":
			all = append(all, parsed(t, name, nil))
		}
		return nil
	}))
	require.GreaterOrEqual(t, len(all), 40, "the walk found the module")
	return all
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at returns a position as file:line.
func (s source) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.files.Position(node.Pos()).Line)
}

// nameOf returns the name under which the file imports a package, "" if it does not.
func (s source) nameOf(importPath string) string {
	for _, i := range s.file.Imports {
		switch p, err := strconv.Unquote(i.Path.Value); {
		case err != nil || p != importPath:
		case i.Name != nil:
			return i.Name.Name
		default:
			return path.Base(importPath)
		}
	}
	return ""
}

// uses returns the members of a package that the file uses.
func (s source) uses(importPath string, members ...string) (found []*ast.SelectorExpr) {
	name := s.nameOf(importPath)
	if name == "" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(members, sel.Sel.Name) {
			if of, ok := sel.X.(*ast.Ident); ok && of.Name == name {
				found = append(found, sel)
			}
		}
		return true
	})
	return found
}

// faults returns what must not be in non-test code.
func (s source) faults() (faults []string) {
	for _, declared := range s.file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				faults = append(faults, s.at(d)+": init runs whether it is wanted or not, in an order that nobody reads; call it from main")
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if ok && d.Tok == token.VAR && (s.shared(v.Type) || slices.ContainsFunc(v.Values, s.shared)) {
					faults = append(faults, s.at(v)+": "+v.Names[0].Name+" is state of the whole process: two leagues in one process would share it")
				}
			}
		}
	}
	for _, assertion := range s.contextAssertions() {
		faults = append(faults, s.at(assertion)+": a type assertion on a context: wrapping a context must change nothing, so pass options as parameters of the call")
	}
	if in(s.path, "main.go", "cmd", "config", "league/simulation/leaguetest/long.go") {
		return faults
	}
	if path.Dir(s.path) == "transport/dialect" {
		faults = append(faults, s.impurities()...)
	}
	for _, sel := range s.uses("os", "Exit", "Getenv", "LookupEnv", "Environ", "Setenv", "Stdin", "Stdout", "Stderr", "Args") {
		faults = append(faults, s.at(sel)+": os."+sel.Sel.Name+" belongs to the process, which main.go, cmd and config alone know; pass down what is needed")
	}
	return faults
}

// impurities returns the uses of the clock and of goroutines in a pure package that
// handles times.
func (s source) impurities() (found []string) {
	for _, sel := range s.uses("time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker") {
		found = append(found, s.at(sel)+": time."+sel.Sel.Name+" reads the clock; the caller passes the time")
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			found = append(found, s.at(g)+": a goroutine in a pure package")
		}
		return true
	})
	return found
}

// contextAssertions finds type assertions and type switches on a context: on a name that
// the file declares as a context.Context, on any name ctx, and on a call or field Context.
func (s source) contextAssertions() (found []*ast.TypeAssertExpr) {
	contexts := map[string]bool{"ctx": true, "Context": true}
	declare := func(names []*ast.Ident, of ast.Expr) {
		sel, ok := of.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Context" {
			return
		}
		if from, ok := sel.X.(*ast.Ident); ok && from.Name == s.nameOf("context") {
			for _, name := range names {
				contexts[name.Name] = true
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			declare(n.Names, n.Type)
		case *ast.ValueSpec:
			declare(n.Names, n.Type)
		}
		return true
	})
	var isContext func(e ast.Expr) bool
	isContext = func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return contexts[e.Name]
		case *ast.SelectorExpr:
			return contexts[e.Sel.Name]
		case *ast.ParenExpr:
			return isContext(e.X)
		case *ast.CallExpr: // r.Context(), or any(ctx)
			f, ok := e.Fun.(*ast.SelectorExpr)
			return ok && f.Sel.Name == "Context" || !ok && len(e.Args) == 1 && isContext(e.Args[0])
		}
		return false
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if a, ok := n.(*ast.TypeAssertExpr); ok && isContext(a.X) {
			found = append(found, a)
		}
		return true
	})
	return found
}

// shared reports whether a type, or a value that states its type, is or contains a
// synchronisation primitive: such a variable exists to be changed.
func (s source) shared(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ChanType:
		return true
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		return ok && (of.Name == s.nameOf("sync") || of.Name == s.nameOf("sync/atomic"))
	case *ast.IndexExpr: // atomic.Pointer[T]
		return s.shared(e.X)
	case *ast.StarExpr:
		return s.shared(e.X)
	case *ast.ParenExpr:
		return s.shared(e.X)
	case *ast.UnaryExpr:
		return s.shared(e.X)
	case *ast.ArrayType:
		return s.shared(e.Elt)
	case *ast.MapType:
		return s.shared(e.Value)
	case *ast.StructType:
		return slices.ContainsFunc(e.Fields.List, func(f *ast.Field) bool { return s.shared(f.Type) })
	case *ast.CompositeLit:
		return s.shared(e.Type)
	case *ast.CallExpr:
		f, ok := e.Fun.(*ast.Ident)
		return ok && (f.Name == "make" || f.Name == "new") && slices.ContainsFunc(e.Args, s.shared)
	}
	return false
}

func TestSources(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, fault := range s.faults() {
			assert.Fail(t, fault)
		}
	}
}

func TestSourceFaultsAreFound(t *testing.T) {
	tests := []struct{ name, path, text, want string }{
		{"init", "league/x.go", `func init() {}`, "league/x.go:3: init runs"},
		{"a translation that reads the clock", "transport/dialect/x.go", `import "time"; var now = time.Now`, "reads the clock"},
		{"a translation with a goroutine", "transport/dialect/x.go", `func f() { go f() }`, "a goroutine"},
		{"a bridge that reads the clock", "transport/dialect/bridge/x.go", `import "time"; var now = time.Now`, ""},
		{"init in a command", "cmd/x.go", `func init() {}`, "cmd/x.go:3: init runs"},
		{"a method called init", "league/x.go", `type t int; func (t) init() {}`, ""},
		{"exit", "league/x.go", `import "os"; func f() { os.Exit(1) }`, "os.Exit belongs"},
		{"environment", "player/x.go", `import "os"; var home = os.Getenv("HOME")`, "os.Getenv belongs"},
		{"output", "transport/x.go", `import o "os"; func f() any { return o.Stdout }`, "os.Stdout belongs"},
		{"arguments", "referee/x.go", `import "os"; func f() []string { return os.Args }`, "os.Args belongs"},
		{"files", "league/store/x.go", `import "os"; func f() { os.Remove("x") }`, ""},
		{"exit in main", "main.go", `import "os"; func f() { os.Exit(1) }`, ""},
		{"output in a command", "cmd/x.go", `import "os"; func f() any { return os.Stderr }`, ""},
		{"environment in config", "config/x.go", `import "os"; func f() string { return os.Getenv("X") }`, ""},
		{"another os", "league/x.go", `import os "example.com/os"; func f() { os.Exit(1) }`, ""},
		{"a mutex", "league/x.go", `import "sync"; var mu sync.Mutex`, "mu is state"},
		{"a mutex in a command", "cmd/x.go", `import "sync"; var mu sync.Mutex`, "mu is state"},
		{"a pool", "league/x.go", `import "sync"; var pool = sync.Pool{}`, "pool is state"},
		{"a pointer to a mutex", "league/x.go", `import "sync"; var mu = &sync.Mutex{}`, "mu is state"},
		{"a new mutex", "league/x.go", `import "sync"; var mu = new(sync.Mutex)`, "mu is state"},
		{"a counter", "league/x.go", `import "sync/atomic"; var ( a = 1; n atomic.Int64 )`, "n is state"},
		{"an atomic pointer", "league/x.go", `import "sync/atomic"; var p atomic.Pointer[int]`, "p is state"},
		{"an array of counters", "league/x.go", `import "sync/atomic"; var n [4]atomic.Int64`, "n is state"},
		{"a map of mutexes", "league/x.go", `import "sync"; var m = map[string]*sync.Mutex{}`, "m is state"},
		{"a struct with a mutex", "league/x.go", `import "sync"; var m struct { sync.Mutex; n int }`, "m is state"},
		{"a channel", "league/x.go", `var c chan int`, "c is state"},
		{"a made channel", "league/x.go", `var c = make(chan int, 1)`, "c is state"},
		{"a variable of a function", "league/x.go", `import "sync"; func f() { var mu sync.Mutex; _ = &mu }`, ""},
		{"a type with a mutex", "league/x.go", `import "sync"; type t struct { mu sync.Mutex }`, ""},
		{"a function that takes a channel", "league/x.go", `var f func(chan int)`, ""},
		{"a type assertion on a context", "cmd/x.go", `import "context"; func f(life context.Context) { _, _ = life.(interface{ Limit() int }) }`, "on a context"},
		{"a type switch on a context", "league/x.go", `func f() { switch ctx.(type) {} }`, "on a context"},
		{"an assertion on a request's context", "transport/http/x.go", `func f() { _ = r.Context().(*t) }`, "on a context"},
		{"an assertion on a converted context", "player/x.go", `func f() { _ = any(ctx).(*t) }`, "on a context"},
		{"an assertion on a field", "referee/x.go", `import "context"; type m struct { life context.Context }; func f() { _ = m.life.(*t) }`, "on a context"},
		{"an assertion on a context's value", "transport/http/x.go", `func f() { _ = ctx.Value(key).(*t) }`, ""},
		{"a table", "league/x.go", `var codes = map[string]int{"E001": 1}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			faults := parsed(t, tt.path, "package x\n\n"+tt.text+"\n").faults()
			if tt.want == "" {
				assert.Empty(t, faults)
				return
			}
			require.Len(t, faults, 1)
			assert.Contains(t, faults[0], tt.want)
		})
	}
}

// sleepers returns the tests that sleep in packages without virtual time.
func sleepers(tests []source) (found []string) {
	virtual := map[string]bool{}
	for _, s := range tests {
		if s.nameOf("testing/synctest") != "" || s.nameOf(module+"/league/leaguetest") != "" {
			virtual[path.Dir(s.path)] = true
		}
	}
	for _, s := range tests {
		for _, sel := range s.uses("time", "Sleep") {
			if !virtual[path.Dir(s.path)] {
				found = append(found, s.at(sel)+": a test that sleeps is slow when it passes and wrong when the machine is busy; use testing/synctest")
			}
		}
	}
	return found
}

func TestTestsDoNotSleep(t *testing.T) {
	tests := slices.DeleteFunc(sources(t), func(s source) bool { return !s.isTest() })
	for _, sleeper := range sleepers(tests) {
		assert.Fail(t, sleeper)
	}
}

func TestSleepersAreFound(t *testing.T) {
	const (
		sleeps  = "package x\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"
		virtual = "package x\nimport \"testing/synctest\"\n"
	)
	tests := []struct {
		name  string
		tests []source
		want  int
	}{
		{"one that sleeps", []source{parsed(t, "league/a_test.go", sleeps)}, 1},
		{"one in virtual time", []source{parsed(t, "league/a_test.go", sleeps), parsed(t, "league/b_test.go", virtual)}, 0},
		{"one beside a package in virtual time", []source{parsed(t, "league/a_test.go", sleeps), parsed(t, "player/b_test.go", virtual)}, 1},
		{"none", []source{parsed(t, "league/b_test.go", virtual)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Len(t, sleepers(tt.tests), tt.want) })
	}
}

// unnamedLogLines returns the log lines of a file that do not name their event.
func unnamedLogLines(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if end, ok := call.Fun.(*ast.SelectorExpr); ok && (end.Sel.Name == "Msg" || end.Sel.Name == "Msgf") && !namesEvent(end.X) {
			found = append(found, s.at(call)+": add .Str(\"event_type\", …): readers of logs match the names of events, so that sentences can change")
		}
		return true
	})
	return found
}

// namesEvent reports whether a chain of calls contains .Str("event_type", …).
func namesEvent(chain ast.Expr) bool {
	call, ok := chain.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if sel.Sel.Name == "Str" && len(call.Args) == 2 {
		if key, ok := call.Args[0].(*ast.BasicLit); ok && key.Value == `"event_type"` {
			return true
		}
	}
	return namesEvent(sel.X)
}

func TestLogLinesNameTheirEvent(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, line := range unnamedLogLines(s) {
			assert.Fail(t, line)
		}
	}
}

func TestLogLinesWithoutAnEventAreFound(t *testing.T) {
	const text = `package x
		func f() {
			log.Info().Str("a", "b").Msg("no event")
			log.Warn().Str("event_type", event).Int("n", 1).Msgf("%d", 1)
		}`
	assert.Len(t, unnamedLogLines(parsed(t, "league/x.go", text)), 1)
}
