package referee_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
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
	folder := store.Folder(w.T.TempDir())
	w.Game, w.Varies = game, true
	w.StartManager(2, 1, func(o *league.Options) { o.Sign = true })
	a := w.RefereeWith("REF01", nil, func(o *referee.Options) { o.Folder = folder })
	require.NoError(w.T, a.Referee.Register(w.Context))
	w.Player("P01", first...)
	w.Player("P02")
	w.Finish()
	return folder
}

// resultsLines returns the lines of the results file after the header.
func resultsLines(t *testing.T, folder store.Folder) []string {
	t.Helper()
	text, err := os.ReadFile(folder.Results(leaguetest.LeagueID, "REF01"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[1:]
}

// withoutToken returns a message in canonical form.
func withoutToken(message jsontext.Value) string {
	canonical := leaguetest.Edit(message, "auth_token", nil)
	_ = canonical.Canonicalize() // of valid JSON
	return string(canonical)
}

func TestRecordHasEachSignedValueOnce(t *testing.T) {
	for _, game := range []rules.Game{evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{}} {
		t.Run(game.Info().Type, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := playSigned(w, game)
				lines := resultsLines(t, folder)
				require.Len(t, lines, 2)
				assert.NotContains(t, lines[0]+lines[1], `"whole":true`, "all messages are abbreviated")
				r := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
				assignment := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
				assert.Equal(t, 1, strings.Count(lines[0]+lines[1], assignment.Started))
				for _, id := range []string{"P01", "P02"} {
					signed, _ := r.Signatures.Get(id)
					assert.Equal(t, 1, strings.Count(lines[0]+lines[1], signed.Signature))
					commitment, _ := r.Draw.EntropyCommitments.Get(id)
					assert.Equal(t, 1, strings.Count(lines[0]+lines[1], commitment))
				}
				if len(r.Moves) > 0 {
					assert.LessOrEqual(t, strings.Count(lines[0], `"moves":`), 1)
				}
				digest := sha256.Sum256([]byte(lines[0]))
				assert.Equal(t, hex.EncodeToString(digest[:]), r.TranscriptDigest, "the line that was written before GAME_OVER")

				doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
				require.NoError(t, err)
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
		})
	}
}

// The loser's evidence stays, although it has no signature.
func TestRecordOfAPlayerThatDoesNotSign(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := playSigned(w, evenodd.Game{}, leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("signature", nil)))
		doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusTechnicalLoss, doc.Result.Status)
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
		text, err := os.ReadFile(folder.Results(leaguetest.LeagueID, "REF01"))
		require.NoError(t, err)
		header, rest, _ := strings.Cut(string(text), "\n")
		first, _, _ := strings.Cut(rest, "\n")
		require.NoError(t, os.WriteFile(folder.Results(leaguetest.LeagueID, "REF01"), []byte(header+"\n"+first+"\n"), 0o600))

		a := w.RefereeWith("REF01", nil, func(o *referee.Options) { o.Folder = folder })
		require.NoError(t, a.Referee.Register(w.Context))
		a.Referee.Rest(w.Context)
		again := w.Calls(protocol.ReportMatchResult.Name)
		require.Len(t, again, 2)
		assert.JSONEq(t, string(leaguetest.Edit(report, "timestamp", nil)), string(leaguetest.Edit(again[1].Message, "timestamp", nil)))
	})
}
