package manager_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// Two players deny results of REF02, which gets a match of the next round all the same, because
// REF01 is not free.
func TestRefereeThatTwoPlayersDenyGetsItsAnnouncedMatch(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 2)
		one := leaguetest.WithCapacity(1)
		w.Referee("REF01", one, w.OnlyAccepting())
		w.Referee("REF02", one, w.OnlyAccepting())
		w.Players(4, saysNo())
		w.WaitUntil(leaguetest.Second)
		for _, c := range w.Calls(protocol.StartMatch.Name) {
			q := leaguetest.Decode[protocol.MatchAssignment](c.Message)
			report := w.ReportOf(strings.ToUpper(c.To), q.MatchID, &q.PlayerA.PlayerID, q.PlayerA.PlayerID, q.PlayerB.PlayerID, 3, 0)
			report.Result.Details = nil
			if c.To == "ref01" { // one player denies this, and two a result on the word of REF02
				report.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
			}
			_, err := w.Report(report)
			require.NoError(t, err)
		}
		w.WaitUntil(5 * leaguetest.Second)
		state, _ := w.FoldJournal(folder)
		assert.Equal(t, []bool{false, true}, []bool{state.Agents["REF01"].LastChoice(), state.Agents["REF02"].LastChoice()})
		for _, id := range []string{"ref01", "ref02"} {
			assert.Equal(t, 2, w.CountCalls(protocol.StartMatch.Name, id), id)
		}
		x.Kill()
	})
}

// The organiser rules the match of a league that waits for a token. The round ends, although its
// referee does not answer any more.
func TestMatchIsRuledWhileTheLeagueWaitsForAToken(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		r := thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		_, err := w.Report(tokenless(w.WinReport("REF01")))
		require.Error(t, err)
		w.WaitUntil(10 * leaguetest.Second)
		r.Stop()
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P01"))
		w.WaitUntil(20 * leaguetest.Second)
		state, _ := w.FoldJournal(folder)
		assert.False(t, state.Open(), "the round is over")
		w.Organise(protocol.CommandResume)
		x.Finish()
	})
}

// REF01 did not answer once. After the pause for a referee without a token it gets the match.
func TestResumedLeagueTriesEachReferee(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FirstN(1, leaguetest.Silent, leaguetest.Normally)))
		thirdPartyReferee(w, "REF02", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(20 * leaguetest.Second)
		q := tokenless(w.WinReport("REF02"))
		q.Attempt = 2
		_, err := w.Report(q)
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 5001)
		w.WaitUntil(30 * leaguetest.Second)
		w.Organise(protocol.CommandResume)
		w.Finish()
		assert.Equal(t, "REF01", w.Manager.Results()[0].RefereeID)
		assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name, "ref02"))
	})
}

// A report that breaks the form counts like a contradictory one: after three, the match is a draw
// that its referee did not show. A later report is a dispute, whatever it lacks.
func TestMalformedReportsLoseTheMatch(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.Referee("REF01", w.OnlyAccepting(), leaguetest.WithCapacity(1))
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		malformed := w.WinReport("REF01")
		malformed.Draw = &protocol.Draw{Nonce: "xyz"}
		call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": protocol.ReportMatchResult.Name, "params": malformed, "id": 1})
		require.NoError(t, err)
		for range 3 {
			assert.Contains(t, string(w.Agents()[0].Mux.Serve(w.Context, "", call).Body), "draw.")
		}
		x.Finish()
		r := x.Manager.Results()[0]
		assert.Equal(t, []string{protocol.StatusDraw, "", "its referee did not show its result"}, []string{r.Status, r.Winner, r.Reason})
		unproven := w.WinReport("REF01")
		unproven.Draw, unproven.Signatures = nil, nil
		_, err = w.Report(unproven)
		require.ErrorContains(t, err, "has a result already")
		require.NoError(t, x.CloseFiles())
		assert.Contains(t, w.CheckFiles(folder).Rounds[0].Matches[0].Disputed, "REF01")
	})
}

// A third-party referee gives up a match after its invitations. The players accept those of the next
// one, because the manager tells them of it first.
func TestPlayersAreToldOfTheNextThirdPartyReferee(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		thirdPartyReferee(w, "REF02", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		for range 3 {
			_, err := w.Report(w.ContradictoryReport("REF01"))
			require.Error(t, err)
		}
		w.WaitUntil(10 * leaguetest.Second)
		calls := w.Calls(protocol.NotifyRound.Name, "p01")
		require.Len(t, calls, 2)
		assert.Equal(t, "REF02", leaguetest.Decode[protocol.RoundAnnouncement](calls[1].Message).Matches[0].RefereeID)
	})
}

