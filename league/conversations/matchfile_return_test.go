package conversations

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

func TestARefereeThatComesBackReportsWhatItHadFinished(t *testing.T) {
	for _, test := range []struct {
		name   string
		handed bool // again, before anything else
	}{{"by itself", false}, {"and when it is handed the match again", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				boss := w.boss(does(protocol.ReportMatchResult.Name, nTimes(2, failing(errHangUp), honestly)))
				r := w.writer("REF01", folder)
				w.players(2)
				ack := w.hand(boss, r, "R1M1", 1)
				w.at(1 * second) // the report has failed once, and waits
				r.halt()
				assert.Equal(t, []string{attemptFile(1)}, filesOf(t, folder))
				assert.Equal(t, store.StateFinished, matchFile(t, folder, attemptFile(1)).Lifecycle.State)

				w.at(30 * second)
				r = w.writer("REF01", folder)
				if test.handed {
					again := w.hand(boss, r, "R1M1", 2)
					assert.Equal(t, 1, again.Attempt)
					assert.Equal(t, ack.DrawCommitment, again.DrawCommitment)
				}
				w.at(60 * second)
				reports := w.said(protocol.ReportMatchResult.Name)
				require.Len(t, reports, 3)
				assert.JSONEq(t, string(edited(reports[0].message, "timestamp", nil)), string(edited(reports[2].message, "timestamp", nil)))
				assert.Len(t, w.said(protocol.Invite.Name), 2, "it is not played again")
				assert.Equal(t, []string{theMatch}, filesOf(t, folder))
				doc := matchFile(t, folder, theMatch)
				sameResult(t, doc, read[protocol.MatchResultReport](reports[2].message))
				assert.Equal(t, append(append([]string{}, finishedStates...), "ACKNOWLEDGED"), statesOf(doc))
				assert.Equal(t, ordinarily(
					"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < GAME_JOIN_ACK",
					"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < CHOOSE_PARITY_RESPONSE"), saidTo(doc, "P01"))
			})
		})
	}
}

func TestARefereeStoppedInTheMiddleOfAMatchPlaysItAgain(t *testing.T) {
	for _, test := range []struct {
		name    string
		crashed bool // and wrote nothing
	}{{"told to stop", false}, {"killed", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				boss := w.boss()
				r := w.writer("REF01", folder)
				w.player("P01", does(protocol.ChooseParity.Name, inTurn(silent, honestly)))
				w.player("P02")
				w.hand(boss, r, "R1M1", 1)
				w.at(1 * second)
				r.halt()
				w.at(2 * second)
				assert.Equal(t, []string{attemptFile(1)}, filesOf(t, folder))
				doc := matchFile(t, folder, attemptFile(1))
				assert.Equal(t, []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "ABANDONED"}, statesOf(doc))
				assert.Nil(t, doc.Result)
				if test.crashed {
					require.NoError(t, os.Remove(folder.Attempt(leagueID, "R1M1", 1, "REF01")))
				}

				r = w.writer("REF01", folder)
				w.at(10 * second)
				assert.Empty(t, w.said(protocol.ReportMatchResult.Name), "there is nothing to report")
				assert.Equal(t, 2, w.hand(boss, r, "R1M1", 2).Attempt)
				w.at(60 * second)
				assert.Equal(t, 2, read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message).Attempt)
				assert.Equal(t, 2, matchFile(t, folder, theMatch).Attempt)
			})
		})
	}
}

