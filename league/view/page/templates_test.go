package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// noFiles is the source of a league without files.
type noFiles struct{ Source }

func (noFiles) Transcript(context.Context, league.Attempt) (*store.Match, error) {
	return nil, fs.ErrNotExist
}

// Mux serves the pages at their addresses.
func (p *Pages) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range p.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	return mux
}

// render renders every page of a league, now and in the past, by its path.
func render(t testing.TB, l *record.League) map[string]string {
	b := &Board{source: noFiles{}, league: l, start: func() {}, ready: make(chan struct{}), reading: make(chan struct{}, readersMost)}
	close(b.ready)
	p, err := New(b, Options{Listed: l.Listed})
	require.NoError(t, err)
	mux := p.Mux()
	paths := []string{"/", "/?round=0", "/?round=1", "/cross", "/cross?round=1", "/agents", "/statistics"}
	for id, a := range l.Agents {
		if a.Player {
			paths = append(paths, "/players/"+id, "/players/"+id+"?against=P01")
		}
	}
	pages := map[string]string{}
	for _, path := range paths {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code, path)
		pages[path] = w.Body.String()
	}
	return pages
}

// hostileNames are names that break pages that do not escape them.
func hostileNames() []string {
	return []string{
		"<img src=x onerror=alert(1)>", `"><script>alert(2)</script>`, "דניאל כהן", "abc\u202edef",
		"</script><script>alert(3)", strings.Repeat("W", 64), `' onmouseover='alert(4)`, "{{.League}}",
	}
}

// hostileLeague is a league in which all texts of others are hostile.
func hostileLeague(t testing.TB, tournament *journal.Tournament) *script {
	s := newScript(t, tournament, hostileNames()...)
	s.l.Created.DisplayName, s.l.Created.LeagueID = "<b>Cup</b>", "<i>cup</i>"
	s.start()
	s.announce()
	s.report(1, "A", "E001")
	s.report(2, "", "")
	s.report(3, "B", "<u>E</u>")
	s.report(4, "B", "")
	s.complete()
	by := journal.Decision{By: `<s onclick="alert(5)">Ada`, Reason: "<style>*{}</style>"}
	s.add(&journal.Decided{Command: protocol.CommandRematch, Decision: by, MatchID: league.MatchID{Round: 1, Number: 4}})
	s.add(&journal.Decided{Command: protocol.CommandSuspend, Decision: by, AgentID: "P01"})
	s.add(&journal.Decided{Command: protocol.CommandPause, Decision: by})
	return s
}

func TestTwoBlocksOfOneNameAreAnError(t *testing.T) {
	from := func(texts ...string) fs.FS {
		files := fstest.MapFS{}
		for i, text := range texts {
			files[fmt.Sprintf("%d.html", i)] = &fstest.MapFile{Data: []byte(text)}
		}
		return files
	}
	_, err := parse(from(`{{define "rows"}}old{{end}}`, "\n{{define \"rows\"}}new{{end}}"), nil, nil, "*.html")
	require.EqualError(t, err, `template: 1.html:2: template: multiple definition of template "rows"`)

	both, err := parse(from(`{{block "scripts" .}}{{end}}`, `{{define "scripts"}}{{when .}}{{end}}`), time.FixedZone("CET", 3600), nil,
		"*.html")
	require.NoError(t, err, "a page fills what the layout leaves empty")
	var text strings.Builder
	require.NoError(t, both.ExecuteTemplate(&text, "0.html", "2026-11-29T23:59:59Z"))
	assert.Equal(t, "2026-11-30 00:59 CET", text.String())
}

func TestTextsOfOthersAreShownAsText(t *testing.T) {
	tags := regexp.MustCompile(`<(img|b>Cup|i>cup|u>E|s onclick|style|script>alert)`)
	for _, tournament := range []*journal.Tournament{nil, leagues(t)["knockout"].Created.Tournament} {
		for path, page := range render(t, hostileLeague(t, tournament).l) {
			assert.Empty(t, tags.FindString(page), path)
			assert.NotContains(t, page, "\u202e", "%s: an override of the direction is shown escaped", path)
			assert.NotContains(t, page, "ZgotmplZ", path)
		}
	}
	pages := render(t, hostileLeague(t, nil).l)
	assert.Contains(t, pages["/"], "&lt;img src=x onerror=alert(1)&gt;")
	assert.Contains(t, pages["/"], `<bdi dir="auto">דניאל כהן</bdi>`)
	assert.Contains(t, pages["/"], `abc\u202edef`)
}

