package conformance

import "slices"

// refereeRequirements is the catalogue of a referee. MUST is what decides who wins, what
// the manager refuses, and what leaves a match without a report. Our players and our
// manager manage without the rest.
func refereeRequirements() []Requirement {
	return slices.Concat(wireRequirements("R", "referee: and its id"), refereeRegisters(), refereeInvites(), refereeEnds(), refereeInsists(), refereeWorks())
}

func refereeRegisters() []Requirement {
	return []Requirement{
		{"R-REG-01", Should, "It registers by a JSON-RPC 2.0 request with jsonrpc, method, params and id.", "003 §1.4", `Send {"jsonrpc": "2.0", "method": "register_referee", "params": {…}, "id": 1} to the manager.`},
		{"R-REG-02", Should, "It registers by the method register_referee.", "003 §8.3.1", `Set "method" to "register_referee".`},
		{"R-REG-03", Should, "Its registration has a whole envelope.", "003 §2.4.1", "Add protocol, message_type, sender, timestamp and conversation_id to params."},
		{"R-REG-04", Must, "Its display_name has 1 to 50 characters.", "002 §3.1.2", "Put a short name for people into referee_meta.display_name."},
		{"R-REG-05", Must, "Its version has the form MAJOR.MINOR.PATCH.", "002 §3.1.2", `Put a string such as "1.0.0" into referee_meta.version.`},
		{"R-REG-06", Must, "It conducts the game of the league.", "002 §3.1.2", `referee_meta.game_types is an array of strings, such as ["even_odd"], with the game of the league among them.`},
		{"R-REG-07", Must, "Its contact_endpoint is the URL at which it can be called.", "002 §3.1.2", "referee_meta.contact_endpoint is an absolute URL with the port at which it listens and the path /mcp."},
		{"R-REG-08", Must, "Its max_concurrent_matches is a whole number from 1.", "002 §3.1.2", "Say how many matches it conducts at once in referee_meta.max_concurrent_matches, 1 to 10."},
		{"R-REG-09", Should, "It registers once, when the answer is ACCEPTED.", "003 §2.5.1", "Keep referee_id and auth_token of an ACCEPTED answer."},
		{"R-REG-10", Must, "It registers with the manager.", "003 §2.5.1", "Start it with the URL of the manager: for this examination that is where evenodd check listens."},
		{"R-STA-01", Must, "It conducts a match when it is told to.", "003 §2.5.5", "Serve a method such as start_match, and invite both players at the endpoints of the assignment, not at those of a file of your own."},
		{"R-STA-02", Should, "It takes a match by start_match.", "003 §5.4.1", "Name the tool start_match."},
		{"R-STA-03", Should, "It answers start_match at once, and conducts the match in the background.", "003 §5.4.1", "Conduct the match in a task of its own; a manager waits 10 s for the answer."},
		{"R-STA-04", Should, "The same start_match again starts no second match.", "003 §2.9.4", "Keep the matches that you conduct by match_id."},
		{"R-STA-05", Should, "It conducts as many matches at once as it said.", "002 §3.1.2", "Conduct each match in a task of its own, or say max_concurrent_matches 1."},
		{"R-STA-06", Should, "It refuses a match beyond those with status BUSY, or conducts it later.", "003 §2.2.2", "Count the matches you conduct, and answer status BUSY."},
		{"R-STA-07", Should, "It refuses a match of a game that it does not know.", "003 §3.8.3", "Answer status REJECTED, or an error."},
	}
}

