"""Leagues of Python functions: evenodd simulate for scripts and notebooks.

    import evenodd

    def copycat(question):
        return question["opponent"]["last"] or "even"

    result = evenodd.league(players=[copycat, "random", "frequency"], legs=10, seed=7)
    result.standings, result.ratings      # lists of dicts
    result.match("R1M1")                  # the conversation of a match
    result.report()                       # the report, in a notebook

A function gets each question as a dict (testdata/bots/README.md of evenodd describes it) and returns its choice: one
of question["valid_options"], or a text of at most question["text"] bytes. In games with draws, and in those of programs,
question["view"] is what the player may see: evenodd.league([f, "random"], game="exec:python3 nim.py").
The module needs Python 3.8 and the program evenodd, and nothing else. Each function plays as a program: this file,
started by evenodd, which passes the questions on to the process that has called league.
"""

import hmac
import html
import json
import os
import random
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

VARIABLE = "LEAGUE_BRIDGE"  # has the address and the key of the process that called league
LONGEST = 60000  # characters of a reply: evenodd reads lines of 64 KB
SLOW = 1  # seconds after which a call no longer keeps other functions waiting


def league(players, game="even_odd", legs=1, seed=None, program="evenodd", data=None, **options):
    """Plays a league, and returns its Result.

    A player is a function, the name of a strategy ("random", or "exec:./bot.py" for a program), or a dict with the
    members of an entrant (docs/leagues.md). A function is named after itself; a dict such as
    {"name": "Alice", "play": f} gives it another name.

    The folder data gets the records of the league; without it they are removed with the Result. Further options
    are flags of evenodd simulate: tournament="swiss", until_significant=True, bot_timeout="30s".

    Calls come one at a time, in threads of their own; only while a call takes more than a second may others run
    beside it. A function that raises an exception, or returns after its limit (bot_timeout), has no choice: the
    referee asks a few more times, then it loses the match, and Result.errors says why. The same seed gives the same result if functions use no other chance than
    random.Random(question["seed"]).
    """
    entrants, functions = _entrants(players)
    if seed is None:
        seed = random.SystemRandom().randrange(2**53)
    folder = tempfile.TemporaryDirectory(prefix="evenodd-")  # of mode 0700
    data = os.path.abspath(data or os.path.join(folder.name, "data"))
    names = {name: os.path.join(folder.name, name) for name in ("entrants.yaml", "out", "err", "socket")}
    with open(names["entrants.yaml"], "w", encoding="utf-8") as file:
        json.dump({"entrants": entrants}, file)  # JSON is YAML
    if options.get("until_significant") and legs == 1:
        legs = 200
    flags = {"legs": legs, "concurrency": 1, **options}
    if flags.get("tournament", "round-robin") != "round-robin":
        del flags["legs"]
    command = [program, "simulate", "--quiet", "--format=json", "--entrants", names["entrants.yaml"], "--data", data,
               "--game", game, "--seed", str(seed), "--exec-env", VARIABLE]
    for name, value in flags.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        command.append("--%s=%s" % (name.replace("_", "-"), text))
    key, errors = secrets.token_hex(16), []
    with _listen(names["socket"]) as server, open(names["out"], "wb") as out, open(names["err"], "wb") as err:
        address = server.getsockname()
        address = address if isinstance(address, str) else str(address[1])
        environment = dict(os.environ, **{VARIABLE: key + " " + address})
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        threading.Thread(target=_serve, args=(server, functions, key, errors), daemon=True).start()
        try:
            process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    for function in functions:
        question = function["running"]
        if question:
            _note(errors, function, question, "TimeoutError: the function has not returned")
    with open(names["err"], encoding="utf-8") as file:
        problem = file.read()
    if process.returncode not in (0, 3):  # 3: with --strict
        raise RuntimeError(problem or "evenodd ended with code %d" % process.returncode)
    with open(names["out"], encoding="utf-8") as file:
        return Result(json.load(file), list(errors), program, data, folder, {e["name"]: e["shown"] for e in functions})


