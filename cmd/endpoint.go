package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
)

// agentURL completes the URL of an agent that a user has typed: the default scheme is
// http, the default path is that of agents.
func agentURL(text string) (string, error) {
	whole := text
	if !strings.Contains(whole, "://") {
		whole = "http://" + whole
	}
	u, err := url.Parse(whole)
	port, numeric := strconv.ParseUint(text, 10, 16)
	switch {
	case numeric == nil && port > 0:
		return "", usage("%q is not the URL of an agent (did you mean localhost:%[1]s?)", text)
	case err != nil || !protocol.ValidHTTP(whole) || u.Hostname() == "" || badPort(u.Port()):
		return "", usage("%q is not the URL of an agent: it must be one such as http://localhost:8101/mcp", text)
	case u.User != nil:
		return "", usage("%s: the URL of an agent must not contain a user name or a password", u.Redacted())
	}
	if u.Path == "" {
		u.Path = http.Path
	}
	u.Fragment = ""
	return u.String(), nil
}

func badPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port != "" && (err != nil || n == 0)
}

// A rendezvous is the address where external agents find the manager of a command.
type rendezvous struct {
	address        // with the host, after listen
	at      string // HOST:PORT
	given   bool   // --listen was given: do not use another address
}

// meetingPoint is the default address of a manager.
const meetingPoint = "localhost:8000"

// errTaken says that another program listens on a port.
var errTaken = errors.New("taken by another program")

// listen opens the address.
func (r *rendezvous) listen(ctx context.Context) (net.Listener, error) {
	if strings.HasPrefix(r.at, ":") {
		return nil, usage("--listen %q: must be a host and a port, such as %s", r.at, meetingPoint)
	}
	return r.listenOn(ctx, "listen", r.at)
}

// listenOn opens HOST:PORT, or :PORT for all addresses of this machine, which are the value of a flag.
func (a *address) listenOn(ctx context.Context, flag, at string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(at)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return nil, usage("--%s %q: must be a host and a port, such as localhost:8080", flag, at)
	}
	a.host, a.local = host, true
	l, err := listenAt(ctx, at)
	if errors.Is(err, errTaken) {
		err = fmt.Errorf("%w: choose another address with --%s", err, flag)
	}
	return l, err
}

// listenAt opens a port. The error is errTaken if another program has it.
func listenAt(ctx context.Context, hostPort string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", hostPort)
	switch {
	case errors.Is(err, transport.ErrAddressInUse):
		return nil, fmt.Errorf("%s is %w", hostPort, errTaken)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", hostPort, err)
	}
	return l, nil
}
