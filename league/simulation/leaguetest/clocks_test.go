package leaguetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
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
		o.Configuration.StartAt = protocol.FormatTimestamp(w.Clock.Now().Add(plannedStart))
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
		assert.NoError(w.T, e.Err, "a report at %s", e.At)
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
