package page

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"evenodd/league/lists"
	"evenodd/league/words"
	"evenodd/player/strategy/person"
)

// PlayOptions configure the page of a person.
type PlayOptions struct {
	Log    zerolog.Logger // of a page that cannot be shown
	Person *person.Person
	Access *Access
	Port   int    // of the server: browsers have one cookie for all ports of a host
	Secure bool   // the server has TLS
	Pages  string // URL before matches/R1M1, with a slash at the end; "" for no pages of matches
	Again  func() // starts another league; nil for no such button
}

// A Play serves the page on which a person plays. It shows the view of one player, and nothing else of the league. Safe
// for concurrent use.
type Play struct {
	options  PlayOptions
	assets   assets
	template *template.Template
	audience audience
}

// NewPlay makes the page of a person.
func NewPlay(o PlayOptions) (*Play, error) {
	p := &Play{options: o, assets: readAssets()}
	t, err := parse(files, nil, template.FuncMap{
		"asset": func(name string) string { return "/play" + p.assets.url(name) }, "visible": visible,
	}, "templates/play.html")
	if err != nil {
		return nil, err
	}
	p.template = t
	return p, nil
}

// Routes are the handlers of the page.
func (p *Play) Routes() []Route {
	route := func(pattern string, stream bool, handler http.HandlerFunc) Route {
		return Route{Pattern: pattern, Handler: guarded(p.audience.counted(handler)), Stream: stream}
	}
	return []Route{
		route("GET /play", false, p.page),
		route("GET /play/assets/{file}", false, p.assets.serve),
		route("GET /play/events", true, p.stream),
		route("POST /play/open", false, p.own(p.open)),
		route("POST /play/move", false, p.own(p.move)),
		route("POST /play/again", false, p.own(p.again)),
	}
}

// Finish waits until the page in the browser of the person has its last state, like Pages.Finish.
func (p *Play) Finish(ctx context.Context) { p.audience.finish(ctx) }

// cookieName is that of the cookie, by the port.
func (p *Play) cookieName() string { return fmt.Sprintf("evenodd_play_%d", p.options.Port) }

// admitted tells whether a request has the cookie. The channel is closed when that may change.
func (p *Play) admitted(r *http.Request) (bool, <-chan struct{}) {
	value := ""
	if cookie, err := r.Cookie(p.cookieName()); err == nil {
		value = cookie.Value
	}
	return p.options.Access.admits(value)
}