// A report whose round or league cannot be read is about the match that it names.
func TestMalformedReportsCountWithoutTheirRoundAndLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", w.OnlyAccepting(), leaguetest.WithCapacity(1))
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		for _, member := range []string{"round_id", "league_id", "game_type"} {
			encoded, err := json.Marshal(w.WinReport("REF01"))
			require.NoError(t, err)
			params := protocol.ParseObject(encoded)
			params.Set(member, []byte("[]"))
			call := `{"jsonrpc":"2.0","method":"report_match_result","id":1,"params":` + string(params.Append(nil)) + `}`
			assert.Contains(t, string(w.Agents()[0].Mux.Serve(w.Context, "", []byte(call)).Body), member+": ")
		}
		_, err := w.Report(w.WinReport("REF01"))
		require.Error(t, err, "the referee has lost its attempt")
		w.Finish()
		assert.Equal(t, "its referee did not show its result", w.Manager.Results()[0].Reason)
	})
}

// The match goes back to a third-party referee: the players, who have heard of another one since, are told.
func TestPlayersAreToldWhenTheAnnouncedRefereeHasItsMatchAgain(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		busy := leaguetest.AnswerWith(protocol.MatchAssignmentAck{Status: protocol.StatusBusy})
		thirdPartyReferee(w, "REF01", leaguetest.FirstN(1, busy, w.AcceptMatch))
		thirdPartyReferee(w, "REF02", busy)
		w.Players(2)
		w.WaitUntil(20 * leaguetest.Second)
		var told []string
		for _, c := range w.Calls(protocol.NotifyRound.Name, "p01") {
			told = append(told, leaguetest.Decode[protocol.RoundAnnouncement](c.Message).Matches[0].RefereeID)
		}
		assert.Equal(t, []string{"REF01", "REF02", "REF01"}, told)
	})
}

// The journal, which everybody may read, has no token and no long text from a malformed report.
func TestMalformedReportPutsNoTokenAndNoLongTextIntoTheJournal(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.Referee("REF01", w.OnlyAccepting(), leaguetest.WithCapacity(1))
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		send := func(change func(params, result *protocol.Object)) {
			encoded, err := json.Marshal(w.WinReport("REF01"))
			require.NoError(t, err)
			params := protocol.ParseObject(encoded)
			result := params.Object("result")
			change(&params, &result)
			params.Set("result", result.Append(nil))
			call := `{"jsonrpc":"2.0","method":"report_match_result","id":1,"params":` + string(params.Append(nil)) + `}`
			assert.Contains(t, string(w.Agents()[0].Mux.Serve(w.Context, "", []byte(call)).Body), `"error"`)
		}
		token := w.Token("REF01")
		for range 3 {
			send(func(_, result *protocol.Object) {
				result.Set("score", []byte(`{"`+token+" "+strings.Repeat("k", 1000)+`":"x"}`))
			})
		}
		x.Finish()
		send(func(params, result *protocol.Object) { // a dispute
			params.Set("draw", []byte("1"))
			result.Set("winner", protocol.Quote(token))
		})
		require.NoError(t, x.CloseFiles())
		assert.Contains(t, w.CheckFiles(folder).Rounds[0].Matches[0].Disputed, "REF01")
		text := string(leaguetest.ReadJournal(w, folder))
		assert.NotContains(t, text, token)
		assert.NotContains(t, text, strings.Repeat("k", 400))
	})
}

// The first referee loses the match by its reports, the next one because it sends no token. The log
// says why the match ended.
func TestEndOfALostMatchIsLoggedWithItsReason(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		w.StartManager(2, 2)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		thirdPartyReferee(w, "REF02", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		for range 3 {
			_, err := w.Report(w.ContradictoryReport("REF01"))
			require.Error(t, err)
		}
		w.WaitUntil(5 * leaguetest.Second)
		_, err := w.Report(tokenless(w.WinReport("REF02")))
		require.Error(t, err)
		w.Finish()
		for line := range strings.Lines(log.Text()) {
			if strings.Contains(line, protocol.EventLostAttemptRecorded) {
				assert.Contains(t, line, `"referee_id":"REF01"`)
				assert.Contains(t, line, "result.winner")
				return
			}
		}
		assert.Fail(t, "the log does not have the end of the match")
	})
}
