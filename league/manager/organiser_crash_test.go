package manager_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// An organiserStep is a command that an organiser sends when so many rounds are complete.
type organiserStep struct {
	rounds  int
	command string
	change  []leaguetest.Command
}

func step(rounds int, command string, change ...leaguetest.Command) organiserStep {
	return organiserStep{rounds, command, change}
}

// organise sends the commands of an organiser one after the other. A manager that has crashed
// does not answer: then it sends the command to the next manager, unless the journal has it.
func organise(w *leaguetest.World, folder store.Folder, steps []organiserStep) {
	for i, s := range steps {
		for w.Context.Err() == nil {
			time.Sleep(leaguetest.Second / 2)
			rounds, decisions := progressOf(w, folder)
			if decisions > i {
				break
			}
			if rounds < s.rounds {
				continue
			}
			_, err := w.TryToOrganise(s.command, s.change...)
			if e := protocol.AsError(err); e != nil && e.Remote && e.Code != "" {
				assert.NoError(w.T, err, "%s after round %d", s.command, s.rounds)
				return
			}
		}
	}
}

// progressOf counts the completed rounds and the decisions in the journal on disk.
func progressOf(w *leaguetest.World, folder store.Folder) (rounds, decisions int) {
	for line := range bytes.Lines(leaguetest.ReadJournal(w, folder)) {
		switch {
		case bytes.Contains(line, []byte(`"type":"round_completed"`)):
			rounds++
		case bytes.Contains(line, []byte(`"by":"A. Smith"`)) && !bytes.Contains(line, []byte(`"command":"reopen"`)):
			decisions++
		}
	}
	return rounds, decisions
}

// An organisedLeague is a league in which an organiser makes decisions.
type organisedLeague struct {
	name       string
	players    int
	tournament *journal.Tournament
	change     func(*manager.Options)
	steps      []organiserStep
}

// outcome is what a crash must not change.
type outcome struct {
	Results   []manager.MatchRecord
	Standings []league.Standing
	Decided   []string
}

// play runs the league, whose manager dies once, and audits it.
func (l *organisedLeague) play(w *leaguetest.World, end leaguetest.CrashPoint) (events int, o outcome) {
	w.T.Helper()
	folder, files := leaguetest.MemoryFolder(w.T), leaguetest.MemoryFolder(w.T)
	format := func(o *manager.Options) { o.Tournament = l.tournament }
	x := w.StartMortalManager(end, folder, l.players, 2, withPause, format, l.change)
	succession := w.InBackground(func() {
		if end.Event > 0 {
			<-x.Died
			x.RestoreDisk()
			time.Sleep(leaguetest.Second)
			x = w.StartManagerIn(folder, l.players, 2, withPause, format, l.change)
		}
	})
	organised := w.InBackground(func() { organise(w, folder, l.steps) })
	w.RefereeWithFiles("REF01", files)
	w.RefereeWithFiles("REF02", files)
	w.Players(l.players)
	<-succession
	<-organised
	x.Finish()
	state := x.CloseAudited()
	o = outcome{Results: x.Manager.Results(), Standings: state.Standings()}
	for i := range o.Results {
		o.Results[i].RefereeID = "" // a rematch may have another referee after a crash
	}
	for m := range state.Matches() {
		o.Decided = append(o.Decided, fmt.Sprintf("%s: %d annulled, ruled %t", m.Report.MatchID, len(m.Annulled), m.Ruled != nil))
	}
	return state.Events, o
}

// A manager may die before or after any event, whether or not its messages were sent. The
// next manager carries out the organiser's decisions to the same end.
func TestDecisionsSurviveAManagerCrashAtAnyEvent(t *testing.T) {
	t.Parallel()
	match, about, winner := leaguetest.OfMatch, leaguetest.About, leaguetest.Winner
	unchanged := func(*manager.Options) {}
	for _, l := range []organisedLeague{
		{"round-robin", 5, nil, unchanged, []organiserStep{
			step(0, protocol.CommandPause), step(0, protocol.CommandResume),
			step(1, protocol.CommandSuspend, about("P04")), step(1, protocol.CommandRematch, match("R1M1")),
			step(2, protocol.CommandReadmit, about("P04")), step(2, protocol.CommandWithdraw, about("P05")),
			step(2, protocol.CommandRule, match("R2M1"), winner(protocol.WinnerDraw)),
			step(4, protocol.CommandPause), step(4, protocol.CommandRematch, match("R3M1")), step(4, protocol.CommandWithdraw, about("REF02")),
			step(4, protocol.CommandResume),
		}},
		{"signed round-robin", 4, nil, signed, []organiserStep{
			step(1, protocol.CommandRematch, match("R1M2")), step(1, protocol.CommandRule, match("R1M1"), winner(protocol.WinnerNone)),
			step(2, protocol.CommandSuspend, about("P02")), step(2, protocol.CommandRematch, match("R1M2")), step(2, protocol.CommandRematch, match("R2M1")),
		}},
		{"swiss", 5, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 3}, unchanged, []organiserStep{
			step(1, protocol.CommandRule, match("R1M1"), winner(protocol.WinnerNone)), step(1, protocol.CommandRematch, match("R1M2")),
			step(2, protocol.CommandWithdraw, about("P02")), step(2, protocol.CommandPause), step(2, protocol.CommandResume),
		}},
		{"knockout", 4, &journal.Tournament{Algorithm: pairing.Knockout}, unchanged, []organiserStep{
			step(1, protocol.CommandRule, match("R1M1"), winner("P04")), step(1, protocol.CommandRematch, match("R1M2")),
		}},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			var events int
			var want outcome
			play := func(t *testing.T, end leaguetest.CrashPoint) {
				synctest.Test(t, func(t *testing.T) {
					w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
					n, got := l.play(w, end)
					if end.Event == 0 {
						events, want = n, got
					}
					assert.Equal(t, want, got)
					synctest.Wait()
					w.Close()
				})
			}
			play(t, leaguetest.CrashPoint{})
			require.NotZero(t, events)
			for event := 1; event < events; event++ {
				for _, when := range []leaguetest.Moment{leaguetest.BeforeTelling, leaguetest.AfterTelling, leaguetest.PowerCut} {
					if leaguetest.All() || event%9 == int(when) {
						t.Run(fmt.Sprintf("%d, %s", event, when), func(t *testing.T) { play(t, leaguetest.CrashPoint{Event: event, When: when}) })
					}
				}
			}
		})
	}
}
