"""A referee of even_odd for leagues of evenodd."""

import hashlib
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from agent import Agent, Refused, acknowledge, now, say, text

MATCHES_AT_ONCE = 5
NAMES = {"E001": "TIMEOUT_ERROR", "E002": "INVALID_FIELD_TYPE", "E004": "INVALID_PARITY_CHOICE",
         "E009": "CONNECTION_ERROR", "E015": "MATCH_ID_MISMATCH"}
matches = {}  # by match_id and attempt
lock = threading.Lock()


def start_match(assignment):
    """MATCH_ASSIGNMENT: answers at once, and conducts the match in a thread of its own."""
    match_id, attempt = text(assignment, "match_id"), assignment.get("attempt", 1)
    if not agent.token:  # it has restarted, and could not report the result
        raise Refused(4005, "INVALID_MATCH_STATE", "E008")
    if assignment.get("game_type") != "even_odd":
        return {"status": "REJECTED", "match_id": match_id, "reason": "this referee knows only even_odd"}
    with lock:
        match = matches.get((match_id, attempt))  # the same assignment again starts no second match
        if not match:
            if sum(not m.over for m in list(matches.values())) >= MATCHES_AT_ONCE:
                return {"status": "BUSY", "match_id": match_id}
            match = matches[match_id, attempt] = Match(assignment)
            threading.Thread(target=match.conduct, daemon=True).start()
    return {"status": "ACCEPTED", "match_id": match_id, "attempt": attempt, "draw_commitment": match.commitment}


def get_state(request):
    """GET_MATCH_STATE: only for callers with this referee's token, and without choices."""
    if not agent.token or not secrets.compare_digest(str(request.get("auth_token")), agent.token):
        raise Refused(4001, "AUTH_TOKEN_INVALID", "E012")
    match = next((m for m in reversed(list(matches.values())) if m.id == text(request, "match_id")), None)
    if not match:
        raise Refused(4003, "MATCH_NOT_FOUND", "E006")
    return {"match_id": match.id, "attempt": match.attempt, "state": "FINISHED" if match.over else "IN_PROGRESS"}


def digest(label, *texts, secret):
    """SHA-256 of a label, texts that follow their lengths, and a secret: a commitment to the secret."""
    parts = [len(t.encode()).to_bytes(2, "big") + t.encode() for t in texts]
    return hashlib.sha256(label.encode() + b"".join(parts) + secret).hexdigest()


def draw(nonce, entropies):
    """A number from 1 to 10. It follows from the nonce, to which the referee has committed before the
    players chose, and from the players' entropy: neither side can control it, and everyone can recompute it."""
    i = 0
    while True:
        for byte in hashlib.sha256(b"evenodd-number-v1" + nonce + b"".join(entropies) + i.to_bytes(4, "big")).digest():
            if byte < 250:  # each remainder is equally likely
                return byte % 10 + 1
        i += 1


