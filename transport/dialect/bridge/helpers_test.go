package bridge

import (
	"context"
	"encoding/json"
	"net/netip"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// resultHead is the beginning of a response of one of our agents.
const resultHead = `{"jsonrpc":"2.0","result":`

// call makes a call without the bridge of an agent.
func (p *Bridge) call(ctx context.Context, endpoint, bearer, method string, body []byte, post transport.Post) (status int, response []byte, err error) {
	c := p.newCall(endpoint, bearer, method, body, post)
	r, err := c.make(ctx)
	return r.Status, r.Body, err
}

// completed returns a report as the manager gets it.
func (p *Bridge) completed(body []byte) (completed []byte) {
	s := server{p, func(_ context.Context, body []byte) transport.Answer {
		completed = body
		return transport.Answer{}
	}}
	s.serveReport(context.Background(), body)
	return completed
}

// served serves a report with a response.
func (p *Bridge) served(body, response []byte) {
	s := server{p, func(context.Context, []byte) transport.Answer { return answering(response) }}
	s.serveReport(context.Background(), body)
}

// ServeText is Serve with the texts of responses in place of answers.
func (p *Bridge) ServeText(ctx context.Context, from netip.Addr, path string, body []byte, next func(ctx context.Context, body []byte) []byte) (int, []byte) {
	status, answer := p.Serve(ctx, from, path, body, func(ctx context.Context, body []byte) transport.Answer { return answering(next(ctx, body)) })
	return status, answer.Body
}

// answering is the answer of an agent with the text of a response.
func answering(response []byte) transport.Answer {
	if response == nil {
		return transport.Answer{}
	}
	ack := &protocol.MatchAssignmentAck{}
	result, err := transport.DecodeResponse(response, func(result []byte) (any, error) {
		_ = json.Unmarshal(result, ack) // a result of another method
		return ack, nil
	})
	return transport.Answer{Body: response, Result: result, Err: err}
}

// formsOf is the number of forms of a method, without the tools of MCP servers.
func formsOf(method string) (n int) {
	for _, f := range dialect.MethodOf(method).Forms() {
		if !f.OnServer() {
			n++
		}
	}
	return n
}
