package check

import (
	"slices"
	"time"

	"evenodd/league/protocol"
)

// table is the catalogue of a referee. A MUST decides the winner, makes the manager reject
// a message, or leaves a match without a report. Our players and our manager manage
// without the other requirements.
func (x *refereeExam) table() []rule {
	return slices.Concat(wireRules("R", "referee: and its id"), x.registrationRules(membershipOf(Referee), refereeEnvelope()...),
		x.startRules(), x.questionRules(), x.resultRules(), x.reportRules(), x.failureRules(), x.retryRules(), []rule{
			should("R-END-01", "It acknowledges ROUND_COMPLETED and LEAGUE_COMPLETED.", "003 §4.8",
				"Answer notify_round_completed and notify_league_completed with status ACKNOWLEDGED.", on("end/notice", every(hasResult, has("status", protocol.StatusAcknowledged)))),
		})
}

func refereeEnvelope() []rule {
	return []rule{
		should("R-REG-03", "Its registration has the whole envelope.", "003 §2.4.1",
			"Add protocol, message_type, sender, timestamp and conversation_id to params.", on("registration/request", asSent(every(has("protocol", protocol.Name),
				has("message_type", protocol.TypeRefereeRegisterRequest), hasSender, timestamps("timestamp"), filled("conversation_id"))))),
		must("R-REG-08", "Its max_concurrent_matches is a whole number from 1.", "002 §3.1.2",
			"Put the number of matches that it conducts at the same time into referee_meta.max_concurrent_matches, 1 to 10.",
			on("registration/request", func(f *fact) string {
				return fieldsProblem(f.broken, func(field string) bool { return within(field, "referee_meta.max_concurrent_matches") })
			})),
		must("R-REG-10", "It registers with the manager.", "003 §2.5.1",
			"Start it with the URL of the manager: for this examination that is where evenodd check listens.", on("registration/arrival", found)),
	}
}

func (x *refereeExam) startRules() []rule {
	return []rule{
		must("R-STA-01", "It conducts a match when it is told to.", "003 §2.5.5",
			"Serve a method such as start_match, and invite both players at the endpoints of the assignment, not at those of a file of your own.",
			on("conducted", found), in(wellPlayed)),
		should("R-STA-02", "It takes a match by start_match.", "003 §5.4.1", "Name the tool start_match.", on("form of start", found), in(wellPlayed)),
		should("R-STA-03", "It answers start_match at once, and conducts the match in the background.", "003 §5.4.1",
			"Conduct the match in a task of its own; a manager waits 10 s for the answer.", in(wellPlayed), on("start", func(f *fact) string {
				return when(f.reply.took > 2*time.Second, "the answer took %s", short(f.reply.took))
			})),
		should("R-STA-04", "The same start_match again starts no second match.", "003 §2.9.4",
			"Store the matches that you conduct by match_id.", on(wellPlayed+"/again", found), given("R-INV-01")),
		should("R-STA-05", "It conducts as many matches at the same time as it said.", "002 §3.1.2",
			"Conduct each match in a task of its own, or set max_concurrent_matches to 1.", on("crowd/together", found)),
		should("R-STA-06", "It refuses a match beyond those with status BUSY, or conducts it later.", "003 §2.2.2",
			"Count the matches that you conduct, and answer status BUSY.", on("crowd/beyond", found), given("R-INV-01")),
		should("R-STA-07", "It refuses a match of a game that it does not know.", "003 §3.8.3",
			"Answer status REJECTED, or an error.", on("unknown game/assignment", refused), given("R-INV-01")),
	}
}

