"""The peers: the same dumbbell in ns-2.35 and ns-3, as Debian ships them.

One ``Point`` describes a bottleneck with two groups of bulk flows; ``run_ns2`` and ``run_ns3`` return the same
``Metrics``, with the processor time of the child (user + system). Units are in the names: ``_bps`` bit/s, ``_s``
seconds, ``_packets`` packets.
Standard library only. What each script sets, and why, is in README.md beside this file.

Command line::

    python3 peers.py install                      # the Debian packages, or the command that installs them
    python3 peers.py run ns2 --queue red          # one run, one line of JSON
    python3 peers.py time --repeats 5             # processor time of the bench scenario, in alternation
    python3 peers.py reference ns2                # the validation grid, into reference/ns2.json
    python3 peers.py reference ns3 --missing      # only the points that it has not
"""

from __future__ import annotations

import argparse
import dataclasses
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).resolve().parent
NS2_SCRIPT = HERE / "ns2_dumbbell.tcl"
NS3_SOURCE = HERE / "ns3_dumbbell.cc"
REFERENCE = HERE / "reference"
PACKAGES = ("ns2", "libns3-dev", "g++")
NS3_MODULES = ("applications", "internet", "traffic-control", "point-to-point", "network", "core")

QueueName = Literal["droptail", "red", "sfq", "drr", "ared", "codel", "fq_codel", "pie", "fq_pie", "cobalt", "step"]
PeerName = Literal["ns2", "ns3"]


class PeerError(RuntimeError):
    """A peer is missing, does not build, or failed; the message says which and what to do."""


@dataclass(frozen=True)
class Point:
    """One dumbbell: a bottleneck and two groups of bulk flows that all have the same base RTT.

    Attributes:
        rate_bps: bottleneck rate in bit/s, counted in IP bytes.
        limit_packets: limit of the queue in packets; 0 is the discipline's own. DropTail lets one less wait; RED reads
            it as limit * 500 bytes.
        rtt_s: base round-trip time in seconds, propagation only.
        flows_1: flows of group 1, always NewReno.
        flows_2: flows of group 2.
        queue: ns-2: "droptail", "red", "sfq", "drr" with its defaults. ns-3: "droptail", "red" (ns-2.35's default
            parameters), "ared", "codel", "fq_codel", "pie", "fq_pie", "cobalt" with its defaults, and "step" (RED that
            marks all above MARKED_ABOVE packets, for DCTCP).
        duration_s: simulated seconds; 0 builds everything and runs nothing (start-up cost).
        warmup_s: seconds that are not measured.
        other: congestion control of group 2, in the peer's own name ("newreno", "vegas"; ns-3 also "ledbat", ns-2
            also "linux:lp"); group 1 is always NewReno.
        bottleneck_delay_s: the part of rtt_s / 2 that lies on the bottleneck; ns-2's RED weight depends on it.
        ecn: all flows negotiate ECN and the queue marks; ns-3 only.
        load: 0 for the controls; otherwise UDP streams of constant rates that offer load * rate_bps in all, whatever
            happens, a quarter of it from group 1.
    """

    rate_bps: float = 4e6
    limit_packets: int = 400
    rtt_s: float = 0.05
    flows_1: int = 5
    flows_2: int = 5
    queue: QueueName = "droptail"
    duration_s: float = 60.0
    warmup_s: float = 10.0
    other: str = "newreno"
    bottleneck_delay_s: float = 0.0
    ecn: bool = False
    load: float = 0.0


