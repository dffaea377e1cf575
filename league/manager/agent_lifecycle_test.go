package manager_test

import (
	"bytes"
	"cmp"
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
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// agentDecisions lists the journal's agent state changes and forfeits in order, for example
// "P03 agent_suspended", "R4M3 match_forfeited".
func agentDecisions(w *leaguetest.World, folder store.Folder) []string {
	w.T.Helper()
	list := []string{}
	for text := range bytes.Lines(leaguetest.ReadJournal(w, folder)) {
		line := leaguetest.Decode[struct {
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
	}
	return list
}

// resultsOf returns the match id and the referee of each match of a player, in order.
func resultsOf(w *leaguetest.World, id string) []string {
	var list []string
	for _, r := range leaguetest.Results(w.Manager) {
		if r.PlayerAID == id || r.PlayerBID == id {
			list = append(list, fmt.Sprintf("%s %s", r.MatchID, cmp.Or(r.RefereeID, "forfeited")))
		}
	}
	return list
}

// agentLife returns state, failures and reason of an agent from get_player_stats.
func agentLife(w *leaguetest.World, id string) string {
	data := ask(w, "P01", protocol.QueryPlayerStats, protocol.QueryParams{PlayerID: id})
	life := leaguetest.Decode[protocol.AgentLife](data)
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", life.State, life.Failures, life.StateReason))
}

// withOutage makes a player that waits before each choice. While away is set, it breaks
// every connection and answers no ping.
func withOutage(away *atomic.Bool, choice time.Duration) leaguetest.Option {
	return func(a *leaguetest.Agent) {
		fails := func(before time.Duration, how leaguetest.Reply) leaguetest.Reply {
			return func(c *leaguetest.Call) (jsontext.Value, error) {
				if !away.Load() {
					time.Sleep(before)
				}
				if away.Load() {
					return how(c)
				}
				return leaguetest.Normally(c)
			}
		}
		for _, method := range []string{
			protocol.Invite.Name, protocol.NotifyMatchResult.Name, protocol.NotifyRound.Name, protocol.UpdateStandings.Name,
			protocol.NotifyRoundCompleted.Name, protocol.NotifyLeagueCompleted.Name,
		} {
			a.Script[method] = fails(0, leaguetest.FailWith(leaguetest.ErrHangUp))
		}
		a.Script[protocol.ChooseParity.Name] = fails(choice, leaguetest.FailWith(leaguetest.ErrHangUp))
		a.Script[protocol.Ping.Name] = fails(0, leaguetest.Silent)
	}
}

// playersWithOutage starts players that need a time for each choice. P03 fails while away is
// set.
func playersWithOutage(w *leaguetest.World, players int, choice time.Duration) (away *atomic.Bool) {
	w.T.Helper()
	away = new(atomic.Bool)
	for n := 1; n <= players; n++ {
		if n == 3 {
			w.Player(league.PlayerID(n), withOutage(away, choice))
		} else {
			w.Player(league.PlayerID(n), leaguetest.WithDelays(0, choice, 0))
		}
	}
	return away
}

// sixWithOutage is playersWithOutage with six players, of which P03 fails after a second.
func sixWithOutage(w *leaguetest.World) (away *atomic.Bool) {
	w.T.Helper()
	away = playersWithOutage(w, 6, 3*leaguetest.Second)
	w.WaitUntil(1 * leaguetest.Second)
	away.Store(true)
	return away
}

func TestDeadPlayerIsSuspendedAndForfeits(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 6, 1)
		w.RefereeWithFiles("REF01", folder)
		sixWithOutage(w)
		assert.Equal(t, "ACTIVE 0", agentLife(w, "P03"))
		w.WaitUntil(31 * leaguetest.Second) // round 4: three rounds have cost 8 s and more each
		assert.Equal(t, "SUSPENDED 4 did not answer in its last 3 matches", agentLife(w, "P03"))
		assert.Equal(t, protocol.AgentStates{Active: 6, Suspended: 1}, x.Manager.Status().Agents)
		statusWith := leaguetest.Decode[protocol.StatusData](ask(w, "P01", protocol.QueryStatus))
		assert.Equal(t, []protocol.InactiveAgent{{
			AgentID: "P03", State: "SUSPENDED", Reason: "did not answer in its last 3 matches", Failures: 4,
		}}, statusWith.Inactive)
		x.Finish()

		started := slices.Compact(leaguetest.Seconds(w.Calls(protocol.StartMatch.Name)))
		assert.Equal(t, []int{0, 11, 19, 29, 34}, started,
			"a round with a dead player waits 2 s more for its answer about the match")
		assert.Equal(t, []string{"R1M2 REF01", "R2M1 REF01", "R3M2 REF01", "R4M3 forfeited", "R5M3 forfeited"}, resultsOf(w, "P03"))
		assert.Equal(t, []string{"P03 agent_suspended", "R4M3 match_forfeited", "R5M3 match_forfeited"}, agentDecisions(w, folder))
		assert.Len(t, w.Calls(protocol.NotifyRound.Name, "p03"), 3, "a suspended player gets no round announcements")
		checkForfeits(w, folder)
		state := x.CloseAudited()
		last := state.Standings()[5]
		assert.Equal(t, []any{"P03", 5, 5, 5}, []any{last.PlayerID, last.Played, last.Losses, last.TechnicalLosses})
		doc := leaguetest.ReadMatchFile(t, folder, leaguetest.LeagueID+"/R4M3.json")
		assert.Equal(t, []any{store.WrittenByManager, "", 0}, []any{doc.WrittenBy, doc.RefereeID, doc.Attempt})
		assert.Equal(t, state.Rounds[3].Matches[2].Report.Result, doc.Result.Result)
	})
}

