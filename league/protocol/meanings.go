package protocol

import "strings"

// meanings say what members of messages mean beyond their names, for docs/protocol.md and the JSON Schemas. The key
// is the path of a member, or the end of the path if it means the same in all messages; after
// the type of the message if it means something else there.
var meanings = map[string]string{ //nolint:gosec // texts about tokens, and no tokens
	// The envelope.
	"sender":          "agent that sends the message, by the id that it was given",
	"conversation_id": "id of the conversation; a reply has that of its request",
	"auth_token":      "[proof](#tokens) of the sender's identity",

	// Ids and names.
	"round_id":   "number of the round, from 1",
	"match_id":   "id of the match, such as `R1M2`: round 1, match 2",
	"game_type":  "game of the match, such as `even_odd`",
	"player_id":  "id of the player, such as `P01`",
	"referee_id": "id of the referee, such as `REF01`",
	"attempt":    "number of the attempt at the match, from 1; absent means 1",

	// Registration.
	"version":                              "version of the agent's program",
	"protocol_version":                     "version of the protocol, `2.0.0` to `2.1.0`; absent means `2.1.0`",
	"game_types":                           "games that the agent plays or conducts; the league's game must be among them",
	"contact_endpoint":                     "URL at which the agent is called, such as `http://localhost:8101/mcp`",
	"max_concurrent_matches":               "matches that the referee conducts at the same time",
	"public_key":                           "Ed25519 key for [signatures](signatures.md)",
	"relays_signatures":                    "whether the referee verifies the signatures of players and reports them",
	"referee_auth":                         "whether the referee shows players their access tokens; absent means `none`",
	"registration_code":                    "code of the display name in a [league with a roster](registration.md)",
	"manager_auth":                         "`bearer`: the manager's calls have a [credential](#tokens)",
	"manager_key":                          "Ed25519 key of a manager that signs",
	"retry_after_sec":                      "seconds after which the same registration may succeed",
	"REFEREE_REGISTER_RESPONSE.referee_id": "id of the referee from now on; null if it was rejected",
	"LEAGUE_REGISTER_RESPONSE.player_id":   "id of the player from now on; null if it was rejected",

	// Rounds.
	"ROUND_ANNOUNCEMENT.matches":       "matches of the round; in a league of more than 100 players only that of the receiver",
	"ROUND_ANNOUNCEMENT.total_matches": "matches of the round, if `matches` does not have all of them",
	"matches[].referee_auth":           "`access_token`: the player refuses any caller in this match that does not show its access token",
	"forfeited_by":                     "players that forfeit the match, which is not played",
	"started":                          "hash of the journal's event that started the league, in a league with [signatures](signatures.md)",
	"next_round_id":                    "number of the next round; null after the last one",
	"journal_head":                     "hash of the last event of the manager's journal, so that a missing end of the journal is noticed",
	"journal_head_signature":           "[signature](signatures.md) of the manager under the head",
	"results":                          "results of the receiver's matches in the round, as recorded",
	"results[].attempt":                "number of the attempt; absent for a match that was not played",
	"champion.reason":                  "tie-break that decided, or the players that share the first rank, for people; absent if the points decided",
	"final_standings":                  "the final table, at most its first 100 rows",
	"total_players":                    "rows of the whole table",
	"standings":                        "the table, at most 100 rows of it",

	// Rows of the table.
	"rank":             "position in the table, from 1; no two rows have the same",
	"losses":           "matches lost, technical losses included",
	"withdrawn":        "the organiser has withdrawn the player",
	"annulled":         "the player is withdrawn, and none of its results count",
	"buchholz":         "points of all opponents, in a Swiss system",
	"sonneborn_berger": "points of the opponents beaten, and half the points of those drawn with",
	"shared_rank":      "rank that people see; only in a tied row",
	"decided_by":       "tie-break between this row and the row above",
	"tiebreak_values":  "values of the tie-breaks that decided, by name",

	// Matches.
	"role_in_match":        "side of the receiver in the match",
	"draw_commitment":      "[commitment](#the-draw) of the referee to its nonce",
	"arrival_timestamp":    "time at which the player received the invitation",
	"accept":               "whether the player takes part; `false` loses the match",
	"entropy_commitment":   "[commitment](#the-draw) of the player to its entropy",
	"entropy":              "the entropy that the player has committed to",
	"deadline":             "time until which an answer counts",
	"your_standings":       "record of the receiver in the league",
	"parity_choice":        "the choice, exactly in this spelling",
	"fallback":             "the move was made by the player's [fallback](entrants.md#fallbacks), because its model or host did not answer",
	"move_type":            "kind of the move, such as `place_mark`",
	"valid_options":        "the legal moves; the choice must be exactly one of them",
	"move_request.context": "position of the game, and `opponent_id` and `round_id`",
	"choice":               "the move, exactly as in `valid_options`",
	"game_result":          "the result; in get_match_state only when the match is over",
	"winner_player_id":     "id of the winner; null if there is none",
	"drawn_number":         "number from 1 to 10 that was drawn; null after a technical loss, and in games without a draw",
	"number_parity":        "`even` or `odd`, the parity of the number; null without a number",
	"choices":              "the choice or the last move of each player, by id; null for a player that made none",
	"GAME_OVER.reason":     "accepted here too; evenodd sends it inside `game_result`",
	"faults":               "error code of each player that lost technically after a failure, by id",
	"fallbacks":            "number of moves by a fallback of each player that had any, by id",
	"draw":                 "secrets of the draw, so that the receiver can recompute it",
	"entropies":            "entropy of each player that committed to one, by id",
	"entropy_commitments":  "entropy commitment of each player that sent one, by id",
	"winner":               "id of the winner; null after a draw, and if both players lost technically",
	"score":                "points of each player, by id; the manager computes the points from status and winner",
	"signatures":           "last [signature](signatures.md) of each player that signed, by id",
	"transcript_digest":    "SHA-256 of the transcript up to the result",

	// Signed moves.
	"sign":                      "`true`: the player must sign its answer",
	"turn":                      "number of the question in the match, from 1",
	"moves":                     "all legal moves of earlier turns, `PLAYER_A` before `PLAYER_B` within a turn",
	"MATCH_RESULT_REPORT.moves": "all legal moves of a game of several turns",
	"signature":                 "[signature](signatures.md) of the move",

	// Assignments.
	"player_A.standings":           "record of the player in the league",
	"player_B.standings":           "record of the player in the league",
	"access_token":                 "`auth_token` of the referee's messages to this player in this attempt",
	"timeouts":                     "times that players and the manager have, in seconds",
	"game_join_ack_timeout_sec":    "for the answer to an invitation",
	"move_timeout_sec":             "for a choice or a move",
	"game_over_timeout_sec":        "for the acknowledgement of GAME_OVER",
	"generic_response_timeout_sec": "for all other calls",
	"retry_policy":                 "how calls of players are retried",
	"delay_sec":                    "seconds before a retry",
	"backoff_strategy":             "how the delay grows; absent means `fixed`",
	"members":                      "`plain`: messages of the match have the [members of chapter 4 alone](#members-of-chapter-4-alone)",
	"replies":                      "`strict`: the referee refuses each reply that is not exactly as this page says",
	"MATCH_ASSIGNMENT.referee_id":  "id of a third-party referee, which gets no access tokens",
	"auth":                         "`lenient`: answers without a token count if they come from the player's address",
	"allowed_endpoints":            "networks in which the referee may call players; absent means all",
	"annulled_attempts":            "number of the last attempt whose result is annulled; the match is played again",
	"MATCH_ASSIGNMENT_ACK.status":  "`BUSY`: the manager tries again later or another referee; `REJECTED`: another referee",

	// Errors.
	"error_code":            "code of the [catalogue](#error-catalogue)",
	"error_description":     "the same name; a sentence for people is in `context.detail`",
	"original_message_type": "message or method that was refused",
	"LEAGUE_ERROR.context":  "details; `detail` is a sentence for people, `fields` lists the members that break a rule",
	"retryable":             "whether the same call may succeed later",
	"GAME_ERROR.retryable":  "`true`: the referee asks again; `false`: the player has lost the match",
	"affected_player":       "id of the player whose answer was wrong or missing",
	"action_required":       "message type that the referee waits for",
	"retry_count":           "number of the next retry, from 1; the number of retries in the last GAME_ERROR",
	"retry_info":            "when the referee asks again",
	"next_retry_at":         "time of the next question",
	"time_remaining":        "seconds that are left to answer; absent if the next question has a new deadline",
	"consequence":           "what happens if the player does not answer, for people",

	// Queries.
	"query_type":                  "`GET_STANDINGS`, `GET_SCHEDULE`, `GET_NEXT_MATCH`, `GET_PLAYER_STATS` or `GET_STATUS`; the organiser also sends `GET_JOURNAL` and `GET_AGENT_LOG`",
	"query_params":                "parameters; each query uses some of them",
	"query_params.player_id":      "player or agent that the query is about; absent means the sender",
	"query_params.round_id":       "round of GET_SCHEDULE, or `\"all\"`; absent means all rounds",
	"query_params.offset":         "first row or match to return, from 0",
	"limit":                       "largest number of rows or matches to return",
	"error.error_description":     "sentence for people",
	"success":                     "`false` if there is an `error`",
	"current_round":               "number of the current round; 0 before the first",
	"LEAGUE_QUERY_RESPONSE.state": "state of the league: `WAITING_FOR_REGISTRATIONS`, `CREATING_SCHEDULE`, `RUNNING_LEAGUE` or `LEAGUE_COMPLETED`",
	"games":                       "games that the manager knows, that of the league first",
	"agent_states":                "number of agents in each state",
	"REGISTERED":                  "agents that have not answered yet",
	"ACTIVE":                      "agents that take part",
	"SUSPENDED":                   "agents that did not answer several times; they may return",
	"SHUTDOWN":                    "agents that take part no more",
	"inactive":                    "suspended and shut down agents, at most 100; before the start, for the organiser alone: agents that pings have not reached",
	"inactive[].state":            "`SUSPENDED` or `SHUTDOWN`; before the start `REGISTERED`",
	"failures":                    "calls without an answer in a row",
	"awaited":                     "ids of the agents that have not answered yet, before the start",
	"unreachable":                 "what the manager's pings to the agent that asks have met, for people, such as `connection refused at http://192.0.2.7:8101/mcp, 3 tries`; only before the start, and until the first ping is answered",
	"tournament":                  "`swiss`, or `knockout` with the largest possible `rounds` and `matches`; absent in a round-robin",
	"paused":                      "the organiser holds back the next round",
	"start_at":                    "time at which the league starts",
	"registration_until":          "time at which registration ends",
	"roster.referees":             "0 if any referee may register",
	"roster":                      "agents that may register, in a [league with a roster](registration.md)",

	// Tools.
	"role":                     "`league_manager`, `referee` or `player`",
	"PONG.state":               "state of the agent, if it has one",
	"PONG.asked":               "whether an invitation or a question of the match and the attempt in the ping has reached the player; only for its manager, and absent if the player does not know",
	"MATCH_STATE.state":        "`ASSIGNED`, `WAITING_FOR_PLAYERS`, `COLLECTING_CHOICES`, `DRAWING_NUMBER`, `FINISHED`, `ACKNOWLEDGED`, `ABANDONED` or `DISPUTED`",
	"match":                    "the file of the attempt, with all messages",
	"PLAYER_STATE.state":       "`UNREGISTERED`, `REGISTERED`, `WAITING_FOR_ROUND`, `IN_MATCH` or `WAITING_FOR_RESULT`",
	"stats":                    "results of the player, counted from its own history",
	"league_stats":             "results of a player that has returned, counted by the manager",
	"matches[].result":         "`WIN`, `LOSS`, `DRAW`, `TECHNICAL_WIN` or `TECHNICAL_LOSS`",
	"from_standings":           "there was no readable GAME_OVER; the result follows from the standings",
	"event":                    "number of the event in the journal; 0 without a journal",
	"about":                    "what was decided and what happens next, for people",
	"by":                       "name of the organiser, which nobody verifies",
	"organise_league.reason":   "reason for the record; required for suspend, withdraw, rematch and rule",
	"organise_league.winner":   "of rule: the id of a player, `draw`, or `none` for a loss of both",
	"organise_league.start_at": "of start: time with a zone; absent means now",
}

// meaningKey returns the key of the meaning of a member of a message type; "" for none.
func meaningKey(messageType, path string) string {
	if key := messageType + "." + path; meanings[key] != "" {
		return key
	}
	for inner := true; inner; _, path, inner = strings.Cut(path, ".") {
		if meanings[path] != "" {
			return path
		}
	}
	return ""
}

// meaningOf returns the meaning of a member in Markdown; "" for none.
func meaningOf(messageType, path string) string { return meanings[meaningKey(messageType, path)] }
