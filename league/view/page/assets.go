package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"io"
	"net/http"
	"path"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
)

//go:embed assets templates export
var files embed.FS

// An asset is a file of assets. Browsers keep it forever, because its URL has its hash.
type asset struct {
	kind string // its media type
	hash string
	text []byte
}

// assets are the assets by name.
type assets map[string]*asset

// readAssets reads the embedded assets.
func readAssets() assets {
	all := assets{}
	entries, _ := files.ReadDir("assets") // embedded files can be read
	for _, entry := range entries {
		text, _ := files.ReadFile("assets/" + entry.Name())
		sum := sha256.Sum256(text)
		kind := cmp.Or(mediaTypes[path.Ext(entry.Name())], "text/plain; charset=utf-8")
		all[entry.Name()] = &asset{kind: kind, hash: hex.EncodeToString(sum[:8]), text: text}
	}
	return all
}

// mediaTypes are the media types of files by extension, which do not depend on the tables of the system.
var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// url is the path of an asset, with its hash; "" for an unknown one.
func (a assets) url(name string) string {
	if one := a[name]; one != nil {
		return "/assets/" + name + "?v=" + one.hash
	}
	return ""
}

// serve answers GET /assets/{file}.
func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	one := a[r.PathValue("file")]
	if one == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", one.kind)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == one.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", `"`+one.hash+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(one.text))
}

// Views are the views of a league for a file that shows it without a server.
type Views struct {
	*overview

	Cross      *cross
	Statistics *statistics
	Agents     *health

	moment *moment
}

// mostExported is the number of ratings in a file.
const mostExported = 100

// NewViews makes the views of a league, which has no secrets, with what its transcripts and its
// results show, and its present standings with the strategies of its players if they are known.
func NewViews(l *record.League, agents *record.Health, s *stats.Analysis, standings []league.Standing) *Views {
	m := at(l, live)
	v := &Views{
		overview: overviewOf(l, live), Cross: crossOf(l, live, 0, 0), Statistics: &statistics{},
		Agents: agentsOf(l, agents, 0), moment: m,
	}
	if s != nil {
		v.Statistics.fill(s)
		v.Cross.addSuperiority(v.Statistics)
		rows := v.Statistics.Rows
		v.Statistics.Rows, v.Statistics.Further = rows[:min(len(rows), mostExported)], max(len(rows)-mostExported, 0)
	}
	for i := range standings {
		v.Standings.Rows[i].Strategy = shown(standings[i].Strategy)
	}
	v.Standings.fill()
	v.Cross.Windows = nil
	v.Decisions, v.Earlier = m.decisions(len(l.Decisions)), 0
	return v
}

// Player is the view of a player; nil for an agent that is none.
func (v *Views) Player(id string) *player {
	p := playerOf(v.moment.League, id, "")
	if p != nil {
		p.Rating = v.Statistics.rating(id)
	}
	return p
}

// Agent names a player or a referee.
func (v *Views) Agent(id string) ref { return v.moment.agent(id) }

// Result is the result of a match; nil for none.
func (v *Views) Result(m *record.Match) *result {
	if !m.HasResult() {
		return nil
	}
	id, _ := league.ParseMatchID(m.MatchID)
	r := v.moment.result(id)
	return &r
}

// Seen is the result of a match as one of its players sees it; nil for none.
func (v *Views) Seen(m *record.Match, playerID string) *playerResult {
	r := v.Result(m)
	if r == nil {
		return nil
	}
	one := &playerResult{result: *r, Opponent: r.A, Mark: markOf(&r.Result, playerID)}
	if r.PlayerAID == playerID {
		one.Opponent = r.B
	}
	return one
}

// Course is how an attempt went, without the messages as JSON and the meaning of errors: a file of all
// conversations would be too large.
func (v *Views) Course(c *record.Conversation) *matchCourse {
	course := courseOf(c)
	for _, group := range course.Groups {
		for i := range group.Lines {
			group.Lines[i].Raw, group.Lines[i].Cause = "", record.Cause{}
		}
	}
	return course
}

// Board is the game of a conversation; nil without moves.
func (v *Views) Board(c *record.Conversation) *matchBoard {
	b := boardOf(c, "", "")
	if b != nil {
		b.A, b.B = v.moment.agent(b.A.ID), v.moment.agent(b.B.ID)
	}
	return b
}

// A file is what the templates of an exported file show.
type file struct {
	Title, CSP string
	CSS        template.CSS
	JS         template.JS
	View       any
}

// Export writes a file that shows a view without a server and without a network: with a template of the
// folder export, and the style and the templates of the pages. Times are in a zone; nil is UTC.
func Export(w io.Writer, zone *time.Location, name, title string, view any) error {
	t, err := parse(files, zone, template.FuncMap{
		"base":      func() string { return "" },
		"asset":     func(string) string { return "" },
		"toMatch":   func(id string) string { return "#result-" + id },
		"toMatches": func(_, _, first string) string { return "#result-" + first },
		"toPlayer":  func(string) string { return "" },
	}, "templates/*.html", "export/*.html")
	if err != nil {
		return err
	}
	css := joined("assets/page.css", "assets/match.css", "assets/board.css", "export/report.css")
	js := joined("assets/chart.js", "export/report.js")
	return t.ExecuteTemplate(w, name, &file{
		Title: title, View: view,
		CSS: template.CSS(css), JS: template.JS(js), //nolint:gosec // all are files of the program
		CSP: "default-src 'none'; style-src " + hashed(css) + "; script-src " + hashed(js) +
			"; img-src data:; base-uri 'none'; form-action 'none'",
	})
}

// joined are the texts of embedded files.
func joined(names ...string) (all []byte) {
	for _, name := range names {
		text, _ := files.ReadFile(name) // embedded files can be read
		all = append(all, text...)
	}
	return all
}

// hashed is the source of a Content-Security-Policy that permits a text.
func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// rating is the row of a player that has matches; nil for none.
func (v *statistics) rating(id string) *ratingRow {
	if i := slices.IndexFunc(v.Rows, func(r ratingRow) bool { return r.ID == id && r.Matches > 0 }); i >= 0 {
		return &v.Rows[i]
	}
	return nil
}
