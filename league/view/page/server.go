package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// Options configure the pages.
type Options struct {
	Log   zerolog.Logger // of pages that fail
	Games rules.Registry // for the statistics: whether the rules treat both sides alike
}

// Pages serve a board. They are safe for concurrent use.
type Pages struct {
	board     *Board
	options   Options
	assets    assets
	templates map[string]*template.Template // by the name of the file
	build     string                        // hash of templates and assets
	routes    []route
	updates   *updates
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
	b.games = o.Games
	p := &Pages{board: b, options: o, templates: map[string]*template.Template{}, routes: routes()}
	p.updates = newUpdates(p)
	var err error
	if p.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p, nil
}

// Close ends the work of the pages, when no request runs. It leaves the board open.
func (p *Pages) Close() { p.updates.close() }

// parse parses the templates. Each file of templates/ is a page, which defines "content", and
// shares layout.html with the others.
func (p *Pages) parse() error {
	layout, err := template.New("layout.html").Funcs(template.FuncMap{"asset": p.assets.url, "when": when}).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return err
	}
	hash := sha256.New()
	names, err := fs.Glob(files, "templates/*.html")
	for _, name := range names {
		text, problem := files.ReadFile(name)
		_, _ = hash.Write(text) // never fails
		page, copied := layout.Clone()
		if err := errors.Join(err, problem, copied); err != nil {
			return err
		}
		if name = strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html"); name == "layout" || name == "parts" {
			continue
		}
		if p.templates[name], err = page.Parse(string(text)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.assets)) {
		_, _ = hash.Write([]byte(p.assets[name].hash))
	}
	p.build = hex.EncodeToString(hash.Sum(nil)[:4])
	return err
}

// Routes are the handlers of the pages.
func (p *Pages) Routes() []Route {
	list := []Route{
		{Pattern: "GET /assets/{file}", Handler: guarded(p.assets.serve)},
		{Pattern: "GET /events", Handler: guarded(p.stream), Stream: true},
	}
	for _, one := range p.routes {
		list = append(list, Route{Pattern: one.pattern, Handler: guarded(func(w http.ResponseWriter, r *http.Request) { p.page(w, r, &one) })})
	}
	return list
}

// policy is the Content-Security-Policy of all pages: nothing but files of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guarded sets the headers that every answer has.
func guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// A frame is what layout.html shows around a page.
type frame struct {
	Title   string
	League  string // its name
	Version string // of the league: events from here on are new to the page
	Over    bool
	Links   []link
	View    any // of the page
}

// A link is a link of the navigation.
type link struct {
	To, Title string
	Here      bool
}

// titled views give the title of their page.
type titled interface{ title() string }

// page answers a request for a page, or for one fragment of it.
func (p *Pages) page(w http.ResponseWriter, r *http.Request, of *route) {
	if err := p.board.Ready(r.Context()); err != nil {
		p.problem(w, of, err)
		return
	}
	at := p.board.version()
	tag := ""
	if !of.volatile {
		tag = fmt.Sprintf(`"%s-%s"`, p.build, at)
	}
	w.Header().Set("Cache-Control", "no-cache")
	if tag != "" && isCurrent(r, tag) {
		answer(w, r, tag, nil)
		return
	}
	var body bytes.Buffer
	if err := safely(func() error { return p.render(&body, of, at, r) }); err != nil {
		p.problem(w, of, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	answer(w, r, tag, body.Bytes())
}

// render writes a page, or the fragment of it that a request asks for.
func (p *Pages) render(body *bytes.Buffer, of *route, at version, r *http.Request) error {
	view, err := of.build(r.Context(), p.board, r)
	if err != nil {
		return err
	}
	if name := r.URL.Query().Get("fragment"); name != "" {
		return p.fragment(body, of, name, view)
	}
	return p.templates[of.template].Execute(body, p.frame(of, at, view))
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

// fragment writes one fragment of a page: the template of that name, which shows the view of
// the page.
func (p *Pages) fragment(body *bytes.Buffer, of *route, name string, view any) error {
	t := p.templates[of.template].Lookup(name)
	if t == nil || name == "content" || strings.Contains(name, ".") || t.Execute(body, view) != nil {
		return errNotFound
	}
	return nil
}

// frame is the frame of a page.
func (p *Pages) frame(of *route, at version, view any) *frame {
	f := &frame{Title: of.title, Version: at.String(), View: view}
	if v, ok := view.(titled); ok {
		f.Title = v.title()
	}
	p.board.View(func(l *record.League) {
		if l.Created != nil {
			f.League, f.Over = leagueName(l), l.Completed != nil
		}
	})
	for i := range p.routes {
		if to := p.routes[i].link; to != "" {
			f.Links = append(f.Links, link{to, p.routes[i].title, p.routes[i].pattern == of.pattern})
		}
	}
	return f
}

// A problem is the view of problem.html.
type problem struct{ Title, Text string }

func (v problem) title() string { return v.Title }

// problem answers with an error page. Only the log has the error.
func (p *Pages) problem(w http.ResponseWriter, of *route, err error) {
	status, view := http.StatusInternalServerError, problem{"This page cannot be shown", "The log of the program says why."}
	switch {
	case errors.Is(err, errNotFound):
		status, view = http.StatusNotFound, problem{"Not found", "The league has no such player, match or page."}
	case errors.Is(err, errNoLeague):
		status, view = http.StatusServiceUnavailable, problem{"The league has not begun", "There are no records of it yet. Reload the page later."}
		w.Header().Set("Retry-After", "5")
	case errors.Is(err, errFailed):
		p.broken.Do(func() { p.failed(of.template, err) })
	default:
		p.failed(of.template, err)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	var body bytes.Buffer
	if err := p.templates["problem"].Execute(&body, p.frame(&route{}, version{}, view)); err != nil {
		http.Error(w, view.Title, status)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails only for a client that has gone
}

// failed logs the error of a page or a fragment.
func (p *Pages) failed(name string, err error) {
	p.options.Log.Warn().Err(err).Str("page", name).Str("event_type", protocol.EventPageFailed).Msg("a page cannot be shown")
}
