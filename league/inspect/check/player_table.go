package check

import (
	"cmp"

	"evenodd/league/protocol"
)

// table is the catalogue of a player. A MUST loses a match, or makes the player unusable.
// The league judges replies by their meaning and finds the form that a player understands,
// so that most other requirements are SHOULD.
func (x *playerExam) table() []rule {
	return inOrder(wireRules("P", "player: and its id"), x.registrationRules(Player),
		x.formRules(), x.matchRules(), noticeRules(), unusualRules())
}

func (x *playerExam) formRules() []rule {
	return []rule{
		must("P-REG-04", "LEAGUE_REGISTER_REQUEST, 003 §2.4", "The members of the envelope of its registration are right.",
			on("registration/request", outsideOf("player_meta")),
			mend(`protocol is "league.v2", sender "player:" and a name, timestamp UTC such as 2025-01-15T10:30:00Z.`)),
		should("P-HTTP-09", "HTTP, 002 §14.1", "It takes a message of nearly 10 KB.",
			on("broken/10 KB", understoodSameMatch), joinsAgain,
			mend("Raise your server's limit for the body of a request to 10 KB, for the league manager better to 1 MB.")),
		must("P-RPC-15", "JSON-RPC, 002 §14.4",
			"Its answers are valid JSON: UTF-8, one value, and no name twice in an object.",
			on("response", assuming(statusOK, validJSON)), in("wire"),
			mend("Write the answer with a JSON library, and encode it in UTF-8; do not concatenate strings.")),
		must("P-RPC-17", "JSON-RPC, RFC 8259 §2", "It reads JSON in any order, spacing and escaping.",
			on("wire/spelling", understoodSameMatch), joinsAgain,
			mend("Read the request with a JSON library; do not search its text.")),
		should("P-ENV-07", "Envelope, 002 §10.2", "Its replies have the player_id that it was given.",
			on("envelope", x.registeredID), in("registration", play),
			mend("Take player_id from the answer to your registration, and put it into every result.")),
		should("P-ENV-08", "CHOOSE_PARITY_RESPONSE, 002 §10.2", "Its replies about a match have the match_id.",
			on("choice", understood(exist("match_id")))),
	}
}

// copyMatch is the remedy for a wrong match_id.
var copyMatch = mend("Copy params.match_id, a string, into the result; use no global variable.")

// The requirements that must hold before an unusual request shows anything.
var (
	joinsAgain = given("P-INV-01", "P-INV-02", "P-INV-07")
	chooses    = given("P-INV-01", "P-CHO-01", "P-CHO-03")
)

