package check

import (
	"slices"
)

// table is the catalogue of a manager. A MUST keeps matches from being played, or makes
// the standings wrong. Agents manage without the other requirements.
func (x *managerExam) table() []rule {
	return slices.Concat(wireRules("M", "league_manager"), registeringRules(), queryRules(), roundRules(), resultRules())
}

func registeringRules() []rule {
	registered := given("M-REG-02")
	return []rule{
		must("M-REG-01", "It registers a referee: REFEREE_REGISTER_RESPONSE with status ACCEPTED and a referee_id.", "003 §4.1.2",
			"Examine it with a fresh league. Answer register_referee with status ACCEPTED and a referee_id such as REF01.", on("register/referee", found)),
		must("M-REG-02", "It registers players: LEAGUE_REGISTER_RESPONSE with status ACCEPTED and a player_id.", "003 §4.2.2",
			"Examine it with a fresh league. Answer register_player with status ACCEPTED and a player_id such as P01.", on("register/player", found)),
		must("M-REG-03", "No two agents get the same id.", "003 §2.3", "Give the next free number, under a lock if registrations can come at the same time.", on("register/id", found)),
		should("M-REG-04", "Every registered agent gets an auth_token of its own.", "003 §2.4.5",
			"Draw a random token for each agent, and put it into auth_token of the answer.", on("register/token", found)),
		should("M-REG-05", "An accepted registration has league_id, and reason null.", "002 §3.2.2",
			"Add league_id and reason: null.", on("register/accepted", every(filled("league_id"), null("reason")))),
		should("M-REG-06", "It takes a display_name of 50 characters that are not ASCII.", "002 §3.3.2", "Count characters and not bytes, and read UTF-8.", on("register/long name", found)),
		should("M-REG-07", "The same registration once more, after a lost answer, gets the same id.", "003 §2.9.4",
			"Store conversation_id, name and endpoint of a registration, and repeat the answer.", on("register/again", found)),
		should("M-REF-01", "It refuses a registration that lacks a required field.", "003 §4.12.1",
			"Check every required field of the envelope and of player_meta or referee_meta first.", on("refusal/missing field", refused), registered),
		should("M-REF-02", "It refuses it with E003 (-32602).", "004 §2.2",
			`Answer an error object with code -32602 and data.error_code "E003".`, on("refusal/missing field", coded), registered),
		should("M-REF-03", "It refuses a registration with a field of the wrong type.", "002 §14.4",
			"Check types: strings are strings, game_types is an array of strings.", on("refusal/type", refused), registered),
		should("M-REF-04", "It refuses it with E002 (-32602).", "",
			`Answer an error object with code -32602 and data.error_code "E002".`, on("refusal/type", coded), registered),
		should("M-REF-05", "It refuses a display_name that is empty or longer than 50 characters.", "002 §3.3.2", "Allow 1 to 50 characters.", on("refusal/name", refused), registered),
		should("M-REF-06", "It refuses a protocol other than league.v2.", "003 §2.10.2", "Compare protocol with league.v2.", on("refusal/protocol", refused), registered),
		should("M-REF-07", "It refuses a protocol or protocol_version that it does not support with E018.", "003 §2.10.2",
			`Answer error_code "E018"; 2.0.0 to 2.1.0 are supported.`, on("refusal/protocol", coded), on("refusal/version", coded), registered),
		should("M-REF-08", "It refuses a timestamp that is not UTC.", "003 §2.4.2", "Accept only Z and +00:00.", on("refusal/timestamp", refused), registered),
		should("M-REF-09", "It refuses it with E021.", "003 §2.4.2", `Answer error_code "E021".`, on("refusal/timestamp", coded), registered),
		should("M-REF-10", "It refuses an agent that does not play the league's game.", "004 §2.2", "Look for the league's game in game_types.", on("refusal/game", refused), registered),
		should("M-REF-11", "It refuses it with E026 (1003 referees, 2004 players).", "004 §2.2",
			`Answer status REJECTED with error_code "E026", or the error 1003 or 2004.`, on("refusal/game", coded), registered),
		should("M-REF-15", "It refuses a contact_endpoint that is no absolute URL, or has a port outside 1 to 65535, with E025 (1002 referees, 2003 players).", "004 §2.2",
			"Parse contact_endpoint as a URL when an agent registers. Do not call it before the answer: most agents open their port only after that.",
			on("refusal/endpoint", coded), registered),
		should("M-REF-13", "It refuses a display_name that another player has with E024 (2002).", "004 §2.2",
			"Compare the name with those of the registered players.", on("refusal/duplicate name", coded), registered),
		should("M-REF-14", "A refused registration says why, and gives no id.", "002 §3.4.2",
			"Answer status REJECTED with a reason for people and player_id null, or an error object with a message.", on("refusal/reason", found), registered),
	}
}

