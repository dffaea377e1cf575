package http

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// hostName is the name in a Host header in one spelling: without port, brackets and
// final dot, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.ToLower(host)
}

// onlyFor refuses requests for other hosts, against DNS rebinding: a web page whose own
// name resolves to the address of this server could otherwise call it from a browser in
// the operator's network. A request for an address is never refused, because DNS
// rebinding needs a name. Besides, a server behind a forwarded port, as in a container,
// does not know the address that others call. Nil allows all hosts.
func onlyFor(names []string, next http.Handler) http.Handler {
	if names == nil {
		return next
	}
	allowed := map[string]bool{}
	for _, name := range names {
		allowed[hostName(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		if _, err := netip.ParseAddr(name); err != nil && !allowed[name] {
			http.Error(w, "this agent does not have the name in the Host header; its operator can allow it by --allowed-host",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
