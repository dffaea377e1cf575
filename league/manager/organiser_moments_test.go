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
	"evenodd/league/view/record"
)

// Each command is sent at each moment of a league of four players and two referees.
func TestEachCommandAtEachMoment(t *testing.T) {
	match, about, winner := leaguetest.OfMatch("R1M1"), leaguetest.About("P03"), leaguetest.Winner("P01")
	const (
		before  = "before the start"
		running = "while round 1 runs"
		between = "between two rounds"
		atEnd   = "before the end"
		after   = "after the end"
	)
	moments := []string{before, running, between, atEnd, after}
	done := protocol.Code("")
	over, state, late := protocol.ErrLeagueComplete, protocol.ErrInvalidMatchState, protocol.ErrLeagueNotStarted
	for _, test := range []struct {
		command string
		change  []leaguetest.Command
		want    [5]protocol.Code // by moment
	}{
		{protocol.CommandStart, nil, [5]protocol.Code{done, protocol.ErrLateRegistration, protocol.ErrLateRegistration, protocol.ErrLateRegistration, over}},
		{protocol.CommandPause, nil, [5]protocol.Code{done, done, done, state, over}}, // before the end it is paused
		{protocol.CommandResume, nil, [5]protocol.Code{state, state, state, done, over}},
		{protocol.CommandSuspend, []leaguetest.Command{about}, [5]protocol.Code{done, done, done, done, over}},
		{protocol.CommandReadmit, []leaguetest.Command{about}, [5]protocol.Code{state, state, state, state, over}},
		{protocol.CommandWithdraw, []leaguetest.Command{about}, [5]protocol.Code{done, done, done, done, over}},
		{protocol.CommandRematch, []leaguetest.Command{match}, [5]protocol.Code{late, state, done, done, over}},
		{protocol.CommandRule, []leaguetest.Command{match, winner}, [5]protocol.Code{late, done, done, done, over}},
	} {
		for i, moment := range moments {
			leaguetest.RunInMemory(t, test.command+" "+moment, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 4, 2, withPause)
				if moment != before {
					w.RefereeWithFiles("REF01", folder)
				}
				w.RefereeWithFiles("REF02", folder)
				playersIn(w, folder, 4, leaguetest.WithDelays(0, 2*leaguetest.Second, 0))
				switch moment { // a round takes two seconds, and the pause five
				case running:
					w.WaitUntil(6 * leaguetest.Second)
				case between:
					w.WaitUntil(8 * leaguetest.Second)
				case atEnd:
					w.WaitUntil(20 * leaguetest.Second)
					w.Organise(protocol.CommandPause)
					w.WaitUntil(time.Minute)
					require.Len(t, leaguetest.Results(x.Manager), 6)
				case after:
					x.Finish()
				}
				synctest.Wait()
				_, err := w.TryToOrganise(test.command, test.change...)
				if code := test.want[i]; code != done {
					e := protocol.AsError(err)
					require.NotNil(t, e)
					assert.Equal(t, code, e.Code, "%v", err)
				} else {
					require.NoError(t, err)
				}
				synctest.Wait()
				if moment == before && test.command != protocol.CommandStart {
					w.RefereeWithFiles("REF01", folder)
				}
				if test.command == protocol.CommandWithdraw && moment == before {
					assert.Equal(t, 3, w.Manager.Status().Players)
					w.PlayerIn("P05", folder)
				}
				if test.want[i] == done && test.command == protocol.CommandPause || moment == atEnd && test.command != protocol.CommandResume {
					w.WaitUntil(5 * time.Minute)
					w.Organise(protocol.CommandResume)
				}
				finish(x)
			})
		}
	}
}

func TestOrganiserIsToldWhatIsWrongWithACommand(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Players(2, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
		w.WaitUntil(leaguetest.Second)
		token := func(token string) leaguetest.Command {
			return func(q *protocol.OrganiseRequest) { q.AuthToken = token }
		}
		for _, test := range []struct {
			name    string
			command string
			change  leaguetest.Command
			code    protocol.Code
			text    string
		}{
			{"no token", protocol.CommandPause, token(""), protocol.ErrTokenMissing, "organise_league needs the admin token"},
			{"wrong token", protocol.CommandPause, token("adm-wrong"), protocol.ErrTokenInvalid, "auth_token is not the admin token"},
			{"a player's token", protocol.CommandPause, token(w.Token("P01")), protocol.ErrTokenInvalid, "auth_token is not the admin token"},
			{"another league", protocol.CommandPause, func(q *protocol.OrganiseRequest) { q.LeagueID = "other" }, protocol.ErrLeagueNotFound, "this manager runs league league_of_tests"},
			{"unknown command", "stop", func(*protocol.OrganiseRequest) {}, protocol.ErrInvalidFieldType, `command "stop"`},
		} {
			_, err := w.TryToOrganise(test.command, test.change)
			e := protocol.AsError(err)
			require.NotNil(t, e, test.name)
			assert.Equal(t, test.code, e.Code, test.name)
			assert.ErrorContains(t, err, test.text, test.name)
		}
	})
}

