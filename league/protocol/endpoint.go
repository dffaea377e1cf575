package protocol

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// CanonicalURL returns the same text for all URLs of an endpoint: scheme and host in lower
// case, localhost for a loopback address, an explicit port, no slash at the end, and
// neither query nor fragment. It returns a text that is not a URL unchanged.
func CanonicalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	host, port, _ := net.SplitHostPort(HostPort(u)) // just joined
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		host = "localhost"
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(host), port) +
		strings.TrimSuffix(u.Path, "/")
}

// SameEndpoint tells whether two URLs have the same endpoint.
func SameEndpoint(a, b string) bool { return CanonicalURL(a) == CanonicalURL(b) }

// HostPort returns the host and port of a URL for a connection.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if strings.EqualFold(u.Scheme, "https") {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
