package referee_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// refereeWithFiles starts a manager that answers reports in this way, and REF01 with match files.
func refereeWithFiles(w *leaguetest.World, toReport leaguetest.Reply) (
	folder store.Folder, manager, r *leaguetest.Agent) {
	w.T.Helper()
	folder = leaguetest.TempFolder(w.T)
	manager = w.ScriptedManager(leaguetest.On(protocol.ReportMatchResult.Name, toReport))
	return folder, manager, w.RefereeWithFiles("REF01", folder)
}

func TestMatchFileHasTheWholeMatch(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.Normally)
		w.Player("P01", leaguetest.WithStrategy("even"), leaguetest.WithDelays(1*leaguetest.Second, 2*leaguetest.Second, 0))
		w.Player("P02", leaguetest.WithStrategy("odd"), leaguetest.WithDelays(2*leaguetest.Second, 1500*time.Millisecond, 1*leaguetest.Second))
		ack := w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(20 * leaguetest.Second)

		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder), "the attempt is acknowledged")
		doc := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
		assertSameResult(t, doc, leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message))
		assert.Equal(t, ack.DrawCommitment, doc.Draw.Commitment)
		slices.SortStableFunc(doc.Transcript, func(a, b store.Exchange) int { // concurrent exchanges have no order
			return cmp.Or(strings.Compare(a.At, b.At), strings.Compare(a.PlayerID, b.PlayerID))
		})
		for i := range doc.Transcript {
			doc.Transcript[i].Timing = nil // not every carrier has it
		}
		got, err := json.Marshal(doc, jsontext.WithIndent("  "))
		require.NoError(t, err)
		golden := filepath.Join("testdata", "matchfile.json")
		if *leaguetest.UpdateFlag {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got)+"\n")
	})
}

func TestTranscriptHasErrorsAndRetries(t *testing.T) {
	gameError := func(try string) []string {
		return []string{"notify_game_error " + try + " > GAME_ERROR", "notify_game_error " + try + " < GAME_ERROR_ACK"}
	}
	for _, test := range []struct {
		name   string
		traits []leaguetest.Option
		want   []string // expected entries before GAME_OVER
		states []string // expected states before FINISHED
		check  func(t *testing.T, doc *store.Match)
	}{
		{
			name: "a timeout", traits: leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally))),
			want: slices.Concat(joined,
				[]string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < E001"}, gameError("1"),
				[]string{"choose_parity 2 > CHOOSE_PARITY_CALL", "choose_parity 2 < CHOOSE_PARITY_RESPONSE"}),
			states: finishedStates[:4],
		},
		{
			name: "a choice that is no string", traits: leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.EditAnswer("parity_choice", 7), leaguetest.Normally))),
			want: slices.Concat(joined,
				[]string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE"}, gameError("1"),
				[]string{"choose_parity 2 > CHOOSE_PARITY_CALL", "choose_parity 2 < CHOOSE_PARITY_RESPONSE"}),
			states: finishedStates[:4],
			check: func(t *testing.T, doc *store.Match) {
				for _, x := range doc.Transcript {
					if x.Error != nil {
						assert.Equal(t, "INVALID_PARITY_CHOICE", x.Error.ErrorName)
						assert.Contains(t, x.Error.Detail, "parity_choice cannot be read: 7")
						assert.True(t, x.Unreadable("parity_choice"))
						assert.NotContains(t, string(x.Message), "parity_choice")
					}
				}
			},
		},
		{
			name: "a broken connection", traits: leaguetest.Options(leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally))),
			want: slices.Concat(
				[]string{"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < E009"}, gameError("1"),
				[]string{"handle_game_invitation 2 > GAME_INVITATION", "handle_game_invitation 2 < GAME_JOIN_ACK"}, chosen),
			states: finishedStates[:4],
		},
		{
			name: "an error response", traits: leaguetest.Options(leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.RefuseWith(protocol.ErrMatchNotFound), leaguetest.Normally))),
			want: slices.Concat(
				[]string{"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < E002"}, gameError("1"),
				[]string{"handle_game_invitation 2 > GAME_INVITATION", "handle_game_invitation 2 < GAME_JOIN_ACK"}, chosen),
			states: finishedStates[:4],
		},
		{
			name: "a rejected invitation", traits: leaguetest.Options(leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("accept", false))),
			want: joined, states: finishedStates[:2],
			check: func(t *testing.T, doc *store.Match) {
				assert.Equal(t, "P02 refused the invitation - P01 wins by default", doc.Result.Reason)
				assert.Nil(t, doc.Result.DrawnNumber)
			},
		},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, manager, r := refereeWithFiles(w, leaguetest.Normally)
			w.Player("P01")
			w.Player("P02", test.traits...)
			w.HandOver(manager, r, "R1M1", 1)
			w.WaitUntil(60 * leaguetest.Second)
			doc := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
			// GAME_ERROR is acknowledged concurrently with the match.
			got, want := transcriptWith(doc, "P02"), normalCourse(test.want...)
			assert.ElementsMatch(t, want, got)
			beside := func(line string) bool { return strings.HasPrefix(line, "notify_game_error") }
			assert.Equal(t, slices.DeleteFunc(want, beside), slices.DeleteFunc(got, beside))
			assert.Equal(t, append(slices.Clone(test.states), "FINISHED", "ACKNOWLEDGED"), statesOf(doc))
			if test.check != nil {
				test.check(t, doc)
			}
		})
	}
}

