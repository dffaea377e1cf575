"""Code of players and referees: registration, JSON-RPC 2.0 over HTTP, the envelope of messages."""

import sys
# Older versions lack modules that are imported below.
if sys.version_info < (3, 7):
    sys.exit("this agent needs Python 3.7 or newer; this is Python " + sys.version.split()[0])
import argparse
import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import ssl
import threading
import time
import traceback
import uuid
from datetime import datetime, timedelta, timezone
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

MAX_REQUEST, MAX_REPLY = 1 << 18, 1 << 16  # bytes: refuse what is larger
REJECTED = 1  # code of a registration that is rejected; JSON-RPC does not use it
ADDRESS = re.compile(r"(?:(https?)://)?(\[[0-9a-f:.]+\]|[^\s/?#@:\\%\[\]]+)(?::([0-9]{0,5}))?(/[^?#]*)?([?#].*)?", re.I)
PAGE = re.compile(r"(.*?)/((agents|assets|cross|events|healthz|leagues|livez|matches|metrics|play|players|readyz|statistics)(/.*)?)?")
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


class Refused(Exception):
    """An error of JSON-RPC, with an error code of the protocol such as E003 if there is one.

    after: the seconds after which the other side asks to try again; other codes than E020 and E022 have none."""

    def __init__(self, code, message, error_code=None, after=None):
        super().__init__(message)
        self.code, self.error_code = code, error_code
        self.after = min(after, 3600) if error_code in ("E020", "E022") and isinstance(after, int) and after > 0 else 0


class Foreign(ValueError):
    """An answer of another program than an agent: to ask again does not help."""


def manager_url(typed):
    """The URL for calls of a manager, by what a person types or copies from a browser; None if it is no address.

    HOST, HOST:8000, http://HOST:8000/ and http://HOST:8000/matches/R1M1 are http://HOST:8000/mcp."""
    found = ADDRESS.fullmatch(typed.strip())
    scheme, host, port, path, query = found.groups("") if found else [""] * 5
    if not host or port and not 0 < int(port) < 65536:
        return None
    if not scheme and (host.isdecimal() or host.lower() in ("http", "https") or path.startswith("//")):
        return None
    page = PAGE.fullmatch(path or "/")
    if page and not re.search("/mcp/?$", path, re.I):
        path, query = page[1].rstrip("/") + "/mcp", ""
    port = port or ("" if scheme else "8000")
    return f"{scheme.lower() or 'http'}://{host.lower()}{':' * bool(port)}{port}{path}{query.partition('#')[0]}"


def now(after=0):
    """The time some seconds from now. All times of the protocol are in UTC."""
    return (datetime.now(timezone.utc) + timedelta(seconds=after)).strftime("%Y-%m-%dT%H:%M:%SZ")


def say(line, file=None):
    line = "".join(c if c.isprintable() else "?" for c in line)  # texts of others must not control the terminal
    print(line + "\n", end="", flush=True, file=file)  # one write, so that lines of several threads do not mix


def text(message, member):
    """A member of a message that must be there, and must be a string."""
    if message.get(member) is None:
        raise Refused(-32602, member + " is missing", "E003")
    if not isinstance(message[member], str):
        raise Refused(-32602, member + " must be a string", "E002")
    return message[member]


def acknowledge(_):
    """The reply to a message that needs no other answer."""
    return {"status": "ACKNOWLEDGED"}


