package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rs/zerolog"

	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// The pages of a stored league are handlers for any server.
func ExampleNew() {
	board := page.NewBoard(page.NewFolder(store.In("../../../testdata/leagues/finished"), "league_2025_even_odd"))
	pages, err := page.New(board, page.Options{Log: zerolog.Nop(), Games: rules.NewRegistry(evenodd.Game{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	for _, route := range pages.Routes() {
		mux.Handle(route.Pattern, route.Handler)
	}
	response := httptest.NewRecorder()
	mux.ServeHTTP(response, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody))
	fmt.Println(response.Code, response.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
