package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/manager"
	"evenodd/league/protocol"
)

// A host runs an agent beside others in its process. The methods of a nil host are those of a process with the agents
// of one command line: there, a panic ends the process.
type host struct {
	clock  *protocol.Clock         // of the agent
	broken context.CancelCauseFunc // ends the agent after a panic
	opened func(opening)           // is told that the agent listens
	game   *userGame               // that all agents share; nil for none
	hasty  bool                    // running matches do not end first: a person would have to end them
}

// hasGame tells whether the host has a game that is a program.
func (h *host) hasGame() bool { return h != nil && h.game != nil }

// An opening tells where an agent listens. A manager has more to tell than its port.
type opening struct {
	port   string                // "" without an HTTP server
	url    string                // for agents on other computers
	local  string                // for agents on this computer; "" without an HTTP server
	page   string                // URL for browsers; "" for none
	shown  string                // URL for agents as the page shows it; "" without a page
	over   bool                  // the league was over before
	status func() manager.Status // of the league
}

// time is the clock of the agent, in a process with one agent that of the command.
func (h *host) time(s streams) *protocol.Clock {
	if h == nil {
		return s.time()
	}
	return h.clock
}

// patience is how long an agent that is told to stop lets running matches continue.
func (h *host) patience() time.Duration {
	if h != nil && h.hasty {
		return 100 * time.Millisecond
	}
	return stopPatience
}

// guard returns the guard of the agent with a log. A panic ends the agent, and not the process.
func (h *host) guard(log zerolog.Logger) protocol.Guard {
	if h == nil {
		return nil
	}
	var once sync.Once // a panic that goes on comes again
	return func(reason any, stack []byte) {
		h.broken(&brokenError{reason})
		once.Do(func() {
			log.Error().Str("panic", fmt.Sprint(reason)).Bytes("stack", stack).Str("event_type", "AGENT_PANICKED").
				Msg("the agent panicked; it ends, and begins again from its folder")
		})
	}
}

// listens tells the host that the agent listens; l is nil without an HTTP server.
func (h *host) listens(l net.Listener, o opening) {
	if h == nil {
		return
	}
	if l != nil {
		o.port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	h.opened(o)
}

// A brokenError is the end of an agent that has panicked.
type brokenError struct{ reason any }

func (e *brokenError) Error() string { return fmt.Sprintf("panic: %v", e.reason) }

// brokenBy returns the panic that has ended the context of an agent; nil for none.
func brokenBy(ctx context.Context) error {
	if broken, ok := errors.AsType[*brokenError](context.Cause(ctx)); ok {
		return broken
	}
	return nil
}
