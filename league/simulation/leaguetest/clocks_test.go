package leaguetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player/strategy"
	"evenodd/rules/tictactoe"
)

// Times of a league by playSlowly, from the start of the World.
const (
	plannedStart = 6 * time.Second
	slowlyOver   = 16 * time.Second
)

// playSlowly plays a league of one match, in which each phase takes seconds, with a planned start and tokens for a day.
// The traits are those of the manager, the referee and P01.
func playSlowly(w *leaguetest.World, traits map[string][]leaguetest.Option,
	change ...func(*manager.Options)) *leaguetest.ManagerRun {
	w.T.Helper()
	folder := leaguetest.TempFolder(w.T)
	w.ManagerTraits = traits["manager"]
	x := w.StartManagerIn(folder, 0, 1, append([]func(*manager.Options){func(o *manager.Options) {
		o.StartAt = protocol.FormatTimestamp(w.Clock.Now().Add(plannedStart))
		o.MinPlayers, o.TokenTTL = 2, 24*3600
	}}, change...)...)
	w.RefereeWithFiles("REF01", folder, traits["referee"]...)
	w.Player("P01", append(slow(700*time.Millisecond), traits["player"]...)...)
	w.WaitUntil(2 * leaguetest.Second)
	w.Player("P02", slow(1500*time.Millisecond)...)
	x.Finish()
	require.NoError(w.T, x.CloseFiles())
	return x
}

// slow makes a player answer to messages of a match after a time, and twice the time before a move.
func slow(pause time.Duration) []leaguetest.Option {
	one, two := leaguetest.Delayed(pause, leaguetest.Normally), leaguetest.Delayed(2*pause, leaguetest.Normally)
	return leaguetest.Options(leaguetest.On(protocol.Invite.Name, one), leaguetest.On(protocol.ChooseParity.Name, two),
		leaguetest.On(protocol.MakeMove.Name, two), leaguetest.On(protocol.NotifyMatchResult.Name, one))
}

// checkHonest checks that no player was blamed, no report was refused, and the audit finds nothing.
func checkHonest(w *leaguetest.World, x *leaguetest.ManagerRun) {
	w.T.Helper()
	w.CheckAudited(x.Folder)
	for _, r := range leaguetest.Results(x.Manager) {
		assert.NotEqual(w.T, league.StatusTechnicalLoss, r.Status, r.Reason)
	}
	for _, e := range w.Calls(protocol.ReportMatchResult.Name) {
		err := e.ProtocolError()
		assert.False(w.T, err != nil && err.Remote && !err.Code.Retryable(), "a report at %s is refused: %v", e.At, err)
	}
	assert.Empty(w.T, w.GameErrors())
}

// The clock of an agent is set once, at any moment of a league, with time banks and without. This costs no match, the
// tokens of the referee stay valid for its reports, and an audit finds nothing. A league starts when the manager's clock
// says so.
func TestClockThatIsSetCostsNoMatch(t *testing.T) {
	const day, year = 24 * time.Hour, 8766 * time.Hour
	n := 0
	for _, agent := range []string{"manager", "referee", "player"} {
		for _, length := range []time.Duration{700 * time.Millisecond, 3 * time.Second, 40 * time.Second, 3 * time.Hour,
			2 * day, 10 * year} {
			for _, by := range []time.Duration{length, -length} {
				for at := 500 * time.Millisecond; at < slowlyOver; at += 900 * time.Millisecond {
					n++
					late := agent == "manager" && at < plannedStart // the league starts so much later
					if late && by < -year || n%19 != 0 && !leaguetest.All() {
						continue
					}
					for _, banks := range []bool{false, true} {
						if agent != "referee" && banks != (n%2 == 0) && !leaguetest.All() {
							continue // only the referee keeps time banks
						}
						leaguetest.RunInMemory(t, fmt.Sprintf("%s %v at %v %v", agent, by, at, banks),
							func(t *testing.T, w *leaguetest.World) {
								x := playSlowly(w, map[string][]leaguetest.Option{
									agent: {leaguetest.WithClock(0, leaguetest.Jump{At: at, By: by})},
								}, withBanks(w, banks))
								checkHonest(w, x)
								longest := 3*slowlyOver - min(by, 0)
								if !late {
									longest = 3 * slowlyOver
								}
								assert.Less(t, w.Now(), longest)
							})
					}
				}
			}
		}
	}
}

// withBanks has a league play Tic-Tac-Toe with time banks, or not.
func withBanks(w *leaguetest.World, banks bool) func(*manager.Options) {
	if !banks {
		return func(*manager.Options) {}
	}
	w.Game = tictactoe.Game{}
	return func(o *manager.Options) { o.TimeBank = &protocol.TimeBank{Initial: 60_000, Increment: 1000} }
}

