package journalstream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A memoryCell is a cell whose network fails as a test says.
type memoryCell struct {
	mu       sync.Mutex
	claim    Claim
	revision uint64
	cut      map[string]bool // managers that do not reach it
	deaf     map[string]bool // managers that get no answers to writes
	late     time.Duration   // the time that a write takes
}

var errCut = errors.New("cut off")

// Read implements Cell.
func (c *memoryCell) Read(context.Context) (Claim, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claim, c.revision, nil
}

// An endOfCell is the cell as one manager reaches it.
type endOfCell struct {
	*memoryCell
	manager string
}

func (c endOfCell) is(set map[string]bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return set[c.manager]
}

func (c endOfCell) Read(ctx context.Context) (Claim, uint64, error) {
	if c.is(c.cut) {
		<-ctx.Done()
		return Claim{}, 0, errCut
	}
	return c.memoryCell.Read(ctx)
}

func (c endOfCell) Write(ctx context.Context, claim Claim, expected uint64) (revision uint64, err error) {
	if c.is(c.cut) {
		<-ctx.Done()
		return 0, errCut
	}
	c.mu.Lock()
	late := c.late
	c.mu.Unlock()
	arrived := make(chan uint64, 1) // the new revision; 0 if another one was expected
	time.AfterFunc(late, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if expected != c.revision {
			arrived <- 0
			return
		}
		c.claim, c.revision = claim, c.revision+1
		arrived <- c.revision
	})
	select {
	case revision = <-arrived:
	case <-ctx.Done(): // it arrives after the writer has given up
		return 0, errCut
	}
	if c.is(c.deaf) {
		<-ctx.Done()
		return 0, errCut
	}
	if revision == 0 {
		return 0, ErrChanged
	}
	return revision, nil
}

// A contest is some managers that want to lead one league, in virtual time.
type contest struct {
	t     *testing.T
	cell  *memoryCell
	begun time.Time
	all   sync.WaitGroup
	mu    sync.Mutex
	lost  map[string]error         // how managers ended
	spans map[string][]leadingTime // when they led
	stop  map[string]func()
	lease map[string]*Lease
}

type leadingTime struct{ from, to float64 }

func newContest(t *testing.T) *contest {
	cell := &memoryCell{cut: map[string]bool{}, deaf: map[string]bool{}}
	return &contest{t: t, cell: cell, begun: time.Now(), lost: map[string]error{},
		spans: map[string][]leadingTime{}, stop: map[string]func(){}, lease: map[string]*Lease{}}
}