func refereeInvites() []Requirement {
	return []Requirement{
		{"R-INV-01", Must, "It invites both players by GAME_INVITATION.", "003 §3.2.1", "Call handle_game_invitation of both players, at the endpoints of the assignment."},
		{"R-INV-02", Should, "An invitation has league_id, round_id, match_id, game_type, role_in_match and opponent_id.", "003 §4.4.1", "Add what the detail says is missing or wrong."},
		{"R-INV-03", Should, "One player is PLAYER_A, and the other PLAYER_B, as the assignment has it.", "003 §4.4.1", "Set role_in_match by the player's place in the assignment."},
		{"R-INV-04", Should, "It asks nobody for a choice before both players have answered the invitation.", "003 §3.2.3", "Await both GAME_JOIN_ACK before the first question."},
		{"R-INV-05", Should, "It asks nobody for a choice when a player has refused the invitation, or not answered it.", "003 §3.2.2", "End the match with a technical loss of that player."},
		{"R-CHO-01", Must, "It asks both players for a choice: by CHOOSE_PARITY_CALL, in other games by GAME_MOVE_CALL.", "003 §3.2.3", "Call choose_parity of both players, in other games make_move."},
		{"R-CHO-02", Should, "A question has match_id, player_id, game_type, deadline and context, in other games move_request.", "003 §4.5.1", "Add what the detail says is missing or wrong."},
		{"R-CHO-03", Must, "It tells no player what the other chose before that player has chosen.", "003 §3.1.1", "Send GAME_OVER with the choices after both have answered, and nothing before."},
		{"R-CHO-04", Should, "It asks both players at the same time, where the game has them choose at the same time.", "003 §3.1.1", "Send both calls in tasks of their own, and await both."},
		{"R-CHO-05", Should, "The deadline of a question is in the future.", "003 §4.5.1", "Set deadline to the time of the call plus the time that the player has."},
		{"R-CHO-06", Should, "The context has opponent_id, round_id and, in even_odd, your_standings.", "003 §4.5.1", "Copy your_standings from the assignment; zeros where it has none."},
		{"R-CHO-07", Should, "Its get_match_state tells no choice and no number of a match that is being played.", "PROTOCOL, Calls", "Answer get_match_state with the state only until the match is over."},
		{"R-AUT-01", Should, "It refuses get_match_state without a token.", "PROTOCOL, Calls", "Require the token that the referee was given in auth_token."},
	}
}

func refereeEnds() []Requirement {
	return []Requirement{
		{"R-OVR-01", Should, "It tells both players the result by GAME_OVER.", "003 §3.2.6", "Call notify_match_result of both players, also when one of them failed."},
		{"R-OVR-02", Should, "GAME_OVER has match_id, game_type and game_result with status, winner_player_id, drawn_number, number_parity and choices.", "003 §4.6.1", "Add what the detail says is missing; null where there is none."},
		{"R-OVR-03", Must, "The number is from 1 to 10, and number_parity is its parity (even_odd).", "003 §3.1.1", "Draw with random.randint(1, 10)."},
		{"R-OVR-04", Must, "Winner and status follow from the rules of the game.", "003 §3.1.1", "In even_odd, the player that alone named the parity of the number has won; otherwise it is a DRAW with winner_player_id null."},
		{"R-OVR-05", Must, "The choices are those that the players made.", "003 §4.6.1", "Keep the choice of each player by its id."},
		{"R-OVR-06", Should, "It tells both players the same result.", "003 §4.6.1", "Make game_result once, and send it to both."},
		{"R-OVR-07", Should, "It tells the players before the manager.", "004 §4.3", "Await both GAME_OVER, 5 s at most, and report then."},
		{"R-DRW-01", Must, "Where it commits to a draw, number and nonce are what it has committed to (even_odd).", "PROTOCOL, A draw that nobody steers", "Reveal nonce and commitment in GAME_OVER and in the report, or send no draw_commitment."},
		{"R-REP-01", Must, "It reports every match to the manager.", "003 §3.2.6", "Call report_match_result of the manager when the match is over, also when a player failed."},
		{"R-REP-02", Should, "A report has league_id, round_id, match_id, game_type and result with winner and score.", "003 §4.6.2", "Add what the detail says is missing or wrong."},
		{"R-REP-03", Must, "A report has the auth_token that the referee was given.", "003 §2.4.5", "Keep auth_token of the registration, and put it into what you send to the manager. (A league with auth: lenient manages without.)"},
		{"R-REP-04", Must, "The report has the result that the players were told.", "003 §4.6.2", "Report the winner of GAME_OVER."},
		{"R-REP-05", Should, "The score is 3 for a win, 1 each for a draw, and 0.", "003 §3.4.1", "Compute score from the result; on a draw 1 for each."},
		{"R-REP-06", Should, "The report has details with drawn_number and choices.", "003 §4.6.2", "Add details{drawn_number, choices}; drawn_number is null where nothing was drawn."},
		{"R-REP-07", Should, "It sends a report again, unchanged, when there was no answer.", "003 §2.9.4", "Try again after 2, 4 and 8 s while there is no answer."},
		{"R-REP-08", Should, "It reports no match with two results.", "003 §2.11.1", "Keep the result by match_id, and send the same again."},
		{"R-REP-09", Should, "The sender of a report is referee: and the id that it was given.", "003 §2.4.4", "Use referee_id of the registration."},
		{"R-REP-10", Must, "No report contradicts itself: choices, number and winner are possible together.", "003 §3.1.1", "Report the number and the choices that decide the match: a manager refuses any other result."},
	}
}

