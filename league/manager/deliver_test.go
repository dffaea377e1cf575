package manager_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
)

// A referee with another data folder delivers its transcripts after each round, and the
// manager's folder is then complete.
func TestRefereeElsewhereDeliversItsTranscripts(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 2)
		w.RefereeWithFiles("REF01", files)
		w.RefereeWithFiles("REF02", folder)
		w.Players(4)
		x.Finish()
		for m := range x.CloseAudited().Matches() {
			id := m.Report.MatchID.String()
			name := map[string]string{"REF01": "REF01.delivered.jsonl", "REF02": "REF02.results.jsonl"}[m.Report.RefereeID]
			doc, err := folder.LoadMatch(leaguetest.LeagueID, id)
			require.NoError(t, err)
			assert.Equal(t, name, doc.TranscriptFile)
			assert.Len(t, doc.Transcript, 12)
			if m.Report.RefereeID == "REF01" {
				own, err := files.LoadMatch(leaguetest.LeagueID, id)
				require.NoError(t, err)
				own.TranscriptFile = name
				assert.Equal(t, own, doc)
			}
		}
		for _, e := range w.Calls(protocol.GetMatchTranscript.Name) {
			assert.Equal(t, "ref01", e.To, "a referee that shares the folder is not asked")
		}
	})
}

// The manager hides what looks like a token in a delivered record. A player that has such a
// name must not make the record differ from its digest in the journal.
func TestNameLikeATokenDoesNotChangeADelivery(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1, func(o *league.Options) { o.Sign = true })
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		name := "tok-p01-" + strings.Repeat("x", 40)
		p := w.NewPlayerIn("P01", leaguetest.TempFolder(t), func(o *player.Options) { o.Name = name })
		require.NoError(t, p.Player.Register(w.Context))
		w.Player("P02")
		x.Finish()
		for m := range x.CloseAudited().Matches() {
			assert.NotEmpty(t, m.Report.TranscriptDigest)
			doc, err := folder.LoadMatch(leaguetest.LeagueID, m.Report.MatchID.String())
			require.NoError(t, err)
			assert.Contains(t, []string{doc.PlayerA.DisplayName, doc.PlayerB.DisplayName}, protocol.HiddenToken)
		}
	})
}

// A manager that was restarted asks for the transcripts that it does not have.
func TestNextManagerAsksForMissingTranscripts(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartMortalManager(leaguetest.CrashPoint{Event: 30, When: leaguetest.AfterTelling}, folder, 4, 1)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(4)
		<-x.Died
		x.RestoreDisk()
		path := folder.Delivered(leaguetest.LeagueID, "REF01")
		if raw, err := os.ReadFile(path); err == nil { // the manager may have crashed before the first delivery
			require.NoError(t, os.WriteFile(path, raw[:len(raw)-100], 0o600))
		}
		x = w.StartManagerIn(folder, 4, 1)
		x.Finish()
		for m := range x.CloseAudited().Matches() {
			doc, err := folder.LoadMatch(leaguetest.LeagueID, m.Report.MatchID.String())
			require.NoError(t, err)
			assert.Len(t, doc.Transcript, 12, m.Report.MatchID)
		}
	})
}

// A referee that delivers nothing, too much or something else harms nobody.
func TestBadDeliveryIsRefused(t *testing.T) {
	edit := func(change func(text string) string) leaguetest.Reply {
		return func(c *leaguetest.Call) (jsontext.Value, error) {
			answer, err := c.OwnAnswer()
			return jsontext.Value(change(string(answer))), err
		}
	}
	for _, test := range []struct {
		name  string
		reply leaguetest.Reply
		took  time.Duration
	}{
		{"no answer", leaguetest.Silent, 20 * time.Second},
		{"an error", leaguetest.RefuseWith(protocol.ErrMatchNotFound), time.Second},
		{"no records", leaguetest.EditAnswer("records", []string{}), time.Second},
		{"no objects", leaguetest.EditAnswer("records", []int{1, 2}), time.Second},
		{"another match", edit(func(text string) string { return strings.ReplaceAll(text, `"match_id":"R`, `"match_id":"R9`) }), time.Second},
		{"another attempt", edit(func(text string) string { return strings.ReplaceAll(text, `"attempt":1`, `"attempt":2`) }), time.Second},
		{"no result", edit(func(text string) string { return strings.ReplaceAll(text, `"result":{`, `"other":{`) }), time.Second},
		{"the end without the beginning", edit(func(text string) string { return strings.ReplaceAll(text, `"conversation_id":"conv-r`, `"other":"`) }), time.Second},
		{"too much", leaguetest.EditAnswer("records", []string{strings.Repeat("x", 70_000)}), time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 4, 1)
				w.RefereeWithFiles("REF01", leaguetest.TempFolder(t), leaguetest.On(protocol.GetMatchTranscript.Name, test.reply))
				w.Players(4)
				x.Finish()
				assert.Less(t, w.Now(), test.took)
				x.CloseAudited()
				doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
				require.NoError(t, err)
				assert.Equal(t, store.WrittenByManager, doc.WrittenBy)
				assert.NoFileExists(t, folder.Delivered(leaguetest.LeagueID, "REF01"))
			})
		})
	}
}

// Only the manager may read transcripts.
func TestTranscriptNeedsTheManagersCredential(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager()
		r := w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(2)
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(time.Second)
		q := &protocol.ToolRequest{LeagueID: leaguetest.LeagueID, MatchID: "R1M1", Attempt: 1}
		ask := func(bearer string) (*protocol.MatchTranscript, error) {
			answer, err := protocol.GetMatchTranscript.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(r.Host), Bearer: bearer}, q)
			return answer, err
		}
		for _, bearer := range []string{"", w.Token("REF01"), w.ManagerCredential("P01"), w.AccessToken("P01", "R1M1", 1, "REF01")} {
			_, err := ask(bearer)
			require.Error(t, err)
		}
		answer, err := ask(w.ManagerCredential("REF01"))
		require.NoError(t, err)
		assert.Len(t, answer.Records, 2)
		for _, wrong := range []protocol.ToolRequest{{LeagueID: "other", MatchID: "R1M1", Attempt: 1}, {LeagueID: leaguetest.LeagueID, MatchID: "R1M2", Attempt: 1}, {LeagueID: leaguetest.LeagueID, MatchID: "R1M1", Attempt: 2}} {
			q = &wrong
			_, err := ask(w.ManagerCredential("REF01"))
			require.Error(t, err)
		}
	})
}
