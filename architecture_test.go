package main_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
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
	name    string
	example string // of an import that the rule forbids
	reason  string
	breaks  func(importer, imported string) bool
}

func importRules() []importRule {
	carriers := []string{"transport/http", "transport/memory", "transport/nats", "transport/mcp"}
	return []importRule{
		{"the ground floor imports nothing", "league/words imports league", "every package of a league and of an agent may import it, and gets nothing else with it",
			func(p, i string) bool { return ground(p) && (ours(i) || impure(i)) }},
		{"the protocol imports the domain and the seam", "league/protocol imports transport/http", "every agent imports league/protocol, and with it all that league/protocol imports",
			func(p, i string) bool {
				return in(p, "league/protocol") && ours(i) && !ground(i) && i != "league" && i != "transport"
			}},
		{"rules are pure", "rules/evenodd imports time", "the result of a game follows from values alone, so that audit and simulation can compute it again",
			func(p, i string) bool {
				return in(p, "rules") && (ours(i) && i != "rules" || impure(i))
			}},
		{"a game knows no other game", "rules/tictactoe imports rules/evenodd", "adding a game changes no other game",
			func(p, i string) bool { return in(p, "rules") && in(i, "rules") && i != "rules" && p != i }},
		{"the domain is pure", "league imports league/protocol", "results, pairings, ranks and statistics follow from values alone",
			func(p, i string) bool {
				pure := p != "league" && i == "league" || p == "league" && i == "rules"
				return (p == "league" || in(p, "league/pairing", "league/view/stats")) && ours(i) && !ground(i) && !pure
			}},
		{"statistics are pure", "league/view/stats imports time", "the same results and seed give the same numbers, in a page, a report and a table",
			func(p, i string) bool {
				return in(p, "league/view/stats") && (impure(i) && i != "math/rand/v2" || in(i, "io", "context", "sync", "github.com/rs/zerolog"))
			}},
		{"the fold is pure", "league/journal imports os", "a league's state follows from its events alone; league/store gives it the types of documents, and its file is league/journal/journalfile",
			func(p, i string) bool {
				pure := slices.Contains([]string{"league", "league/protocol", "league/pairing", "league/store"}, i)
				return p == "league/journal" && (ours(i) && !ground(i) && !pure || impure(i) || in(i, "io", "context", "sync", "github.com/rs/zerolog"))
			}},
		{"decisions are pure", "league/decide imports league/journal/journalfile", "a decision follows from the league's state and its arguments, so that a table test and the audit can repeat it",
			func(p, i string) bool {
				pure := i == "league" || i == "league/journal" || in(i, "league/protocol", "league/pairing", "rules")
				return in(p, "league/decide") && (ours(i) && !ground(i) && !pure || impure(i) && i != "time" || in(i, "context", "sync", "github.com/rs/zerolog"))
			}},
		{"the conversation of a match is pure", "league/conduct imports context", "what an answer is worth follows from values alone, so that a script can test it and the audit can repeat it from a transcript",
			func(p, i string) bool {
				pure := i == "league" || in(i, "league/protocol", "rules")
				return in(p, "league/conduct") && (ours(i) && !ground(i) && !pure || impure(i) && i != "time" || in(i, "io", "context", "sync", "github.com/rs/zerolog"))
			}},
		{"faults are pure", "league/simulation/faults imports math/rand/v2", "faults follow from the seed and the decision, so that concurrency does not change them",
			func(p, i string) bool {
				return in(p, "league/simulation/faults") && (ours(i) && !ground(i) && i != "league" && i != "league/protocol" || impure(i))
			}},
		{"carriers do not know the protocol", "transport/nats imports league/protocol", "transport carries values and does not interpret them, so that it can carry other protocols",
			func(p, i string) bool {
				return in(p, "transport") && !in(p, "transport/dialect") && ours(i) && !in(i, "transport")
			}},
		{"carriers do not import each other", "transport/mcp imports transport/http", "a process links only the carriers it uses",
			func(p, i string) bool {
				return slices.ContainsFunc(carriers, func(c string) bool { return in(p, c) && !in(i, c) && in(i, carriers...) })
			}},
		{"roles do not import carriers", "league/manager imports transport/http", "a role that can distinguish HTTP from memory may behave differently; it uses a protocol.Caller",
			func(p, i string) bool { return role(p) && in(i, "transport") }},
		{"roles do not use HTTP", "player imports net/http", "only carriers, pages, the conformance kit and cmd use HTTP; a strategy may call a language model",
			func(p, i string) bool {
				return i == "net/http" && !in(p, "transport/http", "transport/mcp", "league/view/page", "league/inspect/check", "cmd", "player/strategy/external")
			}},
		{"memory is safe", "league/protocol imports unsafe", "the compiler checks each use of memory; a copy of each message costs 2 % of a league on the wire",
			func(p, i string) bool { // the sandbox and job objects of Windows; clocks of tests that jump
				return i == "unsafe" && p != "league/program" && p != "league/simulation/leaguetest"
			}},
		{"few packages start programs", "cmd imports os/exec", "the package that starts a program must end it, with all processes that it started",
			func(p, i string) bool { return i == "os/exec" && !in(p, "league/program", "cmd/supervise") }},
		{"programs know no league", "league/program imports league/protocol",
			"league/program runs programs that choose moves and programs that are games; it asks them for their callers",
			func(p, i string) bool {
				return p == "league/program" && ours(i) && !ground(i) && i != "rules" && i != "league/store/disk"
			}},
		{"metrics know no role", "cmd/metrics imports player", "cmd/metrics counts calls and requests of any process",
			func(p, i string) bool { return p == "cmd/metrics" && ours(i) && !in(i, "league/protocol", "transport") }},
		{"a small program", "cmd imports github.com/spf13/cobra/doc",
			"these make each command start later and the program larger by megabytes; what it needs of them takes a page",
			func(_, i string) bool {
				return in(i, "github.com/prometheus/client_golang", "github.com/spf13/cobra/doc", "go/format")
			}},
		{"supervision knows no league", "cmd/supervise imports player", "cmd/supervise restarts and stops processes; cmd says which",
			func(p, i string) bool { return in(p, "cmd/supervise") && ours(i) }},
		{"roles do not import each other", "referee imports player/strategy",
			"manager, referee and player are separate programs that exchange messages; they share league, league/protocol, league/membership, league/store and the ground floor; the referee alone conducts matches, and strategies alone run programs",
			func(p, i string) bool {
				if !role(p) {
					return false
				}
				shared := i == "league" || ground(i) || in(i, "league/protocol", "league/membership", "league/store") ||
					i == "league/conduct" && in(p, "referee") || i == "league/program" && in(p, "player/strategy/external")
				return slices.ContainsFunc([]string{"league/manager", "referee", "player"}, func(r string) bool { return in(i, r) && !in(p, r) }) ||
					in(p, "referee", "player") && in(i, "league") && !shared
			}},
		{"dialects stay at the edge", "transport/dialect imports transport/http", "third-party forms are translated at the edge of a process: the code behind it sees the specification's form. The conformance kit is such an edge",
			func(p, i string) bool {
				return in(p, "transport/dialect") && ours(i) && !ground(i) && i != "league" && i != "transport" && !in(i, "league/protocol", "transport/dialect") ||
					in(i, "transport/dialect") && !in(p, "cmd", "transport/dialect", "league/inspect/check")
			}},
		{"the translation is pure", "transport/dialect imports sync", "transport/dialect takes and returns values, so that a table of messages tests it; transport/dialect/bridge has the locks, the waiting and the log",
			func(p, i string) bool {
				return p == "transport/dialect" && (in(i, "sync", "context", "net", "os", "math/rand", "crypto/rand", "github.com/rs/zerolog", "transport/dialect/bridge") && i != "net/url")
			}},
		{"roles are not configured by files", "referee imports config", "options are passed down, so that a test or a simulation needs no file and no environment",
			func(p, i string) bool { return role(p) && in(i, "config") }},
		{"config does not import agents", "config imports league/manager", "settings are values that cmd passes to agents",
			func(p, i string) bool {
				return in(p, "config") && ours(i) && !ground(i) && i != "league" && !in(i, "config", "league/protocol", "league/store/atomicfile", "league/store/disk")
			}},
		{"viper stays in config", "cmd imports github.com/spf13/viper", "settings come from one place",
			func(p, i string) bool {
				return in(i, "github.com/spf13/viper", "go.yaml.in/yaml/v3") && !in(p, "config")
			}},
		{"NATS stays in two packages", "cmd imports github.com/nats-io/nats.go", "the rest of the program sees a carrier and a store of lines, so that a folder and HTTP can replace them; the server is for tests only",
			func(p, i string) bool {
				return in(i, "github.com/nats-io/nats-server") || in(i, "github.com/nats-io") && !in(p, "transport/nats", "league/journal/journalstream")
			}},
		{"cobra stays in cmd", "config imports github.com/spf13/cobra", "the command line is one user interface of several",
			func(p, i string) bool { return in(i, "github.com/spf13/cobra") && !in(p, "cmd") }},
		{"only tests import test packages", "league/manager imports github.com/stretchr/testify/assert", "the binary needs no test library",
			func(_, i string) bool {
				return in(i, "github.com/stretchr/testify", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/chromedp", "transport/pipenet", "league/simulation/leaguetest", "rules/rulestest") || i == "testing"
			}},
		{"only cmd imports the simulation", "league/manager imports league/simulation", "the simulation imports all roles and carriers, and so does each of its importers",
			func(p, i string) bool {
				return in(i, "league/simulation") && !in(p, "cmd", "league/simulation")
			}},
		{"only main imports cmd", "config imports cmd", "no package depends on the command line",
			func(p, i string) bool { return in(i, "cmd") && !in(p, "main", "cmd") }},
		{"pure packages do not log", "rules imports github.com/rs/zerolog", "their callers log what they did",
			func(p, i string) bool {
				return in(i, "github.com/rs/zerolog") && (p == "league" || in(p, "rules", "league/protocol", "league/pairing", "league/simulation/faults"))
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
	return in(path, "main", "cmd", "config", "league", "player", "referee", "rules", "transport")
}

// ground reports whether a package is on the ground floor: what the standard library lacks for texts and lists.
func ground(path string) bool { return in(path, "league/words", "league/lists") }

// role reports whether a package belongs to a manager, a referee or a player.
func role(path string) bool {
	return in(path, "league", "referee", "player") && !ground(path) && !in(path, "league/protocol", "league/simulation", "league/view/page", "league/inspect/check")
}

// shortened returns an import path without the module name.
func shortened(importPath string) string {
	if importPath == module {
		return "main"
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// importsOf returns the imports of each package of this module, without those of its tests.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	// -e lists packages that do not build too.
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
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
	require.GreaterOrEqual(t, len(imports), 10, "go list found the module")
	return imports
}

func TestImportRules(t *testing.T) {
	packages := importsOf(t)
	for pkg := range packages {
		require.True(t, ours(pkg), "%s is unknown: add it to ours()", pkg)
	}
	for _, n := range importRules() {
		t.Run(n.name, func(t *testing.T) {
			importer, imported, _ := strings.Cut(n.example, " imports ")
			assert.True(t, n.breaks(importer, imported), "the rule does not forbid its example")
			for pkg, imports := range packages {
				// a harness that only tests import may import all
				if in(pkg, "league/simulation/leaguetest", "rules/rulestest") {
					continue
				}
				for _, imported := range imports {
					assert.False(t, n.breaks(pkg, imported), "%s must not import %s: %s", pkg, imported, n.reason)
				}
			}
		})
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
	for _, line := range s.unnamedLogLines() {
		faults = append(faults, s.at(line)+": add .Str(\"event_type\", …): readers of logs match the names of "+
			"events, so that sentences can change")
	}
	for _, assertion := range s.contextAssertions() {
		faults = append(faults, s.at(assertion)+": a type assertion on a context: wrapping a context must change nothing, so pass options as parameters of the call")
	}
	if path.Dir(s.path) != "transport" {
		for _, sel := range s.uses("syscall", "EADDRINUSE", "ECONNREFUSED", "ECONNRESET", "ENOBUFS", "EHOSTUNREACH", "ENETUNREACH", "EMFILE", "ENFILE", "ETIMEDOUT", "EPIPE") {
			faults = append(faults, s.at(sel)+": Windows has its own errors of sockets; package transport has those of each system")
		}
	}
	if !in(s.path, "league/store/disk", "config/userfile", "league/simulation/leaguetest",
		"league/program/supervisor_linux.go") { // which reads /proc
		for _, sel := range s.uses("os", "Open", "OpenFile", "ReadFile", "OpenInRoot", "OpenRoot", "DirFS") {
			faults = append(faults, s.at(sel)+": another user may have put a named pipe or an endless file there; open it "+
				"with league/store/disk, or config/userfile if the user names it")
		}
	}
	if in(s.path, "league/manager", "league/membership", "player", "referee", "league/store", "league/journal",
		"league/inspect/audit", "league/view/record", "league/view/report") && !in(s.path, "league/store/disk", "league/store/store.go") {
		for _, sel := range slices.Concat(
			s.uses("os", "Chmod", "Chtimes", "CopyFS", "Create", "CreateTemp", "Link", "Lstat", "Mkdir", "MkdirAll",
				"MkdirTemp", "ReadDir", "Remove", "RemoveAll", "Rename", "Stat", "Symlink", "Truncate", "WriteFile"),
			s.uses("path/filepath", "EvalSymlinks", "Glob", "Walk", "WalkDir"), s.uses(module+"/league/store/disk", "Real"),
			s.uses(module+"/league/store", "In")) {
			faults = append(faults, s.at(sel)+": use the disk of the folder, so that a simulation can replace it by one in memory")
		}
	}
	for _, named := range s.namesEvenOdd() {
		faults = append(faults, s.at(named)+": Even/Odd by its name; ask rules.Numbered about its number, "+
			"and protocol.MoveForm about its messages and choices")
	}
	if in(s.path, "main.go", "cmd", "config", "league/simulation/leaguetest/long.go") {
		return faults
	}
	if in(s.path, "league/manager", "league/membership", "referee", "player") && !in(s.path, "player/strategy") {
		faults = append(faults, s.unguarded()...)
	}
	if path.Dir(s.path) == "transport/dialect" {
		faults = append(faults, s.impurities()...)
	}
	for _, sel := range s.uses("os", "Exit", "Getenv", "LookupEnv", "Environ", "Setenv", "Stdin", "Stdout", "Stderr", "Args") {
		faults = append(faults, s.at(sel)+": os."+sel.Sel.Name+" belongs to the process, which main.go, cmd and config alone know; pass down what is needed")
	}
	return faults
}

// evenOddName is the type of Even/Odd, a move of it, or the member that has the move.
var evenOddName = regexp.MustCompile(`even_odd|^(even|odd|parity_choice|choose_parity)$`)

// namesEvenOdd returns where a file imports Even/Odd or names it: this game is one of several. It may be named by its
// package, its own messages and their translation, the list of games with the default, the strategies for it, and the
// texts of requirements about its messages.
func (s source) namesEvenOdd() (found []ast.Node) {
	if in(s.path, "rules/evenodd", "league/protocol", "transport/dialect", "cmd/games.go", "player/strategy/strategy.go",
		"league/inspect/check/player_table.go", "league/inspect/check/referee_table.go", "league/simulation/leaguetest") {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && (text == module+"/rules/evenodd" || evenOddName.MatchString(text)) {
			found = append(found, literal)
		}
		return true
	})
	return found
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

// unguarded returns the goroutines of a role that run a function literal. With the guard around it, a panic ends the
// agent alone, and not the other agents of its process.
func (s source) unguarded() (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		var work ast.Expr
		switch n := n.(type) {
		case *ast.GoStmt:
			work = n.Call.Fun
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				work = n.Args[0]
			}
		}
		if _, literal := work.(*ast.FuncLit); literal {
			found = append(found, s.at(n)+": a goroutine of an agent without its guard; wrap the function with Guard.Of")
		}
		return true
	})
	return found
}

// contextAssertions finds type assertions and type switches on the name ctx, and on a call or field Context.
func (s source) contextAssertions() (found []*ast.TypeAssertExpr) {
	var isContext func(e ast.Expr) bool
	isContext = func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name == "ctx" || e.Name == "Context"
		case *ast.SelectorExpr:
			return e.Sel.Name == "ctx" || e.Sel.Name == "Context"
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

// unnamedLogLines returns the log lines that do not name their event.
func (s source) unnamedLogLines() (found []*ast.CallExpr) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		end, ok := call.Fun.(*ast.SelectorExpr)
		if ok && (end.Sel.Name == "Msg" || end.Sel.Name == "Msgf") && !namesEvent(end.X) {
			found = append(found, call)
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

// shared reports whether a type, or a value that states its type, is or contains a
// synchronisation primitive: such a variable exists to be changed. A pool of package transport is
// none: its buffers are reset.
func (s source) shared(e ast.Expr) (found bool) {
	if e == nil {
		return false
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType, *ast.FuncLit:
			return false
		case *ast.CallExpr: // of a function that takes or returns anything
			f, ok := n.Fun.(*ast.Ident)
			return ok && (f.Name == "make" || f.Name == "new")
		case *ast.ChanType:
			found = true
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			imported := ok && (of.Name == s.nameOf("sync") || of.Name == s.nameOf("sync/atomic"))
			found = found || imported && (n.Sel.Name != "Pool" || path.Dir(s.path) != "transport")
		}
		return true
	})
	return found
}

func TestSources(t *testing.T) {
	for _, s := range slices.DeleteFunc(sources(t), source.isTest) {
		assert.Empty(t, s.faults())
	}
}

func TestSourceFaultsAreFound(t *testing.T) {
	for _, tt := range []struct{ path, text, want string }{
		{"league/x.go", `func init() {}`, "league/x.go:3: init runs"},
		{"transport/dialect/x.go", `import "time"; var now = time.Now`, "reads the clock"},
		{"transport/dialect/x.go", `func f() { go f() }`, "a goroutine"},
		{"transport/dialect/bridge/x.go", `import "time"; var now = time.Now`, ""},
		{"referee/x.go", `func f() { go func() {}() }`, "without its guard"},
		{"league/manager/x.go", `func f() { running.Go(func() {}) }`, "without its guard"},
		{"league/manager/x.go", `func f() { running.Go(m.guarded(func() {})) }`, ""},
		{"player/strategy/external/x.go", `func f() { go func() {}() }`, ""},
		{"league/x.go", `type t int; func (t) init() {}`, ""},
		{"league/x.go", `import "os"; func f() { os.Exit(1) }`, "os.Exit belongs"},
		{"transport/x.go", `import o "os"; func f() any { return o.Stdout }`, "os.Stdout belongs"},
		{"cmd/x.go", `import "os"; func f() { os.Remove("x") }`, ""},
		{"cmd/x.go", `import "os"; func f() any { return os.Stderr }`, ""},
		{"cmd/x.go", `import "os"; func f() { os.ReadFile("x") }`, "store/disk"},
		{"league/store/x.go", `import "os"; func f() { os.Open("x") }`, "store/disk"},
		{"referee/x.go", `import "os"; func f() { os.Rename("x", "y") }`, "disk of the folder"},
		{"player/x.go", `import "evenodd/league/store/disk"; var d = disk.Real{}`, "disk of the folder"},
		{"config/userfile/x.go", `import "os"; func f() { os.Open("x") }`, ""},
		{"league/x.go", `import os "example.com/os"; func f() { os.Exit(1) }`, ""},
		{"cmd/x.go", `import "syscall"; var refused = syscall.ECONNREFUSED`, "errors of sockets"},
		{"league/x.go", `import "sync"; var mu sync.Mutex`, "mu is state"},
		{"league/x.go", `import "sync"; var p sync.Pool`, "p is state"},
		{"transport/x.go", `import "sync"; var p = sync.Pool{New: f}`, ""},
		{"league/x.go", `import "sync"; var mu = &sync.Mutex{}`, "mu is state"},
		{"league/x.go", `import "sync"; var mu = new(sync.Mutex)`, "mu is state"},
		{"league/x.go", `import "sync/atomic"; var p atomic.Pointer[int]`, "p is state"},
		{"league/x.go", `import "sync/atomic"; var n [4]atomic.Int64`, "n is state"},
		{"league/x.go", `import "sync"; var m = map[string]*sync.Mutex{}`, "m is state"},
		{"league/x.go", `import "sync"; var m struct { sync.Mutex; n int }`, "m is state"},
		{"league/x.go", `var c = make(chan int, 1)`, "c is state"},
		{"league/x.go", `import "sync"; func f() { var mu sync.Mutex; _ = &mu }`, ""},
		{"cmd/x.go", `import "context"; func f(ctx context.Context) { _, _ = ctx.(interface{ Limit() int }) }`, "on a context"},
		{"transport/http/x.go", `func f() { _ = r.Context().(*t) }`, "on a context"},
		{"player/x.go", `func f() { _ = any(ctx).(*t) }`, "on a context"},
		{"referee/x.go", `import "context"; type m struct { ctx context.Context }; func f() { _ = m.ctx.(*t) }`, "on a context"},
		{"transport/http/x.go", `func f() { _ = ctx.Value(key).(*t) }`, ""},
		{"cmd/x.go", `func f() { log.Info().Str("a", "b").Msg("x") }`, "add .Str(\"event_type\""},
		{"cmd/x.go", `func f() { log.Warn().Str("event_type", event).Int("n", 1).Msgf("%d", 1) }`, ""},
		{"league/decide/x.go", `import "evenodd/rules/evenodd"; var g evenodd.Game`, "Even/Odd by its name"},
		{"referee/x.go", `const game = "even_odd"`, "Even/Odd by its name"},
		{"player/x.go", `func f() { choose("odd") }`, "Even/Odd by its name"},
		{"league/view/record/x.go", `var member = "parity_choice"`, "Even/Odd by its name"},
		{"cmd/x.go", `var usual = "league_2025_even_odd"`, "Even/Odd by its name"},
		{"cmd/games.go", `import "evenodd/rules/evenodd"; var g evenodd.Game`, ""},
		{"league/protocol/x.go", `const game = "even_odd"`, ""},
		{"league/x.go", `var text = "an odd word, even here"`, ""},
		{"league/x.go", `var codes = map[string]int{"E001": 1}`, ""},
	} {
		faults := parsed(t, tt.path, "package x\n\n"+tt.text+"\n").faults()
		if tt.want == "" {
			assert.Empty(t, faults, tt.text)
		} else if assert.Len(t, faults, 1, tt.text) {
			assert.Contains(t, faults[0], tt.want)
		}
	}
}

// sleepers returns the tests that sleep in packages without virtual time.
func sleepers(tests []source) (found []string) {
	virtual := map[string]bool{}
	for _, s := range tests {
		if s.nameOf("testing/synctest") != "" || s.nameOf(module+"/league/simulation/leaguetest") != "" {
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
	assert.Empty(t, sleepers(tests))
}

func TestSleepersAreFound(t *testing.T) {
	sleeper := parsed(t, "league/a_test.go", "package x\nimport \"time\"\nfunc f() { time.Sleep(1) }\n")
	virtual := parsed(t, "league/b_test.go", "package x\nimport \"testing/synctest\"\n")
	elsewhere := parsed(t, "player/b_test.go", "package x\nimport \"testing/synctest\"\n")
	assert.Len(t, sleepers([]source{sleeper, elsewhere}), 1)
	assert.Empty(t, sleepers([]source{sleeper, virtual}))
}

// Names of events are short: programs and people search logs for them.
func TestNamesOfEventsAreShort(t *testing.T) {
	named := regexp.MustCompile(`"event_type",\s*"([A-Z][^"]+)"`)
	form := regexp.MustCompile(`^[A-Z0-9]+(_[A-Z0-9]+){0,3}$`)
	sentence := regexp.MustCompile(`(^|_)(A|AN|THE|IS|ARE|WAS|HAS|HAVE|CANNOT|AGAIN)(_|$)`)
	names := 0
	require.NoError(t, filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			name := found[1]
			names++
			if len(name) > 30 || !form.MatchString(name) || sentence.MatchString(name) {
				t.Errorf("%s: %s: an event has a name of at most four words and 30 characters, a noun and what happened to it", file, name)
			}
		}
		return err
	}))
	require.Greater(t, names, 100)
}
