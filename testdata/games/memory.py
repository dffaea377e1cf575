#!/usr/bin/env python3
"""Memory with 12 cards, as a game of evenodd. Draws shuffle them; nobody sees a card before it is turned up."""
import json
import sys

CARDS = 12
DESCRIPTION = {
    "type": "memory",
    "version": "1",
    "display_name": "Memory",
    "rules": "Twelve cards lie face down: two of each letter from a to f. In turn, player A first, a player turns up "
             "one card and then another. Two cards with the same letter are a pair, which the player takes and moves "
             "again. Other cards are turned down again, and the other player is next. The view shows each letter that "
             "has been turned up so far. After 60 moves or the last pair, the player with more pairs wins.",
    "move_types": ["turn_up"],
    "move_word": "card",
    "max_turns": 60,
    "max_moves": 36,
    "max_move": 2,
    "draws": True,
    "hidden": True,
}


def play():
    """A match: yields what is next, and gets the entry of the history that follows."""
    letters, rest = [], list("aabbccddeeff")
    while len(rest) > 1:  # each order is equally likely
        entry = yield {"draw": len(rest)}
        letters.append(rest.pop(entry["draw"]))
    letters += rest
    down, seen, up = list(range(CARDS)), {}, []
    pairs, side = {"A": 0, "B": 0}, "A"

    def table():
        cells = [letters[i] if i in up else "?" if i in down else "." for i in range(CARDS)]
        return [cells[row:row + 4] for row in (0, 4, 8)]

    for _ in range(DESCRIPTION["max_turns"]):
        other = "B" if side == "A" else "A"
        points = {"you": pairs[side], "opponent": pairs[other]}
        view = {"seen": dict(seen), "turned_up": [str(i + 1) for i in up], "pairs": points}
        question = {"type": "turn_up", "options": [str(i + 1) for i in down], "view": view}
        entry = yield {"to_move": {side: question}, "board": table()}
        card = int(entry[side]) - 1
        down.remove(card)
        seen[entry[side]] = letters[card]
        up = [*up, card] if len(up) == 1 else [card]  # the last two cards are shown until the next one
        if len(up) == 2 and letters[up[0]] == letters[card]:
            pairs[side] += 1
            if not down:
                break
        elif len(up) == 2:
            down = sorted(down + up)
            side = other
    winner = max(pairs, key=pairs.get) if pairs["A"] != pairs["B"] else None
    yield {"winner": winner, "reason": f"{{A}} has {pairs['A']} pairs, {{B}} {pairs['B']}", "board": table()}


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