func (x *refereeExam) questionRules() []rule {
	secret := every(x.inTurn, x.secretChoice)
	return []rule{
		must("R-INV-01", "It invites both players by GAME_INVITATION.", "003 §3.2.1",
			"Call handle_game_invitation of both players, at the endpoints of the assignment.", on("player", isCalled(protocol.TypeGameInvitation, "invited"))),
		should("R-INV-02", "An invitation has league_id, round_id, match_id, game_type, role_in_match and opponent_id.", "003 §4.4.1",
			"Add or correct the member in the detail.", on("invitation", every(
				expected("league_id", "round_id", "match_id", "game_type", "opponent_id"), filled("role_in_match")))),
		should("R-INV-03", "One player is PLAYER_A, and the other PLAYER_B, as in the assignment.", "003 §4.4.1",
			"Set role_in_match by the side of the player in the assignment.", on("invitation", expected("role_in_match"))),
		should("R-INV-04", "It asks nobody for a choice before both players have answered the invitation.", "003 §3.2.3",
			"Await both GAME_JOIN_ACK before the first question.", on("question", afterJoining)),
		should("R-INV-05", "It asks nobody for a choice when a player has refused the invitation, or not answered it.", "003 §3.2.2",
			"End the match with a technical loss of that player.", on(refusesToPlay+"/match", x.noQuestions), on(neverJoins+"/match", x.noQuestions), given("R-INV-01")),
		must("R-CHO-01", "It asks both players for a choice: by CHOOSE_PARITY_CALL, in other games by GAME_MOVE_CALL.", "003 §3.2.3",
			"Call choose_parity of both players, in other games make_move.", on("player", every(x.mayAsk, isCalled(x.questionType(), "asked for a choice")))),
		should("R-CHO-02", "A question has match_id, player_id, game_type, deadline and context, in other games move_request.", "003 §4.5.1",
			"Add or correct the member in the detail.", on("question", every(
				expected("match_id", "player_id", "game_type"), timestamps("deadline"), x.inContext()))),
		must("R-CHO-03", "It tells no player the choice of the other before that player has chosen.", "003 §3.1.1",
			"Send GAME_OVER with the choices after both have answered, and nothing before.", on("question", secret), on("game error", secret), given("R-CHO-01")),
		should("R-CHO-04", "It asks both players at the same time, if the game has them choose at the same time.", "003 §3.1.1",
			"Send both calls in tasks of their own, and await both.", on(wellPlayed+"/match", every(x.inTurn, x.askedTogether))),
		should("R-CHO-05", "The deadline of a question is in the future.", "003 §4.5.1",
			"Set deadline to the time of the call plus the time that the player has.", on("question", assuming(timestamps("deadline"), func(f *fact) string {
				deadline := f.call.params.text("deadline")
				at, _ := protocol.ParseTimestamp(deadline)
				late := !f.of.short && at.Before(f.call.at.Add(-time.Second))
				return when(late, "deadline is %s, and it was %s", deadline, protocol.FormatTimestamp(f.call.at))
			}))),
		should("R-CHO-06", "The context has opponent_id, round_id and, in even_odd, your_standings.", "003 §4.5.1",
			"Copy your_standings from the assignment; zeros if it has none.", on("question", x.inContext(
				expected("opponent_id"), exist("round_id"), byGame(x.exam, inside("your_standings"), exist())))),
		should("R-CHO-07", "Its get_match_state tells no choice and no number of a match in progress.", "",
			"Answer get_match_state with the state only until the match is over.", on(choosesMaybe+"/state", every(x.inTurn, x.secretState))),
		should("R-AUT-01", "It refuses get_match_state without a token.", "",
			"Require the token that the referee was given in auth_token.", on(choosesMaybe+"/state without token", refused)),
	}
}

// inContext tests the context of a question.
func (x *refereeExam) inContext(tests ...test) test {
	context := inside("context", tests...)
	return byGame(x.exam, context, inside("move_request", context))
}

func (x *refereeExam) resultRules() []rule {
	played := in(wellPlayed, sameChoice, choosesMaybe)
	return []rule{
		should("R-OVR-01", "It tells both players the result by GAME_OVER.", "003 §3.2.6",
			"Call notify_match_result of both players, also if one of them failed.", on("player", every(hasEnded, isCalled(protocol.TypeGameOver, "told"))), in(everyMatch)),
		should("R-OVR-02", "GAME_OVER has match_id, game_type and game_result with status, winner_player_id, drawn_number, number_parity and choices.", "003 §4.6.1",
			"Add the member in the detail; null if it has no value.", on("ending", every(expected("match_id", "game_type"),
				inside("game_result", filled("status"), exist("winner_player_id", "drawn_number", "number_parity", "choices"))))),
		must("R-OVR-03", "The number is from 1 to 10, and number_parity is its parity (even_odd).", "003 §3.1.1",
			"Draw with random.randint(1, 10).", played, on("ending", every(isPlayed, x.drawsNumber, rightNumber))),
		must("R-OVR-04", "Winner and status follow from the rules of the game.", "003 §3.1.1",
			"In even_odd, the player that alone named the parity of the number has won; otherwise it is a DRAW with winner_player_id null.", on("ending", every(isPlayed, x.rightResult)), played),
		must("R-OVR-05", "The choices are those that the players made.", "003 §4.6.1",
			"Store the choice of each player by its id.", played, on("ending", every(isPlayed, func(f *fact) string {
				e, players := f.player.ending(), f.of.players
				choices, moves := objectOf(e.result["choices"]), f.of.verdict(e.number).Moves
				return firstOf(choices.has(players[0].name, moves[0]), choices.has(players[1].name, moves[1]))
			}))),
		should("R-OVR-06", "It tells both players the same result.", "003 §4.6.1", "Make game_result once, and send it to both.", on("both told", found)),
		should("R-OVR-07", "It tells the players before the manager.", "004 §4.3", "Await both GAME_OVER, 5 s at most, and report then.", on("first report", afterEndings)),
		must("R-DRW-01", "If it commits to a draw, number and nonce are those that it has committed to (even_odd).", "",
			"Reveal nonce and commitment in GAME_OVER and in the report, or send no draw_commitment.", on("ending", every(isPlayed, x.drawsNumber, x.rightDraw)), played),
	}
}

