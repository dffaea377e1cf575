package manager_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules"
)

// lenient lets third-party agents omit tokens.
func lenient(o *manager.Options) { o.Auth = journal.AuthLenient }

// thirdPartyReferee registers a referee that has only a script. Unless changed, it uses no access tokens.
func thirdPartyReferee(
	w *leaguetest.World, id string, start leaguetest.Reply, change ...func(*protocol.RefereeRegisterRequest),
) {
	w.T.Helper()
	a := leaguetest.NewAgent(id, nil)
	a.Script = leaguetest.Script{
		protocol.Ping.Name:       leaguetest.AnswerWith(map[string]string{"message_type": "PONG", "status": "ok"}),
		protocol.StartMatch.Name: start,
	}
	w.Open(a, w.ScriptMux(a.Script))
	q := w.RefereeApplication(id)
	for _, set := range change {
		set(q)
	}
	require.NotNil(w.T, mustApplyReferee(w, q).RefereeID)
}

// thirdPartyLeague starts a league of two players. Its only referee accepts the match, does not use access tokens,
// and leaves the report to the test.
func thirdPartyLeague(w *leaguetest.World, change ...func(*manager.Options)) *leaguetest.ManagerRun {
	w.T.Helper()
	x := w.StartManagerIn(leaguetest.TempFolder(w.T), 2, 1, change...)
	thirdPartyReferee(w, "REF01", w.AcceptMatch)
	w.Players(2)
	w.WaitUntil(leaguetest.Second)
	return x
}

// atItsAddress lets each request come from the address of the referee that it is about.
func atItsAddress(o *manager.Options) {
	o.CalledFrom = func(context.Context, string) bool { return true }
}

// tokenless removes the token of a report.
func tokenless(q *protocol.MatchResultReport) *protocol.MatchResultReport {
	q.AuthToken = ""
	return q
}

func TestThirdPartyRefereeGetsNoAccessTokens(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 2, func(o *manager.Options) { o.AllowedEndpoints = []string{"10.1.0.0/16"} })
		w.Referee("REF01", w.OnlyAccepting())
		thirdPartyReferee(w, "REF02", w.AcceptMatch)
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		own := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
		thirdParty := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref02").Message)
		assert.NotEmpty(t, own.PlayerA.AccessToken)
		assert.Empty(t, own.RefereeID)
		assert.Empty(t, thirdParty.PlayerA.AccessToken)
		assert.Empty(t, thirdParty.PlayerB.AccessToken)
		assert.Equal(t, "REF02", thirdParty.RefereeID)
		assert.NotEmpty(t, own.AllowedEndpoints)
		assert.Empty(t, thirdParty.AllowedEndpoints, "it may refuse messages with unknown members")
		announced := map[string]string{}
		for _, m := range leaguetest.Decode[protocol.RoundAnnouncement](w.OnlyCall(protocol.NotifyRound.Name, "p01").Message).Matches {
			announced[m.RefereeID] = m.RefereeAuth
		}
		assert.Equal(t, map[string]string{"REF01": "access_token", "REF02": "none"}, announced)
	})
}

func TestReportWithoutTokenIsOnlyAcceptedForThirdPartyMatches(t *testing.T) {
	strict := func(*manager.Options) {}
	for name, test := range map[string]struct {
		auth   func(*manager.Options)
		sender string
		match  string // R1M1 is assigned to our REF01, R1M2 to the third-party REF02
		code   protocol.Code
		rpc    int
	}{
		"third-party referee":                {lenient, "referee:REF02", "R1M2", "", 0},
		"unknown referee, third-party match": {lenient, "referee:unknown", "R1M2", "", 0},
		"unknown referee, our match":         {lenient, "referee:unknown", "R1M1", protocol.ErrTokenMissing, 5001},
		"our referee":                        {lenient, "referee:REF01", "R1M1", protocol.ErrTokenMissing, 5001},
		"our referee, third-party match":     {lenient, "referee:REF01", "R1M2", protocol.ErrTokenMissing, 5001},
		"third-party referee, our match":     {lenient, "referee:REF02", "R1M1", protocol.ErrMatchNotFound, 5002},
		"player":                             {lenient, "player:P01", "R1M2", protocol.ErrTokenMissing, 5001},
		"unregistered referee":               {lenient, "referee:REF03", "R1M2", protocol.ErrTokenMissing, 5001},
		"third-party referee, strict":        {strict, "referee:REF02", "R1M2", protocol.ErrTokenMissing, 5001},
		"unknown referee, strict":            {strict, "referee:unknown", "R1M2", protocol.ErrTokenMissing, 5001},
	} {
		leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(4, 2, test.auth)
			w.Referee("REF01", w.OnlyAccepting())
			thirdPartyReferee(w, "REF02", w.AcceptMatch)
			w.Players(4)
			w.WaitUntil(leaguetest.Second)
			players := map[string][2]string{"R1M1": {"P01", "P02"}, "R1M2": {"P03", "P04"}}[test.match]
			q := tokenless(w.ReportOf("REF01", test.match, &players[0], players[0], players[1], 3, 0))
			q.Sender = test.sender
			_, err := w.Report(q)
			if test.code != "" {
				leaguetest.AssertRefused(t, err, test.code, test.rpc)
				assert.Zero(t, w.Manager.Status().Recorded)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "REF02", leaguetest.Results(w.Manager)[0].RefereeID)
		})
	}
}

