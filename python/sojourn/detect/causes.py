"""What a probe suffers from besides the queue: packets lost at random, and greedy flows of others.

A queue drops what arrives while it holds much, so what is lost at a queue that is next to empty was lost by the link or
by a policer. Others' greedy flows are there before the probe loads the path, and take their part while it does.
"""

from collections.abc import Sequence

import numpy as np

from sojourn.detect.features import dispersion_bps, lasting_rate, train_gaps
from sojourn.detect.log import EMPTY, FlowLog, Log, Times
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, GREEDY, LARGE, LESS, SMALL, SMALL_BYTES, SMALL_COUNT, THIN
from sojourn.detect.waits import FEW, NOTHING, log10, mean, quantile, waiting

LOSS, BULK = "loss", "bulk"
CAUSES = (LOSS, BULK)
"""Packets lost at random, whatever the queue holds, and others' greedy flows."""

REASONS: dict[str, str] = {
    "load_empty_loss": "the share lost of packets whose neighbours in their flow hardly waited: no queue drops those",
    "load_empty_losses": "how many these are: one may be chance",
    "load_all_empty_loss": "the same where the neighbours of all flows hardly waited: a shared queue that is short",
    "load_all_empty_losses": "how many these are",
    "load_half_loss": "the share lost where the neighbours waited less than half of the most: no full buffer drops so",
    "load_half_losses": "how many these are",
    "over_empty_loss": "the same under the overload, of flows that have a queue of their own",
    "over_empty_losses": "how many these are",
    "over_all_empty_loss": "the same under the overload, of flows that share a queue",
    "over_all_empty_losses": "how many these are",
    "over_half_loss": "the same under the overload, where a full buffer drops what is too much",
    "over_half_losses": "how many these are",
    "idle_wait_packets": "what a thin flow waits before the probe loads the path: others' queue",
    "idle_wait_most_packets": "the longest such wait: others' queue that comes and goes",
    "idle_loss": "what is lost meanwhile: others' full buffer, or a link",
    "idle_stretch": "trains leave in turns with others' flows, or between their packets",
    "load_busy": "how much of the time packets waited: a path that others fill is always busy",
    "load_busy_share": "what the probe got of it while packets waited: less than all only where others send",
    "load_busy_share_of_small": "the same of what trains of small packets say, which fit into one turn of a fair queue",
    "load_line_share": "what the probe got of what the fastest trains say that the line carries",
    "over_line_share": "the same under the overload, which does not slow down",
}
"""Every sign and why it tells a cause."""
NAMES = tuple(REASONS)
# A wait is next to nothing where it is less than so many packets beyond what varies on the idle path, or less than this
# part of the flow's usual wait; what varies is no more than half of the most.
_LOW_PACKETS, _LOW_PART, _HALF, _VARIES = 1.5, 0.2, 0.5, 0.9
_MOST = 0.99
_BUSY_PACKETS = 3.0
# Of gaps between packets of trains this part had nothing in between.
_FAST = 0.2


def signs(find: Log, load: Log, overload: Log) -> dict[str, float]:
    """Return the signs of causes in the logs of a probe's stages by name; NaN for what was not seen."""
    fastest = _fastest_bps([find.get(FULL, EMPTY), load.get(FULL, EMPTY)])
    peak = np.nanmax([fastest, lasting_rate(load) if load else NOTHING, 0.0])
    if not peak > 0:
        return dict.fromkeys(NAMES, NOTHING)
    packet_s = FULL_BYTES * 8 / peak
    values = {**_idle(load, packet_s), **_shares(load, overload, peak, packet_s)}
    varies_s = _varies_s(load)
    for stage, log in (("load", load), ("over", overload)):
        flows = [one for one in log.values() if len(one.sent_s) and not one.lost.all()]
        own = [_met(one, _low_s(one, packet_s, varies_s)) for one in flows]
        half = [_met(one, _HALF * quantile(waiting(one), _MOST)) for one in flows]
        values |= {**_lost(f"{stage}_empty", own), **_lost(f"{stage}_all_empty", _together(own))}
        values |= _lost(f"{stage}_half", half)
    return {name: float(values.get(name, NOTHING)) for name in NAMES}


Met = tuple[Times, Times, Times]
"""Of packets: when they were sent, whether they hardly waited (NaN for those lost), and whether they were lost."""


def _varies_s(load: Log) -> float:
    """Return what the waits of a thin flow vary by before the greedy flow begins."""
    thin, greedy = load.get(THIN, EMPTY), load.get(GREEDY, EMPTY)
    if not len(greedy.sent_s) or thin.lost.all():
        return 0.0
    varies_s = quantile(waiting(thin)[thin.sent_s < greedy.sent_s[0]], _VARIES)
    return 0.0 if np.isnan(varies_s) else varies_s


def _low_s(flow: FlowLog, packet_s: float, varies_s: float) -> float:
    """Return below which wait a packet of a flow met next to no queue."""
    wait = waiting(flow)
    varies_s = min(varies_s, _HALF * quantile(wait, _MOST))
    return max(_LOW_PACKETS * packet_s + varies_s, _LOW_PART * quantile(wait, 0.5))