func TestAMatchOfALifeBeforeIsReportedFromDisk(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		r := w.writer("REF01", folder)
		w.players(2)
		ack := w.hand(boss, r, "R1M1", 1)
		w.at(1 * second)
		r.halt()
		r = w.writer("REF01", folder)
		w.at(10 * second)
		w.only(protocol.ReportMatchResult.Name, theBoss) // it was acknowledged

		q := &protocol.ToolRequest{MatchID: "R1M1"}
		q.AuthToken = w.token("REF01")
		state, err := protocol.GetMatchState.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(r.host)}, q)
		require.NoError(t, err)
		assert.Equal(t, w.gameOver("p01").GameResult, state.GameResult)

		again := w.hand(boss, r, "R1M1", 3)
		assert.Equal(t, []any{1, ack.DrawCommitment}, []any{again.Attempt, again.DrawCommitment})
		w.at(20 * second)
		reports := w.said(protocol.ReportMatchResult.Name)
		require.Len(t, reports, 2)
		assert.JSONEq(t, string(edited(reports[0].message, "timestamp", nil)), string(edited(reports[1].message, "timestamp", nil)))
		assert.Len(t, w.said(protocol.Invite.Name), 2, "it is not played again")
		assert.Equal(t, []string{theMatch}, filesOf(t, folder))
	})
}

func TestAFileThatIsOfNoUseIsNoResult(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(text string) string
	}{
		{"damaged", func(text string) string { return text[:len(text)/2] }},
		{"empty", func(string) string { return "" }},
		{"of another league", func(text string) string { return strings.Replace(text, leagueID, "another", 1) }},
		{"of another match", func(text string) string {
			return strings.Replace(text, `"match_id": "R1M1"`, `"match_id": "R1M2"`, 1)
		}},
		{"of another attempt", func(text string) string { return strings.Replace(text, `"attempt": 1`, `"attempt": 2`, 1) }},
		{"of another referee", func(text string) string {
			return strings.Replace(text, `"referee_id": "REF01"`, `"referee_id": "REF02"`, 1)
		}},
		{"with another nonce", func(text string) string {
			last := strings.LastIndex(text, `"nonce": "`) // the first is in GAME_OVER
			return text[:last] + strings.Replace(text[last:], `"nonce": "`, `"nonce": "00`, 1)
		}},
		{"of a newer program", func(text string) string { return strings.Replace(text, `"1.0.0"`, `"2.0.0"`, 1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				boss := w.boss(does(protocol.ReportMatchResult.Name, nTimes(1, failing(errHangUp), honestly)))
				r := w.writer("REF01", folder)
				w.players(2)
				w.hand(boss, r, "R1M1", 1)
				w.at(1 * second)
				r.halt()
				path := folder.Attempt(leagueID, "R1M1", 1, "REF01")
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				changed := test.change(string(text))
				require.NotEqual(t, string(text), changed)
				require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))

				book := w.logged()
				r = w.writer("REF01", folder)
				w.at(20 * second)
				w.only(protocol.ReportMatchResult.Name, theBoss)
				assert.Contains(t, book.told(), path)
				assert.Equal(t, 2, w.hand(boss, r, "R1M1", 2).Attempt)
				w.at(40 * second)
				reports := w.said(protocol.ReportMatchResult.Name)
				require.Len(t, reports, 2)
				assert.Equal(t, 2, read[protocol.MatchResultReport](reports[1].message).Attempt)
			})
		})
	}
}

func TestAFileOfAnotherRefereeIsItsOwn(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		first, second := w.writer("REF01", folder), w.writer("REF02", folder)
		w.players(2)
		w.hand(boss, first, "R1M1", 1)
		w.at(time.Second)
		assert.Equal(t, 2, w.hand(boss, second, "R1M1", 2).Attempt, "it plays it itself")
		w.at(2 * time.Second)
		assert.Equal(t, "REF02", matchFile(t, folder, theMatch).RefereeID)
	})
}

