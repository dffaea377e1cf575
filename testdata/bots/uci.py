#!/usr/bin/env python3
"""Lets a chess engine play the game of testdata/games/chess.mjs: any program that speaks UCI.

    exec:'python3 testdata/bots/uci.py stockfish --level 5'
    exec:'python3 testdata/bots/uci.py gnuchess --uci --movetime 200'

Further arguments are those of the engine. For a repeatable choice give --nodes in place of --movetime."""
import argparse
import json
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser(description="A chess engine as a strategy.")
parser.add_argument("engine", help="the program, such as stockfish")
parser.add_argument("--level", type=int, help="the skill level of Stockfish, from 0 to 20")
parser.add_argument("--movetime", type=int, help="milliseconds for a move (100; with a time bank a fortieth of it)")
parser.add_argument("--nodes", type=int, help="positions to search for a move, in place of a time")
flags, rest = parser.parse_known_args()

path = shutil.which(flags.engine, path=f"{os.environ.get('PATH', os.defpath)}:/usr/games")  # where Debian has games
if path is None:
    sys.exit(f"no program {flags.engine}: install it, for example by apt-get install {flags.engine}")
engine = subprocess.Popen([path, *rest], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def say(*commands):
    for command in commands:
        print(command, file=engine.stdin, flush=True)


def hear(word):
    """Returns the words of the next line that begins with a word."""
    for line in engine.stdout:
        words = line.split()
        if words and words[0] == word:
            return words
    sys.exit(f"{flags.engine} has ended")


say("uci")
hear("uciok")
if flags.level is not None:
    say(f"setoption name Skill Level value {flags.level}")
match = None
for line in sys.stdin:
    question = json.loads(line)
    if question["match_id"] != match:
        match = question["match_id"]
        say("ucinewgame", "isready")
        hear("readyok")
    moves = question["view"]["moves"]
    share = question["time_left_ms"] // 40 if "time_left_ms" in question else 100
    milliseconds = max(min(flags.movetime or share, question["time_limit_ms"] // 2), 1)
    limit = f"nodes {flags.nodes}" if flags.nodes else f"movetime {milliseconds}"
    say(f"position startpos moves {moves}" if moves else "position startpos", f"go {limit}")
    print(json.dumps({"choice": hear("bestmove")[1]}), flush=True)
say("quit")  # GNU Chess does not end with its input
engine.wait()
