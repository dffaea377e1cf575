package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/http"
)

// Sizes of messages (002 §14.1).
const (
	maxRequest       = 10 << 10 // what manager and referee take from strangers
	maxReply         = 64 << 10 // what manager and referee read of an answer
	maxFromManager   = 1 << 20  // what agents take from their manager
	shutdownPatience = 5 * time.Second
)

// games are the games this program knows.
func games() rules.Registry { return rules.NewRegistry(evenodd.Game{}) }

// address is where an agent listens, and what it tells others.
type address struct {
	host     string
	port     int
	endpoint string // "" to make it from host and port
}

// listen opens the port.
func (a *address) listen(ctx context.Context) (net.Listener, error) {
	if a.port < 0 || a.port > 65535 {
		return nil, usage("--port %d: 0 to 65535", a.port)
	}
	if a.endpoint != "" {
		if !httpURL(a.endpoint) {
			return nil, usage("--endpoint %q: a URL such as http://my-host:8101/mcp", a.endpoint)
		}
	} else if ip := net.ParseIP(a.host); a.host == "" || ip != nil && ip.IsUnspecified() {
		return nil, usage("--host %q listens everywhere: tell with --endpoint under which URL others reach it", a.host)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(a.host, strconv.Itoa(a.port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is taken by another program: choose another with --port, or 0 for a free one", a.port)
	case err != nil:
		return nil, fmt.Errorf("cannot listen at %s port %d: %w", a.host, a.port, err)
	}
	if a.endpoint == "" {
		port := l.Addr().(*net.TCPAddr).Port
		a.endpoint = "http://" + net.JoinHostPort(a.host, strconv.Itoa(port)) + http.Path
	}
	return l, nil
}

// httpURL tells whether s is a URL that agents can be called at.
func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && protocol.ValidURL(s) && (u.Scheme == "http" || u.Scheme == "https")
}

// serve answers calls on l in the background until the returned function is
// called, which lets running calls end.
func serve(l net.Listener, mux *transport.Mux, voice func() *protocol.Voice, c http.Config) (stop func()) {
	c.TooLarge = func(limit int64) error { return protocol.TooLarge(voice(), limit) }
	server := http.NewServer(mux, c)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // ends by Shutdown
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
		defer cancel()
		_ = server.Shutdown(ctx) // what is still running then is broken off
		serving.Wait()
	}
}

// agentFlags are the flags that referee and player have in common.
func agentFlags(f *pflag.FlagSet, manager, name, id, leagueID, logLevel *string) {
	f.StringVar(manager, "manager", "http://localhost:8000"+http.Path, "`URL` of the league manager")
	f.StringVar(name, "name", "", "display name, 1 to 50 characters (default: made of the port)")
	f.StringVar(id, "id", "", "identifier to ask for, such as P01 or REF01")
	f.StringVar(leagueID, "league-id", "", "join only this league")
	f.StringVar(logLevel, "log-level", "info", "debug, info, warn, error or disabled")
}

// defaultName is a name that no other agent of this machine has.
func defaultName(name, role string, l net.Listener) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("%s %d", role, l.Addr().(*net.TCPAddr).Port)
}

// An agent is a player or a referee, as far as the command line drives it.
type agent interface {
	Register(ctx context.Context) error
	Done() <-chan struct{}
	Voice() *protocol.Voice
}

// senderOf is the name an agent goes by, "" before there is one.
func senderOf[A interface {
	comparable
	agent
}](a A) string {
	var none A
	if a == none {
		return ""
	}
	return a.Voice().Sender()
}

// takePart registers an agent and waits until its league is over.
func takePart(ctx context.Context, a agent) error {
	err := a.Register(ctx)
	if err == nil {
		select {
		case <-a.Done():
			return nil
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return &interruptedError{"The league goes on without this agent; its open matches are lost on time."}
	}
	return err
}
