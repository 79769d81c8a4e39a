"""One run of a point in a peer: ``run_ns2`` and ``run_ns3`` return the same ``Metrics``.

What each script sets, and why, is in README.md beside this file.
"""

import dataclasses
import glob
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.packages import package_version
from benchmarks.peers.points import BUCKETS, MARKED_ABOVE, PeerName, Point, Senders

HERE = Path(__file__).resolve().parent
NS2_SCRIPT = HERE / "ns2_dumbbell.tcl"
NS3_SOURCE = HERE / "ns3_dumbbell.cc"
NS3_MODULES = (
    *("applications", "nix-vector-routing", "internet", "traffic-control"),
    *("point-to-point", "network", "core"),
)
# What ns3_dumbbell.cc is told of TCP. The defaults of ns-3.37 are spelled out, so that a reader sees them here.
NS3_SENDERS: Mapping[Senders, Mapping[str, object]] = {
    "alike": {"initial_window": 2, "min_rto": 0.2, "delayed_ack": 1, "timestamps": "false"},
    "defaults": {"initial_window": 10, "min_rto": 1.0, "delayed_ack": 2, "timestamps": "true"},
}


class PeerError(RuntimeError):
    """A peer is missing, does not build, or failed; the message says which and what to do."""


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
    if point.ecn or point.senders == "defaults":
        raise PeerError("ns-2 is compared without ECN and as ns-3 can be")
    keys = {
        **_asked(point, seed),
        "buckets": BUCKETS,
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


def build_ns3(cache_dir: Path | None = None, source: Path = NS3_SOURCE) -> Path:
    """Compile a program with -O2 against the installed ns-3 and return it.

    A build is reused until the source, the compiler or the package changes.

    Args:
        cache_dir: folder for the program; ``default_cache()`` where absent.
        source: the program in C++.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise PeerError("g++ is not installed (Debian package g++)")
    libraries = _ns3_libraries()
    compiler_version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    key = hashlib.sha256(source.read_bytes())
    for part in (package_version("libns3-dev") or "", compiler_version, *libraries):
        key.update(part.encode() + b"\0")
    folder = cache_dir or default_cache()
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"{source.stem}-{key.hexdigest()[:16]}"
    if not program.exists():
        partial = program.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-std=c++17", "-o", str(partial), str(source), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise PeerError(f"{source.name} does not compile here: {first}")
        partial.replace(program)
    return program


def run_ns3(
    point: Point,
    seed: int,
    *,
    sack: bool = True,
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
    program = build_ns3(cache_dir)
    return _metrics(*_child([str(program), *(f"--{key}={value}" for key, value in keys.items())]))


def run(peer: PeerName, point: Point, seed: int, **options: Any) -> Metrics:
    """Run a point in the named peer; options are those of ``run_ns2`` or ``run_ns3``."""
    return run_ns2(point, seed, **options) if peer == "ns2" else run_ns3(point, seed, **options)


def startup_cpu_s(peer: PeerName, point: Point, repeats: int = 5, **options: Any) -> float:
    """Median processor time in seconds of building the point and simulating nothing, to be subtracted."""
    idle = dataclasses.replace(point, duration_s=0.0, warmup_s=0.0)
    return statistics.median(run(peer, idle, seed, **options).cpu_s for seed in range(1, repeats + 1))
