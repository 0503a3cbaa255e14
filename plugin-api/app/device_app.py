"""A client library for apps of Device Core: one file, on nothing but Python 3.9 and its standard library.

    from device_app import connect_app

    app = connect_app()

    @app.function("hello.greet")  # as app.yaml describes it
    def greet(inputs, call):
        return {"text": f"Hello, {inputs['name']}!"}

    print("stopped:", app.stopped())

Copy it into the folder of your app. The names are those of the package @device-core/app for Node, written as Python writes them. Functions, handlers of
events and handlers of configuration run on threads of their own, so a ping is answered while they work. Everything that it does is documented JSON-RPC
and REST.
"""

import base64
import collections
import http.client
import inspect
import json
import os
import random
import re
import socket
import sys
import threading
import time
import traceback
import urllib.parse

__all__ = ["App", "ClientStream", "FunctionCallInfo", "RpcError", "Signal", "connect_app", "read_environment"]

FIRST_DELAY_S = 0.1
MAX_DELAY_S = 5.0
DEFAULT_CREDIT = 256 * 1024
READ_BYTES = 128 * 1024
# Calls of the Core that are worked on at once; one more is answered with an error.
MAX_CALLS = 64
# Notifications that wait for a handler; the oldest are dropped, counted and told.
MAX_WAITING = 1000
# A function of app.yaml may be called before the program has come to provide it.
BEGINNING_S = 1.0


class RpcError(Exception):
    """A failed call: `code` is the string code of the Core's table of errors, `rpc_code` the JSON-RPC number."""

    def __init__(self, code, rpc_code, message, details=None):
        super().__init__(message)
        self.code = code
        self.rpc_code = rpc_code
        self.details = details

    @staticmethod
    def of(error):
        """From the error object of an answer."""
        data = error.get("data") or {}
        return RpcError(
            str(data.get("code", "UNKNOWN")), error.get("code", 0), error.get("message", "unknown error"), data.get("details")
        )


def _session_closed(reason):
    return RpcError("SESSION_CLOSED", -32006, f"the session is closed: {reason}")


class Signal:
    """Says once that something is no longer wanted."""

    def __init__(self):
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._listeners = []

    @property
    def aborted(self):
        return self._event.is_set()

    def wait(self, timeout=None):
        """Blocks until it is aborted, at most `timeout` seconds. True: it is."""
        return self._event.wait(timeout)

    def abort(self):
        with self._lock:
            listeners, self._listeners = self._listeners, []
            self._event.set()
        for listener in listeners:
            listener()

    def listen(self, listener):
        """Calls it once, at once where it is aborted already."""
        with self._lock:
            if not self._event.is_set():
                self._listeners.append(listener)
                return
        listener()

    def forget(self, listener):
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


class Environment:
    """Where an app finds the Core: environment variables and one file, set by whoever starts it. What is not set is None."""

    def __init__(self, rpc_socket, http_socket=None, url=None, app_id=None, data_dir=None, token=None):
        self.rpc_socket = rpc_socket
        self.http_socket = http_socket
        self.url = url
        self.app_id = app_id
        self.data_dir = data_dir
        self.token = token


def read_environment(env=None):
    """Raises RuntimeError where DEVICE_RPC_SOCKET is not set: the process was not started as an app."""
    env = os.environ if env is None else env
    if not env.get("DEVICE_RPC_SOCKET"):
        raise RuntimeError("cannot find the Core: DEVICE_RPC_SOCKET is not set")
    token = None
    if env.get("CREDENTIALS_DIRECTORY"):
        try:
            with open(os.path.join(env["CREDENTIALS_DIRECTORY"], "token"), encoding="utf-8") as file:
                token = file.read().strip()
        except FileNotFoundError:
            pass  # the socket still says who the app is; only REST over TCP needs one
    return Environment(
        env["DEVICE_RPC_SOCKET"],
        env.get("DEVICE_HTTP_SOCKET") or None,
        env.get("DEVICE_URL") or None,
        env.get("DEVICE_APP_ID") or None,
        env.get("DEVICE_DATA_DIR") or None,
        token,
    )


class FunctionCallInfo:
    """What a function may know of its call: `meta` of the request, and a signal that is aborted when nobody waits for the answer any more."""

    def __init__(self, meta):
        self.meta = meta
        self.signal = Signal()


class _Pending:
    def __init__(self, read=None):
        self.done = threading.Event()
        self.read = read
        self.result = None
        self.error = None


