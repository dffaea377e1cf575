package league_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/audit"
	"evenodd/league/journal"
	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// lenient has agents of other makers go without tokens.
func lenient(o *league.Options) { o.LenientAuth = true }

// outsider registers a referee of another maker: it takes matches, and says nothing
// of access tokens.
func outsider(w *leaguetest.World, id string, start leaguetest.Reply) *leaguetest.Agent {
	w.T.Helper()
	a := leaguetest.NewAgent(id, nil)
	a.Script = leaguetest.Script{
		protocol.Ping.Name:       leaguetest.AnswerWith(map[string]string{"message_type": "PONG", "status": "ok"}),
		protocol.StartMatch.Name: start,
	}
	w.Open(a, w.ScriptMux(a.Script))
	answer, err := w.ApplyReferee(w.RefereeApplication(id))
	require.NoError(w.T, err)
	require.NotNil(w.T, answer.RefereeID)
	return a
}

// tokenless is a report without a token.
func tokenless(q *protocol.MatchResultReport) *protocol.MatchResultReport {
	q.AuthToken = ""
	return q
}

// What is good for players alone is no business of a referee that cannot show it.
func TestARefereeThatShowsNoAccessTokensGetsNone(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 2)
		w.Referee("REF01", w.OnlyAccepting())
		outsider(w, "REF02", w.AcceptMatch)
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		ours := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
		theirs := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref02").Message)
		assert.NotEmpty(t, ours.PlayerA.AccessToken)
		assert.Empty(t, ours.RefereeID)
		assert.Empty(t, theirs.PlayerA.AccessToken)
		assert.Empty(t, theirs.PlayerB.AccessToken)
		assert.Equal(t, "REF02", theirs.RefereeID)
		announced := map[string]string{}
		for _, m := range leaguetest.Decode[protocol.RoundAnnouncement](w.OnlyCall(protocol.NotifyRound.Name, "p01").Message).Matches {
			announced[m.RefereeID] = m.RefereeAuth
		}
		assert.Equal(t, map[string]string{"REF01": "access_token", "REF02": "none"}, announced)
	})
}

func TestReportsWithoutToken(t *testing.T) {
	strict := func(*league.Options) {}
	for name, test := range map[string]struct {
		auth   func(*league.Options)
		sender string
		match  string // R1M1 is that of REF01, which is ours; R1M2 that of REF02, which is not
		code   protocol.Code
		rpc    int
	}{
		"of another maker's":                       {lenient, "referee:REF02", "R1M2", "", 0},
		"of nobody, in a match of another maker's": {lenient, "referee:unknown", "R1M2", "", 0},
		"of nobody, in a match of ours":            {lenient, "referee:unknown", "R1M1", protocol.ErrTokenMissing, 5001},
		"of ours":                                  {lenient, "referee:REF01", "R1M1", protocol.ErrTokenMissing, 5001},
		"of ours, in another's match":              {lenient, "referee:REF01", "R1M2", protocol.ErrTokenMissing, 5001},
		"of another's, in a match of ours":         {lenient, "referee:REF02", "R1M1", protocol.ErrMatchNotFound, 5002},
		"of a player":                              {lenient, "player:P01", "R1M2", protocol.ErrTokenMissing, 5001},
		"of somebody who never registered":         {lenient, "referee:REF03", "R1M2", protocol.ErrTokenMissing, 5001},
		"where all need one":                       {strict, "referee:REF02", "R1M2", protocol.ErrTokenMissing, 5001},
		"of nobody, where all need one":            {strict, "referee:unknown", "R1M2", protocol.ErrTokenMissing, 5001},
	} {
		t.Run(name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(4, 2, test.auth)
				w.Referee("REF01", w.OnlyAccepting())
				outsider(w, "REF02", w.AcceptMatch)
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
				assert.Equal(t, "REF02", w.Manager.Results()[0].RefereeID)
			})
		})
	}
}