class Match:
    def __init__(self, assignment):
        self.assignment, self.id, self.attempt = assignment, assignment["match_id"], assignment.get("attempt", 1)
        self.players = [assignment["player_A"], assignment["player_B"]]
        self.retries = assignment.get("retry_policy") or {"max_retries": 3, "delay_sec": 2}
        self.nonce, self.over = secrets.token_bytes(32), False
        self.commitment = digest("evenodd-draw-v1", assignment["league_id"], self.id, str(self.attempt), agent.id, secret=self.nonce)
        self.promised = {}  # the players' commitments to their entropy
        self.entropies = {p["player_id"]: bytes(32) for p in self.players}

    def conduct(self):
        try:
            choices = dict.fromkeys(self.entropies)
            replies = self.both(self.invite)
            if all(replies.values()):  # ask only after both have joined
                replies = choices = self.both(self.question)
            result = self.judge(choices, failed=[player for player, reply in replies.items() if not reply])
            self.both(lambda player: self.tell(player, result))
            self.report(result)
        finally:
            self.over = True

    def both(self, function):
        """Calls function for both players at the same time. Returns its results by player_id."""
        with ThreadPoolExecutor(2) as pool:
            return dict(zip(self.entropies, pool.map(function, self.players)))

    def message(self, message_type, player, **members):
        # One conversation per match and attempt. The access token shows the player that this is its referee.
        return agent.message(message_type, f"conv-{self.id.lower()}-a{self.attempt}", match_id=self.id, game_type="even_odd",
                             auth_token=player.get("access_token") or "none", **members)

    def invite(self, player):
        opponent = self.players[player is self.players[0]]
        message = self.message("GAME_INVITATION", player, league_id=self.assignment["league_id"], round_id=self.assignment["round_id"],
                               role_in_match="PLAYER_A" if player is self.players[0] else "PLAYER_B", attempt=self.attempt,
                               opponent_id=opponent["player_id"], draw_commitment=self.commitment)
        return self.ask(player, "handle_game_invitation", message, "GAME_JOIN_ACK", self.joined, "game_join_ack_timeout_sec", 5)

    def joined(self, player, reply):
        if not isinstance(reply.get("accept"), bool):
            raise Refused(-32602, "accept must be true or false", "E002")
        if reply.get("entropy_commitment"):
            self.promised[player] = reply["entropy_commitment"]
        return reply["accept"]

    def question(self, player):
        opponent = self.players[player is self.players[0]]
        context = {"opponent_id": opponent["player_id"], "round_id": self.assignment["round_id"], "your_standings": player.get("standings") or
                   {"wins": 0, "losses": 0, "draws": 0, "points": 0}}
        message = self.message("CHOOSE_PARITY_CALL", player, player_id=player["player_id"], context=context)
        return self.ask(player, "choose_parity", message, "CHOOSE_PARITY_RESPONSE", self.chosen, "move_timeout_sec", 30)

    def chosen(self, player, reply):
        if reply.get("parity_choice") not in ("even", "odd"):
            raise Refused(4004, "parity_choice must be even or odd", "E004")
        if player in self.promised:
            try:
                entropy = bytes.fromhex(reply["entropy"])
            except (KeyError, TypeError, ValueError):
                entropy = b""
            if len(entropy) != 32 or digest("evenodd-entropy-v1", self.id, player, secret=entropy) != self.promised[player]:
                raise Refused(-32602, "entropy is not 32 bytes, those of entropy_commitment", "E002")
            self.entropies[player] = entropy
        return reply["parity_choice"]

    def ask(self, player, method, message, action, accept, limit, default):
        """Asks a player until accept takes its reply. Returns None if the player fails in every try."""
        seconds = (self.assignment.get("timeouts") or {}).get(limit, default)
        most = self.retries["max_retries"]
        for retry in range(1, most + 2):
            message.update(timestamp=now(), deadline=now(after=seconds))
            try:
                reply = agent.call(player["endpoint"], method, message, seconds)
                if reply.get("match_id", self.id) != self.id:
                    raise Refused(15, "the answer is about another match", "E015")
                return accept(player["player_id"], reply)
            except Refused as e:
                code, detail = e.error_code if e.error_code in NAMES else "E002", str(e)
            except TimeoutError as e:
                code, detail = "E001", str(e)
            except (OSError, ValueError) as e:  # no connection, HTTP 500, no JSON
                code, detail = "E009", str(e)
            say(f"{self.id}: {player['player_id']} fails at {method}: {code} {detail}")
            counts = {"retry_count": min(retry, most), "max_retries": most}
            error = self.message("GAME_ERROR", player, player_id=player["player_id"], affected_player=player["player_id"], error_code=code,
                                 error_name=NAMES[code], error_description=NAMES[code], action_required=action, game_state="IN_PROGRESS",
                                 retryable=retry <= most, retry_info={**counts, "next_retry_at": now(after=self.retries["delay_sec"])},
                                 consequence="technical loss after the last retry", context={"detail": detail}, **counts)
            threading.Thread(target=self.notify, args=(player, "notify_game_error", error), daemon=True).start()
            if retry <= most:
                time.sleep(self.retries["delay_sec"])
        return None

    def notify(self, player, method, message):
        try:
            agent.call(player["endpoint"], method, message, 5)
        except (Refused, OSError, ValueError) as e:  # changes nothing: the player has the loss
            say(f"{self.id}: {player['player_id']} did not acknowledge {method}: {e}")

    def judge(self, choices, failed):
        """Returns game_result: the player that alone named the parity of the number has won."""
        number = parity = None
        if failed:
            status, winners = "TECHNICAL_LOSS", [p for p in choices if p not in failed] if len(failed) == 1 else []
            reason = " and ".join(failed) + " gave no valid answer"
        else:
            number = draw(self.nonce, self.entropies.values())
            parity = "odd" if number % 2 else "even"
            winners = [p for p, choice in choices.items() if choice == parity]
            status = "WIN" if len(winners) == 1 else "DRAW"
            reason = f"the number was {number} ({parity})"
        return {"status": status, "winner_player_id": winners[0] if len(winners) == 1 else None, "drawn_number": number,
                "number_parity": parity, "choices": choices, "reason": reason}

    def proof(self):
        """Reveals what the number follows from."""
        return {"commitment": self.commitment, "nonce": self.nonce.hex(), "entropies": {p: e.hex() for p, e in self.entropies.items()}}

    def tell(self, player, result):
        self.notify(player, "notify_match_result", self.message("GAME_OVER", player, game_result=result, draw=self.proof()))

    def report(self, result):
        """Reports the result until the manager acknowledges it."""
        points = self.assignment.get("scoring") or {"win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0}
        lost = points["technical_loss_points"] if result["status"] == "TECHNICAL_LOSS" else points["loss_points"]
        score = {p: points["draw_points"] if result["status"] == "DRAW" else lost for p in self.entropies}
        if result["winner_player_id"]:
            score[result["winner_player_id"]] = points["win_points"]
        details = {name: result[name] for name in ("drawn_number", "choices", "status", "reason")}
        say(f"{self.id}: {result['status']}, {result['reason']}")
        for pause in (2, 4, 8, *[8] * 1000):
            message = agent.message("MATCH_RESULT_REPORT", f"conv-{self.id.lower()}-a{self.attempt}", auth_token=agent.token,
                                    league_id=self.assignment["league_id"], round_id=self.assignment["round_id"], match_id=self.id,
                                    game_type="even_odd", attempt=self.attempt, draw=self.proof(),
                                    result={"winner": result["winner_player_id"], "score": score, "details": details})
            try:
                agent.call(agent.manager, "report_match_result", message)
                return
            except Refused as e:
                say(f"{self.id}: the manager answers the report: {e}")
                if e.error_code != "E022":  # E022: too many calls, later is better
                    return
            except (OSError, ValueError) as e:
                say(f"{self.id}: no answer to the report ({e}): trying again")
            time.sleep(pause)


def end_league(request):
    champion = request.get("champion")
    agent.last_words = "the league is over"  # without a champion too
    if isinstance(champion, dict):
        agent.last_words += f": the champion is {champion.get('display_name')}"
    return acknowledge(request)


agent = Agent("referee", "{{NAME}}", {{PORT}}, {"game_types": ["even_odd"], "max_concurrent_matches": MATCHES_AT_ONCE}, {
    "MATCH_ASSIGNMENT": ("MATCH_ASSIGNMENT_ACK", start_match),
    "GET_MATCH_STATE": ("MATCH_STATE", get_state),
    "ROUND_ANNOUNCEMENT": ("ROUND_ANNOUNCEMENT_ACK", acknowledge),
    "LEAGUE_STANDINGS_UPDATE": ("STANDINGS_UPDATE_ACK", acknowledge),
    "ROUND_COMPLETED": ("ROUND_COMPLETED_ACK", acknowledge),
    "LEAGUE_COMPLETED": ("LEAGUE_COMPLETED_ACK", end_league),
})

agent.forget = matches.clear

if __name__ == "__main__":
    agent.run()