class _Session:
    """One connection from READY to its end. A JSON message a line, and N raw bytes after a message with `bytes: N`."""

    def __init__(self, path, app):
        self._app = app
        self._path = path
        self._send_lock = threading.Lock()
        self._lock = threading.Lock()
        self._pending = {}
        self._serving = {}
        self._last = 0
        self._closed = None
        self.streams = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def start(self):
        threading.Thread(target=self._run, name="device-app", daemon=True).start()

    def _run(self):
        reason = "the Core hung up"
        try:
            self._socket.connect(self._path)
            file = self._socket.makefile("rb", buffering=READ_BYTES)
            for line in file:
                message = json.loads(line)
                size = message.get("bytes")
                attachment = None
                if size is not None:
                    attachment = file.read(size)
                    if len(attachment) < size:
                        break
                self._take(message, attachment)
        except (OSError, ValueError) as error:
            reason = str(error)
        finally:
            self._close(reason)

    def send(self, message, attachment=None):
        if attachment is not None:
            message = {**message, "bytes": len(attachment)}
        data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            with self._send_lock:
                self._socket.sendall(data if attachment is None else data + bytes(attachment))
        except OSError:
            pass  # the reader sees the end of the connection, too, and tells everybody who waits

    def end(self):
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has ended already

    def call(self, method, params, timeout_ms=None, signal=None, traceparent=None, read=None):
        if signal is not None and signal.aborted:
            raise RpcError("CANCELLED", -32800, f"{method} was cancelled: it was withdrawn")
        pending = _Pending(read)
        with self._lock:
            if self._closed is not None:
                raise _session_closed(self._closed)
            self._last += 1
            number = self._last
            self._pending[number] = pending
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        meta = {"deadlineMs": timeout_ms, "traceparent": traceparent}
        meta = {name: value for name, value in meta.items() if value is not None}
        if meta:
            request["meta"] = meta
        self.send(request)

        def withdraw():
            self.send({"jsonrpc": "2.0", "method": "cancel", "params": {"id": number}})

        if signal is not None:
            signal.listen(withdraw)
        try:
            pending.done.wait()
        finally:
            if signal is not None:
                signal.forget(withdraw)
        if pending.error is not None:
            raise pending.error
        return pending.result

    def open_stream(self, stream, params, binary, credit):
        # Data may come right after the answer that names the stream: the reader makes it.
        def opened(answer):
            made = ClientStream(self, answer["id"], answer["credit"], credit)
            self.streams[answer["id"]] = made
            return made

        asked = {"stream": stream, "params": params, "binary": binary, "credit": credit}
        return self.call("stream.open", asked, read=opened)

    def _take(self, message, attachment):
        method = message.get("method")
        number = message.get("id")
        params = message.get("params") or {}
        if method is None:
            self._settle(message)
        elif method == "ping" and number is not None:
            # Is the app there at all? Nobody but the Core needs to know.
            self.send({"jsonrpc": "2.0", "id": number, "result": {}})
        elif number is not None:
            self._serve(number, method, params, message.get("meta") or {"callId": str(number)})
        elif method == "READY":
            self._app._opened(self, params)
        elif method == "cancel":
            call = self._serving.get(str(params.get("callId")))
            if call is not None:
                call.signal.abort()
        elif method.startswith("stream."):
            stream = self.streams.get(str(params.get("id")))
            if stream is not None:
                stream._take(method, params, attachment)
        else:
            self._app._notified(method, params)

    def _settle(self, message):
        with self._lock:
            pending = self._pending.pop(message.get("id"), None)
        if pending is None:
            return
        if message.get("error"):
            pending.error = RpcError.of(message["error"])
        else:
            result = message.get("result")
            pending.result = result if pending.read is None else pending.read(result)
        pending.done.set()

    def _serve(self, number, method, params, meta):
        call = FunctionCallInfo(meta)
        if len(self._serving) >= MAX_CALLS:
            error = {"code": -32005, "message": f"cannot start {method}: {MAX_CALLS} are in flight already"}
            self.send({"jsonrpc": "2.0", "id": number, "error": error})
            return
        self._serving[meta["callId"]] = call

        def work():
            try:
                result = self._app._called(method, params, call)
                self.send({"jsonrpc": "2.0", "id": number, "result": {} if result is None else result})
            except Exception as error:
                if not isinstance(error, RpcError):
                    traceback.print_exc()
                code = error.rpc_code if isinstance(error, RpcError) else -32000
                self.send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": str(error)}})
            finally:
                self._serving.pop(meta["callId"], None)

        threading.Thread(target=work, name=f"device-app {method}", daemon=True).start()

    def _close(self, reason):
        with self._lock:
            if self._closed is not None:
                return
            self._closed = reason
            waiting = list(self._pending.values())
            self._pending.clear()
        self._socket.close()
        for pending in waiting:
            pending.error = _session_closed(reason)
            pending.done.set()
        for call in list(self._serving.values()):
            call.signal.abort()
        for stream in list(self.streams.values()):
            stream._end(_session_closed(reason))
        self._app._lost(self)


