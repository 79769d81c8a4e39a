"""The time series of a run on a kernel: tables "queue" and "flows" as every world has them."""

from typing import Any

import numpy as np

from sojourn.tables import Column, coded, plain
from sojourn.worlds.linux.observed import Observed


def queue(seen: Observed) -> list[Column]:
    """Return one row for each link and bin."""
    links = seen.links
    parts = [_link(seen, link) if link in seen.crossings else _unseen(seen, link) for link in links]
    bins = len(seen.bins)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return [coded("link", np.repeat(np.arange(len(links)), bins), links), *map(plain, joined, joined.values())]


def flows(seen: Observed) -> list[Column]:
    """Return one row for each flow and bin."""
    own, bins = seen.job.flows, len(seen.bins)
    groups = list(dict.fromkeys(flow.group for flow in own))
    lists = {
        name: np.concatenate([seen.per_bin(flow, name) for flow in own])
        for name in ("delivered_bytes", "cwnd_packets", "rtt_ms")
    }
    return [
        plain("time_s", np.tile(seen.bins, len(own))),
        coded("group", np.repeat([groups.index(flow.group) for flow in own], bins), groups),
        plain("index", np.repeat([flow.index for flow in own], bins)),
        *map(plain, lists, lists.values()),
        plain("one_way_delay_ms", np.full(len(own) * bins, np.nan)),
    ]


def _link(seen: Observed, link: str) -> dict[str, Any]:
    at = seen.crossings[link]
    entered, left = (_bin_of(seen, times_s) for times_s in (at.entered_s, at.left_s))
    bins = len(seen.bins)

    def total(places: Any, weights: Any = None) -> Any:
        known = places >= 0
        return np.bincount(places[known], None if weights is None else weights[known], bins).astype(np.float64)

    departures = total(left)
    with np.errstate(invalid="ignore", divide="ignore"):
        queue_ms = total(left, at.delay_ms) / departures
    packets, in_bytes = (seen.counted(link, name) for name in ("packets", "bytes"))
    drops = np.diff(seen.counted(link, "drops")) + np.diff(seen.counted(link, "lost"))
    return {
        "time_s": seen.bins,
        "queue_packets": packets[1:],
        "queue_bytes": in_bytes[1:],
        "queue_ms": queue_ms,
        "arrivals": total(entered),
        "departures": departures,
        "drops": drops,
        "marks": total(left, at.marked.astype(np.float64)),
        "sent_bytes": total(left, at.bytes.astype(np.float64)),
    }


def _unseen(seen: Observed, link: str) -> dict[str, Any]:
    """Return what is known of a link at whose queue nobody stood: of the bottleneck the delay that pings saw."""
    sent_s, delay_ms, _ = seen.probe_ms
    bins = len(seen.bins)
    places = np.where(np.isnan(delay_ms), -1, _bin_of(seen, sent_s))
    known = places >= 0
    counts = np.bincount(places[known], minlength=bins)
    totals = np.bincount(places[known], delay_ms[known], bins)
    nothing = np.full(bins, np.nan)
    names = ("queue_packets", "queue_bytes", "queue_ms", "arrivals", "departures", "drops", "marks", "sent_bytes")
    queue_ms = np.divide(totals, counts, out=nothing.copy(), where=counts > 0)
    seen_ms = queue_ms if link == "bottleneck" else nothing
    return {"time_s": seen.bins, **dict.fromkeys(names, nothing), "queue_ms": seen_ms}


def _bin_of(seen: Observed, times_s: Any) -> Any:
    """Return the bin of each time; -1 for none and for what lies outside the run."""
    known = np.nan_to_num(times_s, nan=-1.0)
    places = np.floor(known / seen.bin_s).astype(int)
    return np.where((known >= 0) & (places < len(seen.bins)), places, -1)
