package check_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	nethttp "net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// A tamper plants a defect in one of this program's agents: it changes the requests and
// responses of the agent on their way. Nil members change nothing.
type tamper struct {
	request  func(method string, params object)
	response func(method string, params, response object)
	outgoing func(method string, params object) bool // false: it is not sent
	strict   bool                                    // rejects answers without an envelope
	announce bool                                    // assigns matches by the announcement of a round alone
}

var (
	errNotSent    = errors.New("not sent")
	errNoEnvelope = errors.New("no envelope")
)

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
		w.Header().Set("Content-Type", "application/json")
		if answer == nil {
			w.WriteHeader(nethttp.StatusNoContent)
			return
		}
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

func (c tamperedCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	if decode := r.Decode; c.strict {
		r.Decode = func(answer []byte) (any, error) {
			if !bytes.Contains(answer, []byte(`"message_type"`)) {
				return nil, errNoEnvelope
			}
			return decode(answer)
		}
	}
	if c.announce && r.Method == protocol.StartMatch.Name {
		assignment := protocol.ParseObject(encode(r.Params))
		announcement := dialect.AsAnnouncement(assignment, r.Endpoint).Append(nil)
		r.Method, r.Params = protocol.NotifyRound.Name, jsontext.Value(announcement)
		r.Decode = func([]byte) (any, error) {
			return &protocol.MatchAssignmentAck{Status: protocol.StatusAccepted, MatchID: assignment.Text("match_id")}, nil
		}
		return c.Caller.Call(ctx, r)
	}
	if c.outgoing == nil {
		return c.Caller.Call(ctx, r)
	}
	var encoded []byte
	if many, ok := r.Params.(interface{ Encoded() ([]byte, error) }); ok {
		encoded, _ = many.Encoded()
	} else {
		encoded = encode(r.Params)
	}
	var q object
	if json.Unmarshal(encoded, &q) != nil || !c.outgoing(r.Method, q) {
		return nil, nil, errNotSent
	}
	r.Params = q
	return c.Caller.Call(ctx, r)
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
