package manager_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// deliverLate delivers again all calls that the manager before made before a moment, and each tool that it may call.
func deliverLate(w *leaguetest.World, calls []leaguetest.Exchange, delivered map[string]int) {
	caller := w.Caller(leaguetest.ManagerHost, 1<<20)
	for _, e := range calls {
		methods := []string{e.Method}
		if e.Method == protocol.GetMatchTranscript.Name { // the params of all tools are alike
			methods = append(methods, protocol.GetMatchState.Name, protocol.Ping.Name)
		}
		for _, method := range methods {
			q := protocol.CallRequest{
				Endpoint: leaguetest.EndpointOf(e.To), Bearer: e.Bearer, Method: method, Params: e.Message, Limit: 5 * time.Second,
				Decode: func(raw []byte) (any, error) { return string(raw), nil },
			}
			_, _, _ = caller.Call(w.Context, q) // an agent may refuse it
			delivered[method]++
		}
	}
}

// Messages have no term: a call of the leader before may arrive after the takeover. The numbers of attempts, the
// versions of standings and what agents know decide, so that it changes nothing.
func TestLateCallsOfTheLeaderBeforeChangeNothing(t *testing.T) {
	t.Parallel()
	const players = 4
	want := map[string]string{}
	delivered := map[string]int{}
	for _, crash := range []int{0, 19, 27, 33, 42, 43} { // none, in rounds 1, 2 and 3, and at the end
		synctest.Test(t, func(t *testing.T) {
			w := leaguetest.NewWorld(t, leaguetest.Wire, zerolog.Nop())
			defer w.Close()
			folder := leaguetest.TempFolder(t)
			x := w.StartMortalManager(leaguetest.CrashPoint{Event: crash, When: leaguetest.AfterTelling}, folder, players, 1, withPause)
			succession := w.InBackground(func() {
				if crash == 0 {
					return
				}
				<-x.Died
				x.RestoreDisk()
				time.Sleep(leaguetest.Second)
				old := w.Recorder.All(func(e *leaguetest.Exchange) bool { return e.From == leaguetest.ManagerHost })
				x = w.StartManagerIn(folder, players, 1, withTakeover)
				deliverLate(w, old, delivered)
				time.Sleep(6 * leaguetest.Second) // in the next round
				deliverLate(w, old, delivered)
			})
			w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
			w.Players(players)
			<-succession
			state := finish(x)
			for _, m := range state.Matches() {
				assert.Len(t, m.Attempts, 1, "%s", m.Report.MatchID)
			}
			assertSameResults(t, want, leaguetest.Results(x.Manager))
			report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game)})
			require.NoError(t, err)
			assert.Empty(t, report.Leagues[0].Findings)
		})
	}
	for _, m := range []string{
		protocol.StartMatch.Name, protocol.NotifyRound.Name, protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name,
		protocol.NotifyLeagueCompleted.Name, protocol.GetMatchTranscript.Name, protocol.GetMatchState.Name,
		protocol.Ping.Name,
	} {
		assert.NotZero(t, delivered[m], "%s: %v", m, delivered)
	}
}

// assertSameResults compares results with those of an undisturbed league, which come first.
func assertSameResults(t *testing.T, want map[string]string, results []record.Match) {
	t.Helper()
	first := len(want) == 0
	for _, r := range results {
		got := string(leaguetest.Encode(r))
		if first {
			want[r.MatchID] = got
		}
		assert.JSONEq(t, want[r.MatchID], got)
	}
	assert.Len(t, results, len(want))
}

// A heldEnd is the part in a stream of a manager that is cut off while hold is open.
type heldEnd struct {
	*end
	hold *atomic.Pointer[chan struct{}]
}

func (e *heldEnd) Append(first int, lines []byte) error {
	if hold := e.hold.Load(); hold != nil {
		<-*hold
	}
	return e.end.Append(first, lines)
}

