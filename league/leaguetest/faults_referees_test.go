package leaguetest_test

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
	"evenodd/transport"
)

// refereeFaults are what a referee can do wrong. One that lies about a match
// that it was given is believed as long as what it says is possible: that is
// what the audit is for, and not here.
func refereeFaults() []*fault {
	referee := func(name, what string, parts ...leaguetest.Reply) *fault {
		return &fault{name: name, does: what, of: ofReferee, traits: leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(parts...)))}
	}
	// tells takes every match, conducts none, and says of each what tell does.
	tells := func(name, what string, tell func(r *falseReferee)) *fault {
		return &fault{name: name, does: what, of: ofReferee, script: func(w *hostileWorld) []leaguetest.Option {
			carrier := w.Caller(strings.ToLower(badReferee), 64<<10)
			return leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
				r := &falseReferee{w, carrier, leaguetest.Decode[protocol.MatchAssignment](c.Message)}
				w.Background.Go(func() {
					pause()
					tell(r)
				})
				return w.AcceptMatch(c)
			}))
		}}
	}
	// wrongly changes the report of a draw, and leaves it at that.
	wrongly := func(name, what string, change func(r *falseReferee, q *protocol.MatchResultReport)) *fault {
		return tells(name, what, func(r *falseReferee) {
			q := r.draw()
			change(r, q)
			r.report(q)
		})
	}
	return []*fault{
		referee("assignment-unanswered", "never answers an assignment", leaguetest.Silent),
		referee("assignment-answered-late", "answers each assignment after 20 s", leaguetest.Delayed(20*leaguetest.Second, leaguetest.Normally)),
		referee("assignment-refused", "refuses every match", leaguetest.AnswerWithStatus(protocol.StatusRejected)),
		referee("busy-for-ever", "is always busy", leaguetest.AnswerWithStatus(protocol.StatusBusy)),
		referee("assignment-maybe", `answers assignments with status "MAYBE"`, leaguetest.AnswerWithStatus("MAYBE")),
		referee("assignment-failed", "answers assignments with an internal error", leaguetest.FailWith(&transport.Error{Code: -32603, Message: "oh"})),
		referee("assignment-league-error", "answers assignments with LEAGUE_ERROR E012", leaguetest.RefuseWith(protocol.ErrTokenInvalid)),
		referee("assignment-garbage", "answers assignments with an HTML page", leaguetest.FailWith(leaguetest.ErrGarbage)),
		referee("assignment-http-500", "answers assignments with HTTP 500", leaguetest.FailWith(leaguetest.ErrServerError)),
		referee("assignment-hung-up", "closes the connection at every assignment", leaguetest.FailWith(leaguetest.ErrHangUp)),
		referee("assignment-too-large", "answers assignments with 100 KB", leaguetest.FailWith(leaguetest.ErrTooLarge)),
		referee("assignment-null", "answers assignments with a result that is null", leaguetest.AnswerWith(leaguetest.Null())),
		referee("acknowledges-another-match", "conducts its matches, and acknowledges others", leaguetest.EditAnswer("match_id", "R9M9")),
		referee("acknowledges-another-attempt", "conducts its matches, and acknowledges attempt 7", leaguetest.EditAnswer("attempt", 7)),
		referee("another-commitment", "gives the manager another commitment for the draw than the players", leaguetest.EditAnswer("draw_commitment", protocol.Secret{9}.Hex())),
		referee("no-commitment", "gives the manager no commitment for the draw", leaguetest.EditAnswer("draw_commitment", nil)),
		referee("unreadable-commitment", "gives the manager a commitment that is no digest", leaguetest.EditAnswer("draw_commitment", "trust me")),
		{name: "refuses-and-conducts", does: "refuses every match, and conducts it all the same", of: ofReferee, vague: true,
			traits: leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, leaguetest.EditAnswer("status", protocol.StatusRejected)))},

		tells("accepts-and-never-reports", "takes matches and does nothing", func(*falseReferee) {}),
		tells("invites-and-leaves", "invites both players, and leaves it at that", func(r *falseReferee) { r.invite() }),
		tells("asks-and-leaves", "invites both players, asks both for their choices, and leaves it at that", func(r *falseReferee) {
			r.invite()
			r.ask()
		}),
		tells("ends-before-it-asks", "invites both players, tells both at once that they have lost, and reports nothing", func(r *falseReferee) {
			r.invite()
			r.end("P99")
		}),
		tells("ends-twice", "plays, tells both that one has won, then that the other has, and reports nothing", func(r *falseReferee) {
			r.invite()
			r.ask()
			r.end(r.about.PlayerA.PlayerID)
			r.end(r.about.PlayerB.PlayerID)
		}),
		tells("asks-a-hundred-times", "asks both players for their choices a hundred times, and complains of each answer", func(r *falseReferee) {
			r.invite()
			for range 100 {
				r.ask()
				r.complain()
			}
		}),
		tells("invites-to-other-matches", "invites its players, with the tokens of its match, to a hundred others", func(r *falseReferee) {
			id := r.about.MatchID
			for n := range 100 {
				r.about.MatchID = protocol.MatchID{Round: n + 4, Number: 1}.String()
				r.invite()
			}
			r.about.MatchID = id
		}),
		tells("invites-the-others", "invites the players of the other match, with the tokens of its own", func(r *falseReferee) {
			for _, p := range []string{"P01", "P02", "P03", "P04"} {
				r.about.PlayerA.Endpoint, r.about.PlayerB.Endpoint = leaguetest.EndpointOf(strings.ToLower(p)), leaguetest.EndpointOf(strings.ToLower(p))
				r.invite()
				r.end("P99")
			}
		}),
		tells("goes-away-with-a-match", "takes its first match, and its server goes away for good", func(r *falseReferee) { go r.w.offender.Stop() }),
		{name: "crashes-in-a-match", does: "dies in the middle of its first match", of: ofReferee, slowly: true, during: func(w *hostileWorld) {
			w.WaitUntil(w.begun + leaguetest.Second/2)
			w.offender.Referee.Close()
			w.offender.Stop()
		}},
		{name: "hangs-in-a-match", does: "is stopped in the middle of its first match, and its server goes on", of: ofReferee, slowly: true, during: func(w *hostileWorld) {
			w.WaitUntil(w.begun + leaguetest.Second/2)
			w.offender.Referee.Close()
		}},
		{name: "reports-before-it-acknowledges", does: "reports each match before it answers the assignment, which takes it 8 s", of: ofReferee,
			script: func(w *hostileWorld) []leaguetest.Option {
				carrier := w.Caller(strings.ToLower(badReferee), 64<<10)
				return leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
					r := &falseReferee{w, carrier, leaguetest.Decode[protocol.MatchAssignment](c.Message)}
					r.report(r.draw())
					return leaguetest.Delayed(8*leaguetest.Second, w.AcceptMatch)(c)
				}))
			}},
		tells("reports-after-its-time", "takes matches, and reports them ten minutes later, when another referee has played them", func(r *falseReferee) {
			time.Sleep(10 * time.Minute)
			r.report(r.draw())
		}),
		tells("reports-twice", "reports each match twice", func(r *falseReferee) {
			r.report(r.draw())
			r.report(r.draw())
		}),
		tells("reports-otherwise", "reports a draw, and then a victory in the same match", func(r *falseReferee) {
			r.report(r.draw())
			r.report(r.victory(r.about.PlayerA.PlayerID))
		}),
		tells("reports-100-times", "reports each match a hundred times, each time otherwise", func(r *falseReferee) {
			r.report(r.draw())
			for n := range 99 {
				q := r.victory(r.about.PlayerB.PlayerID)
				number := n%10 + 1
				q.Result.Details.DrawnNumber = &number
				r.report(q)
			}
		}),
		wrongly("winner-who-did-not-play", "reports that P99 has won", func(r *falseReferee, q *protocol.MatchResultReport) { *q = *r.victory("P99") }),
		wrongly("match-of-another", "reports the match that REF02 has", func(r *falseReferee, q *protocol.MatchResultReport) {
			id, _ := protocol.ParseMatchID(q.MatchID)
			q.MatchID = protocol.MatchID{Round: id.Round, Number: 3 - id.Number}.String() // of two
		}),
		wrongly("match-to-come", "reports a match of round 3", func(_ *falseReferee, q *protocol.MatchResultReport) { q.MatchID, q.RoundID = "R3M1", 3 }),
		wrongly("match-there-is-not", "reports match R77M77", func(_ *falseReferee, q *protocol.MatchResultReport) { q.MatchID, q.RoundID = "R77M77", 77 }),
		wrongly("league-there-is-not", "reports a match of another league", func(_ *falseReferee, q *protocol.MatchResultReport) { q.LeagueID = "another" }),
		wrongly("token-of-another-referee", "reports with the token of REF02", func(r *falseReferee, q *protocol.MatchResultReport) { q.AuthToken = r.w.Token("REF02") }),
		wrongly("token-of-a-player", "reports with the access token of a player", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.AuthToken = r.about.PlayerA.AccessToken
		}),
		wrongly("number-out-of-range", "reports that 99 was drawn", func(_ *falseReferee, q *protocol.MatchResultReport) {
			*q.Result.Details.DrawnNumber = 99
		}),
		wrongly("number-negative", "reports that -1 was drawn", func(_ *falseReferee, q *protocol.MatchResultReport) {
			*q.Result.Details.DrawnNumber = -1
		}),
		wrongly("winner-against-the-choices", "reports that both chose even, 8 was drawn, and one has won", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Winner, q.Result.Details.Status = &r.about.PlayerA.PlayerID, protocol.StatusWin
		}),
		wrongly("choices-there-are-not", `reports that both chose "maybe"`, func(r *falseReferee, q *protocol.MatchResultReport) {
			maybe := "maybe"
			q.Result.Details.Choices = protocol.Both(r.about.PlayerA.PlayerID, &maybe, r.about.PlayerB.PlayerID, &maybe)
		}),
		wrongly("status-there-is-not", `reports the status "GLORY"`, func(_ *falseReferee, q *protocol.MatchResultReport) { q.Result.Details.Status = "GLORY" }),
		wrongly("score-of-a-million", "reports a draw with a million points for one", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Score = protocol.Both(r.about.PlayerA.PlayerID, 1_000_000, r.about.PlayerB.PlayerID, 0)
		}),
		wrongly("score-of-others", "reports points for P98 and P99", func(_ *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Score = protocol.Both("P98", 3, "P99", 0)
		}),
		wrongly("reason-steers-the-terminal", "reports a reason of escape characters and somebody's token", func(r *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Details.Reason = "\x1b[2J\x1b]0;owned\x07 " + r.w.Token("P01")
		}),
		wrongly("reason-of-9-KB", "reports a reason of 9 KB", func(_ *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Details.Reason = strings.Repeat("because ", 1100)
		}),
		wrongly("reason-of-20-KB", "reports a reason of 20 KB", func(_ *falseReferee, q *protocol.MatchResultReport) {
			q.Result.Details.Reason = strings.Repeat("because ", 2500)
		}),
		wrongly("broken-draw", "reports a draw whose nonce and commitment do not belong together", func(_ *falseReferee, q *protocol.MatchResultReport) {
			q.Draw = &protocol.Draw{Commitment: protocol.Secret{1}.Hex(), Nonce: protocol.Secret{2}.Hex()}
		}),
		wrongly("attempt-there-is-not", "reports attempt 99", func(_ *falseReferee, q *protocol.MatchResultReport) { q.Attempt = 99 }),
		wrongly("another-protocol-version", "reports as protocol league.v9", func(_ *falseReferee, q *protocol.MatchResultReport) { q.Protocol = "league.v9" }),
		wrongly("time-of-yesterday", "reports with a time of 1999", func(_ *falseReferee, q *protocol.MatchResultReport) { q.Timestamp = "1999-12-31T23:59:59Z" }),
	}
}

