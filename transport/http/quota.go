package http

import "net/http"

// A Quota bounds what mounts can use, apart from the calls of the agent: neither uses up what
// the other has. It belongs to one server.
type Quota struct {
	callers *callers
	streams *streams
}

// NewQuota makes a quota. It takes the limits of calls from limits, not those of connections,
// which all handlers of a server share.
func NewQuota(limits Limits, streams StreamLimits) *Quota {
	return &Quota{newCallers(limits.orDefault()), newStreams(streams)}
}

// limited is the handler of a mount with the limits of its quota, which counts addresses only.
func (q *Quota) limited(s *Server, m *Mount) http.Handler {
	checked := s.checked(m.Handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := connOf(r.Context())
		caller, wait := q.callers.enter(callerID{address: conn.from})
		switch {
		case caller == nil && wait > 0:
			tooMany(w, wait)
			return
		case caller == nil:
			unavailable(w)
			return
		}
		conn.call()
		if m.Stream {
			q.callers.leave(caller)
			q.streams.serve(w, r, checked)
			return
		}
		defer q.callers.leave(caller)
		checked.ServeHTTP(w, r)
	})
}
