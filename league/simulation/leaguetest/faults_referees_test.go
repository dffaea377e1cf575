package leaguetest_test

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// refereeFaults are the faults of a referee. A referee that reports a false but possible
// result of its own match is believed; the audit finds it.
func refereeFaults() []*fault {
	referee := func(name, what string, parts ...leaguetest.Reply) *fault {
		return &fault{name: name, description: what, of: ofReferee, traits: leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(parts...)))}
	}
	// assigned answers every assignment as answer does.
	type answering func(r *falseReferee, c *leaguetest.Call) (jsontext.Value, error)
	assigned := func(name, what string, answer answering) *fault {
		return &fault{name: name, description: what, of: ofReferee, script: func(w *hostileWorld) []leaguetest.Option {
			carrier := w.Caller(strings.ToLower(badReferee), 64<<10)
			return leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
				return answer(&falseReferee{w, carrier, leaguetest.Decode[protocol.MatchAssignment](c.Message)}, c)
			}))
		}}
	}
	// scripted accepts every match, conducts none, and calls play for each.
	scripted := func(name, what string, play func(r *falseReferee)) *fault {
		return assigned(name, what, func(r *falseReferee, c *leaguetest.Call) (jsontext.Value, error) {
			r.w.Background.Go(func() {
				pause()
				play(r)
			})
			return r.w.AcceptMatch(c)
		})
	}
	// wrongly changes the report of a draw and sends only that report.
	wrongly := func(name, what string, change func(r *falseReferee, q *protocol.MatchResultReport)) *fault {
		return scripted(name, what, func(r *falseReferee) {
			q := r.draw()
			change(r, q)
			r.report(q)
		})
	}
	return []*fault{
		referee("assignment-unanswered", "never answers an assignment", leaguetest.Silent),
		referee("assignment-answered-late", "answers each assignment after 20 s", leaguetest.Delayed(20*leaguetest.Second, leaguetest.Normally)),
		referee("assignment-rejected", "rejects every match", leaguetest.AnswerWithStatus(protocol.StatusRejected)),
		referee("always-busy", "is always busy", leaguetest.AnswerWithStatus(protocol.StatusBusy)),
		referee("assignment-status-unknown", `answers assignments with status "MAYBE"`, leaguetest.AnswerWithStatus("MAYBE")),
		referee("assignment-internal-error", "answers assignments with an internal error", leaguetest.FailWith(&transport.Error{Code: -32603, Message: "oh"})),
		referee("assignment-garbage", "answers assignments with an HTML page", leaguetest.FailWith(leaguetest.ErrGarbage)),
		referee("assignment-http-500", "answers assignments with HTTP 500", leaguetest.FailWith(leaguetest.ErrServerError)),
		referee("assignment-connection-closed", "closes the connection at every assignment", leaguetest.FailWith(leaguetest.ErrHangUp)),
		referee("assignment-too-large", "answers assignments with 100 KB", leaguetest.FailWith(leaguetest.ErrTooLarge)),
		referee("acknowledges-another-match", "conducts its matches, but acknowledges others", leaguetest.EditAnswer("match_id", "R9M9")),
		referee("another-commitment", "sends the manager another draw commitment than the players", leaguetest.EditAnswer("draw_commitment", protocol.Secret{9}.Hex())),
		referee("no-commitment", "sends the manager no draw commitment", leaguetest.EditAnswer("draw_commitment", nil)),
		referee("invalid-commitment", "sends the manager a draw commitment that is no digest", leaguetest.EditAnswer("draw_commitment", "trust me")),
		{name: "rejects-and-conducts", description: "rejects every match, but conducts it", of: ofReferee, vague: true,
			traits: leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, leaguetest.EditAnswer("status", protocol.StatusRejected)))},

		scripted("accepts-and-never-reports", "accepts matches and does nothing", func(*falseReferee) {}),
		scripted("stops-after-the-invitation", "invites both players and then stops", func(r *falseReferee) { r.invite() }),
		scripted("stops-after-the-choices", "invites both players, asks both for their choices, and then stops", func(r *falseReferee) {
			r.invite()
			r.ask()
		}),
		scripted("game-over-before-the-choices", "invites both players, sends both a GAME_OVER with a loss, and reports nothing", func(r *falseReferee) {
			r.invite()
			r.end("P99")
		}),
		scripted("two-game-overs", "asks for choices, sends a GAME_OVER for one player and then for the other one, and reports nothing", func(r *falseReferee) {
			r.invite()
			r.ask()
			r.end(r.about.PlayerA.PlayerID)
			r.end(r.about.PlayerB.PlayerID)
		}),
		scripted("asks-100-times", "asks both players for their choices 100 times, and sends a GAME_ERROR for each response", func(r *falseReferee) {
			r.invite()
			for range 100 {
				r.ask()
				r.sendGameErrors()
			}
		}),
		scripted("invites-to-other-matches", "invites its players to 100 other matches, with the tokens of its own match", func(r *falseReferee) {
			id := r.about.MatchID
			for n := range 100 {
				r.about.MatchID = league.MatchID{Round: n + 4, Number: 1}.String()
				r.invite()
			}
			r.about.MatchID = id
		}),
		scripted("invites-other-players", "invites the players of the other match, with the tokens of its own match", func(r *falseReferee) {
			for _, p := range []string{"P01", "P02", "P03", "P04"} {
				r.about.PlayerA.Endpoint, r.about.PlayerB.Endpoint = leaguetest.EndpointOf(strings.ToLower(p)), leaguetest.EndpointOf(strings.ToLower(p))
				r.invite()
				r.end("P99")
			}
		}),
		scripted("unreachable-after-the-assignment", "accepts its first match, and its server stops", func(r *falseReferee) { go r.w.offender.Stop() }),
		{name: "crashes-in-a-match", description: "crashes in the middle of its first match", of: ofReferee, slowly: true, during: func(w *hostileWorld) {
			w.WaitUntil(w.begun + leaguetest.Second/2)
			w.offender.Referee.Close()
			w.offender.Stop()
		}},
		{name: "stops-in-a-match", description: "stops in the middle of its first match, but its server continues", of: ofReferee, slowly: true, during: func(w *hostileWorld) {
			w.WaitUntil(w.begun + leaguetest.Second/2)
			w.offender.Referee.Close()
		}},
		assigned("reports-before-the-acknowledgement", "reports each match before it answers the assignment after 8 s",
			func(r *falseReferee, c *leaguetest.Call) (jsontext.Value, error) {
				r.report(r.draw())
				return leaguetest.Delayed(8*leaguetest.Second, r.w.AcceptMatch)(c)
			}),
		scripted("reports-too-late", "accepts matches, and reports them ten minutes later, when another referee has conducted them", func(r *falseReferee) {
			time.Sleep(10 * time.Minute)
			r.report(r.draw())
		}),
		scripted("reports-twice", "reports each match twice", func(r *falseReferee) {
			r.report(r.draw())
			r.report(r.draw())
		}),
		scripted("contradictory-reports", "reports a draw, and then a win in the same match", func(r *falseReferee) {
			r.report(r.draw())
			r.report(r.victory(r.about.PlayerA.PlayerID))
		}),
		scripted("100-contradictory-reports", "reports each match 100 times with different results", func(r *falseReferee) {
			r.report(r.draw())
			for n := range 99 {
				q := r.victory(r.about.PlayerB.PlayerID)
				q.Result.DrawnNumber = new(n%10 + 1)
				r.report(q)
			}
		}),
		wrongly("winner-that-did-not-play", "reports that P99 has won", func(r *falseReferee, q *protocol.MatchResultReport) { *q = *r.victory("P99") }),
		wrongly("match-of-another-referee", "reports the match that is assigned to REF02", func(r *falseReferee, q *protocol.MatchResultReport) {
			id, _ := league.ParseMatchID(q.MatchID)
			q.MatchID = league.MatchID{Round: id.Round, Number: 3 - id.Number}.String() // of two matches
		}),
		wrongly("match-of-a-later-round", "reports a match of round 3", func(_ *falseReferee, q *protocol.MatchResultReport) { q.MatchID, q.RoundID = "R3M1", 3 }),
		wrongly("unknown-match", "reports match R77M77", func(_ *falseReferee, q *protocol.MatchResultReport) { q.MatchID, q.RoundID = "R77M77", 77 }),
		wrongly("token-of-another-referee", "reports with the token of REF02", func(r *falseReferee, q *protocol.MatchResultReport) { q.AuthToken = r.w.Token("REF02") }),
		wrongly("token-of-a-player", "reports with the access token of a player", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.AuthToken = r.about.PlayerA.AccessToken
		}),
		wrongly("number-out-of-range", "reports that 99 was drawn", func(_ *falseReferee, q *protocol.MatchResultReport) {
			*q.Result.DrawnNumber = 99
		}),
		wrongly("winner-contradicts-choices", "reports that both chose even, 8 was drawn, and one player has won", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.Result.WinnerPlayerID, q.Result.Status = &r.about.PlayerA.PlayerID, league.StatusWin
		}),
		wrongly("illegal-choices", `reports that both chose "maybe"`, func(r *falseReferee, q *protocol.MatchResultReport) {
			a, b := r.about.PlayerA.PlayerID, r.about.PlayerB.PlayerID
			q.Result.Choices = league.Both(a, new("maybe"), b, new("maybe"))
		}),
		wrongly("unknown-status", `reports the status "GLORY"`, func(_ *falseReferee, q *protocol.MatchResultReport) { q.Result.Status = "GLORY" }),
		wrongly("score-of-a-million", "reports a draw with a million points for one player", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Score = league.Both(r.about.PlayerA.PlayerID, 1_000_000, r.about.PlayerB.PlayerID, 0)
		}),
		wrongly("reason-with-escape-characters", "reports a reason with terminal escape characters and a token of P01", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Reason = "\x1b[2J\x1b]0;owned\x07 " + r.w.Token("P01")
		}),
		wrongly("reason-of-20-KB", "reports a reason of 20 KB", func(_ *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Reason = strings.Repeat("because ", 2500)
		}),
		wrongly("invalid-draw", "reports a draw whose nonce does not belong to its commitment", func(_ *falseReferee, q *protocol.MatchResultReport) {
			q.Draw = &protocol.Draw{Commitment: protocol.Secret{1}.Hex(), Nonce: protocol.Secret{2}.Hex()}
		}),
		wrongly("unknown-attempt", "reports attempt 99", func(_ *falseReferee, q *protocol.MatchResultReport) { q.Attempt = 99 }),
	}
}