// The Content-Security-Policy forbids these, so they would do nothing.
func TestPagesHaveNoInlineStyleOrScript(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+="|javascript:|<script(>| [^>]*type="(text/javascript|module))`)
	all := leagues(t)
	all["hostile"] = hostileLeague(t, nil).l
	all["empty"] = newScript(t, nil).l
	for name, l := range all {
		for path, page := range render(t, l) {
			assert.Empty(t, forbidden.FindString(page), "%s %s", name, path)
			for _, tag := range regexp.MustCompile(`<script[^>]*>`).FindAllString(page, -1) {
				assert.True(t, strings.Contains(tag, "src=") || strings.Contains(tag, `type="application/json"`), tag)
			}
		}
	}
}

func TestPagesAreAccessible(t *testing.T) {
	heading, id := regexp.MustCompile(`<h1[ >]`), regexp.MustCompile(`\sid="([^"]*)"`)
	for name, l := range leagues(t) {
		for path, page := range render(t, l) {
			where := name + " " + path
			assert.Len(t, heading.FindAllString(page, -1), 1, "%s: one h1", where)
			assert.Contains(t, page, `<a class="skip" href="#content">`, where)
			assert.Equal(t, strings.Count(page, "<table"), strings.Count(page, "<caption"), "%s: every table has a caption", where)
			assert.NotRegexp(t, `<th>|<th class`, page, "%s: every heading has a scope", where)
			seen := map[string]bool{}
			for _, found := range id.FindAllStringSubmatch(page, -1) {
				assert.False(t, seen[found[1]], "%s: id %s is repeated", where, found[1])
				seen[found[1]] = true
			}
			for _, found := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				assert.True(t, seen[found[1]], "%s: no element has the id %s", where, found[1])
			}
		}
	}
}

func TestPageOf200PlayersIsSmall(t *testing.T) {
	s := startedScript(t, 200)
	s.round()
	s.round()
	pages := render(t, s.l)
	assert.Less(t, len(pages["/"]), 200<<10)
	assert.Less(t, len(pages["/cross"]), 300<<10)
}

func TestViewThatPanicsFailsItsPageAlone(t *testing.T) {
	board := NewBoard(NewFolder(store.In("../../../testdata/leagues/finished"), "league_2025_even_odd"))
	defer board.Close()
	pages, err := New(board, Options{})
	require.NoError(t, err)
	pages.routes = []route{
		{pattern: "GET /broken", template: "overview", build: func(*Board, *http.Request) (any, error) { panic("secret") }},
		{pattern: "GET /{$}", template: "overview", build: buildOverview},
	}
	mux := pages.Mux()
	for path, want := range map[string]int{"/broken": http.StatusInternalServerError, "/": http.StatusOK} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		assert.Equal(t, want, w.Code, path)
		assert.NotContains(t, w.Body.String(), "secret", path)
	}
}

func TestVendoredFilesAreThoseOfTheTable(t *testing.T) {
	table, err := files.ReadFile("assets/LICENSES.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.SplitSeq(string(table), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || !strings.Contains(cells[1], ".") {
			continue
		}
		name := strings.TrimSpace(cells[1])
		text, err := files.ReadFile("assets/" + name)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		assert.Equal(t, strings.TrimSpace(cells[5]), hex.EncodeToString(sum[:]), name)
		listed[name] = true
	}
	names, err := fs.Glob(files, "assets/*.min.*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.True(t, listed[strings.TrimPrefix(name, "assets/")], "%s is not in LICENSES.md", name)
	}
}

// The pages transfer little, so that a class of phones loads them at once.
func TestAssetsAreSmall(t *testing.T) {
	sum := 0
	for name, a := range readAssets() {
		if strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".css") {
			sum += len(a.text)
		}
	}
	assert.Less(t, sum, 116<<10, "bytes of all scripts and styles")
}