class ClientStream:
    """The app's end of a stream. Iterate over it to read; reading grants the Core more, writing waits for what it granted."""

    def __init__(self, session, stream_id, credit, window):
        self.id = stream_id
        self._session = session
        self._credit = credit
        self._window = window
        self._chunks = collections.deque()
        self._pieces = []
        self._gathered = 0
        self._consumed = 0
        self._over = False
        self._error = None
        self._changed = threading.Condition()

    def write(self, chunk):
        """Returns when the Core's credit covered it all. One write at a time."""
        view = memoryview(chunk).cast("B")
        while len(view) > 0:
            with self._changed:
                self._changed.wait_for(lambda: self._credit > 0 or self._over)
                if self._over:
                    raise self._error or RpcError("CANCELLED", -32800, f"stream {self.id} has ended")
                piece = view[: self._credit]
                self._credit -= len(piece)
            view = view[len(piece) :]
            self._session.send({"jsonrpc": "2.0", "method": "stream.write", "params": {"id": self.id}}, piece)

    def close(self):
        """Nothing more is written. What the Core still sends can be read."""
        if not self._over:
            self._session.call("stream.close", {"id": self.id})

    def ended(self, timeout=None):
        """Blocks until the stream has ended, at most `timeout` seconds. Raises the error it ended with. True: it has ended."""
        with self._changed:
            over = self._changed.wait_for(lambda: self._over, timeout)
        if self._error is not None:
            raise self._error
        return over

    def __iter__(self):
        return self

    def __next__(self):
        with self._changed:
            self._changed.wait_for(lambda: self._chunks or self._over)
            if not self._chunks:
                if self._error is not None:
                    raise self._error
                raise StopIteration
            value = self._chunks.popleft()
            self._consumed += len(value)
            grant = self._consumed if self._consumed >= self._window / 2 and not self._over else 0
            if grant:
                self._consumed = 0
        if grant:
            self._session.send({"jsonrpc": "2.0", "method": "stream.credit", "params": {"id": self.id, "bytes": grant}})
        return value

    def _take(self, method, params, attachment):
        with self._changed:
            if method == "stream.credit":
                self._credit += int(params["bytes"])
            elif method == "stream.data":
                self._pieces.append(base64.b64decode(params["data"]) if attachment is None else attachment)
                self._gathered += len(self._pieces[-1])
                # A chunk that does not fit the window comes as several: no credit is granted for what cannot be read.
                if params.get("more") and self._gathered < self._window / 2:
                    return
                self._chunks.append(b"".join(self._pieces))
                self._pieces = []
                self._gathered = 0
            self._changed.notify_all()
        if method == "stream.end":
            self._end(RpcError.of(params["error"]) if params.get("error") else None)

    def _end(self, error):
        with self._changed:
            if self._over:
                return
            self._over = True
            self._error = error
            self._changed.notify_all()
        self._session.streams.pop(self.id, None)


class _Disposable:
    """`with app.events.subscribe(...):`, or `.dispose()` by hand."""

    def __init__(self, undo):
        self._undo = undo

    def dispose(self):
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.dispose()


class _Events:
    def __init__(self, app):
        self._app = app

    def subscribe(self, filters, handler):
        """Every event that matches one of the filters, from now on and after each new connection. Returns when the Core has accepted them."""
        return self._app._subscribe([filters] if isinstance(filters, str) else list(filters), handler)

    def publish(self, topic, payload, priority=None):
        params = {"topic": topic, "payload": payload}
        return self._app.call("events.publish", params if priority is None else {**params, "priority": priority})


class _Config:
    def __init__(self, app):
        self._app = app

    def get(self, key):
        return self._app.call("config.get", {"key": key})["value"]

    def set(self, key, value, if_revision=None):
        """None unsets."""
        params = {"key": key, "value": value}
        return self._app.call("config.set", params if if_revision is None else {**params, "ifRevision": if_revision})

    def on_change(self, handler):
        return self._app.on("config.changed", handler)


class _Health:
    def __init__(self, app):
        self._app = app

    def report(self, status, message=None):
        """`okay`, `waiting`, `blocked` or `error`; shown in /health until the next report."""
        params = {"status": status}
        return self._app.call("health.report", params if message is None else {**params, "message": message})


