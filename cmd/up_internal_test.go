package cmd

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// ExecutePlanted is Execute. An agent of evenodd up panics when it looks at its clock for the nth time, unless a file is
// there, which it makes; with "-" for the file it panics each time that it has begun.
func ExecutePlanted(ctx context.Context, args []string, out, err io.Writer, agent string, nth int64, file string) int {
	planted := func(name string) *protocol.Clock {
		system, looks := protocol.SystemClock(), new(atomic.Int64)
		return protocol.NewClock(func() time.Time {
			if name == agent && looks.Add(1) == nth {
				made, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
				_ = made.Close() // nil after an error
				if err == nil || file == "-" {
					panic("planted")
				}
			}
			return system.Now()
		}, system.Sleep)
	}
	return execute(ctx, "test", args, streams{out: out, err: err, clock: planted})
}
