package manager

import (
	"context"
	"sync"
	"time"

	"evenodd/league/protocol"
)

// pingTimeout is how long an agent has to answer a ping.
const pingTimeout = 2 * time.Second

// ping pings an endpoint once.
func (d *directory) ping(ctx context.Context, endpoint string) (*protocol.Pong, error) {
	pong, _, err := protocol.Ping.CallWithin(ctx, d.options.Caller, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{}, pingTimeout)
	return pong, err
}

// reachable tells whether anything answers at an endpoint, even with an error.
func (d *directory) reachable(ctx context.Context, endpoint string) bool {
	_, err := d.ping(ctx, endpoint)
	return !protocol.Unreachable(err)
}

// answering tells of each agent whether it answers a ping. It pings all at once.
func (d *directory) answering(ctx context.Context, agents ...*agent) []bool {
	there := make([]bool, len(agents))
	var pinging sync.WaitGroup
	for i, a := range agents {
		pinging.Go(func() {
			_, err := d.ping(ctx, a.address())
			there[i] = answered(err)
		})
	}
	pinging.Wait()
	return there
}

// answered tells whether an agent answered a ping, with a pong or an error of its own.
func answered(err error) bool { return protocol.Answered(err) && !protocol.Vacant(err) }

// isManager tells whether a league manager answered a ping.
func isManager(pong *protocol.Pong, err error) bool {
	return err == nil && pong.Role == protocol.RoleManager
}
