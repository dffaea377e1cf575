package conformance

import "slices"

// refereeRequirements is the catalogue of a referee. MUST is what decides who
// wins, and what players and manager cannot do without; what PROTOCOL adds to the
// documents is SHOULD, or judged only where it is there.
func refereeRequirements() []Requirement {
	return slices.Concat(wireRequirements("R", "referee: and its id"), refereeRegisters(), refereeInvites(), refereeEnds(), refereeInsists(), refereeWorks())
}

func refereeRegisters() []Requirement {
	return []Requirement{
		{"R-REG-01", Must, "It registers by a JSON-RPC 2.0 request with jsonrpc, method, params and id.", "003 §1.4", `Send {"jsonrpc": "2.0", "method": "register_referee", "params": {…}, "id": 1} to the manager that the examination is.`},
		{"R-REG-02", Should, "It registers by the method register_referee.", "003 §8.3.1", `Set "method" to "register_referee".`},
		{"R-REG-03", Should, "Its registration has a whole envelope.", "003 §2.4.1", "Add protocol, message_type, sender, timestamp and conversation_id to params."},
		{"R-REG-04", Must, "Its display_name has 1 to 50 characters.", "002 §3.1.2", "Put a short name for people into referee_meta.display_name."},
		{"R-REG-05", Must, "Its version has the form MAJOR.MINOR.PATCH.", "002 §3.1.2", `Put a string such as "1.0.0" into referee_meta.version.`},
		{"R-REG-06", Must, "It conducts even_odd.", "002 §3.1.2", `referee_meta.game_types is an array of strings with "even_odd" among them.`},
		{"R-REG-07", Must, "Its contact_endpoint is the URL at which it can be called.", "002 §3.1.2", "referee_meta.contact_endpoint is an absolute URL with the port at which it listens and the path /mcp."},
		{"R-REG-08", Must, "Its max_concurrent_matches is a whole number from 1.", "002 §3.1.2", "Say how many matches it conducts at once in referee_meta.max_concurrent_matches, 1 to 10."},
		{"R-REG-09", Should, "It takes the answer to its registration, and does not register again.", "003 §2.5.1", "Keep referee_id and auth_token of an ACCEPTED answer."},
		{"R-STA-01", Must, "It conducts a match when it is told to.", "003 §2.5.5", "Serve a method such as start_match, with match_id and both players with their endpoints."},
		{"R-STA-02", Should, "It takes a match by start_match.", "003 §5.4.1", "Name the tool start_match."},
		{"R-STA-03", Should, "It answers start_match at once, and conducts the match beside it.", "003 §5.4.1", "Conduct the match in a task of its own; a manager waits 10 s for the answer."},
		{"R-STA-04", Should, "The same start_match once more begins no second match.", "003 §2.9.4", "Keep what you conduct by match_id."},
		{"R-STA-05", Should, "It conducts as many matches at once as it said.", "002 §3.1.2", "Conduct each match in a task of its own, or say max_concurrent_matches 1."},
		{"R-STA-06", Should, "It refuses a match beyond those with status BUSY, or conducts it later.", "003 §2.2.2", "Count the matches you conduct, and answer status BUSY."},
		{"R-STA-07", Should, "It refuses a match of a game that it does not know.", "003 §3.8.3", "Answer status REJECTED, or an error."},
	}
}

