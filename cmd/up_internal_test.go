package cmd

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// ExecutePlanted is Execute. An agent of evenodd up panics once when it looks at its clock for the nth time. Then it has
// made a file.
func ExecutePlanted(ctx context.Context, args []string, out, err io.Writer, agent string, nth int64, file string) int {
	planted := func(name string) *protocol.Clock {
		system, looks := protocol.SystemClock(), new(atomic.Int64)
		return protocol.NewClock(func() time.Time {
			if name == agent && looks.Add(1) == nth {
				if made, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
					_ = made.Close()
					panic("planted")
				}
			}
			return system.Now()
		}, system.Sleep)
	}
	return execute(ctx, "test", args, streams{out: out, err: err, clock: planted})
}
