package check

import (
	"time"

	"evenodd/league/protocol"
)

// table is the catalogue of a referee. A MUST decides the winner, makes the manager reject
// a message, or leaves a match without a report. Our players and our manager manage
// without the other requirements.
func (x *refereeExam) table() []rule {
	return inOrder(wireRules("R", "referee: and its id"), x.registrationRules(Referee),
		x.questionRules(), x.resultRules(), failureRules(x.asking().Request))
}

func (x *refereeExam) questionRules() []rule {
	return []rule{
		must("R-REG-10", "REFEREE_REGISTER_REQUEST, 003 §2.5.1", "It registers with the manager.", on("registration/arrival"),
			mend("Start it with the URL of the manager: for this examination that is where evenodd check listens.")),
		must("R-STA-01", "MATCH_ASSIGNMENT, 003 §2.5.5", "It conducts a match when it is told to.", on("conducted"),
			mend("Serve a method such as start_match, and invite both players at the endpoints of the assignment, not at those of a file of your own.")),
		should("R-STA-03", "MATCH_ASSIGNMENT_ACK, 003 §5.4.1",
			"It answers start_match at once, and conducts the match in the background.", on("start", func(f *fact) string {
				return when(f.reply.took > 2*time.Second, "the answer took %s", short(f.reply.took))
			}), mend("Conduct the match in a task of its own; a manager waits 10 s for the answer.")),
		should("R-STA-04", "MATCH_ASSIGNMENT, 003 §2.9.4", "The same start_match again starts no second match.",
			on(wellPlayed+"/again"), given("R-INV-01")),

		must("R-INV-01", "GAME_INVITATION, 003 §3.2.1", "It invites both players by GAME_INVITATION.",
			on("player", mayInvite, isCalled(protocol.TypeGameInvitation, "invited"))),
		form("R-INV-02", "GAME_INVITATION, 003 §4.4.1", protocol.TypeGameInvitation),

		must("R-CHO-01", "CHOOSE_PARITY_CALL, 003 §3.2.3",
			"It asks both players for a choice: by CHOOSE_PARITY_CALL, in other games by GAME_MOVE_CALL.",
			on("player", mayAsk, isCalled(x.asking().Request, "asked for a choice"))),
		form("R-CHO-02", "CHOOSE_PARITY_CALL, 003 §4.5.1", protocol.TypeChooseParityCall, "context.opponent_id",
			"context.round_id", "context.your_standings"),
		must("R-CHO-03", "CHOOSE_PARITY_CALL, 003 §3.1.1",
			"It tells no player the choice of the other before that player has chosen.",
			on(protocol.TypeChooseParityCall, x.inTurn, x.secretChoice), on(protocol.TypeGameError, x.inTurn, x.secretChoice),
			given("R-CHO-01")),
	}
}

func (x *refereeExam) resultRules() []rule {
	return []rule{
		should("R-OVR-01", "GAME_OVER, 003 §3.2.6", "It tells both players the result by GAME_OVER.",
			on("player", hasEnded, isCalled(protocol.TypeGameOver, "told")), in(everyMatch)),
		form("R-OVR-02", "GAME_OVER, 003 §4.6.1", protocol.TypeGameOver),
		must("R-OVR-04", "GAME_OVER, 003 §3.1.1",
			"The number is from 1 to 10 (even_odd), and its parity, the winner and the status follow from the rules.",
			on(protocol.TypeGameOver, isPlayed, x.rightResult),
			mend("In even_odd, the player that alone named the parity of the number has won; otherwise it is a DRAW with winner_player_id null.")),
		must("R-OVR-05", "GAME_OVER, 003 §4.6.1", "The choices are those that the players made.",
			on(protocol.TypeGameOver, isPlayed, rightChoices)),

		must("R-REP-01", "MATCH_RESULT_REPORT, 003 §3.2.6", "It reports every match to the manager.",
			on("reported", func(f *fact) string {
				return when(f.call == nil, "no report came within %s%s", f.of.limit, called(x.unread()))
			}), in(everyMatch),
			mend("Call report_match_result of the manager when the match is over, also if a player failed.")),
		form("R-REP-02", "MATCH_RESULT_REPORT, 003 §4.6.2", protocol.TypeMatchResultReport, "result.details.choices"),
		must("R-REP-03", "Tokens, 003 §2.4.5", "A report has the auth_token that the referee was given.",
			on(protocol.TypeMatchResultReport, func(f *fact) string {
				return when(f.call.params.text("auth_token") != x.token, "auth_token is not the one it was given")
			}),
			mend("Store auth_token of the registration, and put it into messages to the manager. (A league with auth: lenient manages without.)")),
		must("R-REP-04", "MATCH_RESULT_REPORT, 003 §4.6.2", "The report has the result that the players were told.",
			on(protocol.TypeMatchResultReport, toldWinner), in(play, lostReport), mend("Report the winner of GAME_OVER.")),
		should("R-REP-05", "MATCH_RESULT_REPORT, 003 §3.4.1", "The score is 3 for a win, 1 each for a draw, and 0.",
			on(protocol.TypeMatchResultReport, rightScore)),
		should("R-REP-07", "Timeouts and retries, 003 §2.9.4",
			"It sends a report again, unchanged, if there was no answer.", on(lostReport+"/match", func(f *fact) string {
				return when(len(f.of.reports()) < 2, "the report whose answer was lost was not sent again within %s", f.of.limit)
			})),
		must("R-REP-10", "MATCH_RESULT_REPORT, 003 §3.1.1",
			"No report contradicts itself: choices, number and winner are possible together.",
			on(protocol.TypeMatchResultReport, x.contradiction),
			mend("Report the number and the choices that decide the match: a manager rejects any other result.")),
		should("R-END-01", "Acknowledgements, 003 §4.8", "It acknowledges ROUND_COMPLETED and LEAGUE_COMPLETED.",
			on("end/notice", acknowledged)),
	}
}