func queryRules() []rule {
	answers := given("M-QRY-01")
	return []rule{
		should("M-AUT-01", "It refuses a query without auth_token.", "003 §2.4.5", "Require auth_token in every message after the registration.", on("token/missing", refused), answers),
		should("M-AUT-02", "It refuses a query with a wrong auth_token.", "003 §2.4.5", "Look the token up, and refuse an unknown one.", on("token/wrong", refused), answers),
		should("M-AUT-03", "It refuses them with E011 and E012.", "003 §2.9.3",
			`Answer LEAGUE_ERROR with error_code "E011" if there is no token, "E012" if it is wrong.`, on("token/missing", coded), on("token/wrong", coded), answers),
		should("M-AUT-04", "It refuses a query with the auth_token of another agent than the sender.", "003 §2.4.5",
			"Compare sender with the owner of auth_token.", on("token/of another", refused), answers),
		should("M-AUT-05", "It refuses it with E014.", "",
			`Answer LEAGUE_ERROR with error_code "E014" (NOT_AUTHORIZED).`, on("token/of another", coded), answers),
		should("M-QRY-01", "It answers GET_STANDINGS with success true and data.standings.", "003 §4.9.2",
			"Answer LEAGUE_QUERY_RESPONSE with query_type, success and data{standings}.", on("query/standings", found), in("token")),
		should("M-QRY-02", "The standings are at the top level of the answer as well.", "004 §7.1",
			"Put standings into the answer itself as well as into data.", on("standings in the answer", found)),
		should("M-QRY-03", "It answers GET_SCHEDULE with success true and data.", "003 §4.9.1", "Answer the matches of a round in data.", on("query of the schedule", found)),
		should("M-QRY-04", "It answers GET_NEXT_MATCH with the player's next match.", "003 §4.9.2",
			"Answer data{next_match{match_id, round_id, opponent_id, referee_endpoint}}.", on("query of the next match", found)),
		should("M-QRY-05", "It answers GET_PLAYER_STATS with success true and data.", "003 §4.9.1",
			"Answer played, wins, draws, losses and points of query_params.player_id.", on("query/statistics", found)),
		should("M-QRY-06", "It refuses a query of an unknown type.", "002 §8.2.1",
			"Answer success false with error{error_code}, or LEAGUE_ERROR.", on("query/unknown type", refused), answers),
		should("M-QRY-07", "It refuses statistics of a player that is not registered.", "002 §8.2.1",
			"Answer success false with error{error_code}, or LEAGUE_ERROR.", on("query/unknown player", refused), answers),
		should("M-QRY-08", "It refuses queries with E016 (type), E005 (player) and E017 (league).", "002 §8.2.1", `Put error_code "E016", "E005" or "E017" into error.`,
			on("query/unknown type", coded), on("query/unknown player", coded), on("query/other league", coded), answers),
		should("M-QRY-09", "get_standings is a tool as well.", "003 §5.5.1", "Serve the method get_standings like the query GET_STANDINGS.", on("query/tool", hasResult)),
		should("M-QRY-10", "The message type is a method as well.", "", "Dispatch an unknown method by params.message_type.", on("query/message type", hasResult)),
		should("M-QRY-11", "It refuses a query about another league.", "004 §7.1", "Compare league_id with that of your league.", on("query/other league", refused), answers),
	}
}

func roundRules() []rule {
	return []rule{
		must("M-RUN-01", "Its league begins when the awaited players and referees have registered.", "003 §2.5.3",
			"Begin without a command, or take start_league with the admin token; tell the examination how many agents you wait for.", on("begin/league", found)),
		should("M-RUN-02", "It refuses a registration after the start.", "003 §2.5.3",
			"Store that the schedule is made, and refuse with E019.", on("begin/late registration", refused), given("M-REG-02")),
		should("M-RUN-03", "It refuses it with E019, or E020 if the league is full.", "002 §3.4.3",
			`Answer status REJECTED with error_code "E019".`, on("begin/late registration", coded), given("M-REG-02")),
		should("M-RUN-04", "It refuses start_league without the admin token, also with a player's.", "",
			"An untrusted caller must not begin the league: compare auth_token with a token that only the operator has.", on("begin/without right", refused)),
		should("M-RUN-05", "It refuses it with E011 and E012.", "003 §2.9.3",
			`Answer LEAGUE_ERROR with error_code "E011" if there is no token, "E012" if it is another one.`, on("begin/without right", coded)),
		should("M-RND-01", "Every player gets a ROUND_ANNOUNCEMENT for every round.", "003 §4.3.1", "Call notify_round of every player with the whole round.", on("announced", found)),
		should("M-RND-02", "An announcement has league_id, round_id and matches with match_id, game_type, player_A_id, player_B_id and referee_endpoint.", "003 §4.3.1",
			"Add the member in the detail.", on("announcement", every(filled("league_id"), integers("round_id"), matchesProblem))),
		must("M-RND-03", "Each pair meets once, and nobody plays twice in a round.", "003 §3.5.1",
			"Make the schedule by the circle method; n players have n-1 rounds.", on("schedule", found)),
		should("M-RND-04", "It assigns a match after the announcement of its round.", "003 §2.5.4",
			"Wait for the acknowledgements of the announcements before the first match.", on("time of assignment", found)),
		should("M-RND-05", "It announces a round when all matches of the round before are reported.", "003 §2.5.6",
			"Count the reports of the round.", on("time of announcement", found)),
		should("M-RND-06", "Every player gets a LEAGUE_STANDINGS_UPDATE after a round.", "003 §2.5.6",
			"Call update_standings of every player when the last match of the round is reported.", on("standings updates", found)),
		should("M-RND-07", "Every player gets ROUND_COMPLETED with the number of matches and next_round_id.", "003 §4.8.1",
			"Call notify_round_completed with round_id, matches_completed and next_round_id, null after the last round.", on("ends of rounds", found)),
		must("M-ASG-01", "It assigns every announced match to a referee, in a form that referees know.", "003 §2.5.5",
			"Call start_match of the referee with match_id and both players with their endpoints.", on("assigned", found)),
		should("M-ASG-02", "It assigns matches by start_match.", "003 §5.4.1", "Name the method start_match.", on("form of assignment", found)),
		must("M-ASG-03", "It tells the referee the players and their endpoints.", "003 §2.5.5", "Put ids and contact endpoints of both players into the call.", on("assignment", found)),
	}
}

