package manager_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

func TestRestartOfACompletedLeagueChangesNothing(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.Referee("REF01")
		w.Players(4)
		first := x.Finish()
		require.NoError(t, x.CloseFiles())
		x.Agent.Stop()
		w.CheckFiles(folder)
		all := func(*leaguetest.Exchange) bool { return true }
		before, calls := string(leaguetest.ReadJournal(w, folder)), w.Recorder.All(all)
		for range 2 {
			w.WaitUntil(w.Now() + leaguetest.Second)
			x = w.StartManagerIn(folder, 4, 1)
			assert.Equal(t, first.Champion, x.Finish().Champion)
			assert.Equal(t, first.FinalStandings, x.Final.FinalStandings)
			x.Kill()
		}
		assert.Equal(t, before, string(leaguetest.ReadJournal(w, folder)))
		w.CheckFiles(folder)
		assert.Len(t, w.Recorder.All(all), len(calls), "no further calls")
	})
}

func TestMissingFilesOfACompletedLeagueAreRestored(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(standings, rounds string) error
	}{
		{"no standings", func(standings, _ string) error { return os.Remove(standings) }},
		{"no rounds", func(_, rounds string) error { return os.Remove(rounds) }},
		{"damaged standings", func(standings, _ string) error { return os.Truncate(standings, 100) }},
		{"damaged rounds", func(_, rounds string) error { return os.Truncate(rounds, 100) }},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 4, 1)
			w.Referee("REF01")
			w.Players(4)
			x.Finish()
			x.Kill()
			require.NoError(t, test.harm(folder.Standings(leaguetest.LeagueID), folder.Rounds(leaguetest.LeagueID)))
			x = w.StartManagerIn(folder, 4, 1)
			x.Finish()
			x.Kill()
			w.CheckFiles(folder)
		})
	}
}

// After the end the journal may fail: then nothing is acknowledged any more, and the manager ends as Run does.
func TestFailureOfTheJournalEndsTheManagerAfterTheEnd(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01")
		w.Players(2)
		x.Finish()
		failure := errors.New("no space")
		time.AfterFunc(time.Hour, func() { x.Files.Fail(failure) })
		require.ErrorIs(t, x.Manager.Linger(w.Context), failure)
		assert.GreaterOrEqual(t, w.Now(), time.Hour)
	})
}

// An agent that is unreachable at the end learns it once after its return, from this manager
// or the next one.
func TestReturningAgentLearnsThatTheLeagueIsOver(t *testing.T) {
	for name, restarts := range map[string]bool{"while the manager waits": false, "after its restart": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
			w.Referee("REF01")
			w.Player("P01")
			absent := true
			away := w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
				if absent {
					return nil, leaguetest.ErrHangUp
				}
				return c.OwnAnswer()
			}))
			x.Finish()
			informed := func() int {
				kinds := w.EventTypes(x.Folder)
				return len(kinds) - 1 - slices.Index(kinds, "completed")
			}
			require.Equal(t, 2, informed())
			if restarts {
				x.Kill()
				x = w.StartManagerIn(x.Folder, 2, 1)
				x.Finish() // P02 is still unreachable
				require.Equal(t, 2, informed())
			}
			calls := w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02")
			absent = false
			for range 2 { // it re-registers twice before it learns that the league is over
				require.NoError(t, away.Player.Register(w.Context))
			}
			lingering := w.InBackground(func() { assert.NoError(t, x.Manager.Linger(w.Context)) })
			synctest.Wait()
			assert.Equal(t, calls+1, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "the first two return one notification")
			require.NoError(t, away.Player.Register(w.Context))
			synctest.Wait()
			assert.Equal(t, calls+2, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "an agent that re-registers may have forgotten it")
			assert.True(t, leaguetest.IsClosed(away.Player.Done()))
			assert.Equal(t, 3, informed())
			w.Cancel()
			<-lingering
		})
	}
}

// An agent that registers again while LEAGUE_COMPLETED is under way gets it once more: the acknowledgement may be that of
// a process which has crashed since.
func TestAgentThatReturnsDuringTheLastMessageGetsItAgain(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01")
		w.Player("P01")
		var back *leaguetest.Agent
		known := make(chan struct{})
		forgotten := func(*leaguetest.Call) (jsontext.Value, error) {
			<-known
			assert.NoError(t, back.Player.Register(w.Context))
			return leaguetest.Encode(protocol.Ack{Status: protocol.StatusAcknowledged}), nil
		}
		back = w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, leaguetest.FirstN(1, forgotten, leaguetest.Normally)))
		close(known)
		require.NotNil(t, x.Finish())
		assert.Equal(t, 2, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"))
		assert.True(t, leaguetest.IsClosed(back.Player.Done()))
	})
}

