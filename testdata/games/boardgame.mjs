// Plays a game for two players of boardgame.io as a game of evenodd (npm ci --prefix testdata/games):
//
//   node boardgame.mjs boardgame-tictactoe.mjs
//
// In the game one player moves at a time, by ai.enumerate from what it sees (playerView). Its member "evenodd" has what
// boardgame.io lacks: members of the description, and board(G), rows of cells of what all may see. endIf has no chance.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

process.env.NODE_ENV = 'production'; // otherwise boardgame.io logs to standard output
const require = createRequire(import.meta.url);
const { CreateGameReducer, InitializeGame } = require('boardgame.io/internal');
const loaded = Object.values(await import(pathToFileURL(resolve(process.argv[2])))).find((value) => value?.moves);
const { board, ...described } = loaded.evenodd ?? {};
const DESCRIPTION = {
  type: loaded.name.toLowerCase().replace(/\W/g, '_'),
  version: `1, boardgame.io ${require('boardgame.io/package.json').version}`,
  display_name: loaded.name,
  rules: `The game ${loaded.name} of boardgame.io.`,
  move_types: ['move'],
  max_turns: 400,
  max_moves: loaded.evenodd?.max_turns ?? 400,
  max_move: 32,
  hidden: Boolean(loaded.playerView),
  ...described,
};

class Draw { constructor(n) { this.n = n; } } // is thrown by a step that needs a number that has not been drawn
let draws = []; // the numbers that the random API returns in this step
const draw = (n) => {
  if (n > 1 && draws.length === 0) throw new Draw(n);
  return n > 1 ? draws.shift() : 0;
};
const Die = (n = 6, count) => (count === undefined ? draw(n) + 1 : Array.from({ length: count }, () => draw(n) + 1));
const random = { Die, Number: () => draw(2 ** 31) / 2 ** 31 };
for (const n of [4, 6, 8, 10, 12, 20]) random[`D${n}`] = (count) => Die(n, count);
random.Shuffle = (deck) => {
  const rest = [...deck];
  return deck.map(() => rest.splice(draw(rest.length), 1)[0]);
};
const withDraws = (method) => (context, ...args) => method({ ...context, random }, ...args);
const game = {
  ...loaded,
  seed: 'unused',
  disableUndo: true,
  setup: loaded.setup && withDraws(loaded.setup), // plugins wrap moves and hooks only
  plugins: [...(loaded.plugins ?? []), { name: 'draws', fnWrap: withDraws }],
};
const reduce = CreateGameReducer({ game });

function* settle(step) {
  for (const numbers = []; ;) {
    draws = [...numbers];
    try {
      return step();
    } catch (need) {
      if (!(need instanceof Draw)) throw need;
      numbers.push((yield { draw: need.n }).draw);
    }
  }
}

// A match: yields what is next, and gets the entry of the history that follows.
function* play() {
  let state = yield* settle(() => InitializeGame({ game }));
  for (let turn = 1; ; turn++) {
    const { ctx } = state;
    const seen = (playerID) => (loaded.playerView ? loaded.playerView({ G: state.G, ctx, playerID }) : state.G);
    const common = board ? { board: board(seen(null), ctx) } : {};
    if (ctx.gameover !== undefined || turn > DESCRIPTION.max_turns) {
      const { winner, reason } = ctx.gameover ?? { reason: `no result after ${turn - 1} moves` };
      const won = 'AB'[winner] ?? null;
      yield { winner: won, reason: reason ?? (won ? `{${won}} won` : 'a draw'), ...common };
    }
    const [player, ...others] = ctx.activePlayers ? Object.keys(ctx.activePlayers) : [ctx.currentPlayer];
    if (others.length > 0) throw new Error('this game lets several players move at the same time');
    const actions = new Map(loaded.ai.enumerate(seen(player), ctx, player).map(({ move, event, args = [] }) => [
      `${move ?? event}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`,
      { type: move ? 'MAKE_MOVE' : 'GAME_EVENT', payload: { type: move ?? event, args, playerID: player } }]));
    const view = { player, phase: ctx.phase, G: seen(player) };
    const question = { type: 'move', options: [...actions.keys()], view };
    const entry = yield { to_move: { ['AB'[player]]: question }, ...common };
    state = yield* settle(() => reduce(state, actions.get(entry['AB'[player]])));
    if (state.transients?.error) throw new Error(`ai.enumerate lists ${JSON.stringify(entry)}, which is not legal`);
  }
}

// Says why an entry is not legal in a state.
function wrong({ draw: n, to_move: asked = {} }, entry) {
  const [key, ...more] = Object.keys(entry);
  if (more.length > 0) return 'two members where one is due';
  if (n && key === 'draw' && Number.isInteger(entry.draw) && entry.draw >= 0 && entry.draw < n) return null;
  if (n) return `a draw of a number from 0 to ${n - 1} is due`;
  if (!(key in asked)) return `not due: ${JSON.stringify(entry)}`;
  return asked[key].options.includes(entry[key]) ? null : `${JSON.stringify(entry[key])} is not an option`;
}

let matches = []; // the last ones: most histories continue one of them
function answer(history) {
  const begun = matches.filter((match) => isDeepStrictEqual(match.history, history.slice(0, match.history.length)));
  const match = begun.sort((a, b) => b.history.length - a.history.length)[0] ?? { history: [], steps: play() };
  match.state ??= match.steps.next().value;
  matches = [...matches.filter((other) => other !== match).slice(-15), match];
  for (let index = match.history.length; index < history.length; index++) {
    const reason = wrong(match.state, history[index]);
    if (reason) return { illegal: { index, side: ['A', 'B'].find((side) => side in history[index]) ?? null, reason } };
    match.state = match.steps.next(history[index]).value;
    match.history.push(history[index]);
  }
  return match.state;
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  console.log(JSON.stringify(question.describe ? DESCRIPTION : answer(question.history)));
}
