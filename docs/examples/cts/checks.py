"""Checks of the suite, by group. Each adds its cases to the report; none leaves something behind that the device would keep."""

import json
import os
import queue
import re
from urllib.parse import quote

from device import RpcError
from schema import Schemas

ABSENT = "not in this product"
# A denial comes before anything else is looked at.
DENIALS = ("CAPABILITY_DENIED", "CALLER_DENIED", "CONFIRMATION_REQUIRED", "SESSION_REQUIRED")
# Nothing is wrong with a good request that says so: the product has no such handle, tag, network or partner.
FAULTS = ("PARAMS_INVALID", "JSON_INVALID", "CONTENT_TYPE_INVALID", "METHOD_NOT_FOUND", "METHOD_NOT_ALLOWED", "INTERNAL")
# Streams that an app can open, and what each needs.
STREAMS = (
    ("audio.playback", {}, "audio.playback"),
    ("audio.capture", {}, "audio.capture"),
    ("display.images", {}, "display.surface"),
    ("display.frames", {}, "system.display"),
    ("bridge.trace", {}, "system.bridge"),
)
# Capabilities that no operation is named after: a call that needs each.
OTHERS = (
    ("display.notify", "events.publish", {"topic": "ui.toast", "payload": {"text": "Compatibility suite"}}),
    ("display.keep", "display.show", {"scene": 1, "nodes": [], "keep": True}),
    ("events.publish.high", "events.publish", {"topic": "app.{app}.event.high", "payload": {}, "priority": "high"}),
    ("events.read", "events.subscribe", {"filter": "app.com.example.absent.event.x"}),
)
UNDONE = {"events.subscribe": "events.unsubscribe", "display.show": "display.hide"}
MEMBER = r"\$\{([\w.]+)\.(\w+)\}"
BODY_LIMIT = 16 << 20
LONGEST_EVENT_S = 5
MOST_PINGS = 400


class Device:
    """What the device says of itself, and what the suite holds."""

    def __init__(self, rest, rpc, app, ready):
        self.rest, self.rpc, self.app = rest, rpc, app
        self.openapi = rest.ask("GET", "/openapi.json").body
        self.schemas = Schemas(self.openapi)
        self.holds = list(ready["capabilities"])
        self.simulated = bool(rest.ask("GET", "/version").body["sku"].get("simulated"))
        self.operations = {}
        for path, methods in self.openapi["paths"].items():
            for method, operation in methods.items():
                self.operations[operation["operationId"]] = (method.upper(), path, operation)

    def may(self, capability):
        """A parent gives its children, an unscoped capability every scope; device nodes are named themselves."""
        if capability.split(":")[0].endswith(".node"):
            return capability in self.holds
        return any(
            one == capability or (":" not in one and capability.startswith((f"{one}.", f"{one}:"))) for one in self.holds
        )


def documented(operation, answer):
    """What the document of the operation says against the answer, or None."""
    response = operation["responses"].get(str(answer.status))
    if response is None:
        return f"status {answer.status} is not documented"
    if answer.status >= 300 and answer.code not in response.get("x-codes", []):
        return f"code {answer.code} is not documented for status {answer.status}"
    if answer.headers.get("device-api-version") != "1":
        return "the header Device-Api-Version is missing"
    return None


def shaped(device, operation, answer):
    """The answer against its schema; a stream or a text has none."""
    content = operation["responses"][str(answer.status)].get("content", {})
    schema = content.get("application/json", {}).get("schema")
    return None if schema is None else device.schemas.problem(schema, answer.body)


def operations(device, known, report):
    """Each operation with one good and one bad request; what the suite does not hold has to be refused."""
    said = {}
    rows = {row["name"]: row for row in known}
    for name in [*rows, *(name for name in device.operations if name not in rows)]:
        if name not in device.operations:
            report.skipped("operations", name, ABSENT)
            continue
        _good(device, name, rows.get(name, {}), said, report)
        _bad(device, name, rows.get(name, {}), report)


def _wanted(operation, method, path, body):
    """Capability of the operation for these params: `bridges.spi:{handle}` with the handle of the request."""
    wanted = operation.get("x-capability")
    names = re.findall(r"\{(\w+)\}", wanted or "")
    for name in names:
        value = (body or {}).get(name) if isinstance(body, dict) else None
        wanted = wanted.replace(f"{{{name}}}", str(value or path.rsplit("/", 1)[-1].split("?")[0]))
    return wanted


