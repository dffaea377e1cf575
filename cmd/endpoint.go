package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenodd/league/protocol"
	"evenodd/transport/http"
)

// agentURL is the URL of an agent as people write it: a bare host:port is one of
// plain HTTP, and one without a path means the path where agents listen.
func agentURL(text string) (string, error) {
	whole := text
	if !strings.Contains(whole, "://") {
		whole = "http://" + whole
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil || !httpURL(whole) || u.Hostname() == "" || badPort(u.Port()):
		return "", usage("%q is no URL of an agent: write one such as http://localhost:8101/mcp", text)
	case u.User != nil:
		return "", usage("%s: a name and a password have no place in the URL of an agent", u.Redacted())
	}
	if u.Path == "" {
		u.Path = http.Path
	}
	u.Fragment = ""
	return u.String(), nil
}

func badPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port != "" && (err != nil || n < 1 || n > 65535)
}

// A rendezvous is where agents that run elsewhere find the manager that a
// command has for them.
type rendezvous struct {
	at    string // HOST:PORT
	given bool   // by the user, who wants no other
}

// meetingPoint is where agents look for their manager unless they are told
// otherwise (003 §1.3).
const meetingPoint = "localhost:8000"

// errTaken says that a port is another program's.
var errTaken = errors.New("taken by another program")

// listen opens it.
func (r rendezvous) listen(ctx context.Context) (net.Listener, error) {
	host, port, err := net.SplitHostPort(r.at)
	if n, bad := strconv.Atoi(port); err != nil || host == "" || bad != nil || n < 0 || n > 65535 {
		return nil, usage("--listen %q: a host and a port, such as %s", r.at, meetingPoint)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.at)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is %w: choose another place with --listen", r.at, errTaken)
	case err != nil:
		return nil, fmt.Errorf("cannot listen at %s: %w", r.at, err)
	}
	return l, nil
}

// host is the name in it, once it was opened.
func (r rendezvous) host() string {
	host, _, _ := net.SplitHostPort(r.at) // listen has checked
	return host
}

// url is where agents call who listens there.
func (r rendezvous) url(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // of TCP
	return "http://" + net.JoinHostPort(r.host(), port) + http.Path
}

// knocks tries until somebody listens at a URL, ctx ends, or somebody has come;
// the error is that of the last try.
func knocks(ctx context.Context, at string, come <-chan struct{}) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	const pause = 100 * time.Millisecond
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		c, failed := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", protocol.HostPort(u))
		if failed == nil {
			return c.Close()
		}
		if ctx.Err() == nil || err == nil {
			err = failed
		}
		select {
		case <-come:
			return nil
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}
