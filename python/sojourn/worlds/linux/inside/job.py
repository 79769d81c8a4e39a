"""Executes a plan."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.worlds.linux.inside import offload
from sojourn.worlds.linux.inside.endpoints import EndpointError, Endpoints, endpoints
from sojourn.worlds.linux.inside.links import NAMES, Link, links, moments
from sojourn.worlds.linux.inside.namespace import CommandError, batch, configure, entered, namespaces
from sojourn.worlds.linux.inside.namespace import run as run_tool

# Endpoint processes have to be there when the run begins; where time is virtual this costs nothing.
_READY_S = 3.0
# What the last packets and the processes' ends may take.
_GRACE_S = 30.0
_POLL_S = 0.1
# The timers of a kernel become exact with its first tick.
_FIRST_TICKS_S = 0.05
_UNKNOWN = ("qdisc kind is unknown", "qdisc is unknown")


class JobError(Exception):
    """A job that cannot be done: `kind` is input, missing or failed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def run(folder: Path) -> None:
    """Execute plan.json of a folder and write report.json."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    time.sleep(_FIRST_TICKS_S)
    try:
        with namespaces(plan["namespaces"]), endpoints(folder) as running:
            _build(plan)
            with links(plan["watched"]) as watched:
                start_s = time.monotonic() + _READY_S + plan["lead_s"]
                for name, endpoint in plan["endpoints"].items():
                    running.start(name, {**endpoint, "start_at_s": start_s})
                counted = _watch(plan, running, watched, start_s, folder)
            report = {
                "start_at_s": start_s,
                "kernel": os.uname().release,
                "queues": counted,
                "qdiscs": _qdiscs(plan),
                **_joined(running.reports()),
            }
    except EndpointError as error:
        raise JobError(error.kind, str(error)) from error
    except CommandError as error:
        raise explained(str(error), plan["modules"]) from error
    beside = folder / "report.json.new"
    beside.write_text(json.dumps(report), encoding="utf-8")
    beside.replace(folder / "report.json")


def _build(plan: Mapping[str, Any]) -> None:
    """Make links, addresses and queues."""
    batch("ip", plan["links"])
    for name in plan["namespaces"]:
        with entered(name):
            configure(plan["sysctl"][name])
            for device in plan["devices"][name]:
                offload.switch_off(device)
        batch("ip", plan["ip"][name], name)
    for name, lines in plan["tc"].items():
        if lines:
            batch("tc", lines, name)


def is_unknown(complaint: str) -> bool:
    """Tell whether tc complains of a discipline that the kernel does not have."""
    return any(words in complaint for words in _UNKNOWN)


def explained(complaint: str, modules: Sequence[str]) -> JobError:
    """Tell what the machine or its kernel lacks from what is wrong."""
    if "no such command" in complaint:
        return JobError("missing", f"{complaint}; to install it: sudo apt-get install iproute2")
    if is_unknown(complaint):
        needed = ", ".join(modules)
        return JobError(
            "missing",
            f"this kernel lacks a queue discipline ({complaint}). It needs the modules {needed}; --kernel uml has "
            "all of them (to install it: sudo apt-get install user-mode-linux)",
        )
    return JobError("failed", complaint)


def _watch(
    plan: Mapping[str, Any], running: Endpoints, watched: Mapping[str, Link], start_s: float, folder: Path
) -> dict[str, dict[str, list[int]]]:
    """Read counters while the endpoints run, at the start and at the end of each bin, and make changes on the way."""
    rows: dict[str, dict[str, list[int]]] = {key: {name: [] for name in NAMES} for key in watched}
    bins = round(plan["duration_s"] / plan["bin_s"])
    number = 0
    for at_s, change in moments(bins, plan["bin_s"], plan.get("changes", [])):
        _sleep_until(start_s + at_s, running)
        if change is not None:
            watched[change["link"]].change(change)
            continue
        for key, link in watched.items():
            for name, value in zip(NAMES, link.read() or (), strict=False):
                rows[key][name].append(value)
        if number % max(1, bins // 100) == 0:
            (folder / "progress").write_text(f"{number / bins:.3f}", encoding="ascii")
        number += 1
    deadline = time.monotonic() + _GRACE_S
    while running.check():
        if time.monotonic() > deadline:
            raise JobError("failed", f"an endpoint had not ended {_GRACE_S:g} s after the run")
        time.sleep(_POLL_S)
    return rows


def _sleep_until(moment_s: float, running: Endpoints) -> None:
    """Sleep, and notice an endpoint that fails."""
    while (left := moment_s - time.monotonic()) > 0:
        running.check()
        time.sleep(min(left, 1.0))


def _qdiscs(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tc says of the queues at the end."""
    found = {}
    for key, where in plan["watched"].items():
        text = run_tool("tc", "-n", where["namespace"], "-s", "-j", "qdisc", "show", "dev", where["device"])
        found[key] = json.loads(text)
    return found


def _joined(reports: Mapping[str, Any]) -> dict[str, Any]:
    """Join what both ends of each flow saw."""
    flows: dict[int, dict[str, Any]] = {}
    for report in reports.values():
        for flow in report["flows"]:
            flows.setdefault(flow["id"], {}).update(flow)
    return {
        "flows": [flows[number] for number in sorted(flows)],
        "pings": [ping for report in reports.values() for ping in report["pings"]],
        "captures": [capture for report in reports.values() for capture in report["captures"]],
    }
