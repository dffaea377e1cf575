import assert from 'node:assert/strict';
import test from 'node:test';
import { now } from './agent.mjs';
import { agent, choose, history, matches } from './player.mjs';

/** Sends a message to the player as its HTTP server does. Returns the JSON-RPC response. */
async function call(messageType, members) {
  const message = { protocol: 'league.v2', message_type: messageType, sender: 'referee:REF01', timestamp: now(), conversation_id: 'conv-r1m1-a1', match_id: 'R1M1', ...members };
  return JSON.parse(await agent.respond(JSON.stringify({ jsonrpc: '2.0', method: 'test', params: message, id: 7 })));
}

test('a choice is one of the options', () => {
  for (const options of [['even', 'odd'], ['rock', 'paper', 'scissors']]) assert(options.includes(choose(options, {}, [])));
});

test('a match', async () => {
  assert.equal((await call('GAME_INVITATION')).result.accept, true);
  const choice = (await call('CHOOSE_PARITY_CALL')).result.parity_choice;
  assert(['even', 'odd'].includes(choice));
  assert.equal((await call('CHOOSE_PARITY_CALL')).result.parity_choice, choice, 'the same when asked again');
  for (let i = 0; i < 2; i++) { // GAME_OVER may come twice
    assert.equal((await call('GAME_OVER', { game_result: { status: 'DRAW' } })).result.status, 'ACKNOWLEDGED');
  }
  assert.deepEqual(history, [{ status: 'DRAW' }]);
  assert.equal((await call('CHOOSE_PARITY_CALL')).error.code, 4005);
});

test('a question for words', async () => {
  const members = { match_id: 'R4M1', move_request: { move_type: 'say', text: 4, context: { view: 'Say something.' } } };
  const say = async () => (await call('GAME_MOVE_CALL', members)).result.move_data.choice;
  await call('GAME_INVITATION', members);
  const said = await say();
  assert(Buffer.byteLength(said) >= 1 && Buffer.byteLength(said) <= 4);
  assert.equal((await call('GAME_MOVE_CALL', { ...members, move_request: { move_type: 'say' } })).error.code, -32602);
});

test('refused words are not sent again', async () => {
  const members = { match_id: 'R5M1', move_request: { move_type: 'say', text: 9, context: { examples: ['one'] } } };
  await call('GAME_INVITATION', members);
  assert.equal((await call('GAME_MOVE_CALL', members)).result.move_data.choice, 'one');
  const { choices } = [...matches].find(([id]) => id.startsWith('R5M1'))[1];
  await call('GAME_ERROR', { ...members, error_code: 'E001' });
  assert.equal(choices.size, 1, 'a late line is sent again');
  await call('GAME_ERROR', { ...members, error_code: 'E010' });
  assert.equal(choices.size, 0);
});

test('an unknown match gets no choice', async () => {
  assert.equal((await call('CHOOSE_PARITY_CALL', { match_id: 'R9M9' })).error.code, 4003);
});

test('a reply belongs to its request', async () => {
  const response = await call('GAME_INVITATION', { match_id: 'R2M1', conversation_id: 'conv-r2m1-a1' });
  assert.equal(response.id, 7);
  assert.equal(response.result.match_id, 'R2M1');
  assert.equal(response.result.conversation_id, 'conv-r2m1-a1');
});

test('a stranger ends neither match nor league', async () => {
  await call('GAME_INVITATION', { match_id: 'R3M1', auth_token: 'access token' });
  await call('GAME_OVER', { match_id: 'R3M1', auth_token: 'guess' });
  assert((await call('CHOOSE_PARITY_CALL', { match_id: 'R3M1', auth_token: 'access token' })).result);
  agent.credential = 'Bearer credential of the manager';
  assert.equal((await call('LEAGUE_COMPLETED')).error.code, 3001);
  agent.credential = undefined;
});

test('tied players share a rank', async () => {
  await call('LEAGUE_COMPLETED', { final_standings: [{ player_id: agent.id, rank: 2, shared_rank: 1, points: 3 }], total_players: 4 });
  assert.equal(agent.lastWords, 'the league is over: shared rank 1 of 4, 3 points');
});

test('the league ends with any table', async () => {
  for (const table of [null, [], 'none', {}, [null, 7]]) {
    agent.lastWords = undefined;
    await call('LEAGUE_COMPLETED', { final_standings: table });
    assert.equal(agent.lastWords, 'the league is over');
  }
});
