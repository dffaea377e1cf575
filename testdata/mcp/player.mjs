// A player that is only an MCP server: the TypeScript SDK's server, with sessions. It
// registers itself, answers the calls of referee and manager as tools, and ends with the
// league.
//
//   node player.mjs --manager URL [--port PORT] [--other-names]
//
// With --other-names its tools have names of their own, take the whole message as one
// argument, and answer with text.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as z from 'zod/v4';

const { values: options } = parseArgs({
  options: { manager: { type: 'string' }, port: { type: 'string', default: '0' }, name: { type: 'string', default: 'Typed' }, 'other-names': { type: 'boolean', default: false } },
});

let player; // the response to the registration
let over = false; // the league
let open = 0; // requests
const calls = {}; // by tool
const choices = {}; // by match

const envelope = (type, message) => ({
  protocol: 'league.v2', message_type: type, sender: `player:${player.player_id}`,
  timestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
  conversation_id: message.conversation_id, ...(message.auth_token && { auth_token: message.auth_token }),
});
const acknowledge = (type) => (message) => ({ ...envelope(type, message), status: 'ACKNOWLEDGED' });

// Each tool by its name in the protocol: its other name, the type of its message, members
// that it reads, and its answer.
const tools = {
  handle_game_invitation: ['receive_game_invitation', { match_id: z.string(), opponent_id: z.string() }, (message) => ({
    ...envelope('GAME_JOIN_ACK', message), match_id: message.match_id, player_id: player.player_id,
    arrival_timestamp: envelope('', message).timestamp, accept: true,
  })],
  choose_parity: ['make_parity_choice', { match_id: z.string(), player_id: z.string(), deadline: z.string() }, (message) => ({
    ...envelope('CHOOSE_PARITY_RESPONSE', message), match_id: message.match_id, player_id: player.player_id,
    parity_choice: choices[message.match_id] ??= Math.random() < 0.5 ? 'even' : 'odd', // the same if it is asked again
  })],
  notify_match_result: ['receiveMatchResult', { match_id: z.string(), game_result: z.looseObject({}) }, acknowledge('GAME_OVER_ACK')],
  notify_game_error: ['on-game-error', { error_code: z.string() }, acknowledge('GAME_ERROR_ACK')],
  notify_round: ['RoundAnnouncement', { round_id: z.number(), matches: z.array(z.looseObject({})) }, acknowledge('ROUND_ANNOUNCEMENT_ACK')],
  update_standings: ['receive_standings', { standings: z.array(z.looseObject({})) }, acknowledge('LEAGUE_STANDINGS_UPDATE_ACK')],
  notify_round_completed: ['onRoundCompleted', { round_id: z.number() }, acknowledge('ROUND_COMPLETED_ACK')],
  notify_league_completed: ['handle_league_completed', { champion: z.looseObject({}) }, (message) => {
    over = true;
    return acknowledge('LEAGUE_COMPLETED_ACK')(message);
  }],
};
const envelopeMembers = { conversation_id: z.string(), auth_token: z.string().optional() };

function serverOfOneSession() {
  const server = new McpServer({ name: 'typed-player', version: '1.0.0' });
  for (const [name, [otherName, members, answer]] of Object.entries(tools)) {
    const count = (message) => {
      calls[name] = (calls[name] ?? 0) + 1;
      return answer(message);
    };
    if (options['other-names']) {
      server.registerTool(otherName, { inputSchema: { message: z.looseObject({ ...envelopeMembers, ...members }) } },
        ({ message }) => ({ content: [{ type: 'text', text: JSON.stringify(count(message)) }] }));
    } else {
      server.registerTool(name, { inputSchema: { ...envelopeMembers, ...members }, outputSchema: z.looseObject({}) },
        (message) => ({ structuredContent: count(message), content: [{ type: 'text', text: 'done' }] }));
    }
  }
  server.registerTool('get_weather', { description: 'has nothing to do with the league' }, () => ({ content: [{ type: 'text', text: 'sunny' }] }));
  return server;
}

const sessions = {};

async function serve(request, response) {
  const id = request.headers['mcp-session-id'];
  if (id) {
    if (sessions[id]) return sessions[id].handleRequest(request, response);
    response.writeHead(404).end();
    return;
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (session) => { sessions[session] = transport; },
  });
  await serverOfOneSession().connect(transport);
  await transport.handleRequest(request, response); // rejects everything but initialize
}

const http = createServer((request, response) => {
  open++;
  response.on('close', () => {
    if (--open > 0 || !over) return;
    console.log(JSON.stringify({ player_id: player.player_id, calls }));
    process.exit(0);
  });
  serve(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500).end();
  });
});
http.listen(Number(options.port), '127.0.0.1', async () => {
  const request = {
    jsonrpc: '2.0', id: 1, method: 'register_player', params: {
      protocol: 'league.v2', message_type: 'LEAGUE_REGISTER_REQUEST', sender: `player:${options.name}`,
      timestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'), conversation_id: 'conv-register',
      player_meta: {
        display_name: options.name, version: '1.0.0', game_types: ['even_odd'],
        contact_endpoint: `http://127.0.0.1:${http.address().port}/mcp`,
      },
    },
  };
  const answer = await (await fetch(options.manager, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request),
  })).json();
  player = answer.result;
  if (player?.status !== 'ACCEPTED') {
    console.error(JSON.stringify(answer));
    process.exit(1);
  }
});