// A leader is cut off with a line under way. The standby takes over, and records nothing else. When the leader
// before returns, its line is refused, so that nobody learns of it, and it ends.
func TestTakeoverAloneFencesTheLeaderBefore(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		stream, hold := &streams{most: 1 << 20}, &atomic.Pointer[chan struct{}]{}
		w.Shared = func() *manager.Shared {
			return &manager.Shared{Stream: &heldEnd{&end{streams: stream}, hold}, Master: protocol.MasterSecret(strings.Repeat("secret", 8))}
		}
		old := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, withPause)
		w.Player("P01")
		synctest.Wait()
		cut := make(chan struct{})
		hold.Store(&cut)
		asked := make(chan error)
		go func() {
			_, err := w.TryToOrganise(protocol.CommandPause)
			asked <- err
		}()
		synctest.Wait()
		hold.Store(nil)
		known := len(stream.lines)
		next, o := w.OpenManager(leaguetest.CrashPoint{}, leaguetest.TempFolder(t), 4, 1, withTakeover)
		_, err := manager.New(o)
		require.NoError(t, err)
		require.Equal(t, known+1, len(stream.lines)) //nolint:testifylint // Len prints all lines
		assert.Contains(t, string(stream.lines[known]), `"type":"manager_took_over"`)
		close(cut)
		require.Error(t, <-asked)
		<-old.Done
		require.ErrorIs(t, old.Err, journalfile.ErrLost)
		require.ErrorIs(t, old.CloseFiles(), journalfile.ErrLost)
		assert.Equal(t, known+1, len(stream.lines)) //nolint:testifylint // the same
		require.NoError(t, next.CloseFiles())
		old.Agent.Stop()
	})
}

// sourcesOf are the rows of the table in docs/operators.md that says where a new leader has each thing from.
func sourcesOf(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| of the leader before | a new leader has it from |\n| --- | --- |\n")
	require.True(t, found)
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		for thing := range strings.SplitSeq(cells[1], ", ") {
			rows[strings.TrimSpace(thing)], _, _ = strings.Cut(strings.TrimSpace(cells[2]), ":")
		}
	}
	return rows
}

