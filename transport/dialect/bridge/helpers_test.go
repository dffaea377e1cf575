package bridge

import (
	"context"
	"encoding/json"

	"evenodd/transport/dialect"
)

// call makes a call without the bridge of an agent.
func (p *Bridge) call(ctx context.Context, endpoint, bearer, method string, body []byte, post postFunc) (status int, response []byte, err error) {
	c := p.newCall(endpoint, bearer, method, body, post)
	r, err := c.make(ctx)
	return r.Status, r.Body, err
}

// completed returns a report as the manager gets it.
func (p *Bridge) completed(body []byte) (completed []byte) {
	p.serveReport(context.Background(), body, func(_ context.Context, body []byte) []byte {
		completed = body
		return nil
	})
	return completed
}

// served serves a report with a response.
func (p *Bridge) served(body, response []byte) {
	p.serveReport(context.Background(), body, func(context.Context, []byte) []byte { return response })
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

func decode(raw []byte, into any) error { return json.Unmarshal(raw, into) }
