package referee_test

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// playSigned plays a match of a league that signs, and returns the folder of the referee.
func playSigned(w *leaguetest.World, game rules.Game, first ...leaguetest.Option) store.Folder {
	w.T.Helper()
	folder := store.In(w.T.TempDir())
	w.Game, w.Varies = game, true
	w.StartManager(2, 1, func(o *manager.Options) { o.Signatures = journal.SignaturesOptional })
	a := w.RefereeWith("REF01", nil, func(o *referee.Options) { o.Folder = folder })
	require.NoError(w.T, a.Referee.Register(w.Context))
	w.Player("P01", first...)
	w.Player("P02")
	w.Finish()
	return folder
}

// withoutToken returns a message in canonical form.
func withoutToken(message jsontext.Value) string {
	canonical := leaguetest.Edit(message, "auth_token", nil)
	_ = canonical.Canonicalize() // of valid JSON
	return string(canonical)
}

func TestMatchFileHasTheSignedEvidence(t *testing.T) {
	for _, game := range []rules.Game{evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{}} {
		leaguetest.RunInMemory(t, game.Info().Type, func(t *testing.T, w *leaguetest.World) {
			folder := playSigned(w, game)
			r := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
			assignment := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
			doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
			require.NoError(t, err)
			assert.Equal(t, r.TranscriptDigest, doc.Digest(), "of the exchanges before GAME_OVER")
			assert.Equal(t, r.Draw, doc.Draw)
			assert.Equal(t, r.Signatures, doc.Signatures)
			assert.Equal(t, r.Moves, doc.Moves)
			assert.Equal(t, assignment.Started, doc.Started)
			for _, method := range []string{protocol.ChooseParity.Name, protocol.MakeMove.Name, protocol.NotifyMatchResult.Name} {
				var sent, read []string
				for _, e := range w.Calls(method) {
					sent = append(sent, withoutToken(e.Message), withoutToken(e.Answer))
				}
				for _, x := range doc.Transcript {
					if x.Method == method {
						read = append(read, withoutToken(x.Message))
					}
				}
				assert.ElementsMatch(t, sent, read, "the transcript has the whole messages")
			}
		})
	}
}

// The loser's evidence stays, although it has no signature.
func TestRecordOfAPlayerThatDoesNotSign(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := playSigned(w, evenodd.Game{}, leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("signature", nil)))
		doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
		require.NoError(t, err)
		assert.Equal(t, league.StatusTechnicalLoss, doc.Result.Status)
		require.Len(t, doc.Signatures, 1)
		assert.Equal(t, "P02", doc.Signatures[0].Name)
		assert.Len(t, doc.Draw.EntropyCommitments, 2)
		for _, x := range doc.Transcript {
			if x.Method == protocol.ChooseParity.Name && x.Direction == store.Sent {
				assert.True(t, leaguetest.Decode[protocol.ChooseParityCall](x.Message).Sign)
			}
			if x.PlayerID == "P01" && x.Method == protocol.ChooseParity.Name && x.Direction == store.Received {
				assert.Contains(t, x.Error.Detail, "signature is missing")
			}
		}
	})
}

// A referee that is killed after GAME_OVER reports the same evidence after its restart.
func TestRestartedRefereeReportsTheSameEvidence(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := playSigned(w, tictactoe.Game{})
		report := w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message
		doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(folder.Matches(leaguetest.LeagueID)))
		leaguetest.LogUntilResult(t, folder, doc)

		a := w.RefereeWith("REF01", nil, func(o *referee.Options) { o.Folder = folder })
		require.NoError(t, a.Referee.Register(w.Context))
		a.Referee.Rest(w.Context)
		again := w.Calls(protocol.ReportMatchResult.Name)
		require.Len(t, again, 2)
		assert.JSONEq(t, string(leaguetest.Edit(report, "timestamp", nil)), string(leaguetest.Edit(again[1].Message, "timestamp", nil)))
	})
}
