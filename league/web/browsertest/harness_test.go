package browsertest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The harness must notice each fault of a page.
func TestFaultsOfAPageAreNoticed(t *testing.T) {
	tests := []struct{ name, page, fault string }{
		{"console", `<script>console.error('no', 7)</script>`, "console: \"no\""},
		{"exception", `<script>nothing.here()</script>`, "exception: Uncaught ReferenceError"},
		{"policy", `<meta http-equiv="Content-Security-Policy" content="img-src 'none'"><img src="/x.png">`, "log: Loading the image"},
		{"dialog", `<img src="/none.png" onerror="alert(1)">`, "dialog: 1"},
		{"missing file", `<script src="/none.js"></script>`, "log: Failed to load resource"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(`<!DOCTYPE html><link rel="icon" href="data:,"><title>x</title>` + tt.page))
			}))
			defer server.Close()
			p := open(t, server.URL, desktop)
			get[bool](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
			p.mu.Lock()
			defer p.mu.Unlock()
			faults := p.faults
			p.faults = nil
			for i := range faults {
				if len(faults[i]) > len(tt.fault) {
					faults[i] = faults[i][:len(tt.fault)]
				}
			}
			assert.Contains(t, faults, tt.fault)
		})
	}
}