// enter starts a manager. Its digests are those of a roster.
func (c *contest) enter(manager, roster string, standby bool) {
	ctx, cancel := context.WithCancel(c.t.Context())
	files := func() map[string]string { return map[string]string{"roster": roster} }
	l := NewLease(endOfCell{c.cell, manager}, manager, files, zerolog.Nop())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop[manager], c.lease[manager] = cancel, l
	c.all.Go(func() {
		err := l.Await(ctx, standby)
		if err == nil {
			err = l.Keep(ctx)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lost[manager] = err
	})
}

// until lets the time pass. At no moment do two managers lead.
func (c *contest) until(second float64) {
	for ; c.seconds() < second; time.Sleep(50 * time.Millisecond) {
		leading := 0
		for name, l := range c.lease {
			if !l.Holds() {
				continue
			}
			leading++
			spans := c.spans[name]
			if n := len(spans); n > 0 && c.seconds()-spans[n-1].to < 0.07 {
				spans[n-1].to = c.seconds()
			} else {
				c.spans[name] = append(spans, leadingTime{c.seconds(), c.seconds()})
			}
		}
		require.LessOrEqual(c.t, leading, 1, "at %v s", c.seconds())
	}
}

func (c *contest) seconds() float64 { return time.Since(c.begun).Seconds() }

// change changes the cell while managers use it.
func (c *contest) change(change func(*memoryCell)) {
	c.cell.mu.Lock()
	defer c.cell.mu.Unlock()
	change(c.cell)
}

func (c *contest) term() int {
	claim, _, _ := c.cell.Read(c.t.Context()) // never fails
	return claim.Term
}

// cutOff cuts a manager off between two moments.
func (c *contest) cutOff(manager string, from, to float64) {
	c.until(from)
	c.set(c.cell.cut, manager, true)
	c.until(to)
	c.set(c.cell.cut, manager, false)
}

// giveUp stops a manager, which then gives up its lease.
func (c *contest) giveUp(manager string) {
	c.stop[manager]()
	synctest.Wait()
	require.NoError(c.t, c.lease[manager].Release(c.t.Context()))
}

func (c *contest) set(of map[string]bool, manager string, value bool) {
	c.change(func(*memoryCell) { of[manager] = value })
}

func TestPartsOfDigestsAreNamed(t *testing.T) {
	assert.Equal(t, " (legs, players)", partsIn("id=1 legs=2 players=4", "id=1 players=5"))
	assert.Empty(t, partsIn("0a1b", "2c3d"), "digests of a whole")
}

func TestLeaseHasOneLeaderAtATime(t *testing.T) {
	lostTo := func(t *testing.T, err error, manager string) {
		t.Helper()
		var lost *LostError
		require.ErrorAs(t, err, &lost)
		assert.Equal(t, manager, lost.Leader.Manager)
	}
	for name, tt := range map[string]struct {
		play func(c *contest)
		want map[string][]leadingTime // to within 1.2 s
		more func(t *testing.T, c *contest)
	}{
		"leader dies": {
			play: func(c *contest) { c.until(20.3); c.stop["A"]() },
			want: map[string][]leadingTime{"A": {{0, 26.5}}, "B": {{29.8, 60}}},
			more: func(t *testing.T, c *contest) { assert.Equal(t, 2, c.term()) },
		},
		"leader gives up": {
			play: func(c *contest) { c.until(20.3); c.giveUp("A") },
			want: map[string][]leadingTime{"A": {{0, 20.3}}, "B": {{20.5, 60}}},
		},
		"leader gives up while a renewal is under way": {
			play: func(c *contest) {
				c.until(19.5)
				c.change(func(m *memoryCell) { m.late = 500 * time.Millisecond })
				c.until(20.3)
				c.giveUp("A")
			},
			want: map[string][]leadingTime{"A": {{0, 20.3}}, "B": {{21.8, 60}}},
		},
		"leader is cut off": {
			play: func(c *contest) { c.cutOff("A", 20.3, 40) },
			want: map[string][]leadingTime{"A": {{0, 26.5}}, "B": {{29.8, 60}}},
			more: func(t *testing.T, c *contest) { lostTo(t, c.lost["A"], "B") },
		},
		"leader is cut off for a short time": {
			play: func(c *contest) { c.cutOff("A", 20.3, 24) },
			want: map[string][]leadingTime{"A": {{0, 60}}},
		},
		"leader is cut off until just before the takeover": {
			play: func(c *contest) { c.cutOff("A", 20.3, 27.9) },
			want: map[string][]leadingTime{"A": {{0, 27}, {28.9, 60}}},
		},
		"answers to renewals are lost": {
			play: func(c *contest) { c.until(20.3); c.set(c.cell.deaf, "A", true) },
			want: map[string][]leadingTime{"A": {{0, 60}}},
		},
		"answer to the takeover is lost": {
			play: func(c *contest) {
				c.until(20.3)
				c.set(c.cell.deaf, "B", true)
				c.stop["A"]()
				c.until(32)
				c.set(c.cell.deaf, "B", false)
			},
			want: map[string][]leadingTime{"A": {{0, 26.5}}, "B": {{32.4, 60}}},
		},
		"renewals arrive after their time": {
			play: func(c *contest) {
				c.until(20.3)
				c.change(func(m *memoryCell) { m.late = 2500 * time.Millisecond })
				c.until(40.3)
				c.change(func(m *memoryCell) { m.late = 0 })
			},
			want: map[string][]leadingTime{"A": {{0, 26.5}, {41.5, 60}}},
		},
		"standby with another roster": {
			play: func(c *contest) {
				c.until(20.3)
				c.enter("C", "other", true)
				c.stop["B"]()
				c.until(25)
				c.stop["A"]()
			},
			want: map[string][]leadingTime{"A": {{0, 31.5}}},
			more: func(t *testing.T, c *contest) {
				leader, differ := c.lease["C"].Leader()
				assert.Equal(t, "A", leader.Manager)
				assert.Equal(t, []string{"roster"}, differ)
			},
		},
		"second manager that is no standby": {
			play: func(c *contest) { c.until(20.3); c.enter("C", "other", false) },
			want: map[string][]leadingTime{"A": {{0, 60}}},
			more: func(t *testing.T, c *contest) { lostTo(t, c.lost["C"], "A") },
		},
		"manager without standby follows one that died": {
			play: func(c *contest) {
				c.stop["B"]()
				c.until(20.3)
				c.stop["A"]()
				c.until(21)
				c.enter("C", "other", false)
			},
			want: map[string][]leadingTime{"A": {{0, 26.5}}, "C": {{31, 60}}},
		},
		"two standbys": {
			play: func(c *contest) {
				c.until(19)
				c.enter("C", "same", true)
				c.until(20.3)
				c.stop["A"]()
				c.until(40)
				c.stop["B"]()
				c.stop["C"]()
			},
			more: func(t *testing.T, c *contest) {
				assert.Len(t, c.spans, 2, "A and one of the standbys")
				assert.Equal(t, 2, c.term())
			},
		},
		"key is deleted": {
			play: func(c *contest) {
				c.until(20.3)
				c.change(func(m *memoryCell) { m.claim, m.revision = Claim{}, 0 })
			},
			want: map[string][]leadingTime{"A": {{0, 60}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newContest(t)
				c.enter("A", "same", true)
				synctest.Wait()
				c.enter("B", "same", true)
				tt.play(c)
				c.until(60)
				for manager, spans := range tt.want {
					require.Len(t, c.spans[manager], len(spans), "%s: %v", manager, c.spans)
					for i, span := range spans {
						assert.InDelta(t, span.from, c.spans[manager][i].from, 1.2, "%s: %v", manager, c.spans)
						assert.InDelta(t, span.to, c.spans[manager][i].to, 1.2, "%s: %v", manager, c.spans)
					}
				}
				if tt.want != nil {
					assert.Len(t, c.spans, len(tt.want), "%v", c.spans)
				}
				for _, stop := range c.stop {
					stop()
				}
				c.all.Wait()
				if tt.more != nil {
					tt.more(t, c)
				}
			})
		})
	}
}
