package manager_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

const day = 24 * time.Hour

// startedAt is how long after the beginning of the test the league started.
func startedAt(w *leaguetest.World, state *journal.State) time.Duration {
	w.T.Helper()
	require.NotNil(w.T, state.Started)
	return w.SinceStart(state.Rounds[0].AnnouncedAt)
}

func organiser() journal.Decision {
	return journal.Decision{By: "A. Smith", Reason: "the class begins"}
}

func TestLeagueStartsAtItsTimeAcrossRestarts(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		at := w.Clock.Now().Add(3 * day)
		timed := func(o *league.Options) { o.StartAt, o.RegistrationUntil = at, at.Add(-day) }
		x := w.StartManagerIn(folder, 0, 5, timed)
		w.RefereeWithFiles("REF01", folder)
		w.Player("P01")
		assert.Equal(t, protocol.FormatTimestamp(at), x.Manager.Status().StartAt)
		assert.Equal(t, protocol.FormatTimestamp(at.Add(-day)), x.Manager.Status().RegistrationUntil)
		w.WaitUntil(day)
		x.Kill()
		w.WaitUntil(day + time.Hour)
		x = w.StartManagerIn(folder, 0, 5, timed)
		w.Player("P02")
		w.PingOnly("late")
		w.WaitUntil(2*day + time.Second)
		late := w.Application("Late")
		r, err := w.Apply(late)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLateRegistration), r.ErrorCode)
		assert.Contains(t, *r.Reason, "registration ended at "+protocol.FormatTimestamp(at.Add(-day)))
		w.WaitUntil(3*day - time.Second)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		x.Finish()
		state := x.CloseAudited()
		assert.Equal(t, 3*day, startedAt(w, state))
		assert.Equal(t, protocol.FormatTimestamp(at), state.Configuration.StartAt)
		assert.Equal(t, protocol.FormatTimestamp(at.Add(-day)), state.Configuration.RegistrationUntil)
		assert.Empty(t, x.Manager.Status().StartAt, "it has started")
	})
}

func TestLeagueStartsWhenRegistrationEnds(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1, func(o *league.Options) { o.RegistrationUntil = w.Clock.Now().Add(day) })
		w.RefereeWithFiles("REF01", folder)
		w.Players(3)
		x.Finish()
		assert.Equal(t, day, startedAt(w, x.CloseAudited()))
	})
}

func TestLeagueWithATimeInThePastStartsWithTwoPlayers(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		folder := leaguetest.TempFolder(t)
		at := w.Clock.Now().Add(time.Hour)
		x := w.StartManagerIn(folder, 0, 3, func(o *league.Options) { o.StartAt = at })
		w.RefereeWithFiles("REF01", folder)
		w.Player("P01")
		w.WaitUntil(time.Hour + time.Second)
		assert.Contains(t, log.String(), protocol.EventTooFewAtStart)
		x.Kill()
		w.WaitUntil(2 * time.Hour)
		x = w.StartManagerIn(folder, 0, 3, func(o *league.Options) { o.StartAt = at })
		w.WaitUntil(3 * time.Hour)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		w.Player("P02")
		x.Finish()
		assert.Equal(t, 3*time.Hour, startedAt(w, x.CloseAudited()))
	})
}

func TestOrganisersTimeReplacesTheManagers(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		began := w.Clock.Now()
		timed := func(o *league.Options) { o.StartAt = began.Add(time.Hour) }
		x := w.StartManagerIn(folder, 2, 1, timed)
		_, _, _, err := x.Manager.PlanStart(organiser(), began.Add(5*time.Hour))
		require.NoError(t, err)
		event, when, about, err := x.Manager.PlanStart(organiser(), began.Add(2*day))
		require.NoError(t, err)
		assert.Equal(t, 3, event)
		assert.Equal(t, protocol.FormatTimestamp(began), when)
		assert.Equal(t, "The league starts at "+protocol.FormatTimestamp(began.Add(2*day))+" with the agents that have answered then.", about)
		w.RefereeWithFiles("REF01", folder)
		w.Players(2) // as many as the manager waits for
		w.WaitUntil(day)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		assert.Equal(t, protocol.FormatTimestamp(began.Add(2*day)), x.Manager.Status().StartAt)
		x.Kill()
		x = w.StartManagerIn(folder, 2, 1, timed)
		x.Finish()
		state := x.CloseAudited()
		assert.Equal(t, 2*day, startedAt(w, state))
		assert.Equal(t, "A. Smith", state.StartPlanned.By)
	})
}

func TestOrganiserStartsTheLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1)
		_, _, _, err := x.Manager.PlanStart(organiser(), time.Time{})
		require.ErrorContains(t, err, "0 players and 0 referees have answered: a league needs 2 players and 1 referee")
		_, _, _, err = x.Manager.PlanStart(journal.Decision{}, w.Clock.Now())
		require.ErrorContains(t, err, "by")
		w.RefereeWithFiles("REF01", folder)
		w.Player("P01")
		_, _, about, err := x.Manager.PlanStart(organiser(), w.Clock.Now().Add(-time.Hour))
		require.NoError(t, err)
		assert.Equal(t, "The league starts as soon as enough players and a referee have answered.", about)
		w.WaitUntil(time.Hour)
		assert.Equal(t, decide.StateWaitingForRegistrations, x.Manager.Status().State)
		_, _, _, err = x.Manager.PlanStart(organiser(), w.Clock.Now().Add(day))
		require.NoError(t, err)
		w.Player("P02")
		synctest.Wait()
		_, _, about, err = x.Manager.PlanStart(organiser(), time.Time{})
		require.NoError(t, err)
		assert.Equal(t, "The league starts now: players 2, referees 1.", about)
		_, _, _, err = x.Manager.PlanStart(organiser(), time.Time{})
		require.ErrorContains(t, err, "the league has started")
		x.Finish()
		state := x.CloseAudited()
		assert.Equal(t, time.Hour, startedAt(w, state))
		assert.Contains(t, strings.Join(w.EventTypes(folder), " "), "start_planned started")
	})
}