func TestQueryWithoutTokenIsOnlyAcceptedWithLenientAuth(t *testing.T) {
	for name, test := range map[string]struct {
		auth   func(*manager.Options)
		sender string
		taken  bool
	}{
		"player":              {lenient, "player:P02", true},
		"unregistered player": {lenient, "player:P09", false},
		"player, strict":      {func(*manager.Options) {}, "player:P02", false},
	} {
		leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1, test.auth)
			w.Players(2)
			q := &protocol.LeagueQuery{
				Envelope: protocol.NewStamp(test.sender, w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-query"),
				LeagueID: leaguetest.LeagueID, QueryType: protocol.QueryStandings,
			}
			_, err := protocol.Query.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
			if test.taken {
				assert.NoError(t, err)
			} else {
				leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 6001)
			}
		})
	}
}

// The announced referee is unreachable and the next one does not authenticate itself: the
// manager tells the players before that referee invites them.
func TestPlayersLearnThatTheirRefereeDoesNotAuthenticate(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, lenient)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
		invited := make(chan error, 2)
		thirdPartyReferee(w, "REF02", func(c *leaguetest.Call) (jsontext.Value, error) {
			q := leaguetest.Decode[protocol.MatchAssignment](c.Message)
			for _, side := range []protocol.AssignedPlayer{q.PlayerA, q.PlayerB} {
				_, err := protocol.Invite.Call(c.Context, w.Untrusted, protocol.Peer{Endpoint: side.Endpoint}, &protocol.GameInvitation{
					Envelope: protocol.NewStamp("referee:REF02", w.Clock).Envelope(protocol.TypeGameInvitation, "conv-outside"),
					LeagueID: leaguetest.LeagueID, RoundID: 1, MatchID: q.MatchID, GameType: q.GameType, RoleInMatch: protocol.RolePlayerA, OpponentID: "P02",
				})
				invited <- err
			}
			return w.AcceptMatch(c)
		})
		w.Players(2)
		w.WaitUntil(30 * leaguetest.Second)
		assert.NoError(t, <-invited)
		assert.NoError(t, <-invited)
		again := w.Calls(protocol.NotifyRound.Name, "p01")
		require.Len(t, again, 2)
		match := leaguetest.Decode[protocol.RoundAnnouncement](again[1].Message).Matches[0]
		assert.Equal(t, []string{"R1M1", "REF02", "none"}, []string{match.MatchID, match.RefereeID, match.RefereeAuth})
		mustReport(w, tokenless(w.ReportOf("REF02", "R1M1", nil, "P01", "P02", 1, 1)))
	})
}

