package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"
	"io/fs"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/view/record"
)

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
// results show, and the strategies of its players if they are known.
func NewViews(l *record.League, agents *record.Health, s *record.Statistics, strategies map[string]string) *Views {
	m := at(l, live)
	v := &Views{
		overview: overviewOf(l, live), Cross: crossOf(l, live, 0, 0), Statistics: &statistics{},
		Agents: agentsOf(l, agents, 0), moment: m,
	}
	if s != nil {
		v.Statistics.fill(s)
		v.Statistics.Rows = v.Statistics.Rows[:min(len(v.Statistics.Rows), mostExported)]
	}
	for i := range v.Standings.Rows {
		row := &v.Standings.Rows[i]
		row.Strategy = shown(strategies[row.ID])
	}
	v.Standings.fill()
	v.Cross.Windows = nil
	v.Decisions = m.decisions(len(l.Decisions))
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
func (v *Views) Result(matchID string) *result {
	id, ok := league.ParseMatchID(matchID)
	if match, _, _, known := v.moment.Find(id); !ok || !known || match.Report == nil {
		return nil
	}
	r := v.moment.result(id)
	return &r
}

// Course is how an attempt went, without the messages as JSON and the meaning of errors: a file of all
// conversations would be too large.
func (v *Views) Course(c *record.Conversation) *matchCourse {
	course := courseOf(c)
	for i := range course.Lines {
		course.Lines[i].Raw, course.Lines[i].Words = "", ""
	}
	return course
}

// A file is what the templates of an exported file show.
type file struct {
	Title, CSP string
	CSS        template.CSS
	JS         template.JS
	View       any
}

// Export writes a file that shows a view without a server and without a network: with the style and
// the templates of the pages, and a template, report.css and report.js from a folder.
func Export(w io.Writer, folder fs.FS, name, title string, view any) error {
	t, err := template.New(name).Funcs(template.FuncMap{
		"asset": func(string) string { return "" }, "when": when, "text": shown, "ms": record.Milliseconds,
		"toMatch":   func(id string) string { return "#result-" + id },
		"toMatches": func(_, _, first string) string { return "#result-" + first },
		"toPlayer":  func(string) string { return "" },
	}).ParseFS(files, "templates/*.html")
	if err != nil {
		return err
	}
	if t, err = t.ParseFS(folder, "*.html"); err != nil {
		return err
	}
	f := &file{Title: title, View: view}
	css, err := joined(folder, "assets/page.css", "assets/match.css", "report.css")
	if err != nil {
		return err
	}
	js, err := joined(folder, "assets/chart.js", "report.js")
	if err != nil {
		return err
	}
	f.CSS, f.JS = template.CSS(css), template.JS(js) //nolint:gosec // all are files of the program
	f.CSP = "default-src 'none'; style-src " + hashed(css) + "; script-src " + hashed(js) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	return t.ExecuteTemplate(w, name, f)
}

// joined are the texts of files: assets of the pages, and those of a folder.
func joined(folder fs.FS, names ...string) ([]byte, error) {
	var all [][]byte
	for _, name := range names {
		from := folder
		if strings.HasPrefix(name, "assets/") {
			from = files
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return bytes.Join(all, nil), nil
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
