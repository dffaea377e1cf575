#!/usr/bin/env python3
"""Nim, as a game of evenodd: take any number of sticks from one heap; the last stick wins.

The file ends with a part that is the same in each game written in Python: copy it."""
import json
import sys

DESCRIPTION = {
    "type": "nim",
    "version": "1",  # name the libraries here, too, if the rules depend on them
    "display_name": "Nim",
    "rules": "Three heaps have 3, 4 and 5 sticks. The players take turns, player A first. "
             "A player takes one or more sticks from one heap. The player who takes the last stick wins.",
    "move_types": ["take"],
    "max_turns": 12,  # of a match
    "max_moves": 6,   # of one side
    "max_move": 16,   # bytes
}


def play():
    """A match: yields what is next, and gets the entry of the history that follows."""
    heaps, side = [3, 4, 5], "A"
    while True:
        options = [f"{n} from heap {heap}" for heap, size in enumerate(heaps, 1) for n in range(1, size + 1)]
        board = [["|" if stick < size else "." for stick in range(5)] for size in heaps]
        question = {"type": "take", "options": options, "view": {"heaps": heaps[:]}}
        entry = yield {"to_move": {side: question}, "board": board}
        number, _, _, heap = entry[side].split()
        heaps[int(heap) - 1] -= int(number)
        if not any(heaps):
            yield {"winner": side, "reason": f"{{{side}}} took the last stick", "board": [["."] * 5] * 3}
        side = "B" if side == "A" else "A"


# From here on the file is the same for every game.


def wrong(state, entry, last):
    """Says which side an entry is wrong for, and why; None if the entry is legal in a state."""
    if "draw" in entry or "draw" in state:
        number = entry.get("draw")
        if "draw" not in state or set(entry) != {"draw"}:
            return None, "a draw is due" if "draw" in state else "no draw is due"
        if type(number) is not int or not 0 <= number < state["draw"]:
            return None, f"{number!r} is not a number from 0 to {state['draw'] - 1}"
        return None
    asked = state.get("to_move", {})
    if not asked:
        return next(iter(entry), None), "the match is over"
    for side, move in entry.items():
        if side not in asked:
            return side, "this side is not to move"
        if move not in asked[side]["options"]:
            return side, f"{move!r} is not an option"
    for side in asked:  # of two sides that move at the same time, the last entry may lack one
        if side not in entry and not (last and entry):
            return side, "this side has not moved"
    return None


class Match:
    """A match: the entries of its history so far, as texts, and what is next."""

    def __init__(self):
        self.history, self.steps = [], play()
        self.state = next(self.steps)

    def answer(self, history):
        """Answers a history that continues this one."""
        for index in range(len(self.history), len(history)):
            entry = history[index]
            problem = wrong(self.state, entry, index == len(history) - 1)
            if problem:
                return {"illegal": {"index": index, "side": problem[0], "reason": problem[1]}}
            rest = {side: q for side, q in self.state.get("to_move", {}).items() if side not in entry}
            if rest:  # one of two sides has moved
                return {**self.state, "to_move": rest}
            self.state = self.steps.send(entry)
            self.history.append(repr(entry))
        return self.state


matches = []  # the last ones: most histories continue one of them
for line in sys.stdin:
    question, answer = json.loads(line), DESCRIPTION
    if "history" in question:
        history = question["history"]
        texts = [repr(entry) for entry in history]
        begun = [match for match in matches if match.history == texts[:len(match.history)]]
        match = max(begun, key=lambda match: len(match.history), default=None) or Match()
        matches = [other for other in matches if other is not match][-15:] + [match]
        answer = match.answer(history)
    print(json.dumps(answer), flush=True)
