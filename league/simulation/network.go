package simulation

import (
	"context"
	"net"
	"time"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/memory"
)

// A network connects the agents of a simulation.
type network interface {
	protocol.Caller
	// reserve returns an endpoint for an agent, and a function that serves it there.
	reserve(ctx context.Context, name string) (endpoint string, serve func(*transport.Mux) (stop func()), err error)
	close() // also ends reservations
}

func newNetwork(kind string) network {
	switch kind {
	case Wire:
		return inMemory{memory.NewWireBus()}
	case HTTP:
		return &loopback{Client: http.NewClient(http.ClientConfig{MaxReply: maxMessage, MaxConns: -1})}
	}
	return inMemory{memory.NewBus()}
}

// maxMessage is the limit of a message in bytes: a schedule of 10,000 players fits.
const maxMessage = 16 << 20

type inMemory struct{ *memory.Bus }

func (n inMemory) reserve(_ context.Context, name string) (string, func(*transport.Mux) func(), error) {
	endpoint := Memory + "://" + name + http.Path
	return endpoint, func(mux *transport.Mux) func() { return n.Listen(endpoint, mux) }, nil
}

func (inMemory) close() {}

type loopback struct {
	*http.Client
	listeners []net.Listener
}

func (n *loopback) reserve(ctx context.Context, _ string) (string, func(*transport.Mux) func(), error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	n.listeners = append(n.listeners, l)
	return "http://" + l.Addr().String() + http.Path, func(mux *transport.Mux) func() {
		server := http.NewServer(mux, http.Config{MaxBody: maxMessage, Limits: transport.NoLimits()})
		stop := server.ServeUntil(l, time.Second)
		return func() {
			n.Close() // idle connections would keep the server waiting
			stop()
		}
	}, nil
}

func (n *loopback) close() {
	n.Close()
	for _, l := range n.listeners {
		_ = l.Close() // most are closed already
	}
}
