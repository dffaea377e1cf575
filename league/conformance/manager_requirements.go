package conformance

import "slices"

// managerRequirements is the catalogue of a manager. MUST is what keeps matches from being
// played, or makes the table wrong. Agents manage without the rest.
func managerRequirements() []Requirement {
	return slices.Concat(wireRequirements("M", "league_manager"), managerRegisters(), managerRefuses(), managerAnswers(), managerRuns())
}

func managerRegisters() []Requirement {
	return []Requirement{
		{"M-REG-01", Must, "It registers a referee: REFEREE_REGISTER_RESPONSE with status ACCEPTED and a referee_id.", "003 §4.1.2",
			"Examine it with a fresh league. Answer register_referee with status ACCEPTED and a referee_id such as REF01."},
		{"M-REG-02", Must, "It registers players: LEAGUE_REGISTER_RESPONSE with status ACCEPTED and a player_id.", "003 §4.2.2",
			"Examine it with a fresh league. Answer register_player with status ACCEPTED and a player_id such as P01."},
		{"M-REG-03", Must, "No two agents get the same id.", "003 §2.3", "Give the next free number, under a lock where registrations come at once."},
		{"M-REG-04", Should, "Every registered agent gets an auth_token of its own.", "003 §2.4.5", "Draw a random token for each agent, and put it into auth_token of the answer."},
		{"M-REG-05", Should, "An accepted registration has league_id, and reason null.", "002 §3.2.2", "Add league_id and reason: null."},
		{"M-REG-06", Should, "It takes a display_name of 50 characters that are not ASCII.", "002 §3.3.2", "Count characters and not bytes, and read UTF-8."},
		{"M-REG-07", Should, "The same registration once more, whose answer was lost, gets the same id.", "003 §2.9.4",
			"Keep conversation_id, name and endpoint of a registration, and answer the same again."},
	}
}

func managerRefuses() []Requirement {
	return []Requirement{
		{"M-REF-01", Should, "A registration that lacks a required field is refused.", "003 §4.12.1", "Look for every required field of the envelope and of player_meta or referee_meta before anything else."},
		{"M-REF-02", Should, "It is refused with E003 (-32602).", "004 §2.2", `Answer an error object with code -32602 and data.error_code "E003".`},
		{"M-REF-03", Should, "A registration with a field of the wrong type is refused.", "002 §14.4", "Check types: strings are strings, game_types is an array of strings."},
		{"M-REF-04", Should, "It is refused with E002 (-32602).", "PROTOCOL, Error catalogue", `Answer an error object with code -32602 and data.error_code "E002".`},
		{"M-REF-05", Should, "A display_name that is empty or longer than 50 characters is refused.", "002 §3.3.2", "Allow 1 to 50 characters."},
		{"M-REF-06", Should, "A protocol other than league.v2 is refused.", "003 §2.10.2", "Compare protocol with league.v2."},
		{"M-REF-07", Should, "A protocol, or a protocol_version that is not supported, is refused with E018.", "003 §2.10.2", `Answer error_code "E018"; 2.0.0 to 2.1.0 are supported.`},
		{"M-REF-08", Should, "A timestamp that is not UTC is refused.", "003 §2.4.2", "Take Z and +00:00 alone."},
		{"M-REF-09", Should, "It is refused with E021.", "003 §2.4.2", `Answer error_code "E021".`},
		{"M-REF-10", Should, "An agent that does not play the league's game is refused.", "004 §2.2", "Look for the league's game in game_types."},
		{"M-REF-11", Should, "It is refused with E026 (1003 referees, 2004 players).", "004 §2.2", `Answer status REJECTED with error_code "E026", or the error 1003 or 2004.`},
		{"M-REF-15", Should, "A contact_endpoint that is no absolute URL, or has a port outside 1 to 65535, is refused with E025 (1002 referees, 2003 players).", "004 §2.2", "Parse contact_endpoint as a URL when an agent registers. Do not call it before the answer: most agents open their port only after that."},
		{"M-REF-13", Should, "A display_name that a player has already is refused with E024 (2002).", "004 §2.2", "Compare the name with those of the registered players."},
		{"M-REF-14", Should, "A refused registration says why, and gives no id.", "002 §3.4.2", "Answer status REJECTED with a reason for people and player_id null, or an error object with a message."},
	}
}

