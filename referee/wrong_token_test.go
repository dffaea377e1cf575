package referee_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// A player that answers with another token than that of the question, such as its own agent token, plays: the answer
// belongs to the endpoint that was called. The log says so once for each match, the match file at each exchange, and
// the report counts it. Strict replies refuse it.
func TestWrongTokenInAnAnswerIsShown(t *testing.T) {
	const told = "auth_token is not that of the question, but another, as the agent token, which is for the manager alone"
	questions := []string{protocol.Invite.Name, protocol.ChooseParity.Name}
	all := append(questions, protocol.NotifyMatchResult.Name)
	for _, test := range []struct {
		name    string
		token   any
		methods []string // whose answers have it
		strict  bool
		wrong   []string // exchanges with the mark
	}{
		{"its own token", "tok-p02-its-own", all, false, all},
		{"another token in one answer", otherToken, questions[1:], false, questions[1:]},
		{"only in the acknowledgement of the result", otherToken, all[2:], false, all[2:]},
		{"a token of the wrong type", 7, questions, false, questions},
		{"refused", otherToken, questions, true, questions},
		{"none", protocol.NoToken, all, false, nil},
		{"null", leaguetest.Null(), all, false, nil},
		{"missing", nil, all, false, nil},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			log, folder := w.CaptureLog(), leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 1, func(o *manager.Options) {
				if test.strict {
					o.Replies = protocol.RepliesStrict
				}
			})
			w.RefereeWithFiles("REF01", folder)
			w.Player("P01")
			var edits []leaguetest.Option
			for _, method := range test.methods {
				edit := leaguetest.EditAnswer("auth_token", test.token)
				if test.strict {
					edit = leaguetest.InTurn(edit, leaguetest.Normally)
				}
				edits = append(edits, leaguetest.On(method, edit))
			}
			w.Player("P02", edits...)
			x.Finish()
			x.CloseAudited()
			doc := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
			var wrong []string
			for _, e := range doc.Transcript {
				assert.NotContains(t, string(e.Message)+e.Answer, `"auth_token":`)
				if e.WrongToken {
					wrong = append(wrong, e.Method)
					assert.Equal(t, "P02", e.PlayerID)
					if test.strict {
						require.NotNil(t, e.Error)
						assert.Equal(t, string(protocol.ErrTokenInvalid), e.Error.ErrorCode)
					}
				}
			}
			assert.Equal(t, test.wrong, wrong)
			warnings := 0
			for _, line := range strings.Split(log.Text(), "\n") {
				if strings.Contains(line, "WRONG_TOKEN") {
					warnings++
					assert.Contains(t, line, `"level":"warn"`)
					assert.True(t, jsontext.Value(line).IsValid())
				}
			}
			assert.Equal(t, min(1, len(test.wrong)), warnings, "one warning for the player and the match")
			health, shown := record.NewHealth(), 0
			health.Add(doc)
			for _, d := range health.Player("P02").Deviations() {
				if d.Problem == told {
					shown = d.Count
				}
			}
			want := len(test.wrong)
			if test.strict {
				want = 0 // a failure, not a deviation
			}
			assert.Equal(t, want, shown, "in the report")
			marked := 0
			for _, line := range record.ConversationOf(doc, rules.NewRegistry(w.Game)).Lines {
				if line.WrongToken {
					marked++
				}
			}
			assert.Len(t, test.wrong, marked)
			assert.Zero(t, health.Player("P01").Deviations())
		})
	}
}
