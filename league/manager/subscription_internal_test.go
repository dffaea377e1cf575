package manager

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// An eventfulManager is a manager that the test makes record events.
type eventfulManager struct {
	*Manager
	t *testing.T
}

// newEventfulManager makes a manager with a data folder; with "" it keeps the events in
// memory.
func newEventfulManager(t *testing.T, folder store.Folder) *eventfulManager {
	t.Helper()
	o := Options{
		LeagueID: "l", GameType: evenodd.Type, Games: rules.NewRegistry(evenodd.Game{}), Players: 2,
		Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(), Clock: protocol.SystemClock(), Log: zerolog.Nop(),
		KeepEvents: folder == "",
	}
	if folder != "" {
		files, _, err := OpenFiles(folder, "l", false, time.Now)
		require.NoError(t, err)
		t.Cleanup(func() { _ = files.Close() }) // a test may have closed them
		o.Files = files
	}
	m, err := New(o)
	require.NoError(t, err)
	return &eventfulManager{m, t}
}

// happens records events.
func (m *eventfulManager) happens(n int) {
	m.t.Helper()
	for range n {
		m.mu.Lock()
		err := m.record(&journal.TailLost{Head: "h"})
		m.mu.Unlock()
		require.NoError(m.t, err)
	}
	require.NoError(m.t, m.durable())
}

// subscribe subscribes from an event on.
func (m *eventfulManager) subscribe(from int) *Subscription {
	m.t.Helper()
	s, err := m.Subscribe(from)
	require.NoError(m.t, err)
	return s
}

// gets requires that the next events are those with the numbers from first to last.
func gets(t *testing.T, s *Subscription, first, last int) {
	t.Helper()
	for n := first; n <= last; n++ {
		require.Equal(t, n, s.Position())
		e, err := s.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, n, e.Seq)
	}
}

// withAndWithoutFolder runs a test with both kinds of managers.
func withAndWithoutFolder(t *testing.T, test func(t *testing.T, m *eventfulManager)) {
	t.Run("data folder", func(t *testing.T) {
		test(t, newEventfulManager(t, store.Folder(filepath.Join(t.TempDir(), "data"))))
	})
	t.Run("memory", func(t *testing.T) { test(t, newEventfulManager(t, "")) })
}

func TestSubscriptionBeginsAtItsPosition(t *testing.T) {
	withAndWithoutFolder(t, func(t *testing.T, m *eventfulManager) {
		m.happens(199) // after the event created
		for _, tt := range []struct {
			name        string
			from, first int // first 0: refused
		}{
			{"the first event", 1, 1},
			{"an event in the middle", 100, 100},
			{"the last event", 200, 200},
			{"the next event", 201, 201},
			{"new events only", 0, 201},
			{"a negative number", -5, 201},
			{"an event that follows none", 202, 0},
		} {
			s, err := m.Subscribe(tt.from)
			if tt.first == 0 {
				assert.ErrorContains(t, err, "there is no event 202: the league has 200", tt.name)
				continue
			}
			require.NoError(t, err, tt.name)
			gets(t, s, tt.first, 200)
			nothing, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = s.Next(nothing)
			require.ErrorIs(t, err, context.Canceled, tt.name)
			assert.Equal(t, 201, s.Position(), tt.name)
		}
	})
}

func TestStalledSubscriberIsDroppedAndResumes(t *testing.T) {
	withAndWithoutFolder(t, func(t *testing.T, m *eventfulManager) {
		s := m.subscribe(1)
		gets(t, s, 1, 1)
		nothing, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Next(nothing)
		require.ErrorIs(t, err, context.Canceled)
		m.happens(maxBehind) // it has not seen that there are no more: it is not live yet
		gets(t, s, 2, maxBehind+1)

		waiting := make(chan *journal.Event)
		go func() {
			e, _ := s.Next(t.Context())
			waiting <- e
		}()
		m.happens(1)
		require.Equal(t, maxBehind+2, (<-waiting).Seq)
		s.live = true              // whether Next waited depends on the scheduler
		m.happens(maxBehind + 500) // returns although the subscriber reads nothing
		for range 2 {
			_, err = s.Next(t.Context())
			require.ErrorIs(t, err, ErrSlow)
		}
		require.Equal(t, maxBehind+3, s.Position())
		gets(t, m.subscribe(s.Position()), maxBehind+3, 2*maxBehind+502)
	})
}

func TestSubscriptionContinuesAfterARestart(t *testing.T) {
	folder := store.Folder(filepath.Join(t.TempDir(), "data"))
	m := newEventfulManager(t, folder)
	m.happens(9)
	s := m.subscribe(1)
	gets(t, s, 1, 4)
	live := m.subscribe(11)
	require.NoError(t, m.options.Files.Close())
	_, err := live.Next(t.Context())
	require.ErrorContains(t, err, "the journal is closed")

	again := newEventfulManager(t, folder)
	again.happens(5)
	gets(t, again.subscribe(s.Position()), 5, 15)
	gets(t, again.subscribe(1), 1, 15)
	_, err = again.Subscribe(99)
	require.Error(t, err)
}

func TestLeagueWithoutEventsRefusesSubscribers(t *testing.T) {
	m := newEventfulManager(t, "")
	m.kept = nil // as without Options.KeepEvents
	m.happens(3)
	_, err := m.Subscribe(1)
	require.ErrorIs(t, err, errNoEvents)
}

// Many subscribers read while events are recorded: each gets all of them in order.
func TestSubscribersReadWhileEventsAreRecorded(t *testing.T) {
	withAndWithoutFolder(t, func(t *testing.T, m *eventfulManager) {
		const events, readers = 500, 8
		m.happens(1)
		var reading sync.WaitGroup
		for i := range readers {
			reading.Go(func() {
				from := 1 + i%2
				s, err := m.Subscribe(from)
				for n := from; err == nil && n <= events; n++ {
					var e *journal.Event
					if e, err = s.Next(t.Context()); err == nil && e.Seq != n {
						t.Errorf("event %d follows event %d", e.Seq, n-1)
					}
				}
				assert.NoError(t, err)
			})
		}
		m.happens(events - 2)
		reading.Wait()
	})
}

func TestReadReturnsWhatExistsWithoutWaiting(t *testing.T) {
	withAndWithoutFolder(t, func(t *testing.T, m *eventfulManager) {
		m.happens(1)
		s := m.subscribe(1)
		first, err := s.Read()
		require.NoError(t, err)
		require.NotEmpty(t, first)
		none, err := s.Read()
		require.NoError(t, err)
		assert.Empty(t, none)
		m.happens(2)
		require.NoError(t, s.Wait(t.Context()))
		both, err := s.Read()
		require.NoError(t, err)
		require.Len(t, both, 2)
		assert.Equal(t, first[len(first)-1].Seq+1, both[0].Seq)
		assert.Equal(t, both[1].Seq+1, s.Position())
		ended, end := context.WithCancel(t.Context())
		end()
		assert.ErrorIs(t, s.Wait(ended), context.Canceled)
	})
}