@dataclass(frozen=True)
class Metrics:
    """What one run measured between warm-up and end. ``None`` where the peer cannot tell.

    Attributes:
        peer: "ns-2" or "ns-3".
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


MEASURED = (
    "utilization",
    "queue_packets_mean",
    "queue_ms_p10",
    "queue_ms_p25",
    "queue_ms_p50",
    "queue_ms_p75",
    "queue_ms_p90",
    "arrivals",
    "drops",
    "marks",
    "drop_rate",
    "share_1",
    "goodput_1_bps",
    "goodput_2_bps",
    "timeouts",
    "retransmissions",
)

# 5 + 5 flows, 4 Mbit/s, 400 packets, 50 ms, 600 s: long enough that start-up does not matter.
BENCH = Point(duration_s=600.0)

# What the flows of an open-loop point offer: not simple fractions of the rate, so that no stream stays in step with the
# places that become free.
LOADS = (1.13, 1.57)
# Packets above which "step" marks all.
MARKED_ABOVE = 20
BUCKETS = 16


@dataclass(frozen=True)
class Bottleneck:
    """What the points of the grid have in common: rate in bit/s, limit in packets, base RTT in s, flows per group."""

    rate_bps: float
    limit_packets: int
    rtt_s: float
    flows: int

    def point(self, queue: QueueName, duration_s: float, **changes: Any) -> Point:
        """Return a point of this bottleneck, measured from 10 s on."""
        shape = Point(self.rate_bps, self.limit_packets, self.rtt_s, self.flows, self.flows, queue, duration_s, 10.0)
        return dataclasses.replace(shape, **changes)


SLOW = Bottleneck(1e6, 100, 0.02, 2)
MIDDLE = Bottleneck(4e6, 400, 0.05, 5)
LONG = Bottleneck(6e6, 150, 0.1, 8)
BOTTLENECKS = (SLOW, MIDDLE, LONG)
# Under DRR's own limit the third duplicate acknowledgement and the retransmission timer run a race here.
RACE = Bottleneck(1e6, 0, 0.05, 5)
QUEUES: Mapping[PeerName, Sequence[QueueName]] = {
    "ns2": ("droptail", "red", "sfq", "drr"),
    "ns3": ("droptail", "red", "ared", "codel", "fq_codel", "pie", "fq_pie", "cobalt"),
}
# Disciplines that ignore the link's limit; they are compared with their own limit, too.
OWN_LIMIT: Mapping[PeerName, Sequence[QueueName]] = {"ns2": ("sfq", "drr"), "ns3": ()}
MARKING: Mapping[PeerName, Sequence[QueueName]] = {"ns2": (), "ns3": ("red", "codel", "fq_codel", "pie")}
AGAINST: Mapping[PeerName, Sequence[QueueName]] = {
    "ns2": ("droptail", "red", "sfq"),
    "ns3": ("droptail", "red", "fq_codel"),
}
# One line per control that is compared: to add one, name it here, in ns3_dumbbell.cc, and in benchmarks/equivalents.py.
CONTROLS: Mapping[PeerName, Sequence[str]] = {
    "ns2": ("linux:cubic", "linux:vegas", "linux:westwood", "linux:compound", "linux:lp"),
    "ns3": ("cubic", "vegas", "westwood", "ledbat", "lp", "bbr"),
}


def queue_points(peer: PeerName) -> list[Point]:
    """NewReno against NewReno under every discipline; ns-3 is slow, so that its larger bottlenecks run 60 s."""
    seconds = {bottleneck: 200.0 if peer == "ns2" or bottleneck is SLOW else 60.0 for bottleneck in BOTTLENECKS}
    return [
        *(bottleneck.point(queue, seconds[bottleneck]) for queue in QUEUES[peer] for bottleneck in BOTTLENECKS),
        *(
            bottleneck.point(queue, seconds[bottleneck], limit_packets=0)
            for queue in OWN_LIMIT[peer]
            for bottleneck in BOTTLENECKS
        ),
        *([RACE.point("drr", 200.0)] if peer == "ns2" else []),
    ]


def marking_points(peer: PeerName) -> list[Point]:
    """The same with ECN."""
    return [bottleneck.point(queue, 60.0, ecn=True) for queue in MARKING[peer] for bottleneck in (MIDDLE, LONG)]


def open_loop_points(peer: PeerName) -> list[Point]:
    """Streams that answer to nothing, so that only the discipline decides; the limit is one that matters."""
    return [MIDDLE.point(queue, 60.0, load=load, limit_packets=100) for queue in QUEUES[peer] for load in LOADS]


def control_points(peer: PeerName) -> list[Point]:
    """NewReno against other controls."""
    return [
        bottleneck.point(queue, 200.0 if peer == "ns2" else 60.0, other=control)
        for control in CONTROLS[peer]
        for queue in AGAINST[peer]
        for bottleneck in (MIDDLE, LONG)
    ] + (
        [bottleneck.point("step", 60.0, other="dctcp", ecn=True) for bottleneck in (MIDDLE, LONG)]
        if peer == "ns3"
        else []
    )


def delay_points(peer: PeerName) -> list[Point]:
    """How long packets wait under CoDel and PIE: 10 Mbit/s, 1 and 4 flows for each of 4 pairs, three base RTTs."""
    if peer == "ns2":
        return []
    return [
        Bottleneck(10e6, 1000, rtt_s, flows).point(queue, 100.0)
        for queue in ("codel", "pie")
        for rtt_s in (0.005, 0.1, 0.5)
        for flows in (2, 8)
    ]


FAMILIES: Mapping[str, Callable[[PeerName], list[Point]]] = {
    "queues": queue_points,
    "marking": marking_points,
    "open-loop": open_loop_points,
    "controls": control_points,
    "delays": delay_points,
}


# ---------------------------------------------------------------------------------------------------------------------
# Packages


def package_version(package: str) -> str | None:
    """Version of an installed Debian package, or None where it is absent (or dpkg is)."""
    if shutil.which("dpkg-query") is None:
        return None
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    status, version = done.stdout[:3].strip(), done.stdout[3:].strip()
    return version if done.returncode == 0 and status == "ii" else None


def missing_packages(packages: Iterable[str] = PACKAGES) -> list[str]:
    """Name the packages that are needed and not there. A compiler that did not come from Debian counts as g++."""
    return [name for name in packages if not (name == "g++" and shutil.which("g++")) and package_version(name) is None]


def install() -> bool:
    """Install what is missing when root, otherwise print the one command that does. True when nothing is missing."""
    missing = missing_packages()
    if not missing:
        return True
    command = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    if shutil.which("apt-get") is None:
        print(
            f"peers: missing {', '.join(missing)}; they are Debian packages, and there is no apt-get here",
            file=sys.stderr,
        )
        return False
    if os.geteuid() != 0:
        print(f"peers: missing {', '.join(missing)}; install with: sudo {command}", file=sys.stderr)
        return False
    print(f"peers: installing {', '.join(missing)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (command, "apt-get update", command):
        # A stale package index is the usual reason for a first failure: refresh it once and try again.
        done = subprocess.run(step.split(), env=environment, stdout=sys.stderr, check=False)
        if step == command and done.returncode == 0:
            break
    return not missing_packages()


# ---------------------------------------------------------------------------------------------------------------------
# Running


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


def run_ns2(
    point: Point, seed: int, *, topology: str = "dumbbell", scheduler: str = "Calendar", monitor: bool = True
) -> Metrics:
    """Run a point in ns-2.

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
    if point.ecn:
        raise PeerError("ns-2 is compared without ECN")
    keys: Mapping[str, object] = {
        "rate": point.rate_bps,
        "limit": point.limit_packets,
        "rtt": point.rtt_s,
        "bottleneck_delay": point.bottleneck_delay_s,
        "flows_1": point.flows_1,
        "flows_2": point.flows_2,
        "control_2": point.other,
        "queue": point.queue,
        "buckets": BUCKETS,
        "load": point.load,
        "duration": point.duration_s,
        "warmup": point.warmup_s,
        "seed": seed,
        "topology": topology,
        "scheduler": scheduler,
        "monitor": int(monitor),
    }
    arguments = [str(part) for pair in keys.items() for part in pair]
    return _metrics(*_child(["ns", str(NS2_SCRIPT), *arguments]))