// A token that is shown must be right, also where none is needed.
func TestAWrongTokenIsNone(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, lenient)
		outsider(w, "REF01", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		q := w.WinReport("REF01")
		q.AuthToken = "tok-ref01-wrong"
		_, err := w.Report(q)
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 5001)
	})
}

func TestQueriesWithoutToken(t *testing.T) {
	for name, test := range map[string]struct {
		auth   func(*league.Options)
		sender string
		taken  bool
	}{
		"of a player":                         {lenient, "player:P02", true},
		"of somebody who never registered":    {lenient, "player:P09", false},
		"of a player, where all need a token": {func(*league.Options) {}, "player:P02", false},
	} {
		t.Run(name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
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
		})
	}
}

// When the announced referee is gone, and only one is left that does not prove
// itself, the players are told before it invites them.
func TestPlayersAreToldOfARefereeThatDoesNotProveItself(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, lenient)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
		invited := make(chan error, 2)
		outsider(w, "REF02", func(c *leaguetest.Call) (jsontext.Value, error) {
			q := leaguetest.Decode[protocol.MatchAssignment](c.Message)
			for _, seat := range []protocol.AssignedPlayer{q.PlayerA, q.PlayerB} {
				_, err := protocol.Invite.Call(c.Context, w.Untrusted, protocol.Peer{Endpoint: seat.Endpoint}, &protocol.GameInvitation{
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
		_, err := w.Report(tokenless(w.ReportOf("REF02", "R1M1", nil, "P01", "P02", 1, 1)))
		assert.NoError(t, err)
	})
}

// Third-party referees draw as they like. What they report is recorded, and the
// audit says what cannot be checked. A report that contradicts itself is refused;
// the only referee's counts all the same, and is a finding.
func TestALeagueOfARefereeThatShowsNoDraws(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(store.Folder(t.TempDir()), 4, 1, lenient)
		outsider(w, "REF01", w.AcceptMatch)
		w.Players(4)
		drawnReport := "DRAW"
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				w.WaitUntil(w.Now() + 20*leaguetest.Second)
				id := protocol.MatchID{Round: round, Number: number}.String()
				players := pairOf(w, id)
				q := tokenless(w.ReportOf("REF01", id, &players[0], players[0], players[1], 3, 0))
				even, odd, never, eighteen, seven := "even", "odd", "EVEN", 18, 7
				switch id {
				case "R1M1": // as maker C draws
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &eighteen, Choices: protocol.Both(players[0], &even, players[1], &odd)}
				case "R1M2": // as maker D scores
					q.Result = protocol.MatchResult{Score: protocol.Both(players[0], 0, players[1], 0)}
				case "R2M1": // as maker E says
					q.Result.Winner = &drawnReport
				case "R2M2": // it speaks against itself
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &seven, Choices: protocol.Both(players[0], &even, players[1], &odd)}
				case "R3M1":
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &eighteen, Choices: protocol.Both(players[0], &never, players[1], &odd)}
				case "R3M2":
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &seven, Status: protocol.StatusTechnicalLoss}
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
		for _, r := range w.Manager.Results() {
			results[r.MatchID] = r.Status + " " + r.Winner + " " + r.ChoiceA
		}
		assert.Equal(t, map[string]string{
			"R1M1": "WIN P01 even", "R1M2": "DRAW  ", "R2M1": "DRAW  ", "R2M2": "WIN P04 even", // as choices and number have it
			"R3M1": "WIN P01 ", "R3M2": "TECHNICAL_LOSS P02 ",
		}, results)
		require.NoError(t, x.CloseFiles())
		audited := auditOf(w, x.Folder)
		doubted := map[string]string{}
		for _, f := range audited.Findings {
			doubted[f.MatchID] = f.Rule
		}
		assert.Equal(t, map[string]string{"R1M1": audit.RuleDoubt, "R2M2": audit.RuleDoubt, "R3M1": audit.RuleDoubt}, doubted)
		notes := map[string]int{}
		for _, n := range audited.Notes {
			notes[n.Rule]++
		}
		assert.Equal(t, 5, notes[audit.RuleDraw], "draws that cannot be recomputed")
		assert.Equal(t, 2, notes[audit.RuleVerdict], "numbers that are never drawn")
		assert.Equal(t, 1, notes[audit.RuleOneResult], "nobody needed a token")
	})
}

