// Code of players and referees: registration, JSON-RPC 2.0 over HTTP, the envelope of messages.
import { createHash, createHmac, randomUUID } from 'node:crypto';
import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import http from 'node:http';
import util from 'node:util';

// Older versions lack fetch or parseArgs.
if (!globalThis.fetch || !util.parseArgs) throw new Error(`this agent needs Node 18.3 or newer; this is Node ${process.versions.node}`);

const MAX_REQUEST = 1 << 18, MAX_REPLY = 1 << 16; // bytes: refuse what is larger
const REJECTED = 1; // code of a registration that is rejected; JSON-RPC does not use it
const ADDRESS = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[^\s/?#@:\\%[\]]+)(?::([0-9]{0,5}))?(\/[^?#]*)?([?#].*)?$/i;
const PAGE = /^(.*?)\/((agents|assets|cross|events|healthz|leagues|livez|matches|metrics|play|players|readyz|statistics)(\/.*)?)?$/;
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;

/**
 * An error of JSON-RPC, with an error code of the protocol such as E003 if there is one. after is the number of
 * seconds after which the other side asks to try again; other codes than E020 and E022 have none.
 */
export class Refused extends Error {
  constructor(code, message, errorCode, after) {
    super(message);
    const waits = ['E020', 'E022'].includes(errorCode) && after > 0;
    Object.assign(this, { code, errorCode, after: waits ? Math.min(after, 3600) : 0 });
  }
}

/** An answer of another program than an agent: to ask again does not help. */
export class Foreign extends Error {}

/**
 * The URL for calls of a manager, by what a person types or copies from a browser; undefined if it is no address. HOST,
 * HOST:8000, http://HOST:8000/ and http://HOST:8000/matches/R1M1 are http://HOST:8000/mcp.
 */
export function managerURL(typed) {
  let [, scheme, host, port, path = '', query = ''] = ADDRESS.exec(typed.trim()) ?? [];
  if (!host || port && (port < 1 || port > 65535)) return undefined;
  if (!scheme && (/^(\d+|https?)$/i.test(host) || path.startsWith('//'))) return undefined;
  const page = PAGE.exec(path || '/');
  if (page && !/\/mcp\/?$/i.test(path)) [path, query] = [page[1].replace(/\/+$/, '') + '/mcp', ''];
  port ||= scheme ? '' : '8000';
  return `${(scheme ?? 'http').toLowerCase()}://${host.toLowerCase()}${port && ':' + port}${path}${query.replace(/#.*/, '')}`;
}

/** The time some seconds from now. All times of the protocol are in UTC. */
export const now = (after = 0) => new Date(Date.now() + after * 1000).toISOString().slice(0, 19) + 'Z';

/** Writes a line. Texts of others must not control the terminal. */
export const say = (line, write = console.log) => write(line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '?'));

export const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** A member of a message that must be there, and must be a string. */
export function text(message, member) {
  if (message[member] === undefined || message[member] === null) throw new Refused(-32602, `${member} is missing`, 'E003');
  if (typeof message[member] !== 'string') throw new Refused(-32602, `${member} must be a string`, 'E002');
  return message[member];
}

/** The reply to a message that needs no other answer. */
export const acknowledge = () => ({ status: 'ACKNOWLEDGED' });

// JavaScript rounds integers beyond 2^53, but an id must return unchanged: parse leaves a numeric id
// as {number: text}, and rawId writes it as it came.
const parse = (json) => JSON.parse(json.replace(/"id"(\s*:\s*)(-?\d[\d.eE+-]*)/g, '"id"$1{"number":"$2"}'));
const rawId = (id) => id?.number ?? JSON.stringify(id ?? null);

/** The address at which the other side of a URL reaches this computer: 127.0.0.1 if it is here. Sends nothing. */
async function wayTo(url) {
  const at = new URL(url);
  const { address, family } = await dns.lookup(at.hostname.replace(/[[\]]/g, ''));
  const probe = dgram.createSocket(`udp${family}`);
  try {
    await new Promise((done, failed) => {
      probe.on('error', failed);
      probe.connect(Number(at.port) || (at.protocol === 'https:' ? 443 : 80), address, done);
    });
    const own = probe.address().address;
    return own === address || own.startsWith('127.') ? '127.0.0.1' : own;
  } finally {
    probe.close();
  }
}

