#!/usr/bin/env python3
"""21 Questions, as a game of evenodd. Both sides ask at the same time, and neither sees the other's questions."""
import json
import sys

PROPERTIES = {
    "l": "alive", "a": "an animal", "f": "able to fly", "w": "at home in water", "b": "bigger than a person",
    "e": "food", "g": "on legs", "s": "soft", "h": "found in a house", "n": "noisy", "r": "on wheels",
    "m": "made of metal",
}
# No two things have the same properties.
TABLE = dict(row.split() for row in """
dog lagshn, cow lagben, horse lagbn, sheep lagsen, rabbit lagse, mouse lagsh, giraffe lagb, bear lagbsn, camel lagbs,
parrot lafgshn, duck lafwgen, chicken lagen, eagle lafgsn, bat lafgs, bee lafgn, butterfly lafg, penguin lawgsn,
swan lafwgs, frog lawgn, crocodile lawgb, hippo lawgbn, crab lawge, salmon lawe, goldfish lawh, shark lawb, whale lawbn,
jellyfish laws, snake la, spider lagh, ant lag, snail lae, oak lb, palm lbe, grass ls, rose l, lotus lw, seaweed lwe,
carrot le, mushroom lse, cactus lh, bread seh, cheese eh, honey e, car bnrm, bicycle rm, wheelbarrow r,
aeroplane fbnrm, helicopter fbnm, kite f, balloon fs, ship wbnm, canoe w, submarine wbm, table gh, bed gbhs,
pillow hs, spoon hm, guitar hn, piano gbhn, key m, bell nm, bridge bm, mountain b, kettle hnm""".split(","))
THINGS, TURNS = list(TABLE), 21
QUESTIONS = {f"is it {words}?": letter for letter, words in PROPERTIES.items()}
DESCRIPTION = {
    "type": "twenty_one_questions",
    "version": "1",
    "display_name": "21 Questions",
    "rules": "Each player has to find a thing of a table of 64 things, each player its own. In each turn both "
             "players ask at the same time, either about one of twelve properties or whether it is a certain thing. "
             "The first player to name the thing wins; if both do in one turn, or neither in 21, it is a draw.",
    "move_types": ["ask"],
    "max_turns": TURNS,
    "max_moves": TURNS,
    "max_move": 32,
    "draws": True,
    "hidden": True,
}


def play():
    """A match: yields what is next, and gets the entry of the history that follows."""
    secret, answers = {}, {"A": {}, "B": {}}
    for side in answers:
        entry = yield {"draw": len(THINGS)}
        secret[side] = THINGS[entry["draw"]]
    options = [*QUESTIONS, *THINGS]
    for turn in range(TURNS):
        view = {side: {"answers": dict(answers[side]), "left": TURNS - turn, "properties": PROPERTIES, "table": TABLE}
                for side in answers}
        entry = yield {"to_move": {
            side: {"type": "ask", "options": options, "view": view[side], "secret": True} for side in answers}}
        found = [side for side in answers if entry[side] == secret[side]]
        if found:
            winner = found[0] if len(found) == 1 else None
            reason = f"{' and '.join(f'{{{side}}}' for side in found)} found the thing by question {turn + 1}"
            yield {"winner": winner, "reason": reason}
        for side, asked in entry.items():
            yes = asked in QUESTIONS and QUESTIONS[asked] in TABLE[secret[side]]
            answers[side][asked] = "yes" if yes else "no"
    yield {"winner": None, "reason": f"nobody found the thing in {TURNS} questions"}


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
