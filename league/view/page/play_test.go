package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/player/strategy"
	"evenodd/player/strategy/person"
	"evenodd/rules"
	"evenodd/rules/tictactoe"
)

// A desk is the page of a person.
type desk struct {
	http.Handler

	t      *testing.T
	person *person.Person
	access *page.Access
	log    strings.Builder
	again  int
}

// openDesk makes the page of Ada, whose access is in a folder; "" for none.
func openDesk(t *testing.T, folder store.Folder, secure bool) *desk {
	t.Helper()
	access, err := page.OpenAccess(folder, "Ada")
	require.NoError(t, err)
	d := &desk{t: t, access: access,
		person: person.New(person.Options{Player: "Ada", Games: rules.NewRegistry(tictactoe.Game{})})}
	play, err := page.NewPlay(page.PlayOptions{Log: zerolog.New(&d.log), Person: d.person, Access: access, Port: 8101,
		Secure: secure,
		Pages:  "/", Again: func() { d.again++ }})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, r := range play.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	d.Handler = mux
	return d
}

// code is the code of the link.
func (d *desk) code() string {
	code, _, _ := d.access.Code()
	return code
}

// ask sends a request, with headers in pairs.
func (d *desk) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(d.t.Context(), method, "http://localhost:8101"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// origin is the header of requests of the page itself.
var origin = []string{"Origin", "http://localhost:8101"}

// open uses a code in a browser without a cookie.
func (d *desk) open(code string) *httptest.ResponseRecorder {
	return d.ask("POST", "/play/open", fmt.Sprintf(`{"code":%q}`, code), origin...)
}

// seat opens the page, and returns the headers of the requests of its browser.
func (d *desk) seat() []string {
	d.t.Helper()
	w := d.open(d.code())
	require.Equal(d.t, http.StatusNoContent, w.Code, w.Body)
	return d.browser(w)
}

// browser are the headers of the requests of a browser that has an answer.
func (d *desk) browser(w *httptest.ResponseRecorder) []string {
	d.t.Helper()
	cookies := w.Result().Cookies()
	require.Len(d.t, cookies, 1)
	return append(origin[:2:2], "Cookie", cookies[0].Name+"="+cookies[0].Value)
}

func TestCodeWorksOnceAndBecomesACookie(t *testing.T) {
	for _, secure := range []bool{false, true} {
		d := openDesk(t, store.Folder{}, secure)
		code := d.code()
		require.Len(t, code, 26)
		w := d.open(code)
		require.Equal(t, http.StatusNoContent, w.Code)
		cookie := w.Result().Cookies()[0]
		assert.Equal(t, []any{"evenodd_play_8101", "/play", true, http.SameSiteStrictMode, secure},
			[]any{cookie.Name, cookie.Path, cookie.HttpOnly, cookie.SameSite, cookie.Secure})
		assert.Positive(t, cookie.MaxAge)
		assert.NotContains(t, cookie.Value, code)
		assert.Empty(t, d.code(), "there is no code any more")

		other := d.open(code)
		assert.Equal(t, http.StatusForbidden, other.Code)
		assert.Equal(t, "this player is open on another device\n", other.Body.String())
		assert.Empty(t, other.Result().Cookies())
		assert.Contains(t, d.open("WRONG").Body.String(), "this link is not valid any more")
		assert.Contains(t, d.open("").Body.String(), "open the link that the program has printed")
		assert.Equal(t, http.StatusNoContent, d.ask("POST", "/play/open", `{"code":""}`, d.browser(w)...).Code,
			"the browser that has it")
	}
}

func TestPageWithoutTheCookieShowsNothingOfThePlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, store.Folder{}, false)
		waiting(t, d.person)
		w := d.ask("GET", "/play", "")
		assert.Contains(t, w.Body.String(), `id="door"`)
		assert.NotContains(t, w.Body.String(), "R1M1")
		assert.NotContains(t, w.Body.String(), "Ada")
		for _, path := range []string{"/play/events", "/play/move", "/play/again"} {
			method := "POST"
			if path == "/play/events" {
				method = "GET"
			}
			w := d.ask(method, path, `{"question":1,"move":"4"}`, append(origin[:2:2], "Cookie", "evenodd_play_8101=0123")...)
			assert.Equal(t, http.StatusForbidden, w.Code, path)
			assert.NotContains(t, w.Body.String(), "R1M1", path)
		}
		assert.NotNil(t, question(d.person))
	})
}

