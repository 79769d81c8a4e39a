"""One run of a point in a peer: the command for each, and ``run``, which returns the same ``Metrics`` for all.

What each script sets, and why, is in README.md beside this file.
"""

import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.builds import HERE, PeerError, build_htsim, build_ns3
from benchmarks.peers.points import BUCKETS, MARKED_ABOVE, START_WITHIN_S, Point, Senders

NS2_SCRIPT = HERE / "ns2_dumbbell.tcl"
# What ns3_dumbbell.cc is told of TCP. The defaults of ns-3.37 are spelled out, so that a reader sees them here.
NS3_SENDERS: Mapping[Senders, Mapping[str, object]] = {
    "alike": {"initial_window": 2, "min_rto": 0.2, "delayed_ack": 1, "timestamps": "false"},
    "defaults": {"initial_window": 10, "min_rto": 1.0, "delayed_ack": 2, "timestamps": "true"},
}


@dataclass(frozen=True)
class Metrics:
    """What one run measured between warm-up and end. ``None`` where the peer cannot tell.

    Attributes:
        peer: "ns-2", "ns-3" or "htsim".
        seed: the seed of the run.
        utilization: bits whose transmission began, over rate * time (0 to 1, plus at most one packet).
        queue_packets_mean: time average of packets that wait, without the one on the wire.
        queue_ms_p10, queue_ms_p25, queue_ms_p50, queue_ms_p75, queue_ms_p90: percentiles of the time that packets which
            left the queue had waited; ns-3 only.
        arrivals: packets offered to the queue, dropped ones included.
        drops: packets dropped by the queue, for any reason.
        marks: packets marked by the queue, for any reason.
        drop_rate: drops / arrivals (0 to 1).
        share_1: payload delivered in order to group 1, over both groups (0 to 1).
        goodput_1_bps: payload delivered in order to group 1, bit/s.
        goodput_2_bps: the same for group 2.
        timeouts: retransmission timeouts of all flows.
        retransmissions: segments sent again by all flows.
        cpu_s: processor time of the child, user + system, start-up included.
    """

    peer: str
    seed: int
    utilization: float | None
    queue_packets_mean: float | None
    queue_ms_p10: float | None
    queue_ms_p25: float | None
    queue_ms_p50: float | None
    queue_ms_p75: float | None
    queue_ms_p90: float | None
    arrivals: float | None
    drops: float | None
    marks: float | None
    drop_rate: float | None
    share_1: float | None
    goodput_1_bps: float | None
    goodput_2_bps: float | None
    timeouts: float | None
    retransmissions: float | None
    cpu_s: float


MEASURED = tuple(field.name for field in dataclasses.fields(Metrics) if field.name not in ("peer", "seed", "cpu_s"))


