"""The small experiments that the figures show: one for all disciplines, one for all controls."""

from typing import Any

QUEUE_SECONDS = 30
CONTROL_SECONDS = 60
RATE = "10 Mbit/s"
RTT = "50 ms"
OTHER = "NewReno"
LIVES = {OTHER: (20, 40)}

_DEEP = {"kind": "droptail", "limit": "500 packets"}
# Five times the bandwidth-delay product: deep enough to show who fills a buffer.
_BUFFER = {"kind": "droptail", "limit": "200 packets"}
_MARKING = {"kind": "dualpi2"}

# What a discipline needs to be told to show what it is for.
_BACKGROUND: dict[str, Any] = {"name": "background", "groups": ["ledbat"]}
_REST: dict[str, Any] = {"name": "rest"}
_ONE_TO_THREE = [_BACKGROUND | {"weight": 1}, _REST | {"weight": 3}]
_QUEUES: dict[str, dict[str, Any]] = {
    "droptail": _DEEP,
    "prio": {"kind": "prio", "class": [_REST, _BACKGROUND]},
    **{kind: {"kind": kind, "class": _ONE_TO_THREE} for kind in ("wrr", "dwrr", "wfq")},
}
# Controls that only a mark slows down are shown where marks are given.
_MARKED = ("dctcp", "prague")


def ten_flows(queue: str) -> dict[str, Any]:
    """Five NewReno and five LEDBAT flows at a discipline with its defaults."""
    return {
        "name": f"ten-flows-{queue}",
        "duration": f"{QUEUE_SECONDS} s",
        "bottleneck": {"rate": RATE, "queue": _QUEUES.get(queue, {"kind": queue})},
        "group": [
            {"name": name, "control": control, "flows": 5, "rtt": RTT, "start": {"uniform": ["0 s", "0.1 s"]}}
            for name, control in (("tcp", "newreno"), ("ledbat", "ledbat"))
        ],
    }


# A step at 20 packets, as DCTCP wants it: RED on the queue of the moment, with thresholds a packet apart.
_STEP = {
    "kind": "red",
    "limit": "200 packets",
    "min": "20 packets",
    "max": "21 packets",
    "max_p": 1.0,
    "weight": 1.0,
    "gentle": False,
    "ecn": True,
}
_QUEUE_OF: dict[str, dict[str, Any]] = {"dctcp": _STEP, "prague": _MARKING}


def alone(control: str) -> dict[str, Any]:
    """One flow for a minute on an empty link."""
    return {
        "name": f"alone-{control}",
        "duration": f"{CONTROL_SECONDS} s",
        "bottleneck": {"rate": RATE, "queue": _QUEUE_OF.get(control, _BUFFER)},
        "group": [_group(control, control)],
    }


def beside_newreno(control: str) -> dict[str, Any]:
    """As `alone`, with a NewReno flow on the link for the middle third."""
    tables = alone(control)
    start_s, stop_s = LIVES[OTHER]
    other = {**_group(OTHER, "newreno"), "start": f"{start_s} s", "stop": f"{stop_s} s"}
    if control in _MARKED:
        other["transport"] = {"ecn": True}
    return {**tables, "name": f"beside-newreno-{control}", "group": [*tables["group"], other]}


def _group(name: str, control: str) -> dict[str, Any]:
    group: dict[str, Any] = {"name": name, "control": control, "flows": 1, "rtt": RTT}
    if control in _MARKED:
        group["transport"] = {"ecn": True, "ecn_feedback": "accurate"}
    return group
