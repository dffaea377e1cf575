// A referee of even_odd for leagues of evenodd.
import { createHash, randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { Agent, Refused, acknowledge, now, say, sleep, text } from './agent.mjs';

const MATCHES_AT_ONCE = 5;
const NAMES = { E001: 'TIMEOUT_ERROR', E002: 'INVALID_FIELD_TYPE', E004: 'INVALID_PARITY_CHOICE', E009: 'CONNECTION_ERROR', E015: 'MATCH_ID_MISMATCH' };
const matches = new Map(); // by match_id and attempt

/** MATCH_ASSIGNMENT: answers at once, and conducts the match in the background. */
function startMatch(assignment) {
  const match_id = text(assignment, 'match_id'), attempt = assignment.attempt ?? 1;
  if (!agent.token) throw new Refused(4005, 'INVALID_MATCH_STATE', 'E008'); // it has restarted, and could not report the result
  if (assignment.game_type !== 'even_odd') return { status: 'REJECTED', match_id, reason: 'this referee knows only even_odd' };
  const key = `${match_id} ${attempt}`;
  if (!matches.has(key)) { // the same assignment again starts no second match
    if ([...matches.values()].filter((m) => !m.over).length >= MATCHES_AT_ONCE) return { status: 'BUSY', match_id };
    const match = new Match(assignment);
    matches.set(key, match);
    match.conduct().catch((e) => console.error(e));
  }
  return { status: 'ACCEPTED', match_id, attempt, draw_commitment: matches.get(key).commitment };
}

/** GET_MATCH_STATE: only for callers with this referee's token, and without choices. */
function getState(request) {
  if (!agent.token || request.auth_token !== agent.token) throw new Refused(4001, 'AUTH_TOKEN_INVALID', 'E012');
  const match = [...matches.values()].findLast((m) => m.id === text(request, 'match_id'));
  if (!match) throw new Refused(4003, 'MATCH_NOT_FOUND', 'E006');
  return { match_id: match.id, attempt: match.attempt, state: match.over ? 'FINISHED' : 'IN_PROGRESS' };
}

/** SHA-256 of a label, texts that follow their lengths, and a secret: a commitment to the secret. */
function digest(label, texts, secret) {
  const hash = createHash('sha256').update(label);
  for (const text of texts) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(text));
    hash.update(length).update(text);
  }
  return hash.update(secret).digest('hex');
}

/**
 * A number from 1 to 10. It follows from the nonce, to which the referee has committed before the
 * players chose, and from the players' entropy: neither side can control it, and everyone can recompute it.
 */
export function draw(nonce, entropies) {
  for (let i = 0; ; i++) {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(i);
    const bytes = createHash('sha256').update(Buffer.concat([Buffer.from('evenodd-number-v1'), nonce, ...entropies, counter])).digest();
    const byte = bytes.find((b) => b < 250); // each remainder is equally likely
    if (byte !== undefined) return byte % 10 + 1;
  }
}

export class Match {
  over = false;
  nonce = randomBytes(32);
  promised = {}; // the players' commitments to their entropy

  constructor(assignment) {
    this.assignment = assignment;
    [this.id, this.attempt] = [assignment.match_id, assignment.attempt ?? 1];
    this.players = [assignment.player_A, assignment.player_B];
    this.retries = assignment.retry_policy ?? { max_retries: 3, delay_sec: 2 };
    this.commitment = digest('evenodd-draw-v1', [assignment.league_id, this.id, String(this.attempt), agent.id], this.nonce);
    this.entropies = Object.fromEntries(this.players.map((p) => [p.player_id, Buffer.alloc(32)]));
  }

  async conduct() {
    try {
      let choices = [null, null];
      let replies = await this.both((player, opponent) => this.invite(player, opponent));
      if (replies.every(Boolean)) { // ask only after both have joined
        replies = choices = await this.both((player, opponent) => this.question(player, opponent));
      }
      const result = this.judge(choices, replies.map((reply) => !reply));
      await this.both((player) => this.notify(player, 'notify_match_result', this.message('GAME_OVER', player, { game_result: result, draw: this.proof() })));
      await this.report(result);
    } finally {
      this.over = true;
    }
  }

