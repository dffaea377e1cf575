// Chess, as a game of evenodd, by the rules of chess.js (npm ci --prefix testdata/games).
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { Chess } from 'chess.js';

const PLIES = 400;
const DESCRIPTION = {
  type: 'chess',
  version: `1, chess.js ${createRequire(import.meta.url)('chess.js/package.json').version}`,
  display_name: 'Chess',
  rules: 'Chess by the rules of FIDE; player A has White. Moves are those of UCI: the squares from and to, '
    + 'and the new piece of a promotion, such as e2e4, e1g1 (castling) or e7e8q. A third repetition, '
    + `50 moves without a capture or a pawn's move, and ${PLIES} moves of both sides together are a draw.`,
  move_types: ['move'],
  max_turns: PLIES,
  max_moves: PLIES / 2,
  max_move: 5,
  large: true,
};

let matches = []; // the last ones: most histories continue one of them
let chess; // the position of the match in question
let played; // the entries of the history that led to it

const mover = () => (chess.turn() === 'w' ? 'A' : 'B');

// Returns why the match is a draw although a move is legal; null if it is not.
function draw() {
  if (chess.isInsufficientMaterial()) return 'insufficient material';
  if (chess.isThreefoldRepetition()) return 'threefold repetition';
  if (chess.isDrawByFiftyMoves()) return 'fifty moves without a capture or a move of a pawn';
  return played.length >= PLIES ? `${PLIES} moves` : null;
}

// Returns the winner of a match that is over (null: a draw) and the reason.
function verdict(moves) {
  const reason = draw();
  if (moves.length > 0) return reason && { winner: null, reason };
  if (!chess.isCheck()) return { winner: null, reason: 'stalemate' };
  return { winner: mover() === 'A' ? 'B' : 'A', reason: `{${mover()}} is checkmated` };
}

// Plays an entry of the history. Returns why it is not legal: the side and a reason.
function play(entry) {
  const [side] = Object.keys(entry);
  if ('draw' in entry) return { side: null, reason: 'no draw is due' };
  if (draw()) return { side, reason: 'the match is over' };
  if (Object.keys(entry).length !== 1 || side !== mover()) return { side, reason: `only ${mover()} is to move` };
  const move = entry[side];
  try {
    const { lan } = chess.move({ from: move.slice(0, 2), to: move.slice(2, 4), promotion: move[4] });
    if (lan !== move) { // chess.js has ignored what follows the squares
      chess.undo();
      throw new Error(`${move} is not a move`);
    }
  } catch {
    return { side, reason: `${JSON.stringify(move)} is not legal` };
  }
  played.push(entry);
  return null;
}

// Returns the legal moves. moves({ verbose: true }) of chess.js takes six times as long: so the piece gives the
// square that a move comes from, and the short notation (Nxf3+, e8=Q, O-O) gives the rest.
function options() {
  const moves = [];
  for (const { square, color } of chess.board().flat().filter(Boolean)) {
    if (color !== chess.turn()) continue;
    for (const san of chess.moves({ square })) {
      const castling = { 'O-O': 'g', 'O-O-O': 'c' }[san.replace(/[+#]/, '')];
      const to = castling ? castling + square[1] : san.match(/[a-h][1-8](?=[^a-h1-8]*$)/)[0];
      moves.push(square + to + (san.match(/=(.)/)?.[1].toLowerCase() ?? ''));
    }
  }
  return moves;
}

function answer(history) {
  const begun = matches.filter((match) => isDeepStrictEqual(match.played, history.slice(0, match.played.length)));
  const longest = begun.sort((a, b) => b.played.length - a.played.length)[0] ?? { chess: new Chess(), played: [] };
  matches = [...matches.filter((match) => match !== longest).slice(-15), longest];
  ({ chess, played } = longest);
  for (let index = played.length; index < history.length; index++) {
    const problem = play(history[index]);
    if (problem) return { illegal: { index, ...problem } };
  }
  const letter = (piece) => (piece.color === 'w' ? piece.type.toUpperCase() : piece.type);
  const board = chess.board().map((row) => row.map((piece) => (piece ? letter(piece) : '.')));
  const moves = options();
  const end = verdict(moves);
  if (end) return { ...end, board };
  const view = { fen: chess.fen(), moves: played.map((entry) => entry.A ?? entry.B).join(' ') };
  return { to_move: { [mover()]: { type: 'move', options: moves, view } }, board };
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  console.log(JSON.stringify(question.describe ? DESCRIPTION : answer(question.history)));
}
