package cmd

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"evenodd/league/protocol"
	"evenodd/transport/http"
)

// managerURL completes the URL of a manager that a person has typed or copied from a browser. The default scheme is
// http, the default port that of managers, and the path of a page of the league becomes that of calls: HOST, HOST:8000,
// http://HOST:8000/ and http://HOST:8000/matches/R1M1 are http://HOST:8000/mcp. A base path before a page stays, as
// does any other path, which a third-party manager may have. What names the text in errors, such as --manager.
func managerURL(what, text string) (string, error) {
	t := typedURL{what, "a league manager", "http://localhost:8000/", strconv.Itoa(managerPort), pageNames()}
	return t.complete(text)
}

// agentURL completes the URL of an agent that a person has typed: the default scheme is http, the default path is that
// of agents.
func agentURL(text string) (string, error) {
	t := typedURL{"", "an agent", "http://localhost:8101/mcp", "", nil}
	return t.complete(text)
}

// pageNames are the first elements of the paths of pages and probes.
func pageNames() []string {
	return []string{"agents", "assets", "cross", "events", "healthz", "leagues", "livez", "matches", "metrics", "play",
		"players", "readyz", "statistics"}
}

// A typedURL is how the URL of an agent is completed.
type typedURL struct {
	what    string   // the flag, for errors; "" for none
	who     string   // whose URL it is, for errors
	example string   // for errors
	port    string   // of an address without scheme and port; "" for that of http
	pages   []string // first elements of the paths of its pages; nil for an agent without pages
}

func (t *typedURL) refuse(text, why string) error {
	if t.what != "" {
		return usage("%s %.200q is not the URL of %s%s", t.what, text, t.who, why)
	}
	return usage("%.200q is not the URL of %s%s", text, t.who, why)
}

// complete returns the URL for calls.
func (t *typedURL) complete(text string) (string, error) {
	text = strings.TrimSpace(text)
	scheme, _, found := strings.Cut(text, "://")
	whole, bare := text, !found || strings.ContainsAny(scheme, "./?#@:") // the scheme of another URL in this one
	if bare {
		whole = "http://" + text
	}
	host, _, _ := strings.Cut(text, "/")
	first, _, _ := strings.Cut(host, ":")
	port := strings.TrimPrefix(host, ":")
	switch {
	case bare && port != "" && strings.Trim(port, "0123456789") == "" && !badPort(port):
		return "", t.refuse(text, " (did you mean localhost:"+port+"?)")
	case bare && strings.Count(host, ":") > 1 && !strings.ContainsAny(host, "[@"):
		return "", t.refuse(text, ": write an IPv6 address in brackets, such as [2001:db8::7]:8000")
	case bare && (strings.EqualFold(first, "http") || strings.EqualFold(first, "https")): // http:/HOST
		return "", t.refuse(text, ": it must be one such as "+t.example)
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil, !protocol.ValidHTTP(whole), badPort(u.Port()):
		return "", t.refuse(text, ": it must be one such as "+t.example)
	case u.User != nil:
		return "", usage("%s: the URL of %s must not contain a user name or a password", u.Redacted(), t.who)
	}
	u.Host, u.Fragment, u.RawFragment = strings.TrimSuffix(strings.ToLower(u.Host), ":"), "", ""
	if bare && u.Port() == "" && t.port != "" {
		u.Host += ":" + t.port
	}
	if path := t.callPath(u.Path); path != u.Path {
		u.Path, u.RawPath, u.RawQuery, u.ForceQuery = path, "", "", false // the query was that of the page
	}
	return u.String(), nil
}

// callPath is the path of calls by a path that was typed.
func (t *typedURL) callPath(path string) string {
	before := strings.TrimRight(path, "/")
	if strings.HasSuffix(strings.ToLower(before), http.Path) {
		return path
	}
	elements := strings.Split(path, "/")
	if page := slices.IndexFunc(elements, func(e string) bool { return slices.Contains(t.pages, e) }); page > 0 {
		return strings.TrimRight(strings.Join(elements[:page], "/"), "/") + http.Path
	}
	if before == "" || t.pages != nil && before != path {
		return before + http.Path
	}
	return path
}

func badPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port != "" && (err != nil || n == 0)
}
