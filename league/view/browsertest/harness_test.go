package browsertest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// hears waits until the tab has recorded a fault that begins with a text.
func (p *tab) hears(fault string) bool {
	patience := time.After(patience)
	for {
		p.mu.Lock()
		heard, heardMore := p.faults, p.heardMore
		p.mu.Unlock()
		if slices.ContainsFunc(heard, func(f string) bool { return strings.HasPrefix(f, fault) }) {
			return true
		}
		select {
		case <-heardMore:
		case <-patience:
			return false
		}
	}
}

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
			assert.True(t, p.hears(tt.fault), "the fault is not noticed: %s", p.faults)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.faults = nil
		})
	}
}
