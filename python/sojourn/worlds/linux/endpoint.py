"""Endpoints on real sockets, one process: ``python -m sojourn.worlds.linux.endpoint PLAN REPORT``.

PLAN is a JSON file, described by the Rust types of crates/sojourn-wire/src/plan.rs: when the run starts (seconds of
CLOCK_MONOTONIC), how long it lasts, and the ends of flows, captures and probes. Beside the kinds of flow described
there this program knows "utp": libutp, as a process of its own (`sojourn.worlds.linux.utp`). REPORT is written when the
run is over, whole or not at all: what the endpoints saw (crates/sojourn-wire/src/report.rs), or, where the run failed,
``{"error": {"kind": "input" | "missing" | "failed", "message": ...}}``; then the message is on standard error, too.

Exit codes: 0, 1 (failed or missing), 2 (the plan is wrong), 130 or 143 (SIGINT, SIGTERM; no report).
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from sojourn import _native
from sojourn.worlds.linux.errors import NotInstalledError, TestbedError
from sojourn.worlds.linux.utp import Flow, missing

DRIVER_PATIENCE_S = 5.0
USAGE = "usage: python -m sojourn.worlds.linux.endpoint PLAN REPORT"


def main(arguments: list[str]) -> int:
    """Run the plan; return the exit code."""
    if len(arguments) != 2:  # noqa: PLR2004 (the plan and the report)
        print(USAGE, file=sys.stderr)  # noqa: T201
        return 2
    plan, report = map(Path, arguments)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        text = run(plan.read_text(encoding="utf-8"))
    except (_native.WireError, NotInstalledError, DriverError, ValueError, OSError) as error:
        return _fail(report, _kind(error), f"the plan {plan}: {error}" if isinstance(error, OSError) else str(error))
    except KeyboardInterrupt:
        return 130
    _write(report, text)
    return 0


class DriverError(Exception):
    """The process of a flow over libutp failed."""


def _wire(text: str) -> str:
    """Run a plan's own endpoints; the engine has them on Linux only."""
    if not hasattr(_native, "wire"):
        raise TestbedError(f"endpoints on real sockets need Linux; found {sys.platform}")
    return _native.wire(text)


def run(text: str) -> str:
    """Do what a plan says; return the report as JSON."""
    plan = json.loads(text)
    entries = plan.get("flows", []) if isinstance(plan, dict) else []
    if named := {one for entry in entries for one in entry.pop("plugins", ())}:
        from sojourn import plugins

        plugins.ensure(sorted(named))
    text = json.dumps(plan)
    flows = [Flow(entry) for entry in entries if entry.get("kind") == "utp"]
    if not flows:
        return _wire(text)
    if any("driver" not in flow.entry for flow in flows) and missing():
        raise NotInstalledError("a flow over libutp", missing())
    with _drivers(flows, plan) as drivers:
        others = plan | {"flows": [entry for entry in entries if entry.get("kind") != "utp"]}
        report = json.loads(_wire(json.dumps(others)))
        report["flows"] += [_outcome(flow, driver, plan) for flow, driver in drivers]
    order = {entry["id"]: place for place, entry in enumerate(entries)}
    report["flows"].sort(key=lambda flow: order[flow["id"]])
    return json.dumps(report)


@contextmanager
def _drivers(flows: list[Flow], plan: dict[str, Any]) -> Iterator[list[tuple[Flow, subprocess.Popen[str]]]]:
    """Have a process for each flow; none is left behind."""
    running: list[tuple[Flow, subprocess.Popen[str]]] = []
    try:
        for flow in flows:
            driver = subprocess.Popen(
                flow.command(plan), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            running.append((flow, driver))
        yield running
    finally:
        for _, driver in running:
            driver.kill()
            driver.wait()


def _outcome(flow: Flow, driver: "subprocess.Popen[str]", plan: dict[str, Any]) -> dict[str, Any]:
    try:
        output, errors = driver.communicate(timeout=DRIVER_PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise DriverError(f"flow {flow.entry['id']}: libutp's driver did not end with the run") from None
    if driver.returncode != 0:
        raise DriverError(f"flow {flow.entry['id']}: libutp's driver: {errors.strip()}")
    return flow.report(output, plan)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _kind(error: Exception) -> str:
    match error:
        case _native.WireError():
            return error.fault
        case NotInstalledError():
            return "missing"
        case DriverError():
            return "failed"
        case _:
            return "input"


def _fail(report: Path, kind: str, message: str) -> int:
    error: dict[str, Any] = {"error": {"kind": kind, "message": message}}
    _write(report, json.dumps(error))
    print(message, file=sys.stderr)  # noqa: T201
    return 2 if kind == "input" else 1


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
