package browsertest

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/web"
)

// leagueOf is the id of the only league in a data folder.
func leagueOf(t *testing.T, folder string) string {
	t.Helper()
	ids, err := filepath.Glob(filepath.Join(folder, "data", "leagues", "*"))
	require.NoError(t, err)
	require.Len(t, ids, 1)
	return filepath.Base(ids[0])
}

// serve serves the pages of a league in a data folder, and returns their address.
func serve(t *testing.T, folder string) string {
	t.Helper()
	address, _ := serveAt(t, folder, "127.0.0.1:0", func(*http.Request) {})
	return address
}

// serveAt is like serve at a host and port, until stop. It shows each request.
func serveAt(t *testing.T, folder, at string, show func(*http.Request)) (address string, stop func()) {
	t.Helper()
	board := web.NewBoard(web.NewFolder(store.Folder(folder), leagueOf(t, folder)))
	pages, err := web.New(board, web.Options{})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, r := range pages.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	listener, err := net.Listen("tcp", at)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		show(r)
		mux.ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until it is closed
	}()
	closed := false
	stop = func() {
		if !closed {
			closed = true
			_ = server.Close()
			<-done
			pages.Close()
			board.Close()
		}
	}
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}
