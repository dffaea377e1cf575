// Package dialect knows how agents of other makers say the same things: other
// names for methods, other wrappings of replies, other fields, other times. It
// is pure translation at the edge of a process. A carrier of bytes gives it what
// goes out and what comes in; behind it everything is in the form of the
// protocol, and nobody knows that there are others.
//
// It learns of each endpoint what that sent and what it refused, and tries no
// more than a bounded number of forms. It knows no carrier.
package dialect

import (
	"bytes"
	"context"
	"net/netip"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
)

// Options say whose edge it is.
type Options struct {
	Endpoint string // where others reach this agent, as they are told; "" for a manager
	League   string // the id of the league that this agent, a manager, runs; "" for others
	Game     string // of that league
	Clock    *protocol.Clock
	Log      zerolog.Logger
}

// A Dialect translates for one agent. Safe for concurrent use.
type Dialect struct {
	options Options
	peers   *peers // what is known of others, by their endpoints
	own     *own   // what is known of the agent that it translates for
}

// New makes the dialect of an agent that has met nobody.
func New(o Options) *Dialect {
	d := &Dialect{options: o, peers: newPeers(o), own: newOwn(o)}
	d.peers.league = d.own.league
	return d
}

// Call makes one call in the form that its endpoint understands; see the
// carrier's interface. Its caller sees one answer, whatever was tried. Bearer is the
// credential beside the message: the log never shows it.
func (d *Dialect) Call(ctx context.Context, endpoint, bearer, method string, body []byte,
	post func(ctx context.Context, url string, body []byte) (status int, answer []byte, err error),
) (status int, answer []byte, err error) {
	defer d.own.calling(ctx, method, body)()
	if asked := d.own.deferred.begin(endpoint, method, body); asked != nil {
		defer d.own.deferred.end(asked)
		status, answer, err = d.peers.callAwaiting(ctx, endpoint, bearer, method, body, asked.posted, post)
		if err == nil && bytes.HasPrefix(answer, []byte(receivedHead)) {
			return asked.await(ctx)
		}
		return status, answer, err
	}
	status, answer, err = d.peers.call(ctx, endpoint, bearer, method, body, post)
	if err == nil && status == 200 {
		d.own.called(method, answer)
	}
	return status, answer, err
}

// Serve answers what others sent, in the form in which they sent it; see the
// carrier's interface. From is the address of the caller.
func (d *Dialect) Serve(ctx context.Context, from netip.Addr, path string, body []byte, serve func(ctx context.Context, body []byte) []byte) (status int, answer []byte) {
	return d.own.serve(ctx, from, path, body, func(ctx context.Context, body []byte) []byte {
		body = d.peers.complete(body)
		answer := serve(ctx, body)
		d.peers.served(body, answer)
		d.own.assigned(body, answer)
		return answer
	})
}

// home is the path where agents listen.
const home = "/mcp"