// falseReferee sends messages about a match that it was assigned and does not conduct.
type falseReferee struct {
	w       *hostileWorld
	carrier protocol.Caller
	about   *protocol.MatchAssignment
}

// draw is a report that both players chose even.
func (r *falseReferee) draw() *protocol.MatchResultReport {
	a, b := r.about.PlayerA.PlayerID, r.about.PlayerB.PlayerID
	q := r.w.ReportOf(badReferee, r.about.MatchID, nil, a, b, 1, 1)
	q.Attempt = r.about.Attempt
	q.Result.Result = league.Result{
		DrawnNumber: new(8), Choices: league.Both(a, new("even"), b, new("even")), Status: league.StatusDraw,
	}
	return q
}

// victory is a report that a player has won.
func (r *falseReferee) victory(winner string) *protocol.MatchResultReport {
	q := r.draw()
	a, b, number := r.about.PlayerA.PlayerID, r.about.PlayerB.PlayerID, 8
	if winner == b {
		number = 7
	}
	q.Result.Result = league.Result{WinnerPlayerID: &winner,
		DrawnNumber: &number, Choices: league.Both(a, new("even"), b, new("odd")), Status: league.StatusWin,
	}
	return q
}

func (r *falseReferee) report(q *protocol.MatchResultReport) {
	_, _ = protocol.ReportMatchResult.Call(r.w.Context, r.carrier, r.w.ManagerPeer(), q) // the record has the response
}