func refereeInvites() []Requirement {
	return []Requirement{
		{"R-INV-01", Must, "It invites both players by GAME_INVITATION.", "003 §3.2.1", "Call handle_game_invitation of both players, at the endpoints of the assignment."},
		{"R-INV-02", Must, "An invitation has league_id, round_id, match_id, game_type, role_in_match and opponent_id.", "003 §4.4.1", "Add what the detail says is missing or wrong."},
		{"R-INV-03", Must, "One player is PLAYER_A, and the other PLAYER_B, as the match was handed out.", "003 §4.4.1", "Set role_in_match by the player's place in the assignment."},
		{"R-INV-04", Must, "Nobody is asked for a choice before both have answered the invitation.", "003 §3.2.3", "Await both GAME_JOIN_ACK before the first CHOOSE_PARITY_CALL."},
		{"R-INV-05", Must, "Nobody is asked for a choice when a player has refused the invitation, or not answered it.", "003 §3.2.2", "End the match with a technical loss of that player."},
		{"R-CHO-01", Must, "It asks both players for a choice by CHOOSE_PARITY_CALL.", "003 §3.2.3", "Call choose_parity of both players."},
		{"R-CHO-02", Must, "The call has match_id, player_id, game_type, deadline and context.", "003 §4.5.1", "Add what the detail says is missing or wrong."},
		{"R-CHO-03", Must, "No player is told what the other chose before it has chosen.", "003 §3.1.1", "Send GAME_OVER with the choices after both have answered, and nothing before."},
		{"R-CHO-04", Should, "It asks both players at the same time.", "003 §3.1.1", "Send both calls in tasks of their own, and await both."},
		{"R-CHO-05", Should, "The deadline of a call lies ahead.", "003 §4.5.1", "Set deadline to the time of the call and what the player has to answer."},
		{"R-CHO-06", Should, "The context has opponent_id, round_id and your_standings.", "003 §4.5.1", "Copy your_standings from the assignment; zeros where it has none."},
		{"R-CHO-07", Should, "Asked how a match stands that is being played, it tells no choice and no number.", "PROTOCOL, Calls", "Answer get_match_state with state alone until the match is over."},
		{"R-AUT-01", Should, "get_match_state without a token is refused.", "PROTOCOL, Calls", "Require in auth_token the token that the referee was given."},
	}
}

func refereeEnds() []Requirement {
	return []Requirement{
		{"R-OVR-01", Must, "Both players are told the result by GAME_OVER.", "003 §3.2.6", "Call notify_match_result of both players, whoever failed."},
		{"R-OVR-02", Must, "GAME_OVER has match_id, game_type and game_result with status, winner_player_id, drawn_number, number_parity and choices.", "003 §4.6.1", "Add what the detail says is missing; what there is none of is null."},
		{"R-OVR-03", Must, "The number is from 1 to 10, and number_parity is its parity.", "003 §3.1.1", "Draw with random.randint(1, 10)."},
		{"R-OVR-04", Must, "Winner and status follow from number and choices.", "003 §3.1.1", "Who alone named the parity of the number has won; else it is a DRAW with winner_player_id null."},
		{"R-OVR-05", Must, "The choices are those that the players made.", "003 §4.6.1", "Keep parity_choice of each player by its id."},
		{"R-OVR-06", Must, "Both players are told the same.", "003 §4.6.1", "Make game_result once, and send it to both."},
		{"R-OVR-07", Should, "Players are told before the manager.", "004 §4.3", "Await both GAME_OVER, 5 s at most, and report then."},
		{"R-DRW-01", Should, "Where it has committed to a draw, number and nonce are what it has committed to.", "PROTOCOL, A draw that nobody steers", "Reveal nonce and commitment in GAME_OVER and in the report."},
		{"R-REP-01", Must, "Every match is reported to the manager.", "003 §3.2.6", "Call report_match_result of the manager when the match is over, whoever failed."},
		{"R-REP-02", Must, "A report has league_id, round_id, match_id, game_type and result with winner and score.", "003 §4.6.2", "Add what the detail says is missing or wrong."},
		{"R-REP-03", Must, "A report has the auth_token that the referee was given.", "003 §2.4.5", "Keep auth_token of the registration, and put it into what you send to the manager."},
		{"R-REP-04", Must, "The report has the result that the players were told.", "003 §4.6.2", "Report the winner of GAME_OVER."},
		{"R-REP-05", Should, "The score is 3 for a win, 1 each for a draw, and 0.", "003 §3.4.1", "Compute score from the result; on a draw 1 for each."},
		{"R-REP-06", Should, "The report has details with drawn_number and choices.", "003 §4.6.2", "Add details{drawn_number, choices}."},
		{"R-REP-07", Should, "A report that is not answered is sent again, the same.", "003 §2.9.4", "Try again after 2, 4 and 8 s while nobody answers."},
		{"R-REP-08", Must, "No match is reported with two results.", "003 §2.11.1", "Keep the result by match_id, and send the same again."},
		{"R-REP-09", Should, "The sender of a report is referee: and the id that it was given.", "003 §2.4.4", "Use referee_id of the registration."},
	}
}

