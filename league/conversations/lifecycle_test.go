package conversations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/audit"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// decisions are what the journal says of the lives of agents and of forfeits, in
// order: "P03 agent_suspended", "R4M3 match_forfeited".
func (w *world) decisions(folder store.Folder) []string {
	w.t.Helper()
	list := []string{}
	_, _, err := journalfile.Lines(strings.NewReader(string(journalOf(w, folder))), func(_ int, text []byte) error {
		line := read[struct {
			Type string `json:"type"`
			Data struct {
				AgentID string `json:"agent_id"`
				MatchID string `json:"match_id"`
			} `json:"data"`
		}](text)
		switch line.Type {
		case "agent_suspended", "agent_returned", "agent_shutdown", "agent_failed":
			list = append(list, line.Data.AgentID+" "+line.Type)
		case "match_forfeited":
			list = append(list, line.Data.MatchID+" "+line.Type)
		}
		return nil
	})
	require.NoError(w.t, err)
	return list
}

// closeAudited closes the league, whose files must be in order.
func (x *tenure) closeAudited() *journal.State {
	x.w.t.Helper()
	require.NoError(x.w.t, x.close())
	return x.w.checkAudited(x.folder)
}

// checkAudited is checkKept, and the audit must find nothing.
func (w *world) checkAudited(folder store.Folder) *journal.State {
	w.t.Helper()
	state := w.checkKept(folder)
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.game)})
	require.NoError(w.t, err)
	assert.Empty(w.t, report.Leagues[0].Findings)
	return state
}

// resultsOf are the results of a player's matches in order.
func (w *world) resultsOf(id string) []string {
	var list []string
	for _, r := range w.manager.Results() {
		if r.PlayerA == id || r.PlayerB == id {
			list = append(list, fmt.Sprintf("%s %s", r.MatchID, cmp.Or(r.RefereeID, "forfeited")))
		}
	}
	return list
}

// lifeOf is the state of an agent as the manager tells it.
func (w *world) lifeOf(id string) string {
	q := w.query("P01", protocol.QueryPlayerStats)
	q.QueryParams.PlayerID = id
	_, data := q.answer()
	life := read[protocol.AgentLife](data)
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", life.State, life.Failures, life.StateReason))
}

// starts are the seconds at which the rounds were handed out.
func (w *world) starts() (list []int) {
	for _, e := range w.said(protocol.StartMatch.Name) {
		if second := int(e.at / second); !slices.Contains(list, second) {
			list = append(list, second)
		}
	}
	slices.Sort(list)
	return list
}

// mortal is a player that takes a time for its choice, and that breaks every
// connection, and answers no ping, as long as it is away.
func mortal(away *atomic.Bool, choice time.Duration) trait {
	return func(a *actor) {
		fails := func(before time.Duration, how part) part {
			return func(c *call) (jsontext.Value, error) {
				if !away.Load() {
					time.Sleep(before)
				}
				if away.Load() {
					return how(c)
				}
				return honestly(c)
			}
		}
		for _, method := range []string{
			protocol.Invite.Name, protocol.NotifyMatchResult.Name, protocol.NotifyRound.Name, protocol.UpdateStandings.Name,
			protocol.NotifyRoundCompleted.Name, protocol.NotifyLeagueCompleted.Name,
		} {
			a.parts[method] = fails(0, failing(errHangUp))
		}
		a.parts[protocol.ChooseParity.Name] = fails(choice, failing(errHangUp))
		a.parts[protocol.Ping.Name] = fails(0, silent)
	}
}

// sixWithAMortal are six players of which P03 is mortal; each takes 3 s for its
// choice.
func (w *world) sixWithAMortal() (away *atomic.Bool) {
	w.t.Helper()
	away = new(atomic.Bool)
	for n := 1; n <= 6; n++ {
		if n == 3 {
			w.player(protocol.PlayerID(n), mortal(away, 3*second))
		} else {
			w.player(protocol.PlayerID(n), slow(0, 3*second, 0))
		}
	}
	return away
}