func refereeInsists() []Requirement {
	return []Requirement{
		{"R-LOS-01", Must, "A player that refuses the invitation, or never answers it, loses, and the other wins.", "003 §2.7", "End the match with status TECHNICAL_LOSS and the other as the winner, and report it."},
		{"R-LOS-02", Must, "A player that never chooses loses, and the other wins.", "003 §2.11.3", "Bound each call by its time, end the match with status TECHNICAL_LOSS, and report it."},
		{"R-LOS-03", Must, "A player that never makes an allowed choice loses, and the other wins.", "002 §6.2.4", "Allow only the choices of the game, such as even and odd."},
		{"R-LOS-04", Must, "A player whose answers cannot be read loses, and the other wins.", "003 §2.11.3", "Catch what goes wrong in a call: no JSON, HTTP 500, a closed connection, an error object."},
		{"R-LOS-05", Should, "An answer about another match does not count.", "004 §4.2", "Compare match_id of the answer with that of the match."},
		{"R-LOS-06", Must, "When both fail, nobody wins: winner null, no points.", "PROTOCOL, both players fail", "Await both players before you decide; two failures are a loss for both."},
		{"R-LOS-07", Should, "A technical loss has status TECHNICAL_LOSS, no number, and null for a choice that was not made.", "003 §4.6.1", "Draw no number when a player has failed."},
		{"R-LOS-08", Should, "An answer of 1 MB costs only its sender the match.", "002 §14.1", "Bound what you read of an answer, such as 64 KB."},
		{"R-ERR-01", Should, "It sends GAME_ERROR to a player that answers wrongly, or not in time.", "003 §2.9.2", "Call notify_game_error of the player."},
		{"R-ERR-02", Should, "GAME_ERROR has match_id, error_code, affected_player, action_required and error_description.", "003 §4.10.2", "Add what the detail says is missing or wrong."},
		{"R-ERR-03", Should, "It has the code: E001 for no answer in time, E004 (E010 in other games than even_odd) for a choice that is not allowed, E009 for an answer that cannot be read.", "003 §2.9.3", "Use the codes of the table."},
		{"R-ERR-04", Should, "It has retry_count and max_retries, flat and in retry_info.", "003 §2.9.2", "Add retry_info{retry_count, max_retries, next_retry_at}, and the same beside it."},
		{"R-ERR-05", Should, "It asks no question more than four times: the first, and three retries.", "002 §14.3", "Count the retries of each question."},
		{"R-ERR-06", Should, "It asks again after a choice that is not allowed, and the next one counts.", "002 §6.2.4", "Ask again within the time that is left."},
		{"R-ERR-07", Should, "It asks again when a question was not answered in time.", "003 §2.9.4", "Try again three times, 2 s apart, or as retry_policy has it."},
		{"R-ERR-08", Must, "It judges a player whose answer lacks the envelope by what it means.", "PROTOCOL, strictness", "Take parity_choice and accept, and only note what else is missing."},
		{"R-ERR-09", Should, "A player that has failed once, and then answers, plays on.", "003 §2.11.3", "Forget the failure when a right answer comes in time."},
	}
}

func refereeWorks() []Requirement {
	return []Requirement{
		{"R-END-01", Should, "It acknowledges ROUND_COMPLETED and LEAGUE_COMPLETED.", "004 §3.4", "Answer notify_round_completed and notify_league_completed with status ACKNOWLEDGED."},
	}
}
