package main_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each claim in docs/security.md names a test, and each named test exists.
func TestSecurityClaimsHaveTests(t *testing.T) {
	page := textOf(t, "docs/security.md")
	claims, _, found := strings.Cut(page, "\n## Remaining risks")
	require.True(t, found, "the section on remaining risks")
	named := regexp.MustCompile("`([\\w/]+)\\.((?:Test|Fuzz)\\w+)`")
	claimed := 0
	for _, claim := range strings.Split(claims, "\n- ")[1:] {
		claimed++
		claim, _, _ = strings.Cut(claim, "\n\n")
		assert.Regexp(t, named, claim, "no test for this claim")
	}
	assert.Greater(t, claimed, 60)
	for _, test := range named.FindAllStringSubmatch(page, -1) {
		assert.True(t, hasTest(t, test[1], test[2]), "%s has no %s", test[1], test[2])
	}
	tests := regexp.MustCompile("\\b(?:Test|Fuzz)[A-Z]\\w+`").FindAllString(page, -1)
	assert.Len(t, tests, len(named.FindAllString(page, -1))+1, "each test has its folder, except in the command that runs one")
}

// ARCHITECTURE.md has one row for each package and for each library that go.mod requires,
// and no others.
func TestArchitectureListsEveryPackageAndLibrary(t *testing.T) {
	_, page, found := strings.Cut(textOf(t, "ARCHITECTURE.md"), "\n## Packages\n")
	require.True(t, found)
	rows, libraries, found := strings.Cut(page, "\n## Libraries\n")
	require.True(t, found)

	for pkg := range importsOf(t) {
		if pkg == "main" || strings.HasPrefix(pkg, "rules/") && pkg != "rules/rulestest" {
			continue // the program, or a game: cmd/games.go lists the games
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

var update = flag.Bool("update", false, "write the generated text of pages")

// The last column of the table of packages has their imports: 'go test . -run TestArchitectureShows -update' writes it.
func TestArchitectureShowsImports(t *testing.T) {
	const file, most = "ARCHITECTURE.md", 12 // imports that a cell lists
	onlyTests := []string{"league/simulation/leaguetest", "league/view/browsertest", "rules/rulestest", "transport/dialect/thirdparty",
		"transport/pipenet"}
	text, imports, filled := textOf(t, file), importsOf(t), 0
	row := regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| (.*) \\| ([^|]*) \\|$")
	shown := row.ReplaceAllStringFunc(text, func(line string) string {
		cells := row.FindStringSubmatch(line)
		var all []string
		for _, pkg := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			if slices.Contains(onlyTests, pkg[1]) {
				return fmt.Sprintf("| %s | %s | (tests only) |", cells[1], cells[2])
			}
			of, known := imports[strings.TrimSuffix(pkg[1], ".go")]
			if !known && !strings.HasPrefix(pkg[1], "testdata/") {
				return line // of another table
			}
			all = append(all, of...)
		}
		filled++
		all = slices.DeleteFunc(all, func(i string) bool { return !ours(i) })
		slices.Sort(all)
		all = slices.Compact(all)
		cell := cmp.Or(strings.Join(all, ", "), "none")
		if len(all) > most {
			cell = fmt.Sprintf("%d packages", len(all))
		}
		return fmt.Sprintf("| %s | %s | %s |", cells[1], cells[2], cell)
	})
	assert.Greater(t, filled, 30)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(shown), 0o644))
		return
	}
	assert.Equal(t, shown, text, "run 'go test . -run TestArchitectureShows -update'")
}

