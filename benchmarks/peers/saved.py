"""The reference numbers: the whole grid run in a peer, saved beside this file and read again."""

import dataclasses
import json
import platform
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.peers.builds import HERE
from benchmarks.peers.packages import package_version
from benchmarks.peers.points import FAMILIES, PeerName, Point
from benchmarks.peers.runs import MEASURED, Metrics, run

REFERENCE = HERE / "reference"


def summarize(results: Sequence[Metrics]) -> dict[str, dict[str, Any]]:
    """Mean, sample standard deviation and single values (in seed order) of every metric."""
    summary: dict[str, dict[str, Any]] = {}
    for name in MEASURED:
        values = [getattr(result, name) for result in results]
        if any(value is None for value in values):
            summary[name] = {"mean": None, "sd": None, "values": None}
            continue
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        summary[name] = {
            "mean": float(f"{statistics.fmean(values):.6g}"),
            "sd": float(f"{spread:.6g}"),
            "values": [float(f"{value:.6g}") for value in values],
        }
    return summary


SETTINGS: Mapping[str, Mapping[str, str]] = {
    "ns2": {
        "tcp": "Agent/TCP/Newreno, packetSize_ 1460 (+ 40 on the wire), window_ 10000, all else default",
        "linux": "Agent/TCP/Linux with timestamps, packetSize_ 1450 (+ 50), Agent/TCPSink/Sack1",
        "sink": "Agent/TCPSink: 40 B, one acknowledgement per packet",
        "queue": "ns-2.35 defaults, limit as given (DropTail: limit - 1; RED: limit * 500 B; SFQ, DRR: own for 0)",
        "buckets": "SFQ and DRR: 16, each flow in one of its own",
        "load": "Application/Traffic/CBR over Agent/UDP, 1500 B",
        "links": "access and return links 100 Gbit/s, all propagation on the access links (bottleneck delay 0)",
        "starts": "uniform in [0, 0.1 s] from the seed",
        "queue_packets_mean": "time average of waiting packets, the one on the wire not counted",
    },
    "ns3": {
        "tcp": "TcpNewReno, SACK, 1460 B segments, no timestamps, IW 2, min RTO 0.2 s, no delayed ACK",
        "recovery": "PRR; with ECN classic",
        "senders": "alike: these; defaults: IW 10, min RTO 1 s, delayed ACK (2, 0.2 s), timestamps (1448 B), PRR",
        "queue": "over a device queue of 1 packet; MaxSize limit - 1 packets; RED with ns-2's values, others default",
        "flows": "FqCoDel and FqPie: 65536, so that hardly ever two flows collide",
        "load": "OnOffApplication, always on, over UDP, 1500 B",
        "links": "access and return links 100 Gbit/s, all propagation on the access links (bottleneck delay 0)",
        "starts": "uniform in [0, 0.1 s] from the run number",
        "queue_packets_mean": "time average of the packets in the disc: without those in the device and on the wire",
        "queue_ms": "percentiles of SojournTime, without packets that the disc drops at its head",
    },
}


def reference(peer: PeerName, seeds: int = 10, jobs: int = 1) -> dict[str, Any]:
    """Run all families of points and return the reference document.

    Args:
        peer: "ns2" or "ns3".
        seeds: seeds 1 to this number at every point.
        jobs: how many runs go on side by side.
    """
    return _document(peer, [_measured(peer, point, seeds, jobs) for point in _points(peer)])


def complete(peer: PeerName, seeds: int = 10, jobs: int = 1) -> Path:
    """Run the points that the saved document lacks; each is saved at once, so that an interrupted run is not lost."""
    have = {Point(**entry["point"]): entry for entry in load_reference(peer)["points"]}
    for point in _points(peer):
        if point not in have:
            have[point] = _measured(peer, point, seeds, jobs)
            save_reference(peer, _document(peer, [have[one] for one in _points(peer) if one in have]))
    return save_reference(peer, _document(peer, [have[one] for one in _points(peer)]))


def _points(peer: PeerName) -> list[Point]:
    return [point for family in FAMILIES.values() for point in family(peer)]


def _measured(peer: PeerName, point: Point, seeds: int, jobs: int) -> dict[str, Any]:
    print(f"{peer}: {point}", file=sys.stderr)
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda seed: run(peer, point, seed), range(1, seeds + 1)))
    return {"point": dataclasses.asdict(point), "seeds": seeds, "metrics": summarize(results)}


def _document(peer: PeerName, points: list[dict[str, Any]]) -> dict[str, Any]:
    package = {"ns2": "ns2", "ns3": "libns3-dev"}[peer]
    return {
        "peer": peer,
        "package": package,
        "version": package_version(package),
        "machine": platform.machine(),
        "made_by": f"python -m benchmarks.peers reference {peer}",
        "settings": SETTINGS[peer],
        "points": points,
    }


def save_reference(peer: PeerName, document: Mapping[str, Any]) -> Path:
    """Write a reference document to reference/PEER.json."""
    REFERENCE.mkdir(exist_ok=True)
    path = REFERENCE / f"{peer}.json"
    text = json.dumps(document, indent=1)
    # One line per list of single values.
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found.group(1)) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load_reference(peer: PeerName) -> dict[str, Any]:
    """Read the reference document of a peer: what ``reference`` returned when it was last saved."""
    document: dict[str, Any] = json.loads((REFERENCE / f"{peer}.json").read_text(encoding="utf-8"))
    return document
