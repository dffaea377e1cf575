package http

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/transport"
)

// listen is the MCP method that opens a stream of updates.
const listen = "subscriptions/listen"

var mcpFamilies = []string{
	"server", "resources", "prompts", "subscriptions", "notifications", "completion", "logging",
}

// mcpMethod tells whether a method belongs to the Model Context Protocol alone. A bare
// tools/call does not: third-party agents of the league use it.
func mcpMethod(method string) bool {
	if method == "initialize" || method == "tools/list" {
		return true
	}
	family, _, ok := strings.Cut(method, "/")
	return ok && slices.Contains(mcpFamilies, family)
}

// serveMCP answers a request by the MCP server if it is one; else handled is false. It
// returns a stream for a request that opens one: the caller serves it after the request
// has ended for the limits of calls.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, body []byte) (handled bool, stream func()) {
	if s.config.MCP == nil || !isPath(r.URL.Path) {
		return false, nil
	}
	versioned := r.Header.Get("Mcp-Protocol-Version") != ""
	var request struct {
		Method string `json:"method"`
	}
	// A batch is an error here, and so is text that parsers could read differently, such as an object that repeats a
	// name. The mux reports what is wrong with it.
	if json.Unmarshal(body, &request) != nil || request.Method == "" || !versioned && !mcpMethod(request.Method) {
		return false, nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if request.Method == listen {
		return true, func() { s.streams.serve(w, r, s.config.MCP) }
	}
	// The response is JSON, also for a client that does not say what it accepts.
	r.Header.Set("Accept", "application/json, text/event-stream")
	s.config.MCP.ServeHTTP(w, r)
	return true, nil
}

// StreamLimits bound streams: answers that have no end. They have slots of their own and are no
// calls. Every stream also has a connection.
type StreamLimits struct {
	Streams, StreamsPerAddress int // at once
	// Write is the time for one write. The buffers of a connection hold many small updates, so
	// that only a client that has stopped reading needs it. It loses its stream.
	Write time.Duration
}

// mcpStreams are the limits of the streams of MCP. The SDK writes to one stream after the other:
// the updates of the others wait for a write. On a busy machine a write may begin long after its
// deadline was set.
func mcpStreams() StreamLimits { return StreamLimits{1024, 256, 500 * time.Millisecond} }

// streamTime is the longest time of a stream. Then the client must open another one.
const streamTime = time.Hour

// streams are the open streams of updates.
type streams struct {
	slots *transport.Budgets
	write time.Duration   // see StreamLimits
	ended context.Context //nolint:containedctx // ends every stream when the server stops
	end   context.CancelFunc
}

func newStreams(limits StreamLimits) *streams {
	slots := transport.NoLimits()
	slots.Calls, slots.CallsPerAddress = limits.Streams, limits.StreamsPerAddress
	s := &streams{slots: transport.NewBudgets(slots), write: limits.Write}
	s.ended, s.end = context.WithCancel(context.Background())
	return s
}

// serve serves a stream, unless there are too many.
func (s *streams) serve(w http.ResponseWriter, r *http.Request, h http.Handler) {
	conn := connOf(r.Context())
	slot, _ := s.slots.Enter(transport.CallerID{Address: CallerAddress(r.Context())})
	if slot == nil {
		unavailable(w)
		return
	}
	defer s.slots.Leave(slot)
	ctx, cancel := context.WithTimeout(r.Context(), streamTime)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a server of net/http can always set it
	conn.streaming.Store(int64(s.write))
	h.ServeHTTP(w, r.WithContext(ctx))
}
