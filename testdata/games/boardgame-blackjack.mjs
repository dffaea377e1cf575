// A game of boardgame.io with chance and secrets: each player knows only its own cards.
import { PlayerView } from 'boardgame.io/dist/cjs/core.js';

const total = (cards) => cards.reduce((sum, card) => sum + card, 0);

export const Blackjack = {
  name: 'blackjack_for_two',
  setup: ({ random }) => ({ players: { 0: random.D10(2), 1: random.D10(2) }, counts: [2, 2], stood: 0 }),
  playerView: PlayerView.STRIP_SECRETS, // of players, each sees its own part
  moves: {
    hit: ({ G, playerID, random }) => {
      G.players[playerID].push(random.D10());
      G.counts[playerID] += 1;
    },
    stand: ({ G, events }) => {
      G.stood += 1;
      events.endTurn();
    },
  },
  endIf: ({ G }) => {
    const [a, b] = [total(G.players[0]), total(G.players[1])];
    const reason = `{A} has ${a}, {B} has ${b}`;
    if (a > 21 || b > 21) return { winner: a > 21 ? '1' : '0', reason };
    if (G.stood === 2) return a === b ? { draw: true, reason } : { winner: a > b ? '0' : '1', reason };
  },
  ai: { enumerate: () => [{ move: 'hit' }, { move: 'stand' }] },
  evenodd: {
    display_name: 'Blackjack for two',
    rules: 'Each player has two cards from 1 to 10 that the other does not see. Player A takes cards (hit) until it '
      + 'stands, then player B. A player with more than 21 loses at once; otherwise the higher sum wins.',
    max_turns: 42,
    max_moves: 21,
    draws: true,
    hidden: true,
  },
};
