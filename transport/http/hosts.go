package http

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// hostNames are names as requests are compared with them; nil for nil.
func hostNames(names []string) map[string]bool {
	if names == nil {
		return nil
	}
	hosts := map[string]bool{}
	for _, name := range names {
		hosts[hostName(name)] = true
	}
	return hosts
}

// hostName is the name in a Host header: without port, brackets, a dot at its
// end, and in small letters.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.ToLower(host)
}

// forThisHost refuses requests that are meant for another host.
func (s *Server) forThisHost(next http.Handler) http.Handler {
	if s.hosts == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		if !s.hosts[name] && !arrivedAt(r, name) {
			http.Error(w, "this agent does not go by the name of the Host header", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// arrivedAt tells whether a name is the address at which a request arrived. No
// page can give itself such a name.
func arrivedAt(r *http.Request, name string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return false
	}
	named, err := netip.ParseAddr(name)
	return err == nil && named.Unmap() == at.Addr().Unmap()
}
