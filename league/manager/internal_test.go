package manager

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// full is a manager whose start is decided, because enough agents have answered, but whose
// Run has not recorded the start yet.
func full(t *testing.T) *eventfulManager {
	t.Helper()
	m := newEventfulManager(t, store.Folder{})
	for i, role := range []string{protocol.RoleReferee, protocol.RolePlayer, protocol.RolePlayer} {
		admitted, err := m.register(&decide.Applicant{AgentRegistered: journal.AgentRegistered{
			Role: role, DisplayName: fmt.Sprintf("Agent %d", i), Endpoint: fmt.Sprintf("http://agent%d/mcp", i), Registration: fmt.Sprint(i),
			Capacity: 1, GameTypes: []string{evenodd.Type},
		}})
		require.NoError(t, err)
		require.True(t, m.pinged(admitted, &protocol.Pong{}, nil, new(bool), 1))
	}
	require.True(t, m.applicants.Closed)
	require.Nil(t, m.state.Started)
	return m
}

// organise sends a command with the admin token.
func (m *eventfulManager) organise(q *protocol.OrganiseRequest) error {
	q.AuthToken, q.LeagueID, q.By = m.organiser.token, "l", "A. Smith"
	_, err := m.organiseLeague(m.t.Context(), "", q)
	return err
}

// Otherwise Run would fail to record a start with one player.
func TestWithdrawalBetweenTheDecisionToStartAndTheStartComesAfterIt(t *testing.T) {
	m := full(t)
	require.NoError(t, m.organise(&protocol.OrganiseRequest{Command: protocol.CommandWithdraw, AgentID: "P02"}))
	require.NoError(t, m.start(t.Context()))
	assert.Len(t, m.players, 2)
	assert.NotNil(t, m.state.Agents["P02"].Withdrawn)
}

func TestStartThatIsDecidedCannotBePlannedForLater(t *testing.T) {
	m := full(t)
	err := m.organise(&protocol.OrganiseRequest{Command: protocol.CommandStart, StartAt: "2999-01-01T00:00:00Z"})
	require.ErrorContains(t, err, "the league has started")
	assert.Nil(t, m.state.StartPlanned)
}

// The result of an earlier attempt, or a ruling, may come after an attempt was recorded and before its referee gets it.
func TestMatchIsNotOfferedThatGotAResultMeanwhile(t *testing.T) {
	m := full(t)
	require.NoError(t, m.start(t.Context()))
	_, err := m.openRound(1)
	require.NoError(t, err)
	x := m.matches[0]
	ruled := false
	m.stamp = protocol.NewStamp(protocol.ManagerSender, protocol.NewClock(func() time.Time { // the offer gets its timestamp
		if !ruled {
			ruled = true
			require.NotNil(t, x.recorded.Attempt(1, "REF01"))
			assert.NoError(t, m.organise(&protocol.OrganiseRequest{Command: protocol.CommandRule, MatchID: "R1M1", Winner: "P01"}))
		}
		return time.Now()
	}, nil))
	m.options.Caller = noCaller{t}
	assert.Equal(t, matchOver, m.offerMatch(t.Context(), &handover{match: x, referee: m.agents["REF01"]}))
	assert.True(t, ruled)
}

// A noCaller makes no call.
type noCaller struct{ t *testing.T }

func (c noCaller) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	c.t.Errorf("a call of %s", r.Method)
	return nil, nil, context.Canceled
}

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
		Created: journal.Created{LeagueID: "l", GameType: evenodd.Type, RegistrationGrace: 30, Configuration: journal.Configuration{
			Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
			Participants: journal.Participants{Players: 2},
		}},
		Games: rules.NewRegistry(evenodd.Game{}), Clock: protocol.SystemClock(), Log: zerolog.Nop(),
		KeepEvents: folder.IsZero(),
	}
	if !folder.IsZero() {
		files, _, err := OpenFiles(folder, "l", false, nil)
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

// gets requires that the next events are those with the numbers from first to last.
func (m *eventfulManager) gets(first, last int) {
	m.t.Helper()
	for n := first; n <= last; {
		events, _, more, err := m.Events(n)
		require.NoError(m.t, err)
		require.NotEmpty(m.t, events)
		require.Nil(m.t, more)
		for _, e := range events {
			require.Equal(m.t, n, e.Seq)
			n++
		}
	}
}

func TestEventsAreReadFromAnyNumber(t *testing.T) {
	for name, folder := range map[string]store.Folder{"data folder": store.In(filepath.Join(t.TempDir(), "data")), "memory": {}} {
		t.Run(name, func(t *testing.T) {
			m := newEventfulManager(t, folder)
			m.happens(199) // after the event created
			for _, from := range []int{1, 100, 200} {
				m.gets(from, 200)
			}
			none, last, more, err := m.Events(201)
			require.NoError(t, err)
			assert.Empty(t, none)
			assert.Equal(t, 200, last)
			_, _, _, err = m.Events(202)
			require.ErrorContains(t, err, "there is no event 202: the league has 200")
			waited := make(chan struct{})
			go func() {
				<-more
				close(waited)
			}()
			m.happens(1)
			<-waited
			m.gets(201, 201)
		})
	}
}

func TestEventsContinueAfterARestart(t *testing.T) {
	folder := store.In(filepath.Join(t.TempDir(), "data"))
	m := newEventfulManager(t, folder)
	m.happens(9)
	require.NoError(t, m.options.Files.Close())
	again := newEventfulManager(t, folder)
	again.happens(5)
	again.gets(1, 15)
}

func TestLeagueWithoutEventsHasNoneToRead(t *testing.T) {
	m := newEventfulManager(t, store.Folder{})
	m.kept = nil // as without Options.KeepEvents
	m.happens(3)
	_, _, _, err := m.Events(1)
	require.ErrorIs(t, err, errNoEvents)
}

// An agent of the same process is slow only because it has no processor.
func TestBroadcastsOfASimulationWaitForItsAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, dropped := 0, 0
		a := &agent{notices: make(chan []notice, maxNotices)}
		e := roundEnd{referees: []*agent{a}, end: func(_ *agent, full bool) {
			if full {
				dropped++
			} else {
				arrived++
			}
		}}
		fill := func() {
			for range 2 * maxNotices {
				e.post()
			}
		}
		fill()
		require.Equal(t, maxNotices, dropped, "agents elsewhere")
		ctx, stop := context.WithCancel(t.Context())
		e.patience = ctx.Done()
		go fill()
		synctest.Wait()
		require.Equal(t, maxNotices, dropped)
		go a.sendNotices(ctx)
		synctest.Wait()
		assert.Equal(t, 3*maxNotices, arrived)
		assert.Equal(t, maxNotices, dropped)
		stop()
		synctest.Wait()
		fill() // nobody reads them
		assert.Equal(t, 2*maxNotices, dropped, "the league has ended")
	})
}

// No player can know before the start who is side A once more.
func TestLotOfALeagueFollowsFromTheSecretOfItsManager(t *testing.T) {
	m, lots := full(t), map[bool]int{}
	for n := range byte(32) {
		m.deriveKeys([32]byte{n})
		lots[m.drawLot()]++
	}
	assert.Len(t, lots, 2)
}