// An agent has acknowledged LEAGUE_COMPLETED, crashes and returns while Run ends: then Linger tells it.
func TestAgentThatReturnsWhileRunEndsIsToldLater(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01")
		acknowledged := make(chan struct{})
		back := w.Player("P01", leaguetest.On(protocol.NotifyLeagueCompleted.Name, leaguetest.InTurn(
			func(*leaguetest.Call) (jsontext.Value, error) {
				defer close(acknowledged)
				return leaguetest.Encode(protocol.Ack{Status: protocol.StatusAcknowledged}), nil
			}, leaguetest.Silent, leaguetest.Normally)))
		w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, leaguetest.Silent)) // Run waits for it
		<-acknowledged
		time.Sleep(20 * time.Second)
		require.NoError(t, back.Player.Register(w.Context))
		require.NotNil(t, x.Finish())
		require.False(t, leaguetest.IsClosed(back.Player.Done()))
		lingering := w.InBackground(func() { assert.NoError(t, x.Manager.Linger(w.Context)) })
		time.Sleep(time.Minute)
		assert.True(t, leaguetest.IsClosed(back.Player.Done()))
		w.Cancel()
		<-lingering
	})
}

// LEAGUE_COMPLETED is sent until the agent has it, because an agent ends with it. An agent that answers it with an
// error gets it three times, and again when it returns.
func TestRefusedEndOfTheLeagueIsSentAgain(t *testing.T) {
	for name, failure := range map[string]error{
		"refused":               protocol.Fault(protocol.ErrTokenInvalid, "not now"),
		"refused for a while":   protocol.Fault(protocol.ErrRateLimited, "not now"),
		"failed":                errors.New("the handler failed"),
		"lost with its replies": leaguetest.ErrHangUp,
	} {
		for _, refusals := range []int{2, 20} { // Run ends before the second
			leaguetest.RunInMemory(t, fmt.Sprintf("%s %d times", name, refusals), func(t *testing.T, w *leaguetest.World) {
				x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
				w.Referee("REF01")
				w.Player("P01")
				calls := 0
				stubborn := w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
					if calls++; calls <= refusals {
						return nil, failure
					}
					return c.OwnAnswer()
				}))
				require.NotNil(t, x.Finish())
				require.Equal(t, refusals == 2, leaguetest.IsClosed(stubborn.Player.Done()))
				lingering := w.InBackground(func() { assert.NoError(t, x.Manager.Linger(w.Context)) })
				time.Sleep(12 * time.Minute)
				if refusals == 20 && (name == "refused" || name == "failed") {
					_, err := w.Query("P02", protocol.QueryStatus).Send()
					require.NoError(t, err)
					time.Sleep(time.Minute)
					assert.Equal(t, 3, calls, "also after a query")
					refusals, calls = 3, 3
					require.NoError(t, stubborn.Player.Register(w.Context))
					synctest.Wait()
				}
				assert.True(t, leaguetest.IsClosed(stubborn.Player.Done()))
				assert.Equal(t, refusals+1, calls, "no call after it has the message")
				w.Cancel()
				<-lingering
			})
		}
	}
}

// Run returns when each agent has had its last call, so that a manager that ends with its league does not wait for
// ever.
func TestRunEndsSoonAfterRefusals(t *testing.T) {
	unknown := &transport.Error{Code: transport.CodeMethodNotFound, Message: "Method not found"}
	thirdParty := &transport.Error{Code: -32000, Message: "Unknown method"}
	for _, tt := range []struct {
		name    string
		failure error
		want    time.Duration
	}{
		{"an agent that refuses it", protocol.Fault(protocol.ErrTokenInvalid, "never"), 6 * time.Second},
		{"an agent that does not know it", unknown, 0},
		{"a third-party agent that does not know it", thirdParty, 0},
		{"an agent with another error of its server", &transport.Error{Code: -32000, Message: "busy"}, 6 * time.Second},
	} {
		leaguetest.RunInMemory(t, tt.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
			w.Referee("REF01")
			w.Player("P01")
			var first time.Time
			w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, func(*leaguetest.Call) (jsontext.Value, error) {
				if first.IsZero() {
					first = time.Now()
				}
				return nil, tt.failure
			}))
			x.Finish()
			assert.Equal(t, tt.want, time.Since(first))
		})
	}
}

