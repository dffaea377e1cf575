package main_test

import (
	"cmp"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A comparison is a function, or the methods of a type, that may compare a time which does not come from the clock of
// its process: whose it is, and a test in which clocks differ or are set.
type comparison struct{ functions, whose, test string }

// comparisons are all of these. Clocks of two machines differ, and each may be set, so the difference between the times
// of two agents means nothing; durations and deadlines belong to the monotonic clock of one process.
func comparisons() []comparison {
	const planned = "of the start that people have planned, in the time of everybody"
	return []comparison{
		{"player.Player.within", "both of the referee; that of the player only says it more exactly",
			"TestTimeOfAMoveIsThatOfTheRefereesClock"},
		{"transport/http.reply.retryAfter", "both of the server", "TestUnreadableResponses"},
		{"league/manager.Manager.untilStart", planned, "TestPlannedStartFollowsAClockThatIsSetBack"},
		{"league/decide.Registrations.Due", planned, "TestPlannedStartFollowsAClockThatIsSetBack"},
		{"league/decide.late", planned, "TestClockThatIsSetCostsNoMatch"},
		{"league/manager.Manager.expired", "of the manager that gave the token", "TestNewLeaderMayHaveAnotherClock"},
		{"league/decide.Registrations.left", "of the manager that registered the agent, beside the monotonic clock",
			"TestRegistrationIsDroppedInTimeByAClockThatIsSetBack"},
		{"league/inspect/audit.auditor.checkDrop", "both of the manager",
			"TestRegistrationIsDroppedInTimeByAClockThatIsSetBack"},
		{"league/inspect/audit.auditor.checkEventTime", "both of managers; a note", "TestNewLeaderMayHaveAnotherClock"},
		{"league/inspect/audit.transcriptCheck", "all of the referee of one match", "TestClockThatIsSetCostsNoMatch"},
		{"league/store.OldMatches.Archive", "of a folder, only whether it has changed",
			"TestMatchFilesOfAnOlderLeagueAreArchived"},
		{"cmd.admission.read", "both of the operator", "TestScripts"},
		{"cmd.tooLate", planned, "TestManagerSaysWhatATimeInThePastMeans"},
		{"cmd.upView.next", planned, "TestLobbyFitsTheTerminal"},
		{"cmd.upParent.view", "of a process of this machine; to show lines",
			"TestViewTellsWhatHasHappenedSinceItsParentBegan"},
	}
}

// ownWallTimes are the functions of roles that may use time.Now as a wall clock, and why.
func ownWallTimes() map[string]string {
	return map[string]string{
		"league/journal/journalstream.Lease.Holds": "the monotonic clock stops while a machine sleeps; both are its own",
	}
}

// A timedPackage has the files of a package, and what is known of its times.
type timedPackage struct {
	sources []source
	structs map[string][]string // their fields in order
	fields  map[string]bool     // those of type time.Time: whether they hold what taints says
}

// timedPackages returns the packages of sources by their folders.
func timedPackages(all []source) map[string]*timedPackage {
	packages := map[string]*timedPackage{}
	for _, s := range all {
		p := packages[path.Dir(s.path)]
		if p == nil {
			p = &timedPackage{structs: map[string][]string{}, fields: map[string]bool{}}
			packages[path.Dir(s.path)] = p
		}
		p.sources = append(p.sources, s)
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := spec.Type.(*ast.StructType); ok {
					p.declare(spec.Name.Name, fields)
				}
			}
			return true
		})
	}
	return packages
}

func (p *timedPackage) declare(name string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			p.structs[name] = append(p.structs[name], n.Name)
			if isTime(f.Type) {
				p.fields[n.Name] = false
			}
		}
	}
}

// isTime reports whether an expression is the type time.Time.
func isTime(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Time" && called(sel.X) == "time"
}

// called returns the last name of what is called: "Parse" for time.Parse.
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return called(e.X)
	}
	return ""
}

// functions calls do for each function of a package with a body, by its name: league/manager.Manager.expired.
func (p *timedPackage) functions(do func(name string, s source, f *ast.FuncDecl)) {
	for _, s := range p.sources {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				receiver := f.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				name = called(receiver) + "." + name
			}
			do(path.Dir(s.path)+"."+name, s, f)
		}
	}
}

// A taint follows times from their sources through variables, fields of the package and methods that return a time.
type taint struct {
	*timedPackage
	source func(*ast.CallExpr) bool
	locals map[string]bool
}

