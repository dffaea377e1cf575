import json
import unittest

import player
from agent import now


def call(message_type, **members):
    """Sends a message to the player as its HTTP server does. Returns the JSON-RPC response."""
    message = {"protocol": "league.v2", "message_type": message_type, "sender": "referee:REF01", "timestamp": now(),
               "conversation_id": "conv-r1m1-a1", "match_id": "R1M1", **members}
    return player.agent.respond(json.dumps({"jsonrpc": "2.0", "method": "test", "params": message, "id": 7}))


class PlayerTest(unittest.TestCase):
    def setUp(self):
        player.matches.clear()
        player.history.clear()

    def test_choice_is_one_of_the_options(self):
        for options in (["even", "odd"], ["rock", "paper", "scissors"]):
            self.assertIn(player.choose(options, {}, []), options)

    def test_match(self):
        self.assertIs(call("GAME_INVITATION")["result"]["accept"], True)
        choice = call("CHOOSE_PARITY_CALL")["result"]["parity_choice"]
        self.assertIn(choice, ["even", "odd"])
        self.assertEqual(call("CHOOSE_PARITY_CALL")["result"]["parity_choice"], choice, "the same when asked again")
        for _ in range(2):  # GAME_OVER may come twice
            self.assertEqual(call("GAME_OVER", game_result={"status": "DRAW"})["result"]["status"], "ACKNOWLEDGED")
        self.assertEqual(player.history, [{"status": "DRAW"}])
        for winner, words in ((player.agent.id, "won"), ("another", "lost"), (None, "lost")):
            self.assertEqual(player.outcome({"status": "WIN", "winner_player_id": winner}), words)
        self.assertEqual(call("CHOOSE_PARITY_CALL")["error"]["code"], 4005)

    def test_question_for_words(self):
        call("GAME_INVITATION")
        move = {"move_type": "say", "text": 4, "context": {"view": "Say something."}}
        said = call("GAME_MOVE_CALL", move_request=move)["result"]["move_data"]["choice"]
        self.assertIn(len(said.encode()), range(1, 5))
        self.assertEqual(call("GAME_MOVE_CALL", move_request={"move_type": "say"})["error"]["code"], -32602)

    def test_refused_words_are_not_sent_again(self):
        call("GAME_INVITATION")
        lines = iter(["one", "two"])
        self.addCleanup(setattr, player, "write", player.write)
        self.assertEqual(player.write(9, ["one"], {}, []), "one")
        player.write = lambda limit, examples, context, history: next(lines)
        said = []
        for code in None, "E001", "E010":  # a late line is sent again
            if code:
                call("GAME_ERROR", error_code=code)
            answer = call("GAME_MOVE_CALL", move_request={"move_type": "say", "text": 9, "context": {"examples": ["one"]}})
            said.append(answer["result"]["move_data"]["choice"])
        self.assertEqual(said, ["one", "one", "two"])

    def test_unknown_match_gets_no_choice(self):
        self.assertEqual(call("CHOOSE_PARITY_CALL")["error"]["code"], 4003)

    def test_reply_belongs_to_its_request(self):
        response = call("GAME_INVITATION", match_id="R2M1", conversation_id="conv-r2m1-a1")
        self.assertEqual(response["id"], 7)
        self.assertEqual(response["result"]["match_id"], "R2M1")
        self.assertEqual(response["result"]["conversation_id"], "conv-r2m1-a1")

    def test_stranger_ends_neither_match_nor_league(self):
        call("GAME_INVITATION", auth_token="access token")
        call("GAME_OVER", auth_token="guess")
        self.assertIn("result", call("CHOOSE_PARITY_CALL", auth_token="access token"))
        player.agent.credential = "Bearer credential of the manager"
        self.addCleanup(setattr, player.agent, "credential", None)
        self.assertEqual(call("LEAGUE_COMPLETED")["error"]["code"], 3001)

    def test_tied_players_share_a_rank(self):
        call("LEAGUE_COMPLETED", final_standings=[{"player_id": player.agent.id, "rank": 2, "shared_rank": 1, "points": 3}], total_players=4)
        self.assertEqual(player.agent.last_words, "the league is over: shared rank 1 of 4, 3 points")

    def test_league_ends_with_any_table(self):
        for table in None, [], "none", {}, [None, 7]:
            player.agent.last_words = None
            call("LEAGUE_COMPLETED", final_standings=table)
            self.assertEqual(player.agent.last_words, "the league is over")


if __name__ == "__main__":
    unittest.main()
