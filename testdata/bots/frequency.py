#!/usr/bin/env python3
"""Bets on the parity that was drawn most often, and by its seed at first.

It gains nothing by that: the draws are independent. It is here to be read."""
import json
import random
import sys

for line in sys.stdin:
    question = json.loads(line)
    options = question["valid_options"]
    drawn = question["drawn"]
    chance = random.Random(question["seed"])  # the same choice from the same seed
    most = max(drawn.get(option, 0) for option in options)
    choice = chance.choice([o for o in options if drawn.get(o, 0) == most])
    # What is printed for people goes to standard error, and so into the log.
    print(f"{question['match_id']} against {question['opponent_id']}: {choice}", file=sys.stderr)
    # One line, and flushed: without it the answer stays in a buffer.
    print(json.dumps({"choice": choice, "reason": f"drawn {most} times"}), flush=True)