// each sends a message to both players of the match and notes the responses.
func (r *falseReferee) each(what string, say func(to protocol.Peer, side, opponent *protocol.AssignedPlayer) error) {
	a, b := &r.about.PlayerA, &r.about.PlayerB
	r.w.observe(what, answerOf(say(protocol.Peer{Endpoint: a.Endpoint}, a, b)))
	r.w.observe(what, answerOf(say(protocol.Peer{Endpoint: b.Endpoint}, b, a)))
}

// envelope begins a message to a player with its access token.
func (r *falseReferee) envelope(messageType string, side *protocol.AssignedPlayer) protocol.Envelope {
	e := protocol.NewStamp(protocol.RefereeSender(badReferee), r.w.Clock).Envelope(messageType, r.about.ConversationID)
	e.AuthToken = side.AccessToken
	return e
}

func (r *falseReferee) invite() {
	r.each("invite", func(to protocol.Peer, side, opponent *protocol.AssignedPlayer) error {
		id, _ := league.ParseMatchID(r.about.MatchID)
		_, err := protocol.Invite.Call(r.w.Context, r.carrier, to, &protocol.GameInvitation{
			Envelope: r.envelope(protocol.TypeGameInvitation, side), LeagueID: leaguetest.LeagueID, RoundID: id.Round, MatchID: r.about.MatchID,
			GameType: r.about.GameType, RoleInMatch: protocol.RolePlayerA, OpponentID: opponent.PlayerID, Attempt: r.about.Attempt,
			DrawCommitment: protocol.Secret{3}.Hex(),
		})
		return err
	})
}

