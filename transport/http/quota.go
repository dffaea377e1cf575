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
func (q *Quota) limited(next http.Handler, stream bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := connOf(r.Context())
		caller, wait := q.callers.enter(callerID{address: conn.from})
		if caller == nil {
			refuse(w, wait, nil)
			return
		}
		conn.call()
		if stream {
			q.callers.leave(caller)
			q.streams.serve(w, r, next)
			return
		}
		defer q.callers.leave(caller)
		next.ServeHTTP(w, r)
	})
}
