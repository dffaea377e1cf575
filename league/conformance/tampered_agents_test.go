package conformance_test

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// A tamper plants a defect in one of this program's agents: it changes the requests and
// responses of the agent on their way. Nil members change nothing.
type tamper struct {
	request   func(method string, params object)
	response  func(method string, params, response object)
	outgoing  func(method string, params object) bool // false: it is not sent
	silence   []byte                                  // what answers a notification
	otherwise bool                                    // answers in another form
	unproved  bool                                    // brings no credentials
	hasty     bool                                    // asks a player for a choice as soon as that one has joined
}

var errNotSent = errors.New("not sent")

// handler serves an agent whose conversations are tampered with.
func (x *tamper) handler(mux *transport.Mux) nethttp.Handler {
	return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, err := io.ReadAll(nethttp.MaxBytesReader(w, r.Body, 10<<10))
		if err != nil {
			w.WriteHeader(nethttp.StatusRequestEntityTooLarge)
			return
		}
		var q object
		_ = json.Unmarshal(body, &q)
		method, _ := q["method"].(string)
		params, _ := q["params"].(map[string]any)
		if x.request != nil && params != nil {
			x.request(method, params)
			body = encode(q)
		}
		answer := mux.Serve(r.Context(), "", body).Body
		var response object
		if x.response != nil && json.Unmarshal(answer, &response) == nil && response != nil {
			x.response(method, params, response)
			answer = encode(response)
		}
		if answer == nil {
			answer = x.silence
		}
		w.Header().Set("Content-Type", "application/json")
		status := nethttp.StatusOK
		if x.otherwise {
			answer = otherwise(w, &status, answer)
		}
		if answer == nil {
			w.WriteHeader(nethttp.StatusNoContent)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	return b
}

// A tamperedCaller is the outgoing side.
type tamperedCaller struct {
	protocol.Caller
	*tamper
}

func (c tamperedCaller) Call(ctx context.Context, endpoint, bearer, method string, params any, decode func([]byte) (any, error)) (any, error) {
	if c.unproved {
		bearer = ""
	}
	if c.hasty && method == protocol.Invite.Name {
		return c.inviteAndAsk(ctx, endpoint, bearer, params, decode)
	}
	if c.outgoing == nil {
		return c.Caller.Call(ctx, endpoint, bearer, method, params, decode)
	}
	var encoded []byte
	if many, ok := params.(interface{ Encoded() ([]byte, error) }); ok {
		encoded, _ = many.Encoded()
	} else {
		encoded = encode(params)
	}
	var q object
	if json.Unmarshal(encoded, &q) != nil || !c.outgoing(method, q) {
		return nil, errNotSent
	}
	return c.Caller.Call(ctx, endpoint, bearer, method, q, decode)
}

// result makes an answer of what was an error.
func result(response object, r object) {
	delete(response, "error")
	response["result"] = r
}

func inner(m object, names ...string) object {
	for _, name := range names {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// inviteAndAsk invites a player, and asks it for a choice whatever the other does.
func (c tamperedCaller) inviteAndAsk(ctx context.Context, endpoint, bearer string, params any, decode func([]byte) (any, error)) (any, error) {
	joined, err := c.Caller.Call(ctx, endpoint, bearer, protocol.Invite.Name, params, decode)
	var q object
	if err == nil && json.Unmarshal(encode(params), &q) == nil && q["role_in_match"] == protocol.RolePlayerA {
		question := object{"message_type": "CHOOSE_PARITY_CALL", "match_id": q["match_id"], "player_id": "P01"}
		_, err = c.Caller.Call(ctx, endpoint, bearer, protocol.ChooseParity.Name, question, func([]byte) (any, error) { return object{}, nil })
	}
	return joined, err
}