  /** Calls a function for both players at the same time. */
  both(f) {
    const [a, b] = this.players;
    return Promise.all([f(a, b), f(b, a)]);
  }

  message(messageType, player, members) {
    // One conversation per match and attempt. The access token shows the player that this is its referee.
    return agent.message(messageType, `conv-${this.id.toLowerCase()}-a${this.attempt}`,
      { match_id: this.id, game_type: 'even_odd', auth_token: player.access_token ?? 'none', ...members });
  }

  invite(player, opponent) {
    const { league_id, round_id } = this.assignment;
    const message = this.message('GAME_INVITATION', player, {
      league_id, round_id, attempt: this.attempt, role_in_match: player === this.players[0] ? 'PLAYER_A' : 'PLAYER_B',
      opponent_id: opponent.player_id, draw_commitment: this.commitment,
    });
    return this.ask(player, 'handle_game_invitation', message, 'GAME_JOIN_ACK', this.assignment.timeouts?.game_join_ack_timeout_sec ?? 5, (reply) => {
      if (typeof reply.accept !== 'boolean') throw new Refused(-32602, 'accept must be true or false', 'E002');
      if (reply.entropy_commitment) this.promised[player.player_id] = reply.entropy_commitment;
      return reply.accept;
    });
  }

  question(player, opponent) {
    const your_standings = player.standings ?? { wins: 0, losses: 0, draws: 0, points: 0 };
    const context = { opponent_id: opponent.player_id, round_id: this.assignment.round_id, your_standings };
    const message = this.message('CHOOSE_PARITY_CALL', player, { player_id: player.player_id, context });
    return this.ask(player, 'choose_parity', message, 'CHOOSE_PARITY_RESPONSE', this.assignment.timeouts?.move_timeout_sec ?? 30, (reply) => {
      if (reply.parity_choice !== 'even' && reply.parity_choice !== 'odd') throw new Refused(4004, 'parity_choice must be even or odd', 'E004');
      const promised = this.promised[player.player_id];
      if (promised) {
        const entropy = Buffer.from(String(reply.entropy), 'hex');
        if (entropy.length !== 32 || digest('evenodd-entropy-v1', [this.id, player.player_id], entropy) !== promised) {
          throw new Refused(-32602, 'entropy is not 32 bytes, those of entropy_commitment', 'E002');
        }
        this.entropies[player.player_id] = entropy;
      }
      return reply.parity_choice;
    });
  }

  /** Asks a player until accept takes its reply. Returns null if the player fails in every try. */
  async ask(player, method, message, action, seconds, accept) {
    const { max_retries, delay_sec } = this.retries;
    for (let retry = 1; retry <= max_retries + 1; retry++) {
      if (retry > 1) await sleep(delay_sec);
      let code, detail;
      try {
        const reply = await agent.call(player.endpoint, method, { ...message, timestamp: now(), deadline: now(seconds) }, seconds);
        if ((reply.match_id ?? this.id) !== this.id) throw new Refused(15, 'the answer is about another match', 'E015');
        return accept(reply);
      } catch (e) { // without a readable answer: no connection, HTTP 500, no JSON
        code = e instanceof Refused ? (Object.hasOwn(NAMES, e.errorCode) ? e.errorCode : 'E002') : e.name === 'TimeoutError' ? 'E001' : 'E009';
        detail = e.cause?.message ?? e.message;
      }
      say(`${this.id}: ${player.player_id} fails at ${method}: ${code} ${detail}`);
      const counts = { retry_count: Math.min(retry, max_retries), max_retries };
      this.notify(player, 'notify_game_error', this.message('GAME_ERROR', player, { // not awaited: it never delays the match
        player_id: player.player_id, affected_player: player.player_id, error_code: code, error_name: NAMES[code], error_description: NAMES[code],
        action_required: action, game_state: 'IN_PROGRESS', retryable: retry <= max_retries, ...counts,
        retry_info: { ...counts, next_retry_at: now(delay_sec) }, consequence: 'technical loss after the last retry', context: { detail },
      }));
    }
    return null;
  }