class Result:
    """The results of a league, as lists of dicts with the members of evenodd simulate --format json."""

    def __init__(self, document, errors, program, data, folder, shown):
        self.document, self.seed, self.errors = document, document["seed"], errors
        self.standings, self.matches = document["standings"], document["results"]
        self.head_to_head, self.ratings = document["head_to_head"], document["statistics"]["ratings"]
        self.champion, self.sentence = document["champion"], document["statistics"]["sentence"]
        for row in self.standings + self.ratings:  # instead of the command line of the bridge
            row["strategy"] = shown.get(row["display_name"], row.get("strategy", ""))
        document["statistics"].pop("strategies", None)  # all functions would have one each
        self._program, self._data, self._folder = program, data, folder

    def report(self):
        """The report of the league: an HTML document, which a notebook shows."""
        return Report(self._run("report", self._data, "--output=-"))

    def match(self, match_id):
        """The conversation of a match, such as "R1M1"."""
        return Text(self._run("replay", match_id, "--data", self._data))

    def _run(self, *arguments):
        done = subprocess.run([self._program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    def __repr__(self):
        rows = ["%3d  %-24s %4d points" % (r["rank"], r["display_name"], r["points"]) for r in self.standings]
        return "\n".join(rows + [self.sentence])

    def _repr_html_(self):
        return Text(repr(self))._repr_html_()


class Text(str):
    """A text that a notebook shows with its lines."""

    def _repr_html_(self):
        return "<pre>%s</pre>" % html.escape(self)


class Report(str):
    """An HTML document that a notebook shows in a frame, apart from its own page."""

    def _repr_html_(self):
        return '<iframe sandbox="allow-scripts" srcdoc="%s" style="width:100%%;height:40em"></iframe>' % html.escape(self)


def _entrants(players):
    """The entrants of a league, and its functions with the names under which they play."""
    entrants, functions, taken = [], [], set()
    for player in players:
        entrant = dict(player) if isinstance(player, dict) else {"play": player}
        play = entrant.pop("play", None)
        name = entrant.get("name") or getattr(play, "__name__", str(play)).strip("<>")[:40]
        if isinstance(play, str) and play.startswith("exec:"):
            # evenodd starts programs in the folder of the entrants file: paths become absolute
            words = [os.path.abspath(w) if os.path.exists(w) else w for w in shlex.split(play[5:])]
            entrant["exec"] = " ".join(map(shlex.quote, words))
            name = entrant.get("name") or os.path.basename(words[-1])[:40]
        elif isinstance(play, str):
            entrant["strategy"] = play
        elif callable(play):
            bridge = [sys.executable, "-I", "-S", os.path.abspath(__file__), str(len(functions))]
            entrant["exec"] = " ".join(map(shlex.quote, bridge))
        elif play is not None:
            raise TypeError("a player is a function, the name of a strategy or a dict, not %r" % (play,))
        number, entrant["name"] = 2, name
        while entrant["name"].casefold() in taken:
            number, entrant["name"] = number + 1, "%s %d" % (name, number)
        taken.add(entrant["name"].casefold())
        if callable(play):
            shown = "function " + getattr(play, "__name__", type(play).__name__)
            functions.append({"play": play, "name": entrant["name"], "shown": shown, "lock": threading.Lock(),
                              "asked": None, "running": None})
        entrants.append(entrant)
    return entrants, functions


def _listen(path):
    """A socket that only this user reaches; elsewhere than on Windows by its folder, there by the key."""
    if os.name == "nt":
        return socket.create_server(("127.0.0.1", 0))
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(128)
    return server


def _serve(server, functions, key, errors):
    """Starts a thread for each bridge that connects, until the server is closed."""
    turn = threading.Lock()
    server.settimeout(0.2)  # closing a socket does not end accept on all systems
    while True:
        try:
            connection = server.accept()[0]
        except socket.timeout:
            continue
        except OSError:
            return  # the league is over
        threading.Thread(target=_answer, args=(connection, functions, key, errors, turn), daemon=True).start()


def _answer(connection, functions, key, errors, turn):
    """Answers the questions of a bridge until it ends. A stranger gets no answer."""
    with connection, connection.makefile("rb") as lines:
        try:
            for line in lines:
                given, index, question = json.loads(line)
                if not hmac.compare_digest(given, key):
                    return
                reply = _ask(functions[index], question, errors, turn)
                connection.sendall(json.dumps(reply).encode() + b"\n")
        except (OSError, ValueError, TypeError, IndexError):
            return  # the bridge has ended, perhaps because the answer came too late


def _ask(function, question, errors, turn):
    """The reply of a function to a question. Calls of one function never overlap."""
    if question["match_id"] == "preflight":  # a trial before the league
        return {"choice": (question["valid_options"] or ["hello"])[0]}
    begun, limit = time.monotonic(), question["time_limit_ms"] / 1000
    function["asked"] = question
    with function["lock"]:
        if function["asked"] is not question:
            return {"error": "another question came meanwhile"}  # this one waited for an earlier call too long
        alone = turn.acquire(timeout=min(SLOW, limit / 4))
        function["running"] = question
        try:
            return _call(function, question)
        except (Exception, SystemExit) as problem:  # pylint: disable=broad-except
            _note(errors, function, question, traceback.format_exc())
            return {"error": traceback.format_exception_only(type(problem), problem)[-1].strip()}
        finally:
            function["running"] = None
            if alone:
                turn.release()
            took = time.monotonic() - begun
            if took > limit:
                _note(errors, function, question, "TimeoutError: the choice took %.1f s, and had %.1f s" % (took, limit))


def _call(function, question):
    choice = function["play"](question)
    if not isinstance(choice, (str, dict)):
        raise TypeError("a choice is a str, not %r" % (choice,))
    reply = choice if isinstance(choice, dict) else {"choice": choice}
    if len(json.dumps(reply)) > LONGEST:  # dumps raises TypeError for what is not JSON
        raise ValueError("a choice with its reason has at most %d characters" % LONGEST)
    return reply


def _note(errors, function, question, text):
    """Adds the first error of a function in a match: the referee repeats the question."""
    if not any((e["player"], e["match_id"]) == (function["name"], question["match_id"]) for e in errors):
        errors.append({"player": function["name"], "player_id": question["player_id"],
                       "match_id": question["match_id"], "traceback": text})


def _bridge(index):
    """Passes the questions on standard input to the process that called league, and prints its answers."""
    key, address = os.environ[VARIABLE].split(" ", 1)
    if os.name == "nt":
        connection = socket.create_connection(("127.0.0.1", int(address)))
    else:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
    with connection, connection.makefile("rwb") as stream:
        for line in sys.stdin.buffer:
            stream.write(json.dumps([key, index, json.loads(line)]).encode() + b"\n")
            stream.flush()
            reply = json.loads(stream.readline() or '{"error": "the caller of the league has ended"}')
            if "error" in reply:  # no legal choice: evenodd names it as the cause
                reply = {"choice": "error: " + reply["error"][:200]}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    _bridge(int(sys.argv[1]))
