package conversations

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// lenient has agents of other makers go without tokens.
func lenient(o *league.Options) { o.LenientAuth = true }

// outsider registers a referee of another maker: it takes matches, and says nothing
// of access tokens.
func (w *world) outsider(id string, start part) *actor {
	w.t.Helper()
	a := newActor(id, nil)
	a.parts = script{
		protocol.Ping.Name:       saying(map[string]string{"message_type": "PONG", "status": "ok"}),
		protocol.StartMatch.Name: start,
	}
	w.open(a, w.stage(a.parts))
	answer, err := w.applyReferee(w.refereeApplication(id))
	require.NoError(w.t, err)
	require.NotNil(w.t, answer.RefereeID)
	return a
}

// tokenless is a report without a token.
func tokenless(q *protocol.MatchResultReport) *protocol.MatchResultReport {
	q.AuthToken = ""
	return q
}

// What is good for players alone is no business of a referee that cannot show it.
func TestARefereeThatShowsNoAccessTokensGetsNone(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 2)
		w.referee("REF01", w.idle())
		w.outsider("REF02", w.accepting)
		w.players(4)
		w.at(second)
		ours := read[protocol.MatchAssignment](w.only(protocol.StartMatch.Name, "ref01").message)
		theirs := read[protocol.MatchAssignment](w.only(protocol.StartMatch.Name, "ref02").message)
		assert.NotEmpty(t, ours.PlayerA.AccessToken)
		assert.Empty(t, ours.RefereeID)
		assert.Empty(t, theirs.PlayerA.AccessToken)
		assert.Empty(t, theirs.PlayerB.AccessToken)
		assert.Equal(t, "REF02", theirs.RefereeID)
		announced := map[string]string{}
		for _, m := range read[protocol.RoundAnnouncement](w.only(protocol.NotifyRound.Name, "p01").message).Matches {
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
			told(t, func(t *testing.T, w *world) {
				w.startManager(4, 2, test.auth)
				w.referee("REF01", w.idle())
				w.outsider("REF02", w.accepting)
				w.players(4)
				w.at(second)
				players := map[string][2]string{"R1M1": {"P01", "P02"}, "R1M2": {"P03", "P04"}}[test.match]
				q := tokenless(w.verdict("REF01", test.match, &players[0], players[0], players[1], 3, 0))
				q.Sender = test.sender
				_, err := w.report(q)
				if test.code != "" {
					assertRefused(t, err, test.code, test.rpc)
					assert.Zero(t, w.manager.Status().Recorded)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
			})
		})
	}
}

// A token that is shown must be right, also where none is needed.
func TestAWrongTokenIsNone(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, lenient)
		w.outsider("REF01", w.accepting)
		w.players(2)
		w.at(second)
		q := w.wins("REF01")
		q.AuthToken = "tok-ref01-wrong"
		_, err := w.report(q)
		assertRefused(t, err, protocol.ErrTokenInvalid, 5001)
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
			told(t, func(t *testing.T, w *world) {
				w.startManager(0, 1, test.auth)
				w.players(2)
				q := &protocol.LeagueQuery{
					Envelope: protocol.NewStamp(test.sender, w.clock).Envelope(protocol.TypeLeagueQuery, "conv-query"),
					LeagueID: leagueID, QueryType: protocol.QueryStandings,
				}
				_, err := protocol.Query.Call(w.life, w.stranger, w.manage(), q)
				if test.taken {
					assert.NoError(t, err)
				} else {
					assertRefused(t, err, protocol.ErrTokenMissing, 6001)
				}
			})
		})
	}
}

// When the announced referee is gone, and only one is left that does not prove
// itself, the players are told before it invites them.
func TestPlayersAreToldOfARefereeThatDoesNotProveItself(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 2, lenient)
		w.referee("REF01", does(protocol.StartMatch.Name, failing(errHangUp)))
		invited := make(chan error, 2)
		w.outsider("REF02", func(c *call) (jsontext.Value, error) {
			q := read[protocol.MatchAssignment](c.message)
			for _, seat := range []protocol.AssignedPlayer{q.PlayerA, q.PlayerB} {
				_, err := protocol.Invite.Call(c.ctx, w.stranger, protocol.Peer{Endpoint: seat.Endpoint}, &protocol.GameInvitation{
					Envelope: protocol.NewStamp("referee:REF02", w.clock).Envelope(protocol.TypeGameInvitation, "conv-outside"),
					LeagueID: leagueID, RoundID: 1, MatchID: q.MatchID, GameType: q.GameType, RoleInMatch: protocol.RolePlayerA, OpponentID: "P02",
				})
				invited <- err
			}
			return w.accepting(c)
		})
		w.players(2)
		w.at(30 * second)
		assert.NoError(t, <-invited)
		assert.NoError(t, <-invited)
		again := w.said(protocol.NotifyRound.Name, "p01")
		require.Len(t, again, 2)
		match := read[protocol.RoundAnnouncement](again[1].message).Matches[0]
		assert.Equal(t, []string{"R1M1", "REF02", "none"}, []string{match.MatchID, match.RefereeID, match.RefereeAuth})
		_, err := w.report(tokenless(w.verdict("REF02", "R1M1", nil, "P01", "P02", 1, 1)))
		assert.NoError(t, err)
	})
}