// A process is stopped for a time, at any moment of a league. A manager and a referee that pause cost no player a match;
// a player that pauses loses only its own, if it misses all its deadlines.
func TestPauseCostsNoOtherAgentAMatch(t *testing.T) {
	n := 0
	for _, agent := range []string{"manager", "referee", "player"} {
		for _, length := range []time.Duration{2 * time.Second, 20 * time.Second, 45 * time.Second, 2 * time.Minute,
			10 * time.Minute, time.Hour} {
			for at := 500 * time.Millisecond; at < slowlyOver; at += 900 * time.Millisecond {
				n++
				if n%31 != 0 && !leaguetest.All() {
					continue
				}
				for _, banks := range []bool{false, true} {
					leaguetest.RunInMemory(t, fmt.Sprintf("%s %v at %v %v", agent, length, at, banks),
						func(t *testing.T, w *leaguetest.World) {
							x := playSlowly(w, map[string][]leaguetest.Option{
								agent: {leaguetest.WithPauses(leaguetest.Pause{At: at, For: length})},
							}, withBanks(w, banks))
							if agent != "player" {
								checkHonest(w, x)
							} else if r := leaguetest.Results(x.Manager)[0]; r.Status == league.StatusTechnicalLoss {
								w.CheckAudited(x.Folder)
								assert.Contains(t, r.Reason, "P01 ")
								assert.Greater(t, length, 26*time.Second, "it misses four windows of 5 s, with pauses of 2 s")
							}
							assert.Less(t, w.Now(), length+3*time.Minute)
						})
				}
			}
		}
	}
}

// A wrong clock of a manager passes the planned start, when too few have registered, and is then set right. The league
// starts at the right time.
func TestPlannedStartFollowsAClockThatIsSetBack(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.ManagerTraits = leaguetest.Options(leaguetest.WithClock(0, leaguetest.Jump{At: leaguetest.Second, By: time.Hour},
			leaguetest.Jump{At: 2 * time.Minute, By: -time.Hour}))
		start := 10 * time.Minute
		w.StartManager(0, 1, func(o *manager.Options) {
			o.StartAt = protocol.FormatTimestamp(w.Clock.Now().Add(start))
			o.MinPlayers = 2
		})
		w.WaitUntil(3 * time.Minute)
		w.Referee("REF01")
		w.Players(2)
		w.Finish()
		begun := w.Calls(protocol.Invite.Name)[0].At
		assert.GreaterOrEqual(t, begun, start)
		assert.Less(t, begun, start+time.Minute+leaguetest.Second)
	})
}

// A registration is dropped after the grace period, although the clock was set back meanwhile, and the audit agrees.
func TestRegistrationIsDroppedInTimeByAClockThatIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{10 * time.Second, 3 * time.Hour} {
		leaguetest.RunInMemory(t, back.String(), func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			w.ManagerTraits = leaguetest.Options(leaguetest.WithClock(0, leaguetest.Jump{At: 5 * leaguetest.Second, By: -back}))
			x := w.StartManagerIn(folder, 2, 1)
			w.RefereeWithFiles("REF01", folder)
			w.Player("P01")
			w.Player("P02", leaguetest.On(protocol.Ping.Name, leaguetest.Silent))
			w.WaitUntil(10 * leaguetest.Second)
			w.Player("P03")
			x.Finish()
			require.NoError(t, x.CloseFiles())
			assert.Less(t, w.Now(), time.Minute)
			w.CheckAudited(folder)
		})
	}
}

// A thinker is a strategy that notes how much time it is given.
type thinker struct{ within []time.Duration }

func (*thinker) Name() string { return "thinker" }

func (s *thinker) Choose(_ context.Context, v strategy.View) (string, error) {
	s.within = append(s.within, v.Within)
	return v.Options[0], nil
}

// The clocks of all agents differ. Each player has its thirty seconds for a move.
func TestAgentsWithOtherClocksHaveTheSameTime(t *testing.T) {
	for _, ahead := range []time.Duration{-3 * time.Hour, -20 * time.Second, 20 * time.Second, 3 * time.Hour,
		87_660 * time.Hour} {
		leaguetest.RunInMemory(t, ahead.String(), func(t *testing.T, w *leaguetest.World) {
			w.ManagerTraits = leaguetest.Options(leaguetest.WithClock(-ahead / 2))
			folder, thinks := leaguetest.TempFolder(t), &thinker{}
			x := w.StartManagerIn(folder, 2, 1)
			w.RefereeWithFiles("REF01", folder, leaguetest.WithClock(40*leaguetest.Second))
			w.Player("P01", leaguetest.WithClock(40*leaguetest.Second+ahead), func(a *leaguetest.Agent) { a.Decide = thinks })
			w.Player("P02")
			x.Finish()
			require.NoError(t, x.CloseFiles())
			checkHonest(w, x)
			assert.Equal(t, []time.Duration{30 * time.Second}, thinks.within)
		})
	}
}

// A referee pauses until the manager has given its match to another one, and both players have accepted that. Then the
// players refuse its messages, which is no technical loss.
func TestRefereeThatPausesForTooLongMakesNoPlayerLose(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		w.RefereeWithFiles("REF01", folder, leaguetest.WithPauses(leaguetest.Pause{At: 2 * time.Second, For: 228 * time.Second}))
		w.RefereeWithFiles("REF02", folder)
		w.Player("P01", leaguetest.On(protocol.Invite.Name,
			leaguetest.InTurn(leaguetest.Normally, leaguetest.Delayed(4*time.Second, leaguetest.Normally))))
		w.Player("P02", leaguetest.On(protocol.ChooseParity.Name,
			leaguetest.InTurn(leaguetest.Delayed(3*time.Second, leaguetest.Normally), leaguetest.Normally)))
		x.Finish()
		require.NoError(t, x.CloseFiles())
		require.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 3m49s"}, w.AssignmentLog())
		reports := w.Calls(protocol.ReportMatchResult.Name)
		require.Equal(t, "ref01", reports[0].From)
		leaguetest.AssertRefused(t, reports[0].Err, protocol.ErrInvalidMatchState, 4005)
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, "REF02", r.RefereeID)
		assert.NotEqual(t, league.StatusTechnicalLoss, r.Status, r.Reason)
		w.CheckAudited(folder)
	})
}
