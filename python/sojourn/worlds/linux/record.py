"""The run record of a run on a kernel, with the names and units of every other world."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sojourn.data.statistics import jain
from sojourn.networks import Route
from sojourn.worlds.linux.crossing import Crossing
from sojourn.worlds.linux.observed import Observed, are_data
from sojourn.worlds.linux.plan.flows import Flow

# Quantiles by the names that records have.
_QUANTILES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_TAIL = ("p50", "p90", "p95", "p99", "p999")
_SIZE_UNITS = ("B", "kB", "MB", "GB", "TB")
_EXTENT = {"mean": None, "max": None}
# What is not known of a link at whose queue nobody stood.
_UNSEEN: dict[str, Any] = {
    "utilization": None,
    "queue_packets": _EXTENT,
    "queue_bytes": _EXTENT,
    "queue_ms": dict.fromkeys(["mean", *_QUANTILES, "max"]),
    **dict.fromkeys(["arrivals", "departures", "drops", "marks", "drop_rate"]),
}


def record(seen: Observed, seed: int, kernel: str, wall_s: float) -> str:
    """Return the record as JSON; what a kernel does not tell is null."""
    flows = [_flow(seen, flow) for flow in seen.job.flows]
    members = {group: [flow for flow in seen.job.flows if flow.group == group] for group in _groups(seen)}
    hops = {link: _link(seen, link) for link in seen.links if link not in {"bottleneck", "reverse"}}
    document = {
        "seed": seed,
        "duration_s": seen.duration_s,
        "measured_from_s": seen.warmup_s,
        "events": None,
        "wall_s": wall_s,
        "kernel": {"name": kernel, "release": seen.report.kernel, "remarks": seen.remarks},
        "bottleneck": {**_link(seen, "bottleneck"), **_probe(seen)},
        **({"reverse": _link(seen, "reverse")} if "reverse" in seen.links else {}),
        **({"hops": hops} if hops else {}),
        "groups": {group: _group(seen, own) for group, own in members.items()},
        "flows": flows,
        "jain_all": jain([flow["goodput_mbps"] for flow in flows]),
    }
    return json.dumps(document)


def spread(values: Any, quantiles: Sequence[str] = tuple(_QUANTILES), *, most: bool = True) -> dict[str, float | None]:
    """Return mean, quantiles and maximum; null where there are no values."""
    known = values[~np.isnan(values)]
    names = ["mean", *quantiles, *(["max"] if most else [])]
    if not len(known):
        return dict.fromkeys(names)
    numbers = [
        known.mean(),
        *(np.quantile(known, _QUANTILES[name]) for name in quantiles),
        *([known.max()] if most else []),
    ]
    return dict(zip(names, map(float, numbers), strict=True))


def _groups(seen: Observed) -> list[str]:
    return list(dict.fromkeys(flow.group for flow in seen.job.flows))


def _link(seen: Observed, link: str) -> dict[str, Any]:
    if link not in seen.crossings:
        return _UNSEEN
    at = seen.crossings[link]
    entered = _within(seen, at.entered_s)
    left = _within(seen, at.left_s)
    drops = _growth(seen, seen.counted(link, "drops")) + _growth(seen, seen.counted(link, "lost"))
    waiting = {name: seen.counted(link, name)[1:][seen.measured_bins] for name in ("packets", "bytes")}
    arrivals = int(entered.sum())
    until_bits = seen.sendable(link)(np.array([seen.warmup_s, seen.duration_s]))
    capacity_bits = until_bits[1] - until_bits[0]
    return {
        "utilization": float(at.bytes[left].sum() * 8 / capacity_bits),
        **{
            f"queue_{name}": {"mean": float(values.mean()), "max": float(values.max())}
            for name, values in waiting.items()
        },
        "queue_ms": spread(at.delay_ms[left]),
        "arrivals": arrivals,
        "departures": int(left.sum()),
        "drops": drops,
        "marks": int(at.marked[left].sum()),
        "drop_rate": drops / arrivals if arrivals else None,
    }


def _probe(seen: Observed) -> dict[str, Any]:
    """Return the queueing delay as pings see it, and the base that was taken off."""
    sent_s, delay_ms, base_ms = seen.probe_ms
    return {"ping_ms": {**spread(delay_ms[sent_s >= seen.warmup_s]), "base": base_ms}}


def _flow(seen: Observed, flow: Flow) -> dict[str, Any]:
    delivered = _delivered(seen, flow)
    return {
        "group": flow.group,
        "index": flow.index,
        "goodput_mbps": _mbps(seen, delivered),
        "delivered_bytes": delivered,
        "drops": _fates(seen, [flow])["drops"],
        "rtt_ms_mean": spread(seen.per_bin(flow, "rtt_ms")[seen.measured_bins])["mean"],
        "queue_ms": _delays(seen, [flow]),
    }


def _group(seen: Observed, own: Sequence[Flow]) -> dict[str, Any]:
    delivered = [_delivered(seen, flow) for flow in own]
    rivals = [flow for flow in seen.job.flows if flow.forward == own[0].forward]
    total = sum(_delivered(seen, flow) for flow in rivals)
    fates = _fates(seen, own)
    sent = fates["sent"]
    rtt_ms = np.concatenate([seen.per_bin(flow, "rtt_ms")[seen.measured_bins] for flow in own])
    return {
        "share": sum(delivered) / total if total else None,
        "goodput_mbps": _mbps(seen, sum(delivered)),
        "drop_rate": fates["drops"] / sent if sent and fates["drops"] is not None else None,
        "mark_rate": fates["marks"] / sent if sent else None,
        "ack_drop_rate": None,
        "syn_drops": None,
        "retransmissions": _total(seen, own, "retransmissions"),
        "timeouts": _total(seen, own, "timeouts"),
        "jain": jain(delivered),
        "rtt_ms": spread(rtt_ms, most=False),
        "queue_ms": _delays(seen, own),
        **_completions(seen, own),
    }


def _delivered(seen: Observed, flow: Flow) -> int:
    return int(np.nansum(seen.per_bin(flow, "delivered_bytes")[seen.measured_bins]))


def _mbps(seen: Observed, delivered_bytes: int) -> float:
    return delivered_bytes * 8 / 1e6 / (float(seen.measured_bins.sum()) * seen.bin_s)


def _fates(seen: Observed, own: Sequence[Flow]) -> dict[str, Any]:
    """Return how many data packets came to the first link of their way, and were dropped and marked on it.

    What a lossy link lost behind its queue is not seen by flow, so that drops are then unknown.
    """
    if not all(link in seen.crossings for flow in own for link in flow.route.there):
        return {"sent": None, "drops": None, "marks": None}
    entered = [(at, mine & _within(seen, at.entered_s)) for at, mine in _crossed(seen, own, lambda way: way.there)]
    first = [mine & _within(seen, at.entered_s) for at, mine in _crossed(seen, own, lambda way: way.there[:1])]
    is_lossy = any(seen.counted(link, "lost")[-1] > 0 for flow in own for link in flow.route.there)
    return {
        "sent": sum(int(mine.sum()) for mine in first),
        "drops": None if is_lossy else sum(int((mine & at.dropped).sum()) for at, mine in entered),
        "marks": sum(int((mine & at.marked).sum()) for at, mine in entered),
    }


def _delays(seen: Observed, own: Sequence[Flow]) -> dict[str, float | None]:
    found = _crossed(seen, own, lambda way: (way.main,))
    left = [at.delay_ms[mine & _within(seen, at.left_s)] for at, mine in found]
    return spread(np.concatenate([np.array([]), *left]))


def _crossed(
    seen: Observed, own: Sequence[Flow], asked: Callable[[Route], Sequence[str | None]]
) -> list[tuple[Crossing, Any]]:
    """Return what crossed the links asked for of each flow's route, and what of it were these flows' data."""
    by_link: dict[str, list[Flow]] = {}
    for flow in own:
        for link in asked(flow.route):
            if link is not None and link in seen.crossings:
                by_link.setdefault(link, []).append(flow)
    found = ((seen.crossings[link], flows) for link, flows in by_link.items())
    return [(at, np.logical_or.reduce([are_data(flow, at) for flow in flows])) for at, flows in found]


def _total(seen: Observed, own: Sequence[Flow], name: str) -> int | None:
    """Return the sum over flows of what their senders count from the start of the run; unknown with a warm-up."""
    values = [seen.report.flows[flow.id].get(name) for flow in own]
    return None if seen.warmup_s or any(value is None for value in values) else sum(values)


def _completions(seen: Observed, own: Sequence[Flow]) -> dict[str, Any]:
    found = [pair for flow in own for pair in seen.report.flows[flow.id].get("completions") or []]
    if not found:
        return {}
    times_ms, sizes = np.array([pair[0] for pair in found]) * 1e3, np.array([pair[1] for pair in found])
    decades: dict[int, Any] = {
        int(decade): np.floor(np.log10(sizes)) == decade for decade in np.unique(np.floor(np.log10(sizes)))
    }
    by_size = {_size_name(decade): _times(times_ms[members]) for decade, members in decades.items()}
    return {"fct_ms": _times(times_ms), "fct_by_size_ms": by_size}


def _times(times_ms: Any) -> dict[str, Any]:
    return {"count": len(times_ms), **spread(times_ms, _TAIL, most=False)}


def _size_name(decade: int) -> str:
    """Name a power of ten of bytes as the engine does: 10kB."""
    return f"{10 ** (decade % 3)}{_SIZE_UNITS[decade // 3]}"


def _within(seen: Observed, times_s: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (times_s >= seen.warmup_s) & (times_s <= seen.duration_s)


def _growth(seen: Observed, counter: Any) -> int:
    """Return how far a counter rose in the measured time."""
    first = int(np.argmax(seen.measured_bins))
    return int(counter[-1] - counter[first])