func TestLifecycleOfAPlayerThatDies(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 6, 1)
		w.writer("REF01", folder)
		away := w.sixWithAMortal()
		w.at(1 * second)
		away.Store(true)
		assert.Equal(t, "ACTIVE 0", w.lifeOf("P03"))
		w.at(25 * second) // round 4: three rounds have cost 6 s and more each
		assert.Equal(t, "SUSPENDED 4 did not answer in its last 3 matches", w.lifeOf("P03"))
		assert.Equal(t, protocol.AgentStates{Active: 6, Suspended: 1}, x.manager.Status().Agents)
		status := read[protocol.StatusData](w.ask("P01", protocol.QueryStatus))
		assert.Equal(t, []protocol.InactiveAgent{{
			AgentID: "P03", State: "SUSPENDED", Reason: "did not answer in its last 3 matches", Failures: 4,
		}}, status.Inactive)
		x.finish()

		assert.Equal(t, []int{0, 9, 15, 23, 28}, w.starts(), "its matches cost no more than the 2 s of a ping")
		assert.Equal(t, []string{"R1M2 REF01", "R2M1 REF01", "R3M2 REF01", "R4M3 forfeited", "R5M3 forfeited"}, w.resultsOf("P03"))
		assert.Equal(t, []string{"P03 agent_suspended", "R4M3 match_forfeited", "R5M3 match_forfeited"}, w.decisions(folder))
		assert.Len(t, w.said(protocol.NotifyRound.Name, "p03"), 3, "it is not told of rounds any more")
		w.checkForfeits(folder)
		state := x.closeAudited()
		last := state.Standings()[5]
		assert.Equal(t, []any{"P03", 5, 5, 5}, []any{last.PlayerID, last.Played, last.Losses, last.TechnicalLosses})
		doc := matchFile(t, folder, leagueID+"/R4M3.json")
		assert.Equal(t, []any{store.WrittenByManager, "", 0}, []any{doc.WrittenBy, doc.RefereeID, doc.Attempt})
		assert.Equal(t, state.Rounds[3].Matches[2].Report.Outcome, doc.Result.GameResult)
	})
}

// checkForfeits holds what was said of P03's forfeit in the fourth round together.
func (w *world) checkForfeits(folder store.Folder) {
	t := w.t
	state, _ := w.fold(folder)
	m, idA, idB, ok := state.Find(protocol.MatchID{Round: 4, Number: 3})
	require.True(t, ok)
	other := idA
	if idA == "P03" {
		other = idB
	}
	assert.Empty(t, m.Attempts, "no referee has heard of it")
	assert.Equal(t, []string{"P03"}, m.Forfeited)
	assert.Equal(t, "P03 is suspended: it did not answer in its last 3 matches - "+other+" wins by default", m.Report.Reason)
	assert.Equal(t, protocol.PerPlayer[string]{{Name: "P03", Value: "E009"}}, m.Report.Faults)
	announced := w.said(protocol.NotifyRound.Name, "p01")
	for _, a := range read[protocol.RoundAnnouncement](announced[3].message).Matches {
		if a.MatchID == "R4M3" {
			assert.Equal(t, []string{"P03"}, a.ForfeitedBy)
		} else {
			assert.Empty(t, a.ForfeitedBy)
		}
	}
	q := w.query("P01", protocol.QuerySchedule)
	q.QueryParams.RoundID = 4
	_, data := q.answer()
	scheduled := read[protocol.ScheduleData](data).Matches[2]
	assert.Equal(t, []any{protocol.StatusTechnicalLoss, other, (*string)(nil)},
		[]any{scheduled.Status, *scheduled.WinnerPlayerID, scheduled.RefereeEndpoint})
}

func TestLifecycleOfAPlayerThatAnswersAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		back   time.Duration
		played string // in the fifth round
	}{
		{"before the last round", 24 * second, "R5M3 REF01"},
		{"in the last round", 29 * second, "R5M3 forfeited"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 6, 1)
				w.writer("REF01", folder)
				away := w.sixWithAMortal()
				w.at(1 * second)
				away.Store(true)
				w.at(test.back)
				away.Store(false)
				w.at(max(test.back, 28*second))
				if test.back < 26*second {
					assert.Equal(t, "ACTIVE 4 it answers again", w.lifeOf("P03"))
				} else {
					assert.Equal(t, "SUSPENDED 5 did not answer in its last 3 matches", w.lifeOf("P03"))
				}
				x.finish()
				assert.Equal(t, test.played, w.resultsOf("P03")[4])
				x.closeAudited()
			})
		})
	}
}