// has reports whether an expression is such a time.
func (t *taint) has(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return t.locals[e.Name]
	case *ast.ParenExpr:
		return t.has(e.X)
	case *ast.SelectorExpr:
		return t.fields[e.Sel.Name]
	case *ast.CallExpr:
		sel, method := e.Fun.(*ast.SelectorExpr)
		moves := []string{"Add", "AddDate", "Truncate", "Round", "UTC", "Local", "In"}
		return t.source(e) || method && slices.Contains(moves, sel.Sel.Name) && t.has(sel.X)
	}
	return false
}

// follow adds the variables and fields to which a function assigns such times, until there is no other.
func (t *taint) follow(f *ast.FuncDecl) {
	for before := -1; before != t.count(); {
		before = t.count()
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if i < len(n.Rhs) && t.has(n.Rhs[i]) { // of two results the time is the first
						t.mark(to)
					}
				}
			case *ast.CompositeLit:
				for i, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok && t.has(pair.Value) {
						t.markField(called(pair.Key))
					} else if names := t.structs[called(n.Type)]; !ok && i < len(names) && t.has(e) {
						t.markField(names[i])
					}
				}
			}
			return true
		})
	}
}

func (t *taint) count() (n int) {
	for _, marked := range t.fields {
		if marked {
			n++
		}
	}
	return n + len(t.locals)
}

func (t *taint) mark(to ast.Expr) {
	switch to := to.(type) {
	case *ast.Ident:
		t.locals[to.Name] = true
	case *ast.SelectorExpr:
		t.markField(to.Sel.Name)
	}
}

func (t *taint) markField(name string) {
	if _, ok := t.fields[name]; ok {
		t.fields[name] = true
	}
}

// foreign reports whether a call reads a time from a text or a file, by functions of these names and of package time.
func foreign(call *ast.CallExpr, names map[string]bool) bool {
	return names[called(call.Fun)] || ofTime(call, "Parse", "ParseInLocation", "Unix", "UnixMilli", "UnixMicro") &&
		slices.ContainsFunc(call.Args, func(e ast.Expr) bool { _, constant := e.(*ast.BasicLit); return !constant })
}

// ofTime reports whether a call is one of functions of package time.
func ofTime(call *ast.CallExpr, functions ...string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && called(sel.X) == "time" && slices.Contains(functions, sel.Sel.Name)
}

// comparers returns the functions that compare a time which was read from a text or a file, or pass one on, with the
// place. It follows times through the results of functions by their names, in all packages, and through the fields and
// variables of one.
func comparers(all []source) map[string]string {
	packages := timedPackages(all)
	results := map[string]bool{"ParseTimestamp": true, "ParseTime": true, "ModTime": true}
	isSource := func(call *ast.CallExpr) bool { return foreign(call, results) }
	found := map[string]string{}
	for before := -1; before != len(results)+len(found); {
		before = len(results) + len(found)
		for _, p := range packages {
			p.functions(func(name string, s source, f *ast.FuncDecl) {
				t := &taint{p, isSource, map[string]bool{}}
				t.follow(f)
				ast.Inspect(f.Body, func(n ast.Node) bool {
					switch n := n.(type) {
					case ast.Expr:
						if t.compares(n) {
							found[name] = cmp.Or(found[name], s.at(n))
						}
					case *ast.ReturnStmt:
						if slices.ContainsFunc(n.Results, t.has) {
							results[f.Name.Name] = true
						}
					}
					return true
				})
			})
		}
	}
	return found
}

// compares reports whether an expression compares such a time with another one, or passes it to a function that may. It
// may make a text of it.
func (t *taint) compares(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return t.has(e.X) || t.has(e.Y)
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		return slices.ContainsFunc(e.Args, t.has) && !makesText(e) ||
			ok && slices.Contains([]string{"Before", "After", "Sub", "Compare", "Equal"}, sel.Sel.Name) && t.has(sel.X)
	}
	return false
}

// makesText reports whether a call makes a text of a time.
func makesText(call *ast.CallExpr) bool {
	return slices.ContainsFunc([]string{"Format", "Timestamp", "print", "Print"}, func(part string) bool {
		return strings.Contains(called(call.Fun), part)
	})
}

// wallTimes returns the functions that use time.Now as a wall clock: they make a text or a number of it, or take its
// monotonic clock away.
func wallTimes(all []source) map[string]string {
	found := map[string]string{}
	for _, p := range timedPackages(all) {
		p.functions(func(name string, s source, f *ast.FuncDecl) {
			t := &taint{p, func(call *ast.CallExpr) bool { return ofTime(call, "Now") }, map[string]bool{}}
			t.follow(f)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				steady := []string{"Add", "Sub", "Before", "After", "Compare", "Equal", "IsZero"}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if ok && t.has(sel.X) && !slices.Contains(steady, sel.Sel.Name) ||
					slices.ContainsFunc(call.Args, t.has) && (makesText(call) || called(call.Fun) == "NewHeader") {
					found[name] = cmp.Or(found[name], s.at(call))
				}
				return true
			})
		})
	}
	return found
}

