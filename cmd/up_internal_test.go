package cmd

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// ExecutePlanted is Execute. An agent of evenodd up panics when it looks at its clock for the nth time, unless a file
// is there, which it makes; with "-" for the file it panics each time that it has begun.
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

// ExecuteAt is Execute on a computer whose clock shows a time now, in the zone of that time; "" for the right time.
func ExecuteAt(ctx context.Context, now string, args []string, out, err io.Writer) int {
	at, wrong := time.Parse(time.RFC3339, now)
	if wrong != nil {
		return Execute(ctx, "test", args, out, err)
	}
	system, begun := protocol.SystemClock(), time.Now()
	clock := protocol.NewClock(func() time.Time { return at.Add(time.Since(begun)) }, system.Sleep)
	return execute(ctx, "test", args, streams{out: out, err: err,
		clock: func(string) *protocol.Clock { return clock }})
}

// Agents may register before the view of the terminal has begun.
func TestViewTellsWhatHasHappenedSinceItsParentBegan(t *testing.T) {
	for _, tt := range []struct {
		began int // the year
		tells bool
	}{{2000, true}, {2100, false}} {
		p := &upParent{upOptions: &upOptions{shows: true}, streams: streams{out: io.Discard, err: io.Discard}}
		p.data, p.LeagueID = "../testdata/leagues/finished", "league_2025_even_odd"
		v := p.view(t.Context(), time.Date(tt.began, 1, 1, 0, 0, 0, 0, time.UTC))
		require.NotNil(t, v.from)
		assert.Equal(t, tt.tells, len(v.lines) > 0, "%q", v.lines)
		if tt.tells {
			assert.Contains(t, v.lines[0], "registered as a")
		}
		v.from.Close()
	}
}
