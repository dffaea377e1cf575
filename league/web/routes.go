package web

import (
	"context"
	"errors"
	"net/http"

	"evenodd/league/record"
)

// A route is a page. Its template is templates/NAME.html, which defines "content" and the
// fragments of the page.
type route struct {
	pattern  string // as http.ServeMux has it
	template string
	title    string // of the page, and of its link in the navigation
	link     string // in the navigation; "" for none
	// build makes the view of a request: what the template shows. It returns errNotFound for
	// an unknown player or match. The context ends with the request.
	build func(ctx context.Context, b *Board, r *http.Request) (view any, err error)
	// volatile pages depend on more than the events of the league, such as transcripts. They
	// have no ETag.
	volatile bool
}

// errNotFound is the error of a page that does not exist.
var errNotFound = errors.New("not found")

// routes are the pages.
func routes() []route {
	return []route{
		{pattern: "GET /{$}", template: "overview", title: "Overview", link: "/", build: buildOverview},
		{pattern: "GET /matches/{id}", template: "match", title: "Match", build: buildMatch, volatile: true},
	}
}

// fragments are the parts of the overview that streams update: names of templates, which are
// names of events and ids of elements too.
func fragments() []string { return []string{"standings"} }

// An overview is the view of the first page.
type overview struct {
	Standings []record.TableRow
}

func buildOverview(_ context.Context, b *Board, _ *http.Request) (any, error) {
	var view *overview
	b.View(func(l *record.League) { view = overviewOf(l) })
	return view, nil
}

func overviewOf(l *record.League) *overview { return &overview{Standings: l.Table()} }
