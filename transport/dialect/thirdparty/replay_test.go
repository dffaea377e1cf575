package thirdparty

import (
	"io"
	nethttp "net/http"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"evenodd/transport/http"
)

// A replay is a third-party agent that answers from its capture, with the match, the
// conversation and the id of the request, and with its own captured ids. It refuses every
// method that the capture does not have.
type replay struct {
	w       *world
	capture string
	port    int

	// first is called before a request is answered.
	first func(method string)
	// told is called after each answered request.
	told func(method string, request any)

	mu       sync.Mutex
	answers  map[string][]*exchange // by method, or by path
	given    map[string]int
	requests []string // the methods that were asked for, in order, also refused ones
}

// replay serves the agent that a capture has at one port at another.
func (w *world) replay(capture string, captured []*exchange, was, port int) *replay {
	r := &replay{w: w, capture: capture, port: port, answers: map[string][]*exchange{}, given: map[string]int{}}
	for _, e := range captured {
		if e.Port == was {
			r.answers[e.method()] = append(r.answers[e.method()], e)
		}
	}
	w.thirdPartyAgent(port, r)
	return r
}

// ServeHTTP answers a request.
func (r *replay) ServeHTTP(out nethttp.ResponseWriter, in *nethttp.Request) {
	r.serve(out, in, readAll(in))
}

// readAll reads a request; nil when it is no JSON.
func readAll(in *nethttp.Request) (request any) {
	raw, err := io.ReadAll(in.Body)
	if err != nil || json.Unmarshal(raw, &request) != nil {
		return nil
	}
	return request
}

// serve answers a request.
func (r *replay) serve(out nethttp.ResponseWriter, in *nethttp.Request, request any) {
	if request == nil {
		out.WriteHeader(nethttp.StatusBadRequest)
		return
	}
	method := text(request, "method")
	if in.URL.Path != http.Path {
		method = in.URL.Path
	}
	e := r.next(method, request)
	if e == nil {
		r.refuse(out, in, request)
		return
	}
	if r.first != nil {
		r.first(method)
	}
	say(out, e.Status, r.answer(e, request))
	if r.told != nil {
		r.told(method, request)
	}
}

// next is the exchange whose answer is used: the next one of the method, or repeatedly the
// last. A registration gets the answer to that of the same port.
func (r *replay) next(method string, request any) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, method)
	some := r.answers[method]
	if len(some) == 0 {
		return nil
	}
	if endpoint := contact(request); endpoint != "" {
		i := slices.IndexFunc(some, func(e *exchange) bool { return contact(e.Request) == endpoint })
		if i >= 0 {
			return some[i]
		}
	}
	n := r.given[method]
	r.given[method]++
	return some[min(n, len(some)-1)]
}

// contact is the endpoint that a registration names.
func contact(request any) string {
	return text(request, "params", "player_meta", "contact_endpoint") + text(request, "params", "referee_meta", "contact_endpoint")
}

// asked counts the requests of some methods, or of all if none is named.
func (r *replay) asked(methods ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, m := range r.requests {
		if len(methods) == 0 || slices.Contains(methods, m) {
			n++
		}
	}
	return n
}

// heard are the methods of the requests, in order.
func (r *replay) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// answer is the captured answer, changed to answer another request.
func (r *replay) answer(e *exchange, request any) any {
	now := map[string]string{}
	for _, name := range []string{"match_id", "conversation_id"} {
		for _, at := range [][]string{{"params", name}, {name}} {
			if was, is := text(e.Request, at...), text(request, at...); was != "" && is != "" {
				now[was] = is
			}
		}
	}
	answer := replaced(e.Response, now)
	if object, ok := answer.(map[string]any); ok && member(e.Response, "id") == member(e.Request, "id") {
		if id := member(request, "id"); id != nil {
			object["id"] = id
		}
	}
	return answer
}

// refuse answers a request that the agent does not know.
func (r *replay) refuse(out nethttp.ResponseWriter, in *nethttp.Request, request any) {
	if in.URL.Path != http.Path {
		say(out, nethttp.StatusNotFound, map[string]any{"detail": "Not Found"})
		return
	}
	answer := map[string]any{
		"jsonrpc": "2.0", "id": member(request, "id"),
		"error": map[string]any{"code": -32601, "message": "Method not found: " + text(request, "method")},
	}
	if r.capture == "maker-e" {
		answer["result"] = nil
	}
	say(out, nethttp.StatusOK, answer)
}

// say writes an answer.
func say(out nethttp.ResponseWriter, status int, answer any) {
	raw, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a tree of JSON always encodes
	}
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_, _ = out.Write(raw)
	if f, ok := out.(nethttp.Flusher); ok {
		f.Flush()
	}
}
