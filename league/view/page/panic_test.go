package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

func TestViewThatPanicsFailsItsPageAlone(t *testing.T) {
	board := NewBoard(NewFolder(store.Folder("../../../testdata/leagues/finished"), "league_2025_even_odd"))
	defer board.Close()
	pages, err := New(board, Options{})
	require.NoError(t, err)
	pages.routes = []route{
		{pattern: "GET /broken", template: "overview", build: func(context.Context, *Board, *http.Request) (any, error) { panic("secret") }},
		{pattern: "GET /{$}", template: "overview", build: buildOverview},
	}
	mux := http.NewServeMux()
	for _, r := range pages.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	for path, want := range map[string]int{"/broken": http.StatusInternalServerError, "/": http.StatusOK} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		assert.Equal(t, want, w.Code, path)
		assert.NotContains(t, w.Body.String(), "secret", path)
	}
}
