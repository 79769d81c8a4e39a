"""Queue disciplines of ns-3, a third implementation, and what sends a probe over one: see ns3_probe.cc.

The flows of a stage are ns-3's own: trains and datagrams as the plan says, and ns-3's TCP with CUBIC and ECN as the
greedy flow.
"""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.builds import PeerError, build_ns3
from sojourn import _native
from sojourn.detect.log import FlowLog, Log
from sojourn.detect.plan import PROBES, Stage
from sojourn.detect.plan import Path as Crossed
from sojourn.detect.probe import Send

SOURCE = Path(__file__).with_name("ns3_probe.cc")


@dataclass(frozen=True)
class Ns3Queue:
    """A queue discipline of ns-3."""

    name: str
    """The name that a model knows, or another."""
    family: str
    disc: str
    """ns-3's name of it, without QueueDisc."""
    attributes: str = ""
    """What is otherwise than ns-3's defaults: NAME=VALUE,..."""
    truths: dict[str, float] = field(default_factory=dict)
    """Its parameters, by the names under which they are read."""

    @property
    def title(self) -> str:
        """What the page calls it."""
        attributes = self.attributes.replace("{rate}", "RATE").replace(",", ", ")
        return f"{self.disc}{f', {attributes}' if attributes else ''}"


_FIFO, _AQM, _FAIR_AQM = "FIFO", "FIFO with AQM", "fair queueing with AQM"
# RED counts the packets that an idle link could have sent, so it is told of the rate.
_RED = "LinkBandwidth={rate}bps,MeanPktSize=1500"

QUEUES: tuple[Ns3Queue, ...] = (
    Ns3Queue("droptail", _FIFO, "PfifoFast", "MaxSize=100p", {"limit_packets": 100}),
    Ns3Queue("codel", _AQM, "CoDel", "", {"target_ms": 5, "interval_ms": 100}),
    Ns3Queue("pie", _AQM, "Pie", "MaxSize=1000p", {"target_ms": 15}),
    Ns3Queue("red", _AQM, "Red", f"{_RED},Gentle=false,MinTh=12,MaxTh=36,MaxSize=150p,LInterm=20"),
    Ns3Queue("fq_codel", _FAIR_AQM, "FqCoDel", "", {"target_ms": 5, "interval_ms": 100}),
    Ns3Queue("cobalt", _AQM, "Cobalt"),
    Ns3Queue("fq_pie", _FAIR_AQM, "FqPie"),
    Ns3Queue("droptail", _FIFO, "Fifo", "MaxSize=90000B"),
    Ns3Queue("codel", _AQM, "CoDel", "Target=15ms,Interval=150ms", {"target_ms": 15, "interval_ms": 150}),
    Ns3Queue("pie", _AQM, "Pie", "MaxSize=1000p,QueueDelayReference=30ms", {"target_ms": 30}),
    Ns3Queue("red", _AQM, "Red", f"{_RED},MinTh=8,MaxTh=24,MaxSize=150p,LInterm=10"),
    Ns3Queue("fq_codel", _FAIR_AQM, "FqCoDel", "Target=15ms,Interval=150ms,UseEcn=false", {"target_ms": 15}),
    Ns3Queue("cobalt", _AQM, "Cobalt", "Target=15ms,Interval=150ms"),
    Ns3Queue("fq_cobalt", _FAIR_AQM, "FqCobalt"),
)
"""Disciplines of the test, each with two sets of attributes."""


def send_over(queue: Ns3Queue, path: Crossed, rate_bps: float, seed: int) -> Send:
    """Return what sends a stage over a path of ns-3 that has this queue; the queue of the path is not used."""

    def send(stage: Stage) -> Log:
        table = stage.scenario(path, seed)
        names, lines = zip(*_flows(table["group"], stage.duration_s), strict=True)
        keys = {
            "rate": f"{rate_bps:.0f}",
            "rtt": f"{path.rtt_ms / 1e3:.9f}",
            "duration": f"{stage.duration_s:.9f}",
            "disc": queue.disc,
            "seed": seed,
            **({"set": queue.attributes.format(rate=f"{rate_bps:.0f}")} if queue.attributes else {}),
        }
        command = [str(build_ns3(source=SOURCE)), *(f"--{key}={value}" for key, value in keys.items())]
        done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerError(f"ns-3 failed: {done.stderr.strip()[-300:]}")
        return _log(done.stdout, names)

    return send


def _flows(groups: list[Mapping[str, Any]], duration_s: float) -> Iterator[tuple[str, str]]:
    """Return the name of each flow and its line of input."""
    for group in groups:
        start, stop = _seconds(group.get("start", "0 s")), _seconds(group.get("stop", f"{duration_s} s"))
        times = f"{start:.9f} {stop:.9f}"
        if "control" in group:
            yield group["name"], f"greedy {times}"
            continue
        traffic = group["traffic"]
        size, _ = _native.quantity(traffic["packet"]) or (0.0, "")
        if traffic["kind"] == "cbr":
            rate, _ = _native.quantity(traffic["rate"]) or (0.0, "")
            yield group["name"], f"datagrams {times} {size:.0f} 1 {size * 8 / rate:.9f} 0"
        else:
            every_s = _seconds(traffic["every"])
            trains = f"{size:.0f} {traffic['count']} {every_s:.9f} {traffic.get('repeat', 0)}"
            yield group["name"], f"datagrams {times} {trains}"


def _seconds(text: str) -> float:
    found = _native.quantity(text)
    assert found is not None  # noqa: S101 (the plan's own words)
    return float(found[0])


def _log(text: str, names: tuple[str, ...]) -> Log:
    rows = np.array([line.split(",") for line in text.splitlines()], dtype=np.int64).reshape(-1, 5)
    log = {}
    for number, name in enumerate(names):
        sent_ns, received_ns, size_bytes, marked = rows[rows[:, 0] == number, 1:].T
        received_s = np.where(received_ns < 0, np.nan, received_ns / 1e9)
        # What was sent after the last arrival may still have been on its way when the run ended.
        arrived = np.flatnonzero(received_ns >= 0)
        whole = slice(None, arrived[-1] + 1 if len(arrived) else None)
        log[name] = FlowLog(sent_ns[whole] / 1e9, received_s[whole], size_bytes[whole], marked[whole] == 1)
    return {name: log[name] for name in names if name in PROBES}
