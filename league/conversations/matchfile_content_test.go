package conversations

import (
	"cmp"
	"flag"
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
	"evenodd/league/store"
)

var update = flag.Bool("update", false, "write what is in a match's file now to testdata")

func TestAMatchFileTellsTheWholeMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		r := w.writer("REF01", folder)
		w.player("P01", choosing("even"), slow(1*second, 2*second, 0))
		w.player("P02", choosing("odd"), slow(2*second, 1500*time.Millisecond, 1*second))
		ack := w.hand(boss, r, "R1M1", 1)
		w.at(20 * second)

		assert.Equal(t, []string{theMatch}, filesOf(t, folder), "and the attempt's file is gone")
		doc := matchFile(t, folder, theMatch)
		sameResult(t, doc, read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message))
		assert.Equal(t, ack.DrawCommitment, doc.Draw.Commitment)
		slices.SortStableFunc(doc.Transcript, func(a, b store.Exchange) int { // what is said to both at once has no order
			return cmp.Or(strings.Compare(a.At, b.At), strings.Compare(a.PlayerID, b.PlayerID))
		})
		for i := range doc.Transcript {
			doc.Transcript[i].Timing = nil // which not every carrier tells
		}
		got, err := json.Marshal(doc, jsontext.WithIndent("  "))
		require.NoError(t, err)
		golden := filepath.Join("testdata", "matchfile.json")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got)+"\n")
	})
}

func TestATranscriptTellsWhatWentWrong(t *testing.T) {
	joined := []string{"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < GAME_JOIN_ACK"}
	chosen := []string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < CHOOSE_PARITY_RESPONSE"}
	complaint := func(try string) []string {
		return []string{"notify_game_error " + try + " > GAME_ERROR", "notify_game_error " + try + " < GAME_ERROR_ACK"}
	}
	for _, test := range []struct {
		name   string
		traits []trait
		want   []string // before the end
		states []string // before FINISHED
		check  func(t *testing.T, doc *store.Match)
	}{
		{
			name: "nothing", want: slices.Concat(joined, chosen), states: finishedStates[:4],
		},
		{
			name: "a timeout", traits: with(does(protocol.ChooseParity.Name, inTurn(silent, honestly))),
			want: slices.Concat(joined,
				[]string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < E001"}, complaint("1"),
				[]string{"choose_parity 2 > CHOOSE_PARITY_CALL", "choose_parity 2 < CHOOSE_PARITY_RESPONSE"}),
			states: finishedStates[:4],
		},
		{
			name: "a wrong choice", traits: with(does(protocol.ChooseParity.Name, inTurn(editing("parity_choice", "Even"), honestly))),
			want: slices.Concat(joined,
				[]string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE"}, complaint("1"),
				[]string{"choose_parity 2 > CHOOSE_PARITY_CALL", "choose_parity 2 < CHOOSE_PARITY_RESPONSE"}),
			states: finishedStates[:4],
			check: func(t *testing.T, doc *store.Match) {
				for _, x := range doc.Transcript {
					if x.Error != nil {
						assert.Equal(t, "INVALID_PARITY_CHOICE", x.Error.ErrorName)
						assert.Contains(t, x.Error.Detail, `"Even"`)
						assert.Equal(t, "Even", read[protocol.ChooseParityResponse](x.Message).ParityChoice)
					}
				}
			},
		},
		{
			name: "a choice that is no word", traits: with(does(protocol.ChooseParity.Name, inTurn(editing("parity_choice", 7), honestly))),
			want: slices.Concat(joined,
				[]string{"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE"}, complaint("1"),
				[]string{"choose_parity 2 > CHOOSE_PARITY_CALL", "choose_parity 2 < CHOOSE_PARITY_RESPONSE"}),
			states: finishedStates[:4],
			check: func(t *testing.T, doc *store.Match) {
				for _, x := range doc.Transcript {
					if x.Error != nil {
						assert.Contains(t, x.Error.Detail, "parity_choice cannot be read: 7")
						assert.True(t, x.Unreadable("parity_choice"))
						assert.NotContains(t, string(x.Message), "parity_choice")
					}
				}
			},
		},
		{
			name: "a broken connection", traits: with(does(protocol.Invite.Name, inTurn(failing(errHangUp), honestly))),
			want: slices.Concat(
				[]string{"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < E009"}, complaint("1"),
				[]string{"handle_game_invitation 2 > GAME_INVITATION", "handle_game_invitation 2 < GAME_JOIN_ACK"}, chosen),
			states: finishedStates[:4],
		},
		{
			name: "an error for an answer", traits: with(does(protocol.Invite.Name, inTurn(refusing(protocol.ErrMatchNotFound), honestly))),
			want: slices.Concat(
				[]string{"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < E002"}, complaint("1"),
				[]string{"handle_game_invitation 2 > GAME_INVITATION", "handle_game_invitation 2 < GAME_JOIN_ACK"}, chosen),
			states: finishedStates[:4],
		},
		{
			name: "a refusal", traits: with(does(protocol.Invite.Name, editing("accept", false))),
			want: joined, states: finishedStates[:2],
			check: func(t *testing.T, doc *store.Match) {
				assert.Equal(t, "P02 refused the invitation - P01 wins by default", doc.Result.Reason)
				assert.Nil(t, doc.Result.DrawnNumber)
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				boss := w.boss()
				r := w.writer("REF01", folder)
				w.player("P01")
				w.player("P02", test.traits...)
				w.hand(boss, r, "R1M1", 1)
				w.at(60 * second)
				doc := matchFile(t, folder, theMatch)
				// A complaint is acknowledged beside the match.
				got, want := saidTo(doc, "P02"), ordinarily(test.want...)
				assert.ElementsMatch(t, want, got)
				beside := func(line string) bool { return strings.HasPrefix(line, "notify_game_error") }
				assert.Equal(t, slices.DeleteFunc(want, beside), slices.DeleteFunc(got, beside))
				assert.Equal(t, append(slices.Clone(test.states), "FINISHED", "ACKNOWLEDGED"), statesOf(doc))
				if test.check != nil {
					test.check(t, doc)
				}
			})
		})
	}
}

