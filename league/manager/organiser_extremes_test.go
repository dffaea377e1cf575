package manager_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// The league ends, and its audit is clean, although nobody is left to play.
func TestLeagueEndsWhenEveryPlayerIsWithdrawn(t *testing.T) {
	for _, test := range []struct {
		name    string
		players int
		format  *journal.Tournament
	}{
		{"round-robin of 2", 2, nil},
		{"round-robin of 3", 3, nil},
		{"Swiss with a bye", 3, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 2}},
		{"knockout", 4, &journal.Tournament{Algorithm: pairing.Knockout}},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, test.players, 1, withTournament(test.format))
				w.RefereeWithFiles("REF01", folder)
				playersIn(w, folder, test.players, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
				w.WaitUntil(2 * leaguetest.Second) // in round 1
				for n := range test.players {
					w.Organise(protocol.CommandWithdraw, leaguetest.About(protocol.PlayerID(n+1)))
				}
				x.Finish()
				state := x.CloseAudited()
				assert.Len(t, state.Standings(), test.players)
				byes := 0
				for _, row := range state.Standings() {
					if row.Byes != nil {
						byes += *row.Byes
					}
				}
				if test.format.IsSwiss() {
					assert.Equal(t, 1, byes, "that of round 1; withdrawn players get none")
				}
				assert.Less(t, w.Now(), 2*time.Minute)
			})
		})
	}
}

// The rematch ends for the league, and the report of its referee is refused without a dispute.
func TestRulingDuringARematchEndsIt(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		w.RefereeWithFiles("REF01", folder)
		w.RefereeWithFiles("REF02", folder)
		playersIn(w, folder, 2, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
		w.WaitUntil(2 * leaguetest.Second)
		w.Organise(protocol.CommandPause)
		w.WaitUntil(20 * time.Second)
		w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
		w.Organise(protocol.CommandResume)
		w.WaitUntil(22 * time.Second)
		assert.Equal(t, 1, x.Manager.AnnulledResults("R1M1"), "the rematch runs")
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P02"))
		x.Finish()
		w.WaitUntil(time.Minute) // the referee of the rematch reports
		state := x.CloseAudited()
		m := matchOf(state, "R1M1")
		assert.NotNil(t, m.Ruled)
		assert.Empty(t, m.Disputed)
		assert.Len(t, m.Annulled, 1)
		assert.Equal(t, "P02", x.Final.Champion.PlayerID)
	})
}

func withTournament(format *journal.Tournament) func(*league.Options) {
	return func(o *league.Options) { o.Tournament = format }
}