// checkForfeits compares the records of P03's forfeit in round 4: journal, announcement and
// schedule.
func checkForfeits(w *leaguetest.World, folder store.Folder) {
	t := w.T
	state, _ := w.FoldJournal(folder)
	m, idA, idB, ok := state.Find(league.MatchID{Round: 4, Number: 3})
	require.True(t, ok)
	other := idA
	if idA == "P03" {
		other = idB
	}
	assert.Empty(t, m.Attempts, "the match was not assigned to any referee")
	assert.Equal(t, []string{"P03"}, m.Forfeited)
	assert.Equal(t, "P03 is suspended: it did not answer in its last 3 matches - "+other+" wins by default", m.Report.Reason)
	assert.Equal(t, league.PerPlayer[string]{{Name: "P03", Value: "E009"}}, m.Report.Faults)
	announced := w.Calls(protocol.NotifyRound.Name, "p01")
	for _, a := range leaguetest.Decode[protocol.RoundAnnouncement](announced[3].Message).Matches {
		if a.MatchID == "R4M3" {
			assert.Equal(t, []string{"P03"}, a.ForfeitedBy)
		} else {
			assert.Empty(t, a.ForfeitedBy)
		}
	}
	schedule := ask(w, "P01", protocol.QuerySchedule, protocol.QueryParams{RoundID: 4})
	scheduled := leaguetest.Decode[protocol.ScheduleData](schedule).Matches[2]
	assert.Equal(t, []any{league.StatusTechnicalLoss, other, (*string)(nil)},
		[]any{scheduled.Status, *scheduled.WinnerPlayerID, scheduled.RefereeEndpoint})
}

func TestSuspendedPlayerReturnsBeforeTheNextRound(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 6, 1)
		w.RefereeWithFiles("REF01", x.Folder)
		away := sixWithOutage(w)
		w.WaitUntil(30 * leaguetest.Second)
		away.Store(false)
		w.WaitUntil(34 * leaguetest.Second)
		assert.Equal(t, "ACTIVE 4 it answers again", agentLife(w, "P03"))
		finish(x)
		assert.Equal(t, "R5M3 REF01", resultsOf(w, "P03")[4])
	})
}

// The manager pings a suspended agent every 15 s during a round.
func TestSuspendedPlayerReturnsDuringALongRound(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1, func(o *manager.Options) { o.SuspendAfter = 1 })
		w.Referee("REF01")
		away := playersWithOutage(w, 4, 25*leaguetest.Second)
		w.WaitUntil(1 * leaguetest.Second)
		away.Store(true)
		w.WaitUntil(40 * leaguetest.Second) // in the second round
		assert.Equal(t, "SUSPENDED 2 did not answer in its last match", agentLife(w, "P03"))
		away.Store(false)
		w.WaitUntil(46 * leaguetest.Second)
		assert.Equal(t, "ACTIVE 2 it answers again", agentLife(w, "P03"))
		w.Finish()
	})
}

// P02 answers pings but never invitations: each failure suspends it until the next ping, and
// ten failed matches end its participation.
func TestPlayerThatNeverJoinsIsShutDownAfterTenMatches(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, func(o *manager.Options) { o.Legs = 4 })
		w.RefereeWithFiles("REF01", x.Folder)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.Silent))
		w.Player("P03")
		w.Player("P04")
		x.Finish()
		want := slices.Repeat([]string{"P02 agent_suspended", "P02 agent_returned"}, 7)
		want = append(want, "P02 agent_shutdown", "R11M2 match_forfeited", "R12M2 match_forfeited")
		assert.Equal(t, want, agentDecisions(w, x.Folder))
		played := slices.DeleteFunc(resultsOf(w, "P02"), func(r string) bool { return strings.HasSuffix(r, "forfeited") })
		assert.Len(t, played, 10)
		assert.Equal(t, "SHUTDOWN 12 did not answer in its last 10 matches", agentLife(w, "P02"))
		assert.Len(t, w.Calls(protocol.NotifyRound.Name, "p02"), 10)
		assert.Len(t, w.Calls(protocol.NotifyLeagueCompleted.Name, "p02"), 1, "it still learns that the league is over")

		q := w.Application("Agent P02")
		q.Sender, q.AuthToken = protocol.PlayerSender("P02"), w.Token("P02")
		q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("p02")
		r := mustApply(w, q)
		assert.Equal(t, []string{protocol.StatusRejected, "E014"}, []string{r.Status, r.ErrorCode})
		assert.Equal(t, "the part of P02 in this league is over: it did not answer in its last 10 matches", *r.Reason)
		ask(w, "P02", protocol.QueryStandings)
		x.CloseAudited()
	})
}