func TestTranscriptHasAllAttemptsForAnUnreachablePlayer(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.Normally)
		w.Player("P01")
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(60 * leaguetest.Second)
		var want []string
		for _, try := range []string{"1", "2", "3", "4"} {
			want = append(want, "handle_game_invitation "+try+" > GAME_INVITATION", "handle_game_invitation "+try+" < E009",
				"notify_game_error "+try+" > GAME_ERROR", "notify_game_error "+try+" < E009")
		}
		want = append(want, "notify_match_result 1 > GAME_OVER", "notify_match_result 1 < E009")
		assert.ElementsMatch(t, want, transcriptWith(leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile), "P02"))
	})
}

func TestMatchFileHasNoTokens(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		access := w.AccessToken("P02", "R1M1", 1, "REF01")
		folder, manager, r := refereeWithFiles(w,
			leaguetest.InTurn(leaguetest.Normally, leaguetest.RefuseWith(protocol.ErrDuplicateReport)))
		w.Player("P01", leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.RefuseWith(protocol.ErrTokenMissing)))
		joins := leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("player_id", w.Token("P02")))
		w.Player("P02", joins, leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(
			leaguetest.EditAnswer("parity_choice", access), leaguetest.EditAnswer("auth_token", w.Token("P02")), // the player sends its own tokens
			leaguetest.EditAnswer("auth_token", 7), leaguetest.Normally)))
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(60 * leaguetest.Second)
		w.HandOver(manager, r, "R1M2", 1)
		w.WaitUntil(120 * leaguetest.Second)
		require.Len(t, leaguetest.MatchFiles(t, folder), 2)
		for _, path := range []string{folder.Match(leaguetest.LeagueID, "R1M1"), folder.MatchLog(leaguetest.LeagueID, "REF01")} {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.NotContains(t, string(raw), "auth_token")
			for _, id := range []string{"P01", "P02", "REF01"} {
				for _, secret := range []string{w.Token(id), w.ManagerCredential(id), w.AccessToken(id, "R1M1", 1, "REF01"), w.AccessToken(id, "R1M2", 1, "REF01")} {
					assert.NotContains(t, string(raw), secret)
				}
			}
		}
	})
}

func TestResultIsDurableBeforeGameOver(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		manager := w.ScriptedManager(leaguetest.On(protocol.ReportMatchResult.Name, afterChecking(func() {
			assert.Equal(t, []string{leaguetest.AttemptFile(1)}, leaguetest.MatchFiles(t, folder), "the file is not final before the acknowledgement")
		})))
		r := w.RefereeWithFiles("REF01", folder)
		w.Player("P01", leaguetest.On(protocol.NotifyMatchResult.Name, afterChecking(func() {
			doc := leaguetest.ReadMatchFile(t, folder, leaguetest.AttemptFile(1))
			assert.Equal(t, protocol.StateFinished, doc.Lifecycle.State)
			assert.Equal(t, finishedStates, statesOf(doc))
			assert.NotNil(t, doc.Result)
			assert.Equal(t, slices.Concat(joined, chosen), transcriptWith(doc, "P01"))
		})))
		w.Player("P02")
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(20 * leaguetest.Second)
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder))
	})
}

