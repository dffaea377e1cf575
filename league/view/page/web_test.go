package page_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
)

// A server serves the pages of one of the leagues in testdata.
type server struct {
	http.Handler

	t testing.TB
}

// serve makes the pages of a source, until the test ends.
func serve(t testing.TB, source page.Source) *server {
	board := page.NewBoard(source)
	t.Cleanup(board.Close)
	pages, err := page.New(board, page.Options{})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, r := range pages.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	return &server{mux, t}
}

// folderOf is the source of a league in testdata.
func folderOf(t testing.TB, name string) page.Source {
	folder := store.Folder(filepath.Join("../../../testdata/leagues", name))
	ids, err := filepath.Glob(filepath.Join(string(folder), "data", "leagues", "*"))
	require.NoError(t, err)
	require.Len(t, ids, 1)
	return page.NewFolder(folder, filepath.Base(ids[0]))
}

// serveFolder makes the pages of a league in testdata.
func serveFolder(t testing.TB, name string) *server { return serve(t, folderOf(t, name)) }

// get asks for a page, with headers in pairs.
func (s *server) get(path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	s := serveFolder(t, "finished")
	for _, path := range []string{"/", "/assets/page.css", "/assets/none.js", "/?fragment=none"} {
		h := s.get(path).Header()
		assert.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'", path)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		assert.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), path)
		assert.NotEmpty(t, h.Get("Cache-Control"), path)
	}
}

func TestReloadOfUnchangedPageHasNoBody(t *testing.T) {
	s := serveFolder(t, "finished")
	first := s.get("/")
	require.Equal(t, http.StatusOK, first.Code)
	assert.Contains(t, first.Body.String(), "<section id=\"standings\"")
	again := s.get("/", "If-None-Match", first.Header().Get("ETag"))
	assert.Equal(t, http.StatusNotModified, again.Code)
	assert.Zero(t, again.Body.Len())
}

func TestFragmentIsPartOfThePage(t *testing.T) {
	s := serveFolder(t, "finished")
	part := s.get("/?fragment=standings")
	require.Equal(t, http.StatusOK, part.Code)
	assert.Contains(t, s.get("/").Body.String(), strings.TrimSpace(part.Body.String()))
	assert.NotContains(t, part.Body.String(), "<html")
	for _, name := range []string{"content", "layout.html", "none"} {
		assert.Equal(t, http.StatusNotFound, s.get("/?fragment="+name).Code, name)
	}
}

func TestAssetWithItsHashIsImmutable(t *testing.T) {
	s := serveFolder(t, "finished")
	_, after, _ := strings.Cut(s.get("/").Body.String(), `href="/assets/`)
	name, _, _ := strings.Cut(after, `"`)
	with := s.get("/assets/" + name)
	assert.Equal(t, http.StatusOK, with.Code)
	assert.Contains(t, with.Header().Get("Cache-Control"), "immutable")
	assert.NotContains(t, s.get("/assets/page.css?v=old").Header().Get("Cache-Control"), "immutable")
	assert.Equal(t, http.StatusNotFound, s.get("/assets/none.css").Code)
}

func TestLeagueWithoutFilesIsNotThereYet(t *testing.T) {
	s := serve(t, page.NewFolder(store.Folder(t.TempDir()), "league"))
	none := s.get("/")
	assert.Equal(t, http.StatusServiceUnavailable, none.Code)
	assert.NotEmpty(t, none.Header().Get("Retry-After"))
	assert.NotContains(t, none.Body.String(), fs.ErrNotExist.Error())
}

// Viewers cannot fill the log with the same error.
func TestDamagedJournalIsLoggedOnce(t *testing.T) {
	folder := store.Folder(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(folder.Journal("cup")), 0o750))
	require.NoError(t, os.WriteFile(folder.Journal("cup"), []byte("garbage\n"), 0o600))
	board := page.NewBoard(page.NewFolder(folder, "cup"))
	t.Cleanup(board.Close)
	var log bytes.Buffer
	pages, err := page.New(board, page.Options{Log: zerolog.New(&log)})
	require.NoError(t, err)
	for range 3 {
		for _, r := range pages.Routes() {
			if r.Pattern == "GET /{$}" {
				w := httptest.NewRecorder()
				r.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
				assert.Equal(t, http.StatusInternalServerError, w.Code)
				assert.NotContains(t, w.Body.String(), "garbage")
			}
		}
	}
	assert.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), log.String())
}

// Each page that shows a result on the word of its referee says so, and no page of another result does.
func TestResultOnTheWordOfItsRefereeIsMarkedOnEachPage(t *testing.T) {
	const (
		tag      = ">stated</span>"
		sentence = "rest on the word of referee REF01 alone."
		note     = "The result rests on the word of referee REF01 alone"
	)
	for _, stated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tape := newTape(t, "finished", "league_2025_even_odd")
			for i, line := range tape.lines {
				if stated && strings.Contains(line, `"type":"match_reported"`) && strings.Contains(line, `"referee_id":"REF01"`) {
					tape.lines[i] = regexp.MustCompile(`"grade":"[a-z]+"`).ReplaceAllString(line, `"grade":"stated"`)
				}
			}
			s := serve(t, tape)
			tape.play(len(tape.lines))
			synctest.Wait()
			pages := map[string][]string{"/": {tag, sentence}, "/players/P01": {tag}, "/matches/R1M1": {note}}
			for path, marks := range pages {
				page := s.get(path)
				require.Equal(t, http.StatusOK, page.Code, path)
				for _, mark := range marks {
					assert.Equal(t, stated, strings.Contains(page.Body.String(), mark), "%s: %s", path, mark)
				}
			}
		})
	}
}