// timed are the sources of what the rules about clocks are for: not of simulations and of the conformance kit, which
// play agents, and not of pages, which show what files have.
func timed(all []source) []source {
	return slices.DeleteFunc(slices.Clone(all), func(s source) bool {
		return s.isTest() || in(path.Dir(s.path), "league/simulation", "league/inspect/check", "league/view")
	})
}

// TestComparisonsOfClocks finds a comparison of times of two agents: it is in no row of comparisons.
func TestComparisonsOfClocks(t *testing.T) {
	all := sources(t)
	tests := map[string]bool{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() {
				tests[f.Name.Name] = true
			}
		}
	}
	found := comparers(timed(all))
	for _, c := range comparisons() {
		assert.True(t, tests[c.test], "%s has no test: %s is none", c.functions, c.test)
		before := len(found)
		maps.DeleteFunc(found, func(name, _ string) bool {
			return name == c.functions || strings.HasPrefix(name, c.functions+".")
		})
		assert.Less(t, len(found), before, "%s compares no times: remove its row", c.functions)
	}
	assert.Empty(t, found, "a time of another clock: use a duration, or add a row with a test where clocks are set")

	roles := slices.DeleteFunc(timed(all), func(s source) bool {
		return in(s.path, "cmd", "config", "league/protocol/clock.go")
	})
	walls := wallTimes(roles)
	for name, why := range ownWallTimes() {
		assert.Contains(t, walls, name, why)
		delete(walls, name)
	}
	assert.Empty(t, walls, "the wall clock of an agent is its protocol.Clock; time.Now is for deadlines and durations")
}

func TestPlantedComparisonsAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		text        string
		other, wall int
	}{
		"a message and the own clock": {`func late(m *M) bool {
				at, _ := protocol.ParseTimestamp(m.Timestamp)
				return clock.Now().Sub(at) > limit
			}`, 1, 0},
		"a field, in another function": {`type s struct{ since time.Time }
			func (x *s) read(m *M) { x.since, _ = time.Parse(time.RFC3339, m.At) }
			func (x *s) old() bool { return time.Since(x.since) > limit }`, 1, 0},
		"a field without its name": {`type s struct { id string; since time.Time }
			func read(m *M) s { at, _ := protocol.ParseTimestamp(m.At); return s{m.ID, at} }
			func (x *s) old(now time.Time) bool { return x.since.Before(now) }`, 1, 0},
		"a result": {`func sent(m *M) time.Time { at, _ := protocol.ParseTimestamp(m.At); return at.UTC() }
			func old(m *M) bool { return time.Until(sent(m)) < 0 }`, 1, 0},
		"an argument":            {`func f(m *M) { at, _ := http.ParseTime(m.Date); wait(at) }`, 1, 0},
		"a file":                 {`func f(i fs.FileInfo) bool { return i.ModTime().After(began) }`, 1, 0},
		"equal":                  {`func f(i fs.FileInfo) bool { return i.ModTime() == before }`, 1, 0},
		"a text of a time":       {`func f(m *M) string { at, _ := ParseTimestamp(m.At); return FormatTimestamp(at) }`, 0, 0},
		"a check of a text":      {`func f(m *M) error { _, err := protocol.ParseTimestamp(m.At); return err }`, 0, 0},
		"a constant":             {`func f(l net.Listener) { l.SetDeadline(time.Unix(1, 0)) }`, 0, 0},
		"a duration":             {`func f() { began := time.Now(); g(time.Since(began), began.Before(end)) }`, 0, 0},
		"a timestamp":            {`func f() string { return protocol.FormatTimestamp(time.Now()) }`, 0, 1},
		"a number":               {`func f() int64 { now := time.Now(); return now.Add(limit).UnixMilli() }`, 0, 1},
		"a field as a timestamp": {`type s struct{ now time.Time }; func f() { x := s{time.Now()}; g(x.now.UTC()) }`, 0, 1},
		"a time of the day":      {`func f() bool { return time.Now().Round(0).Before(end) }`, 0, 1},
	} {
		planted := []source{parsed(t, "league/x.go", "package x\n\n"+tt.text+"\n")}
		assert.Len(t, comparers(planted), tt.other, name)
		assert.Len(t, wallTimes(planted), tt.wall, name)
	}
}
