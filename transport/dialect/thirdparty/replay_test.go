package thirdparty

import (
	"maps"
	nethttp "net/http"
	"sync"

	"github.com/go-json-experiment/json"

	"evenodd/transport/http"
)

// A replay is a third-party agent that answers from its capture, with the match, the
// conversation and the id of the request, and with its own captured ids. It refuses every
// method that the capture does not have.
type replay struct {
	capture string
	told    func(method string, request any) // called after each answered request

	mu       sync.Mutex
	answers  map[string][]*exchange // by method, or by path
	requests map[string]int         // how often each method was asked for, also refused ones
}

// replay serves the manager of a capture, or a player that has the answers of all players in it.
func (w *world) replay(capture string, captured []*exchange, port int) *replay {
	r := &replay{capture: capture, answers: map[string][]*exchange{}, requests: map[string]int{}, told: func(string, any) {}}
	for _, e := range captured {
		if e.Port == port || port != managerPort && e.Port >= 8100 {
			r.answers[e.method()] = append(r.answers[e.method()], e)
		}
	}
	w.thirdPartyAgent(port, r)
	return r
}

// readAll reads a request; nil when it is no JSON.
func readAll(in *nethttp.Request) (request any) {
	if json.UnmarshalRead(in.Body, &request) != nil {
		return nil
	}
	return request
}

// ServeHTTP answers a request.
func (r *replay) ServeHTTP(out nethttp.ResponseWriter, in *nethttp.Request) {
	request := readAll(in)
	if request == nil {
		out.WriteHeader(nethttp.StatusBadRequest)
		return
	}
	method := text(request, "method")
	if in.URL.Path != http.Path {
		method = in.URL.Path
	}
	e := r.next(method, request)
	switch {
	case e != nil:
		say(out, e.Status, r.answer(e, request))
		r.told(method, request)
	case in.URL.Path != http.Path:
		say(out, nethttp.StatusNotFound, map[string]any{"detail": "Not Found"})
	default:
		answer := map[string]any{"jsonrpc": "2.0", "id": member(request, "id"), "error": map[string]any{"code": -32601, "message": "Method not found: " + method}}
		if r.capture == "maker-e" {
			answer["result"] = nil
		}
		say(out, nethttp.StatusOK, answer)
	}
}

// next is the exchange whose answer is used: the next one of the method, or repeatedly the last. A registration gets
// the answer to that of the same port.
func (r *replay) next(method string, request any) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, some := r.requests[method], r.answers[method]
	r.requests[method]++
	if endpoint := contact(request); endpoint != "" {
		for _, e := range some {
			if contact(e.Request) == endpoint {
				return e
			}
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[min(n, len(some)-1)]
}

// contact is the endpoint that a registration names.
func contact(request any) string {
	return text(request, "params", "player_meta", "contact_endpoint") + text(request, "params", "referee_meta", "contact_endpoint")
}

// asked counts the requests, by method.
func (r *replay) asked() (by map[string]int, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.requests {
		all += n
	}
	return maps.Clone(r.requests), all
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

// say writes an answer.
func say(out nethttp.ResponseWriter, status int, answer any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_, _ = out.Write([]byte(written(answer)))
	out.(nethttp.Flusher).Flush()
}
