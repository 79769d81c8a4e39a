"""The validation grid in Sojourn, ns-2 and ns-3."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sojourn
from benchmarks.common import SCENARIO, say
from benchmarks.compare import METRICS, compare, sample
from benchmarks.peers import peers
from benchmarks.peers.peers import Point

SEEDS = 10
# Reported, but not held against a tolerance.
BESIDE = ("retransmissions", "timeouts")
SHORT = (60.0, 10.0)
LONG = (200.0, 10.0)
# ns-3's sender is another one: this is as near as Sojourn's options come to it.
LIKE_NS3 = tuple(
    f"group.{group}.transport.{option}=true" for group in ("one", "two") for option in ("sack", "timestamps")
)
# What the peers do to break ties, where a base RTT is a whole number of packets: access links of 100 Gbit/s.
ACCESS = tuple(f"group.{group}.access_rate=100 Gbit/s" for group in ("one", "two"))
TIED = Point(6e6, 150, 0.1, 8, 8, "red", *LONG)
DURATIONS: Mapping[peers.PeerName, Sequence[tuple[float, float]]] = {"ns2": (SHORT, LONG), "ns3": (SHORT,)}


def measure(have: set[str]) -> dict[str, Any]:
    """Compare the grid with both peers: live where they are installed, else with the saved runs."""
    ours: dict[Point, dict[str, list[float]]] = {}
    against = {"ns2": _against("ns2", have, ours), "ns3": _against("ns3", have, ours)}
    for row in against["ns3"]["points"]:
        like = run(Point(**row["point"]), LIKE_NS3)
        for check in row["checks"]:
            check["like"] = sample(like[check["metric"]])
    tied = [
        {"access": access, "queue": sample(run(TIED, settings)["queue_packets_mean"])}
        for access, settings in (("none", ()), ("100 Gbit/s", ACCESS))
    ]
    return {**against, "tied": tied}


def _against(peer: peers.PeerName, have: set[str], ours: dict[Point, dict[str, list[float]]]) -> dict[str, Any]:
    live = peer in have
    say(f"{peer}: {'runs now' if live else 'not installed, so the saved runs are used'}")
    document = peers.reference(peer, SEEDS, DURATIONS[peer]) if live else peers.load_reference(peer)
    rows = []
    for entry in document["points"]:
        point = Point(**entry["point"])
        if point not in ours:
            ours[point] = run(point)
        beside = {
            metric: {"ours": sample(ours[point][metric]), "theirs": _sample_or_none(entry["metrics"][metric])}
            for metric in BESIDE
        }
        checks = _checks(ours[point], entry["metrics"])
        rows.append({"point": asdict(point), "checks": checks, "beside": beside})
    return {"live": live, "version": document["version"], "points": rows}


def _checks(ours: dict[str, list[float]], theirs: dict[str, Any]) -> list[dict[str, Any]]:
    return [compare(metric, ours[metric.name], theirs[metric.name]["values"]) for metric in METRICS]


def _sample_or_none(theirs: dict[str, Any]) -> dict[str, Any] | None:
    return None if theirs["values"] is None else sample(theirs["values"])


def run(point: Point, overrides: Sequence[str] = ()) -> dict[str, list[float]]:
    """Run a point of the grid in Sojourn with the presets `ns2`; the values of each metric, one per seed."""
    say(f"sojourn: {label(asdict(point))}, {point.queue}, {point.duration_s:g} s")
    settings = [
        f"duration={point.duration_s} s",
        f"warmup={point.warmup_s} s",
        f"bottleneck.rate={point.rate_bps / 1e3:g} kbit/s",
        f"bottleneck.queue={{ kind = '{point.queue}', preset = 'ns2', limit = '{point.limit_packets} packets' }}",
        *(
            f"group.{group}.{setting}"
            for group, flows in (("one", point.flows_1), ("two", point.flows_2))
            for setting in (f"flows={flows}", f"rtt={point.rtt_s * 1e3:g} ms")
        ),
        *overrides,
    ]
    records = sojourn.Scenario.load(SCENARIO, settings).run(runs=SEEDS, series=False).runs
    return {
        "queue_packets_mean": [record["bottleneck"]["queue_packets"]["mean"] for record in records],
        "utilization": [record["bottleneck"]["utilization"] for record in records],
        "drops": [float(record["bottleneck"]["drops"]) for record in records],
        "share_1": [record["groups"]["one"]["share"] for record in records],
        **{
            metric: [float(sum(group[metric] for group in record["groups"].values())) for record in records]
            for metric in BESIDE
        },
    }


def label(point: Mapping[str, Any]) -> str:
    """Return what tells a bottleneck of the grid from the others."""
    return (
        f"{point['rate_bps'] / 1e6:g} Mbit/s, {point['limit_packets']} packets, {point['rtt_s'] * 1e3:g} ms, "
        f"{point['flows_1']} + {point['flows_2']}"
    )
