package protocol

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// CanonicalURL is one spelling for all URLs of the same endpoint: scheme and host in
// lower case, localhost for a loopback address, the port given, no slash at the
// end, and neither query nor fragment. Text that is no URL stays as it is.
func CanonicalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	host, port, _ := net.SplitHostPort(HostPort(u)) // just joined
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		host = "localhost"
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(host), port) + strings.TrimSuffix(u.Path, "/")
}

// SameEndpoint tells whether two URLs are of one endpoint.
func SameEndpoint(a, b string) bool { return CanonicalURL(a) == CanonicalURL(b) }

// HostPort is where connections to a URL go.
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