def _good(device, name, row, said, report):
    method, route, operation = device.operations[name]
    case = f"{name} (good)"
    if not row and method == "GET" and not any(one["required"] for one in operation.get("parameters", [])):
        row = {"path": route}
    if "path" not in row:
        return report.skipped("operations", case, "the suite has no example of it")
    path, body = _filled(row["path"], said), _filled(row.get("body"), said)
    wanted = _wanted(operation, method, path, body)
    held = wanted is None or device.may(wanted)
    if re.search(MEMBER, json.dumps([path, body])):
        if held:
            return report.skipped("operations", case, "it follows one that did not succeed")
        # A denial comes before the request is looked at.
        path = re.sub(MEMBER, "absent", path)
    if held and wanted is not None and wanted.startswith("system") and method != "GET":
        return report.skipped("operations", case, "it would act on the device")
    answer = device.rest.ask(method, path, body)
    problem = documented(operation, answer)
    if problem:
        return report.failed("operations", case, problem, answer)
    if not held:
        return _denied(wanted, case, answer, report)
    if answer.status >= 300:
        if answer.code in FAULTS and answer.status != row.get("fails"):
            return report.failed("operations", case, f"a good request is refused with {answer.code}", answer)
        return report.passed("operations", case, f"refused as documented: {answer.code}")
    said[name] = answer.body
    problem = shaped(device, operation, answer)
    if problem:
        return report.failed("operations", case, problem, answer)
    return report.passed("operations", case)


def _denied(wanted, case, answer, report):
    if answer.code not in DENIALS:
        return report.failed("operations", case, f"{wanted} is not held, and it is not denied", answer)
    if answer.code == "CAPABILITY_DENIED" and not re.search(r'grant it with ".+"', str(answer.body)):
        return report.failed("operations", case, "the refusal does not say what would grant it", answer)
    return report.passed("operations", case, f"denied: {wanted}")


def _bad(device, name, row, report):
    """A member too many, or a body of the wrong kind. A body that the table refuses does nothing, whatever is held."""
    method, path, operation = device.operations[name]
    case = f"{name} (bad)"
    filled = re.sub(r"\{\w+\}", "absent", path)
    if "requestBody" not in operation:
        answer = device.rest.ask(method, f"{filled}?{quote('more')}=1")
    elif "application/json" in operation["requestBody"]["content"]:
        answer = device.rest.ask(method, filled, b"[]")
    else:
        answer = device.rest.ask(method, filled, b"[]", {"content-type": "application/json"})
    problem = documented(operation, answer)
    if problem:
        return report.failed("operations", case, problem, answer)
    if answer.status < 300:
        return report.failed("operations", case, "a bad request is taken", answer)
    if answer.status >= 500:
        return report.failed("operations", case, "a bad request is an error of the device", answer)
    return report.passed("operations", case, answer.code)


def rpc(device, report):
    """Each method of /openrpc.json with a member that it does not know: an error of its document, and nothing is done."""
    for method in device.rest.ask("GET", "/openrpc.json").body["methods"]:
        name = method["name"]
        case = f"{name} (bad)"
        codes = [(one.get("data") or {}).get("code") for one in method.get("errors", [])]
        try:
            report.failed("rpc", case, f"a bad request is taken: {device.rpc.call(name, {'ctsAbsent': True})!r:.300}")
        except RpcError as error:
            if error.code == "INTERNAL" or (codes and error.code not in [*codes, *DENIALS, "PARAMS_INVALID"]):
                report.failed("rpc", case, f"{error.code} is not documented: {error}")
            else:
                report.passed("rpc", case, error.code)


def _filled(value, said):
    """With members of earlier answers in the place of `${operation.member}`."""
    if isinstance(value, dict):
        return {name: _filled(one, said) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, said) for one in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(MEMBER, value)
    if whole:
        return said.get(whole[1], {}).get(whole[2], value)
    return re.sub(MEMBER, lambda found: str(said.get(found[1], {}).get(found[2], found[0])), value)


def capabilities(device, before, report):
    """Each capability: granted, refused, or withdrawn since the last run; what it gives was tried by the operations."""
    answer = device.rest.ask("GET", "/capabilities")
    if sorted(answer.body["holds"]) != sorted(device.holds):
        report.failed("capabilities", "READY", "READY and /capabilities name others", answer)
    outcomes = {name: (outcome, detail) for group, name, outcome, detail, _ in report.cases if group == "operations"}
    using = {}
    for name, (_method, _path, operation) in device.operations.items():
        if "x-capability" in operation:
            using.setdefault(re.split(r"[:.]\{|:", operation["x-capability"])[0], []).append(f"{name} (good)")
    others = {wanted: _other(device, wanted, method, params) for wanted, method, params in OTHERS}
    streams_of = {wanted: outcomes_of(report, "streams", f"{stream} ({wanted})") for stream, _params, wanted in STREAMS}
    for capability in (one["id"] for one in answer.body["capabilities"]):
        tried = [outcomes.get(name, ("skipped", "")) for name in using.get(capability, [])]
        tried += [found[capability] for found in (others, streams_of) if capability in found]
        bad = [detail for outcome, detail in tried if outcome == "FAILED"]
        held = any(one.split(":")[0] == capability for one in device.holds) or device.may(capability)
        state = "granted" if held else "withdrawn" if any(one.split(":")[0] == capability for one in before) else "refused"
        case = f"{capability}: {state}"
        if bad:
            report.failed("capabilities", case, bad[0])
        elif any(outcome == "passed" for outcome, _ in tried):
            report.passed("capabilities", case)
        else:
            report.skipped("capabilities", case, "nothing of this product tries it")


