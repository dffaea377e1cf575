package http

import (
	"context"
	"net/http"
	"time"
)

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
	slots *callers
	write time.Duration   // see StreamLimits
	ended context.Context //nolint:containedctx // ends every stream when the server stops
	end   context.CancelFunc
}

func newStreams(limits StreamLimits) *streams {
	slots := NoLimits()
	slots.Calls, slots.CallsPerAddress = limits.Streams, limits.StreamsPerAddress
	s := &streams{slots: newCallers(slots), write: limits.Write}
	s.ended, s.end = context.WithCancel(context.Background())
	return s
}

// serve serves a stream, unless there are too many.
func (s *streams) serve(w http.ResponseWriter, r *http.Request, h http.Handler) {
	conn := connOf(r.Context())
	slot, _ := s.slots.enter(callerID{address: conn.from})
	if slot == nil {
		unavailable(w)
		return
	}
	defer s.slots.leave(slot)
	ctx, cancel := context.WithTimeout(r.Context(), streamTime)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a server of net/http can always set it
	conn.streaming.Store(int64(s.write))
	h.ServeHTTP(w, r.WithContext(ctx))
}