// Third-party referees draw without commitments. Their reports are recorded, and the audit
// notes what it cannot verify. The manager rejects contradictory reports; of those of the only
// referee, the one of which only the number is wrong counts without it, and the others make draws.
func TestLeagueOfAThirdPartyRefereeCanBeAudited(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		x := w.StartManagerIn(store.In(t.TempDir()), 4, 1, lenient)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(4)
		draw := "DRAW"
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				w.WaitUntil(w.Now() + 20*leaguetest.Second)
				id := league.MatchID{Round: round, Number: number}.String()
				players := pairOf(w, id)
				q := tokenless(w.ReportOf("REF01", id, &players[0], players[0], players[1], 3, 0))
				even, odd, upper, eighteen, seven := "even", "odd", "EVEN", 18, 7
				switch id {
				case "R1M1": // the parity rule of one known referee
					q.Result.DrawnNumber, q.Result.Choices = &eighteen, league.Both(players[0], &even, players[1], &odd)
				case "R1M2": // the scores of another
					q.Result = protocol.ReportedResult{Score: league.Both(players[0], 0, players[1], 0)}
				case "R2M1": // the winner of a third
					q.Result.WinnerPlayerID = &draw
				case "R2M2": // a contradictory report
					q.Result.DrawnNumber, q.Result.Choices = &seven, league.Both(players[0], &even, players[1], &odd)
				case "R3M1":
					q.Result.DrawnNumber, q.Result.Choices = &eighteen, league.Both(players[0], &upper, players[1], &odd)
				case "R3M2":
					q.Result.DrawnNumber, q.Result.Status = &seven, league.StatusTechnicalLoss
				}
				_, err := w.Report(q)
				switch id {
				case "R1M1", "R2M2":
					leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
				case "R3M1":
					leaguetest.AssertRefused(t, err, protocol.ErrInvalidParityChoice, 4004)
				default:
					require.NoError(t, err, id)
				}
			}
		}
		x.Finish()
		results := map[string]string{}
		for _, r := range leaguetest.Results(w.Manager) {
			results[r.MatchID] = r.Status + " " + r.Winner() + " " + r.LastMoves()[0]
		}
		assert.Equal(t, map[string]string{
			"R1M1": "WIN P01 even", "R1M2": "DRAW  ", "R2M1": "DRAW  ", "R2M2": "DRAW  ", "R3M1": "DRAW  ", "R3M2": "TECHNICAL_LOSS P02 ",
		}, results)
		require.NoError(t, x.CloseFiles())
		audited := auditOf(w, x.Folder)
		assert.Empty(t, audited.Findings)
		assert.Equal(t, 5, audited.Stated, "all but the technical loss")
		assert.Equal(t, 1, strings.Count(log.Text(), "RESULT_STATED"), "one warning for the referee")
		assert.Equal(t, []string{
			"3 results rest on the word of referee REF01 Referee REF01 alone.", "R1M1: its referee drew 18; the game draws 1 to 10.",
			"2 results are draws, because referee REF01 Referee REF01 did not show them.",
			"6 results of referee REF01 Referee REF01 are disputed by players that know nothing of the match: " +
				"P01 Agent P01, P02 Agent P02, P03 Agent P03, P04 Agent P04.",
		}, x.Manager.Evidence())
		notes := map[string]int{}
		for _, n := range audited.Notes {
			notes[n.Rule]++
		}
		assert.Equal(t, 3, notes[audit.RuleDoubt], "rejected reports")
		assert.Equal(t, 4, notes[audit.RuleEvidence], "each sentence")
		assert.Equal(t, 1, notes[audit.RuleOneResult], "reports need no token")
	})
}

// A referee draws from 1 to 100. Its report is refused; without another referee its result counts without the
// number, and the same report is acknowledged then. With another one, that one conducts the match.
func TestResultCountsWithoutAnImpossibleNumber(t *testing.T) {
	for name, alone := range map[string]bool{"the only referee": true, "another referee": false} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, map[bool]int{true: 1, false: 2}[alone])
			thirdPartyReferee(w, "REF01", w.AcceptMatch)
			if !alone {
				w.Referee("REF02")
			}
			w.Players(2, leaguetest.On(protocol.Ping.Name, leaguetest.AnswerWith(map[string]string{"status": "ok"})))
			w.WaitUntil(leaguetest.Second)
			q := w.WinReport("REF01")
			q.Result.DrawnNumber = new(38)
			assertReportRefused(w, q, protocol.ErrInvalidFieldType, -32602)
			x.Finish()
			r := leaguetest.Results(x.Manager)[0]
			if alone {
				mustReport(w, q)
				assert.Equal(t, league.Result{
					Status: league.StatusWin, WinnerPlayerID: new("P01"), Choices: league.Both("P01", new("even"), "P02", new("odd")),
					Reason: "its referee drew 38; the game draws 1 to 10",
				}, r.Result)
				assert.Equal(t, []string{"R1M1", "REF01", journal.GradeStated}, []string{r.MatchID, r.RefereeID, r.Grade})
			} else {
				assert.Equal(t, "REF02", r.RefereeID)
			}
			state := x.CloseAudited()
			assert.Empty(t, state.Rounds[0].Matches[0].Disputed)
			assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
		})
	}
}