// A falseReferee speaks of a match that it was given and did not conduct.
type falseReferee struct {
	w       *hostileWorld
	carrier protocol.Caller
	about   *protocol.MatchAssignment
}

// draw is a report that both chose even.
func (r *falseReferee) draw() *protocol.MatchResultReport {
	a, b := r.about.PlayerA.PlayerID, r.about.PlayerB.PlayerID
	even, number := "even", 8
	q := r.w.ReportOf(badReferee, r.about.MatchID, nil, a, b, 1, 1)
	q.Attempt = r.about.Attempt
	q.Result.Details = &protocol.ResultDetails{
		DrawnNumber: &number, Choices: protocol.Both(a, &even, b, &even), Status: protocol.StatusDraw,
	}
	return q
}

// victory is a report that somebody has won.
func (r *falseReferee) victory(winner string) *protocol.MatchResultReport {
	q := r.draw()
	even, odd, number := "even", "odd", 8
	if winner == r.about.PlayerB.PlayerID {
		number = 7
	}
	q.Result = protocol.MatchResult{Winner: &winner, Score: q.Result.Score, Details: &protocol.ResultDetails{
		DrawnNumber: &number, Choices: protocol.Both(r.about.PlayerA.PlayerID, &even, r.about.PlayerB.PlayerID, &odd), Status: protocol.StatusWin,
	}}
	return q
}