func failureRules(question string) []rule {
	result := func(scenario string) clause { return on(scenario+"/result", unreported, rightWinner) }
	return []rule{
		must("R-LOS-01", "Timeouts and retries, 003 §2.7",
			"A player that refuses the invitation, or never answers it, loses, and the other wins.", result(refusesToPlay),
			result(neverJoins)),
		must("R-LOS-02", "Timeouts and retries, 003 §2.11.3", "A player that never chooses loses, and the other wins.",
			result(neverChooses)),
		must("R-LOS-03", "Timeouts and retries, 002 §6.2.4",
			"A player that never makes an allowed choice loses, and the other wins.", result(alwaysMaybe)),
		must("R-LOS-04", "Timeouts and retries, 003 §2.11.3",
			"A player whose answers cannot be read loses, and the other wins.", result(answersErrors), result(answersNonsense),
			result(hangsUp), mend("Catch the errors of a call: no JSON, HTTP 500, a closed connection, an error object.")),
		should("R-LOS-05", "Timeouts and retries, 004 §4.2", "An answer about another match does not count.",
			result(otherMatchOnly), given("R-REP-01")),
		should("R-LOS-07", "GAME_OVER, 003 §4.6.1", "A technical loss has status TECHNICAL_LOSS and no number.",
			on(protocol.TypeGameOver, mustLose, isTechnicalLoss), in(everyMatch)),

		should("R-ERR-01", "GAME_ERROR, 003 §2.9.2", "It sends GAME_ERROR to a player that answers wrongly, or not in time.",
			on("match", hasEnded, sendsErrors), in(everyMatch)),
		form("R-ERR-02", "GAME_ERROR, 003 §4.10.2", protocol.TypeGameError, "retry_info.retry_count",
			"retry_info.max_retries"),
		should("R-ERR-03", "GAME_ERROR, 003 §2.9.3",
			"It has the code: E001 for no answer in time, E004 (E010 in other games than even_odd) for a choice that is not allowed, E009 for an answer that cannot be read.",
			on(protocol.TypeGameError, rightCode), in(everyMatch)),
		should("R-ERR-06", "Timeouts and retries, 002 §6.2.4",
			"It asks again after a choice that is not allowed, and the next one counts.",
			on(choosesMaybe+"/result", hasEnded, asksAgain(question), unreported, playsOn)),
		should("R-ERR-07", "Timeouts and retries, 003 §2.9.4",
			"It asks again if a question was not answered in time, and the next answer counts.",
			on(choosesLate+"/result", hasEnded, asksAgain(question), unreported, playsOn),
			on(neverJoins+"/match", hasEnded, asksAgain(protocol.TypeGameInvitation))),
		should("R-ERR-08", "Where the specification differs",
			"It judges a player whose answer lacks the envelope by its meaning.", on(noEnvelope+"/result", unreported, playsOn)),
	}
}
