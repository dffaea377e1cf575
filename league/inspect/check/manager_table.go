package check

import "evenodd/league/protocol"

// table is the catalogue of a manager. A MUST keeps matches from being played, or makes
// the standings wrong. Agents manage without the other requirements.
func (x *managerExam) table() []rule {
	return inOrder(wireRules("M", "league_manager"), registeringRules(), queryRules(), roundRules(), reportRules())
}

// refuses is the requirement that requests are refused with a code of the catalogue.
func refuses(id, see, text, given string, facts ...string) rule {
	r := should(id, see, text)
	if given != "" {
		r.given = []string{given}
	}
	for _, name := range facts {
		on(name, refused, coded)(&r)
	}
	return r
}

func registeringRules() []rule {
	const registers = "M-REG-02"
	return []rule{
		must("M-REG-01", "REFEREE_REGISTER_RESPONSE, 003 §4.1.2",
			"It registers a referee: REFEREE_REGISTER_RESPONSE with status ACCEPTED and a referee_id.", on("register/referee"),
			mend("Examine it with a fresh league. Answer register_referee with status ACCEPTED and a referee_id such as REF01.")),
		must(registers, "LEAGUE_REGISTER_RESPONSE, 003 §4.2.2",
			"It registers players: LEAGUE_REGISTER_RESPONSE with status ACCEPTED and a player_id.", on("register/player"),
			mend("Examine it with a fresh league. Answer register_player with status ACCEPTED and a player_id such as P01.")),
		must("M-REG-03", "LEAGUE_REGISTER_RESPONSE, 003 §2.3", "No two agents get the same id.", on("register/id")),
		should("M-REG-04", "Tokens, 003 §2.4.5", "Every registered agent gets an auth_token of its own.",
			on("register/token")),
		should("M-REG-07", "LEAGUE_REGISTER_RESPONSE, 003 §2.9.4",
			"The same registration once more, after a lost answer, gets the same id.", on("register/again")),

		refuses("M-REF-01", "Error catalogue, 003 §4.12.1",
			"It refuses a registration that lacks a required field with E003 (-32602).", registers, "refusal/missing field"),
		refuses("M-REF-03", "Error catalogue, 002 §14.4",
			"It refuses a registration with a field of the wrong type with E002 (-32602).", registers, "refusal/type"),
		should("M-REF-05", "LEAGUE_REGISTER_RESPONSE, 002 §3.3.2",
			"It refuses a display_name that is empty or longer than 50 characters.", on("refusal/name", refused),
			given(registers)),
		refuses("M-REF-06", "LEAGUE_REGISTER_RESPONSE, 003 §2.10.2",
			"It refuses a protocol or protocol_version that it does not support with E018.", registers, "refusal/protocol"),
		refuses("M-REF-08", "LEAGUE_REGISTER_RESPONSE, 003 §2.4.2", "It refuses a timestamp that is not UTC with E021.",
			registers, "refusal/timestamp"),
		refuses("M-REF-10", "LEAGUE_REGISTER_RESPONSE, 004 §2.2",
			"It refuses an agent that does not play the league's game with E026 (1003 referees, 2004 players).", registers,
			"refusal/game"),
		refuses("M-REF-13", "LEAGUE_REGISTER_RESPONSE, 004 §2.2",
			"It refuses a display_name that another player has with E024 (2002).", registers, "refusal/duplicate name"),
		refuses("M-REF-15", "LEAGUE_REGISTER_RESPONSE, 004 §2.2",
			"It refuses a contact_endpoint that is no absolute URL, or has a port outside 1 to 65535, with E025 (1002 referees, 2003 players), and does not call it.",
			registers, "refusal/endpoint"),
		refuses("M-RUN-02", "LEAGUE_REGISTER_RESPONSE, 003 §2.5.3",
			"It refuses a registration after the start with E019, or E020 if the league is full.", registers,
			"begin/late registration"),
	}
}

