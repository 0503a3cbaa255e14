"""Both doors of the Core as the documents describe them, on the standard library alone, and apart from the library for apps."""

import http.client
import itertools
import json
import os
import queue
import socket
import threading
import time
from urllib.parse import urlsplit

TIMEOUT_S = 15
# Answers to a rate limit are waited for, so often.
MOST_RETRIES = 20
MOST_BYTES = 8 << 20


class Answer:
    """Status, headers and body of one request, and the request itself for the report."""

    def __init__(self, request, status, headers, body):
        self.request = request
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def code(self):
        """Code of a refusal, None for a success."""
        if self.status < 300 or not isinstance(self.body, dict):
            return None
        return str(self.body.get("error", "")).split(":", 1)[0]

    def __str__(self):
        return f"{self.status} {json.dumps(self.body)[:600]}"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Rest:
    def __init__(self, environment=os.environ):
        self.socket_path = environment.get("DEVICE_HTTP_SOCKET")
        self.url = environment.get("DEVICE_URL")
        with open(os.path.join(environment["CREDENTIALS_DIRECTORY"], "token"), encoding="ascii") as file:
            self.token = file.read().strip()

    def connection(self):
        if self.socket_path:
            return _UnixConnection(self.socket_path)
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=TIMEOUT_S)

    def ask(self, method, path, body=None, headers=None, retries=MOST_RETRIES):
        """One request; `body` is JSON, or bytes as they are. An answer of a rate limit is waited for."""
        for left in range(retries, -1, -1):
            answer = self._ask(method, path, body, headers or {})
            if answer.code != "RATE_LIMITED" or left == 0:
                return answer
            time.sleep(min(5, float(answer.headers.get("retry-after", 1))))

    def _ask(self, method, path, body, headers):
        sent = {"authorization": f"Bearer {self.token}", **headers}
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("content-type", "application/json")
        request = f"{method} {path}" + ("" if data is None else f" {data[:300].decode('utf-8', 'replace')}")
        connection = self.connection()
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            # A stream does not end: its head is the answer.
            stream = found.get("content-type", "").startswith("text/event-stream")
            text = "" if stream else response.read(MOST_BYTES).decode("utf-8", "replace")
        finally:
            connection.close()
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = text  # documented: not every body is JSON
        return Answer(request, response.status, found, parsed)


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Rpc:
    """JSON-RPC on the app's own socket. A thread reads; another runs the functions, so that they may call back."""

    def __init__(self, functions):
        self.functions = functions
        self.numbers = itertools.count(1)
        self.waiting = {}
        self.calls = queue.Queue(64)
        self.events = queue.Queue(1000)
        self.writing = threading.Lock()
        self.over = threading.Event()
        self.started = queue.Queue()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(os.environ["DEVICE_RPC_SOCKET"])
        for work in (self._read, self._serve):
            threading.Thread(target=work, daemon=True).start()

    def ready(self):
        """What READY says: the session, and the capabilities that are held."""
        return self.started.get(timeout=TIMEOUT_S)

    def call(self, method, params=None):
        """The result; raises RpcError. An answer of a rate limit is waited for."""
        for left in range(MOST_RETRIES, -1, -1):
            try:
                return self._call(method, params)
            except RpcError as error:
                if error.code != "RATE_LIMITED" or left == 0:
                    raise
                time.sleep(1)

    def _call(self, method, params):
        number, answer = next(self.numbers), queue.Queue()
        self.waiting[number] = answer
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
            message = answer.get(timeout=TIMEOUT_S)
        finally:
            del self.waiting[number]
        if "error" in message:
            error = message["error"]
            raise RpcError((error.get("data") or {}).get("code", str(error["code"])), error["message"])
        return message["result"]

    def event(self, timeout_s):
        """The next event; raises queue.Empty where none comes."""
        return self.events.get(timeout=timeout_s)

    def _send(self, message):
        with self.writing:
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def _read(self):
        try:
            for line in self.socket.makefile("rb"):
                self._message(json.loads(line))
        finally:
            self.over.set()

    def _message(self, message):
        method = message.get("method")
        if method is None:
            answer = self.waiting.get(message.get("id"))
            if answer:
                answer.put(message)
        elif method == "READY":
            self.started.put(message["params"])
        elif method == "event":
            self.events.put(message["params"], timeout=TIMEOUT_S)
        elif method == "stop":
            self.over.set()
        elif method == "ping":
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        elif "id" in message:
            self.calls.put(message, timeout=TIMEOUT_S)

    def _serve(self):
        while True:
            request = self.calls.get()
            reply = {"jsonrpc": "2.0", "id": request["id"]}
            try:
                reply["result"] = self.functions[request["method"]](**request.get("params", {}))
            except Exception as error:  # its caller gets it
                reply["error"] = {"code": -32000, "message": repr(error)}
            self._send(reply)