// waiting lets the person be asked for a move of tic-tac-toe by the opponent's name as its id.
func waiting(t *testing.T, p *person.Person) (made chan string) {
	t.Helper()
	start := rules.Begin(tictactoe.Game{})
	q := start.Ask(rules.SideA)
	made = make(chan string, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if move, err := p.Choose(ctx,
			strategy.View{GameType: tictactoe.Type, MoveType: q.MoveType, Options: q.Options, Context: q.Context,
				MatchID: "R1M1", PlayerID: "P01", OpponentID: "<b>&", Role: protocol.RolePlayerA, Within: time.Minute}); err == nil {
			made <- move
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return made
}

// question is the question that waits; nil for none.
func question(p *person.Person) *person.Question {
	s, _ := p.Now()
	return s.Question
}

func TestMoveNeedsTheOriginAndTheCookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, store.Folder{}, false)
		browser := d.seat()
		made := waiting(t, d.person)
		body := fmt.Sprintf(`{"question":%d,"move":"4"}`, question(d.person).Number)
		for name, headers := range map[string][]string{
			"a foreign origin": append([]string{"Origin", "http://evil.example"}, browser[2:]...),
			"another port":     append([]string{"Origin", "http://localhost:8102"}, browser[2:]...),
			"no origin":        browser[2:],
			"a hidden origin":  append([]string{"Origin", "null"}, browser[2:]...),
			"no cookie":        browser[:2],
			"another cookie":   {browser[0], browser[1], browser[2], browser[3] + "0"},
			"of another port":  {browser[0], browser[1], browser[2], strings.Replace(browser[3], "8101", "8102", 1)},
		} {
			assert.Equal(t, http.StatusForbidden, d.ask("POST", "/play/move", body, headers...).Code, name)
		}
		require.NotNil(t, question(d.person))
		assert.Equal(t, http.StatusBadRequest, d.ask("POST", "/play/move", `{"question":"a"}`, browser...).Code)
		assert.Equal(t, http.StatusBadRequest, d.ask("POST", "/play/move", strings.Repeat(" ", 17<<10)+body, browser...).Code,
			"too large")
		assert.Equal(t, http.StatusConflict, d.ask("POST", "/play/move", strings.Replace(body, "4", "9", 1), browser...).Code,
			"not legal")

		require.Equal(t, http.StatusNoContent, d.ask("POST", "/play/move", body, browser...).Code)
		assert.Equal(t, "4", <-made)
		assert.Equal(t, http.StatusNoContent, d.ask("POST", "/play/move", body, browser...).Code, "the same request again")
		second := d.ask("POST", "/play/move", strings.Replace(body, `"4"`, `"5"`, 1), browser...)
		assert.Equal(t, http.StatusConflict, second.Code)
		assert.Equal(t, "you have moved already\n", second.Body.String())
		assert.Empty(t, made)
	})
}

func TestMoveAfterTheDeadlineIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, store.Folder{}, false)
		browser := d.seat()
		made := waiting(t, d.person)
		body := fmt.Sprintf(`{"question":%d,"move":"4"}`, question(d.person).Number)
		<-time.After(time.Minute)
		late := d.ask("POST", "/play/move", body, browser...)
		assert.Equal(t, http.StatusConflict, late.Code)
		assert.Equal(t, "your time for this move is over\n", late.Body.String())
		assert.Empty(t, made)
		assert.Contains(t, d.ask("GET", "/play", "", browser...).Body.String(), "Your time is over")
	})
}

