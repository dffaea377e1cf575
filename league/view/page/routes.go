package page

import (
	"context"
	"errors"
	"net/http"
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
		{pattern: "GET /cross", template: "cross", title: "Cross table", link: "/cross", build: buildCross},
		{pattern: "GET /agents", template: "agents", title: "Agents", link: "/agents", build: buildAgents, volatile: true},
		{pattern: "GET /statistics", template: "statistics", title: "Statistics", link: "/statistics",
			build: buildStatistics},
		{pattern: "GET /players/{id}", template: "player", title: "Player", build: buildPlayer},
	}
}
