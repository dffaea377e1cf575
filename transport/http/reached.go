package http

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// reachedAddresses are the addresses to which connections were made, for each host and port. Safe for concurrent use.
type reachedAddresses struct {
	mu sync.Mutex
	by map[string][]netip.Addr // the last ones
}

const (
	maxReached     = 16 << 10 // hosts; then all are forgotten: a connection is made anew after some idle seconds
	maxReachedEach = 4        // addresses of one host
)

// noted notes the address of each connection that a dialer makes.
func (r *reachedAddresses) noted(dial Dialer) Dialer {
	return func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		c, err := dial(ctx, network, hostPort)
		if err == nil {
			r.add(hostPort, plainAddress(c.RemoteAddr().String()))
		}
		return c, err
	}
}

func (r *reachedAddresses) add(hostPort string, at netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.by[hostPort]
	if !at.IsValid() || slices.Contains(known, at) {
		return
	}
	if r.by == nil || len(r.by) >= maxReached {
		r.by = map[string][]netip.Addr{}
	}
	known = append(slices.Clone(known), at)
	r.by[hostPort] = known[max(0, len(known)-maxReachedEach):]
}

func (r *reachedAddresses) of(hostPort string) []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[hostPort]
}
