"""A player for leagues of evenodd. Change choose(); the rest speaks the protocol."""

import json
import random

from agent import Agent, Refused, now, say, text


def choose(options, context, history):
    """Return one of options: ["even", "odd"] in even_odd, the allowed moves in other games.

    context is what the referee says about the match, such as context["opponent_id"].
    history has the results so far, oldest first: status, winner_player_id, drawn_number, choices.
    """
    return random.choice(options)


matches = {}  # by match_id: a player plays many matches at the same time
history = []


def join(request):
    """GAME_INVITATION"""
    match_id, conversation = text(request, "match_id"), text(request, "conversation_id")
    # A referee repeats a call if the answer got lost, so a known match is no error. A match
    # that is played again has another conversation, and begins anew.
    if match_id not in matches or matches[match_id]["conversation"] != conversation:
        matches[match_id] = {"conversation": conversation, "choices": {}, "over": False}
    return reply(request, accept=True, arrival_timestamp=now())


def choose_parity(request):
    """CHOOSE_PARITY_CALL, the question of even_odd"""
    return reply(request, parity_choice=answer(request, "", ["even", "odd"], request.get("context")))


def make_move(request):
    """GAME_MOVE_CALL, the question of all other games: a match may have several"""
    move = request["move_request"]
    choice = answer(request, json.dumps(move, sort_keys=True), move["valid_options"], move.get("context"))
    return reply(request, game_type=request.get("game_type"), move_data={"move_type": move.get("move_type"), "choice": choice})


def answer(request, question, options, context):
    match = matches.get(text(request, "match_id"))
    if not match:
        raise Refused(4003, "MATCH_NOT_FOUND", "E006")
    if match["over"]:
        raise Refused(4005, "INVALID_MATCH_STATE", "E008")
    if question not in match["choices"]:  # a repeated question gets the same answer
        match["choices"].setdefault(question, choose(options, context or {}, history))
    return match["choices"][question]


def end_match(request):
    """GAME_OVER: winner, number and choices are null after a technical loss"""
    match, result = matches.get(text(request, "match_id")), request.get("game_result") or {}
    if match and not match["over"]:  # a repeated result counts once
        match["over"] = True
        history.append(result)
        say(f"{request['match_id']}: {result.get('status')}, {result.get('reason')}")
    return acknowledge(request)


def end_league(request):
    """LEAGUE_COMPLETED"""
    rows = request.get("final_standings") or []
    own = next((row for row in rows if row.get("player_id") == agent.id), {})
    agent.last_words = f"the league is over: rank {own.get('rank')} of {len(rows)}, {own.get('points')} points"
    return acknowledge(request)


def acknowledge(request):
    return reply(request, status="ACKNOWLEDGED")


def reply(request, **members):
    """Replies about a match name it. A referee gets back the token that it has sent, never that of this player."""
    match = {"match_id": text(request, "match_id")} if "match_id" in request else {}
    return {"auth_token": request.get("auth_token") or "none", **match, **members}


agent = Agent("player", "{{NAME}}", {{PORT}}, {"game_types": ["even_odd"]}, {  # add "rock_paper_scissors" to play it
    "GAME_INVITATION": ("GAME_JOIN_ACK", join),
    "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_RESPONSE", choose_parity),
    "GAME_MOVE_CALL": ("GAME_MOVE_RESPONSE", make_move),
    "GAME_OVER": ("GAME_OVER_ACK", end_match),
    "GAME_ERROR": ("GAME_ERROR_ACK", acknowledge),
    "ROUND_ANNOUNCEMENT": ("ROUND_ANNOUNCEMENT_ACK", acknowledge),
    "LEAGUE_STANDINGS_UPDATE": ("STANDINGS_UPDATE_ACK", acknowledge),
    "ROUND_COMPLETED": ("ROUND_COMPLETED_ACK", acknowledge),
    "LEAGUE_COMPLETED": ("LEAGUE_COMPLETED_ACK", end_league),
})

agent.forget = lambda: (matches.clear(), history.clear())

if __name__ == "__main__":
    agent.run()