// While a round lasts long, a suspended agent is asked every 15 s whether it is
// back.
func TestLifecycleOfAPlayerThatAnswersInALongRound(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1, func(o *league.Options) { o.SuspendAfter = 1 })
		w.referee("REF01")
		away := new(atomic.Bool)
		for n := 1; n <= 4; n++ {
			if n == 3 {
				w.player("P03", mortal(away, 25*second))
			} else {
				w.player(protocol.PlayerID(n), slow(0, 25*second, 0))
			}
		}
		w.at(1 * second)
		away.Store(true)
		w.at(40 * second) // in the second round
		assert.Equal(t, "SUSPENDED 2 did not answer in its last match", w.lifeOf("P03"))
		away.Store(false)
		w.at(46 * second)
		assert.Equal(t, "ACTIVE 2 it answers again", w.lifeOf("P03"))
		w.finish()
	})
}

// A player that hangs in its matches, but is there, is suspended and comes back
// after every further failure, until its part in the league is over.
func TestLifecycleOfAPlayerThatHangs(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1, func(o *league.Options) { o.Legs = 4 })
		w.writer("REF01", folder)
		w.player("P01")
		w.player("P02", does(protocol.Invite.Name, silent))
		w.player("P03")
		w.player("P04")
		x.finish()
		want := slices.Repeat([]string{"P02 agent_suspended", "P02 agent_returned"}, 7)
		want = append(want, "P02 agent_shutdown", "R11M2 match_forfeited", "R12M2 match_forfeited")
		assert.Equal(t, want, w.decisions(folder))
		played := slices.DeleteFunc(w.resultsOf("P02"), func(r string) bool { return strings.HasSuffix(r, "forfeited") })
		assert.Len(t, played, 10)
		assert.Equal(t, "SHUTDOWN 12 did not answer in its last 10 matches", w.lifeOf("P02"))
		assert.Len(t, w.said(protocol.NotifyRound.Name, "p02"), 10)
		assert.Len(t, w.said(protocol.NotifyLeagueCompleted.Name, "p02"), 1, "it is told the end")

		q := w.application("Agent P02")
		q.Sender, q.AuthToken = protocol.PlayerSender("P02"), w.token("P02")
		q.PlayerMeta.ContactEndpoint = endpointOf("p02")
		r, err := w.apply(q)
		require.NoError(t, err)
		assert.Equal(t, []string{protocol.StatusRejected, "E014"}, []string{r.Status, r.ErrorCode})
		assert.Equal(t, "the part of P02 in this league is over: it did not answer in its last 10 matches", *r.Reason)
		w.ask("P02", protocol.QueryStandings)
		x.closeAudited()
	})
}

// A player that answers nonsense is there. It loses, and stays.
func TestLifecycleOfAPlayerThatAnswersWrongly(t *testing.T) {
	for name, wrong := range map[string]trait{
		"an illegal choice": does(protocol.ChooseParity.Name, editing("parity_choice", "Even")),
		"a refusal":         does(protocol.Invite.Name, editing("accept", false)),
	} {
		t.Run(name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1, func(o *league.Options) { o.Legs = 5 })
				w.referee("REF01")
				w.player("P01")
				w.player("P02", wrong)
				w.finish()
				assert.Len(t, w.said(protocol.StartMatch.Name), 5)
				assert.Equal(t, "SHUTDOWN 0 it knows that the league is over", w.lifeOf("P02"))
			})
		})
	}
}