func (r *falseReferee) ask() {
	r.each("ask", func(to protocol.Peer, side, opponent *protocol.AssignedPlayer) error {
		_, err := protocol.ChooseParity.Call(r.w.Context, r.carrier, to, &protocol.ChooseParityCall{
			Envelope: r.envelope(protocol.TypeChooseParityCall, side), MatchID: r.about.MatchID, PlayerID: side.PlayerID, GameType: r.about.GameType,
			Context:  protocol.ChoiceContext{OpponentID: opponent.PlayerID, RoundID: r.about.RoundID},
			Deadline: r.w.Clock.Timestamp(),
		})
		return err
	})
}

// end sends both players a GAME_OVER with a winner.
func (r *falseReferee) end(winner string) {
	r.each("end", func(to protocol.Peer, side, opponent *protocol.AssignedPlayer) error {
		_, err := protocol.NotifyMatchResult.Call(r.w.Context, r.carrier, to, &protocol.GameOver{
			Envelope: r.envelope(protocol.TypeGameOver, side), MatchID: r.about.MatchID, GameType: r.about.GameType,
			GameResult: &league.Result{
				Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner, Reason: "because",
				Choices: league.Both(side.PlayerID, (*string)(nil), opponent.PlayerID, (*string)(nil)),
			},
		})
		return err
	})
}

func (r *falseReferee) sendGameErrors() {
	r.each("game error", func(to protocol.Peer, side, _ *protocol.AssignedPlayer) error {
		_, err := protocol.NotifyGameError.Call(r.w.Context, r.carrier, to, &protocol.GameError{
			Envelope: r.envelope(protocol.TypeGameError, side), MatchID: r.about.MatchID, AffectedPlayer: side.PlayerID, ErrorCode: "E004",
			ErrorDescription: "INVALID_PARITY_CHOICE", ActionRequired: protocol.TypeChooseParityResponse,
		})
		return err
	})
}
