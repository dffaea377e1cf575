package referee_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// unreported lets a referee stop after it has played R1M1 and failed to report it. So many reports
// fail.
func unreported(w *leaguetest.World, failures int) (folder store.Folder, manager *leaguetest.Agent, commitment string) {
	w.T.Helper()
	folder, manager, r := refereeWithFiles(w,
		leaguetest.FirstN(failures, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally))
	w.Players(2)
	ack := w.HandOver(manager, r, "R1M1", 1)
	w.WaitUntil(1 * leaguetest.Second)
	r.StopReferee()
	require.Equal(w.T, []string{leaguetest.AttemptFile(1)}, leaguetest.MatchFiles(w.T, folder))
	return folder, manager, ack.DrawCommitment
}

func TestRestartedRefereeReportsFinishedMatches(t *testing.T) {
	for _, test := range []struct {
		name     string
		assigned bool // the manager assigns the match again
	}{{"after its re-registration", false}, {"and when it gets the match again", true}} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, manager, commitment := unreported(w, 2)
			assert.Equal(t, protocol.StateFinished, leaguetest.ReadMatchFile(t, folder, leaguetest.AttemptFile(1)).Lifecycle.State)

			w.WaitUntil(30 * leaguetest.Second)
			r := w.RefereeWithFiles("REF01", folder)
			if test.assigned {
				again := w.HandOver(manager, r, "R1M1", 2)
				assert.Equal(t, 1, again.Attempt)
				assert.Equal(t, commitment, again.DrawCommitment)
			}
			w.WaitUntil(60 * leaguetest.Second)
			reports := w.Calls(protocol.ReportMatchResult.Name)
			require.Len(t, reports, 3)
			assert.JSONEq(t, string(leaguetest.Edit(reports[0].Message, "timestamp", nil)), string(leaguetest.Edit(reports[2].Message, "timestamp", nil)))
			assert.Len(t, w.Calls(protocol.Invite.Name), 2, "no second match")
			assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder))
			doc := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
			assertSameResult(t, doc, leaguetest.Decode[protocol.MatchResultReport](reports[2].Message))
			assert.Equal(t, append(append([]string{}, finishedStates...), "ACKNOWLEDGED"), statesOf(doc))
			assert.Equal(t, normalCourse(slices.Concat(joined, chosen)...), transcriptWith(doc, "P01"))
		})
	}
}

// A referee that dies in a match abandons the attempt. If it gets the same attempt again, it must draw
// as it committed.
func TestRestartedRefereeAbandonsUnfinishedMatches(t *testing.T) {
	for _, test := range []struct {
		name    string
		crashed bool // it wrote nothing
		again   int  // the attempt after the restart
	}{{"stopped", false, 2}, {"killed", true, 2}, {"stopped, the same attempt", false, 1}, {"killed, the same attempt", true, 1}} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.Varies = true
			folder := leaguetest.TempFolder(t)
			manager := w.ScriptedManager()
			r := w.RefereeWithFiles("REF01", folder, leaguetest.WithRandomSecrets)
			w.Player("P01", leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)))
			w.Player("P02")
			before := w.HandOver(manager, r, "R1M1", 1)
			w.WaitUntil(1 * leaguetest.Second)
			r.StopReferee()
			w.WaitUntil(2 * leaguetest.Second)
			doc := leaguetest.ReadMatchFile(t, folder, leaguetest.AttemptFile(1))
			assert.Equal(t, []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "ABANDONED"}, statesOf(doc))
			assert.Nil(t, doc.Result)
			assert.Nil(t, doc.Draw, "the nonce of an unfinished attempt stays secret")
			if test.crashed {
				require.NoError(t, os.RemoveAll(folder.Matches(leaguetest.LeagueID)))
			}

			r = w.RefereeWithFiles("REF01", folder, leaguetest.WithRandomSecrets)
			w.WaitUntil(10 * leaguetest.Second)
			assert.Empty(t, w.Calls(protocol.ReportMatchResult.Name), "it has nothing to report")
			again := w.HandOver(manager, r, "R1M1", test.again)
			assert.Equal(t, test.again, again.Attempt)
			assert.Equal(t, test.again == 1, again.DrawCommitment == before.DrawCommitment)
			w.WaitUntil(60 * leaguetest.Second)
			report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
			assert.Equal(t, []any{test.again, again.DrawCommitment}, []any{report.Attempt, report.Draw.Commitment})
			assert.Equal(t, test.again, leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile).Attempt)
		})
	}
}

