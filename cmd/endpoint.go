package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

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
	case err != nil || !httpURL(whole) || u.Hostname() == "" || badPort(u.Port()):
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

// meetingPoint is the default address of a manager (003 §1.3).
const meetingPoint = "localhost:8000"

// errTaken says that another program listens on a port.
var errTaken = errors.New("taken by another program")

// listen opens the address.
func (r *rendezvous) listen(ctx context.Context) (net.Listener, error) {
	host, port, err := net.SplitHostPort(r.at)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil {
		return nil, usage("--listen %q: must be a host and a port, such as %s", r.at, meetingPoint)
	}
	r.host, r.local = host, true
	l, err := listenAt(ctx, r.at)
	if errors.Is(err, errTaken) {
		return nil, taken(ctx, r.at, r.at, "choose another address with --listen")
	}
	return l, err
}

// listenAt opens a port. The error is errTaken if another program has it.
func listenAt(ctx context.Context, hostPort string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", hostPort)
	return l, listenError(hostPort, err)
}

// listenError describes an error of opening a port; nil for nil.
func listenError(hostPort string, err error) error {
	dns, unresolved := errors.AsType[*net.DNSError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrAddressInUse):
		return fmt.Errorf("%s is %w", hostPort, errTaken)
	case unresolved && dns.Name == "localhost":
		return fmt.Errorf("cannot listen on %s: this system does not know localhost, which the file /etc/hosts defines: use 127.0.0.1 instead (%w)", hostPort, err)
	default:
		return fmt.Errorf("cannot listen on %s: %w", hostPort, err)
	}
}

// A takenError is errTaken with the program that listens.
type takenError struct{ text string }

func (e *takenError) Error() string        { return e.text }
func (e *takenError) Is(target error) bool { return target == errTaken }

// taken says which program listens on a port, if it is an agent of this program, and what to do.
func taken(ctx context.Context, what, hostPort, remedy string) error {
	return &takenError{fmt.Sprintf("%s is taken by %s: %s", what, listener(ctx, hostPort), remedy)}
}

// occupantPatience limits the question who listens on a port. An agent on this machine needs a
// fraction of it.
const occupantPatience = 500 * time.Millisecond

// listener describes the program that listens on a port of this machine.
func listener(ctx context.Context, hostPort string) string {
	const other = "another program"
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return other
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, occupantPatience)
	defer cancel()
	text, _ := askHealth(ctx, "http://"+net.JoinHostPort(host, port)+"/healthz", "") // other programs give none
	var health struct {
		Role     string `json:"role"`
		LeagueID string `json:"league_id"`
		AgentID  string `json:"agent_id"`
	}
	if json.Unmarshal(text, &health) != nil {
		return other
	}
	_, isReferee := protocol.ParseRefereeID(health.AgentID)
	_, isPlayer := protocol.ParsePlayerID(health.AgentID)
	switch {
	case health.Role == protocol.ManagerSender && protocol.ValidLeagueID(health.LeagueID):
		return "the manager of league " + health.LeagueID
	case health.Role == protocol.RoleReferee && isReferee, health.Role == protocol.RolePlayer && isPlayer:
		return health.Role + " " + health.AgentID
	case health.Role == protocol.RoleReferee, health.Role == protocol.RolePlayer:
		return "a " + health.Role
	}
	return other
}

// awaitListener returns when a server listens at a URL, or come is closed. When ctx
// ends, it returns the error of the last connection attempt.
func awaitListener(ctx context.Context, dial http.Dialer, at string, come <-chan struct{}) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	const pause = 100 * time.Millisecond
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		c, failed := dial(attempt, "tcp", protocol.HostPort(u))
		cancel()
		if failed == nil {
			return c.Close()
		}
		if err == nil || ctx.Err() == nil && !errors.Is(failed, context.DeadlineExceeded) { // the last attempt may have had no time
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
