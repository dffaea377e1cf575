package http

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// listen is the MCP method that opens a stream of updates.
const listen = "subscriptions/listen"

// mcpMethod tells whether a method belongs to the Model Context Protocol alone. A bare
// tools/call does not: third-party agents of the league use it.
func mcpMethod(method string) bool {
	if method == "initialize" || method == "tools/list" {
		return true
	}
	family, _, ok := strings.Cut(method, "/")
	switch {
	case !ok:
		return false
	case family == "server", family == "resources", family == "prompts", family == "subscriptions", family == "notifications",
		family == "completion", family == "logging":
		return true
	}
	return false
}

// plainMethod returns the method of a request in the form of our own agents, without
// reading all of it; "" for other forms.
func plainMethod(body []byte) string {
	rest, plain := bytes.CutPrefix(body, []byte(`{"jsonrpc":"2.0","method":"`))
	name, _, ok := bytes.Cut(rest, []byte{'"'})
	if !plain || !ok {
		return ""
	}
	return string(name)
}

// methodOf returns the method of a JSON-RPC request; "" for a batch, and for text that
// parsers could read differently, such as an object that repeats a name.
func methodOf(body []byte) string {
	var request struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &request) != nil {
		return ""
	}
	return request.Method
}

// serveMCP answers a request by the MCP server if it is one; else handled is false. It
// returns a stream for a request that opens one: the caller serves it after the request
// has ended for the limits of calls.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, body []byte) (handled bool, stream func()) {
	if s.config.MCP == nil || r.URL.Path != Path {
		return false, nil
	}
	versioned := r.Header.Get("Mcp-Protocol-Version") != ""
	if method := plainMethod(body); !versioned && method != "" && !mcpMethod(method) {
		return false, nil
	}
	method := methodOf(body)
	if method == "" || !versioned && !mcpMethod(method) {
		return false, nil // the mux reports what is wrong with it
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if method == listen {
		return true, func() { s.streams.serve(w, r, s.config.MCP) }
	}
	// The response is JSON, also for a client that does not say what it accepts.
	r.Header.Set("Accept", "application/json, text/event-stream")
	s.config.MCP.ServeHTTP(w, r)
	return true, nil
}

// Bounds of the streams of updates, which have slots and deadlines of their own. Every
// stream also has a connection.
const (
	maxStreams           = 1024
	maxStreamsPerAddress = 256
	streamTime           = time.Hour // then the client must listen again
	// streamWriteTime is the time for one update. The buffers of a connection hold
	// hundreds of updates, so only a client that has stopped reading needs it; it loses its
	// stream, because the updates of the others wait meanwhile.
	streamWriteTime = 100 * time.Millisecond
)

// streams are the open streams of updates.
type streams struct {
	ended context.Context //nolint:containedctx // ends every stream when the server stops
	end   context.CancelFunc

	mu   sync.Mutex
	all  int
	from map[netip.Addr]int
}

func newStreams() *streams {
	s := &streams{from: map[netip.Addr]int{}}
	s.ended, s.end = context.WithCancel(context.Background())
	return s
}

// serve serves a stream, unless there are too many.
func (s *streams) serve(w http.ResponseWriter, r *http.Request, h http.Handler) {
	from := addressOf(r.RemoteAddr)
	if !s.enter(from) {
		unavailable(w)
		return
	}
	defer s.leave(from)
	ctx, cancel := context.WithTimeout(r.Context(), streamTime)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a server of net/http can always set it
	h.ServeHTTP(&streamWriter{w, control}, r.WithContext(ctx))
}

func (s *streams) enter(from netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.from[from] >= maxStreamsPerAddress {
		return false
	}
	s.all++
	s.from[from]++
	return true
}

func (s *streams) leave(from netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.from[from]--; s.from[from] == 0 {
		delete(s.from, from)
	}
}

// A streamWriter gives each update its own deadline.
type streamWriter struct {
	http.ResponseWriter

	control *http.ResponseController
}

// Write writes an update.
func (w *streamWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWriteTime)) // as SetReadDeadline
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the writer.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