func TestATranscriptOfAPlayerThatIsNotThere(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		r := w.writer("REF01", folder)
		w.player("P01")
		w.hand(boss, r, "R1M1", 1)
		w.at(60 * second)
		var want []string
		for _, try := range []string{"1", "2", "3", "4"} {
			want = append(want, "handle_game_invitation "+try+" > GAME_INVITATION", "handle_game_invitation "+try+" < E009",
				"notify_game_error "+try+" > GAME_ERROR", "notify_game_error "+try+" < E009")
		}
		want = append(want, "notify_match_result 1 > GAME_OVER", "notify_match_result 1 < E009")
		assert.ElementsMatch(t, want, saidTo(matchFile(t, folder, theMatch), "P02"))
	})
}

func TestNoTokenIsEverInAMatchFile(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		access := w.access("P02", "R1M1", 1, "REF01")
		boss := w.boss(does(protocol.ReportMatchResult.Name, inTurn(honestly, refusing(protocol.ErrDuplicateReport))))
		r := w.writer("REF01", folder)
		w.player("P01", does(protocol.NotifyMatchResult.Name, refusing(protocol.ErrTokenMissing)))
		w.player("P02", does(protocol.ChooseParity.Name, inTurn(
			editing("parity_choice", access), editing("auth_token", w.token("P02")), // it says them itself
			editing("auth_token", 7), honestly)))
		w.hand(boss, r, "R1M1", 1)
		w.at(60 * second)
		w.hand(boss, r, "R1M2", 1)
		w.at(120 * second)
		require.Len(t, filesOf(t, folder), 2)
		for _, name := range filesOf(t, folder) {
			raw, err := os.ReadFile(filepath.Join(string(folder), "data", "matches", name))
			require.NoError(t, err)
			assert.NotContains(t, string(raw), "auth_token")
			for _, id := range []string{"P01", "P02", "REF01"} {
				for _, secret := range []string{w.token(id), w.credential(id), w.access(id, "R1M1", 1, "REF01"), w.access(id, "R1M2", 1, "REF01")} {
					assert.NotContains(t, string(raw), secret)
				}
			}
		}
	})
}