def post(url, body, timeout):
    """Returns the body of the response. Follows no redirect: the URL of an agent must not lead elsewhere."""
    ends, at = time.monotonic() + timeout, urlsplit(url)
    connection = (HTTPSConnection if at.scheme == "https" else HTTPConnection)(at.netloc, timeout=timeout)
    try:
        connection.connect()
        # The timeout of a socket limits each read. The timer limits the whole response.
        timer = threading.Timer(max(0, ends - time.monotonic()), shut, [connection.sock])
        timer.daemon = True
        timer.start()
        try:
            connection.request("POST", at.path + "?" * bool(at.query) + at.query, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read(MAX_REPLY + 1)
        finally:
            timer.cancel()
    except (OSError, HTTPException):
        if time.monotonic() < ends:
            raise
    finally:
        connection.close()
    if time.monotonic() >= ends:
        raise TimeoutError("no answer in time")
    if response.status == 429:
        after = response.getheader("Retry-After", "")
        raise Refused(22, "too many requests", "E022", int(after[:5]) if after.isdecimal() else None)
    if response.status != 200:  # other errors than these come from a gateway whose agent is down
        foreign = 300 <= response.status < 500 and response.status not in (408, 425) or response.status == 501
        raise (Foreign if foreign else ValueError)(f"HTTP status {response.status}")
    if len(answer) > MAX_REPLY:
        raise Foreign("the response is too large")
    return answer


def shut(connected):
    with contextlib.suppress(OSError):  # it is closed
        connected.shutdown(socket.SHUT_RDWR)


def way_to(url):
    """The address at which the other side of a URL reaches this computer: 127.0.0.1 if it is here. Sends nothing."""
    at = urlsplit(url)
    port = at.port or (443 if at.scheme == "https" else 80)
    family, kind, _, _, there = socket.getaddrinfo(at.hostname, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(there)
        own = probe.getsockname()[0]
    return "127.0.0.1" if own == there[0] or own.startswith("127.") else own


class Agent:
    """handlers has a reply type and a function for each message type that the agent serves."""

    def __init__(self, role, name, port, meta, handlers):
        self.role, self.name, self.port, self.meta, self.handlers = role, name, port, meta, handlers
        self.id = role  # until the manager gives one
        self.token = self.league = self.manager = self.credential = self.last_words = None
        self.forget = lambda: None  # forgets the matches of a league
        self.over = threading.Event()

    def message(self, message_type, conversation_id, **members):
        return {"protocol": "league.v2", "message_type": message_type, "sender": f"{self.role}:{self.id}",
                "timestamp": now(), "conversation_id": conversation_id, **members}

    def handle(self, request, authorization=None):
        """Returns the reply to a message. Replies to a referee have the token that it sent, never this agent's own."""
        if request.get("message_type") not in self.handlers:  # not the method: a method has several names
            raise Refused(-32601, "Method not found")
        if request.get("protocol") != "league.v2":
            raise Refused(18, "PROTOCOL_VERSION_MISMATCH", "E018")
        if not UTC.fullmatch(text(request, "timestamp")):
            raise Refused(21, "timestamp must be UTC", "E021")
        if self.credential not in (None, authorization) and request["message_type"].startswith(("LEAGUE_", "MATCH_", "ROUND_")):
            raise Refused(3001, "AUTH_TOKEN_INVALID", "E012")  # a message of the manager that is not from the manager
        text(request, "sender")
        reply_type, handler = self.handlers[request["message_type"]]
        conversation = text(request, "conversation_id")
        match = {"match_id": text(request, "match_id")} if request.get("match_id") is not None else {}
        members = {self.role + "_id": self.id, "auth_token": request.get("auth_token") or "none", **match, **handler(request)}
        return self.message(reply_type, conversation, **members)

    def respond(self, body, authorization=None):
        """Returns the JSON-RPC response to a request or a batch; None if it gets no response."""
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": None}
        if isinstance(request, list) and request:
            return [r for r in (self.respond_one(one, authorization) for one in request) if r] or None
        return self.respond_one(request, authorization)

    def respond_one(self, request, authorization):
        call = request if isinstance(request, dict) else {}
        response = {"jsonrpc": "2.0", "id": call.get("id")}
        try:
            if call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str):
                raise Refused(-32600, "Invalid Request")
            if call["method"] == "ping":
                response["result"] = self.message("PONG", "conv-ping", status="ok")
            elif isinstance(call.get("params"), dict):
                response["result"] = self.handle(call["params"], authorization)
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
            answer = post(url, body.encode(), timeout)
        except HTTPException as e:
            raise (Foreign if type(e) is BadStatusLine else ValueError)(f"no HTTP response: {e!r:.99}") from e
        except ssl.SSLError as e:
            raise (OSError if isinstance(e, ssl.SSLEOFError) else Foreign)(f"{e}") from e
        try:
            response = json.loads(answer)
        except (ValueError, RecursionError) as e:
            raise Foreign(f"no JSON-RPC response: {e!r:.99}") from e
        members = response if isinstance(response, dict) else {}
        error = members.get("error")
        if isinstance(error, dict):
            data = error.get("data")
            data = data if isinstance(data, dict) else {}
            code, context = data.get("error_code"), data.get("context")
            after = context.get("retry_after_sec") if isinstance(context, dict) else None
            raise Refused(error.get("code"), str(error.get("message")), code if isinstance(code, str) else None, after)
        if not isinstance(members.get("result"), dict):
            raise Foreign("no JSON-RPC response")
        return members["result"]

    def attend(self, endpoint):
        """Registers, and asks the manager from time to time whether it knows this agent, until the league is over."""
        conversation, before, told = f"conv-{self.role}-{uuid.uuid4()}", None, set()
        while True:
            wait = 0
            try:
                if not self.token:
                    self.register(endpoint, conversation)
                else:
                    status = self.call(self.manager, "league_query", self.message(
                        "LEAGUE_QUERY", "conv-status", auth_token=self.token, league_id=self.league, query_type="GET_STATUS"))
                    self.tell(status.get("unreachable"), told)
                problem = None
            except Refused as e:
                problem, wait = str(e) if e.code == REJECTED else f"the manager answers: {e}", e.after
                if not self.token and not wait and e.error_code != "E022" and e.code != -32603:  # waiting does not help
                    say(problem, sys.stderr)
                    sys.exit(1)
                if e.error_code == "E012":  # the manager has started a new league, with the same match_ids
                    self.token = self.credential = None
                    self.forget()
            except (OSError, ValueError) as e:  # it may come back, and then continue its league
                if isinstance(e, Foreign) and not self.token:
                    say(f"no league manager answers at {self.manager} ({e}): set --manager to the address of the league's page, "
                        "such as http://192.0.2.7:8000/", sys.stderr)
                    sys.exit(1)
                problem = f"no manager at {self.manager} yet ({e}): trying again"
            if problem and problem != before:
                say(problem, sys.stderr)
            before = problem
            if self.over.wait(max(wait, 5 if self.token else 2)):
                return

    def tell(self, reason, told):
        """Says why the manager cannot call this agent, each reason once. The reason ends with the number of tries."""
        cause = reason.rpartition(",")[0] if isinstance(reason, str) else None
        if cause and cause not in told and len(told) < 20:
            told.add(cause)
            say(f"the manager cannot call this agent: {reason[:300]}. Let other computers reach that port (firewall), or set "
                "--endpoint to a URL that the manager reaches", sys.stderr)

    def register(self, endpoint, conversation):
        kind = "REFEREE_REGISTER_REQUEST" if self.role == "referee" else "LEAGUE_REGISTER_REQUEST"
        meta = {"display_name": self.name, "version": "1.0.0", "contact_endpoint": endpoint, **self.meta}
        code = os.environ.get("EVENODD_REGISTRATION_CODE")  # in a league with a roster: from its organiser
        members = {self.role + "_meta": meta, **({"registration_code": code} if code else {})}
        answer = self.call(self.manager, "register_" + self.role, self.message(kind, conversation, **members))
        if answer.get("status") != "ACCEPTED":
            code = f" ({answer['error_code']})" if answer.get("error_code") else ""
            words = f"registration refused: {answer.get('reason')}{code}"
            if answer.get("error_code") == "E025":
                words += f": it is {endpoint}; set another URL by --endpoint, or another address of this computer by --host"
            raise Refused(REJECTED, words, answer.get("error_code"), answer.get("retry_after_sec"))
        # Some managers send no token, or no credential with their later calls.
        self.id, self.league = answer.get(self.role + "_id") or self.id, answer.get("league_id")
        self.token = answer.get("auth_token") or "none"
        key, proof = hashlib.sha256(self.token.encode()).digest(), f"{self.league}/manager".encode()
        credential = base64.urlsafe_b64encode(hmac.new(key, proof, "sha256").digest()).decode().rstrip("=")
        self.credential = "Bearer " + credential if answer.get("manager_auth") == "bearer" else None
        say(f"registered as {self.id} in {self.league}")

    def find_way(self):
        """The address at which the manager reaches this computer. Waits while there is none."""
        told = False
        while True:
            try:
                return way_to(self.manager)
            except OSError as e:
                if not told:
                    say(f"no way to the manager at {self.manager} yet ({e}): trying again", sys.stderr)
                told = True
                time.sleep(2)

    def run(self):
        flags = argparse.ArgumentParser()
        flags.add_argument("--name", default=self.name, help="display name, unique in the league")
        flags.add_argument("--port", type=int, default=self.port, help="port to listen at")
        flags.add_argument("--host", help="address to listen at, 0.0.0.0 for all of this computer (default: 127.0.0.1; "
                           "if the manager is on another computer, the address of this one on the way to it)")
        flags.add_argument("--endpoint", help="URL at which the others reach this agent (default: from the address and the port)")
        flags.add_argument("--manager", default="127.0.0.1:8000", help="address of the league manager, or of a page of its league")
        given = flags.parse_args()
        self.name, self.manager = given.name, manager_url(given.manager)
        if not self.manager:
            flags.error("--manager must be the address of a league manager, such as http://127.0.0.1:8000/")
        if given.endpoint and not re.match("https?://[^/]+/", given.endpoint):
            flags.error("--endpoint must be a URL such as http://127.0.0.1:8101/mcp")
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as by Ctrl-C
        try:
            own = "127.0.0.1"
            if not given.endpoint and given.host in (None, "0.0.0.0"):
                own = self.find_way()
            host = given.host or own
            # Listen first, register then: the manager may call at once.
            try:
                Server.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
                server = Server((host, given.port), handler_of(self))
            except (OSError, OverflowError) as e:
                sys.exit(f"cannot listen at {host}:{given.port} ({e}): choose another --port or --host")
            threading.Thread(target=server.serve_forever, daemon=True).start()
            host, own = (f"[{at}]" if ":" in at else at for at in (host, own))
            say(f"listening at http://{host}:{server.server_port}/mcp", sys.stderr)
            # It asks for P01 at port 8101, or REF01 at port 8001: some third-party referees know no other ids.
            prefix, number = ("P", server.server_port - 8100) if self.role == "player" else ("REF", server.server_port - 8000)
            self.id = f"{prefix}{number:02}" if 0 < number < 100 else self.role
            self.attend(given.endpoint or f"http://{own}:{server.server_port}/mcp")
        except KeyboardInterrupt:
            sys.exit(130)
        say(self.last_words)


class Server(ThreadingHTTPServer):  # a thread for each connection: a slow call delays no other
    request_queue_size = 128
    allow_reuse_address = os.name == "posix"  # on Windows, two programs could then listen at one port

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
            response = agent.respond(self.rfile.read(int(length)), self.headers.get("Authorization"))
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