func resultRules() []rule {
	accepts := given("M-RPT-01")
	return []rule{
		must("M-RPT-01", "It acknowledges a report.", "003 §8.7.6", "Answer report_match_result with a result when the match is recorded.", on("report", found)),
		should("M-RPT-02", "It acknowledges the same report once more, or refuses it as a duplicate (5003), and counts it once.", "004 §5.1",
			"Store the result by match_id.", on("report again", found)),
		must("M-RPT-03", "It does not count a different report of the same match.", "004 §5.1", "Refuse it with 5003; the first report stands.", on("duplicate", found)),
		should("M-RPT-04", "It refuses a report of a match that it did not assign.", "004 §5.1",
			"Look the match up in the schedule, and refuse with 5002.", on("report of an unknown match", refused), accepts),
		must("M-RPT-05", "It refuses a report without the referee's token, or with a player's.", "004 §5.1",
			"Look up the owner of auth_token, and refuse with 5001 if it is no referee.", on("report without right", refused), accepts),
		should("M-RPT-06", "It refuses reports with 5001 (E011, E012; E013 for a player), 5002 (E006; E030 before the start), 5003 (E007) and -32602 (E003).", "004 §5.1",
			"Use the codes of the table.", on("early report", coded), on("report of an unknown match", coded), on("report without right", coded),
			on("report without a result", coded), on("different report", coded), accepts),
		must("M-RPT-07", "It refuses a report whose winner does not play in the match.", "002 §7.1.2", "Compare winner with both players.", on("report of another winner", refused), accepts),
		should("M-RPT-08", "It refuses a report without a result.", "003 §4.12.1", "Check that result exists before you record anything.", on("report without a result", refused), accepts),
		should("M-RPT-09", "It refuses a report before the league has begun.", "004 §6.1",
			`Answer error_code "E030" (LEAGUE_NOT_STARTED).`, on("early report", refused), accepts),
		should("M-PRV-01", "If it says manager_auth, its calls bring the credential of the called agent.", "",
			"Send Authorization: Bearer with the HMAC-SHA256 of \"league_id/manager\", keyed by the SHA-256 of the agent's token, or omit manager_auth.", on("proof", found)),
		must("M-STA-01", "The standings count 3 points for a win, 1 for a draw and 0 for a loss.", "003 §3.4.1", "Count points from status and winner of each report.", on("standings", found)),
		must("M-STA-02", "The standings are ordered by points, then wins.", "003 §3.4.2", "Sort by points, wins and draws, all descending.", on("order of standings", found)),
		should("M-STA-03", "A row has rank, player_id, points, and the number of matches played, won, drawn and lost.", "003 §4.7.1",
			"Add the member in the detail.", on("standings update", every(integers("round_id"), rowProblem))),
		should("M-END-01", "Every player gets LEAGUE_COMPLETED when the last match is reported.", "003 §4.8.2", "Call notify_league_completed of every player.", on("end told", found)),
		must("M-END-02", "The champion is the player with the most points.", "003 §4.8.2", "Take the first of the final standings.", on("champion", found)),
		should("M-END-03", "LEAGUE_COMPLETED has total_rounds, total_matches and final_standings.", "003 §4.8.2", "Add or correct the member in the detail.", on("totals", every(expected("total_rounds", "total_matches"), found))),
		should("M-END-04", "It tells referees that the league is over.", "004 §3.4", "Call notify_league_completed of every referee as well.", on("end told to referees", found)),
		should("M-END-06", "It refuses start_league with E031 when the league is over.", "004 §6.1",
			`Answer error_code "E031" (LEAGUE_ALREADY_COMPLETE).`, on("start after the end", coded)),
		should("M-END-05", "It answers queries after the end, as long as the manager runs.", "003 §4.9", "Keep the standings until the process ends.", on("query after the end", found)),
	}
}
