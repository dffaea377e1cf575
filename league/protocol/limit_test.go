package protocol_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// A step is something that happens to a context, or is asked of it.
type step func(t *testing.T, c *contender)

// A contender is a context of one second under test.
type contender struct {
	context.Context
	stop         func()
	cancelParent func()
	child        context.Context
}

func pass(d time.Duration) step {
	return func(*testing.T, *contender) { <-time.After(d); synctest.Wait() }
}
func stop(_ *testing.T, c *contender)         { c.stop(); synctest.Wait() }
func cancelParent(_ *testing.T, c *contender) { c.cancelParent(); synctest.Wait() }
func askDone(_ *testing.T, c *contender)      { _ = c.Done() }
func askErr(_ *testing.T, c *contender)       { _ = c.Err() }
func derive(t *testing.T, c *contender) {
	child, cancel := context.WithCancel(c)
	t.Cleanup(cancel)
	c.child = child
	synctest.Wait()
}

// ended is what a context says of its end.
type ended struct {
	err, child error
	done       bool
	deadline   time.Duration // from the start
}

func look(c *contender, start time.Time) ended {
	deadline, _ := c.Deadline()
	e := ended{err: c.Err(), deadline: deadline.Sub(start)}
	select {
	case <-c.Done():
		e.done = true
	default:
	}
	if c.child != nil {
		e.child = c.child.Err()
	}
	return e
}

// TestLimitIsAContextWithTimeout: the same story told of both ends alike.
func TestLimitIsAContextWithTimeout(t *testing.T) {
	const short, long = 500 * time.Millisecond, 2 * time.Second
	tests := []struct {
		name   string
		parent time.Duration // the parent's own limit; 0: none
		story  []step
		want   error
	}{
		{"nothing happens", 0, nil, nil},
		{"not yet", 0, []step{pass(999 * time.Millisecond)}, nil},
		{"time is up", 0, []step{pass(time.Second)}, context.DeadlineExceeded},
		{"time is up while somebody waits", 0, []step{askDone, pass(time.Second)}, context.DeadlineExceeded},
		{"stopped", 0, []step{stop}, context.Canceled},
		{"stopped while somebody waits", 0, []step{askDone, stop}, context.Canceled},
		{"stopped twice", 0, []step{stop, stop}, context.Canceled},
		{"stopped after its time", 0, []step{pass(long), stop}, context.DeadlineExceeded},
		{"stopped after its time, which was seen", 0, []step{pass(long), askErr, stop}, context.DeadlineExceeded},
		{"stopped after its time, while somebody waits", 0, []step{askDone, pass(long), stop}, context.DeadlineExceeded},
		{"stopped, then its time comes", 0, []step{stop, pass(long)}, context.Canceled},
		{"stopped, then its time comes, then somebody waits", 0, []step{stop, pass(long), askDone}, context.Canceled},
		{"the parent ends", 0, []step{cancelParent}, context.Canceled},
		{"the parent ends while somebody waits", 0, []step{askDone, cancelParent}, context.Canceled},
		{"the parent ends after its time, which was seen", 0, []step{pass(long), askErr, cancelParent}, context.DeadlineExceeded},
		{"the parent ends after its time, while somebody waits", 0, []step{askDone, pass(long), cancelParent}, context.DeadlineExceeded},
		{"the parent ends after a stop", 0, []step{stop, cancelParent}, context.Canceled},
		{"the parent has less time", short, []step{pass(short)}, context.DeadlineExceeded},
		{"the parent has less time, and somebody waits", short, []step{askDone, pass(short)}, context.DeadlineExceeded},
		{"stopped, then the parent's time comes", short, []step{stop, pass(short)}, context.Canceled},
		{"the parent has more time", long, []step{pass(time.Second)}, context.DeadlineExceeded},
		{"a child, and time is up", 0, []step{derive, pass(time.Second)}, context.DeadlineExceeded},
		{"a child, and it is stopped", 0, []step{derive, stop}, context.Canceled},
		{"a child, and the parent ends", 0, []step{derive, cancelParent}, context.Canceled},
		{"a child of what has ended", 0, []step{pass(long), derive}, context.DeadlineExceeded},
		{"a child of what was stopped", 0, []step{stop, derive}, context.Canceled},
	}
	kinds := map[string]func(context.Context) (context.Context, func()){
		"context.WithTimeout": func(parent context.Context) (context.Context, func()) {
			c, cancel := context.WithTimeout(parent, time.Second)
			return c, cancel
		},
		"protocol.Limit": func(parent context.Context) (context.Context, func()) {
			l := protocol.Limit(parent, time.Second)
			return l, l.Stop
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := map[string]ended{}
			for kind, make := range kinds {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					parent, cancel := context.WithCancel(context.Background())
					defer cancel()
					if test.parent > 0 {
						parent, cancel = context.WithTimeout(parent, test.parent)
						defer cancel()
					}
					c := &contender{cancelParent: cancel}
					c.Context, c.stop = make(parent)
					defer c.stop()
					for _, s := range test.story {
						s(t, c)
					}
					seen[kind] = look(c, start)
				})
			}
			assert.Equal(t, seen["context.WithTimeout"], seen["protocol.Limit"])
			assert.Equal(t, test.want, seen["protocol.Limit"].err)
		})
	}
}

func TestLimitTellsItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(context.WithValue(context.Background(), "key", "value")) //nolint:staticcheck // a test
		l := protocol.Limit(parent, time.Second)
		ended, deadline := l.Limit()
		assert.Equal(t, time.Now().Add(time.Second), deadline)
		assert.Equal(t, "value", l.Value("key"))
		select {
		case <-ended:
			assert.Fail(t, "the parent has not ended")
		default:
		}
		cancel()
		<-ended

		short, stopShort := context.WithTimeout(context.Background(), time.Millisecond)
		defer stopShort()
		_, deadline = protocol.Limit(short, time.Second).Limit()
		assert.Equal(t, time.Now().Add(time.Millisecond), deadline)
	})
}

// TestLimitLeavesNobodyBehind: once stopped, nothing of it runs any more. The
// bubble of synctest fails when a goroutine outlives it.
func TestLimitLeavesNobodyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := protocol.Limit(context.Background(), time.Hour)
		children := make([]context.Context, 10)
		for i := range children {
			child, cancel := context.WithTimeout(l, time.Minute)
			defer cancel()
			children[i] = child
		}
		l.Stop()
		synctest.Wait()
		for _, c := range children {
			require.ErrorIs(t, c.Err(), context.Canceled)
		}
	})
}

func TestLimitIsSharedByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := protocol.Limit(context.Background(), time.Second)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				switch i % 4 {
				case 0:
					<-l.Done()
					assert.Error(t, l.Err())
				case 1:
					_ = l.Err()
				case 2:
					_, ok := l.Deadline()
					assert.True(t, ok)
				default:
					<-time.After(time.Duration(i) * 10 * time.Millisecond)
					l.Stop()
				}
			})
		}
		all.Wait()
		assert.ErrorIs(t, l.Err(), context.Canceled)
	})
}

func TestLimitIsCheap(t *testing.T) {
	parent := context.Background()
	allocations := testing.AllocsPerRun(100, func() {
		l := protocol.Limit(parent, time.Hour)
		_ = l.Err()
		_, _ = l.Limit()
		l.Stop()
	})
	assert.LessOrEqual(t, allocations, 1.0)
}
