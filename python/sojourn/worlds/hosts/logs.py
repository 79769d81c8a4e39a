"""What both ends of a flow logged of its packets, laid beside each other."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sojourn.worlds.hosts.admission import MAX_LOGGED
from sojourn.worlds.linux.crossing import Crossing
from sojourn.worlds.linux.errors import JobError
from sojourn.worlds.linux.plan.flows import Flow, code_point

_SENT = {"stamp_ns": 1 << 62, "number": (1 << 32) - 1, "size_bytes": 1 << 16}
_CAME = {"arrived_ns": 1 << 62, "marked": 1}
_ECT0 = 2
_NAME = np.dtype([("stamp_ns", "<i8"), ("number", "<i8")])


def is_log(value: Any, *, arrivals: bool) -> bool:
    """Tell whether a value is the log of one end as crates/sojourn-wire/src/log.rs has it."""
    if not isinstance(value, dict) or not all(_is_whole(value.get(key), 1 << 62) for key in ("start_ns", "unlogged")):
        return False
    columns = {**_SENT, **(_CAME if arrivals else {})}
    lists = [found for name in columns if isinstance(found := value.get(name), list)]
    lengths = {len(one) for one in lists}
    if len(lists) < len(columns) or len(lengths) > 1 or max(lengths) > MAX_LOGGED:
        return False
    return all(_is_whole(item, most) for one, most in zip(lists, columns.values(), strict=True) for item in one)


def _is_whole(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def ends(flows: Iterable[tuple[Flow, Mapping[str, Any], Mapping[str, Any]]]) -> dict[int, Crossing] | None:
    """Return what crossed the path, by the flows' numbers; None where nothing was logged.

    `flows` are each flow, the report of its sender and that of its receiver. Raises JobError where a log had no room
    for all.
    """
    found = {
        flow.id: _crossing(flow, sender["packets"], _came(receiver))
        for flow, sender, receiver in flows
        if "packets" in sender
    }
    return found or None


def _came(receiver: Mapping[str, Any]) -> Mapping[str, Any]:
    empty: dict[str, Any] = {name: [] for name in (*_SENT, *_CAME)}
    found: Mapping[str, Any] = receiver.get("packets", {**empty, "start_ns": 0, "unlogged": 0})
    return found


def _crossing(flow: Flow, sent: Mapping[str, Any], came: Mapping[str, Any]) -> Crossing:
    unlogged = sent["unlogged"] + came["unlogged"]
    if unlogged:
        room = len(sent["stamp_ns"])
        raise JobError(
            f"flow {flow.index} of group {flow.group} had {unlogged} packets more than its log holds ({room}); "
            "a shorter run, or one of fewer flows, fits"
        )
    count = len(sent["stamp_ns"])
    left_s, marked = np.full(count, np.nan), np.zeros(count, dtype=bool)
    # A packet may arrive twice: then its first arrival counts.
    _, mine, theirs = np.intersect1d(_names(sent), _names(came), return_indices=True)
    left_s[mine] = (np.array(came["arrived_ns"], dtype=np.int64)[theirs] - came["start_ns"]) / 1e9
    marked[mine] = np.array(came["marked"], dtype=bool)[theirs]
    entered_s = (np.array(sent["stamp_ns"], dtype=np.int64) - sent["start_ns"]) / 1e9
    arrived = np.flatnonzero(~np.isnan(left_s))
    last = arrived[-1] if len(arrived) else -1
    nobody = np.zeros(count, dtype=np.int64)
    return Crossing(
        entered_s,
        left_s,
        np.array(sent["size_bytes"], dtype=np.int64),
        nobody,
        nobody,
        np.full(count, code_point(flow.table["dscp"]) << 2 | (_ECT0 if flow.ecn else 0)),
        np.full(count, flow.ecn),
        marked,
        np.isnan(left_s) & (np.arange(count) < last),
    )


def _names(log: Mapping[str, Any]) -> Any:
    names = np.empty(len(log["stamp_ns"]), dtype=_NAME)
    for column in ("stamp_ns", "number"):
        names[column] = log[column]
    return names