func (x *playerExam) matchRules() []rule {
	return []rule{
		must("P-INV-01", "GAME_JOIN_ACK, 003 §4.4.2", "It answers GAME_INVITATION with GAME_JOIN_ACK.",
			on("join", found, hasResult, exist("accept"), noOtherType),
			mend("Answer handle_game_invitation with a result that has message_type, match_id, player_id, arrival_timestamp and accept.")),
		must("P-INV-02", "GAME_JOIN_ACK, 002 §10.5", "It answers an invitation with the match_id of that invitation.",
			on("join", understood(sameMatch)), copyMatch),
		must("P-INV-03", "GAME_JOIN_ACK, 002 §10.3", "Its accept is true or false.",
			on("join", understood(assuming(exist("accept"), acceptIsBoolean))),
			mend(`Set "accept": true, a boolean, not the string "true" and not 1.`)),
		must("P-INV-04", "GAME_JOIN_ACK, 002 §5.2.2", "It accepts an invitation to a match of the league's game.",
			on("join", understood(assuming(acceptIsBoolean, func(f *fact) string {
				return when(f.reply.result["accept"].Kind() == 'f', "accept is false")
			}))), mend("Answer accept: true; false loses the match.")),
		form("P-INV-05", "GAME_JOIN_ACK, 002 §5.2.2", protocol.TypeGameJoinAck),
		must("P-INV-06", "Timeouts and retries, 003 §2.7", "It answers an invitation within 5 seconds.",
			on("join", isAnswered), mend("Answer an invitation at once, and do all slow work afterwards.")),
		must("P-INV-07", "Methods, 003 §2.9.4", "It accepts an invitation to the same match again.",
			on("repeat/join", sameJoin), given("P-INV-01", "P-INV-02"), mend("A referee repeats a call after a lost answer.")),
		must("P-INV-08", "GAME_INVITATION, 003 §4.4.1",
			"It plays as PLAYER_A and as PLAYER_B, and against opponents with any id.", on("side B"), chooses,
			mend("Do not look for the opponent in a list of your own; role_in_match is PLAYER_A or PLAYER_B.")),
		must("P-INV-09", "GAME_INVITATION, 003 §2.9.4",
			"It joins a match that is played again, as a new attempt in a new conversation.", on("repeat/match"), chooses,
			mend("If the same match_id comes with another conversation_id, start the match from the beginning.")),

		must("P-CHO-01", "CHOOSE_PARITY_RESPONSE, 003 §4.5.2",
			"It answers a question with a choice: CHOOSE_PARITY_CALL with CHOOSE_PARITY_RESPONSE, in other games GAME_MOVE_CALL with GAME_MOVE_RESPONSE.",
			on("choice", hasResult, x.hasChoice, noOtherType),
			mend("Answer choose_parity with a result that has message_type, match_id, player_id and parity_choice; in other games make_move with move_data.")),
		must("P-CHO-02", "CHOOSE_PARITY_RESPONSE, 002 §10.5", "It answers a question with the match_id of that question.",
			on("choice", understood(sameMatch)), copyMatch),
		must("P-CHO-03", "CHOOSE_PARITY_RESPONSE, 002 §10.3",
			`Its choice is allowed, letter by letter: "even" or "odd", in other games one of valid_options.`,
			on("choice", understood(assuming(x.hasChoice, found))),
			mend(`Set "parity_choice" to exactly "even" or "odd", in lower case; in other games move_data.choice to one of valid_options.`)),
		must("P-CHO-04", "Timeouts and retries, 003 §2.7", "It chooses within 30 seconds.", on("choice", isAnswered),
			mend("Limit the time of your strategy to well below 30 seconds, and have a default choice.")),
		should("P-CHO-05", "Methods, 003 §2.9.4", "It gives the same choice when the same question is asked again.",
			on("repeat/choice"),
			mend("Store the choice of each match until GAME_OVER, and repeat it when you are asked again.")),
		should("P-CHO-06", "CHOOSE_PARITY_CALL, 003 §4.5.1", "It chooses also when the deadline equals now.",
			on("late question"), chooses,
			mend("Many referees write the time of the question there: do not reject the question because of it.")),
		should("P-CHO-07", "CHOOSE_PARITY_CALL, 004 §4.2",
			"It makes no choice in a match to which it was not invited, or that is over.",
			on("repeat/no match", x.makesNoChoice), given("P-CHO-01", "P-OVR-01"),
			mend("Store the matches that you play until GAME_OVER; answer others with the error 4003 (MATCH_NOT_FOUND) or 4005 (INVALID_MATCH_STATE).")),
	}
}

// acknowledgement is the requirement that a message is answered by its acknowledgement.
func acknowledgement(id, spec, method, fact string, scenarios ...string) rule {
	m := methodOf(method)
	return should(id, m.Result+", "+spec, "It acknowledges "+m.Request+".",
		mend("Serve "+m.Name+`: message_type "`+m.Result+`", status "ACKNOWLEDGED".`),
		on(fact, acknowledges), in(scenarios...))
}