func (x *refereeExam) reportRules() []rule {
	return []rule{
		must("R-REP-01", "It reports every match to the manager.", "003 §3.2.6",
			"Call report_match_result of the manager when the match is over, also if a player failed.", on("reported", func(f *fact) string {
				return when(f.call == nil, "no report came within %s%s", f.of.limit, called(x.fakes.unread()))
			}), in(everyMatch)),
		should("R-REP-02", "A report has league_id, round_id, match_id, game_type and result with winner and score.", "003 §4.6.2",
			"Add or correct the member in the detail.", on("report", every(expected("league_id", "round_id", "game_type"),
				inside("result", exist("winner"), inside("score"))))),
		must("R-REP-03", "A report has the auth_token that the referee was given.", "003 §2.4.5",
			"Store auth_token of the registration, and put it into messages to the manager. (A league with auth: lenient manages without.)", on("report", func(f *fact) string {
				token := f.call.params.text("auth_token")
				return when(token != x.manager.token, "auth_token is not the one it was given")
			})),
		must("R-REP-04", "The report has the result that the players were told.", "003 §4.6.2", "Report the winner of GAME_OVER.", on("first report", toldWinner)),
		should("R-REP-05", "The score is 3 for a win, 1 each for a draw, and 0.", "003 §3.4.1", "Compute score from the result; on a draw 1 for each.", on("first report", rightScore)),
		should("R-REP-06", "The report has details with drawn_number and choices.", "003 §4.6.2",
			"Add details{drawn_number, choices}; drawn_number is null if no number was drawn.", on("report", asSent(inside("result", inside("details",
				exist("choices"), byGame(x.exam, exist("drawn_number"), exist())))))),
		should("R-REP-07", "It sends a report again, unchanged, if there was no answer.", "003 §2.9.4",
			"Retry after 2, 4 and 8 s while there is no answer.", on(lostReport+"/match", func(f *fact) string {
				return when(len(f.of.reports()) < 2, "the report whose answer was lost was not sent again within %s", f.of.limit)
			})),
		should("R-REP-08", "It reports no match with two results.", "003 §2.11.1",
			"Store the result by match_id, and send the same result again.", on("first report", sameWinner), in(lostReport), given("R-REP-01")),
		should("R-REP-09", "The sender of a report is referee: and the id that it was given.", "003 §2.4.4",
			"Use referee_id of the registration.", on("report", expected("sender"))),
		must("R-REP-10", "No report contradicts itself: choices, number and winner are possible together.", "003 §3.1.1",
			"Report the number and the choices that decide the match: a manager rejects any other result.", on("report", x.contradiction)),
	}
}

func (x *refereeExam) failureRules() []rule {
	result := every(unreported, rightWinner)
	return []rule{
		must("R-LOS-01", "A player that refuses the invitation, or never answers it, loses, and the other wins.", "003 §2.7",
			"End the match with status TECHNICAL_LOSS and the other as the winner, and report it.", on(refusesToPlay+"/result", result), on(neverJoins+"/result", result)),
		must("R-LOS-02", "A player that never chooses loses, and the other wins.", "003 §2.11.3",
			"Limit the time of each call, end the match with status TECHNICAL_LOSS, and report it.", on(neverChooses+"/result", result)),
		must("R-LOS-03", "A player that never makes an allowed choice loses, and the other wins.", "002 §6.2.4",
			"Allow only the choices of the game, such as even and odd.", on(alwaysMaybe+"/result", result)),
		must("R-LOS-04", "A player whose answers cannot be read loses, and the other wins.", "003 §2.11.3",
			"Catch the errors of a call: no JSON, HTTP 500, a closed connection, an error object.", on(answersErrors+"/result", result),
			on(answersNonsense+"/result", result), on(answersBroken+"/result", result), on(hangsUp+"/result", result)),
		should("R-LOS-05", "An answer about another match does not count.", "004 §4.2",
			"Compare match_id of the answer with that of the match.", on(otherMatchOnly+"/result", result), given("R-REP-01")),
		should("R-LOS-06", "If both fail, nobody wins: winner null, no points.", "",
			"Await both players before you decide; two failures are a loss for both.", on(bothFail+"/result", result)),
		should("R-LOS-07", "A technical loss has status TECHNICAL_LOSS, no number, and null for a choice that was not made.", "003 §4.6.1",
			"Draw no number if a player has failed.", in(everyMatch), on("ending", every(mustLose, func(f *fact) string {
				e := f.player.ending()
				number := e.result["drawn_number"]
				return firstOf(when(e.status != protocol.StatusTechnicalLoss, "status is %s", quoted(e.status)),
					when(number != nil && number.Kind() != 'n', "drawn_number is %s", valueOf(e.result, "drawn_number")))
			}))),
		should("R-LOS-08", "An answer of 1 MB costs only its sender the match.", "002 §14.1",
			"Limit the size of answers, for example to 64 KB.", on(answersHuge+"/result", result)),
	}
}