func TestAccessSurvivesARestart(t *testing.T) {
	folder := store.In(t.TempDir())
	first := openDesk(t, folder, false)
	code := first.code()
	assert.Equal(t, code, openDesk(t, folder, false).code(), "a link that was not used")
	browser := first.seat()

	again := openDesk(t, folder, false)
	assert.Empty(t, again.code(), "a used code stays used")
	assert.Equal(t, http.StatusForbidden, again.open(code).Code)
	assert.Contains(t, again.ask("GET", "/play", "", browser...).Body.String(), `id="play"`)

	require.NoError(t, again.access.Renew())
	assert.NotEqual(t, code, again.code())
	assert.Contains(t, again.ask("GET", "/play", "", browser...).Body.String(), `id="door"`, "the old cookie ends")
	assert.Equal(t, http.StatusForbidden, again.open(code).Code)
	fresh := again.seat()
	assert.NotEqual(t, browser, fresh)
	assert.Contains(t, openDesk(t, folder, false).ask("GET", "/play", "", fresh...).Body.String(), `id="play"`)

	files, err := filepath.Glob(filepath.Join(folder.Path, "private", "person-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.NotContains(t, string(text), code)
	require.NoError(t, os.WriteFile(files[0], []byte("{"), 0o600))
	_, err = page.OpenAccess(folder, "Ada")
	require.ErrorContains(t, err, files[0])
}

// A new link ends the stream of the browser that has the page.
func TestNewLinkEndsTheOldPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, store.Folder{}, false)
		browser := d.seat()
		answered := make(chan string)
		go func() { answered <- d.ask("GET", "/play/events", "", browser...).Body.String() }()
		synctest.Wait()
		require.NoError(t, d.access.Renew())
		events := <-answered
		assert.Contains(t, events, "event: update\n")
		assert.True(t, strings.HasSuffix(events, "event: closed\ndata: closed\n\n"), events)
	})
}

func TestStreamShowsEachStateAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, store.Folder{}, false)
		browser := d.seat()
		answered := make(chan string)
		go func() { answered <- d.ask("GET", "/play/events", "", browser...).Body.String() }()
		synctest.Wait()
		waiting(t, d.person)
		d.person.Ended(&protocol.PlayedMatch{MatchID: "R1M1", OpponentID: "<b>&", Result: "TECHNICAL_WIN"}, "")
		synctest.Wait()
		d.person.End("The league is over.", true)
		synctest.Wait()
		assert.Equal(t, http.StatusNoContent, d.ask("POST", "/play/again", "{}", browser...).Code)
		assert.Equal(t, 1, d.again)
		d.person.Restart()
		assert.Equal(t, http.StatusConflict, d.ask("POST", "/play/again", "{}", browser...).Code, "the next league runs")
		d.person.End("The league is over.", false)
		events := <-answered
		for _, text := range []string{"Waiting for the first match", "Your turn",
			"&lt;b&gt;&amp; made no valid move in time.", `href="/matches/R1M1"`,
			"data-again", "The league is over."} {
			_, rest, found := strings.Cut(events, text)
			assert.True(t, found, "%s, in this order, in %s", text, events)
			events = rest
		}
		assert.True(t, strings.HasSuffix(events, "event: over\ndata: over\n\n"))
		assert.Empty(t, d.log.String())
	})
}

func TestEveryAnswerOfThePlayPageHasTheSecurityHeaders(t *testing.T) {
	d := openDesk(t, store.Folder{}, false)
	for _, request := range []string{"GET /play", "GET /play/assets/play.js", "GET /play/events", "POST /play/open",
		"POST /play/move"} {
		method, path, _ := strings.Cut(request, " ")
		h := d.ask(method, path, "{}").Header()
		assert.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'", request)
		assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), request)
		assert.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'", request)
		assert.NotEmpty(t, h.Get("Cache-Control"), request)
	}
}