// Third-party referees draw as they like. What they report is recorded, and the
// audit says what cannot be checked. A report that contradicts itself is refused;
// the only referee's counts all the same, and is a finding.
func TestALeagueOfARefereeThatShowsNoDraws(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		x := w.tenure(store.Folder(t.TempDir()), 4, 1, lenient)
		w.outsider("REF01", w.accepting)
		w.players(4)
		drawn := "DRAW"
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				w.at(w.now() + 20*second)
				id := protocol.MatchID{Round: round, Number: number}.String()
				players := w.pairOf(id)
				q := tokenless(w.verdict("REF01", id, &players[0], players[0], players[1], 3, 0))
				even, odd, never, eighteen, seven := "even", "odd", "EVEN", 18, 7
				switch id {
				case "R1M1": // as maker C draws
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &eighteen, Choices: protocol.Both(players[0], &even, players[1], &odd)}
				case "R1M2": // as maker D scores
					q.Result = protocol.MatchResult{Score: protocol.Both(players[0], 0, players[1], 0)}
				case "R2M1": // as maker E says
					q.Result.Winner = &drawn
				case "R2M2": // it speaks against itself
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &seven, Choices: protocol.Both(players[0], &even, players[1], &odd)}
				case "R3M1":
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &eighteen, Choices: protocol.Both(players[0], &never, players[1], &odd)}
				case "R3M2":
					q.Result.Details = &protocol.ResultDetails{DrawnNumber: &seven, Status: protocol.StatusTechnicalLoss}
				}
				_, err := w.report(q)
				switch id {
				case "R1M1", "R2M2":
					assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
				case "R3M1":
					assertRefused(t, err, protocol.ErrInvalidParityChoice, 4004)
				default:
					require.NoError(t, err, id)
				}
			}
		}
		x.finish()
		results := map[string]string{}
		for _, r := range w.manager.Results() {
			results[r.MatchID] = r.Status + " " + r.Winner + " " + r.ChoiceA
		}
		assert.Equal(t, map[string]string{
			"R1M1": "WIN P01 even", "R1M2": "DRAW  ", "R2M1": "DRAW  ", "R2M2": "WIN P04 even", // as choices and number have it
			"R3M1": "WIN P01 ", "R3M2": "TECHNICAL_LOSS P02 ",
		}, results)
		require.NoError(t, x.close())
		audited := w.auditOf(x.folder)
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
	told(t, func(t *testing.T, w *world) {
		x := w.tenure(store.Folder(t.TempDir()), 2, 1, lenient)
		w.outsider("REF01", func(c *call) (jsontext.Value, error) {
			began := w.now()
			_, err := w.report(tokenless(w.wins("REF01")))
			assert.NoError(t, err)
			assert.Less(t, w.now()-began, second, "nobody waits for what waits for it")
			return w.accepting(c)
		})
		w.players(2)
		x.finish()
		require.NoError(t, x.close())
		assert.Empty(t, w.auditOf(x.folder).Findings)
	})
}

// A referee that comes back says again whether it proves itself.
func TestARefereeThatHasLearnedToProveItself(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		x := w.tenure(store.Folder(t.TempDir()), 4, 1)
		w.outsider("REF01", w.accepting)
		w.players(4)
		w.at(second)
		for _, auth := range []string{protocol.RefereeAuthNone, protocol.RefereeAuthAccessToken, protocol.RefereeAuthAccessToken, ""} {
			q := w.refereeApplication("REF01")
			q.Sender, q.AuthToken, q.RefereeAuth = "referee:REF01", w.token("REF01"), auth
			answer, err := w.applyReferee(q)
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, answer.Status)
		}
		x.kill()
		state, _ := w.fold(x.folder)
		assert.False(t, state.Agents["REF01"].Proves())
		returned := 0
		for _, kind := range w.kinds(x.folder) {
			if kind == "agent_returned" {
				returned++
			}
		}
		assert.Equal(t, 2, returned, "only what has changed is recorded")
	})
}

// auditOf is what the audit says of the league in a folder.
func (w *world) auditOf(folder store.Folder) audit.League {
	w.t.Helper()
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.game)})
	require.NoError(w.t, err)
	require.Len(w.t, report.Leagues, 1)
	return report.Leagues[0]
}

// pairOf are the players of a match.
func (w *world) pairOf(matchID string) [2]string {
	for _, e := range w.said(protocol.StartMatch.Name, "ref01") {
		if q := read[protocol.MatchAssignment](e.message); q.MatchID == matchID {
			return [2]string{q.PlayerA.PlayerID, q.PlayerB.PlayerID}
		}
	}
	w.t.Fatalf("%s was not handed out", matchID)
	return [2]string{}
}

// Who needs a token, and who proves itself, outlasts the manager.
func TestLeniencyIsKept(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		x := w.tenure(folder, 4, 2, lenient)
		w.referee("REF01", w.idle())
		w.outsider("REF02", w.accepting)
		w.players(4)
		w.at(second)
		x.kill()
		x = w.tenure(folder, 4, 2) // lenient no more, but the league goes on as it began
		w.at(2 * second)
		_, err := w.report(tokenless(w.verdict("REF02", "R1M2", nil, "P03", "P04", 1, 1)))
		require.NoError(t, err)
		_, err = w.report(tokenless(w.wins("REF01")))
		assertRefused(t, err, protocol.ErrTokenMissing, 5001)
		x.kill()
		state, _ := w.fold(x.folder)
		assert.Equal(t, journal.AuthLenient, state.Created.Auth)
		assert.True(t, state.Agents["REF01"].Proves())
		assert.False(t, state.Agents["REF02"].Proves())
	})
}

func TestAssignmentSaysWhetherTheLeagueIsLenient(t *testing.T) {
	for want, change := range map[string]func(*league.Options){"": func(*league.Options) {}, protocol.AuthLenient: lenient} {
		t.Run(want, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1, change)
				w.referee("REF01")
				w.players(2)
				w.finish()
				assert.Equal(t, want, read[protocol.MatchAssignment](w.only(protocol.StartMatch.Name, "ref01").message).Auth)
			})
		})
	}
}
