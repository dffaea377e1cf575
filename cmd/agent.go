package cmd

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
)

// Sizes of messages in bytes, and the time that calls get to end when
// their server stops.
const (
	maxRequest       = 10 << 10 // request that a manager or referee accepts from any caller
	maxReply         = 64 << 10 // response that a manager or referee reads
	maxFromManager   = 1 << 20  // message that an agent accepts from its manager
	shutdownPatience = 5 * time.Second
)

// A node is the network side of a process: the client for calls to agents, the
// translation of third-party forms, and the server. Every command gets them here.
type node struct {
	caller  transport.Caller // holds notices back from failing agents
	client  *http.Client
	dialect *bridge.Bridge
	log     zerolog.Logger
}

// nodeOptions configure a node.
type nodeOptions struct {
	maxReply int64                 // bytes
	ca       string                // file of authorities to trust besides those of the system; "" for none
	allow    func(netip.Addr) bool // prevents SSRF; nil allows all addresses
	dialect  bridge.Options        // without clock and log
	log      zerolog.Logger
}

func newNode(o nodeOptions) (*node, error) {
	o.dialect.Clock, o.dialect.Log = protocol.SystemClock(), o.log
	n := &node{dialect: bridge.New(o.dialect), log: o.log}
	trusted, err := roots(o.ca)
	if err != nil {
		return nil, err
	}
	n.client = http.NewClient(http.ClientConfig{MaxReply: o.maxReply, Roots: trusted, Allow: o.allow, Dialect: n.dialect})
	n.caller = transport.NewBreaker(n.client, essential, o.log)
	return n, nil
}

// serve answers calls on l in the background. stamp identifies the agent in errors.
// The returned function lets running calls end, then stops the server.
func (n *node) serve(a *address, l net.Listener, mux *transport.Mux, stamp func() *protocol.Stamp,
	c http.Config) (stop func()) {
	c.Hosts, c.TLS, c.Dialect = a.names(l), a.tls, n.dialect
	if c.TooLarge == nil {
		c.TooLarge = func(_ context.Context, limit int64) error { return protocol.TooLarge(stamp(), limit) }
	}
	c.RateLimited = func(wait time.Duration) error { return protocol.TooFast(stamp(), wait) }
	return http.NewServer(mux, c).ServeUntil(l, shutdownPatience)
}

var (
	_ protocol.Caller = transport.Caller(nil) // neither package imports the other
	_ http.Calls      = (*bridge.Bridge)(nil)
	_ http.Requests   = (*bridge.Bridge)(nil)
)

// essential tells whether a method is part of a match or of the membership in a
// league. The breaker never holds back such calls: every attempt counts, and some
// agents accept no match before they know how the last one ended. An agent can ask
// for the contents of the other notices.
func essential(method string) bool {
	return !slices.Contains([]string{
		protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name, protocol.NotifyGameError.Name,
	}, method)
}
