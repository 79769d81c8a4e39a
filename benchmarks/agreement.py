"""The validation grid in Sojourn, ns-2 and ns-3."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sojourn
from benchmarks import equivalents
from benchmarks.common import say
from benchmarks.compare import CONTROLS, DELAYS, FEW, QUEUES, Metric, compare, sample
from benchmarks.peers.builds import PeerError
from benchmarks.peers.points import FAMILIES, LONG, PeerName, Point
from benchmarks.peers.saved import load_reference, reference, save_reference

SEEDS = 10
# Reported, but not held against a tolerance.
BESIDE = ("retransmissions", "timeouts")
METRICS: Mapping[str, Sequence[Metric]] = {
    "queues": QUEUES,
    "marking": QUEUES,
    "open-loop": QUEUES,
    "controls": CONTROLS,
    "defaults": CONTROLS,
    "delays": DELAYS,
}
# What the peers do to break ties, where a base RTT is a whole number of packets: access links of 100 Gbit/s.
ACCESS = tuple(f"group.{group}.access_rate=100 Gbit/s" for group in ("one", "two"))
TIED = LONG.point("red", 200.0)


def measure(live: bool) -> dict[str, Any]:
    """Compare the grid with both peers: with runs of now, which are saved, or with the saved ones."""
    tied = [
        {"access": access, "queue": sample(run("ns2", TIED, settings)["queue_packets_mean"])}
        for access, settings in (("none", ()), ("100 Gbit/s", ACCESS))
    ]
    return {"ns2": _against("ns2", live), "ns3": _against("ns3", live), "tied": tied}


def _against(peer: PeerName, live: bool) -> dict[str, Any]:
    if live:
        save_reference(peer, reference(peer, SEEDS))
    document = load_reference(peer)
    known = {Point(**entry["point"]): entry["metrics"] for entry in document["points"]}
    families = {
        family: [_row(peer, point, METRICS[family], _known(known, peer, point)) for point in points(peer)]
        for family, points in FAMILIES.items()
    }
    return {"live": live, "version": document["version"], "families": families}


def _known(known: Mapping[Point, dict[str, Any]], peer: PeerName, point: Point) -> dict[str, Any]:
    if point not in known:
        raise PeerError(f"{peer}.json has not all points: python -m benchmarks.peers reference {peer} --missing")
    return known[point]


def _row(peer: PeerName, point: Point, metrics: Sequence[Metric], theirs: dict[str, Any]) -> dict[str, Any]:
    say(f"{peer}: {label(asdict(point))}, {point.queue}, {point.other}")
    ours = run(peer, point)
    beside = {
        metric: {"ours": sample(ours[metric]), "theirs": sample(theirs[metric]["values"])}
        for metric in BESIDE
        if theirs[metric]["values"] is not None
    }
    return {"point": asdict(point), "checks": list(_checks(ours, theirs, metrics)), "beside": beside}


def _checks(
    ours: dict[str, list[float]], theirs: dict[str, Any], metrics: Sequence[Metric]
) -> Iterator[dict[str, Any]]:
    for metric in metrics:
        values = theirs[metric.name]["values"]
        if values is None:
            continue
        check = compare(metric, ours[metric.name], values)
        if metric.name not in ("drops", "marks") or max(check["ours"]["mean"], check["theirs"]["mean"]) >= FEW:
            yield check


def run(peer: PeerName, point: Point, overrides: Sequence[str] = ()) -> dict[str, list[float]]:
    """Run what a point of a peer is in Sojourn; the values of each metric, one per seed."""
    settings = [*equivalents.settings(peer, point), *overrides]
    records = sojourn.Scenario.load(equivalents.scenario(point), settings).run(runs=SEEDS, series=False).runs
    return {
        "queue_packets_mean": [record["bottleneck"]["queue_packets"]["mean"] for record in records],
        **{
            metric.name: [record["bottleneck"]["queue_ms"][metric.name.rpartition("_")[2]] for record in records]
            for metric in DELAYS
        },
        "utilization": [record["bottleneck"]["utilization"] for record in records],
        "drops": [float(record["bottleneck"]["drops"]) for record in records],
        "marks": [float(record["bottleneck"]["marks"]) for record in records],
        "share_1": [record["groups"]["one"]["share"] for record in records],
        **{
            metric: [float(sum(group[metric] or 0 for group in record["groups"].values())) for record in records]
            for metric in BESIDE
        },
    }


def label(point: Mapping[str, Any]) -> str:
    """Return what tells a bottleneck of the grid from the others."""
    limit = f"{point['limit_packets']} packets" if point["limit_packets"] else "its own limit"
    return (
        f"{point['rate_bps'] / 1e6:g} Mbit/s, {limit}, {point['rtt_s'] * 1e3:g} ms, "
        f"{point['flows_1']} + {point['flows_2']}"
    )