func (x *refereeExam) retryRules() []rule {
	return []rule{
		should("R-ERR-01", "It sends GAME_ERROR to a player that answers wrongly, or not in time.", "003 §2.9.2",
			"Call notify_game_error of the player.", on("match", every(hasEnded, sendsErrors)), in(everyMatch)),
		should("R-ERR-02", "GAME_ERROR has match_id, error_code, affected_player, action_required and error_description.", "003 §4.10.2",
			"Add or correct the member in the detail.", in(everyMatch), on("game error", every(
				expected("match_id", "affected_player"), filled("error_code", "action_required", "error_description")))),
		should("R-ERR-03", "It has the code: E001 for no answer in time, E004 (E010 in other games than even_odd) for a choice that is not allowed, E009 for an answer that cannot be read.",
			"003 §2.9.3", "Use the codes of the table.",
			on("game error", rightCode), in(neverJoins, neverChooses, choosesLate, alwaysMaybe, choosesMaybe, bothFail,
				answersNonsense, answersBroken, hangsUp, answersHuge)),
		should("R-ERR-04", "It has retry_count and max_retries, flat and in retry_info.", "003 §2.9.2",
			"Add retry_info{retry_count, max_retries, next_retry_at}, and the same beside it.", in(everyMatch), on("game error", retriesProblem)),
		should("R-ERR-05", "It asks no question more than four times: the first, and three retries.", "002 §14.3",
			"Count the retries of each question.", on("player", askedOften(protocol.TypeGameInvitation, "invited")), on("player", askedOften(x.questionType(), "asked for a choice")), in(everyMatch), given("R-CHO-01")),
		should("R-ERR-06", "It asks again after a choice that is not allowed, and the next one counts.", "002 §6.2.4",
			"Ask again within the time that is left.", on(choosesMaybe+"/result", every(hasEnded, asksAgain(x.questionType()), unreported, playsOn))),
		should("R-ERR-07", "It asks again if a question was not answered in time.", "003 §2.9.4",
			"Retry three times, 2 s apart, or as in retry_policy.", on(choosesLate+"/match", every(hasEnded, asksAgain(x.questionType()))),
			on(neverJoins+"/match", every(hasEnded, asksAgain(protocol.TypeGameInvitation)))),
		should("R-ERR-08", "It judges a player whose answer lacks the envelope by its meaning.", "",
			"Take parity_choice and accept, and only note the missing members.", on(noEnvelope+"/result", every(unreported, playsOn))),
		should("R-ERR-09", "A player that has failed once, and then answers, plays on.", "003 §2.11.3",
			"Forget the failure if a right answer comes in time.", on(choosesMaybe+"/result", every(unreported, playsOn)), on(choosesLate+"/result", every(unreported, playsOn))),
	}
}

// retriesProblem returns that the counts of a GAME_ERROR are missing or contradict each other.
func retriesProblem(f *fact) string {
	info := objectOf(f.call.params["retry_info"])
	count, flat := f.call.params.integer("retry_count")
	_, flatMost := f.call.params.integer("max_retries")
	inner, deep := info.integer("retry_count")
	_, deepMost := info.integer("max_retries")
	return firstOf(
		when(!flat || !flatMost, "retry_count or max_retries is missing"), when(!deep || !deepMost, "retry_info has no retry_count or max_retries"),
		when(count != inner, "retry_count is %d, and in retry_info %d", count, inner), when(count > 3, "retry_count is %d", count))
}