func TestFinishedMatchIsReportedFromItsFile(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.Normally)
		w.Players(2)
		ack := w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(1 * leaguetest.Second)
		r.StopReferee()
		r = w.RefereeWithFiles("REF01", folder)
		w.WaitUntil(10 * leaguetest.Second)
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost) // it was acknowledged

		q := &protocol.ToolRequest{MatchID: "R1M1"}
		q.AuthToken = w.Token("REF01")
		state, err := protocol.GetMatchState.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(r.Host)}, q)
		require.NoError(t, err)
		assert.Equal(t, w.GameOver("p01").GameResult, state.GameResult)

		again := w.HandOver(manager, r, "R1M1", 3)
		assert.Equal(t, []any{1, ack.DrawCommitment}, []any{again.Attempt, again.DrawCommitment})
		w.WaitUntil(20 * leaguetest.Second)
		reports := w.Calls(protocol.ReportMatchResult.Name)
		require.Len(t, reports, 2)
		assert.JSONEq(t, string(leaguetest.Edit(reports[0].Message, "timestamp", nil)), string(leaguetest.Edit(reports[1].Message, "timestamp", nil)))
		assert.Len(t, w.Calls(protocol.Invite.Name), 2, "no second match")
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder))
	})
}

func TestUnusableRecordIsIgnored(t *testing.T) {
	resealed := func(change func(text string) string) func(string) string {
		return func(text string) string { return string(leaguetest.Resealed([]byte(change(text)))) }
	}
	for _, test := range []struct {
		name   string
		change func(text string) string
		logged bool
	}{
		{"cut", func(text string) string { return text[:len(text)/2] }, true},
		{"cut in the first line", func(text string) string { return text[:10] }, true},
		{"without a member", resealed(func(text string) string { return strings.Replace(text, `"match_id"`, `"match"`, 1) }), true},
		{"empty", func(string) string { return "" }, false},
		{"of another league", resealed(func(text string) string { return strings.Replace(text, leaguetest.LeagueID, "another", 1) }), true},
		{"of another match", resealed(func(text string) string { return strings.Replace(text, `"match_id":"R1M1"`, `"match_id":"R1M2"`, 1) }), true},
		{"of another attempt", resealed(func(text string) string { return strings.Replace(text, `"attempt":1`, `"attempt":2`, 1) }), true},
		{"of another referee", resealed(func(text string) string { return strings.Replace(text, `"REF01"`, `"REF02"`, 1) }), true},
		{"with another nonce", resealed(func(text string) string { return strings.ReplaceAll(text, `"nonce":"`, `"nonce":"00`) }), true},
		{"of a newer program", resealed(func(text string) string { return strings.Replace(text, `"1.0.0"`, `"2.0.0"`, 1) }), true},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, manager, _ := unreported(w, 1)
			path := folder.MatchLog(leaguetest.LeagueID, "REF01")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			changed := test.change(string(text))
			require.NotEqual(t, string(text), changed)
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))

			book := w.CaptureLog()
			r := w.RefereeWithFiles("REF01", folder)
			w.WaitUntil(20 * leaguetest.Second)
			w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
			assert.Equal(t, test.logged, strings.Contains(book.Text(), path))
			assert.Equal(t, 2, w.HandOver(manager, r, "R1M1", 2).Attempt)
			w.WaitUntil(40 * leaguetest.Second)
			reports := w.Calls(protocol.ReportMatchResult.Name)
			require.Len(t, reports, 2)
			assert.Equal(t, 2, leaguetest.Decode[protocol.MatchResultReport](reports[1].Message).Attempt)
		})
	}
}

// A referee does not play a match again whose result may be in a damaged line of its log.
func TestRefereeDoesNotStartWithADamagedLog(t *testing.T) {
	for _, test := range []struct {
		line       int // of three: the header, the result, and the exchanges after it
		old, found string
		want       string
	}{
		{1, "_id", "_ie", "line 1: the line is damaged: its checksum is wrong"},
		{2, "nonce", "nonde", "line 2: the line is damaged: its checksum is wrong"},
		{2, "crc32c", "crc33c", "line 2: the line is damaged: it has no checksum"},
		{3, "_id", "_ie", "line 3: the line is damaged: its checksum is wrong"},
		{3, "\n", "\v", "line 3: the line is damaged: it does not end with a line feed"},
	} {
		leaguetest.RunInMemory(t, test.want, func(t *testing.T, w *leaguetest.World) {
			folder, _, _ := unreported(w, 1)
			path := folder.MatchLog(leaguetest.LeagueID, "REF01")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := strings.SplitAfter(string(text), "\n")
			require.Len(t, lines, 4)
			require.Contains(t, lines[test.line-1], test.old)
			lines[test.line-1] = strings.Replace(lines[test.line-1], test.old, test.found, 1)
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644))

			r := w.NewRefereeWithFiles("REF01", folder)
			for range 2 {
				err = r.Referee.Register(w.Context)
				require.ErrorContains(t, err, "cannot read the matches that this referee has finished: "+path+": ")
				require.ErrorContains(t, err, test.want+": repair the disk or restore the file, and start again")
			}
			r.StopReferee()
			require.NoError(t, os.WriteFile(path, text, 0o644))
			w.RefereeWithFiles("REF01", folder)
			w.WaitUntil(20 * leaguetest.Second)
			assert.Len(t, w.Calls(protocol.ReportMatchResult.Name), 2)
			assert.Len(t, w.Calls(protocol.Invite.Name), 2, "no second match")
		})
	}
}