def outcomes_of(report, group, name):
    found = [(outcome, detail) for of, one, outcome, detail, _ in report.cases if (of, one) == (group, name)]
    return found[0] if found else ("skipped", "")


def _other(device, wanted, method, params):
    """Outcome and detail of a call that needs the capability."""
    filled = json.loads(json.dumps(params).replace("{app}", device.app))
    held = device.may(wanted)
    try:
        device.rpc.call(method, filled)
        if method in UNDONE:
            device.rpc.call(UNDONE[method], {name: filled[name] for name in ("filter",) if name in filled})
        return ("passed", "") if held else ("FAILED", f"{wanted} is not held, and {method} with {filled} is taken")
    except RpcError as error:
        if error.code == "METHOD_NOT_FOUND":
            return ("skipped", ABSENT)
        denied = error.code == "CAPABILITY_DENIED"
        return ("passed", "") if denied != held else ("FAILED", f"{method} with {filled} is answered with {error}")


def events(device, report):
    """An event comes back as it was published; topics of others are denied; nothing comes after the end."""
    topic = f"app.{device.app}.event.tried"
    rpc = device.rpc

    def take():
        try:
            return rpc.event(LONGEST_EVENT_S)
        except queue.Empty:
            return None

    rpc.call("events.subscribe", {"filter": f"app.{device.app}.event.**"})
    payload = {"text": "é\u2028", "list": [1, 2.5, None, True]}
    rpc.call("events.publish", {"topic": topic, "payload": payload})
    event = take()
    if event is None or event.get("topic") != topic or event.get("payload") != payload:
        report.failed("events", "an event comes as it was published", f"published {payload}, received {event}")
    else:
        report.passed("events", "an event comes as it was published")
    rpc.call("events.unsubscribe", {"filter": f"app.{device.app}.event.**"})
    rpc.call("events.publish", {"topic": topic, "payload": {"after": True}})
    rpc.call("system.ping")
    if rpc.events.empty():
        report.passed("events", "nothing comes after the end of a subscription")
    else:
        report.failed("events", "nothing comes after the end of a subscription", f"received {take()}")
    for case, params, code in (
        ("a topic of another app is denied", {"topic": "app.com.example.absent.event.x", "payload": {}}, "TOPIC_DENIED"),
        ("a topic of the system is denied", {"topic": "system.power", "payload": {}}, "TOPIC_DENIED"),
        ("priority critical is denied", {"topic": topic, "payload": {}, "priority": "critical"}, "CALLER_DENIED"),
        ("a payload of 64 KiB is refused", {"topic": topic, "payload": {"fill": "x" * 65_536}}, "PARAMS_INVALID"),
        ("a topic that is none is refused", {"topic": "a..b", "payload": {}}, "TOPIC_INVALID"),
    ):
        refused(report, "events", case, code, lambda: rpc.call("events.publish", params))


def refused(report, group, case, code, attempt):
    """Passes where the attempt raises RpcError with the code."""
    try:
        report.failed(group, case, f"it is taken, and {code} was wanted: {attempt()}")
    except RpcError as error:
        if error.code == code:
            report.passed(group, case)
        else:
            report.failed(group, case, f"{code} was wanted, and it is {error.code}: {error}")


def streams(device, report):
    """Events as a stream of the server over REST, and a stream that no plugin has."""
    topic = f"app.{device.app}.event.streamed"
    connection = device.rest.connection()
    try:
        headers = {"authorization": f"Bearer {device.rest.token}", "accept": "text/event-stream"}
        connection.request("GET", f"/events?filter={topic}", headers=headers)
        response = connection.getresponse()
        device.rpc.call("events.publish", {"topic": topic, "payload": {"nth": 1}})
        found = ""
        while response.status == 200 and not found.startswith("data:"):
            line = response.readline()
            found = line.decode() if line else "data: the stream ended"
        event = json.loads(found.split(":", 1)[1]) if "{" in found else {}
        if event.get("topic") == topic and event.get("payload") == {"nth": 1}:
            report.passed("streams", "events over REST come as they are published")
        else:
            report.failed("streams", "events over REST come as they are published", f"{response.status} {found[:600]}")
    except (OSError, ValueError) as error:
        report.failed("streams", "events over REST come as they are published", repr(error))
    finally:
        connection.close()
    for stream, params, wanted in STREAMS:
        _stream(device, stream, params, wanted, report)
    absent = lambda: device.rpc.call("stream.open", {"stream": "cts.absent"})
    refused(report, "streams", "a stream that no plugin has is refused", "STREAM_NOT_FOUND", absent)


