// A player for leagues of evenodd. Change choose(); the rest speaks the protocol.
import { pathToFileURL } from 'node:url';
import { Agent, Refused, acknowledge, now, say, text } from './agent.mjs';

/**
 * Returns one of options: ['even', 'odd'] in even_odd, the allowed moves in other games. It may be async.
 * context is what the referee says about the match, such as context.opponent_id. In a game of cards, dice or words,
 * and in one that is a program, context.view is what you may see, and context.turn the number of the turn.
 * history has the results so far, oldest first: status, winner_player_id, drawn_number, choices.
 */
export function choose(options, context, history) {
  return options[Math.floor(Math.random() * options.length)];
}

/**
 * Returns one line of at most limit bytes, where a game asks for words in place of options. It may be async.
 * examples are lines that the game suggests; many games have none.
 */
export function write(limit, examples, context, history) {
  return examples.length > 0 ? choose(examples, context, history) : 'pass';
}

export const matches = new Map(); // by match_id and token: a player plays many matches at the same time
export const history = [];

// A caller without the token of the referee cannot reach its match.
const key = (request) => `${text(request, 'match_id')} ${request.auth_token}`;

/** GAME_INVITATION */
function join(request) {
  const match = matches.get(key(request));
  // A referee repeats a call if the answer got lost, so a known match is no error. A match
  // that is played again has another conversation, and begins anew.
  if (match?.conversation !== request.conversation_id) {
    matches.set(key(request), { conversation: request.conversation_id, choices: new Map(), over: false });
  }
  return { accept: true, arrival_timestamp: now() };
}

/** CHOOSE_PARITY_CALL, the question of even_odd */
async function chooseParity(request) {
  return { parity_choice: await answer(request, '', ['even', 'odd'], request.context) };
}

/** GAME_MOVE_CALL, the question of all other games: a match may have several */
async function makeMove(request) {
  const move = request.move_request;
  const { valid_options: options, text: limit, context } = move;
  if (!options?.length && !limit) throw new Refused(-32602, 'move_request needs valid_options or text', 'E002');
  const choice = await answer(request, JSON.stringify(move), options ?? context?.examples ?? [], context, limit);
  return { game_type: request.game_type, move_data: { move_type: move.move_type, choice } };
}

function answer(request, question, options, context, limit) {
  const match = matches.get(key(request));
  if (!match) throw new Refused(4003, 'MATCH_NOT_FOUND', 'E006');
  if (match.over) throw new Refused(4005, 'INVALID_MATCH_STATE', 'E008');
  if (!match.choices.has(question)) {
    const decided = limit ? write(limit, options, context ?? {}, history) : choose(options, context ?? {}, history);
    match.choices.set(question, decided);
  }
  return match.choices.get(question); // a repeated question gets the same answer
}

/** GAME_ERROR: the referee got no valid answer, and may ask again */
function reportError(request) {
  if (request.error_code === 'E010') matches.get(key(request))?.choices.clear(); // the move was refused: decide anew
  say(`${request.match_id}: ${request.error_code}, ${request.error_description}`);
  return acknowledge();
}

/** GAME_OVER: winner, number and choices are null after a technical loss */
function endMatch(request) {
  const match = matches.get(key(request));
  const result = request.game_result ?? {};
  if (match && !match.over) { // a repeated result counts once
    match.over = true;
    history.push(result);
    say(`${request.match_id}: ${outcome(result)}, ${result.reason}`);
  }
  return acknowledge();
}

function outcome(result) { // status is WIN for the loser too
  if (result.status === 'DRAW') return 'drawn';
  return result.winner_player_id === agent.id ? 'won' : 'lost';
}

/** LEAGUE_COMPLETED: tied players have a shared_rank */
function endLeague(request) {
  const rows = Array.isArray(request.final_standings) ? request.final_standings : []; // the league is over without one too
  const own = rows.find((row) => row?.player_id === agent.id);
  const rank = own?.shared_rank ? `shared rank ${own.shared_rank}` : `rank ${own?.rank}`;
  const place = own ? `: ${rank} of ${request.total_players ?? rows.length}, ${own.points} points` : '';
  agent.lastWords = `the league is over${place}`;
  return acknowledge();
}

export const agent = new Agent('player', "{{NAME}}", {{PORT}}, { game_types: ['even_odd'] }, { // add 'rock_paper_scissors' to play it
  GAME_INVITATION: ['GAME_JOIN_ACK', join],
  CHOOSE_PARITY_CALL: ['CHOOSE_PARITY_RESPONSE', chooseParity],
  GAME_MOVE_CALL: ['GAME_MOVE_RESPONSE', makeMove],
  GAME_OVER: ['GAME_OVER_ACK', endMatch],
  GAME_ERROR: ['GAME_ERROR_ACK', reportError],
  ROUND_ANNOUNCEMENT: ['ROUND_ANNOUNCEMENT_ACK', acknowledge],
  LEAGUE_STANDINGS_UPDATE: ['STANDINGS_UPDATE_ACK', acknowledge],
  ROUND_COMPLETED: ['ROUND_COMPLETED_ACK', acknowledge],
  LEAGUE_COMPLETED: ['LEAGUE_COMPLETED_ACK', endLeague],
});

agent.forget = () => {
  matches.clear();
  history.length = 0;
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) agent.run(); // not when a test imports this file