func TestResultsOfAnotherRefereeAreIgnored(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		manager := w.ScriptedManager()
		first, second := w.RefereeWithFiles("REF01", folder), w.RefereeWithFiles("REF02", folder)
		w.Players(2)
		w.HandOver(manager, first, "R1M1", 1)
		w.WaitUntil(time.Second)
		assert.Equal(t, 2, w.HandOver(manager, second, "R1M1", 2).Attempt, "it conducts the match")
		w.WaitUntil(2 * time.Second)
		assert.Equal(t, "REF02", leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile).RefereeID)
	})
}

func TestMatchFilesOfAnOlderLeagueAreArchived(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.Normally)
		w.Players(2)
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(1 * leaguetest.Second)
		r.StopReferee()
		require.NoError(t, os.RemoveAll(filepath.Join(folder.Path, "private"))) // its identity is lost

		first, second := w.NewRefereeWithFiles("REF01", folder), w.NewRefereeWithFiles("REF02", folder)
		require.NoError(t, first.Referee.Register(w.Context))
		require.NoError(t, second.Referee.Register(w.Context))
		assert.Empty(t, leaguetest.MatchFiles(t, folder))
		old := filepath.Join(folder.Path, "archive", leaguetest.LeagueID+"-2000-01-01T000001Z-matches", "R1M1.json")
		assert.FileExists(t, old)
		assert.Equal(t, 1, w.HandOver(manager, first, "R1M1", 1).Attempt)
		w.WaitUntil(10 * time.Second)
		assert.Len(t, w.Calls(protocol.ReportMatchResult.Name), 2, "these are two matches")
		assert.FileExists(t, old)
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder))
	})
}

func TestUnwritableFilesDoNotStopAMatch(t *testing.T) {
	for _, test := range []struct {
		name  string
		block func(t *testing.T, folder store.Folder) string // returns a path that cannot be written
		left  []string
	}{
		{
			"no file can be written", func(t *testing.T, folder store.Folder) string {
				path := folder.Matches(leaguetest.LeagueID)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, nil, 0o644))
				return folder.MatchLog(leaguetest.LeagueID, "REF01")
			}, []string{leaguetest.LeagueID},
		},
		{
			"no record can be written", func(t *testing.T, folder store.Folder) string {
				path := folder.MatchLog(leaguetest.LeagueID, "REF01")
				require.NoError(t, os.MkdirAll(path, 0o755))
				return path
			}, []string{leaguetest.FirstMatchFile},
		},
		{
			"the final match file cannot be written", func(t *testing.T, folder store.Folder) string {
				path := folder.Match(leaguetest.LeagueID, "R1M1")
				require.NoError(t, os.MkdirAll(path, 0o755))
				return path
			}, []string{},
		},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, book := leaguetest.TempFolder(t), w.CaptureLog()
			manager := w.ScriptedManager()
			r := w.RefereeWithFiles("REF01", folder)
			path := test.block(t, folder)
			w.Players(2)
			w.HandOver(manager, r, "R1M1", 1)
			w.WaitUntil(20 * leaguetest.Second)
			w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
			assert.Len(t, w.Calls(protocol.NotifyMatchResult.Name), 2)
			assert.ElementsMatch(t, test.left, leaguetest.MatchFiles(t, folder))
			assert.Contains(t, book.Text(), `"level":"error"`)
			assert.Contains(t, book.Text(), path)
			if slices.Contains(test.left, leaguetest.FirstMatchFile) {
				assert.NotEmpty(t, leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile).Transcript)
			}
		})
	}
}

func TestStoppingRefereeFinishesItsMatches(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w,
			leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally))
		w.Player("P01", leaguetest.WithDelays(4*leaguetest.Second, 0, 0))
		w.Player("P02")
		ack := w.HandOver(manager, r, "R1M1", 1)
		var took time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Referee.Finish(w.Context)
			took = w.Now()
		}()
		w.WaitUntil(1 * leaguetest.Second)
		other, err := w.Assign(manager, r, w.Assignment("R1M2", 1, "REF01"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusRejected, other.Status)
		assert.Equal(t, "this referee is stopping", other.Reason)
		assert.Equal(t, ack.DrawCommitment, w.HandOver(manager, r, "R1M1", 1).DrawCommitment, "its own match continues")
		<-done
		assert.GreaterOrEqual(t, took, 6*leaguetest.Second, "the report is retried after 2 s")
		assert.Less(t, took, 7*leaguetest.Second)
		synctest.Wait() // the record is written
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder), "the final file is written")
		r.Referee.Finish(w.Context) // returns immediately
	})
}