// The diagram of packages has their imports without those that follow from others: 'go test . -run
// TestArchitectureShows -update' writes them. Each leads to its own layer or to one on the right.
func TestArchitectureShowsLayers(t *testing.T) {
	const file, mark = "ARCHITECTURE.md", "    %% imports\n"
	text := textOf(t, file)
	before, rest, found := strings.Cut(text, mark)
	require.True(t, found)
	_, after, _ := strings.Cut(rest, "```")
	before, diagram, _ := strings.Cut(before, "```mermaid\n")
	layers := strings.Split(diagram, "    subgraph ")
	layer, ids, pkgs := map[string]int{}, map[string]string{}, []string{}
	for i, l := range layers[1:] {
		for _, node := range regexp.MustCompile(`(?m)^ {8}(\w+)(?:\["(.*)"\])?$`).FindAllStringSubmatch(l, -1) {
			pkg := strings.TrimSuffix(cmp.Or(node[2], node[1]), ".go")
			layer[pkg], ids[pkg], pkgs = i, node[1], append(pkgs, pkg)
		}
	}
	require.Greater(t, len(pkgs), 25)
	imports, all := importsOf(t), map[string]map[string]bool{} // directly, and in the end
	var closed func(pkg string) map[string]bool
	closed = func(pkg string) map[string]bool {
		if all[pkg] == nil {
			all[pkg] = map[string]bool{}
			for _, i := range imports[pkg] {
				all[pkg][i] = true
				maps.Copy(all[pkg], closed(i))
			}
		}
		return all[pkg]
	}
	var edges strings.Builder
	for _, pkg := range pkgs {
		require.Contains(t, imports, pkg)
		var to []string
		for _, other := range pkgs {
			if !slices.Contains(imports[pkg], other) {
				continue
			}
			assert.LessOrEqual(t, layer[pkg], layer[other], "%s imports %s, which is in a layer on its left", pkg, other)
			if !slices.ContainsFunc(imports[pkg], func(i string) bool { return ids[i] != "" && closed(i)[other] }) {
				to = append(to, ids[other])
			}
		}
		if len(to) > 0 {
			fmt.Fprintf(&edges, "    %s --> %s\n", ids[pkg], strings.Join(to, " & "))
		}
	}
	shown := before + "```mermaid\n" + diagram + mark + edges.String() + "```" + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(shown), 0o644))
		return
	}
	assert.Equal(t, shown, text, "run 'go test . -run TestArchitectureShows -update'")
}

// Each source file that a page names by its path exists.
func TestPagesNameFilesThatExist(t *testing.T) {
	pages := 0
	require.NoError(t, filepath.WalkDir(".", func(page string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" || filepath.Ext(page) != ".md" {
			return err
		}
		pages++
		for _, file := range namedFiles.FindAllStringSubmatch(textOf(t, page), -1) {
			assert.FileExists(t, file[1], page)
		}
		return nil
	}))
	assert.Greater(t, pages, 20)
}

var namedFiles = regexp.MustCompile("`([\\w/]+/\\w+\\.go)`")

// The files that a step of a match in ARCHITECTURE.md names declare the functions and types that it names.
func TestArchitectureFollowsAMatch(t *testing.T) {
	page := textOf(t, "ARCHITECTURE.md")
	steps := regexp.MustCompile(`(?m)^\d+\. .*(?:\n {2,}.*)*`).FindAllString(page, -1)
	assert.Greater(t, len(steps), 10)
	for _, diagram := range regexp.MustCompile("(?s)```mermaid\n(.*?)```").FindAllStringSubmatch(page, -1) {
		assert.NotContains(t, diagram[1], ";", "it ends a statement of a diagram")
	}
	for _, step := range steps {
		var declared strings.Builder
		for _, file := range namedFiles.FindAllStringSubmatch(step, -1) {
			declared.WriteString(textOf(t, file[1]))
		}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(step, -1) {
			is := regexp.MustCompile(`(?m)^(?:type|func(?: \([^)]*\))?) ` + name[1] + `\b`)
			assert.True(t, is.MatchString(declared.String()), "no file of this step declares %s: %s", name[1], step)
		}
	}
}

// Each package that docs/glossary.md names exists.
func TestGlossaryNamesPackages(t *testing.T) {
	imports := importsOf(t)
	rows := regexp.MustCompile("(?m)\\| `([^`|]+)` \\|$").FindAllStringSubmatch(textOf(t, "docs/glossary.md"), -1)
	require.Greater(t, len(rows), 40)
	for _, row := range rows {
		assert.Contains(t, imports, row[1])
	}
}

// hasTest reports whether a folder contains a test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		return strings.Contains(textOf(t, file), "\nfunc "+name+"(")
	})
}