  async notify(player, method, message) {
    try {
      await agent.call(player.endpoint, method, message, 5);
    } catch (e) { // changes nothing: the player has the loss
      say(`${this.id}: ${player.player_id} did not acknowledge ${method}: ${e.cause?.message ?? e.message}`);
    }
  }

  /** Returns game_result: the player that alone named the parity of the number has won. */
  judge(choices, failed) {
    const ids = this.players.map((p) => p.player_id);
    let number = null, parity = null, status = 'TECHNICAL_LOSS', won = failed.map((f) => !f);
    let reason = `${ids.filter((_, i) => failed[i]).join(' and ')} gave no valid answer`;
    if (!failed.includes(true)) {
      number = draw(this.nonce, ids.map((id) => this.entropies[id]));
      parity = number % 2 ? 'odd' : 'even';
      won = choices.map((choice) => choice === parity);
      status = won[0] === won[1] ? 'DRAW' : 'WIN';
      reason = `the number was ${number} (${parity})`;
    }
    const winner = won[0] === won[1] ? null : ids[won.indexOf(true)];
    return { status, winner_player_id: winner, drawn_number: number, number_parity: parity, choices: { [ids[0]]: choices[0], [ids[1]]: choices[1] }, reason };
  }

  /** Reveals what the number follows from. */
  proof() {
    const entropies = Object.fromEntries(Object.entries(this.entropies).map(([id, entropy]) => [id, entropy.toString('hex')]));
    return { commitment: this.commitment, nonce: this.nonce.toString('hex'), entropies };
  }

  /** Reports the result until the manager acknowledges it. */
  async report(result) {
    const points = this.assignment.scoring ?? { win_points: 3, draw_points: 1, loss_points: 0, technical_loss_points: 0 };
    const { status, winner_player_id: winner, drawn_number, choices, reason } = result;
    const other = status === 'DRAW' ? points.draw_points : status === 'WIN' ? points.loss_points : points.technical_loss_points;
    const score = Object.fromEntries(Object.keys(choices).map((id) => [id, id === winner ? points.win_points : other]));
    say(`${this.id}: ${status}, ${reason}`);
    for (let pause = 2; ; pause = Math.min(2 * pause, 8)) {
      const { league_id, round_id } = this.assignment;
      try {
        await agent.call(agent.manager, 'report_match_result', agent.message('MATCH_RESULT_REPORT', `conv-${this.id.toLowerCase()}-a${this.attempt}`, {
          auth_token: agent.token, league_id, round_id, match_id: this.id, game_type: 'even_odd', attempt: this.attempt, draw: this.proof(),
          result: { winner, score, details: { drawn_number, choices, status, reason } },
        }));
        return;
      } catch (e) {
        say(`${this.id}: the manager answers the report: ${e.cause?.message ?? e.message}`);
        if (e instanceof Refused && e.errorCode !== 'E022') return; // E022: too many calls, later is better
      }
      await sleep(pause);
    }
  }
}

function endLeague(request) {
  agent.lastWords = `the league is over: the champion is ${request.champion?.display_name}`;
  return acknowledge();
}

export const agent = new Agent('referee', "{{NAME}}", {{PORT}}, { game_types: ['even_odd'], max_concurrent_matches: MATCHES_AT_ONCE }, {
  MATCH_ASSIGNMENT: ['MATCH_ASSIGNMENT_ACK', startMatch],
  GET_MATCH_STATE: ['MATCH_STATE', getState],
  ROUND_ANNOUNCEMENT: ['ROUND_ANNOUNCEMENT_ACK', acknowledge],
  LEAGUE_STANDINGS_UPDATE: ['STANDINGS_UPDATE_ACK', acknowledge],
  ROUND_COMPLETED: ['ROUND_COMPLETED_ACK', acknowledge],
  LEAGUE_COMPLETED: ['LEAGUE_COMPLETED_ACK', endLeague],
});

agent.forget = () => matches.clear();

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) agent.run(); // not when a test imports this file
