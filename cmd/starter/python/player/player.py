"""A player for leagues of evenodd. Change choose(); the rest speaks the protocol."""

import json
import random

from agent import Agent, Refused, acknowledge, now, say, text


def choose(options, context, history):
    """Return one of options: ["even", "odd"] in even_odd, the allowed moves in other games.

    context is what the referee says about the match, such as context["opponent_id"]. In a game of cards, dice or words,
    and in one that is a program, context["view"] is what you may see, and context["turn"] the number of the turn.
    history has the results so far, oldest first: status, winner_player_id, drawn_number, choices.
    """
    return random.choice(options)


def write(limit, examples, context, history):
    """Return one line of at most limit bytes, where a game asks for words in place of options.

    examples are lines that the game suggests; many games have none.
    """
    return random.choice(examples or ["pass"])


matches = {}  # by match_id and token: a player plays many matches at the same time
history = []


def key(request):  # a caller without the token of the referee cannot reach its match
    return text(request, "match_id"), str(request.get("auth_token"))


def join(request):
    """GAME_INVITATION"""
    match, conversation = matches.get(key(request)), request["conversation_id"]
    # A referee repeats a call if the answer got lost, so a known match is no error. A match
    # that is played again has another conversation, and begins anew.
    if not match or match["conversation"] != conversation:
        matches[key(request)] = {"conversation": conversation, "choices": {}, "over": False}
    return {"accept": True, "arrival_timestamp": now()}


def choose_parity(request):
    """CHOOSE_PARITY_CALL, the question of even_odd"""
    return {"parity_choice": answer(request, "", ["even", "odd"], request.get("context"))}


def make_move(request):
    """GAME_MOVE_CALL, the question of all other games: a match may have several"""
    move = request["move_request"]
    options, limit, context = move.get("valid_options"), move.get("text"), move.get("context") or {}
    if not options and not limit:
        raise Refused(-32602, "move_request needs valid_options or text", "E002")
    question = json.dumps(move, sort_keys=True)
    choice = answer(request, question, options or context.get("examples", []), context, limit)
    return {"game_type": request.get("game_type"), "move_data": {"move_type": move.get("move_type"), "choice": choice}}


def answer(request, question, options, context, limit=None):
    match = matches.get(key(request))
    if not match:
        raise Refused(4003, "MATCH_NOT_FOUND", "E006")
    if match["over"]:
        raise Refused(4005, "INVALID_MATCH_STATE", "E008")
    if question not in match["choices"]:  # a repeated question gets the same answer
        decided = write(limit, options, context or {}, history) if limit else choose(options, context or {}, history)
        match["choices"].setdefault(question, decided)
    return match["choices"][question]


def report_error(request):
    """GAME_ERROR: the referee got no valid answer, and may ask again"""
    match = matches.get(key(request))
    if match and request.get("error_code") == "E010":  # the move was refused: decide anew
        match["choices"].clear()
    say(f"{request.get('match_id')}: {request.get('error_code')}, {request.get('error_description')}")
    return acknowledge(request)


def end_match(request):
    """GAME_OVER: winner, number and choices are null after a technical loss"""
    match, result = matches.get(key(request)), request.get("game_result") or {}
    if match and not match["over"]:  # a repeated result counts once
        match["over"] = True
        history.append(result)
        say(f"{request['match_id']}: {outcome(result)}, {result.get('reason')}")
    return acknowledge(request)


def outcome(result):  # status is WIN for the loser too
    if result.get("status") == "DRAW":
        return "drawn"
    return "won" if result.get("winner_player_id") == agent.id else "lost"


def end_league(request):
    """LEAGUE_COMPLETED: tied players have a shared_rank"""
    table = request.get("final_standings")
    rows = [row for row in table if isinstance(row, dict)] if isinstance(table, list) else []  # the league is over without one too
    own = next((row for row in rows if row.get("player_id") == agent.id), {})
    rank = f"shared rank {own['shared_rank']}" if own.get("shared_rank") else f"rank {own.get('rank')}"
    place = f": {rank} of {request.get('total_players') or len(rows)}, {own.get('points')} points" if own else ""
    agent.last_words = "the league is over" + place
    return acknowledge(request)


agent = Agent("player", "{{NAME}}", {{PORT}}, {"game_types": ["even_odd"]}, {  # add "rock_paper_scissors" to play it
    "GAME_INVITATION": ("GAME_JOIN_ACK", join),
    "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_RESPONSE", choose_parity),
    "GAME_MOVE_CALL": ("GAME_MOVE_RESPONSE", make_move),
    "GAME_OVER": ("GAME_OVER_ACK", end_match),
    "GAME_ERROR": ("GAME_ERROR_ACK", report_error),
    "ROUND_ANNOUNCEMENT": ("ROUND_ANNOUNCEMENT_ACK", acknowledge),
    "LEAGUE_STANDINGS_UPDATE": ("STANDINGS_UPDATE_ACK", acknowledge),
    "ROUND_COMPLETED": ("ROUND_COMPLETED_ACK", acknowledge),
    "LEAGUE_COMPLETED": ("LEAGUE_COMPLETED_ACK", end_league),
})

agent.forget = lambda: (matches.clear(), history.clear())

if __name__ == "__main__":
    agent.run()