func TestFinishEndsWithItsContext(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager(leaguetest.On(protocol.ReportMatchResult.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
		r := w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(2)
		w.HandOver(manager, r, "R1M1", 1)
		ctx, cancel := context.WithTimeout(w.Context, 30*leaguetest.Second)
		defer cancel()
		r.Referee.Finish(ctx)
		assert.Equal(t, 30*leaguetest.Second, w.Now())
	})
}

func TestRestartedPlayerRejectsUnauthorizedReferees(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *leaguetest.World, c *leaguetest.ScriptedReferee)
		code   protocol.Code
	}{
		{"no token", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Token = "" }, protocol.ErrMatchNotFound},
		{"the token of another player", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			c.Token = w.AccessToken("P02", "R1M1", 1, "REF01")
		}, protocol.ErrMatchNotFound},
		{"another sender", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Sender = "REF02" }, protocol.ErrMatchNotFound},
		{"the referee of another match", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.MatchID = "R1M2" }, protocol.ErrMatchNotFound},
		{"the referee of another attempt", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Attempt = 2 }, protocol.ErrMatchNotFound},
		{"the referee of a finished attempt", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			_, err := w.ScriptedReferee(c.To, "R1M1", 2).SendGameOver(8)
			require.NoError(w.T, err)
		}, protocol.ErrInvalidMatchState},
		{"the referee of an earlier attempt", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			_, err := w.ScriptedReferee(c.To, "R1M1", 2).Choose()
			require.NoError(w.T, err)
		}, protocol.ErrTokenInvalid},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := store.In(t.TempDir())
			w.ScriptedManager()
			w.PlayerIn("P01", folder).Stop()
			c := w.ScriptedReferee(w.PlayerIn("P01", folder), "R1M1", 1)
			test.change(w, c)
			_, err := c.Choose()
			assert.Equal(t, test.code, protocol.AsError(err).Code)
		})
	}
}

// A call may arrive before the player has re-registered.
func TestCallWaitsForTheReregistrationOfThePlayer(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		manager := w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		_, err := w.ScriptedReferee(p, "R1M1", 1).Invite()
		require.NoError(t, err)
		p.Stop()
		manager.Stop()
		p = w.NewPlayerIn("P01", folder, nil, leaguetest.WithStrategy("even"))
		w.RunAt(5*leaguetest.Second, func() { w.ScriptedManager() })
		w.Background.Go(func() { assert.NoError(t, p.Player.Register(w.Context)) })
		time.Sleep(time.Second)
		chosen, err := w.ScriptedReferee(p, "R1M1", 1).Choose()
		require.NoError(t, err)
		assert.Equal(t, "even", chosen.ParityChoice)
		assert.GreaterOrEqual(t, w.Now(), 5*leaguetest.Second)
	})
}

// The player crashes during its choice or at GAME_OVER. The match ends normally.
func TestMatchContinuesAfterAPlayerCrash(t *testing.T) {
	for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
		leaguetest.RunInMemory(t, method, func(t *testing.T, w *leaguetest.World) {
			folder := store.In(t.TempDir())
			w.StartManager(2, 1)
			w.Referee("REF01")
			var crashed, restarted *leaguetest.Agent
			crashed = w.PlayerIn("P01", folder, leaguetest.On(method, leaguetest.InTurn(func(c *leaguetest.Call) (jsontext.Value, error) {
				if method == protocol.Invite.Name { // it has answered, but the reply is lost
					_, _ = c.OwnAnswer()
				}
				w.Background.Go(func() {
					crashed.Stop()
					time.Sleep(time.Second)
					restarted = w.PlayerIn("P01", folder)
				})
				time.Sleep(time.Millisecond) // of virtual time: it has stopped before the league is over
				return nil, leaguetest.ErrHangUp
			})))
			w.Player("P02")
			w.Finish()
			require.NotNil(t, restarted)
			require.NoError(t, restarted.Player.Close())
			results := leaguetest.Results(w.Manager)
			require.Len(t, results, 1)
			assert.NotEqual(t, league.StatusTechnicalLoss, results[0].Status)
			if method == protocol.NotifyMatchResult.Name {
				return // GAME_OVER is sent once
			}
			assert.Equal(t, 1, restarted.Player.Record().Stats.TotalMatches)
			assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 1)
		})
	}
}
