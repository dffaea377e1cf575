package http

import (
	"encoding/json"
	"net/http"
)

// A Mount is a handler that a server has beside Path. The guards of the server apply
// to it: limits of connections and of the size of a request, names of hosts, no requests by
// other sites' pages, and only JSON in bodies.
type Mount struct {
	Pattern string // as http.ServeMux has it, such as "GET /healthz"
	Handler http.Handler
	// Quota has the limits of the handler; nil exempts a cheap one from limits of calls.
	Quota  *Quota
	Stream bool // an answer has no end: it is a stream of the quota
}

// Health is a mount that answers GET /healthz with the JSON of status; nil means
// {"status":"ok"}. It is exempt
// from the limits of calls, because a monitor would take a busy agent for a dead one,
// and a refusal costs as much as the answer.
func Health(status func() any) Mount {
	if status == nil {
		status = func() any { return map[string]string{"status": "ok"} }
	}
	handler := func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(status())
		if err != nil {
			http.Error(w, "no health", http.StatusInternalServerError)
			return
		}
		write(w, http.StatusOK, append(body, '\n'))
	}
	return Mount{Pattern: "GET /healthz", Handler: http.HandlerFunc(handler)}
}

// Ready is a mount that answers GET /readyz for load balancers: with the status 200 while ready says that callers
// belong here, else with 503. It is exempt from the limits of calls, as Health is.
func Ready(ready func() bool) Mount {
	return Mount{Pattern: "GET /readyz", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if ready() {
			write(w, http.StatusOK, []byte(`{"status":"ready"}`+"\n"))
			return
		}
		write(w, http.StatusServiceUnavailable, []byte(`{"status":"standby"}`+"\n"))
	})}
}

// routes are the handlers of the server.
func (s *Server) routes() http.Handler {
	routes := http.NewServeMux()
	for _, m := range s.config.Mounts {
		handler := s.checked(m.Handler)
		if m.Quota != nil {
			handler = m.Quota.limited(handler, m.Stream)
		}
		routes.Handle(m.Pattern, handler)
	}
	if s.mux == nil {
		return routes
	}
	calls := http.HandlerFunc(s.call)
	routes.Handle("POST "+Path, calls)
	if s.config.Dialect != nil {
		routes.Handle("POST /", calls) // third-party agents call paths of their own
	}
	if s.config.Misdirected == nil {
		return routes
	}
	return s.tellingMisdirected(routes)
}

// tellingMisdirected tells of requests that look like calls and match no pattern. A browser that
// asks for a page is no caller.
func (s *Server) tellingMisdirected(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hasJSON := r.ContentLength != 0 && contentProblem(r.Header) == ""
		if r.Method != http.MethodPost && !hasJSON {
			routes.ServeHTTP(w, r)
			return
		}
		seen := &statusWriter{ResponseWriter: w}
		routes.ServeHTTP(seen, r)
		switch seen.status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
			s.config.Misdirected(r.Context(), r.Method, r.URL.Path)
		}
	})
}

// A statusWriter knows the status that was written; 0 for none.
type statusWriter struct {
	http.ResponseWriter

	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// checked is a mounted handler with the checks of a body.
func (s *Server) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if problem := contentProblem(r.Header); problem != "" && r.ContentLength != 0 {
			http.Error(w, problem, http.StatusUnsupportedMediaType)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, s.config.MaxBody)
		next.ServeHTTP(w, r)
	})
}
