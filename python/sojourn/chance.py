"""What chance decides in a scenario: whether its seeds are different situations, or one and the same."""

from collections.abc import Iterator, Mapping
from typing import Any

STEADY = frozenset(
    {"droptail", "codel", "cobalt", "pi2", "dualpi2", "sfq", "drr", "sqf", "fq_codel", "fq_yield", "cake", "hhf"}
    | {"prio", "wrr", "dwrr", "wfq", "htb", "early"}
)
"""Disciplines that draw no more than the keys of a hash; pi2 and dualpi2 while `spread` is not random."""
_STEADY_TRAFFIC = frozenset({"bulk", "cbr", "ping", "train", "padding", "messages", "video"})
_MEDIA = frozenset({"dedicated", "gpon"})
"""Media without chance."""


def one_situation(scenario: Mapping[str, Any]) -> bool:
    """Return whether start times, traffic, path and queues of a resolved scenario are the same with every seed.

    Then seeds change at most hash keys and what controls draw, such as the phase in which BBR begins.

    >>> link = {"loss": 0.0, "queue": {"kind": "codel"}}
    >>> group = {"start": "0 s", "traffic": {"kind": "bulk"}}
    >>> one_situation({"bottleneck": link, "group": [group]})
    True
    >>> one_situation({"bottleneck": link, "group": [group | {"start": {"uniform": ["0 s", "1 s"]}}]})
    False
    """
    return all(map(_is_steady_link, _links(scenario))) and all(map(_is_steady_group, scenario["group"]))


def _links(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (scenario[key] for key in ("bottleneck", "reverse") if key in scenario)
    for key in ("hop", "station", "change"):
        yield from scenario.get(key, [])
    for change in scenario.get("change", []):
        yield from _links(change)


def _is_steady_link(link: Mapping[str, Any]) -> bool:
    if link.get("loss") or any(key in link for key in ("jitter", "noise", "snr_db", "cqi")):
        return False
    medium = link.get("medium")
    if medium is not None and medium["kind"] not in _MEDIA:
        return False
    return _is_steady_queue(link["queue"]) if "queue" in link else True


def _is_steady_queue(queue: Mapping[str, Any]) -> bool:
    inside = [queue["child"]] if "child" in queue else []
    inside += [one["queue"] for one in queue.get("class", []) if "queue" in one]
    drawn = queue.get("kind", "droptail") not in STEADY or queue.get("spread") == "random"
    return not drawn and all(map(_is_steady_queue, inside))


def _is_steady_group(group: Mapping[str, Any]) -> bool:
    if any(isinstance(group.get(key), Mapping) for key in ("start", "stop")):
        return False
    if str(group.get("transport", {}).get("send_jitter", "0 s")) != "0 s":
        return False
    traffic = group["traffic"]
    if traffic["kind"] == "on-off":
        return bool(traffic.get("times") == "fixed")
    if traffic["kind"] == "voip":
        return "talk" not in traffic
    return traffic["kind"] in _STEADY_TRAFFIC
