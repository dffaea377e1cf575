#!/usr/bin/env python3
"""A chain of words, as a game of evenodd: moves in free text. An animal begins with the last letter of the one before.

The file ends with a part that is the same in each game written in Python: see nim.py. Here `wrong` asks `refused`."""
import json
import sys

ANIMALS = """ant antelope ape baboon badger bat bear beaver bee bison buffalo camel canary cat cheetah chicken cow crab crow
deer dog dolphin donkey dragonfly duck eagle eel elephant elk ferret finch flamingo fox frog gazelle gecko giraffe goat
goose hamster hare hawk hedgehog heron horse ibis iguana impala jackal jaguar kangaroo kiwi koala lemur leopard lion
lizard llama lobster lynx magpie mole monkey moose mouse narwhal newt nightingale octopus okapi opossum ostrich otter owl
panda panther parrot pelican penguin pig puma quail rabbit raccoon rat raven salmon seal shark sheep snail snake spider
squirrel swan tiger toad trout tuna turkey turtle viper vulture walrus wasp whale wolf wombat yak zebra""".split()

DESCRIPTION = {
    "type": "word_chain",
    "version": "1",
    "display_name": "Word Chain",
    "rules": "The players take turns, player A first, and name an animal, in one English word. It begins with the last "
             "letter of the animal before, and nobody has named it yet. Who gives up, by the word pass, loses. After 40 "
             "animals the match is a draw.",
    "move_types": ["animal"],
    "max_turns": 40,  # of a match
    "max_moves": 20,  # of one side
    "max_move": 20,   # bytes
}


def refused(move, named):
    """Says why an animal cannot follow those that were named; None if it can."""
    word = move.lower()
    if word == "pass":
        return None
    if word not in ANIMALS:
        return f"{word} is no animal of the list"
    if word in named:
        return f"{word} was named before"
    if named and word[0] != named[-1][-1]:
        return f"{word} does not begin with {named[-1][-1].upper()}"
    return None


def play():
    """A match: yields what is next, and gets the entry of the history that follows."""
    named, side = [], "A"
    while len(named) < DESCRIPTION["max_turns"]:
        examples = [word for word in ANIMALS if refused(word, named) is None][:5] or ["pass"]
        question = {"type": "animal", "text": 20, "examples": examples, "view": {"named": named[:]}}
        entry = yield {"to_move": {side: question}}
        other = "B" if side == "A" else "A"
        if entry[side].lower() == "pass":
            yield {"winner": other, "reason": f"{{{side}}} gave up"}
        named.append(entry[side].lower())
        side = other
    yield {"winner": None, "reason": "40 animals were named"}


# From here on the file is the same for every game, but for `refused`.


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
        problem = refused(move, asked[side]["view"]["named"]) if isinstance(move, str) else "not a text"
        if problem:
            return side, problem
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