// page answers GET /play: the page of the person, or for a browser without the cookie one that uses the code of its
// address.
func (p *Play) page(w http.ResponseWriter, r *http.Request) {
	view := &playView{}
	if ok, _ := p.admitted(r); ok {
		state, _ := p.options.Person.Now()
		view = p.view(state)
	}
	var body bytes.Buffer
	if err := safely(func() error { return p.template.ExecuteTemplate(&body, "play.html", view) }); err != nil {
		p.failed(err)
		http.Error(w, "this page cannot be shown; the log of the program says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body.Bytes()) // fails only for a client that has gone
}

func (p *Play) failed(err error) {
	p.options.Log.Warn().Err(err).Str("page", "play").Str("event_type", "PAGE_NOT_SHOWN").Msg("a page cannot be shown")
}

// own is a handler of requests that the page itself makes. A browser names the origin of each of them, so one without
// an origin is none.
func (p *Play) own(next func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		origin, err := url.Parse(r.Header.Get("Origin"))
		if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) {
			http.Error(w, "only the page itself may send this", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// maxPlayBody is the largest size of a request in bytes: a move in JSON.
const maxPlayBody = 16 << 10

// read reads the body of a request, and answers one that cannot be read.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxPlayBody), into)
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return false
	}
	return true
}

// open answers POST /play/open: it uses a code, and sets the cookie. A browser that has it already needs no code.
func (p *Play) open(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Code string `json:"code"`
	}
	if !read(w, r, &given) {
		return
	}
	if ok, _ := p.admitted(r); ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if given.Code == "" {
		http.Error(w, "open the link that the program has printed", http.StatusForbidden)
		return
	}
	value, err := p.options.Access.claim(given.Code)
	switch {
	case errors.Is(err, errOtherDevice) || errors.Is(err, errWrongCode):
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	case err != nil:
		p.failed(err)
		http.Error(w, "the program cannot store that this link was used; its log says why", http.StatusInternalServerError)
		return
	}
	const month = 30 * 24 * time.Hour
	cookie := &http.Cookie{Name: p.cookieName(), Value: value, Path: "/play", MaxAge: int(month.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: true}
	cookie.Secure = p.options.Secure // a browser would not send it to a server without TLS
	http.SetCookie(w, cookie)
	w.WriteHeader(http.StatusNoContent)
}

// refused answers a request without the cookie.
func (p *Play) refused(w http.ResponseWriter, r *http.Request) bool {
	if ok, _ := p.admitted(r); ok {
		return false
	}
	http.Error(w, errOtherDevice.Error(), http.StatusForbidden)
	return true
}

// move answers POST /play/move. The number of the question makes a second request for it harmless.
func (p *Play) move(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Question int    `json:"question"`
		Move     string `json:"move"`
	}
	if p.refused(w, r) || !read(w, r, &given) {
		return
	}
	if err := p.options.Person.Answer(given.Question, given.Move); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// again answers POST /play/again.
func (p *Play) again(w http.ResponseWriter, r *http.Request) {
	if p.refused(w, r) {
		return
	}
	if state, _ := p.options.Person.Now(); p.options.Again == nil || !state.Again {
		http.Error(w, "the league is not over", http.StatusConflict)
		return
	}
	p.options.Again()
	w.WriteHeader(http.StatusNoContent)
}

// stream answers GET /play/events with each state of the page, until none follows or the cookie ends.
func (p *Play) stream(w http.ResponseWriter, r *http.Request) {
	if foreign(w, r) || p.refused(w, r) || !begin(w, r, "retry: 1000\n\n") {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		ok, ended := p.admitted(r)
		if !ok {
			send(w, []byte("event: closed\ndata: closed\n\n"))
			return
		}
		state, changed := p.options.Person.Now()
		text, err := p.update(state)
		if err != nil {
			p.failed(err)
			return
		}
		if !send(w, text) || state.End != "" && !state.Again {
			return
		}
		for beating := true; beating; {
			select {
			case <-changed:
				beating = false
			case <-ended:
				beating = false
			case <-beat.C:
				if !send(w, []byte(":\n\n")) {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
	}
}

// update is the event with a state of the page.
func (p *Play) update(state *person.State) ([]byte, error) {
	var html bytes.Buffer
	if err := safely(func() error { return p.template.ExecuteTemplate(&html, "play", p.view(state)) }); err != nil {
		return nil, err
	}
	text := appendUpdate(nil, html.Bytes())
	if state.End != "" && !state.Again { // the page needs no stream any more
		text = append(text, eventOver...)
	}
	return append(text, '\n'), nil
}

// A playView is what play.html shows. Without a state it is the page of a browser that has no cookie.
type playView struct {
	*person.State

	Class, Headline, Detail string
	Left                    int64  // milliseconds for the move
	To                      string // URL of the page of the match that is over; "" for none
	ToLast                  string // the same of the match before the one that is shown
}

// view is the view of a state.
func (p *Play) view(s *person.State) *playView {
	v := &playView{State: s}
	opponent := cmp.Or(s.Opponent, "the opponent")
	switch {
	case s.Question != nil:
		v.Class, v.Headline = "due", "Your turn"
		v.Left = max(time.Until(s.Question.Deadline).Milliseconds(), 0)
		choosable := slices.ContainsFunc(s.Board, func(row []person.Cell) bool {
			return slices.ContainsFunc(row, func(c person.Cell) bool { return c.Move != "" })
		})
		switch {
		case s.Refused != "":
			v.Detail = s.Refused + ". Write something else."
		case s.Question.Text > 0:
			v.Detail = "Write what you say."
		case choosable:
			v.Detail = "Choose a cell of the board, or a button."
		default:
			v.Detail = fmt.Sprintf("Choose one of %s.", words.Counted(len(s.Question.Options), "move"))
		}
	case s.Result != nil:
		v.Class, v.Headline = [...]string{"lost", "tied", "won"}[s.Result.Points()+1], s.Result.Title()
		switch r := s.Result; {
		case !r.Technical():
			v.Detail = r.Reason
		case r.Points() > 0:
			v.Detail = opponent + " made no valid move in time."
		case s.Late:
			v.Detail = "You did not move in time."
		default:
			v.Detail = cmp.Or(r.Reason, "Your player made no valid move in time.")
			if s.Refused != "" {
				v.Detail = strings.TrimSuffix(v.Detail, ".") + ". " + s.Refused + "."
			}
		}
	case s.Late:
		v.Class, v.Headline, v.Detail = "late", "Your time is over", "You have not moved in time, so the match is lost."
	case s.Match != "":
		v.Class, v.Headline = "waiting", "Waiting for "+opponent
		if v.Detail = "The board changes when it is your turn."; s.Moved {
			v.Detail = "Your move has been sent."
		}
	default:
		v.Class, v.Headline = "waiting", "Waiting for the first match"
		v.Detail = "It begins when the league does. You need not reload this page."
	}
	if s.Match == "" && s.End != "" {
		v.Headline, v.Detail = s.End, ""
	}
	if p.options.Pages != "" {
		if s.Result != nil {
			v.To = p.options.Pages + "matches/" + url.PathEscape(s.Match)
		}
		if s.Last != nil {
			v.ToLast = p.options.Pages + "matches/" + url.PathEscape(s.Last.Match)
		}
	}
	return v
}

// longFact is the length of a value, in bytes, from which the page folds it away.
const longFact = 160

// Long tells whether a value is folded away.
func (v *playView) Long(f person.Fact) bool { return len(f.Value) > longFact }

// Owned tells whether cells of the board belong to sides.
func (v *playView) Owned() bool {
	return v.Mark != "" || slices.ContainsFunc(v.Board, func(row []person.Cell) bool {
		return slices.ContainsFunc(row, func(c person.Cell) bool { return c.Own || c.Other })
	})
}

// visible is a text whose lines have no characters that hide from the reader.
func visible(text string) string {
	return strings.Join(lists.Map(strings.Split(text, "\n"), words.Escape), "\n")
}

// Rows are the cells of the board for people.
func (v *playView) Rows() [][]person.Cell {
	return lists.Map(v.Board, func(row []person.Cell) []person.Cell {
		return lists.Map(row, func(c person.Cell) person.Cell {
			if c.Text = words.Escape(c.Text); c.Text == "." && !c.Label {
				c.Text = ""
			}
			return c
		})
	})
}