func TestOldMatchFilesAreMovedOutOfTheWay(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		r := w.writer("REF01", folder)
		w.players(2)
		w.hand(boss, r, "R1M1", 1)
		w.at(1 * second)
		r.halt()
		require.NoError(t, os.RemoveAll(filepath.Join(string(folder), "private"))) // who it was is forgotten

		first, second := w.newWriter("REF01", folder), w.newWriter("REF02", folder)
		require.NoError(t, first.referee.Register(w.life))
		require.NoError(t, second.referee.Register(w.life))
		assert.Empty(t, filesOf(t, folder))
		old := filepath.Join(string(folder), "archive", leagueID+"-2000-01-01T000001Z-matches", "R1M1.json")
		assert.FileExists(t, old)
		assert.Equal(t, 1, w.hand(boss, first, "R1M1", 1).Attempt)
		w.at(10 * time.Second)
		assert.Len(t, w.said(protocol.ReportMatchResult.Name), 2, "it is another match")
		assert.FileExists(t, old)
		assert.Equal(t, []string{theMatch}, filesOf(t, folder))
	})
}

func TestAFullDiskStopsNoMatch(t *testing.T) {
	for _, test := range []struct {
		name  string
		block func(t *testing.T, folder store.Folder) string // a path that cannot be written any more
		left  []string
	}{
		{
			"nothing can be written", func(t *testing.T, folder store.Folder) string {
				path := folder.Matches(leagueID)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, nil, 0o644))
				return folder.Attempt(leagueID, "R1M1", 1, "REF01")
			}, []string{leagueID},
		},
		{
			"no attempt can be written", func(t *testing.T, folder store.Folder) string {
				path := folder.Attempts(leagueID)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, nil, 0o644))
				return folder.Attempt(leagueID, "R1M1", 1, "REF01")
			}, []string{theMatch, leagueID + "/attempts"},
		},
		{
			"the match's own file cannot be written", func(t *testing.T, folder store.Folder) string {
				path := folder.Match(leagueID, "R1M1")
				require.NoError(t, os.MkdirAll(path, 0o755))
				return path
			}, []string{attemptFile(1)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder, book := folderOf(t), w.logged()
				boss := w.boss()
				r := w.writer("REF01", folder)
				path := test.block(t, folder)
				w.players(2)
				w.hand(boss, r, "R1M1", 1)
				w.at(20 * second)
				w.only(protocol.ReportMatchResult.Name, theBoss)
				assert.Len(t, w.said(protocol.NotifyMatchResult.Name), 2)
				assert.ElementsMatch(t, test.left, filesOf(t, folder))
				assert.Contains(t, book.told(), `"level":"error"`)
				assert.Contains(t, book.told(), path)
			})
		})
	}
}

func TestARefereeFinishesWhatItHas(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss(does(protocol.ReportMatchResult.Name, inTurn(failing(errHangUp), honestly)))
		r := w.writer("REF01", folder)
		w.player("P01", slow(4*second, 0, 0))
		w.player("P02")
		ack := w.hand(boss, r, "R1M1", 1)
		var took time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.referee.Finish(w.life)
			took = w.now()
		}()
		w.at(1 * second)
		other, err := w.assign(boss, r, w.assignment("R1M2", 1, "REF01"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusRejected, other.Status)
		assert.Equal(t, "this referee is stopping", other.Reason)
		assert.Equal(t, ack.DrawCommitment, w.hand(boss, r, "R1M1", 1).DrawCommitment, "what it has, it keeps")
		<-done
		assert.GreaterOrEqual(t, took, 6*second, "the report was tried again after 2 s")
		assert.Less(t, took, 7*second)
		assert.Equal(t, []string{theMatch}, filesOf(t, folder), "and the file is there")
		synctest.Wait()
		r.referee.Finish(w.life) // at once
	})
}

func TestARefereeFinishesNoLongerThanItMay(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss(does(protocol.ReportMatchResult.Name, failing(errHangUp)))
		r := w.writer("REF01", folderOf(t))
		w.players(2)
		w.hand(boss, r, "R1M1", 1)
		ctx, cancel := context.WithTimeout(w.life, 30*second)
		defer cancel()
		r.referee.Finish(ctx)
		assert.Equal(t, 30*second, w.now())
	})
}