func TestTheResultIsOnDiskBeforeAnybodyIsTold(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss(does(protocol.ReportMatchResult.Name, looking(func() {
			assert.Equal(t, []string{attemptFile(1)}, filesOf(t, folder), "not final before it is acknowledged")
		})))
		r := w.writer("REF01", folder)
		w.player("P01", does(protocol.NotifyMatchResult.Name, looking(func() {
			doc := matchFile(t, folder, attemptFile(1))
			assert.Equal(t, store.StateFinished, doc.Lifecycle.State)
			assert.Equal(t, finishedStates, statesOf(doc))
			assert.NotNil(t, doc.Result)
			assert.Equal(t, []string{
				"handle_game_invitation 1 > GAME_INVITATION", "handle_game_invitation 1 < GAME_JOIN_ACK",
				"choose_parity 1 > CHOOSE_PARITY_CALL", "choose_parity 1 < CHOOSE_PARITY_RESPONSE",
			}, saidTo(doc, "P01"))
		})))
		w.player("P02")
		w.hand(boss, r, "R1M1", 1)
		w.at(20 * second)
		w.only(protocol.ReportMatchResult.Name, theBoss)
		assert.Equal(t, []string{theMatch}, filesOf(t, folder))
	})
}

func TestARefusedReportStaysAsAnAttempt(t *testing.T) {
	for _, code := range []protocol.Code{protocol.ErrDuplicateReport, protocol.ErrMatchNotFound} {
		t.Run(string(code), func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				boss := w.boss(does(protocol.ReportMatchResult.Name, inTurn(refusing(code), honestly)))
				r := w.writer("REF01", folder)
				w.players(2)
				w.hand(boss, r, "R1M1", 1)
				w.at(20 * second)
				assert.Equal(t, []string{attemptFile(1)}, filesOf(t, folder))
				doc := matchFile(t, folder, attemptFile(1))
				assert.Equal(t, append(slices.Clone(finishedStates), "DISPUTED"), statesOf(doc))
				require.NotNil(t, doc.Refusal)
				assert.Equal(t, string(code), doc.Refusal.ErrorCode)
				assert.Len(t, doc.Transcript, 12, "with GAME_OVER")

				r.halt()
				r = w.writer("REF01", folder)
				w.at(30 * second)
				w.only(protocol.ReportMatchResult.Name, theBoss) // nobody asked again
				w.hand(boss, r, "R1M1", 2)
				w.at(40 * second)
				assert.Equal(t, []string{theMatch}, filesOf(t, folder), "the manager thought better of it")
				doc = matchFile(t, folder, theMatch)
				assert.Nil(t, doc.Refusal)
				assert.Equal(t, 1, doc.Attempt)
			})
		})
	}
}

func TestAnAttemptThatAnotherReplacesIsAbandoned(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		r := w.writer("REF01", folder)
		w.player("P01", does(protocol.Invite.Name, inTurn(silent, honestly)))
		w.player("P02")
		ack := w.hand(boss, r, "R1M1", 1)
		w.at(1 * second)
		w.hand(boss, r, "R1M1", 2)
		w.at(60 * second)
		assert.ElementsMatch(t, []string{theMatch, attemptFile(1)}, filesOf(t, folder))
		assert.Equal(t, 2, matchFile(t, folder, theMatch).Attempt)
		doc := matchFile(t, folder, attemptFile(1))
		assert.Equal(t, []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "ABANDONED"}, statesOf(doc))
		assert.Nil(t, doc.Result)
		assert.Equal(t, ack.DrawCommitment, doc.Draw.Commitment)
		assert.NotEmpty(t, saidTo(doc, "P02"))
	})
}