func (r *falseReferee) report(q *protocol.MatchResultReport) {
	_, _ = protocol.ReportMatchResult.Call(r.w.Context, r.carrier, r.w.ManagerPeer(), q) // the record has what came of it
}

// each says something to both players of the match, and notes what came of it.
func (r *falseReferee) each(what string, say func(to protocol.Peer, seat, opponent *protocol.AssignedPlayer) error) {
	a, b := &r.about.PlayerA, &r.about.PlayerB
	r.w.saw(what, answerOf(say(protocol.Peer{Endpoint: a.Endpoint}, a, b)))
	r.w.saw(what, answerOf(say(protocol.Peer{Endpoint: b.Endpoint}, b, a)))
}

// envelope begins a message to a player, with the token of its seat.
func (r *falseReferee) envelope(messageType string, seat *protocol.AssignedPlayer) protocol.Envelope {
	e := protocol.NewStamp(protocol.RefereeSender(badReferee), r.w.Clock).Envelope(messageType, r.about.ConversationID)
	e.AuthToken = seat.AccessToken
	return e
}

func (r *falseReferee) invite() {
	r.each("invite", func(to protocol.Peer, seat, opponent *protocol.AssignedPlayer) error {
		id, _ := protocol.ParseMatchID(r.about.MatchID)
		_, err := protocol.Invite.Call(r.w.Context, r.carrier, to, &protocol.GameInvitation{
			Envelope: r.envelope(protocol.TypeGameInvitation, seat), LeagueID: leaguetest.LeagueID, RoundID: id.Round, MatchID: r.about.MatchID,
			GameType: r.about.GameType, RoleInMatch: protocol.RolePlayerA, OpponentID: opponent.PlayerID, Attempt: r.about.Attempt,
			DrawCommitment: protocol.Secret{3}.Hex(),
		})
		return err
	})
}

