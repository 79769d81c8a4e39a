"""The packets that both ends of a path saw: table "packets" as every world has it."""

from typing import Any

import numpy as np

from sojourn.tables import Column, coded, plain
from sojourn.worlds.linux.captures import ECN_BITS
from sojourn.worlds.linux.observed import Observed
from sojourn.worlds.linux.plan.check import CBR

EVENTS = ["send", "receive"]
ECN = ["not-ect", "ect1", "ect0", "ce"]
"""ECN fields by their two bits."""
KINDS = ["data", "datagram"]


def packet_rows(seen: Observed) -> list[Column]:
    """Return one row for each packet of a forward flow when it was sent, and one when it was received.

    `seq` counts the packets of a flow in the order in which they were sent. Raises ValueError where no end captured.
    """
    if seen.ends is None:
        raise ValueError("no packets were kept")
    groups = list(dict.fromkeys(flow.group for flow in seen.job.flows))
    parts = [_of_flow(seen, place, groups) for place, flow in enumerate(seen.job.flows) if flow.forward]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((joined["event"], joined["time_ns"]))
    rows = {name: values[order] for name, values in joined.items()}
    names = {"event": EVENTS, "group": groups, "kind": KINDS, "ecn": ECN}
    return [coded(name, values, names[name]) if name in names else plain(name, values) for name, values in rows.items()]


def _of_flow(seen: Observed, place: int, groups: list[str]) -> dict[str, Any]:
    flow, at = seen.job.flows[place], seen.ends
    assert at is not None  # noqa: S101 (the caller has looked)
    own = seen.of(flow, at)
    sent_ns, received_ns = (np.round(times[own] * 1e9) for times in (at.entered_s, at.left_s))
    tos, arrived = at.tos[own].astype(int), ~np.isnan(received_ns)
    sequence, size_bytes = np.arange(len(sent_ns)), at.bytes[own]

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
    marked = np.where(at.marked[own], ECN_BITS, came)
    receive = rows(1, arrived, received_ns, marked, received_ns - sent_ns)
    return {name: np.concatenate([send[name], receive[name]]) for name in send}
