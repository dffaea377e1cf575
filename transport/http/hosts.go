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

// forThisHost refuses requests that are meant for another host. One that names
// an address is meant for whoever it arrived at: a page can bend only names. And
// behind a port that is passed on, as into a container, the address that others
// know is not the one that the server has.
func (s *Server) forThisHost(next http.Handler) http.Handler {
	if s.hosts == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := hostName(r.Host); !s.hosts[name] && !isAddress(name) {
			http.Error(w, "this agent does not go by the name of the Host header; its operator can allow it by --allowed-host",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}
