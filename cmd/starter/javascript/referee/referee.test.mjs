import assert from 'node:assert/strict';
import test from 'node:test';
import { Match, agent, draw } from './referee.mjs';

const ASSIGNMENT = {
  league_id: 'test', round_id: 1, match_id: 'R1M1', attempt: 1, retry_policy: { max_retries: 3, delay_sec: 0 },
  player_A: { player_id: 'P01', endpoint: 'a' }, player_B: { player_id: 'P02', endpoint: 'b' },
};

/** Conducts a match of two players with these choices. Returns the reported result, and the calls of the referee. */
async function play(a, b) {
  const calls = [];
  agent.call = async (endpoint, method, message) => {
    calls.push({ endpoint, method, message });
    return { match_id: 'R1M1', accept: true, parity_choice: { a, b }[endpoint] };
  };
  await new Match(ASSIGNMENT).conduct();
  return { calls, result: calls.find((c) => c.method === 'report_match_result').message.result };
}

test('the number decides', async () => {
  const { result } = await play('even', 'odd');
  const number = result.details.drawn_number;
  assert(number >= 1 && number <= 10);
  assert.equal(result.winner, number % 2 ? 'P02' : 'P01');
  assert.deepEqual(Object.values(result.score).sort(), [0, 3]);
});

test('the same choices are a draw', async () => {
  const { result } = await play('odd', 'odd');
  assert.equal(result.winner, null);
  assert.deepEqual(result.score, { P01: 1, P02: 1 });
});

test('a player without a valid choice loses', async () => {
  const { calls, result } = await play('maybe', 'odd');
  assert.equal(result.winner, 'P02');
  assert.equal(result.details.drawn_number, null);
  assert.equal(calls.filter((c) => c.endpoint === 'a' && c.method === 'choose_parity').length, 4, 'the first time and three retries');
});

test('no match before the registration', async () => {
  await assert.rejects(agent.handle({ ...ASSIGNMENT, protocol: 'league.v2', message_type: 'MATCH_ASSIGNMENT', sender: 'league_manager',
    timestamp: '2026-03-01T10:00:00Z', conversation_id: 'conv-1', game_type: 'even_odd' }), { errorCode: 'E008' });
});

test('numbers are fair', () => {
  const counts = Array(11).fill(0);
  for (let i = 0; i < 5000; i++) {
    const nonce = Buffer.alloc(32);
    nonce.writeUInt32BE(i);
    counts[draw(nonce, [Buffer.alloc(32), Buffer.alloc(32)])]++;
  }
  for (const count of counts.slice(1)) assert(Math.abs(count - 500) < 100, String(counts));
});