// Run ends within 30 s of the last result, with 5 s for the server, whatever agents do not answer. A restarted
// manager counts from its start.
func TestRunEndsWithinHalfAMinuteOfTheLastResult(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		everyMatch := func(o *manager.Options) { o.Broadcast = journal.BroadcastMatch }
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, everyMatch)
		silent := []leaguetest.Option{
			leaguetest.On(protocol.UpdateStandings.Name, leaguetest.Silent), leaguetest.On(protocol.NotifyRoundCompleted.Name, leaguetest.Silent),
			leaguetest.On(protocol.NotifyLeagueCompleted.Name, leaguetest.Silent), leaguetest.On(protocol.GetMatchTranscript.Name, leaguetest.Silent),
		}
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t), silent...)
		w.Players(4, silent...)
		require.NotNil(t, x.Finish())
		reports := w.Calls(protocol.ReportMatchResult.Name)
		took := w.Now() - reports[len(reports)-1].At
		assert.InDelta(t, 25*leaguetest.Second, took, float64(leaguetest.Second))
		before := w.Now()
		require.NoError(t, x.CloseFiles())
		x = w.StartManagerIn(x.Folder, 4, 1)
		require.NotNil(t, x.Finish())
		assert.InDelta(t, 25*leaguetest.Second, w.Now()-before, float64(leaguetest.Second))
	})
}

// A referee gets LEAGUE_COMPLETED, with which it ends, after it was asked for its transcripts, also if it sends a
// query meanwhile, and also from a manager that was restarted.
func TestTranscriptsComeBeforeTheEndOfTheLeague(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		leaguetest.RunOnWire(t, fmt.Sprintf("restarts=%t", restarts), func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			var x *leaguetest.ManagerRun
			x = w.StartManagerIn(folder, 2, 1, func(o *manager.Options) {
				o.Over = func(*protocol.LeagueCompleted) {
					if restarts {
						x.Cancel()
						time.Sleep(time.Second) // the manager has noticed
					}
				}
			})
			asked := false
			deliver := func(c *leaguetest.Call) (jsontext.Value, error) {
				_, err := w.Query("REF01", protocol.QueryStatus).Send()
				assert.NoError(t, err)
				time.Sleep(3 * time.Second)
				asked = true
				return c.OwnAnswer()
			}
			end := func(c *leaguetest.Call) (jsontext.Value, error) {
				assert.True(t, asked, "the transcript is delivered before the end")
				return c.OwnAnswer()
			}
			w.RefereeWithFiles("REF01", leaguetest.TempFolder(t),
				leaguetest.On(protocol.GetMatchTranscript.Name, deliver),
				leaguetest.On(protocol.NotifyLeagueCompleted.Name, end))
			w.Players(2)
			if restarts {
				<-x.Done
				assert.Zero(t, w.CountCalls(protocol.GetMatchTranscript.Name, "ref01"))
				require.NoError(t, x.CloseFiles())
				x = w.StartManagerIn(folder, 2, 1)
			}
			require.NotNil(t, x.Finish())
			assert.Equal(t, 1, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "ref01"))
			doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
			require.NoError(t, err)
			assert.NotEmpty(t, doc.Transcript)
		})
	}
}

// The manager does not call an agent for ever at whose endpoint nothing listens. An agent that
// missed the message and is there again is told when it sends a query.
func TestAgentThatWasGoneIsToldWhenItSendsAQuery(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01")
		w.Player("P01")
		called := make(chan struct{})
		end := sync.OnceFunc(func() { close(called) })
		gone := w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, func(*leaguetest.Call) (jsontext.Value, error) {
			end()
			return nil, leaguetest.ErrHangUp
		}))
		w.InBackground(func() {
			<-called
			gone.Stop()
		})
		x.Finish()
		lingering := w.InBackground(func() { assert.NoError(t, x.Manager.Linger(w.Context)) })
		time.Sleep(time.Minute)
		calls := w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02")
		time.Sleep(time.Hour)
		require.Equal(t, calls, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "it is gone")
		require.LessOrEqual(t, calls, 9)

		for _, id := range []string{"P01", "P02"} {
			_, err := w.Query(id, protocol.QueryStatus).Send()
			require.NoError(t, err)
		}
		synctest.Wait()
		assert.Equal(t, calls+1, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"))
		assert.Equal(t, 1, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p01"), "it has had it")
		w.Cancel()
		<-lingering
	})
}