def _met(flow: FlowLog, low_s: float) -> Met:
    low = (waiting(flow) <= low_s).astype(np.float64)
    return flow.sent_s, np.where(flow.lost, np.nan, low), flow.lost.astype(np.float64)


def _together(parts: Sequence[Met]) -> list[Met]:
    """Return the packets of all flows as of one."""
    if not parts:
        return []
    sent, low, lost = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(sent, kind="stable")
    return [(sent[order], low[order], lost[order])]


def _lost(prefix: str, parts: Sequence[Met]) -> dict[str, float]:
    """Return how many packets were lost between two that hardly waited, and their share."""
    met = lost = 0
    for _, low, gone in parts:
        came = np.flatnonzero(~np.isnan(low))
        places = np.arange(len(low))
        after = np.searchsorted(came, places, "right")
        before = np.searchsorted(came, places, "left") - 1
        inside = (before >= 0) & (after < len(came))
        between = np.zeros(len(low), dtype=np.bool_)
        between[inside] = (low[came[before[inside]]] > 0) & (low[came[after[inside]]] > 0)
        met += int(between.sum())
        lost += int(gone[between].sum())
    if not met:
        return {}
    return {f"{prefix}_loss": log10(lost / met + 1e-5), f"{prefix}_losses": float(np.log1p(lost))}


def _idle(load: Log, packet_s: float) -> dict[str, float]:
    """Return what there is before the greedy flow begins."""
    thin, greedy, full = (load.get(name, EMPTY) for name in (THIN, GREEDY, FULL))
    if not len(greedy.sent_s) or thin.lost.all():
        return {}
    begin_s = float(greedy.sent_s[0])
    own, wait = thin.sent_s < begin_s, waiting(thin)
    before = full.between(-np.inf, begin_s - 0.05)
    gaps = train_gaps(before, FULL_COUNT)
    lost = np.concatenate([thin.lost[own], before.lost, load.get(SMALL, EMPTY).between(-np.inf, begin_s - 0.05).lost])
    return {
        "idle_wait_packets": log10(quantile(wait[own], 0.5) / packet_s + 1e-2),
        "idle_wait_most_packets": log10(quantile(wait[own], 1.0) / packet_s + 1e-2),
        "idle_loss": mean(lost),
        "idle_stretch": log10(float(np.mean(gaps)) / packet_s) if len(gaps) else NOTHING,
    }


def _shares(load: Log, overload: Log, peak_bps: float, packet_s: float) -> dict[str, float]:
    greedy = load.get(GREEDY, EMPTY)
    wait = waiting(greedy)
    late = wait[len(wait) // 2 :]
    busy_bps = _busy_bps(load, greedy, _BUSY_PACKETS * packet_s)
    small_bps = dispersion_bps(load.get(SMALL, EMPTY), SMALL_COUNT, SMALL_BYTES)
    found = {
        "load_busy_share": log10(busy_bps / peak_bps),
        "load_busy_share_of_small": log10(busy_bps / small_bps),
        "load_busy": mean(late[~np.isnan(late)] > _BUSY_PACKETS * packet_s),
        "load_line_share": log10(lasting_rate(load) / peak_bps) if load else NOTHING,
    }
    flows = [one for one in (overload.get(name, EMPTY) for name in (THIN, LARGE, LESS)) if not one.lost.all()]
    if flows:
        begin_s, end_s = float(flows[0].sent_s[0]), float(flows[0].sent_s[-1])
        came = sum(float(one.size_bytes[~one.lost].sum()) for one in flows)
        found["over_line_share"] = log10(came * 8 / (end_s - begin_s) / peak_bps) if end_s > begin_s else NOTHING
    return found


def _busy_bps(load: Log, greedy: FlowLog, least_s: float) -> float:
    """Return what arrived of the probe in a second while packets of the greedy flow waited longer than `least_s`."""
    came = ~greedy.lost
    if came.sum() <= FEW:
        return NOTHING
    arrived_s, wait = greedy.received_s[came], waiting(greedy)[came]
    every_s = np.concatenate([one.received_s[~one.lost] for one in load.values()])
    sizes = np.concatenate([one.size_bytes[~one.lost] for one in load.values()])
    order = np.argsort(every_s, kind="stable")
    total = np.concatenate([[0], np.cumsum(sizes[order])])
    between = np.diff(total[np.searchsorted(every_s[order], arrived_s, "right")])
    gaps = np.diff(arrived_s)
    busy = (wait[1:] > least_s) & (wait[:-1] > least_s) & (gaps >= 0)
    busy_s = float(gaps[busy].sum())
    return float(between[busy].sum() * 8 / busy_s) if busy_s > 0 else NOTHING


def _fastest_bps(trains: Sequence[FlowLog]) -> float:
    """Return the rate that the closest packets of trains tell: none of another flow came between those."""
    gaps = []
    for train in trains:
        whole = len(train.sent_s) // FULL_COUNT * FULL_COUNT
        gaps.append(np.diff(train.received_s[:whole].reshape(-1, FULL_COUNT), axis=1).ravel())
    known = np.concatenate(gaps)
    known = known[~np.isnan(known)]
    known = known[known > 0]
    return float(FULL_BYTES * 8 / np.quantile(known, _FAST)) if len(known) else NOTHING