func queryRules() []rule {
	const answers = "M-QRY-01"
	return []rule{
		refuses("M-AUT-01", "LEAGUE_QUERY, 003 §2.4.5",
			"It refuses a query without auth_token with E011, and one with a wrong auth_token with E012.", answers,
			"token/missing", "token/wrong"),
		refuses("M-AUT-04", "LEAGUE_QUERY, 003 §2.4.5",
			"It refuses a query with the auth_token of another agent than the sender with E014.", answers, "token/of another"),
		should(answers, "LEAGUE_QUERY, 003 §4.9.2", "It answers GET_STANDINGS with success true and data.standings.",
			on("query/standings"), in("token"),
			mend("Answer LEAGUE_QUERY_RESPONSE with query_type, success and data{standings}.")),
		should("M-QRY-03", "LEAGUE_QUERY, 003 §4.9.1",
			"It answers GET_SCHEDULE and GET_PLAYER_STATS with success true and data.", on("query/schedule"),
			on("query/statistics")),
		should("M-QRY-04", "LEAGUE_QUERY, 003 §4.9.2", "It answers GET_NEXT_MATCH with the player's next match.",
			on("query/next match")),
		refuses("M-QRY-06", "LEAGUE_QUERY_RESPONSE, 002 §8.2.1",
			"It refuses a query of an unknown type with E016, about an unknown player with E005, and about another league with E017.",
			answers, "query/refusal"),
	}
}

func roundRules() []rule {
	return []rule{
		must("M-RUN-01", "Messages of registration, 003 §2.5.3",
			"Its league begins when the awaited players and referees have registered.", on("begin/league"),
			mend("Begin without a command, or take start_league with the admin token; tell the examination how many agents you wait for.")),
		refuses("M-RUN-04", "start_league",
			"It refuses start_league without the admin token, also with a player's, with E011 or E012.", "",
			"begin/without right"),
		should("M-RND-01", "ROUND_ANNOUNCEMENT, 003 §4.3.1", "Every player gets a ROUND_ANNOUNCEMENT for every round.",
			on("announced")),
		form("M-RND-02", "ROUND_ANNOUNCEMENT, 003 §4.3.1", protocol.TypeRoundAnnouncement),
		must("M-RND-03", "A round, 003 §3.5.1", "Each pair meets once, and nobody plays twice in a round.", on("schedule")),
		should("M-RND-06", "LEAGUE_STANDINGS_UPDATE, 003 §2.5.6",
			"Every player gets a LEAGUE_STANDINGS_UPDATE after a round.", on("standings updates")),
		should("M-RND-07", "ROUND_COMPLETED, 003 §4.8.1",
			"Every player gets ROUND_COMPLETED after a round.", on("ends of rounds")),
		must("M-ASG-01", "MATCH_ASSIGNMENT, 003 §2.5.5",
			"It assigns every announced match to a referee, in a form that referees know.", on("assigned")),
		must("M-ASG-03", "MATCH_ASSIGNMENT, 003 §2.5.5", "It tells the referee the players and their endpoints.",
			on("assignment")),

		must("M-STA-01", "Row of the table, 003 §3.4.1",
			"The standings count 3 points for a win, 1 for a draw and 0 for a loss.", on("standings")),
		must("M-STA-02", "Row of the table, 003 §3.4.2", "The standings are ordered by points, then wins.",
			on("order of standings")),
		form("M-STA-03", "LEAGUE_STANDINGS_UPDATE, 003 §4.7.1", protocol.TypeStandingsUpdate),
		should("M-END-01", "LEAGUE_COMPLETED, 003 §4.8.2",
			"Every player and referee gets LEAGUE_COMPLETED when the last match is reported.", on("end told")),
		must("M-END-02", "LEAGUE_COMPLETED, 003 §4.8.2", "The champion is the player with the most points.", on("champion")),
		form("M-END-03", "LEAGUE_COMPLETED, 003 §4.8.2", protocol.TypeLeagueCompleted),
	}
}

func reportRules() []rule {
	accepts := given("M-RPT-01")
	return []rule{
		must("M-RPT-01", "MATCH_RESULT_ACK, 003 §8.7.6", "It acknowledges a report.", on("report")),
		should("M-RPT-02", "MATCH_RESULT_ACK, 004 §5.1",
			"It acknowledges the same report once more, or refuses it as a duplicate (5003), and counts it once.",
			on("report again")),
		should("M-RPT-04", "MATCH_RESULT_REPORT, 004 §5.1",
			"It refuses a report before the league has begun, of a match that it did not assign, or without a result.",
			on("wrong report", refused), accepts),
		must("M-RPT-05", "MATCH_RESULT_REPORT, 004 §5.1",
			"It refuses a report without the referee's token, or with a player's.", on("report without right", refused),
			accepts),
		should("M-RPT-06", "MATCH_RESULT_REPORT, 004 §5.1",
			"It refuses reports with 5001 (E011, E012; E013 for a player), 5002 (E006; E030 before the start), 5003 (E007) and -32602 (E003).",
			on("wrong report", coded), on("report without right", coded), on("different report", coded), accepts),
		must("M-RPT-07", "MATCH_RESULT_REPORT, 002 §7.1.2", "It refuses a report whose winner does not play in the match.",
			on("report of another winner", refused), accepts),
	}
}
