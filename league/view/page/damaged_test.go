package page_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
)

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
