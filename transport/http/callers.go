package http

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"evenodd/transport"
)

// Limits are those of package transport.
type Limits = transport.Limits

// counted is the address that a remote party with an address is counted by. It is the zero address
// where the network has none, as in tests over pipes.
func counted(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	prefix, _ := a.Prefix(64) // every IPv6 address has one
	return prefix.Addr()
}

// plainAddress is the address of a remote party without port and zone, and an
// IPv4-mapped IPv6 address as IPv4. It is the zero address where the network has none.
func plainAddress(remote string) netip.Addr {
	at, _ := netip.ParseAddrPort(remote) // an error makes the zero value
	return at.Addr().Unmap().WithZone("")
}

type connKey struct{} // of the connection in the context of a request

// connOf is the connection of a request; nil outside of requests.
func connOf(ctx context.Context) *admittedConn {
	c, _ := ctx.Value(connKey{}).(*admittedConn)
	return c
}

// CallerAddress is the address of the caller in the context of a request: an IPv4
// address, or the /64 of an IPv6 address. It is the zero address where the network has
// none, and outside of requests.
func CallerAddress(ctx context.Context) netip.Addr { return counted(RemoteAddress(ctx)) }

// RemoteAddress is the whole address of the caller in the context of a request, as CallerAddress.
func RemoteAddress(ctx context.Context) netip.Addr {
	if caller, ok := ctx.Value(forwardedKey{}).(netip.Addr); ok {
		return caller
	}
	if c := connOf(ctx); c != nil {
		return c.address
	}
	return netip.Addr{}
}

type forwardedKey struct{} // of the address that a trusted proxy names, in the context of a request

type relayedKey struct{} // is in the context of a request whose caller may be at another address than RemoteAddress

// SureAddress is RemoteAddress if that certainly is the address of the caller. Where a proxy that is not trusted has
// relayed the request, or a trusted one does not name its caller, it is the zero address.
func SureAddress(ctx context.Context) netip.Addr {
	if ctx.Value(relayedKey{}) != nil {
		return netip.Addr{}
	}
	return RemoteAddress(ctx)
}

// proxyHeaders are those that proxies add.
var proxyHeaders = [...]string{"X-Forwarded-For", "Forwarded", "Via", "X-Real-Ip", "X-Forwarded-Host"}

// relayed tells whether a proxy may have relayed a request.
func relayed(h http.Header) bool {
	return slices.ContainsFunc(proxyHeaders[:], func(name string) bool { return len(h[name]) > 0 })
}

// trusts tells whether an address is that of a proxy that names the addresses of its callers.
func (c *Config) trusts(a netip.Addr) bool { return within(c.TrustedProxies, a) }

// forwarded puts the address of a caller behind a trusted proxy into the context of its requests. No other request may
// name an address.
func (c *Config) forwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied, caller := false, netip.Addr{}
		if conn := connOf(r.Context()); conn != nil && conn.proxied {
			proxied, caller = true, c.forwardedFor(r.Header.Values("X-Forwarded-For"))
		}
		switch {
		case caller.IsValid():
			r = r.WithContext(context.WithValue(r.Context(), forwardedKey{}, caller))
		case proxied || relayed(r.Header):
			r = r.WithContext(context.WithValue(r.Context(), relayedKey{}, true))
		}
		next.ServeHTTP(w, r)
	})
}

// forwardedFor is the last address in a header that is not of a trusted proxy: each proxy adds the address that called
// it, and the caller may have made up what is before. It is the zero address if there is none.
func (c *Config) forwardedFor(values []string) (caller netip.Addr) {
	entries := strings.Split(strings.Join(values, ","), ",")
	for _, entry := range slices.Backward(entries) {
		entry = strings.TrimSpace(entry)
		caller = plainAddress(entry) // some proxies add the port
		if bare, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
			caller = bare.Unmap().WithZone("")
		}
		if !c.trusts(caller) {
			return caller
		}
	}
	return netip.Addr{}
}

// A Quota bounds what mounts can use, apart from the calls of the agent: neither uses up what
// the other has. It belongs to one server.
type Quota struct {
	callers *transport.Budgets
	streams *streams
}

// NewQuota makes a quota. It takes the limits of calls from limits, not those of connections,
// which all handlers of a server share.
func NewQuota(limits Limits, streams StreamLimits) *Quota {
	return &Quota{transport.NewBudgets(limits.OrDefault()), newStreams(streams)}
}

// Streams returns the number of streams that are open.
func (q *Quota) Streams() int { return q.streams.slots.Unnamed() }

// limited is the handler of a mount with the limits of its quota, which counts addresses only.
func (q *Quota) limited(next http.Handler, stream bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := connOf(r.Context())
		caller, wait := q.callers.Enter(transport.CallerID{Address: CallerAddress(r.Context())})
		if caller == nil {
			refuse(w, wait, nil)
			return
		}
		conn.call()
		if stream {
			q.callers.Leave(caller)
			q.streams.serve(w, r, next)
			return
		}
		defer q.callers.Leave(caller)
		next.ServeHTTP(w, r)
	})
}
