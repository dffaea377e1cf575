package membership

import (
	"context"
	"time"

	"evenodd/league/protocol"
)

// pingLimit is how long a manager that is there takes to answer a ping, at
// most.
const pingLimit = 5 * time.Second

// Watch pings the manager every so often until ctx ends, and tells once when it
// is away, with the reason, and once when it is back. Whatever it answers, it
// is there. Agents need not know: they wait for the manager's calls, and insist
// on their own. It is the people who look at them that want to be told.
func Watch(ctx context.Context, clock *protocol.Clock, caller protocol.Caller, manager string, every time.Duration, told func(away bool, err error)) {
	away := false
	for clock.Sleep(ctx, every) == nil {
		err := ping(ctx, caller, manager)
		if ctx.Err() != nil {
			return
		}
		if e := protocol.AsError(err); e != nil && e.Remote {
			err = nil
		}
		if (err != nil) != away {
			away = !away
			told(away, err)
		}
	}
}

func ping(ctx context.Context, caller protocol.Caller, manager string) error {
	limited := protocol.Limit(ctx, pingLimit)
	defer limited.Stop()
	_, err := protocol.Ping.Call(limited, caller, protocol.Peer{Endpoint: manager}, &protocol.ToolRequest{})
	return err
}
