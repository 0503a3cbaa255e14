"""The compatibility suite: it runs at each start, and keeps its report as a table and as JUnit XML."""

import json
import os
import threading
import time

import checks
from device import Rest, Rpc
from report import FAILED, PASSED, SKIPPED, Report

APP = os.environ["DEVICE_APP_ID"]
DATA = os.environ["DEVICE_DATA_DIR"]
# A call of cts.report waits so long for the end of the run.
PATIENCE_S = 15

finished = threading.Event()
found = Report()


def report():
    """The last report, once there is one."""
    if not finished.wait(PATIENCE_S):
        return {"state": "running", "failed": found.count(FAILED), "report": ""}
    return {"state": "done", "failed": found.count(FAILED), "report": found.table()}


def keep(name, text):
    """Replaces the file as a whole."""
    path = os.path.join(DATA, name)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def former():
    """Capabilities that were held in any run before: those that are missing now were withdrawn."""
    try:
        with open(os.path.join(DATA, "held.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return []


def run(rest, rpc, ready):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "operations.json"), encoding="utf-8") as file:
        known = json.load(file)
    device = checks.Device(rest, rpc, APP, ready)
    before = former()
    info = device.openapi["info"]
    found.facts.update({"device": info["title"], "core": info["version"], "suite": "1.0.0"})
    found.facts["holds"] = ", ".join(device.holds) or "nothing"
    for group, check in (
        ("operations", lambda: checks.operations(device, known, found)),
        ("rpc", lambda: checks.rpc(device, found)),
        ("events", lambda: checks.events(device, found)),
        ("streams", lambda: checks.streams(device, found)),
        ("capabilities", lambda: checks.capabilities(device, before, found)),
        ("limits", lambda: checks.limits(device, found)),
        ("budgets", lambda: checks.budgets(device, found)),
    ):
        try:
            check()
        except Exception as error:  # one group that breaks is a failure, and the others still run
            found.failed(group, "the group ran to its end", repr(error))
    keep("report.txt", found.table())
    keep("junit.xml", found.junit())
    keep("held.json", json.dumps(sorted({*before, *device.holds})))


def main():
    rpc = Rpc({"cts.report": report, "cts.echo": lambda text: {"text": text}})
    ready = rpc.ready()
    began = time.monotonic()
    run(Rest(), rpc, ready)
    tell(rpc, time.monotonic() - began)
    finished.set()
    rpc.over.wait()


def tell(rpc, seconds):
    """The result goes to the log of the app and to the health of the device, too."""
    counts = {outcome: found.count(outcome) for outcome in (PASSED, FAILED, SKIPPED)}
    print(found.table())
    rpc.call("log.write", {"level": "info", "message": f"compatibility: {counts}, {seconds:.0f} s"})
    failed = counts[FAILED]
    rpc.call("health.report", {"status": "error", "message": f"{failed} checks failed"} if failed else {"status": "okay"})


main()
