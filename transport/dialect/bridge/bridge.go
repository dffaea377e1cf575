// Package bridge connects our agents to third-party agents, at the edge of a process. It
// remembers which form each endpoint understands, searches for it, waits for answers
// that are posted later, assigns matches to third-party referees, and starts the
// matches of third-party managers. Package dialect translates the messages. The bridge
// knows no carrier, and the code behind it sees only the form of the specification.
package bridge

import (
	"context"
	"net/netip"
	"sync"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// Options describe the agent of a bridge.
type Options struct {
	Endpoint string // the endpoint that other agents know; "" for a manager
	League   string // the id of the league that the agent runs; "" if it is no manager
	Game     string // of that league
	Clock    *protocol.Clock
	Log      zerolog.Logger
}

// A Bridge connects one agent. It is safe for concurrent use.
type Bridge struct {
	agent

	assigned assignments

	peersMu sync.RWMutex
	peers   bounded[*peer] // the other agents, by endpoint
}

// New returns a bridge that knows no other agent.
func New(o Options) *Bridge { return &Bridge{agent: agent{options: o}} }

// Call makes one call in the form that the endpoint understands. The caller gets one
// response, however many forms are tried. Bearer is the credential beside the message;
// the log never shows it. The carrier's interface http.Calls documents post.
func (b *Bridge) Call(ctx context.Context, endpoint, bearer, method string, body []byte,
	post postFunc,
) (status int, response, arrived []byte, err error) {
	defer b.beforeCall(ctx, method, body)()
	c := b.newCall(endpoint, bearer, method, body, post)
	if question := b.questions.open(&c); question != nil {
		defer b.questions.close(question)
		r, err := c.make(ctx)
		if err == nil && r.Verdict == dialect.Deferred {
			return question.await(ctx)
		}
		return r.Status, r.Body, r.arrived, err
	}
	r, err := c.make(ctx)
	if err == nil && r.Status == httpOK && c.method != nil && c.method.Registers {
		b.registered(method == protocol.RegisterReferee.Name, r.Body)
	}
	return r.Status, r.Body, r.arrived, err
}

// Serve answers a request in its own form. From is the address of the caller.
func (b *Bridge) Serve(ctx context.Context, from netip.Addr, path string, body []byte,
	serve func(ctx context.Context, body []byte) []byte,
) (status int, response []byte) {
	s := server{b, serve}
	switch path {
	case home:
		return httpOK, s.serve(ctx, from, body)
	case "/run_match":
		return s.serveRunMatch(ctx, body)
	case "/create_schedule":
		return s.serveSchedule(ctx)
	}
	return httpNotFound, nil
}

// home is the path of all agents.
const home = "/mcp"

// The statuses of HTTP that have a meaning here.
const (
	httpOK            = 200
	httpBadRequest    = 400
	httpNotFound      = 404
	httpInternalError = 500
)