// A player that is suspended while a round runs finishes its match, and forfeits those that
// no referee has yet.
func TestSuspendedPlayerForfeitsMatchesThatHaveNotBegun(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, func(o *manager.Options) { o.Concurrency = 1 })
		w.RefereeWithFiles("REF01", x.Folder)
		playersIn(w, x.Folder, 4, leaguetest.WithDelays(0, 2*leaguetest.Second, 0))
		w.WaitUntil(leaguetest.Second) // one match of round 1 runs, the other waits
		running := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
		other := "R1M2"
		if running.MatchID == other {
			other = "R1M1"
		}
		schedule := map[string][2]string{}
		for _, m := range leaguetest.Decode[protocol.RoundAnnouncement](w.OnlyCall(protocol.NotifyRound.Name, "p01").Message).Matches {
			schedule[m.MatchID] = [2]string{m.PlayerAID, m.PlayerBID}
		}
		w.Organise(protocol.CommandSuspend, leaguetest.About(running.PlayerA.PlayerID))
		w.Organise(protocol.CommandSuspend, leaguetest.About(schedule[other][0]))
		state := finish(x)
		assert.NotEqual(t, league.StatusTechnicalLoss, matchOf(state, running.MatchID).Report.Status, "it finishes its running match")
		assert.Equal(t, []string{schedule[other][0]}, matchOf(state, other).Forfeited)
		told := w.Calls(protocol.NotifyRound.Name, leaguetest.NewAgent(schedule[other][1], nil).Host)
		again := leaguetest.Decode[protocol.RoundAnnouncement](told[1].Message)
		assert.Equal(t, []string{schedule[other][0]}, again.Matches[0].ForfeitedBy, "its opponent is told")
	})
}

// A third-party referee plays a rematch as any match. It names no attempt.
func TestThirdPartyRefereeConductsARematch(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := thirdPartyLeague(w, lenient)
		w.Organise(protocol.CommandPause)
		report := w.WinReport("REF01")
		mustReport(w, tokenless(report))
		w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
		w.Organise(protocol.CommandResume)
		w.WaitUntil(2 * leaguetest.Second)
		assigned := w.Calls(protocol.StartMatch.Name, "ref01")
		require.Len(t, assigned, 2)
		second := leaguetest.Decode[protocol.MatchAssignment](assigned[1].Message)
		assert.Equal(t, 2, second.Attempt)
		assert.Zero(t, second.AnnulledAttempts, "it may refuse messages with unknown members")
		number, odd, even := 7, "odd", "even"
		winner := "P02"
		again := w.ReportOf("REF01", "R1M1", &winner, "P01", "P02", 0, 3)
		again.Result.DrawnNumber, again.Result.Choices = &number, league.Both("P01", &even, "P02", &odd)
		mustReport(w, tokenless(again))
		final := x.Finish()
		assert.Equal(t, "P02", final.Champion.PlayerID)
		assert.Equal(t, 2, matchOf(x.CloseAudited(), "R1M1").Report.Number)
	})
}

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
	Results   []record.Match
	Standings []league.Standing
	Decided   []string
}

// play runs the league, whose manager dies once, and audits it.
func (l *organisedLeague) play(w *leaguetest.World, end leaguetest.CrashPoint) (events int, o outcome) {
	w.T.Helper()
	folder, files := leaguetest.TempFolder(w.T), leaguetest.TempFolder(w.T)
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
	state := finish(x)
	o = outcome{Results: leaguetest.Results(x.Manager), Standings: state.Standings()}
	for i := range o.Results {
		o.Results[i].RefereeID = "" // a rematch may have another referee after a crash
	}
	for _, m := range state.Matches() {
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
