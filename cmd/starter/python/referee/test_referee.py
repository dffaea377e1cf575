import unittest

import referee

ASSIGNMENT = {
    "league_id": "test", "round_id": 1, "match_id": "R1M1", "attempt": 1, "retry_policy": {"max_retries": 3, "delay_sec": 0},
    "player_A": {"player_id": "P01", "endpoint": "a"}, "player_B": {"player_id": "P02", "endpoint": "b"},
}


class RefereeTest(unittest.TestCase):
    def setUp(self):
        self.replies, self.calls = {}, []
        referee.agent.call = self.call

    def call(self, endpoint, method, message, timeout=10):
        """Stands for the other agents: players join, and answer with the choice in self.replies."""
        self.calls.append((endpoint, method, message))
        return {"match_id": "R1M1", "accept": True, "parity_choice": self.replies.get(endpoint)}

    def play(self, a, b):
        self.replies = {"a": a, "b": b}
        referee.Match(ASSIGNMENT).conduct()
        return next(message["result"] for _, method, message in self.calls if method == "report_match_result")

    def test_number_decides(self):
        result = self.play("even", "odd")
        self.assertIn(result["details"]["drawn_number"], range(1, 11))
        self.assertEqual(result["winner"], "P02" if result["details"]["drawn_number"] % 2 else "P01")
        self.assertEqual(sorted(result["score"].values()), [0, 3])

    def test_same_choices_are_a_draw(self):
        result = self.play("odd", "odd")
        self.assertIsNone(result["winner"])
        self.assertEqual(result["score"], {"P01": 1, "P02": 1})

    def test_player_without_a_valid_choice_loses(self):
        result = self.play("maybe", "odd")
        self.assertEqual(result["winner"], "P02")
        self.assertIsNone(result["details"]["drawn_number"])
        asked = [e for e, method, _ in self.calls if (e, method) == ("a", "choose_parity")]
        self.assertEqual(len(asked), 4, "the first time and three retries")

    def test_no_match_before_the_registration(self):
        with self.assertRaises(referee.Refused):
            referee.start_match({**ASSIGNMENT, "game_type": "even_odd"})

    def test_league_ends_with_any_champion(self):
        for champion in None, "P01", {}:
            referee.agent.last_words = None
            referee.end_league({"champion": champion})
            self.assertTrue(referee.agent.last_words)

    def test_numbers_are_fair(self):
        numbers = [referee.draw(i.to_bytes(32, "big"), [bytes(32), bytes(32)]) for i in range(5000)]
        for number in range(1, 11):
            self.assertAlmostEqual(numbers.count(number), 500, delta=100)


if __name__ == "__main__":
    unittest.main()