def _child(command: Sequence[str]) -> tuple[str, float]:
    """Run a command; return its standard output and its processor time in seconds (user + system, from wait4)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, complaint = out.read(), err.read().strip()
    if process.returncode != 0:
        # ns-3 says why in msg="..." and then lets the runtime have the last word.
        reason = re.search(r'msg="(.*?)"', complaint)
        last = reason.group(1) if reason else (complaint or "no message").splitlines()[-1]
        raise PeerError(f"{Path(command[0]).name} ended with {process.returncode}: {last}")
    return text, usage.ru_utime + usage.ru_stime


def _metrics(output: str, cpu_s: float) -> Metrics:
    # Some of ns-2's own code prints debug text to stdout: look for the one JSON object.
    found = re.search(r'\{"peer": .*\}', output)
    if found is None:
        raise PeerError("the peer printed no result")
    raw: dict[str, Any] = json.loads(found.group(0))
    return Metrics(peer=raw["peer"], seed=raw["seed"], cpu_s=cpu_s, **{name: raw.get(name) for name in MEASURED})


def _asked(point: Point, seed: int) -> dict[str, object]:
    """Return what both scripts are told, by their keys."""
    return {
        "rate": point.rate_bps,
        "limit": point.limit_packets,
        "rtt": point.rtt_s,
        "bottleneck_delay": point.bottleneck_delay_s,
        "flows_1": point.flows_1,
        "flows_2": point.flows_2,
        "control_2": point.other,
        "queue": point.queue,
        "load": point.load,
        "duration": point.duration_s,
        "warmup": point.warmup_s,
        "seed": seed,
    }


def ns2_command(
    point: Point, seed: int, *, topology: str = "dumbbell", scheduler: str = "Calendar", monitor: bool = True
) -> list[str]:
    """Return the command that runs a point in ns-2.

    Args:
        point: what to run.
        seed: of start times, RED and the phase of TCP's clocks.
        topology: "dumbbell" (a node and an access link per flow and side) or "direct" (all agents on the two routers:
            the cheapest ns-2 can be, same traffic; RED then sees the whole rtt / 2 as its link's delay).
        scheduler: ns-2's event list, "Calendar" (its default) or "Heap" (faster here).
        monitor: False leaves the queue monitor out (queue figures are then None); only for timing.
    """
    if shutil.which("ns") is None:
        raise PeerError("ns-2 is not installed (Debian package ns2)")
    if point.ecn or point.senders == "defaults":
        raise PeerError("ns-2 is compared without ECN and as ns-3 can be")
    keys = {
        **_asked(point, seed),
        "buckets": BUCKETS,
        "topology": topology,
        "scheduler": scheduler,
        "monitor": int(monitor),
    }
    return ["ns", str(NS2_SCRIPT), *_in_pairs(keys)]


def ns3_command(
    point: Point,
    seed: int,
    *,
    sack: bool = True,
    topology: str = "dumbbell",
    fifo: str = "disc",
    monitor: bool = True,
    cache_dir: Path | None = None,
) -> list[str]:
    """Return the command that runs a point in ns-3.

    Args:
        point: what to run.
        seed: ns-3's run number.
        sack: selective acknowledgements. ns-3's sender without them resends delivered data in bulk (README.md). With
            them it recovers by proportional rate reduction; with ECN, where that would also stretch the answer to a
            mark over a round trip, classically, but with its defaults as always.
        topology: "dumbbell" or "direct" (all sockets on the two routers: the cheapest; one control only).
        fifo: DropTail as a queue disc over a one-packet device queue ("disc") or in the device alone ("device",
            cheaper).
        monitor: False leaves the queue probes out (queue figures are then None); only for timing.
        cache_dir: see ``build_ns3``.
    """
    keys = {
        **_asked(point, seed),
        "ecn": str(point.ecn).lower(),
        "marked_above": MARKED_ABOVE,
        "sack": str(sack).lower(),
        "recovery": "prr" if sack and (point.senders == "defaults" or not point.ecn) else "classic",
        **NS3_SENDERS[point.senders],
        "topology": topology,
        "fifo": fifo,
        "monitor": str(monitor).lower(),
    }
    return [str(build_ns3(cache_dir)), *(f"--{key}={value}" for key, value in keys.items())]


def htsim_command(
    point: Point,
    seed: int,
    *,
    rtts: int = 1,
    start_within_s: float = START_WITHIN_S,
    monitor: bool = True,
    cache_dir: Path | None = None,
) -> list[str]:
    """Return the command that runs a point in htsim: DropTail and NewReno only, and no UDP.

    Args:
        point: what to run.
        seed: of start times; nothing else is random.
        rtts: how many different round-trip times the flows have, evenly spread from 0.5 to 1.5 of the point's.
        start_within_s: the flows start at random until then, seconds.
        monitor: False leaves the counting queue out (queue figures other than drops are then None); only for timing.
        cache_dir: see ``build_htsim``.
    """
    found = (point.queue, point.other, point.ecn, point.load, point.bottleneck_delay_s)
    if found != ("droptail", "newreno", False, 0.0, 0.0):
        raise PeerError(f"htsim is compared with droptail, newreno, no ECN, load and delay of the bottleneck: {found}")
    keys = {name: value for name, value in _asked(point, seed).items() if not isinstance(value, str)}
    keys |= {"monitor": int(monitor), "rtts": rtts, "start_within": start_within_s}
    return [str(build_htsim(cache_dir)), *_in_pairs(keys)]


def _in_pairs(keys: Mapping[str, object]) -> list[str]:
    return [str(part) for pair in keys.items() for part in pair]


COMMANDS: Mapping[str, Callable[..., list[str]]] = {"ns2": ns2_command, "ns3": ns3_command, "htsim": htsim_command}


def run(peer: str, point: Point, seed: int, **options: Any) -> Metrics:
    """Run a point in a peer of ``COMMANDS``; options are those of its function."""
    return _metrics(*_child(COMMANDS[peer](point, seed, **options)))


def startup_cpu_s(peer: str, point: Point, repeats: int = 5, **options: Any) -> float:
    """Median processor time in seconds of building the point and simulating nothing, to be subtracted."""
    idle = dataclasses.replace(point, duration_s=0.0, warmup_s=0.0)
    return statistics.median(run(peer, idle, seed, **options).cpu_s for seed in range(1, repeats + 1))