// textOf returns the text of a file.
func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// The files and tests that docs/games.md names exist.
func TestGamesPageNamesWhatExists(t *testing.T) {
	page := textOf(t, "docs/games.md")
	file := regexp.MustCompile("`((?:rules|cmd|player)/[\\w/]+\\.go)`")
	require.NotEmpty(t, file.FindAllString(page, -1))
	for _, named := range file.FindAllStringSubmatch(page, -1) {
		assert.FileExists(t, named[1])
	}
	for _, test := range regexp.MustCompile("`(Test\\w+)` in `([\\w/]+)/\\w+_test\\.go`").FindAllStringSubmatch(page, -1) {
		assert.True(t, hasTest(t, test[2], test[1]), "%s has no %s", test[2], test[1])
	}
}

// Only its own package, the list of games and strategies for this game alone know a game. Even/Odd
// has messages of its own in the protocol.
func TestGameIsOnePackageAndOneLine(t *testing.T) {
	texts := map[string]string{}
	all := slices.DeleteFunc(sources(t), source.isTest)
	example := regexp.MustCompile(`evenodd \w+ (.*--game|prompt) \w+`) // a command, which may name a game
	for _, s := range all {
		texts[s.path] = example.ReplaceAllString(textOf(t, s.path), "")
	}
	for _, gameType := range []string{"connect_four", "rock_paper_scissors", "tic_tac_toe"} {
		pkg := strings.ReplaceAll(gameType, "_", "")
		tests := textOf(t, "rules/"+pkg+"/"+pkg+"_test.go")
		assert.Contains(t, tests, "rulestest.Check(t, "+pkg+".Game{})", "the game keeps the rules of games")
		var knowing []string
		name := regexp.MustCompile("(?i)" + strings.ReplaceAll(gameType, "_", "_?"))
		for _, s := range all {
			found := len(name.FindAllString(texts[s.path], -1))
			specialist := strings.HasPrefix(s.path, "player/strategy/") && s.nameOf(module+"/rules/"+pkg) != ""
			if found > 0 && !specialist && !strings.HasPrefix(s.path, "rules/"+pkg+"/") {
				knowing = append(knowing, s.path)
				assert.Equal(t, 2, found, "%s: one import and one line", s.path)
			}
		}
		assert.Equal(t, []string{"cmd/games.go"}, knowing)
		builtin, err := os.ReadDir("config/builtin")
		require.NoError(t, err)
		for _, file := range builtin {
			assert.NotContains(t, textOf(t, "config/builtin/"+file.Name()), gameType, file.Name())
		}
	}
}

var (
	// link is the target of a link or a picture that is a file of this module.
	link    = regexp.MustCompile(`(?:\]\(|src=")([^)":\s]+)[)"]`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// Each link of a page names an existing file and, if it has a fragment, a heading of that file.
func TestLinksOfPagesExist(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(textOf(t, page), ""), -1) {
			links++
			path, fragment, _ := strings.Cut(found[1], "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
			}
			if _, err := os.Stat(file); !assert.NoError(t, err, "%s links to %s", page, found[1]) || fragment == "" {
				continue
			}
			assert.Contains(t, anchors(t, file), fragment, "%s links to %s", page, found[1])
		}
	}
	assert.Greater(t, links, 100)
}

// Each page of docs that code, help, templates and scripts name exists, with its heading.
func TestPagesNamedOutsideOfPagesExist(t *testing.T) {
	reference := regexp.MustCompile(`\bdocs/([\w-]+\.md)(?:#([\w-]+))?`)
	named := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && slices.Contains([]string{".git", "dist", "node_modules"}, d.Name()) {
				return filepath.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".html", ".txt", ".yaml", ".tmpl", ".py", ".mjs"}, filepath.Ext(path)) {
			return nil
		}
		for _, found := range reference.FindAllStringSubmatch(textOf(t, path), -1) {
			named++
			page := filepath.Join("docs", found[1])
			if assert.FileExists(t, page, "%s names it", path) && found[2] != "" {
				assert.Contains(t, anchors(t, page), found[2], "%s names %s", path, found[0])
			}
		}
		return nil
	}))
	assert.Greater(t, named, 30)
}

// pages returns the pages of this module, without those of templates and of npm.
func pages(t *testing.T) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "node_modules", "starter"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	}))
	return all
}

var (
	noAnchor    = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	pageAnchors = map[string][]string{} // by page
)

// anchors returns the fragments of the headings of a page, as GitHub makes them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	if all, read := pageAnchors[page]; read {
		return all
	}
	var all []string
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(textOf(t, page), ""), -1) {
		words := noAnchor.ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	pageAnchors[page] = all
	return all
}