def default_cache() -> Path:
    """Where compiled peers are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sojourn" / "peers"


def _ns3_libraries() -> list[str]:
    """Linker options for the installed ns-3. Debian's pkg-config files name libraries that may be absent."""
    for found in sorted(glob.glob("/usr/lib/*/libns3*-core*.so") + glob.glob("/usr/lib/libns3*-core*.so")):
        prefix, suffix = Path(found).stem.removeprefix("lib").split("-core", 1)
        if suffix in ("", "-optimized", "-default", "-release"):
            return [f"-l{prefix}-{module}{suffix}" for module in NS3_MODULES]
    raise PeerError("ns-3 is not installed (Debian package libns3-dev)")


def build_ns3(cache_dir: Path | None = None) -> Path:
    """Compile ns3_dumbbell.cc with -O2 against the installed ns-3 and return the program.

    A build is reused until the source, the compiler or the package changes.

    Args:
        cache_dir: folder for the program; ``default_cache()`` where absent.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise PeerError("g++ is not installed (Debian package g++)")
    libraries = _ns3_libraries()
    compiler_version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    key = hashlib.sha256(NS3_SOURCE.read_bytes())
    for part in (package_version("libns3-dev") or "", compiler_version, *libraries):
        key.update(part.encode() + b"\0")
    folder = cache_dir or default_cache()
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"ns3_dumbbell-{key.hexdigest()[:16]}"
    if not program.exists():
        partial = program.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-std=c++17", "-o", str(partial), str(NS3_SOURCE), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise PeerError(f"ns3_dumbbell.cc does not compile here: {first}")
        partial.replace(program)
    return program


def run_ns3(
    point: Point,
    seed: int,
    *,
    sack: bool = True,
    initial_window: int = 2,
    min_rto_s: float = 0.2,
    delayed_ack: int = 1,
    topology: str = "dumbbell",
    fifo: str = "disc",
    monitor: bool = True,
    cache_dir: Path | None = None,
) -> Metrics:
    """Run a point in ns-3.

    Args:
        point: what to run.
        seed: ns-3's run number.
        sack: selective acknowledgements. ns-3's sender without them resends delivered data in bulk (README.md). With
            them it recovers by proportional rate reduction; with ECN, where that would also stretch the answer to a
            mark over a round trip, classically.
        initial_window: segments.
        min_rto_s: lower bound of the retransmission timer, seconds.
        delayed_ack: segments per acknowledgement; 1 is no delay.
        topology: "dumbbell" or "direct" (all sockets on the two routers: the cheapest; one control only).
        fifo: DropTail as a queue disc over a one-packet device queue ("disc") or in the device alone ("device",
            cheaper).
        monitor: False leaves the queue probes out (queue figures are then None); only for timing.
        cache_dir: see ``build_ns3``.
    """
    keys: Mapping[str, object] = {
        "rate": point.rate_bps,
        "limit": point.limit_packets,
        "rtt": point.rtt_s,
        "bottleneck_delay": point.bottleneck_delay_s,
        "flows_1": point.flows_1,
        "flows_2": point.flows_2,
        "control_2": point.other,
        "queue": point.queue,
        "ecn": str(point.ecn).lower(),
        "marked_above": MARKED_ABOVE,
        "load": point.load,
        "duration": point.duration_s,
        "warmup": point.warmup_s,
        "seed": seed,
        "sack": str(sack).lower(),
        "recovery": "prr" if sack and not point.ecn else "classic",
        "initial_window": initial_window,
        "min_rto": min_rto_s,
        "delayed_ack": delayed_ack,
        "topology": topology,
        "fifo": fifo,
        "monitor": str(monitor).lower(),
    }
    program = build_ns3(cache_dir)
    return _metrics(*_child([str(program), *(f"--{key}={value}" for key, value in keys.items())]))


def run(peer: PeerName, point: Point, seed: int, **options: Any) -> Metrics:
    """Run a point in the named peer; options are those of ``run_ns2`` or ``run_ns3``."""
    return run_ns2(point, seed, **options) if peer == "ns2" else run_ns3(point, seed, **options)


def startup_cpu_s(peer: PeerName, point: Point, repeats: int = 5, **options: Any) -> float:
    """Median processor time in seconds of building the point and simulating nothing, to be subtracted."""
    idle = dataclasses.replace(point, duration_s=0.0, warmup_s=0.0)
    return statistics.median(run(peer, idle, seed, **options).cpu_s for seed in range(1, repeats + 1))


# ---------------------------------------------------------------------------------------------------------------------
# Reference numbers


def versions() -> dict[str, str | None]:
    """Versions of the Debian packages that a run depends on."""
    return {name: package_version(name) for name in PACKAGES}


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
        "queue": "over a device queue of 1 packet; MaxSize limit - 1 packets; RED with ns-2's values, others default",
        "flows": "FqCoDel and FqPie: 65536, so that hardly ever two flows collide",
        "load": "OnOffApplication, always on, over UDP, 1500 B",
        "links": "access and return links 100 Gbit/s, all propagation on the access links (bottleneck delay 0)",
        "starts": "uniform in [0, 0.1 s] from the run number",
        "queue_packets_mean": "time average of the packets in the disc: without those in the device and on the wire",
        "queue_ms": "percentiles of SojournTime, without packets that the disc drops at its head",
    },
}


def reference(peer: PeerName, seeds: int = 10, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run all families of points and return the reference document.

    Args:
        peer: "ns2" or "ns3".
        seeds: seeds 1 to this number at every point.
        known: an earlier document; its points are kept instead of run.
    """
    have = {Point(**entry["point"]): entry for entry in known["points"]} if known else {}
    points = []
    for point in (point for family in FAMILIES.values() for point in family(peer)):
        if point not in have:
            print(f"{peer}: {point}", file=sys.stderr)
            results = [run(peer, point, seed) for seed in range(1, seeds + 1)]
            have[point] = {"point": dataclasses.asdict(point), "seeds": seeds, "metrics": summarize(results)}
        points.append(have[point])
    package = {"ns2": "ns2", "ns3": "libns3-dev"}[peer]
    return {
        "peer": peer,
        "package": package,
        "version": package_version(package),
        "machine": platform.machine(),
        "made_by": f"benchmarks/peers/peers.py reference {peer}",
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


# ---------------------------------------------------------------------------------------------------------------------
# Processor time


@dataclass(frozen=True)
class Timing:
    """Processor time of one variant of a peer, seconds.

    Attributes:
        variant: what was run.
        startup_s: median of runs of duration 0.
        net_s: median of cpu_s minus start-up.
        spread_s: largest minus smallest net_s.
        packet_ns: net_s per packet that arrived at the bottleneck in the whole run (with its acknowledgement), ns.
    """

    variant: str
    startup_s: float
    net_s: float
    spread_s: float
    packet_ns: float


VARIANTS: Mapping[str, tuple[PeerName, Mapping[str, Any]]] = {
    "ns2 dumbbell": ("ns2", {}),
    "ns2 dumbbell, heap": ("ns2", {"scheduler": "Heap"}),
    "ns2 direct": ("ns2", {"topology": "direct"}),
    "ns2 direct, no monitor": ("ns2", {"topology": "direct", "monitor": False}),
    "ns3 dumbbell": ("ns3", {}),
    "ns3 direct": ("ns3", {"topology": "direct"}),
    "ns3 direct, device fifo, no monitor": ("ns3", {"topology": "direct", "fifo": "device", "monitor": False}),
}


def time_peers(point: Point = BENCH, repeats: int = 5, variants: Sequence[str] = tuple(VARIANTS)) -> list[Timing]:
    """Time the variants in alternation (one run of each, then again), so that a disturbance hits all alike.

    Args:
        point: what to run; long enough that start-up is small.
        repeats: runs per variant.
        variants: names from ``VARIANTS``.
    """
    packets = point.rate_bps * point.duration_s / (8 * 1500)
    startup = {name: startup_cpu_s(VARIANTS[name][0], point, repeats, **VARIANTS[name][1]) for name in variants}
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for seed in range(1, repeats + 1):
        for name in variants:
            peer, options = VARIANTS[name]
            taken[name].append(run(peer, point, seed, **options).cpu_s - startup[name])
    return [
        Timing(
            name,
            startup[name],
            statistics.median(taken[name]),
            max(taken[name]) - min(taken[name]),
            1e9 * statistics.median(taken[name]) / packets,
        )
        for name in variants
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Command line


def _point(arguments: argparse.Namespace) -> Point:
    return Point(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Point)})


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="The same dumbbell in ns-2 and ns-3.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="install the Debian packages that are missing")
    one = commands.add_parser("run", help="one run, as JSON")
    timing = commands.add_parser("time", help="processor time of the bench scenario")
    grid = commands.add_parser("reference", help="the validation grid, into reference/")
    for sub in (one, grid):
        sub.add_argument("peer", choices=["ns2", "ns3"])
    one.add_argument("--seed", type=int, default=1)
    for field in dataclasses.fields(Point):
        name = "--" + field.name.replace("_", "-")
        if field.default is False:
            one.add_argument(name, dest=field.name, action="store_true")
        else:
            one.add_argument(name, dest=field.name, type=type(field.default), default=field.default)
    timing.add_argument("--repeats", type=int, default=5)
    timing.add_argument("--duration-s", type=float, default=BENCH.duration_s)
    timing.add_argument("--variant", action="append", choices=list(VARIANTS), help="default: all")
    grid.add_argument("--seeds", type=int, default=10)
    grid.add_argument("--missing", action="store_true", help="keep the points that the saved document has")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "install":
            return 0 if install() else 1
        if arguments.command == "run":
            print(json.dumps(dataclasses.asdict(run(arguments.peer, _point(arguments), arguments.seed))))
        elif arguments.command == "time":
            point = dataclasses.replace(BENCH, duration_s=arguments.duration_s)
            for row in time_peers(point, arguments.repeats, arguments.variant or tuple(VARIANTS)):
                print(json.dumps(dataclasses.asdict(row)))
        else:
            known = load_reference(arguments.peer) if arguments.missing else None
            print(save_reference(arguments.peer, reference(arguments.peer, arguments.seeds, known)))
    except PeerError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
