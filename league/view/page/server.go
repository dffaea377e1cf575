package page

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	parsing "text/template/parse"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// Options configure the pages.
type Options struct {
	Log    zerolog.Logger // of pages that fail
	Games  rules.Registry // for boards, the words of moves, and whether the rules treat both sides alike
	Base   string         // path of the pages, such as /league; "" for /
	Listed []string       // names of the players of the roster; nil if they are not known
	Season *Season        // the leagues of the folder; nil for the pages of one league alone
	Zone   *time.Location // of times, until the script of the page shows them in that of the reader; nil is UTC

	Joining *Joining // how others join the league before its start; nil without a manager
	// Obstacles are what the pings of the manager to agents that have not answered met, by their ids. Nil if that is
	// not known.
	Obstacles func() map[string]string

	within *Pages // of the chosen league; nil for these themselves
}

// Pages serve a board. They are safe for concurrent use.
type Pages struct {
	board     *Board
	options   Options
	assets    assets
	templates map[string]*template.Template // by the name of the file
	build     string                        // of the program, for ETags: when it started
	routes    []route
	updates   *updates
	audience  audience
	broken    sync.Once // logs that the board has failed, which it does once
}

// A Route is a handler with its pattern, as http.ServeMux has it.
type Route struct {
	Pattern string
	Handler http.Handler
	Stream  bool // its answers have no end
}

// New makes the pages of a board.
func New(b *Board, o Options) (*Pages, error) {
	b.league.Games, b.league.Listed, b.league.Zone = o.Games, o.Listed, o.Zone
	b.joining, b.obstacles = o.Joining, o.Obstacles
	p := &Pages{board: b, options: o, assets: readAssets(), templates: map[string]*template.Template{}, routes: routes()}
	p.routes = append(p.routes, p.seasonRoutes()...)
	p.build = strconv.FormatInt(time.Now().UnixNano(), 36)
	p.updates = &updates{pages: p}
	for _, name := range append(lists.Map(p.routes, func(r route) string { return r.template }), "problem") {
		t, err := parse(files, o.Zone, template.FuncMap{
			"base":     func() string { return o.Base },
			"asset":    func(name string) string { return o.Base + p.assets.url(name) },
			"toMatch":  func(id string) string { return o.Base + "/matches/" + id },
			"toPlayer": func(id string) string { return o.Base + "/players/" + id },
			"toMatches": func(player, opponent, _ string) string {
				return o.Base + "/players/" + player + "?against=" + opponent
			},
		}, "templates/layout.html", "templates/parts.html", "templates/board.html", "templates/lobby.html",
			"templates/bracket.html", "templates/"+name+".html")
		if err == nil { // the layout has a place for the content of any page
			_, err = t.AddParseTree("content", t.Lookup("content of "+name).Tree.Copy())
		}
		if err != nil {
			return nil, err
		}
		p.templates[name] = t.Lookup("layout.html")
	}
	return p, nil
}

