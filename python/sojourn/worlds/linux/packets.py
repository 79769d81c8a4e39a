"""The packets that both ends of a path saw: table "packets" as every world has it."""

from typing import Any

import numpy as np

from sojourn.tables import Column, coded, plain
from sojourn.worlds.linux.captures import ECN_BITS
from sojourn.worlds.linux.crossing import Crossing
from sojourn.worlds.linux.observed import Observed
from sojourn.worlds.linux.plan.check import CBR
from sojourn.worlds.linux.plan.flows import Flow

EVENTS = ["send", "receive"]
ECN = ["not-ect", "ect1", "ect0", "ce"]
"""ECN fields by their two bits."""
KINDS = ["data", "datagram"]


def packet_rows(seen: Observed) -> list[Column]:
    """Return one row for each packet of a flow that was watched when it was sent, and one when it was received.

    `seq` counts the packets of a flow in the order in which they were sent. Raises ValueError where no end captured.
    """
    if seen.ends is None:
        raise ValueError("no packets were kept")
    groups = list(dict.fromkeys(flow.group for flow in seen.job.flows))
    watched = [(flow, seen.ends[flow.id]) for flow in seen.job.flows if flow.id in seen.ends]
    parts = [_of_flow(flow, at, groups) for flow, at in watched]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((joined["event"], joined["time_ns"]))
    rows = {name: values[order] for name, values in joined.items()}
    names = {"event": EVENTS, "group": groups, "kind": KINDS, "ecn": ECN}
    return [coded(name, values, names[name]) if name in names else plain(name, values) for name, values in rows.items()]


def _of_flow(flow: Flow, at: Crossing, groups: list[str]) -> dict[str, Any]:
    sent_ns, received_ns = (np.round(times * 1e9) for times in (at.entered_s, at.left_s))
    tos, arrived = at.tos.astype(int), ~np.isnan(received_ns)
    sequence, size_bytes = np.arange(len(sent_ns)), at.bytes

    def rows(event: int, which: Any, times_ns: Any, ecn: Any, delay_ns: Any) -> dict[str, Any]:
        count = int(which.sum())
        return {
            "time_ns": times_ns[which],
            "event": np.full(count, event),
            "group": np.full(count, groups.index(flow.group)),
            "index": np.full(count, flow.index),
            "kind": np.full(count, int(flow.kind == CBR)),
            "seq": sequence[which],
            "size_bytes": size_bytes[which],
            "ecn": ecn[which],
            "dscp": tos[which] >> 2,
            "sojourn_ns": delay_ns[which],
        }

    came = tos & ECN_BITS
    every = np.ones(len(sent_ns), dtype=bool)
    send = rows(0, every, sent_ns, came, np.zeros(len(sent_ns)))
    marked = np.where(at.marked, ECN_BITS, came)
    receive = rows(1, arrived, received_ns, marked, received_ns - sent_ns)
    return {name: np.concatenate([send[name], receive[name]]) for name in send}