// A referee says that a player did not join. Its reason stands beside each such result, and the third of one player
// is a warning: the referee may not reach it.
func TestRefereeThatMayNotReachAPlayerIsNamed(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) { o.Legs = 4 })
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(2, leaguetest.On(protocol.Ping.Name, leaguetest.AnswerWith(map[string]string{"status": "ok"})))
		for round := 1; round <= 4; round++ {
			w.WaitUntil(w.Now() + 20*leaguetest.Second)
			q := w.ReportOf("REF01", league.MatchID{Round: round, Number: 1}.String(), new("P01"), "P01", "P02", 3, 0)
			q.Result.DrawnNumber, q.Result.Choices, q.Result.Reason = new(0), league.PerPlayer[*string]{}, "P02 failed to join"
			mustReport(w, q)
			w.WaitUntil(w.Now() + leaguetest.Second)
			assert.Equal(t, max(0, round-2) > 0, strings.Contains(log.Text(), "PLAYER_OUT_OF_REACH"), "round %d", round)
		}
		finish(x)
		assert.Equal(t, 1, strings.Count(log.Text(), "PLAYER_OUT_OF_REACH"))
		assert.Equal(t, []string{
			"4 results rest on the word of referee REF01 Referee REF01 alone.",
			`R1M1: its referee says: "P02 failed to join"; R2M1: its referee says: "P02 failed to join"; ` +
				`R3M1: its referee says: "P02 failed to join"; and 1 more.`,
		}, x.Manager.Evidence())
		for _, r := range leaguetest.Results(x.Manager) {
			assert.Equal(t, []string{league.StatusWin, journal.GradeStated}, []string{r.Status, r.Grade})
		}
	})
}

// A third-party referee may conduct and report a match within start_match.
func TestReportWithinStartMatchIsRecorded(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(store.In(t.TempDir()), 2, 1, lenient)
		thirdPartyReferee(w, "REF01", func(c *leaguetest.Call) (jsontext.Value, error) {
			began := w.Now()
			_, err := w.Report(tokenless(w.WinReport("REF01")))
			assert.NoError(t, err)
			assert.Less(t, w.Now()-began, leaguetest.Second, "the report does not wait for the response to start_match")
			return w.AcceptMatch(c)
		})
		w.Players(2)
		finish(x)
	})
}

// A re-registration may change whether the referee authenticates itself.
func TestReregistrationMayChangeRefereeAuthentication(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(store.In(t.TempDir()), 4, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		for _, auth := range []string{protocol.RefereeAuthNone, protocol.RefereeAuthAccessToken, protocol.RefereeAuthAccessToken, ""} {
			q := w.RefereeApplication("REF01")
			q.Sender, q.AuthToken, q.RefereeAuth = "referee:REF01", w.Token("REF01"), auth
			assert.Equal(t, protocol.StatusAccepted, mustApplyReferee(w, q).Status)
		}
		x.Kill()
		state, _ := w.FoldJournal(x.Folder)
		assert.False(t, state.Agents["REF01"].ShowsAccessTokens())
		assert.Equal(t, 2, count(w.EventTypes(x.Folder), "agent_returned"), "only changes are recorded")
	})
}

// auditOf audits the league in a folder.
func auditOf(w *leaguetest.World, folder store.Folder) audit.League {
	w.T.Helper()
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game)})
	require.NoError(w.T, err)
	require.Len(w.T, report.Leagues, 1)
	return report.Leagues[0]
}

// pairOf returns the players of a match.
func pairOf(w *leaguetest.World, matchID string) [2]string {
	for _, e := range w.Calls(protocol.StartMatch.Name, "ref01") {
		if q := leaguetest.Decode[protocol.MatchAssignment](e.Message); q.MatchID == matchID {
			return [2]string{q.PlayerA.PlayerID, q.PlayerB.PlayerID}
		}
	}
	w.T.Fatalf("%s was not assigned", matchID)
	return [2]string{}
}

func TestResumedLeagueKeepsItsAuthenticationMode(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		x := w.StartManagerIn(folder, 4, 2, lenient)
		w.Referee("REF01", w.OnlyAccepting())
		thirdPartyReferee(w, "REF02", w.AcceptMatch)
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 4, 2) // strict now, but the recorded setting applies
		w.WaitUntil(2 * leaguetest.Second)
		mustReport(w, tokenless(w.ReportOf("REF02", "R1M2", nil, "P03", "P04", 1, 1)))
		assertReportRefused(w, tokenless(w.WinReport("REF01")), protocol.ErrTokenMissing, 5001)
		x.Kill()
		state, _ := w.FoldJournal(x.Folder)
		assert.Equal(t, journal.AuthLenient, state.Created.Auth)
		assert.True(t, state.Agents["REF01"].ShowsAccessTokens())
		assert.False(t, state.Agents["REF02"].ShowsAccessTokens())
	})
}