/** Calls fetch. Its error is Foreign if the server speaks another protocol, or has a certificate that is not trusted. */
async function reach(url, options) {
  try {
    return await fetch(url, options);
  } catch (e) {
    const reason = `${e.cause?.code ?? ''} ${e.cause?.message ?? e.message}`;
    throw /^(HPE_(?!INVALID_EOF)|ERR_SSL|ERR_TLS|UNABLE_TO|\S*CERT)|bad port/.test(reason) ? new Foreign(reason) : e;
  }
}

const bracketed = (host) => (host.includes(':') ? `[${host}]` : host);

export class Agent {
  /** handlers has a reply type and a function for each message type that the agent serves. */
  constructor(role, name, port, meta, handlers) {
    Object.assign(this, { role, name, port, meta, handlers });
    this.id = role; // until the manager gives one
    this.manager = this.token = this.league = this.credential = this.lastWords = undefined;
    this.forget = () => {}; // forgets the matches of a league
  }

  message(messageType, conversationId, members) {
    return { protocol: 'league.v2', message_type: messageType, sender: `${this.role}:${this.id}`, timestamp: now(), conversation_id: conversationId, ...members };
  }

  /** Returns the reply to a message. Replies to a referee have the token that it sent, never this agent's own. */
  async handle(request, authorization) {
    if (!Object.hasOwn(this.handlers, request.message_type)) throw new Refused(-32601, 'Method not found'); // not the method: a method has several names
    if (request.protocol !== 'league.v2') throw new Refused(18, 'PROTOCOL_VERSION_MISMATCH', 'E018');
    if (!UTC.test(text(request, 'timestamp'))) throw new Refused(21, 'timestamp must be UTC', 'E021');
    if (this.credential && this.credential !== authorization && /^(LEAGUE|MATCH|ROUND)_/.test(request.message_type)) {
      throw new Refused(3001, 'AUTH_TOKEN_INVALID', 'E012'); // a message of the manager that is not from the manager
    }
    text(request, 'sender');
    const conversation = text(request, 'conversation_id');
    const match = (request.match_id ?? null) === null ? {} : { match_id: text(request, 'match_id') };
    const [replyType, handler] = this.handlers[request.message_type];
    const members = await handler(request);
    return this.message(replyType, conversation, { [`${this.role}_id`]: this.id, auth_token: request.auth_token || 'none', ...match, ...members });
  }

  /** Returns the JSON-RPC response to a request or a batch; undefined if it gets no response. */
  async respond(body, authorization) {
    let request;
    try {
      request = parse(body);
    } catch {
      return '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}';
    }
    if (!Array.isArray(request) || request.length === 0) return this.respondOne(request, authorization);
    const responses = (await Promise.all(request.map((one) => this.respondOne(one, authorization)))).filter(Boolean);
    return responses.length ? `[${responses}]` : undefined;
  }

