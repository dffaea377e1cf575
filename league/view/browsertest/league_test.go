package browsertest

import (
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
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

// lastingAddress returns a free address below the ports that Linux takes for outgoing connections
// and for listeners at port 0, and beside those of the tests of cmd: a server that starts again
// there finds it free.
func lastingAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := "127.0.0.1:" + strconv.Itoa(10000+rand.IntN(10000))
		if l, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, l.Close())
			return address
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

// serveAt is like serve at a host and port, until stop. It shows each request.
func serveAt(t *testing.T, folder, at string, show func(*http.Request)) (address string, stop func()) {
	t.Helper()
	board := page.NewBoard(page.NewFolder(store.Folder(folder), leagueOf(t, folder)))
	pages, err := page.New(board, page.Options{})
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
			board.Close()
		}
	}
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}