// A referee may play a match, and report it, before it answers that it has it.
func TestAReportWithinTheAnswer(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(store.Folder(t.TempDir()), 2, 1, lenient)
		outsider(w, "REF01", func(c *leaguetest.Call) (jsontext.Value, error) {
			began := w.Now()
			_, err := w.Report(tokenless(w.WinReport("REF01")))
			assert.NoError(t, err)
			assert.Less(t, w.Now()-began, leaguetest.Second, "nobody waits for what waits for it")
			return w.AcceptMatch(c)
		})
		w.Players(2)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		assert.Empty(t, auditOf(w, x.Folder).Findings)
	})
}

// A referee that comes back says again whether it proves itself.
func TestARefereeThatHasLearnedToProveItself(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(store.Folder(t.TempDir()), 4, 1)
		outsider(w, "REF01", w.AcceptMatch)
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		for _, auth := range []string{protocol.RefereeAuthNone, protocol.RefereeAuthAccessToken, protocol.RefereeAuthAccessToken, ""} {
			q := w.RefereeApplication("REF01")
			q.Sender, q.AuthToken, q.RefereeAuth = "referee:REF01", w.Token("REF01"), auth
			answer, err := w.ApplyReferee(q)
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, answer.Status)
		}
		x.Kill()
		state, _ := w.FoldJournal(x.Folder)
		assert.False(t, state.Agents["REF01"].Proves())
		returned := 0
		for _, kind := range w.EventTypes(x.Folder) {
			if kind == "agent_returned" {
				returned++
			}
		}
		assert.Equal(t, 2, returned, "only what has changed is recorded")
	})
}

// auditOf is what the audit says of the league in a folder.
func auditOf(w *leaguetest.World, folder store.Folder) audit.League {
	w.T.Helper()
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game)})
	require.NoError(w.T, err)
	require.Len(w.T, report.Leagues, 1)
	return report.Leagues[0]
}

// pairOf are the players of a match.
func pairOf(w *leaguetest.World, matchID string) [2]string {
	for _, e := range w.Calls(protocol.StartMatch.Name, "ref01") {
		if q := leaguetest.Decode[protocol.MatchAssignment](e.Message); q.MatchID == matchID {
			return [2]string{q.PlayerA.PlayerID, q.PlayerB.PlayerID}
		}
	}
	w.T.Fatalf("%s was not handed out", matchID)
	return [2]string{}
}

// Who needs a token, and who proves itself, outlasts the manager.
func TestLeniencyIsKept(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.Folder(t.TempDir())
		x := w.StartManagerIn(folder, 4, 2, lenient)
		w.Referee("REF01", w.OnlyAccepting())
		outsider(w, "REF02", w.AcceptMatch)
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 4, 2) // lenient no more, but the league goes on as it began
		w.WaitUntil(2 * leaguetest.Second)
		_, err := w.Report(tokenless(w.ReportOf("REF02", "R1M2", nil, "P03", "P04", 1, 1)))
		require.NoError(t, err)
		_, err = w.Report(tokenless(w.WinReport("REF01")))
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 5001)
		x.Kill()
		state, _ := w.FoldJournal(x.Folder)
		assert.Equal(t, journal.AuthLenient, state.Created.Auth)
		assert.True(t, state.Agents["REF01"].Proves())
		assert.False(t, state.Agents["REF02"].Proves())
	})
}

func TestAssignmentSaysWhetherTheLeagueIsLenient(t *testing.T) {
	for want, change := range map[string]func(*league.Options){"": func(*league.Options) {}, protocol.AuthLenient: lenient} {
		t.Run(want, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(2, 1, change)
				w.Referee("REF01")
				w.Players(2)
				w.Finish()
				assert.Equal(t, want, leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message).Auth)
			})
		})
	}
}
