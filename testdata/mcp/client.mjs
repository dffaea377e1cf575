// A client on the TypeScript SDK. It registers a player by the tool of the manager, listens
// to the standings, plays as the host of another player, and prints what it saw as JSON.
//
// node client.mjs MANAGER_URL PLAYER_URL HOST_TOKEN
import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [managerURL, playerURL, hostToken] = process.argv.slice(2);

async function connect(url, token) {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

async function use(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

// The player that this program registers: it always chooses even.
const seen = { standings: 0, updates: 0, answered: 0, choices: new Set() };
const over = Promise.withResolvers?.() ?? (() => {
  let resolve;
  const promise = new Promise((r) => { resolve = r; });
  return { promise, resolve };
})();
let me = 'unknown';
function answer(method, params) {
  const envelope = {
    protocol: 'league.v2', sender: `player:${me}`, timestamp: new Date().toISOString().replace(/\.\d+Z/, 'Z'),
    conversation_id: params.conversation_id ?? 'conv-ping', match_id: params.match_id, player_id: me,
  };
  switch (method) {
    case 'handle_game_invitation':
      return { ...envelope, message_type: 'GAME_JOIN_ACK', arrival_timestamp: envelope.timestamp, accept: true };
    case 'choose_parity':
      return { ...envelope, message_type: 'CHOOSE_PARITY_RESPONSE', parity_choice: 'even' };
    case 'notify_league_completed':
      over.resolve();
  }
  return { ...envelope, message_type: 'ACK', status: 'ACKNOWLEDGED' };
}
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (part) => { body += part; });
  request.on('end', () => {
    const { id, method, params } = JSON.parse(body);
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params ?? {}) }));
  });
});
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });

const stranger = await connect(managerURL);
const registered = await use(stranger, 'register_player', {
  player_meta: {
    display_name: 'TypeScript', version: '1.0.0', game_types: ['even_odd'],
    contact_endpoint: `http://127.0.0.1:${server.address().port}/mcp`,
  },
});
me = registered.player_id;

const manager = await connect(managerURL, registered.auth_token);
const uri = `league://${registered.league_id}/standings`;
const standings = async () => JSON.parse((await manager.readResource({ uri })).contents[0].text).standings;
seen.standings = (await standings()).length;
manager.setNotificationHandler('notifications/resources/updated', (notice) => {
  if (notice.params.uri === uri) seen.updates++;
});
await manager.listen({ resourceSubscriptions: [uri] });
console.error('listening to the standings');

const host = await connect(playerURL, hostToken);
let ended = false;
over.promise.then(() => { ended = true; });
while (!ended) {
  let pending;
  try {
    ({ pending } = await use(host, 'wait_for_choice', { timeout_sec: 1 }));
  } catch { // the player ends with the league, maybe before this program hears of the end
    await over.promise;
    break;
  }
  for (const question of pending) {
    seen.choices.add(question.valid_options.join('/'));
    await use(host, 'answer_choice', { choice_id: question.choice_id, choice: 'odd' });
    seen.answered++;
  }
}
const final = await standings();
console.log(JSON.stringify({
  ...seen, choices: [...seen.choices], revision: manager.getNegotiatedProtocolVersion?.() ?? '',
  played: final.map((row) => row.played), points: final.reduce((sum, row) => sum + row.points, 0),
}));
process.exit(0);