func managerAnswers() []Requirement {
	return []Requirement{
		{"M-AUT-01", Should, "A query without auth_token is refused.", "003 §2.4.5", "Require auth_token in everything that comes after the registration."},
		{"M-AUT-02", Should, "A query with a wrong auth_token is refused.", "003 §2.4.5", "Look the token up, and refuse one you did not give."},
		{"M-AUT-03", Should, "They are refused with E011 and E012.", "003 §2.9.3", `Answer LEAGUE_ERROR with error_code "E011" where there is none, "E012" where it is wrong.`},
		{"M-AUT-04", Should, "A query by a sender whose token it is not is refused.", "003 §2.4.5", "Compare sender with the owner of auth_token."},
		{"M-AUT-05", Should, "It is refused with E014.", "PROTOCOL, Error catalogue", `Answer LEAGUE_ERROR with error_code "E014" (NOT_AUTHORIZED).`},
		{"M-QRY-01", Should, "GET_STANDINGS is answered with success true and data.standings.", "003 §4.9.2", "Answer LEAGUE_QUERY_RESPONSE with query_type, success and data{standings}."},
		{"M-QRY-02", Should, "The standings stand at the top level of the answer as well.", "004 §7.1", "Put standings into the answer itself as well as into data."},
		{"M-QRY-03", Should, "GET_SCHEDULE is answered with success true and data.", "003 §4.9.1", "Answer the matches of a round in data."},
		{"M-QRY-04", Should, "GET_NEXT_MATCH is answered with the player's next match.", "003 §4.9.2", "Answer data{next_match{match_id, round_id, opponent_id, referee_endpoint}}."},
		{"M-QRY-05", Should, "GET_PLAYER_STATS is answered with success true and data.", "003 §4.9.1", "Answer played, wins, draws, losses and points of query_params.player_id."},
		{"M-QRY-06", Should, "A query of an unknown type is refused.", "002 §8.2.1", "Answer success false with error{error_code}, or LEAGUE_ERROR."},
		{"M-QRY-07", Should, "Statistics of a player that is not registered are refused.", "002 §8.2.1", "Answer success false with error{error_code}, or LEAGUE_ERROR."},
		{"M-QRY-08", Should, "Queries are refused with E016 (type), E005 (player) and E017 (league).", "002 §8.2.1", `Put error_code "E016", "E005" or "E017" into error.`},
		{"M-QRY-09", Should, "get_standings is a tool as well.", "003 §5.5.1", "Serve the method get_standings like the query GET_STANDINGS."},
		{"M-QRY-10", Should, "The message type is a method as well.", "PROTOCOL, Calls", "Dispatch a method you do not know by params.message_type."},
		{"M-QRY-11", Should, "A query about another league is refused.", "004 §7.1", "Compare league_id with that of your league."},
	}
}