func refereeInsists() []Requirement {
	return []Requirement{
		{"R-LOS-01", Must, "Who refuses the invitation, or never answers it, has lost, and the other wins.", "003 §2.7", "End the match with status TECHNICAL_LOSS and the other as the winner."},
		{"R-LOS-02", Must, "Who never chooses has lost, and the other wins.", "003 §2.11.3", "Bound each call by its time, and end the match with status TECHNICAL_LOSS."},
		{"R-LOS-03", Must, "Who never makes an allowed choice has lost, and the other wins.", "002 §6.2.4", "Allow even and odd alone."},
		{"R-LOS-04", Must, "A player whose answers cannot be read has lost, and the other wins.", "003 §2.11.3", "Catch what goes wrong in a call: no JSON, HTTP 500, a closed connection, an error object."},
		{"R-LOS-05", Must, "An answer about another match does not count.", "004 §4.2", "Compare match_id of the answer with that of the match."},
		{"R-LOS-06", Must, "When both fail, nobody wins: winner null, no points.", "PROTOCOL, both players fail", "Await both players before you decide; two failures are a loss for both."},
		{"R-LOS-07", Must, "A technical loss has status TECHNICAL_LOSS, no number, and null for a choice that was not made.", "003 §4.6.1", "Draw no number when a player has failed."},
		{"R-LOS-08", Should, "An answer of 1 MB ends the patience of nobody but its sender's match.", "002 §14.1", "Bound what you read of an answer, such as 64 KB."},
		{"R-ERR-01", Must, "A player that answers wrongly, or not in time, is told by GAME_ERROR.", "003 §2.9.2", "Call notify_game_error of the player."},
		{"R-ERR-02", Must, "GAME_ERROR has match_id, error_code, affected_player, action_required and error_description.", "003 §4.10.2", "Add what the detail says is missing or wrong."},
		{"R-ERR-03", Should, "It has the code: E001 for no answer in time, E004 for a choice that is not allowed, E009 for an answer that cannot be read.", "003 §2.9.3", "Use the codes of the table."},
		{"R-ERR-04", Should, "It has retry_count and max_retries, flat and in retry_info.", "003 §2.9.2", "Add retry_info{retry_count, max_retries, next_retry_at}, and the same beside it."},
		{"R-ERR-05", Must, "No question is asked more than four times: the first, and three retries.", "002 §14.3", "Count the retries of each question."},
		{"R-ERR-06", Must, "A choice that is not allowed is asked again, and the next one counts.", "002 §6.2.4", "Ask again within the time that is left."},
		{"R-ERR-07", Must, "A question that was not answered in time is asked again.", "003 §2.9.4", "Try again three times, 2 s apart, or as retry_policy has it."},
		{"R-ERR-08", Should, "A player whose answer lacks the envelope is judged by what it means.", "PROTOCOL, strictness", "Take parity_choice and accept, and only note what else is missing."},
		{"R-ERR-09", Must, "A player that has failed once, and answers then, plays on.", "003 §2.11.3", "Forget the failure when a right answer comes in time."},
	}
}

func refereeWorks() []Requirement {
	return []Requirement{
		{"R-END-01", Should, "It acknowledges ROUND_COMPLETED and LEAGUE_COMPLETED.", "004 §3.4", "Answer notify_round_completed and notify_league_completed with status ACKNOWLEDGED."},
	}
}