func TestLifecycleWithoutLimits(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, func(o *league.Options) { o.Legs, o.SuspendAfter, o.ShutdownAfter = 12, -1, -1 })
		w.referee("REF01")
		w.player("P01")
		w.player("P02", does(protocol.Invite.Name, failing(errHangUp)))
		w.finish()
		assert.Len(t, w.said(protocol.StartMatch.Name), 12)
		assert.Equal(t, "SHUTDOWN 12 it knows that the league is over", w.lifeOf("P02"))
	})
}

// Both players of a match may be away: both lose it.
func TestLifecycleOfTwoPlayersThatDie(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1, func(o *league.Options) { o.SuspendAfter, o.EveryMatch = 1, true })
		w.writer("REF01", folder)
		away := new(atomic.Bool)
		for n := 1; n <= 4; n++ {
			if n%2 == 0 {
				w.player(protocol.PlayerID(n), mortal(away, second))
			} else {
				w.player(protocol.PlayerID(n), slow(0, second, 0))
			}
		}
		w.at(second / 2)
		away.Store(true)
		x.finish()
		state := x.closeAudited()
		both := 0
		for m := range state.Matches() {
			if len(m.Forfeited) == 2 {
				both++
				assert.Nil(t, m.Report.WinnerPlayerID)
				assert.Equal(t, "P02 is suspended: it did not answer in its last match; P04 is suspended: it did not answer in its last match - both lose", m.Report.Reason)
			}
		}
		assert.Equal(t, 1, both)
	})
}

// A referee that hangs when it is handed a match: its matches go to another, and
// it gets none after the round, until it answers again.
func TestLifecycleOfARefereeThatHangs(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 2, func(o *league.Options) { o.SuspendAfter, o.Legs = 2, 3 })
		r := w.writer("REF01", folder, capacity(1), does(protocol.StartMatch.Name, nTimes(2, silent, honestly)))
		w.writer("REF02", folder, capacity(1))
		w.players(4, slow(0, second, 0))
		w.at(22*second + second/2) // the third round: it has failed in two
		assert.Equal(t, []string{"REF01 agent_failed", "REF01 agent_failed", "REF01 agent_suspended", "REF01 agent_returned"}, w.decisions(folder), "it answers pings")
		r.stop()
		x.finish()
		state := x.closeAudited()
		conducted := map[string]int{}
		for m := range state.Matches() {
			conducted[m.Report.RefereeID]++
		}
		assert.Equal(t, 18, conducted["REF01"]+conducted["REF02"])
		assert.Empty(t, w.complaints())
	})
}

// Without a referee a league waits, and goes on when one answers.
func TestLifecycleOfAllReferees(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 2)
		referees := []*actor{w.writer("REF01", folder), w.writer("REF02", folder)}
		w.players(4, slow(0, second, 0))
		w.at(second / 2)
		for _, r := range referees {
			r.stop()
		}
		w.at(10 * time.Minute)
		recorded := x.manager.Status().Recorded
		assigned := count(w.kinds(folder), "match_assigned")
		w.at(20 * time.Minute)
		assert.Equal(t, recorded, x.manager.Status().Recorded)
		assert.Equal(t, assigned, count(w.kinds(folder), "match_assigned"), "no attempt is spent on nobody")
		w.open(newActor("REF02", nil), referees[1].mux)
		x.finish()
		assert.Less(t, w.now(), 21*time.Minute)
		x.closeAudited()
	})
}

// A manager that was killed counts on, and forfeits what is to be forfeited.
func TestLifecycleUnderTheNextManager(t *testing.T) {
	for _, moment := range []time.Duration{10 * second, 16 * second, 22 * second} {
		t.Run(moment.String(), func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 6, 1)
				w.writer("REF01", folder)
				away := w.sixWithAMortal()
				w.at(1 * second)
				away.Store(true)
				w.at(moment)
				x.kill()
				w.at(moment + second)
				x = w.tenure(folder, 6, 1)
				x.finish()
				assert.Equal(t, []string{"P03 agent_suspended", "R4M3 match_forfeited", "R5M3 match_forfeited"}, w.decisions(folder))
				x.closeAudited()
			})
		})
	}
}

