"""The small experiments that the figures show: one for all disciplines, one for all controls."""

from typing import Any

QUEUE_SECONDS = 30
CONTROL_SECONDS = 60
RATE = "10 Mbit/s"
RTT = "50 ms"
OTHER = "NewReno"
LIVES = {OTHER: (20, 40)}

# The motivating example's buffer, for every discipline whose limit is no part of what it is.
_DEEP = "500 packets"
_OWN_LIMIT = ("sfq", "pi2", "dualpi2", "cake", "prio", "wrr", "dwrr", "wfq", "htb", "early")
# What a discipline needs to be told to show what it is for.
_QUEUE = {"kind": "droptail", "limit": _DEEP}
_BACKGROUND: dict[str, Any] = {"name": "background", "groups": ["ledbat"], "queue": _QUEUE}
_REST: dict[str, Any] = {"name": "rest", "queue": _QUEUE}
_ONE_TO_THREE = [_BACKGROUND | {"weight": 1}, _REST | {"weight": 3}]
_SETTINGS: dict[str, dict[str, Any]] = {
    # One and a half times the fair share of a flow.
    "hhf": {"admit_bytes": 7500},
    # A little less than the link, so that packets wait where they are managed.
    "cake": {"bandwidth": "9.5 Mbit/s"},
    "prio": {"class": [_REST, _BACKGROUND]},
    **{kind: {"class": _ONE_TO_THREE} for kind in ("wrr", "dwrr", "wfq")},
    # The rates that the weights of the others come to.
    "htb": {"class": [_BACKGROUND | {"rate": "2.5 Mbit/s"}, _REST | {"rate": "7.5 Mbit/s"}]},
    "early": {"threshold": "10 ms", "marks": "ect", "child": {"kind": "codel", "limit": _DEEP, "ecn": True}},
}
# Disciplines that act on a packet's mark are shown with LEDBAT marked as what it is.
_BY_DSCP = ("wred", "cake")
# Disciplines that do nothing for packets that cannot be marked.
_BY_ECN = ("early",)


def ten_flows(queue: str) -> dict[str, Any]:
    """Five NewReno and five LEDBAT flows at a discipline with its defaults."""
    limit = {} if queue in _OWN_LIMIT else {"limit": _DEEP}
    dscps = {"ledbat": "le"} if queue in _BY_DSCP else {}
    return {
        "name": f"ten-flows-{queue}",
        "duration": f"{QUEUE_SECONDS} s",
        "bottleneck": {"rate": RATE, "queue": {"kind": queue, **limit, **_SETTINGS.get(queue, {})}},
        "group": [
            {
                "name": name,
                "control": control,
                "flows": 5,
                "rtt": RTT,
                "start": {"uniform": ["0 s", "0.1 s"]},
                "dscp": dscps.get(name, "default"),
                "transport": {"preset": "rfc", "ecn": queue in _BY_ECN},
            }
            for name, control in (("tcp", "newreno"), ("ledbat", "ledbat"))
        ],
    }


# Five times the bandwidth-delay product: deep enough to show who fills a buffer.
_BUFFER = {"kind": "droptail", "limit": "200 packets"}
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
# Controls that only a mark slows down are shown where marks are given.
_MARKED: dict[str, dict[str, Any]] = {"dctcp": _STEP, "prague": {"kind": "dualpi2"}, "scream": {"kind": "dualpi2"}}
# Controls that answer marks in proportion only when they are told to.
_TOLD = {"scream": {"kind": "scream", "preset": "l4s"}}


def alone(control: str) -> dict[str, Any]:
    """One flow for a minute on an empty link."""
    return {
        "name": f"alone-{control}",
        "duration": f"{CONTROL_SECONDS} s",
        "bottleneck": {"rate": RATE, "queue": _MARKED.get(control, _BUFFER)},
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
    group: dict[str, Any] = {"name": name, "control": _TOLD.get(control, control), "flows": 1, "rtt": RTT}
    if control in _MARKED:
        group["transport"] = {"ecn": "accurate"}
    return group
