#!/usr/bin/env python3
"""Hex on a board of 7 by 7 cells, as a game of evenodd. No match is a draw: one side always connects its edges."""
import json
import sys

SIZE = 7
CELLS = [f"{column}{row + 1}" for row in range(SIZE) for column in "abcdefg"]
DESCRIPTION = {
    "type": "hex",
    "version": "1",
    "display_name": "Hex 7x7",
    "rules": "The board has columns a to g and rows 1 to 7, each half a cell to the right of the one above it, so that "
             "c4 touches b4, d4, c3, d3, b5 and c5. The players mark a free cell in turn, player A with X first. "
             "A wins by a chain of X from row 1 to row 7, B by a chain of O from column a to column g.",
    "move_types": ["mark_cell"],
    "move_word": "cell",
    "max_turns": SIZE * SIZE,
    "max_moves": 25,
    "max_move": 2,
}
NEIGHBOURS = [(0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0)]  # of row and column


def connected(board, mark):
    """Says whether a mark connects its edges: X the first row with the last one, O the columns."""
    starts = [(0, i) for i in range(SIZE)] if mark == "X" else [(i, 0) for i in range(SIZE)]
    reached = {cell for cell in starts if board[cell[0]][cell[1]] == mark}
    waiting = list(reached)
    while waiting:
        row, column = waiting.pop()
        if (row if mark == "X" else column) == SIZE - 1:
            return True
        for down, right in NEIGHBOURS:
            cell = row + down, column + right
            if cell not in reached and min(cell) >= 0 and max(cell) < SIZE and board[cell[0]][cell[1]] == mark:
                reached.add(cell)
                waiting.append(cell)
    return False


def play():
    """A match: yields what is next, and gets the entry of the history that follows."""
    board = [["."] * SIZE for _ in range(SIZE)]
    side, mark, goal = "A", "X", "row 1 to row 7"
    free = CELLS[:]
    while True:
        view = {"mark": mark, "connect": goal, "board": ["".join(row) for row in board]}
        question = {"type": "mark_cell", "options": free[:], "view": view}
        entry = yield {"to_move": {side: question}, "board": [row[:] for row in board]}
        free.remove(entry[side])
        row, column = divmod(CELLS.index(entry[side]), SIZE)
        board[row][column] = mark
        if connected(board, mark):
            yield {"winner": side, "reason": f"{{{side}}} connects {goal}", "board": board}
        if side == "A":
            side, mark, goal = "B", "O", "column a to column g"
        else:
            side, mark, goal = "A", "X", "row 1 to row 7"


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