// A new leader has a folder that is empty. Each thing is there although it was removed with the folder before, and
// missing without its source.
func TestNewLeaderHasEachThingFromItsSource(t *testing.T) {
	from := map[string]string{}
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		stream, master := &streams{most: 1 << 20}, protocol.MasterSecret(strings.Repeat("secret", 8))
		w.Shared = func() *manager.Shared { return &manager.Shared{Stream: &end{streams: stream}, Master: master} }
		var x *leaguetest.ManagerRun
		takeOver := func(change ...func(*manager.Options)) {
			if x != nil {
				x.Kill()
			}
			shared := func(o *manager.Options) { o.Secret = nil }
			x = w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, append([]func(*manager.Options){withTakeover, shared}, change...)...)
			w.Secret, _ = master.Secret(leaguetest.LeagueID, x.Files.State.Created.SecretNonce)
		}
		takeOver(withRoster(class...))
		token := x.Manager.AdminToken()
		refereesFolder, start := leaguetest.TempFolder(t), w.Clock.Now().Add(time.Minute)
		w.RefereeWithFiles("REF01", refereesFolder)
		alice := playerWithCode(w, "laptop", "Alice")
		playerWithCode(w, "bobs", "Bob")
		ask(w, "P01", protocol.QueryStatus)
		alice.Stop()
		alice = playerWithCode(w, "phone", "Alice") // with a second token
		w.Organise(protocol.CommandStart, leaguetest.StartAt(start))
		exhaust := func() (n int) {
			for ; n < 1000; n++ {
				_, err := getStandings(w, x.Manager.AdminToken())
				if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrRateLimited {
					break
				}
			}
			return n
		}
		exhaust()

		takeOver(withRoster(class...))
		assert.GreaterOrEqual(t, exhaust(), 100)
		from["limits of callers"] = "nowhere"
		assert.Equal(t, token, x.Manager.AdminToken())
		from["admin token"] = "the secret"
		assert.Equal(t, w.TokenOf("P01", 2), alice.Player.Token())
		_, err := w.Query("P01", protocol.QueryStatus).Send()
		require.ErrorContains(t, err, "auth_token has expired", "the first token")
		from["tokens"], from["keys"], from["generations of tokens"] = "the secret", "the secret", "the journal"
		_, _, err = manager.OpenFiles(leaguetest.TempFolder(t), leaguetest.LeagueID, false,
			&manager.Shared{Stream: &end{streams: stream}, Master: []byte("another")})
		require.ErrorContains(t, err, "another secret")
		none := manager.Shared{Stream: &end{streams: &streams{most: 1 << 20}}, Master: master}
		empty, _, err := manager.OpenFiles(leaguetest.TempFolder(t), leaguetest.LeagueID, false, &none)
		require.NoError(t, err)
		assert.Zero(t, empty.State.Events, "without the journal there is nothing")
		require.NoError(t, empty.Close())
		assert.Equal(t, 2, x.Manager.Status().Players)
		assert.Equal(t, protocol.FormatTimestamp(start), x.Manager.Status().StartAt)
		from["agents"], from["planned start"] = "the journal", "the journal"
		w.PingOnly("other")
		assert.NotEmpty(t, applyWithCode(w, "Eve", "other", "").ErrorCode)
		takeOver() // without the file
		assert.Empty(t, applyWithCode(w, "Eve", "other", "").ErrorCode)
		from["roster"] = "the operator's files"
		time.Sleep(leaguetest.Second)
		w.Organise(protocol.CommandWithdraw, leaguetest.About("P03"))
		takeOver(withRoster(class...), func(o *manager.Options) { o.Pace = 60 })
		playerWithCode(w, "carols", "Carol")
		w.WaitUntil(150 * leaguetest.Second) // the first round is over
		w.Organise(protocol.CommandPause)
		told := w.CountCalls(protocol.UpdateStandings.Name, "phone")
		played := leaguetest.Results(x.Manager)
		require.NotEmpty(t, played)

		takeOver(withRoster(class...))
		synctest.Wait()
		assert.Equal(t, played, leaguetest.Results(x.Manager))
		assert.NotNil(t, x.Files.State.Paused)
		from["results"], from["rounds"], from["decisions of the organiser"] = "the journal", "the journal", "the journal"
		time.Sleep(leaguetest.Second)
		assert.Greater(t, w.CountCalls(protocol.UpdateStandings.Name, "phone"), told)
		from["broadcasts"] = "again"
		w.Organise(protocol.CommandResume)
		finish(x)
		for _, r := range played {
			doc, err := store.Read[store.Match](x.Folder.Disk, x.Folder.Match(leaguetest.LeagueID, r.MatchID))
			require.NoError(t, err)
			assert.Equal(t, store.WrittenByReferee, doc.WrittenBy, "with its transcript")
		}
		from["match files"] = "the referees"
	})
	// The lease has their digests: package cmd tests that each file has one, and package journalstream that a standby
	// with others does not lead. The other things are in the memory of a process, and package cmd starts a new one.
	for _, thing := range []string{"codes", "configuration", "certificates", "allowed endpoints"} {
		from[thing] = "the operator's files"
	}
	from["breakers"], from["streams of pages"] = "nowhere", "nowhere"
	assert.Equal(t, sourcesOf(t), from)
}

// The clocks of two managers differ by hours: the second one takes over in the first round, by the same journal. Times
// of the journal go back, or forward beyond the age of all tokens. No player loses a match, and tokens of before are as
// valid as their age by the clock of the leader says.
func TestNewLeaderMayHaveAnotherClock(t *testing.T) {
	for _, ahead := range []time.Duration{-3 * time.Hour, 3 * time.Hour, -87_660 * time.Hour, 87_660 * time.Hour} {
		leaguetest.RunInMemory(t, ahead.String(), func(t *testing.T, w *leaguetest.World) {
			stream := &streams{most: 1 << 20}
			w.Shared = func() *manager.Shared { return &manager.Shared{Stream: &end{streams: stream}} }
			x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, withTakeover, daily)
			files := leaguetest.TempFolder(t)
			w.RefereeWithFiles("REF01", files)
			slow := leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(3*time.Second, leaguetest.Normally))
			w.Players(4, slow)
			w.WaitUntil(2 * leaguetest.Second)
			x.Kill()
			w.ManagerTraits = leaguetest.Options(leaguetest.WithClock(ahead))
			x = w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, withTakeover, daily)
			finish(x)
			assert.Less(t, w.Now(), time.Minute)
			for _, r := range leaguetest.Results(x.Manager) {
				assert.NotEqual(t, league.StatusTechnicalLoss, r.Status, r.Reason)
			}
			if ahead < 24*time.Hour {
				require.NoError(t, statusWith(w, "P01", w.Token("P01")))
			}
		})
	}
}

// daily makes tokens valid for a day.
func daily(o *manager.Options) { o.TokenTTL = 24 * 3600 }