// Without a reachable referee the league waits. It continues when a referee answers.
func TestLeagueWaitsUntilARefereeAnswers(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 2)
		referees := []*leaguetest.Agent{w.RefereeWithFiles("REF01", folder), w.RefereeWithFiles("REF02", folder)}
		w.Players(4, leaguetest.WithDelays(0, leaguetest.Second, 0))
		w.WaitUntil(leaguetest.Second / 2)
		for _, r := range referees {
			r.Stop()
		}
		w.WaitUntil(10 * time.Minute)
		recorded := x.Manager.Status().Recorded
		assigned := count(w.EventTypes(folder), "match_assigned")
		w.WaitUntil(20 * time.Minute)
		assert.Equal(t, recorded, x.Manager.Status().Recorded)
		assert.Equal(t, assigned, count(w.EventTypes(folder), "match_assigned"), "no attempt is used up while no referee answers")
		w.Open(leaguetest.NewAgent("REF02", nil), referees[1].Mux)
		finish(x)
		assert.Less(t, w.Now(), 21*time.Minute)
	})
}

func TestNextManagerContinuesSuspensions(t *testing.T) {
	for _, moment := range []time.Duration{10 * leaguetest.Second, 16 * leaguetest.Second, 22 * leaguetest.Second} {
		leaguetest.RunInMemory(t, moment.String(), func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 6, 1)
			w.RefereeWithFiles("REF01", folder)
			sixWithOutage(w)
			w.WaitUntil(moment)
			x.Kill()
			w.WaitUntil(moment + leaguetest.Second)
			x = w.StartManagerIn(folder, 6, 1)
			finish(x)
			assert.Equal(t, []string{"P03 agent_suspended", "R4M3 match_forfeited", "R5M3 match_forfeited"}, agentDecisions(w, folder))
		})
	}
}

func TestFailedAttemptStaysFailedAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.RefereeWithFiles("REF01", folder, leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)))
		w.Players(2)
		w.WaitUntil(11 * leaguetest.Second)
		assert.Equal(t, []string{"REF01 agent_failed"}, agentDecisions(w, folder))
		x.Kill()
		x = w.StartManagerIn(folder, 2, 1)
		finish(x)
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 2 at 13s"}, w.AssignmentLog())
	})
}

// The manager dies after round_announced and before the forfeits of that round.
func TestNextManagerRecordsMissingForfeits(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		const before = 1 + 7 + 7 + 7 + 1 + 3*(2+3*3) + 1 // events: start, three rounds, suspension of P03
		x := w.StartMortalManager(leaguetest.CrashPoint{Event: before + 1, When: leaguetest.BeforeTelling}, folder, 6, 1)
		w.RefereeWithFiles("REF01", folder)
		sixWithOutage(w)
		w.WaitUntil(24 * leaguetest.Second)
		<-x.Died
		x.RestoreDisk()
		kinds := w.EventTypes(folder)
		require.Equal(t, []string{"agent_suspended", "round_announced"}, kinds[len(kinds)-2:])
		x = w.StartManagerIn(folder, 6, 1)
		finish(x)
		assert.Equal(t, []string{"P03 agent_suspended", "R4M3 match_forfeited", "R5M3 match_forfeited"}, agentDecisions(w, folder))
	})
}

func TestMatchesOfSlowPlayersAreAssignedLast(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1, func(o *manager.Options) { o.Concurrency = 1 })
		w.Referee("REF01")
		w.Player("P01", leaguetest.On(protocol.Invite.Name, leaguetest.Silent))
		for n := 2; n <= 4; n++ {
			w.Player(league.PlayerID(n))
		}
		w.Finish()
		var order []string
		for _, e := range w.Calls(protocol.StartMatch.Name) {
			q := leaguetest.Decode[protocol.MatchAssignment](e.Message)
			slow := ""
			if q.PlayerA.PlayerID == "P01" || q.PlayerB.PlayerID == "P01" {
				slow = " slow"
			}
			order = append(order, fmt.Sprint("round ", q.RoundID, slow))
		}
		assert.Equal(t, []string{"round 1 slow", "round 1", "round 2", "round 2 slow", "round 3", "round 3 slow"}, order)
	})
}

// A local fault of the manager does not count against the referee.
func TestLocalFaultOfTheManagerIsNoRefereeFailure(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 2, func(o *manager.Options) {
			o.SuspendAfter = 1
			o.Caller = failingCaller{o.Caller, func(r protocol.CallRequest) error {
				if r.Method == protocol.StartMatch.Name && w.Now() < 10*leaguetest.Second {
					return leaguetest.NoDescriptors{}
				}
				return nil
			}}
		})
		w.RefereeWithFiles("REF01", folder)
		w.RefereeWithFiles("REF02", folder)
		w.Players(4)
		finish(x)
		assert.Empty(t, agentDecisions(w, folder))
		assert.Less(t, w.Now(), time.Minute)
	})
}