// parse parses files of templates, which call links for URLs, show times in a zone, and have the names of the files.
// Two blocks of one name are an error, unless one of them is empty: a page may fill what the layout leaves empty.
func parse(from fs.FS, zone *time.Location, links template.FuncMap, patterns ...string) (*template.Template, error) {
	blocks := map[string]*parsing.Tree{}
	for _, pattern := range patterns {
		names, _ := fs.Glob(from, pattern) // the patterns are valid
		for _, name := range names {
			text, err := fs.ReadFile(from, name)
			if err != nil {
				return nil, err
			}
			file := parsing.New(path.Base(name))
			file.Mode = parsing.SkipFuncCheck // it knows no functions
			if _, err := file.Parse(string(text), "", "", blocks); err != nil {
				return nil, err
			}
		}
	}
	t := template.New("").Funcs(links).Funcs(timesIn(zone)).Funcs(template.FuncMap{"text": shown, "whole": math.Round})
	for name, block := range blocks {
		if _, err := t.AddParseTree(name, block); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Routes are the handlers of the pages.
func (p *Pages) Routes() []Route {
	var list []Route
	add := func(pattern string, stream bool, handler http.HandlerFunc) {
		pattern = strings.Replace(pattern, " ", " "+p.options.Base, 1)
		list = append(list, Route{Pattern: pattern, Handler: guarded(p.audience.counted(handler)), Stream: stream})
	}
	add("GET /assets/{file}", false, p.assets.serve)
	add("GET /events", true, p.stream)
	for _, one := range p.routes {
		add(one.pattern, false, func(w http.ResponseWriter, r *http.Request) { p.page(w, r, &one) })
	}
	if p.options.Season != nil {
		add("GET /leagues/{league}", false, p.other)
		add("GET /leagues/{league}/{rest...}", false, p.other)
		add("GET /leagues/{league}/events", true, p.other)
	}
	if base := p.options.Base; base != "" {
		home := guarded(http.RedirectHandler(base+"/", http.StatusFound).ServeHTTP)
		list = append(list, Route{Pattern: "GET /{$}", Handler: home}, Route{Pattern: "GET " + base, Handler: home},
			Route{Pattern: "POST " + base + "/", Handler: guarded(http.NotFound)}) // no call of an agent comes by the proxy
	}
	return list
}

// policy is the Content-Security-Policy of all pages: nothing but files of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guarded sets the headers that every answer has, besides those of the server.
func guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// A frame is what layout.html shows around a page.
type frame struct {
	Title   string
	League  string // its name
	Version int    // of the league: events from here on are new to the page
	Over    bool
	Links   []link
	Season  string // URL of the page of the season; "" for none
	View    any    // of the page
}

// A link is a link of the navigation.
type link struct {
	To, Title string
	Here      bool
}

// page answers a request for a page, or for one fragment of it.
func (p *Pages) page(w http.ResponseWriter, r *http.Request, of *route) {
	if err := p.board.Ready(r.Context()); err != nil && !of.ofFolder {
		p.problem(w, of, err)
		return
	}
	at, _ := p.board.View(func(*record.League) {})
	build := p.build
	if p.seasonLink() != "" { // of each page, as soon as the folder has another league
		build += "s"
	}
	h, tag := w.Header(), fmt.Sprintf(`"%s-%d"`, build, at)
	h.Set("Cache-Control", "no-cache")
	if !of.volatile {
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) { // before it is made
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	var body bytes.Buffer
	if err := safely(func() error { return p.render(&body, of, at, r) }); err != nil {
		p.problem(w, of, err)
		return
	}
	if of.template == "match" && r.FormValue("embed") == "1" { // a page of another site may show a board
		h.Set("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors *", 1))
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body.Bytes()) // fails only for a client that has gone
}

// render writes a page, or the fragment of it that a request asks for: the template of that name, which shows the
// view of the page.
func (p *Pages) render(body *bytes.Buffer, of *route, at int, r *http.Request) error {
	view, err := of.build(p.board, r)
	if err != nil {
		return err
	}
	page, name := p.templates[of.template], r.URL.Query().Get("fragment")
	if name == "" {
		return page.Execute(body, p.frame(of, at, view))
	}
	fragment := page.Lookup(name)
	whole := strings.HasPrefix(name, "content") || strings.Contains(name, ".")
	if fragment == nil || whole || fragment.Execute(body, view) != nil {
		return errNotFound
	}
	return nil
}

// safely returns the panic of a function as an error: a mistake in a view must not end the process,
// which may be that of a league.
func safely(do func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	return do()
}

// frame is the frame of a page.
func (p *Pages) frame(of *route, at int, view any) *frame {
	f := &frame{Title: of.title, Version: at, View: view, Season: p.seasonLink()}
	if v, ok := view.(interface{ title() string }); ok { // else the title is that of all such pages
		f.Title = v.title()
	}
	knockout := false
	p.board.View(func(l *record.League) {
		if l.Created != nil {
			f.League, f.Over, knockout = leagueName(l), l.Completed != nil, l.Created.Tournament.HasBracket()
		}
	})
	for i := range p.routes {
		one := &p.routes[i]
		if one.link == "" {
			continue
		}
		title := one.title
		if knockout && one.template == "cross" {
			title = titleBracket
		}
		f.Links = append(f.Links, link{one.link, title, one.pattern == of.pattern})
	}
	return f
}

// A problem is the view of problem.html.
type problem struct{ Title, Text string }

func (v problem) title() string { return v.Title }

// problem answers with an error page. Only the log has the error.
func (p *Pages) problem(w http.ResponseWriter, of *route, err error) {
	status := http.StatusInternalServerError
	view := problem{"This page cannot be shown", "The log of the program says why."}
	switch {
	case errors.Is(err, errNotFound):
		status, view = http.StatusNotFound, problem{"Not found", "The league has no such player, match or page."}
	case errors.Is(err, errNoLeague):
		status = http.StatusServiceUnavailable
		view = problem{"The league has not begun", "There are no records of it yet. Reload the page later."}
		w.Header().Set("Retry-After", "5")
	case errors.Is(err, errBusy):
		status = http.StatusServiceUnavailable
		view = problem{"This league cannot be shown now", "Too many others are being read. Reload the page later."}
		w.Header().Set("Retry-After", "5")
	case errors.Is(err, errFailed):
		p.broken.Do(func() { p.failed(of.template, err) })
	default:
		p.failed(of.template, err)
	}
	h := w.Header()
	h.Del("ETag")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	var body bytes.Buffer
	if err := p.templates["problem"].Execute(&body, p.frame(&route{}, 0, view)); err != nil {
		http.Error(w, view.Title, status)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails only for a client that has gone
}

// failed logs the error of a page or a fragment.
func (p *Pages) failed(name string, err error) {
	p.options.Log.Warn().Err(err).Str("page", name).Str("event_type", "PAGE_NOT_SHOWN").
		Msg("a page cannot be shown")
}

// A route is a page. Its template is templates/NAME.html, which defines "content of NAME" and the
// fragments of the page.
type route struct {
	pattern  string // as http.ServeMux has it
	template string
	title    string // of the page, and of its link in the navigation
	link     string // in the navigation; "" for none
	// build makes the view of a request: what the template shows. It returns errNotFound for
	// an unknown player or match.
	build func(b *Board, r *http.Request) (view any, err error)
	// volatile pages depend on more than the events of the league, such as transcripts. They
	// have no ETag.
	volatile bool
	ofFolder bool // the page needs no events of the league
}

// errNotFound is the error of a page that does not exist.
var errNotFound = errors.New("not found")

// routes are the pages.
func routes() []route {
	return []route{
		{pattern: "GET /{$}", template: "overview", title: "Overview", link: "/", build: buildOverview},
		{pattern: "GET /matches/{id}", template: "match", title: "Match", build: buildMatch, volatile: true},
		{pattern: "GET /cross", template: "cross", title: "Cross table", link: "/cross", build: buildCross},
		{pattern: "GET /agents", template: "agents", title: "Agents", link: "/agents", build: buildAgents, volatile: true},
		{pattern: "GET /statistics", template: "statistics", title: "Statistics", link: "/statistics",
			build: buildStatistics},
		{pattern: "GET /players/{id}", template: "player", title: "Player", build: buildPlayer},
	}
}