// A manager may refuse a result as often as it assigns the match: the file does not grow.
func TestSameRefusalIsRecordedOnce(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.RefuseWith(protocol.ErrDuplicateReport))
		w.Players(2)
		for n := range 5 {
			w.HandOver(manager, r, "R1M1", n+1)
			w.WaitUntil(time.Duration(n+1) * 20 * leaguetest.Second)
		}
		assert.Len(t, w.Calls(protocol.ReportMatchResult.Name), 5)
		raw, err := os.ReadFile(folder.MatchLog(leaguetest.LeagueID, "REF01"))
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(raw), `"lifecycle":{"state":"DISPUTED"`))
	})
}

func TestRejectedReportKeepsTheAttemptFile(t *testing.T) {
	const code = protocol.ErrDuplicateReport
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.InTurn(leaguetest.RefuseWith(code), leaguetest.Normally))
		w.Players(2)
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(20 * leaguetest.Second)
		assert.Equal(t, []string{leaguetest.AttemptFile(1)}, leaguetest.MatchFiles(t, folder))
		doc := leaguetest.ReadMatchFile(t, folder, leaguetest.AttemptFile(1))
		assert.Equal(t, append(slices.Clone(finishedStates), "DISPUTED"), statesOf(doc))
		require.NotNil(t, doc.Refusal)
		assert.Equal(t, string(code), doc.Refusal.ErrorCode)
		assert.Len(t, doc.Transcript, 12, "with GAME_OVER")

		r.StopReferee()
		r = w.RefereeWithFiles("REF01", folder)
		w.WaitUntil(30 * leaguetest.Second)
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost) // there was no second assignment
		w.HandOver(manager, r, "R1M1", 2)
		w.WaitUntil(40 * leaguetest.Second)
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder), "the manager accepts it now")
		doc = leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
		assert.Nil(t, doc.Refusal)
		assert.Equal(t, 1, doc.Attempt)
	})
}

// statesOf returns the states in a match file, in order.
func statesOf(doc *store.Match) []string {
	list := make([]string, len(doc.Lifecycle.States))
	for i, s := range doc.Lifecycle.States {
		list[i] = s.State
	}
	return list
}

// transcriptWith returns the lines of a transcript with one player, without times, such as
// "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE".
func transcriptWith(doc *store.Match, playerID string) []string {
	list := []string{}
	for _, x := range doc.Transcript {
		if x.PlayerID != playerID {
			continue
		}
		line := []string{x.Method, fmt.Sprint(x.Try), map[string]string{store.Sent: ">", store.Received: "<"}[x.Direction]}
		if x.Error != nil {
			line = append(line, x.Error.ErrorCode)
		}
		if x.MessageType != "" {
			line = append(line, x.MessageType)
		}
		list = append(list, strings.Join(line, " "))
	}
	return list
}

// The lines of two questions that are answered.
var (
	joined = []string{"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < GAME_JOIN_ACK"}
	chosen = []string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < CHOOSE_PARITY_RESPONSE"}
)

// normalCourse returns the lines of the end of a match with one player, after the given
// lines.
func normalCourse(before ...string) []string {
	return append(before, "notify_match_result 1 > GAME_OVER", "notify_match_result 1 < GAME_OVER_ACK")
}

var finishedStates = []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"}

// afterChecking runs a check when the method is called, before the agent answers normally.
func afterChecking(check func()) leaguetest.Reply {
	return func(c *leaguetest.Call) (jsontext.Value, error) {
		check()
		return c.OwnAnswer()
	}
}

// assertSameResult checks that a match file contains the reported result.
func assertSameResult(t *testing.T, doc *store.Match, q *protocol.MatchResultReport) {
	t.Helper()
	assert.Equal(t, q.Attempt, doc.Attempt)
	assert.Equal(t, q.Result.WinnerPlayerID, doc.Result.WinnerPlayerID)
	assert.Equal(t, q.Result.Score, doc.Result.Score)
	assert.Equal(t, q.Result.DrawnNumber, doc.Result.DrawnNumber)
	assert.Equal(t, q.Result.Choices, doc.Result.Choices)
	assert.Equal(t, q.Result.Reason, doc.Result.Reason)
	assert.Equal(t, q.Draw, doc.Draw)
}
