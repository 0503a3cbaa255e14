"""The two ways to the Core, with the standard library only: REST on the shared Unix socket, JSON-RPC on the app's own."""

import http.client
import itertools
import json
import os
import queue
import socket
import threading
from urllib.parse import urlsplit

TIMEOUT = 10  # seconds; every wait has an end


class DeviceError(Exception):
    """What the Core answered instead of a result. `code` is for programs, the text for people."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Rest:
    """One request at a time; the token of this launch tells who asks."""

    def __init__(self, environment=os.environ):
        self.socket_path = environment.get("DEVICE_HTTP_SOCKET")
        self.url = environment.get("DEVICE_URL")
        with open(os.path.join(environment["CREDENTIALS_DIRECTORY"], "token"), encoding="ascii") as file:
            self.token = file.read().strip()

    def request(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.socket_path:
            connection = UnixConnection(self.socket_path)
        else:
            connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=TIMEOUT)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status >= 300:
            code = content["error"].split(":", 1)[0]
            raise DeviceError(code, content["error"])
        return content


class Rpc:
    """JSON-RPC 2.0, one message a line, both ways. A thread reads; calls from the Core are answered by another, so that they may call back."""

    def __init__(self, functions):
        self.functions = functions
        self.numbers = itertools.count(1)
        self.waiting = {}
        self.calls = queue.Queue()
        self.ready = queue.Queue()
        self.writing = threading.Lock()
        self.over = threading.Event()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def connect(self, path):
        self.socket.connect(path)
        for work in (self._read, self._serve):
            threading.Thread(target=work, daemon=True).start()
        return self.ready.get(timeout=TIMEOUT)

    def call(self, method, **params):
        number, answer = next(self.numbers), queue.Queue()
        self.waiting[number] = answer
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            message = answer.get(timeout=TIMEOUT)
        finally:
            del self.waiting[number]
        if "error" in message:
            error = message["error"]
            raise DeviceError((error.get("data") or {}).get("code", str(error["code"])), error["message"])
        return message["result"]

    def _send(self, message):
        with self.writing:
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def _read(self):
        try:
            for line in self.socket.makefile("rb"):
                message = json.loads(line)
                if "method" not in message:
                    answer = self.waiting.get(message.get("id"))
                    if answer:
                        answer.put(message)
                elif message["method"] == "READY":
                    self.ready.put(message["params"])
                elif message["method"] == "stop":
                    break
                elif message["method"] == "ping":
                    # From this thread: a function that takes long must not make the app look dead.
                    self._send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
                elif "id" in message:
                    self.calls.put(message)
        finally:
            # Without its socket an app is of no use to anybody.
            self.over.set()

    def _serve(self):
        while True:
            request = self.calls.get()
            reply = {"jsonrpc": "2.0", "id": request["id"]}
            function = self.functions.get(request["method"])
            try:
                if not function:
                    reply["error"] = {"code": -32601, "message": f"there is no function {request['method']}"}
                else:
                    reply["result"] = function(**request.get("params", {}))
            except Exception as error:  # whatever goes wrong here is the caller's to know
                reply["error"] = {"code": -32000, "message": str(error)}
            self._send(reply)