// An attempt that was given up stays given up under the next manager.
func TestLifecycleOfAnAttemptThatFailedBefore(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 1)
		w.writer("REF01", folder, does(protocol.StartMatch.Name, inTurn(silent, honestly)))
		w.players(2)
		w.at(11 * second)
		assert.Equal(t, []string{"REF01 agent_failed"}, w.decisions(folder))
		x.kill()
		x = w.tenure(folder, 2, 1)
		x.finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 2 at 13s"}, w.assignments())
		x.closeAudited()
	})
}

// A manager that dies between an announcement and its forfeits makes up for them.
func TestLifecycleOfAManagerThatDiesAtABarrier(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		const before = 1 + 7 + 7 + 7 + 1 + 3*(2+3*3) + 1 // events: it began; three rounds; P03 is suspended
		x := w.doomed(fate{before + 1, untold}, folder, 6, 1)
		w.writer("REF01", folder)
		away := w.sixWithAMortal()
		w.at(1 * second)
		away.Store(true)
		w.at(24 * second)
		<-x.died
		x.bury()
		kinds := w.kinds(folder)
		require.Equal(t, []string{"agent_suspended", "round_announced"}, kinds[len(kinds)-2:])
		x = w.tenure(folder, 6, 1)
		x.finish()
		assert.Equal(t, []string{"P03 agent_suspended", "R4M3 match_forfeited", "R5M3 match_forfeited"}, w.decisions(folder))
		x.closeAudited()
	})
}

// With one slot, a player that keeps everybody waiting comes last.
func TestLifecycleLeavesTheSlowForLast(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1, func(o *league.Options) { o.Concurrency = 1 })
		w.referee("REF01")
		w.player("P01", does(protocol.Invite.Name, silent))
		for n := 2; n <= 4; n++ {
			w.player(protocol.PlayerID(n))
		}
		w.finish()
		var order []string
		for _, e := range w.said(protocol.StartMatch.Name) {
			q := read[protocol.MatchAssignment](e.message)
			slow := ""
			if q.PlayerA.PlayerID == "P01" || q.PlayerB.PlayerID == "P01" {
				slow = " slow"
			}
			order = append(order, fmt.Sprint("round ", q.RoundID, slow))
		}
		assert.Equal(t, []string{"round 1 slow", "round 1", "round 2", "round 2 slow", "round 3", "round 3 slow"}, order)
	})
}

// A broadcast to nobody does not wait for its answers.
func TestLifecycleWithoutPlayers(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, func(o *league.Options) { o.Legs, o.SuspendAfter = 5, 1 })
		w.referee("REF01")
		away := new(atomic.Bool)
		w.players(2, mortal(away, second))
		w.at(second / 2)
		away.Store(true)
		w.finish()
		assert.Less(t, w.now(), time.Minute)
	})
}

// Where failures never count, they are recorded all the same: the next manager
// knows which attempts were given up.
func TestFailuresOfARefereeThatNeverCount(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2, func(o *league.Options) { o.SuspendAfter, o.ShutdownAfter = -1, -1 })
		w.referee("REF01", does(protocol.StartMatch.Name, failing(errHangUp)))
		w.referee("REF02")
		w.players(2)
		x.finish()
		assert.Contains(t, w.kinds(folder), "agent_failed")
		require.NoError(t, x.close())
	})
}

// An exhausted carrier has nothing left to call a method with, for a while.
type exhausted struct {
	next   protocol.Caller
	method string
	until  time.Duration
	now    func() time.Duration
}

func (c *exhausted) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	if r.Method == c.method && c.now() < c.until {
		return nil, nil, noDescriptors{}
	}
	return c.next.Call(ctx, r)
}

// A match that the manager has not got the means to hand over is no failure of
// the referee.
func TestLifecycleUnderAManagerThatCannotCall(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 2, func(o *league.Options) {
			o.SuspendAfter = 1
			o.Caller = &exhausted{o.Caller, protocol.StartMatch.Name, 10 * second, w.now}
		})
		w.writer("REF01", folder)
		w.writer("REF02", folder)
		w.players(4)
		x.finish()
		assert.Empty(t, w.decisions(folder))
		assert.Less(t, w.now(), time.Minute)
		x.closeAudited()
	})
}
