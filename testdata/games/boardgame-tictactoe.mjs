// The game of boardgame.io's tutorial, with what evenodd wants to know about it.
import { INVALID_MOVE } from 'boardgame.io/dist/cjs/core.js';

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

export const TicTacToe = {
  name: 'tutorial_tic_tac_toe',
  setup: () => ({ cells: Array(9).fill(null) }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    clickCell: ({ G, playerID }, id) => {
      if (G.cells[id] !== null) return INVALID_MOVE;
      G.cells[id] = playerID;
    },
  },
  endIf: ({ G, ctx }) => {
    const mine = (id) => G.cells[id] === ctx.currentPlayer;
    if (LINES.some((line) => line.every(mine))) return { winner: ctx.currentPlayer };
    if (G.cells.every((cell) => cell !== null)) return { draw: true };
  },
  ai: {
    enumerate: (G) => G.cells.flatMap((cell, id) => (cell === null ? [{ move: 'clickCell', args: [id] }] : [])),
  },
  evenodd: {
    display_name: 'Tic-Tac-Toe of the tutorial',
    rules: 'The players mark one of the cells 0 to 8 in turn, player A first. Three in a row, column or diagonal win.',
    max_turns: 9,
    max_moves: 5,
    board: (G) => [0, 3, 6].map((row) => G.cells.slice(row, row + 3).map((cell) => (cell === null ? '.' : 'XO'[cell]))),
  },
};