func managerRuns() []Requirement {
	return []Requirement{
		{"M-RUN-01", Must, "Its league begins when the players and referees it waits for have registered.", "003 §2.5.3", "Begin by yourself, or take start_league with the admin token; tell the examination how many you wait for."},
		{"M-RUN-02", Should, "A registration after the start is refused.", "003 §2.5.3", "Remember that the schedule is made, and refuse with E019."},
		{"M-RUN-03", Should, "It is refused with E019, or E020 where the league is full.", "002 §3.4.3", `Answer status REJECTED with error_code "E019".`},
		{"M-RUN-04", Should, "start_league without the admin token is refused, also with a player's.", "PROTOCOL, Calls", "A stranger must not begin the league: compare auth_token with a token that only the operator has."},
		{"M-RUN-05", Should, "It is refused with E011 and E012.", "003 §2.9.3", `Answer LEAGUE_ERROR with error_code "E011" where there is no token, "E012" where it is another.`},
		{"M-RND-01", Should, "Every player gets a ROUND_ANNOUNCEMENT for every round.", "003 §4.3.1", "Call notify_round of every player with the whole round."},
		{"M-RND-02", Should, "An announcement has league_id, round_id and matches with match_id, game_type, player_A_id, player_B_id and referee_endpoint.", "003 §4.3.1", "Add what the detail says is missing."},
		{"M-RND-03", Must, "Each pair meets once, and nobody plays twice in a round.", "003 §3.5.1", "Make the schedule by the circle method; n players have n-1 rounds."},
		{"M-RND-04", Should, "A match is handed out after its round was announced.", "003 §2.5.4", "Wait for the announcements to be acknowledged before the first match."},
		{"M-RND-05", Should, "A round is announced when all matches of the one before are reported.", "003 §2.5.6", "Count the reports of the round."},
		{"M-RND-06", Should, "Every player gets a LEAGUE_STANDINGS_UPDATE after a round.", "003 §2.5.6", "Call update_standings of every player when the last match of the round is reported."},
		{"M-RND-07", Should, "Every player gets ROUND_COMPLETED with the number of matches and next_round_id.", "003 §4.8.1", "Call notify_round_completed with round_id, matches_completed and next_round_id, null after the last."},
		{"M-ASG-01", Must, "Every announced match is handed to a referee, in a way that referees know.", "003 §2.5.5", "Call start_match of the referee with match_id and both players with their endpoints."},
		{"M-ASG-02", Should, "Matches are handed out by start_match.", "003 §5.4.1", "Name the method start_match."},
		{"M-ASG-03", Must, "It tells the referee who plays, and where they are.", "003 §2.5.5", "Put ids and contact endpoints of both players into the call."},
		{"M-RPT-01", Must, "A report is acknowledged.", "003 §8.7.6", "Answer report_match_result with a result, when the match is recorded."},
		{"M-RPT-02", Should, "The same report once more is acknowledged, or refused as a duplicate (5003), and counts once.", "004 §5.1", "Keep the result by match_id."},
		{"M-RPT-03", Must, "A different report of the same match does not count.", "004 §5.1", "Refuse it with 5003; the first report stands."},
		{"M-RPT-04", Should, "A report of a match that nobody was given is refused.", "004 §5.1", "Look the match up in the schedule, and refuse with 5002."},
		{"M-RPT-05", Must, "A report without the referee's token, or with a player's, is refused.", "004 §5.1", "Look whose auth_token it is, and refuse with 5001 what is no referee's."},
		{"M-RPT-06", Should, "What it refuses it refuses with 5001 (E011, E012; E013 for a player), 5002 (E006; E030 before the start), 5003 (E007) and -32602 (E003).", "004 §5.1", "Use the codes of the table."},
		{"M-RPT-07", Must, "A report whose winner is not of the match is refused.", "002 §7.1.2", "Compare winner with both players."},
		{"M-RPT-08", Should, "A report without a result is refused.", "003 §4.12.1", "Look whether result is there before you record anything."},
		{"M-RPT-09", Should, "A report before the league has begun is refused.", "004 §6.1", `Answer error_code "E030" (LEAGUE_NOT_STARTED).`},
		{"M-PRV-01", Should, "Where it says manager_auth, its calls bring the credential of the agent that is called.", "PROTOCOL, What we add",
			"Send Authorization: Bearer with the HMAC-SHA256 of \"league_id/manager\", keyed by the SHA-256 of the agent's token, or leave manager_auth out."},
		{"M-STA-01", Must, "The standings count 3 points for a win, 1 for a draw and 0 for a loss.", "003 §3.4.1", "Count points from status and winner of each report."},
		{"M-STA-02", Must, "The standings are ordered by points, then wins.", "003 §3.4.2", "Sort by points, wins and draws, all descending."},
		{"M-STA-03", Should, "A row has rank, player_id, points, and how many matches were played, won, drawn and lost.", "003 §4.7.1", "Add what the detail says is missing."},
		{"M-END-01", Should, "Every player gets LEAGUE_COMPLETED when the last match is reported.", "003 §4.8.2", "Call notify_league_completed of every player."},
		{"M-END-02", Must, "The champion is the player with the most points.", "003 §4.8.2", "Take the first of the final standings."},
		{"M-END-03", Should, "LEAGUE_COMPLETED has total_rounds, total_matches and final_standings.", "003 §4.8.2", "Add what the detail says is missing or wrong."},
		{"M-END-04", Should, "Referees are told that the league is over.", "004 §3.4", "Call notify_league_completed of every referee as well."},
		{"M-END-06", Should, "start_league is refused with E031 when the league is over.", "004 §6.1", `Answer error_code "E031" (LEAGUE_ALREADY_COMPLETE).`},
		{"M-END-05", Should, "Queries are answered after the end, as long as the manager runs.", "003 §4.9", "Keep the table until the process ends."},
	}
}