def _stream(device, stream, params, wanted, report):
    """Opens and closes it where the capability is held; else it has to be denied."""
    case = f"{stream} ({wanted})"
    held = device.may(wanted)
    try:
        opened = device.rpc.call("stream.open", {"stream": stream, "params": params})
        device.rpc.call("stream.close", {"id": opened["id"]})
        if held:
            return report.passed("streams", case)
        return report.failed("streams", case, f"{wanted} is not held, and the stream opens")
    except RpcError as error:
        if error.code == "STREAM_NOT_FOUND":
            return report.skipped("streams", case, ABSENT)
        if held and error.code in DENIALS:
            return report.failed("streams", case, f"{wanted} is held, and the stream is denied: {error}")
        if held or error.code in DENIALS:
            return report.passed("streams", case, f"{error.code}")
        return report.failed("streams", case, f"{wanted} is not held, and it is not denied: {error}")


def limits(device, report):
    """A body that is too long, a deadline that is over, methods that are none, and the rate."""
    rest = device.rest

    def wanted(case, answer, status, code):
        if (answer.status, answer.code) == (status, code):
            report.passed("limits", case)
        else:
            report.failed("limits", case, f"{status} {code} was wanted", answer)

    wanted("a body beyond its limit is refused", rest.ask("POST", "/events/publish", b" " * BODY_LIMIT), 413, "BODY_TOO_LARGE")
    wanted("JSON that is none is refused", rest.ask("POST", "/events/publish", b"{"), 400, "JSON_INVALID")
    wanted("a path that is none is not found", rest.ask("GET", "/absent"), 404, "METHOD_NOT_FOUND")
    wanted("a wrong token has no owner", rest.ask("GET", "/ping", headers={"authorization": "Bearer x"}), 401, "UNAUTHENTICATED")
    refused(report, "limits", "a method that is none is not found", "METHOD_NOT_FOUND", lambda: device.rpc.call("cts.absent"))
    answers = [rest.ask("GET", "/ping", retries=0) for _ in range(MOST_PINGS)]
    limited = [one for one in answers if one.code == "RATE_LIMITED"]
    other = [one for one in answers if one.code not in (None, "RATE_LIMITED")]
    if other:
        report.failed("limits", "a burst is answered or limited", "another code came", other[0])
    elif any(not one.headers.get("retry-after") for one in limited):
        report.failed("limits", "a burst is answered or limited", "the limit does not say when to come again", limited[0])
    else:
        report.passed("limits", "a burst is answered or limited", f"{len(limited)} of {MOST_PINGS} were limited")
    wanted_again = rest.ask("GET", "/ping")
    if wanted_again.status == 200:
        report.passed("limits", "requests are taken again after a burst")
    else:
        report.failed("limits", "requests are taken again after a burst", "200 was wanted", wanted_again)


def budgets(device, report):
    """Files of its own can be kept, others not; the process is confined as the device says."""
    own = os.path.join(os.environ["DEVICE_DATA_DIR"], "tried")
    with open(own, "w", encoding="utf-8") as file:
        file.write("kept")
    os.remove(own)
    report.passed("budgets", "its own folder takes files")
    for case, folder in (("the folder of its program takes none", os.getcwd()), ("the system takes none", "/etc")):
        path = os.path.join(folder, "cts-tried")
        try:
            with open(path, "x", encoding="utf-8"):
                pass
            os.remove(path)
            if device.simulated:
                report.skipped("budgets", case, "apps of this simulated device have no sandbox")
            else:
                report.failed("budgets", case, f"{path} could be written")
        except OSError as error:
            report.passed("budgets", case, str(error))
    case = "no process of others can be read"
    own = f"DEVICE_APP_ID={device.app}".encode()
    numbers = [one for one in os.listdir("/proc") if one.isdigit()]
    found = {one: _readable(f"/proc/{one}/environ") for one in numbers}
    # The program that confines the app runs beside it, with what the app was given.
    strangers = [one for one, text in found.items() if text and own not in text.split(b"\0")]
    if not strangers:
        report.passed("budgets", case)
    elif device.simulated:
        report.skipped("budgets", case, "apps of this simulated device have no sandbox")
    else:
        names = [_readable(f"/proc/{one}/cmdline")[:80].decode("utf-8", "replace") for one in strangers[:8]]
        report.failed("budgets", case, f"the environments of these can: {names}")


def _readable(path):
    """The bytes of a file, empty where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(65_536)
    except OSError:
        return b""