func noticeRules() []rule {
	return []rule{
		should("P-OVR-01", "GAME_OVER, 003 §5.3.1", "It answers GAME_OVER with a result, within 5 seconds.",
			on("over", hasResult), mend("Serve notify_match_result, and answer at once.")),
		should("P-OVR-02", "GAME_OVER_ACK, 004 §4.3",
			"It acknowledges GAME_OVER in the form of the specification, every time.", on("over", understood(acknowledgesMatch)),
			on("repeat/over", acknowledgesMatch), given("P-OVR-01"),
			mend(`Count a result once, and answer message_type "GAME_OVER_ACK", status "ACKNOWLEDGED", player_id and match_id.`)),
		should("P-OVR-04", "GAME_OVER, 003 §4.6.1",
			"It takes a draw, and a technical loss, where winner, number and choices are null.", on("no winner", hasResult),
			given("P-OVR-01"),
			mend("Do not assume that winner_player_id, drawn_number, number_parity or a choice has a value.")),
		acknowledgement("P-ERR-01", "004 §6.2", protocol.NotifyGameError.Name, "error"),
		acknowledgement("P-NOT-01", "004 §3.1", protocol.NotifyRound.Name, "announce/round"),
		acknowledgement("P-NOT-02", "004 §3.2", protocol.UpdateStandings.Name, "announce/standings"),
		acknowledgement("P-NOT-03", "004 §3.3", protocol.NotifyRoundCompleted.Name, "end/round"),
		acknowledgement("P-NOT-04", "004 §3.4", protocol.NotifyLeagueCompleted.Name, "end/league", "registration"),
	}
}

func unusualRules() []rule {
	inv := given("P-INV-01")
	return []rule{
		should("P-REQ-01", "Error catalogue, 002 §10.5",
			"It answers a message without match_id with the error -32602 (E003).",
			on("broken/no match_id", notFailed, coded), inv,
			mend(`Check that every required member exists; answer {"code": -32602, "message": "…", "data": {"error_code": "E003", …}}.`)),
		should("P-REQ-03", "JSON-RPC codes, 004 §1.1",
			"It answers params that are no object, and a match_id that is no string, with an error.",
			on("broken/type", notFailed), inv,
			mend("Check types before you read members: E002 (INVALID_FIELD_TYPE), JSON-RPC code -32602.")),
		should("P-REQ-05", "Error catalogue, 002 §12.6", "It answers a timestamp that is not UTC with the error E021.",
			on("broken/timestamp", notFailed, coded), inv,
			mend("Accept Z and +00:00; reject all others with E021 (INVALID_TIMESTAMP) as error.data.error_code.")),
		should("P-REQ-06", "Error catalogue, 003 §2.10.2", "It answers another protocol than league.v2 with the error E018.",
			on("broken/protocol", notFailed, coded), inv,
			mend("Compare params.protocol, and answer E018 (PROTOCOL_VERSION_MISMATCH) as error.data.error_code.")),
		should("P-REQ-07", "JSON-RPC, 002 §14.5",
			"It ignores unknown members, of a message and beside jsonrpc, method, params and id.",
			on("broken/unknown members", understoodSameMatch), joinsAgain,
			mend("Read the members that you need, and ignore the rest.")),
		should("P-UNI-01", "HTTP, 002 §14.4",
			"It takes text in any script, in the context of a question and in standings of 100 rows.",
			on("scripts/standings"), on("scripts/question"), in("announce"), chooses,
			mend("Read and write UTF-8, also where you print or log a name, and take up to 1 MB from the league manager.")),
		should("P-LOAD-01", "HTTP, 003 §6.3.3", "It plays 20 matches at the same time.", on("at once/reply", hasResult),
			chooses, mend("Store the state of a match by its match_id, and serve calls at the same time.")),
		should("P-LOAD-02", "HTTP, 002 §10.5",
			"With many matches at once, an answer is about the match of its question, and its choice stays.",
			on("at once/reply", func(f *fact) string {
				return cmp.Or(sameMatch(f), f.reply.result.hasNoOther("conversation_id", f.reply.asked.text("conversation_id")))
			}), on("at once/choice"), given("P-INV-02", "P-CHO-02", "P-CHO-05", "P-ENV-06"),
			mend("Store the state of a match by its match_id, never in a variable of the whole agent.")),
		must("P-STA-02", "HTTP, 003 §6.3.3", "It still plays at the end of the examination.", on("end/match"), chooses,
			mend("Read its log.")),
		should("P-LAT-02", "Timeouts and retries, 003 §2.7",
			"It answers 95 of 100 invitations and questions in half of their time, 5 and 30 seconds.",
			on("times of questions"), in("repeat", play),
			mend("Answer an invitation at once, limit the time of your strategy, and have a default choice.")),
		should("P-LAT-03", "Timeouts and retries, 002 §13.3", "It answers half of the calls in 500 ms.", on("times"),
			in("repeat", play), mend("Import, connect and read files once, when the agent starts.")),
	}
}