class App:
    """An app's view of the Core. Made by connect_app(); survives the end of its connection."""

    def __init__(self, environment):
        self.environment = environment
        self.events = _Events(self)
        self.config = _Config(self)
        self.health = _Health(self)
        self._functions = {}
        self._filters = collections.Counter()
        self._listeners = collections.defaultdict(list)
        self._stopping = []
        self._changed = threading.Condition()
        self._ready = None
        self._begun = None
        self._session = None
        self._over = None
        self._delay = FIRST_DELAY_S
        self._waiting = collections.deque()
        self._dropped = 0
        self._came = threading.Condition()
        threading.Thread(target=self._deliver, name="device-app handlers", daemon=True).start()
        self._connect()

    def ready(self, timeout=None):
        """READY of the connection that is there, or of the next one. Raises SESSION_CLOSED when the app has stopped, TIMEOUT after `timeout` seconds."""
        return self._connected(timeout)[1]

    def stopped(self, timeout=None):
        """Blocks until the app was told to stop, or closed itself, and returns the reason; None after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._over is not None, timeout)
            return self._over

    def call(self, method, params=None, timeout_ms=None, signal=None, traceparent=None):
        """Any operation by its name. Waits for READY. Raises RpcError. `signal` withdraws the call. With the `traceparent` of a call that the app is
        working on, which is in its `meta`, it is a part of the same trace.
        """
        return self._connected()[0].call(method, {} if params is None else params, timeout_ms, signal, traceparent)

    def provide(self, entry, handler):
        """Offers a function to the device; it is registered again after each new connection. `handler(inputs)` or `handler(inputs, call)`.

        A name alone means the function of this name in app.yaml, which the Core registers by itself.
        """
        declared = isinstance(entry, str)
        with self._changed:
            self._functions[entry if declared else entry["name"]] = (None if declared else entry, _taking_two(handler))
            self._changed.notify_all()
        if not declared:
            self._register([entry])

    def function(self, name, version=None, **entry):
        """The same as a decorator. With a version it is registered with these members: `inputs`, `returns`, `utterances`, `timeout_ms` and so on."""

        def decorate(handler):
            self.provide(name if version is None else {"name": name, "version": version, **entry}, handler)
            return handler

        return decorate

    def open_stream(self, stream, params=None, binary=True, credit=DEFAULT_CREDIT):
        return self._connected()[0].open_stream(stream, {} if params is None else params, binary, credit)

    def rest(self, path, method=None, body=None, headers=None, timeout_ms=30_000):
        """The REST interface with the app's own identity. Returns (status, headers, body); a body that is no JSON is text."""
        where = self.environment
        data = None if body is None else json.dumps(body).encode()
        asked = {"accept": "application/json"}
        if where.token is not None:
            asked["authorization"] = f"Bearer {where.token}"
        if data is not None:
            asked["content-type"] = "application/json"
        asked.update(headers or {})
        connection = _http_connection(where, timeout_ms / 1000)
        try:
            connection.request(method or ("GET" if data is None else "POST"), path, data, asked)
            response = connection.getresponse()
            text = response.read().decode()
            try:
                parsed = json.loads(text)
            except ValueError:
                parsed = text  # documented: not every body is JSON
            return response.status, dict(response.getheaders()), parsed
        finally:
            connection.close()

    def on(self, method, listener):
        """Any notification of the Core by its method: `event`, `config.changed`, `stop`."""
        self._listeners[method].append(listener)
        return _Disposable(lambda: self._listeners[method].remove(listener))

    def on_stop(self, handler):
        """Called with {reason, graceMs} when the Core asks the app to stop; the connection stays until it returns, at most for the grace."""
        self._stopping.append(handler)
        return _Disposable(lambda: self._stopping.remove(handler))

    def close(self, reason="the app is done"):
        with self._changed:
            if self._over is not None:
                return
            self._over = reason
            session = self._session
            self._changed.notify_all()
        with self._came:
            self._came.notify_all()
        session.end()

    def _connected(self, timeout=None):
        with self._changed:
            there = self._changed.wait_for(lambda: self._ready is not None or self._over is not None, timeout)
            if self._over is not None:
                raise _session_closed(self._over)
            if not there:
                raise RpcError("TIMEOUT", -32002, "READY has not come in time")
            return self._session, self._ready

    def _connect(self):
        self._session = _Session(self.environment.rpc_socket, self)
        self._session.start()

    def _opened(self, session, ready):
        with self._changed:
            self._session = session
            self._delay = FIRST_DELAY_S
            self._ready = ready
            self._begun = self._begun or time.monotonic()
            self._changed.notify_all()
        entries = [entry for entry, _ in list(self._functions.values()) if entry is not None]
        filters = list(self._filters)
        if entries or filters:
            # Not on the thread that reads the answers.
            threading.Thread(target=self._again, args=(entries, filters), name="device-app again", daemon=True).start()

    def _again(self, entries, filters):
        try:
            self._register(entries)
            if filters:
                self.call("events.subscribe", {"filters": filters})
        except RpcError as error:
            _warn(f"{error.code}: {error}")

    def _lost(self, session):
        with self._changed:
            if self._over is not None or session is not self._session:
                return
            self._ready = None
            delay = self._delay * (0.5 + random.random() / 2)
            self._delay = min(self._delay * 2, MAX_DELAY_S)

        def later():
            with self._changed:
                if self._changed.wait_for(lambda: self._over is not None, delay):
                    return
                self._connect()

        threading.Thread(target=later, name="device-app again", daemon=True).start()

    def _register(self, functions):
        if functions:
            session, ready = self._connected()
            session.call("functions.register", {"app": ready["app"], "functions": functions})

    def _called(self, method, inputs, call):
        with self._changed:
            left = (self._begun or 0) + BEGINNING_S - time.monotonic()
            self._changed.wait_for(lambda: method in self._functions, max(0.0, left))
            found = self._functions.get(method)
        if found is None:
            raise RpcError("METHOD_NOT_FOUND", -32000, f"there is no function {method}")
        return found[1](inputs, call)

    def _subscribe(self, filters, handler):
        def matching(event):
            if any(_matches(one, event["topic"]) for one in filters):
                handler(event)

        listener = self.on("event", matching)
        fresh = [one for one in filters if self._filters[one] == 0]
        self._filters.update(filters)
        if fresh:
            self.call("events.subscribe", {"filters": fresh})

        def undo():
            listener.dispose()
            self._filters.subtract(filters)
            unused = [one for one in dict.fromkeys(filters) if self._filters[one] <= 0]
            for one in unused:
                del self._filters[one]
            if unused and self._over is None:
                self.call("events.unsubscribe", {"filters": unused})

        return _Disposable(undo)

    def _notified(self, method, params):
        if method == "stop":
            threading.Thread(target=self._stop, args=(params,), name="device-app stop", daemon=True).start()
        with self._came:
            if len(self._waiting) >= MAX_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append((method, params))
            self._came.notify()

    def _stop(self, params):
        asked = [threading.Thread(target=handler, args=(params,), daemon=True) for handler in list(self._stopping)]
        for thread in asked:
            thread.start()
        end = time.monotonic() + float(params.get("graceMs") or 0) / 1000
        for thread in asked:
            thread.join(max(0.0, end - time.monotonic()))
        self.close(str(params.get("reason")))

    def _deliver(self):
        while True:
            with self._came:
                self._came.wait_for(lambda: self._waiting or self._over is not None)
                if not self._waiting:
                    return
                method, params = self._waiting.popleft()
                dropped, self._dropped = self._dropped, 0
            if dropped:
                _warn(f"{dropped} notifications were dropped: the handlers of the app are too slow")
            for listener in list(self._listeners[method]):
                try:
                    listener(params)
                except Exception:
                    traceback.print_exc()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _http_connection(where, timeout):
    if where.http_socket is not None:
        return _UnixConnection(where.http_socket, timeout)
    if where.url is None:
        raise RuntimeError("cannot reach REST: neither DEVICE_HTTP_SOCKET nor DEVICE_URL is set")
    url = urllib.parse.urlsplit(where.url)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)


def _matches(wanted, topic):
    """`*` stands for one segment, a trailing `**` for one or more; `app.<id>.event.*` means all below it."""
    if wanted.startswith("app.") and wanted.endswith(".event.*"):
        wanted += "*"
    pattern = re.escape(wanted).replace(r"\*\*", ".+").replace(r"\*", "[^.]+")
    return re.fullmatch(pattern, topic) is not None


def _taking_two(handler):
    """A handler that has no use for the call may leave it out."""
    try:
        inspect.signature(handler).bind({}, None)
        return handler
    except TypeError:
        return lambda inputs, _call: handler(inputs)


def _warn(text):
    print(f"device_app: {text}", file=sys.stderr, flush=True)


def connect_app(environment=None, timeout_ms=30_000):
    """Connects as the app that this process is, and returns after READY. It connects again, with growing delays, until the app stops.

    Raises SESSION_CLOSED when the Core did not answer within `timeout_ms`. What the app prints is written line by line from here on.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    app = App(read_environment() if environment is None else environment)
    try:
        app.ready(timeout_ms / 1000)
    except RpcError:
        app.close(f"the Core did not answer within {timeout_ms} ms")
        raise _session_closed(app.stopped()) from None
    return app