  async respondOne(request, authorization) {
    const call = isObject(request) ? request : {};
    let answer;
    try {
      if (call.jsonrpc !== '2.0' || typeof call.method !== 'string') throw new Refused(-32600, 'Invalid Request');
      if (call.method === 'ping') answer = { result: this.message('PONG', 'conv-ping', { status: 'ok' }) };
      else if (isObject(call.params)) answer = { result: await this.handle(call.params, authorization) };
      else throw new Refused(-32602, 'params must be an object', 'E002');
    } catch (e) {
      answer = { error: { code: e.code, message: e.message, data: { error_code: e.errorCode, error_description: e.message } } };
      if (!(e instanceof Refused)) { // a mistake in a handler costs one answer, not the process
        console.error(e);
        answer = { error: { code: -32603, message: 'Internal error' } };
      }
    }
    if ('method' in call && !('id' in call)) return undefined; // a call without id wants no response
    return JSON.stringify({ jsonrpc: '2.0', ...answer }).replace(/}$/, `,"id":${rawId(call.id)}}`);
  }

  /** Calls another agent. Throws Refused for an error, and other errors without a readable response. */
  async call(url, method, message, seconds = 10) {
    const body = JSON.stringify({ jsonrpc: '2.0', method, params: message, id: 1 });
    const answer = await reach(url, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body, signal: AbortSignal.timeout(seconds * 1000),
      redirect: 'manual', // the URL of an agent must not lead elsewhere
    });
    if (answer.status === 429) throw new Refused(22, 'too many requests', 'E022', Number(answer.headers.get('retry-after')));
    if (!answer.ok) { // other errors than these come from a gateway whose agent is down
      const foreign = answer.status < 500 && ![408, 425].includes(answer.status) || answer.status === 501;
      throw new (foreign ? Foreign : Error)(`HTTP status ${answer.status}`);
    }
    let size = 0;
    const chunks = [];
    for await (const chunk of answer.body) {
      if ((size += chunk.length) > MAX_REPLY) throw new Foreign('the response is too large');
      chunks.push(chunk);
    }
    let response;
    try {
      response = JSON.parse(Buffer.concat(chunks).toString());
    } catch (e) {
      throw new Foreign(`no JSON-RPC response: ${e.message}`);
    }
    if (isObject(response?.error)) throw new Refused(response.error.code, String(response.error.message), response.error.data?.error_code,
      response.error.data?.context?.retry_after_sec);
    if (!isObject(response?.result)) throw new Foreign('no JSON-RPC response');
    return response.result;
  }

  /** Registers, and asks the manager from time to time whether it knows this agent, until the process ends. */
  async attend(endpoint) {
    const conversation = `conv-${this.role}-${randomUUID()}`;
    const told = new Set();
    for (let problem, before, wait; ; await sleep(Math.max(wait, this.token ? 5 : 2))) {
      [before, problem, wait] = [problem, undefined, 0];
      try {
        if (!this.token) await this.register(endpoint, conversation);
        else {
          this.tell((await this.call(this.manager, 'league_query', this.message('LEAGUE_QUERY', 'conv-status',
            { auth_token: this.token, league_id: this.league, query_type: 'GET_STATUS' }))).unreachable, told);
        }
      } catch (e) {
        wait = e.after || 0;
        if (e instanceof Foreign && !this.token) {
          this.fail(1, `no league manager answers at ${this.manager} (${e.message}): set --manager to the address of the league's page, `
            + 'such as http://192.0.2.7:8000/');
        }
        const waiting = wait || e.errorCode === 'E022' || e.code === -32603; // else waiting does not help
        if (!this.token && e instanceof Refused && !waiting) this.fail(1, e.code === REJECTED ? e.message : `the manager answers: ${e.message}`);
        if (e.errorCode === 'E012') { // the manager has started a new league, with the same match_ids
          this.token = this.credential = undefined;
          this.forget();
        }
        problem = e.code === REJECTED ? e.message : `the manager answers: ${e.message}`;
        if (!(e instanceof Refused)) problem = `no manager at ${this.manager} yet (${e.cause?.message ?? e.message}): trying again`; // it may continue its league
        if (problem !== before) say(problem, console.error);
      }
    }
  }

  /** Says why the manager cannot call this agent, each reason once. The reason ends with the number of tries. */
  tell(reason, told) {
    const cause = typeof reason === 'string' ? reason.slice(0, reason.lastIndexOf(',')) : '';
    if (!cause || told.has(cause) || told.size >= 20) return;
    told.add(cause);
    say(`the manager cannot call this agent: ${reason.slice(0, 300)}. Let other computers reach that port (firewall), or set `
      + '--endpoint to a URL that the manager reaches', console.error);
  }

  /** The address at which the manager reaches this computer. Waits while there is none. */
  async findWay() {
    for (let told = false; ; told = true) {
      try {
        return await wayTo(this.manager);
      } catch (e) {
        if (!told) say(`no way to the manager at ${this.manager} yet (${e.message}): trying again`, console.error);
        await sleep(2);
      }
    }
  }

  async register(endpoint, conversation) {
    const kind = this.role === 'referee' ? 'REFEREE_REGISTER_REQUEST' : 'LEAGUE_REGISTER_REQUEST';
    const meta = { display_name: this.name, version: '1.0.0', contact_endpoint: endpoint, ...this.meta };
    const code = process.env.EVENODD_REGISTRATION_CODE; // in a league with a roster: from its organiser
    const members = { [`${this.role}_meta`]: meta, ...(code && { registration_code: code }) };
    const answer = await this.call(this.manager, `register_${this.role}`, this.message(kind, conversation, members));
    if (answer.status !== 'ACCEPTED') {
      const code = answer.error_code ? ` (${answer.error_code})` : '';
      const remedy = answer.error_code === 'E025'
        ? `: it is ${endpoint}; set another URL by --endpoint, or another address of this computer by --host` : '';
      throw new Refused(REJECTED, `registration refused: ${answer.reason}${code}${remedy}`, answer.error_code, answer.retry_after_sec);
    }
    // Some managers send no token, or no credential with their later calls.
    [this.id, this.token, this.league] = [answer[`${this.role}_id`] ?? this.id, answer.auth_token ?? 'none', answer.league_id];
    const key = createHash('sha256').update(this.token).digest();
    const credential = createHmac('sha256', key).update(`${this.league}/manager`).digest('base64url');
    this.credential = answer.manager_auth === 'bearer' ? `Bearer ${credential}` : undefined;
    say(`registered as ${this.id} in ${this.league}`);
  }

  async serve(request, response) {
    const chunks = [];
    let size = 0;
    for await (const chunk of request) if ((size += chunk.length) <= MAX_REQUEST) chunks.push(chunk);
    const status = request.url !== '/mcp' ? 404 : request.method !== 'POST' ? 405 : size > MAX_REQUEST ? 413 : 200;
    const body = status === 200 ? await this.respond(Buffer.concat(chunks).toString(), request.headers.authorization) : undefined;
    // End after the answer, not before.
    response.on('finish', () => this.lastWords && this.stop(0, this.lastWords));
    // writeHead and end make one packet: two would wait 40 ms for each other (Nagle's algorithm).
    if (body === undefined) response.writeHead(status === 200 ? 204 : status).end();
    else response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
  }

  stop(code, words) {
    if (words) say(words);
    process.exit(code);
  }

  fail(code, words) {
    say(words, console.error);
    process.exit(code);
  }

  flags() {
    const options = {
      name: { type: 'string', default: this.name }, // display name, unique in the league
      port: { type: 'string', default: String(this.port) }, // port to listen at
      // address to listen at, 0.0.0.0 for all of this computer; without it 127.0.0.1, or if the manager is on another
      // computer, the address of this one on the way to it
      host: { type: 'string' },
      endpoint: { type: 'string' }, // URL at which the others reach this agent; without it from the address and the port
      manager: { type: 'string', default: '127.0.0.1:8000' }, // address of the league manager, or of a page of its league
    };
    try {
      return util.parseArgs({ options }).values;
    } catch (e) {
      this.fail(2, `${e.message}: the flags are --${Object.keys(options).join(', --')}`);
    }
  }

  async run() {
    const values = this.flags();
    [this.name, this.manager] = [values.name, managerURL(values.manager)];
    if (!this.manager) this.fail(2, '--manager must be the address of a league manager, such as http://127.0.0.1:8000/');
    if (values.endpoint && !/^https?:\/\/[^/]+\//.test(values.endpoint)) this.fail(2, '--endpoint must be a URL such as http://127.0.0.1:8101/mcp');
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => this.stop(130));
    const server = http.createServer((request, response) => this.serve(request, response).catch(() => response.destroy()));
    if (!/^\d+$/.test(values.port) || values.port > 65535) this.fail(2, '--port must be a number from 0 to 65535');
    const own = !values.endpoint && [undefined, '0.0.0.0'].includes(values.host) ? await this.findWay() : '127.0.0.1';
    const host = values.host ?? own;
    server.on('error', (e) => this.fail(1, `cannot listen at ${host}:${values.port} (${e.message}): choose another --port or --host`));
    // Listen first, register then: the manager may call at once.
    server.listen(Number(values.port), host, () => {
      const { port } = server.address();
      say(`listening at http://${bracketed(host)}:${port}/mcp`, console.error);
      // It asks for P01 at port 8101, or REF01 at port 8001: some third-party referees know no other ids.
      const [prefix, number] = this.role === 'player' ? ['P', port - 8100] : ['REF', port - 8000];
      if (number > 0 && number < 100) this.id = prefix + String(number).padStart(2, '0');
      this.attend(values.endpoint ?? `http://${bracketed(own)}:${port}/mcp`);
    });
  }
}