func (r *falseReferee) ask() {
	r.each("ask", func(to protocol.Peer, seat, opponent *protocol.AssignedPlayer) error {
		_, err := protocol.ChooseParity.Call(r.w.Context, r.carrier, to, &protocol.ChooseParityCall{
			Envelope: r.envelope(protocol.TypeChooseParityCall, seat), MatchID: r.about.MatchID, PlayerID: seat.PlayerID, GameType: r.about.GameType,
			Context:  protocol.ChoiceContext{OpponentID: opponent.PlayerID, RoundID: r.about.RoundID},
			Deadline: r.w.Clock.Timestamp(),
		})
		return err
	})
}

// end tells both players who has won.
func (r *falseReferee) end(winner string) {
	r.each("end", func(to protocol.Peer, seat, opponent *protocol.AssignedPlayer) error {
		_, err := protocol.NotifyMatchResult.Call(r.w.Context, r.carrier, to, &protocol.GameOver{
			Envelope: r.envelope(protocol.TypeGameOver, seat), MatchID: r.about.MatchID, GameType: r.about.GameType,
			GameResult: &protocol.GameResult{
				Status: protocol.StatusTechnicalLoss, WinnerPlayerID: &winner, Reason: "because",
				Choices: protocol.Both(seat.PlayerID, (*string)(nil), opponent.PlayerID, (*string)(nil)),
			},
		})
		return err
	})
}

func (r *falseReferee) complain() {
	r.each("complain", func(to protocol.Peer, seat, _ *protocol.AssignedPlayer) error {
		_, err := protocol.NotifyGameError.Call(r.w.Context, r.carrier, to, &protocol.GameError{
			Envelope: r.envelope(protocol.TypeGameError, seat), MatchID: r.about.MatchID, AffectedPlayer: seat.PlayerID, ErrorCode: "E004",
			ErrorDescription: "INVALID_PARITY_CHOICE", ActionRequired: protocol.TypeChooseParityResponse,
		})
		return err
	})
}
