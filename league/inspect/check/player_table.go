package check

import (
	"cmp"
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// The requirements that must hold before an unusual request shows anything.
var (
	joins      = []string{"P-INV-01", "P-INV-02"}
	joinsAgain = []string{"P-INV-01", "P-INV-02", "P-INV-07"}
	chooses    = []string{"P-INV-01", "P-CHO-01", "P-CHO-03"}
	steady     = []string{"P-INV-02", "P-CHO-02", "P-CHO-05", "P-ENV-06"}
)

// table is the catalogue of a player. A MUST loses a match, or makes the player unusable.
// The league judges replies by their meaning and finds the form that a player understands,
// so that most other requirements are SHOULD.
func (x *playerExam) table() []rule {
	table := slices.Concat(wireRules("P", ""), x.registrationRules(membershipOf(Player), playerEnvelope()...),
		x.formRules(), x.replyRules(), x.choiceRules(), x.noticeRules(), x.robustnessRules())
	areas := []string{"REG", "HTTP", "FRM", "RPC", "MET", "ENV", "INV", "CHO", "OVR", "ERR", "NOT", "REQ", "UNI", "LOAD", "LAT", "STA"}
	area := func(r rule) int { return slices.Index(areas, strings.Split(r.ID, "-")[1]) }
	slices.SortFunc(table, func(a, b rule) int { return cmp.Or(area(a)-area(b), strings.Compare(a.ID, b.ID)) })
	return table
}

func playerEnvelope() []rule {
	return []rule{
		should("P-REG-03", "Its registration has the whole envelope.", "003 §2.4.1",
			"Add protocol, message_type, sender, timestamp and conversation_id to params.", on("registration/request", asSent(exist("protocol", "message_type", "sender", "timestamp", "conversation_id")))),
		must("P-REG-04", "The members of the envelope of its registration are right.", "003 §2.4",
			`protocol is "league.v2", message_type "LEAGUE_REGISTER_REQUEST", sender "player:" and a name, timestamp UTC such as 2025-01-15T10:30:00Z.`,
			on("registration/request", outsideOf("player_meta"))),
	}
}

func (x *playerExam) formRules() []rule {
	return []rule{
		should("P-HTTP-05", "It takes application/json; charset=utf-8 as well.", "RFC 9110 §8.3.1",
			"Compare only the media type, without the part after the semicolon.", on("connections/charset", understoodSameMatch, joinsAgain...)),
		should("P-HTTP-06", "It answers GET at its URL with HTTP status 405.", "RFC 9110 §15.5.6", "Serve the path /mcp for POST only.", on("connections/GET", found)),
		should("P-HTTP-07", "It keeps a connection open for the next call.", "RFC 9112 §9.3",
			`Use HTTP/1.1, and set no Connection: close; with Python's http.server, set protocol_version = "HTTP/1.1" and send Content-Length.`, on("connections/reuse", found)),
		should("P-HTTP-09", "It takes a message of nearly 10 KB.", "002 §14.1",
			"Raise your server's limit for the body of a request to 10 KB, for the league manager better to 1 MB.", on("broken/10 KB", understoodSameMatch, joinsAgain...)),
		should("P-HTTP-10", "It answers other calls while one caller has sent half a request.", "003 §6.3.3",
			"Serve every connection in a thread or task of its own, such as ThreadingHTTPServer or an asynchronous server.", on("connections/half a request", found)),
		should("P-RPC-01", `Its answers have "jsonrpc": "2.0".`, "004 §1.1",
			`Answer {"jsonrpc": "2.0", "result": {…}, "id": the id of the request}.`, in("wire"), on("form of response", func(f *fact) string {
				return when(f.reply.object != nil, "%s", versionTwo(f))
			})),
		should("P-RPC-02", "Its answers have a result or an error.", "004 §1.1",
			`Put the message into "result"; the only members beside it are jsonrpc and id.`, on("form of response", noResult), in("wire")),
		should("P-RPC-04", "Its results are objects.", "004 §1.1",
			`Put the message itself into "result": not null, and not a string of JSON.`, in("wire"), on("response", func(f *fact) string {
				if f.reply.object["result"] == nil || f.reply.failed() {
					return undecided
				}
				return notObject(f)
			})),
		should("P-RPC-08", "It returns ids that are zero, negative or large unchanged.", "JSON-RPC 2.0 §4",
			"Do not test whether an id is true, and keep it as a 64-bit number or as raw JSON.", on("unusual id", found), in("wire")),
		must("P-RPC-15", "Its answers are valid JSON: UTF-8, one value, and no name twice in an object.", "002 §14.4",
			"Write the answer with a JSON library, and encode it in UTF-8; do not concatenate strings.", in("wire"), on("response", assuming(statusOK, validJSON))),
		must("P-RPC-17", "It reads JSON in any order, spacing and escaping.", "RFC 8259 §2",
			"Read the request with a JSON library; do not search its text.", on("wire/spelling", understoodSameMatch, joinsAgain...)),
		should("P-MET-02", "It knows choose_parity by the name parity_choose too (even_odd).", "004 §4.2",
			"Register the same handler under both names: the specification has both.", on("methods/alias", hasResult)),
		should("P-MET-03", "It knows a method by its message type.", "",
			"If the method is GAME_INVITATION, CHOOSE_PARITY_CALL or GAME_OVER, use the handler of that message.", on("methods/message type", hasResult)),
		should("P-MET-04", "It takes a message by the method mcp_message, and reads its message_type.", "003 §5.11.2",
			"If you do not know the method, read params.message_type before you answer -32601.", on("methods/mcp_message", hasResult)),
	}
}

func (x *playerExam) replyRules() []rule {
	return []rule{
		should("P-ENV-01", "Its replies have the protocol league.v2 and a message_type.", "003 §2.4.1",
			`Add "protocol": "league.v2" and the message_type of the answer to every result.`, on("envelope", every(has("protocol", protocol.Name), exist("message_type")))),
		must("P-ENV-02", "No reply has another message_type than the expected one.", "002 §12.1",
			"Answer GAME_INVITATION with GAME_JOIN_ACK, CHOOSE_PARITY_CALL with CHOOSE_PARITY_RESPONSE, GAME_OVER with GAME_OVER_ACK.", on("envelope", assuming(exist("message_type"), rightType))),
		should("P-ENV-03", "The sender of its replies is player: and its id, the same in all.", "003 §2.4.4",
			`Set sender to "player:" + the player_id of your registration.`, on("envelope", every(hasSender, x.same("sender")))),
		should("P-ENV-04", "The timestamps of its replies are UTC, with Z or +00:00.", "003 §2.4.2",
			`In Python: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").`, on("envelope", timestamps("timestamp"))),
		should("P-ENV-05", "Its clock is right: a timestamp is less than a minute away from now.", "003 §2.4.2",
			"Take the time in UTC, not the local time with a Z behind it, and synchronize the clock of the computer.", on("envelope", clockIsRight)),
		should("P-ENV-06", "Its replies have the conversation_id of the request.", "003 §2.4.1", "Copy params.conversation_id into the result.", on("envelope", sameConversation)),
		should("P-ENV-07", "Its replies have the player_id that it was given.", "002 §10.2",
			"Take player_id from the answer to your registration, and put it into every result.", in("registration", "play"), on("envelope", every(filled("player_id"), x.registeredID, x.same("player_id")))),
		should("P-ENV-08", "Its replies about a match have the match_id.", "002 §10.2", "Copy params.match_id into the result.",
			on("join", understood(exist("match_id"))), on("choice", understood(exist("match_id")))),
		must("P-INV-01", "It answers GAME_INVITATION with GAME_JOIN_ACK.", "003 §4.4.2",
			"Answer handle_game_invitation with a result that has message_type, match_id, player_id, arrival_timestamp and accept.", on("rejected invitation", found),
			on("join", every(hasResult, exist("accept")))),
		must("P-INV-02", "It answers an invitation with the match_id of that invitation.", "002 §10.5",
			"Copy params.match_id, a string, into the result; use no global variable.", on("join", understood(sameMatch))),
		must("P-INV-03", "Its accept is true or false.", "002 §10.3",
			`Set "accept": true, a boolean, not the string "true" and not 1.`, on("join", understood(assuming(exist("accept"), acceptIsBoolean)))),
		must("P-INV-04", "It accepts an invitation to a match of the league's game.", "002 §5.2.2",
			"Answer accept: true; false loses the match.", on("join", understood(assuming(acceptIsBoolean, func(f *fact) string {
				return when(f.reply.result["accept"].Kind() == 'f', "accept is false")
			})))),
		should("P-INV-05", "Its arrival_timestamp is UTC, with Z or +00:00.", "002 §5.2.2",
			`In Python: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"); datetime.now().isoformat() is local time.`,
			on("join", understood(timestamps("arrival_timestamp")))),
		must("P-INV-06", "It answers an invitation within 5 seconds.", "003 §2.7",
			"Answer an invitation at once, and do all slow work afterwards.", on("join", isAnswered), on("timeout of an invitation", isAnswered)),
		must("P-INV-07", "It accepts an invitation to the same match again.", "003 §2.9.4",
			"A referee repeats a call after a lost answer: do not treat a known match as an error.", on("repeat/join", sameJoin, joins...)),
		must("P-INV-08", "It plays as PLAYER_A and as PLAYER_B, and against opponents with any id.", "003 §4.4.1",
			"Do not look for the opponent in a list of your own; role_in_match is PLAYER_A or PLAYER_B.", on("side B", found, chooses...)),
		must("P-INV-09", "It joins a match that is played again, as a new attempt in a new conversation.", "003 §2.9.4",
			"If the same match_id comes with another conversation_id, start the match from the beginning.", on("repeat/match", found, chooses...)),
	}
}

func (x *playerExam) choiceRules() []rule {
	return []rule{
		must("P-CHO-01", "It answers a question with a choice: CHOOSE_PARITY_CALL with CHOOSE_PARITY_RESPONSE, in other games GAME_MOVE_CALL with GAME_MOVE_RESPONSE.", "003 §4.5.2",
			"Answer choose_parity with a result that has message_type, match_id, player_id and parity_choice; in other games make_move with move_data.",
			on("choice", every(hasResult, x.hasChoice))),
		must("P-CHO-02", "It answers a question with the match_id of that question.", "002 §10.5",
			"Copy params.match_id, a string, into the result; use no global variable.", on("choice", understood(sameMatch))),
		must("P-CHO-03", `Its choice is allowed, letter by letter: "even" or "odd", in other games one of valid_options.`, "002 §10.3",
			`Set "parity_choice" to exactly "even" or "odd", in lower case; in other games move_data.choice to one of valid_options.`, on("choice", understood(assuming(x.hasChoice, found)))),
		must("P-CHO-04", "It chooses within 30 seconds.", "003 §2.7",
			"Limit the time of your strategy to well below 30 seconds, and have a default choice.", on("choice", isAnswered)),
		should("P-CHO-05", "It gives the same choice when the same question is asked again.", "003 §2.9.4",
			"Store the choice of each match until GAME_OVER, and repeat it when you are asked again.", on("repeat/choice", found)),
		should("P-CHO-06", "It chooses also when the deadline equals now.", "003 §4.5.1",
			"Many referees write the time of the question there: do not reject the question because of it.", on("late question", found, chooses...)),
		should("P-CHO-07", "It makes no choice in a match to which it was not invited.", "004 §4.2",
			"Store the matches that you have joined, and answer others with the error 4003 (MATCH_NOT_FOUND).", on("repeat/choice without a match", x.makesNoChoice), given("P-CHO-01")),
		should("P-CHO-08", "It makes no choice in a match that is over.", "004 §4.2",
			"Delete the match at GAME_OVER, and answer with the error 4005 (INVALID_MATCH_STATE).",
			on("repeat/choice after the end", x.makesNoChoice, "P-OVR-01"), given("P-CHO-01")),
		must("P-CHO-09", "It reveals the entropy that it has committed to.", "",
			"Either omit entropy_commitment from GAME_JOIN_ACK, or reveal as entropy the value that it is the digest of.", on("entropy", keepsCommitment)),
		should("P-OVR-01", "It answers GAME_OVER with a result, within 5 seconds.", "003 §5.3.1", "Serve notify_match_result, and answer at once.", on("over", hasResult)),
		should("P-OVR-02", "It acknowledges GAME_OVER in the form of the specification.", "004 §4.3",
			`Answer message_type "GAME_OVER_ACK", status "ACKNOWLEDGED", player_id and match_id.`, on("over", understood(acknowledges(protocol.TypeGameOverAck)))),
		should("P-OVR-03", "It acknowledges GAME_OVER again when it comes again.", "003 §2.9.4",
			"Count a result once, but acknowledge it every time.", on("repeat/over", acknowledges(protocol.TypeGameOverAck), "P-OVR-01", "P-OVR-02")),
		should("P-OVR-04", "It takes a draw, and a technical loss, where winner, number and choices are null.", "003 §4.6.1",
			"Do not assume that winner_player_id, drawn_number, number_parity or a choice has a value.", on("no winner", hasResult, "P-OVR-01")),
		should("P-ERR-01", "It acknowledges GAME_ERROR.", "004 §6.2",
			`Serve notify_game_error: message_type "GAME_ERROR_ACK", status "ACKNOWLEDGED".`, on("error", acknowledges(protocol.TypeGameErrorAck))),
	}
}

func (x *playerExam) noticeRules() []rule {
	const inv = "P-INV-01"
	return []rule{
		should("P-NOT-01", "It acknowledges ROUND_ANNOUNCEMENT.", "004 §3.1",
			`Serve notify_round: message_type "ROUND_ANNOUNCEMENT_ACK", status "ACKNOWLEDGED".`, on("announce/round", acknowledges(protocol.TypeRoundAnnouncementAck))),
		should("P-NOT-02", "It acknowledges LEAGUE_STANDINGS_UPDATE.", "004 §3.2",
			`Serve update_standings: message_type "STANDINGS_UPDATE_ACK", status "ACKNOWLEDGED".`, on("announce/standings", acknowledges(protocol.TypeStandingsUpdateAck))),
		should("P-NOT-03", "It acknowledges ROUND_COMPLETED, also when next_round_id is null.", "004 §3.3",
			`Serve notify_round_completed: message_type "ROUND_COMPLETED_ACK", status "ACKNOWLEDGED".`, on("end/round", acknowledges(protocol.TypeRoundCompletedAck))),
		should("P-NOT-04", "It acknowledges LEAGUE_COMPLETED.", "004 §3.4",
			`Serve notify_league_completed: message_type "LEAGUE_COMPLETED_ACK", status "ACKNOWLEDGED"; end your program after the answer, not before.`,
			in("registration"), on("end/league", acknowledges(protocol.TypeLeagueCompletedAck))),
		should("P-REQ-01", "It answers a message without match_id with an error.", "002 §10.5",
			"Check that every required member exists, and answer with an error object if one is missing.", on("broken/no match_id", isRejected), given(inv)),
		should("P-REQ-02", "That error is -32602 with the code E003.", "002 §10.5",
			`Answer {"code": -32602, "message": "…", "data": {"error_code": "E003", …}}.`, on("broken/no match_id", func(f *fact) string {
				problem := rejectedAs(protocol.ErrMissingField)(f)
				return firstOf(errorProblem(f.reply, codeInvalidParams), when(problem != "", "no match_id: %s", problem))
			}), given(inv)),
		should("P-REQ-03", "It answers params that are no object with an error.", "004 §1.1",
			"Check that params is an object before you read its members.", on("broken/params", isRejected), given(inv)),
		should("P-REQ-04", "It answers a match_id that is no string with an error.", "002 §10.5",
			"Check types: E002 (INVALID_FIELD_TYPE), JSON-RPC code -32602.", on("broken/type", isRejected), given(inv)),
		should("P-REQ-05", "It answers a timestamp that is not UTC with the error E021.", "002 §12.6",
			"Accept Z and +00:00; reject all others with E021 (INVALID_TIMESTAMP) as error.data.error_code.", on("broken/timestamp", rejectedAs(protocol.ErrInvalidTimestamp)), given(inv)),
		should("P-REQ-06", "It answers another protocol than league.v2 with the error E018.", "003 §2.10.2",
			"Compare params.protocol, and answer E018 (PROTOCOL_VERSION_MISMATCH) as error.data.error_code.", on("broken/protocol", rejectedAs(protocol.ErrProtocolVersion)), given(inv)),
		should("P-REQ-07", "It ignores unknown members of a message.", "002 §14.5",
			"Read the members that you need and ignore the rest: managers and referees add to messages.", on("broken/unknown members", understoodSameMatch, joinsAgain...)),
		should("P-REQ-08", "It ignores unknown members beside jsonrpc, method, params and id.", "002 §14.5",
			"Read the members that you need and ignore the rest.", on("broken/unknown members beside params", understoodSameMatch, joinsAgain...)),
	}
}

func (x *playerExam) robustnessRules() []rule {
	return []rule{
		should("P-UNI-01", "It takes text in any script: names in the standings, and the context of a question.", "002 §14.4",
			"Read and write UTF-8, also where you print or log a name.", in("announce"), on("scripts/standings", found), on("scripts/question", found, chooses...)),
		should("P-UNI-02", "It returns a conversation_id in any script, letter by letter.", "002 §14.4",
			"Copy it unchanged: do not normalize, cut or transcode it.", in("announce"), on("scripts/conversation", found, "P-UNI-01", "P-ENV-06")),
		should("P-UNI-03", "It takes standings of 100 rows with names of 50 characters.", "002 §14.1",
			"Raise your server's limit for the body of a request: take up to 1 MB from the league manager.",
			in("announce"), on("scripts/large standings", acknowledges(protocol.TypeStandingsUpdateAck))),
		should("P-LOAD-01", "It plays 20 matches at the same time.", "003 §6.3.3",
			"Store the state of a match by its match_id, and serve calls at the same time.", on("at once/reply", hasResult, chooses...)),
		should("P-LOAD-02", "With many matches at once, an answer is about the match of its question, and its choice stays.", "002 §10.5",
			"Store the state of a match by its match_id, never in a variable of the whole agent.", on("at once/reply", func(f *fact) string {
				return firstOf(sameMatch(f), f.reply.result.hasNoOther("conversation_id", f.conversation))
			}, steady...), on("at once/choice", found, steady...)),
		should("P-LAT-01", "It answers 95 of 100 invitations in half of their 5 seconds.", "003 §2.7",
			"Answer an invitation at once, and do all slow work afterwards.", on("times of invitations", found), in("repeat", "play")),
		should("P-LAT-02", "It makes 95 of 100 choices in half of their 30 seconds.", "003 §2.7",
			"Limit the time of your strategy, and have a default choice.", on("times of choices", found), in("repeat", "play")),
		should("P-LAT-03", "It answers half of the calls in 500 ms.", "002 §13.3",
			"Check what your agent does before it answers: import, connect and read files once, when it starts.", on("times", found), in("repeat", "play")),
		must("P-STA-02", "It still plays at the end of the examination.", "003 §6.3.3",
			"Read its log to find what ended or blocked it.", on("end/match", found, chooses...)),
	}
}
