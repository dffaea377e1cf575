"""What players and referees share: registration, JSON-RPC 2.0 over HTTP, the envelope of messages."""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
import uuid
from datetime import datetime, timedelta, timezone
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

MAX_REQUEST, MAX_REPLY = 1 << 18, 1 << 16  # bytes: refuse what is larger
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


class Refused(Exception):
    """An error of JSON-RPC, with an error code of the protocol such as E003 if there is one."""

    def __init__(self, code, message, error_code=None):
        super().__init__(message)
        self.code, self.error_code = code, error_code


def now(after=0):
    """The time in UTC, the only one that the protocol knows, after so many seconds."""
    return (datetime.now(timezone.utc) + timedelta(seconds=after)).strftime("%Y-%m-%dT%H:%M:%SZ")


def say(line):
    line = "".join(c if c.isprintable() else "?" for c in line)  # texts of others must not control the terminal
    print(line + "\n", end="", flush=True)  # one write, so that lines of several threads do not mix


def text(message, member):
    """A member of a message that must be there, and must be a string."""
    if message.get(member) is None:
        raise Refused(-32602, member + " is missing", "E003")
    if not isinstance(message[member], str):
        raise Refused(-32602, member + " must be a string", "E002")
    return message[member]


def post(url, body, timeout):
    """Returns the body of the response. Follows no redirect: the URL of an agent must not lead elsewhere."""
    ends, at = time.monotonic() + timeout, urlsplit(url)
    connection = (HTTPSConnection if at.scheme == "https" else HTTPConnection)(at.netloc, timeout=timeout)
    with contextlib.closing(connection), contextlib.suppress(TimeoutError):
        connection.connect()
        # The limit of a socket is for one read: the timer ends a response that drips in.
        timer = threading.Timer(max(0, ends - time.monotonic()), shut, [connection.sock])
        timer.daemon = True
        timer.start()
        try:
            connection.request("POST", at.path + "?" * bool(at.query) + at.query, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read(MAX_REPLY + 1)
        except (OSError, HTTPException):
            if time.monotonic() < ends:
                raise
        finally:
            timer.cancel()
    if time.monotonic() >= ends:
        raise TimeoutError("no answer in time")
    if response.status != 200 or len(answer) > MAX_REPLY:
        raise ValueError(f"HTTP status {response.status}" if response.status != 200 else "the response is too large")
    return answer


def shut(connected):
    with contextlib.suppress(OSError):  # it is closed
        connected.shutdown(socket.SHUT_RDWR)


class Agent:
    """handlers has a reply type and a function for each message type that the agent serves."""

    def __init__(self, role, name, port, meta, handlers):
        self.role, self.name, self.port, self.meta, self.handlers = role, name, port, meta, handlers
        self.id = re.sub(r"\W+", "-", name).strip("-").lower() or role  # until the manager gives one
        self.token = self.league = self.manager = self.last_words = None
        self.forget = lambda: None  # forgets the matches of a league
        self.over = threading.Event()

    def message(self, message_type, conversation_id, **members):
        return {"protocol": "league.v2", "message_type": message_type, "sender": f"{self.role}:{self.id}",
                "timestamp": now(), "conversation_id": conversation_id, **members}

    def handle(self, request):
        """Returns the reply to a message."""
        if request.get("message_type") not in self.handlers:  # not the method: a method has several names
            raise Refused(-32601, "Method not found")
        if request.get("protocol") != "league.v2":
            raise Refused(18, "PROTOCOL_VERSION_MISMATCH", "E018")
        if not UTC.fullmatch(text(request, "timestamp")):
            raise Refused(21, "timestamp must be UTC", "E021")
        text(request, "sender")
        reply_type, handler = self.handlers[request["message_type"]]
        conversation = text(request, "conversation_id")
        members = handler(request)
        return self.message(reply_type, conversation, **{self.role + "_id": self.id}, **members)

    def respond(self, body):
        """Returns the JSON-RPC response to a request or a batch; None if it gets no response."""
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": None}
        if isinstance(request, list) and request:
            return [r for r in map(self.respond_one, request) if r] or None
        return self.respond_one(request)

    def respond_one(self, request):
        call = request if isinstance(request, dict) else {}
        response = {"jsonrpc": "2.0", "id": call.get("id")}
        try:
            if call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str):
                raise Refused(-32600, "Invalid Request")
            if call["method"] == "ping":
                response["result"] = self.message("PONG", "conv-ping", status="ok")
            elif isinstance(call.get("params"), dict):
                response["result"] = self.handle(call["params"])
            else:
                raise Refused(-32602, "params must be an object", "E002")
        except Refused as e:
            response["error"] = {"code": e.code, "message": str(e), "data": {"error_code": e.error_code, "error_description": str(e)}}
        except Exception:  # a mistake in a handler costs one answer, not the process
            traceback.print_exc()
            response["error"] = {"code": -32603, "message": "Internal error"}
        return None if "method" in call and "id" not in call else response  # a call without id wants no response

    def call(self, url, method, message, timeout=10):
        """Calls another agent. Raises Refused for an error, OSError or ValueError without a readable response."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": message, "id": 1})
        try:
            response = json.loads(post(url, body.encode(), timeout))
        except (HTTPException, RecursionError) as e:
            raise ValueError(f"no JSON-RPC response: {e!r:.99}") from e
        members = response if isinstance(response, dict) else {}
        error = members.get("error")
        if isinstance(error, dict):
            data = error.get("data")
            code = data.get("error_code") if isinstance(data, dict) else None
            raise Refused(error.get("code"), str(error.get("message")), code if isinstance(code, str) else None)
        if not isinstance(members.get("result"), dict):
            raise ValueError("no JSON-RPC response")
        return members["result"]

    def attend(self, endpoint):
        """Registers, and asks the manager from time to time whether it knows this agent, until the league is over."""
        conversation, away = f"conv-{self.role}-{uuid.uuid4()}", False
        while True:
            try:
                if not self.token:
                    self.register(endpoint, conversation)
                else:
                    self.call(self.manager, "league_query", self.message(
                        "LEAGUE_QUERY", "conv-status", auth_token=self.token, league_id=self.league, query_type="GET_STATUS"))
                away = False
            except Refused as e:
                if e.error_code == "E012":  # the manager has started a new league, with the same match_ids
                    self.token = None
                    self.forget()
                else:
                    print(f"the manager answers: {e}", file=sys.stderr)
            except (OSError, ValueError) as e:  # it may come back, and then continue its league
                if not away:
                    print(f"no manager at {self.manager} yet ({e}): trying again", file=sys.stderr)
                away = True
            if self.over.wait(5 if self.token else 2):
                return

    def register(self, endpoint, conversation):
        kind = "REFEREE_REGISTER_REQUEST" if self.role == "referee" else "LEAGUE_REGISTER_REQUEST"
        meta = {"display_name": self.name, "version": "1.0.0", "contact_endpoint": endpoint, **self.meta}
        code = os.environ.get("EVENODD_REGISTRATION_CODE")  # in a league with a roster: from its organiser
        members = {self.role + "_meta": meta, **({"registration_code": code} if code else {})}
        answer = self.call(self.manager, "register_" + self.role, self.message(kind, conversation, **members))
        if answer.get("status") != "ACCEPTED":
            sys.exit(f"registration refused: {answer.get('reason')}")
        self.id, self.token, self.league = answer[self.role + "_id"], answer["auth_token"], answer.get("league_id")
        say(f"registered as {self.id} in {self.league}")

    def run(self):
        flags = argparse.ArgumentParser()
        flags.add_argument("--name", default=self.name, help="display name, unique in the league")
        flags.add_argument("--port", type=int, default=self.port)
        flags.add_argument("--listen", default="127.0.0.1", help="address to listen at; 0.0.0.0 for other computers")
        flags.add_argument("--endpoint", help="URL at which the others reach this agent")
        flags.add_argument("--manager", default="http://127.0.0.1:8000/mcp", help="URL of the league manager")
        given = flags.parse_args()
        self.name, self.manager = given.name, given.manager
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as by Ctrl-C
        try:
            # Listen first, register then: the manager may call at once.
            server = Server((given.listen, given.port), handler_of(self))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            endpoint = given.endpoint or f"http://127.0.0.1:{server.server_port}/mcp"
            print(f"listening at {endpoint}", file=sys.stderr)
            self.attend(endpoint)
        except KeyboardInterrupt:
            sys.exit(130)
        say(self.last_words)


class Server(ThreadingHTTPServer):  # a thread for each connection: a slow call delays no other
    request_queue_size = 128

    def handle_error(self, *_):  # a caller that has gone gets no answer
        pass


def handler_of(agent):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps a connection open for the next call
        timeout = 120  # seconds without a byte
        disable_nagle_algorithm = True  # else each answer takes 40 ms: Nagle's algorithm

        def do_POST(self):
            length = self.headers.get("Content-Length", "")
            if self.path != "/mcp" or not length.isdecimal():
                return self.send_error(404 if self.path != "/mcp" else 411)
            if int(length) > MAX_REQUEST:
                return self.send_error(413)
            response = agent.respond(self.rfile.read(int(length)))
            body = json.dumps(response).encode() if response else b""
            self.send_response(200 if body else 204)
            if body:
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if agent.last_words:  # end after the answer, not before
                agent.over.set()

        def do_GET(self):
            self.send_error(405)

        def log_message(self, *_):  # no line for each request
            pass

    return Handler
