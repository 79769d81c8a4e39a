"""A program behind `sojourn shell`, beside the simulation and a kernel's own queues; writes a page of docs/validation::

python -m benchmarks.programs             # measure in real time, simulate, run the kernel (15 minutes; needs iperf3)
python -m benchmarks.programs --bounds    # only one flow with DropTail, lateness and the ping (two minutes)
python -m benchmarks.programs --render    # only write the page, from the stored numbers
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import sojourn
from benchmarks import emulators
from benchmarks.common import RESULTS, Document, load, paragraph, save, say, table, write_page, yes
from sojourn.worlds.shell.ends import TIMINGS

NAME = "programs"
PAGE = "validation/programs"
WITHIN = {"droptail": 0.03}
"""By how much mean delay and goodput may differ from the simulation's and count as agreeing; chosen before the runs."""
WITHIN_AQM = 0.10
RUNS, SIMULATED = 2, 5
DURATION_S, WARMUP_S = 20, 5
RTT_MS, LIMIT_PACKETS = 40, 100
QUEUES = ("droptail", "codel", "fq_codel", "pie", "cake")
CELLS = [(queue, "cubic", flows) for queue in QUEUES for flows in (1, 4)] + [("droptail", "reno", 1)]
CONTROLS = {"cubic": "cubic", "reno": "newreno"}
RATES_MBPS = (10, 100, 300, 1000)
_SERVER = "iperf3 -s"
_HERE, _SIM, _KERNEL = "shell", "sim", "linux"


def main(words: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description="Programs behind sojourn shell.")
    parser.add_argument("--render", action="store_true", help="only write the page, from the stored numbers")
    parser.add_argument("--bounds", action="store_true", help="only measure again what the first paragraph says")
    arguments = parser.parse_args(words)
    if not arguments.render:
        if shutil.which("iperf3") is None:
            print("programs: skipped: iperf3 is not installed", file=sys.stderr)
            return 1
        measure(CELLS[:1] if arguments.bounds else CELLS)
    write_page(PAGE, "\n\n".join(render(load(NAME))))
    return 0


def measure(cells: Sequence[tuple[str, str, int]]) -> None:
    """Run cells, one after the other; keep what was measured, and of other cells what was before."""
    before = load(NAME)["cells"] if cells != CELLS else {}
    found: dict[str, Any] = {
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "cells": {**before},
        "rates": {},
    }
    for queue, control, flows in cells:
        name = f"{queue} {control} {flows}"
        say(name)
        found["cells"][name] = {
            **before.get(name, {}),
            _HERE: _program(queue, control, flows),
            _SIM: _simulated(queue, control, flows, _SIM, SIMULATED),
        }
        if not before:
            found["cells"][name][_KERNEL] = _simulated(queue, control, flows, _KERNEL, RUNS)
    for mbps in RATES_MBPS:
        say(f"{mbps} Mbit/s")
        found["rates"][str(mbps)] = _timed(mbps)
    found["ping"] = _pings()
    save(NAME, found)


def _path(queue: str, rate_mbps: int = 20) -> dict[str, Any]:
    kind = {"kind": queue, "preset": "linux"} if queue != "cake" else {"kind": queue}
    limit = {} if queue == "cake" else {"limit": f"{LIMIT_PACKETS} packets"}
    bottleneck = {"rate": f"{rate_mbps} Mbit/s", "queue": {**kind, **limit}}
    return {"name": NAME, "duration": f"{DURATION_S} s", "warmup": f"{WARMUP_S} s", "bottleneck": bottleneck}


def _groups(rtt_ms: int = RTT_MS) -> list[dict[str, str]]:
    group = {"traffic": "program", "rtt": f"{rtt_ms} ms"}
    return [{"name": "sent", **group}, {"name": "received", "direction": "reverse", **group}]


def _program(queue: str, control: str, flows: int) -> dict[str, Any]:
    """Return means of runs with iperf3, which sends longer than it is measured."""
    command = f"iperf3 --logfile /dev/null -C {control} -c 10.77.0.1 -P {flows} -t {2 * DURATION_S}"
    scenario = sojourn.scenario({**_path(queue), "group": _groups()})
    found = scenario.run(runs=RUNS, series=False, world=_HERE, command=command, server=_SERVER)
    return _means(found.runs, "sent")


def _simulated(queue: str, control: str, flows: int, world: str, runs: int) -> dict[str, Any]:
    group = {
        "name": "sent",
        "flows": flows,
        "control": {"kind": CONTROLS[control], "preset": "linux"},
        "transport": "linux",
        "rtt": f"{RTT_MS} ms",
    }
    return _means(
        sojourn.scenario({**_path(queue), "group": [group]}).run(runs=runs, series=False, world=world).runs, "sent"
    )


def _means(runs: Any, group: str) -> dict[str, Any]:
    """Return the means of all runs, and the extremes of the mean delay."""
    delays = [run["bottleneck"]["queue_ms"]["mean"] for run in runs]
    found = {
        "queue_ms": statistics.fmean(delays),
        "queue_ms_of": [min(delays), max(delays)],
        "p99_ms": statistics.fmean(run["bottleneck"]["queue_ms"]["p99"] for run in runs),
        "goodput_mbps": statistics.fmean(run["groups"][group]["goodput_mbps"] for run in runs),
        "drops": statistics.fmean(run["bottleneck"]["drops"] for run in runs),
    }
    late = [run["shell"] for run in runs if "shell" in run]
    if late:
        found["late_ms"] = [max(one[f"late_ms_{part}"] for one in late) for part in ("median", "p99", "p999")]
    return found


def _timed(mbps: int) -> dict[str, Any]:
    """Return how late packets of 1500 bytes are at a rate, with FQ-CoDel, and how many there were."""
    path = {**_path("fq_codel", mbps), "duration": "8 s", "warmup": "1 s"}
    path["bottleneck"]["queue"]["limit"] = "10240 packets"
    scenario = sojourn.scenario({**path, "group": _groups(4)})
    command = "iperf3 --logfile /dev/null -C cubic -c 10.77.0.1 -t 20"
    run = scenario.run(runs=1, series=False, world=_HERE, command=command, server=_SERVER).runs[0]
    own = run["shell"]
    return {
        "packets_per_s": own["packets_in"] / run["duration_s"],
        "goodput_mbps": run["groups"]["sent"]["goodput_mbps"],
        "late_ms": [own[f"late_ms_{part}"] for part in ("median", "p99", "p999")],
    }


def _pings() -> dict[str, Any]:
    """Return what a ping on the idle path takes beyond delay and serialisation, and what one takes without a path."""
    path = [sys.executable, "-m", "sojourn", "shell", "-", "--alone", "--timing"]
    ping = ["--", "ping", "-q", "-i", "0.05", "-c", "100", "10.77.0.1"]
    text = sojourn.scenario({**_path("droptail"), "group": _groups()}).to_toml()

    def beyond_ms(words: Sequence[str]) -> float:
        said = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
        return _mean_rtt(said) - (RTT_MS + 84 * 8 / 20_000)

    bare = subprocess.run(
        ["ping", "-q", "-i", "0.05", "-c", "100", "127.0.0.1"], capture_output=True, text=True, check=True
    )
    return {
        "beyond_ms": {timing: beyond_ms([*path, timing, *ping]) for timing in TIMINGS},
        "bare_ms": _mean_rtt(bare.stdout),
    }


def _mean_rtt(said: str) -> float:
    return float(said.rsplit("=", 1)[1].split("/")[1])


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    cells = document["cells"]
    agree = {name: _agrees(name, both) for name, both in cells.items()}
    plain = [holds for name, holds in agree.items() if name.startswith("droptail")]
    ping = document["ping"]
    beside = emulators.section(load(emulators.NAME)) if (RESULTS / f"{emulators.NAME}.json").exists() else []
    return [
        "# Does a program behind `sojourn shell` meet the path that was simulated?",
        "<!-- Written by `python -m benchmarks.programs`. Do not edit by hand. -->",
        paragraph(
            _ANSWER.format(
                plain=sum(plain),
                of_plain=len(plain),
                managed=sum(agree.values()) - sum(plain),
                of_managed=len(agree) - len(plain),
                **ping,
            )
        ),
        "## Delay and goodput",
        paragraph(_CELLS),
        table(
            [
                "queue",
                "control",
                "flows>",
                "mean queue [ms]>",
                "99th percentile [ms]>",
                "goodput [Mbit/s]>",
                "drops>",
                "agrees",
            ],
            [_row(name, both, agree[name]) for name, both in cells.items()],
        ),
        *_apart(cells, agree),
        "## How late are packets?",
        paragraph(_LATE),
        table(
            [
                "rate [Mbit/s]>",
                "packets a second>",
                "goodput [Mbit/s]>",
                "median [ms]>",
                "p99 [ms]>",
                "p99.9 [ms]>",
            ],
            [
                [
                    rate,
                    f"{one['packets_per_s']:,.0f}",
                    f"{one['goodput_mbps']:.1f}",
                    *(f"{late:.3f}" for late in one["late_ms"]),
                ]
                for rate, one in document["rates"].items()
            ],
        ),
        *beside,
        "## How was it measured?",
        paragraph(
            f"A path of 20 Mbit/s and {RTT_MS} ms, with {LIMIT_PACKETS} packets of buffer (CAKE has its own). Each "
            f"cell is {RUNS} runs of {DURATION_S} s of the program and of the kernel, {SIMULATED} of the simulation, "
            f"measured from {WARMUP_S} s on. The program's TCP is that of Linux {document['kernel']}, on "
            f"{document['processors']} processors that it shared with the path."
        ),
    ]


def _apart(cells: Mapping[str, Document], agree: Mapping[str, bool]) -> list[str]:
    """Say of each cell that does not agree whether the kernel's own queue lies on the program's side."""
    said = []
    for name, both in cells.items():
        here, there, kernel = (both[world]["queue_ms"] for world in (_HERE, _SIM, _KERNEL))
        if not agree[name]:
            side = (
                "on the program's side of" if (kernel - there) * (here - there) > 0 else "not on the program's side of"
            )
            said.append(
                f"{name}: {here:.2f} ms behind the shell, {there:.2f} simulated; the kernel's own queue, {kernel:.2f}, "
                f"lies {side} the simulation. Why was not looked for."
            )
    return said


def _agrees(name: str, both: Mapping[str, Document]) -> bool:
    within = WITHIN.get(name.split(maxsplit=1)[0], WITHIN_AQM)
    here, there = both[_HERE], both[_SIM]
    return all(abs(here[what] - there[what]) <= within * there[what] for what in ("queue_ms", "goodput_mbps"))


def _row(name: str, both: Mapping[str, Document], holds: bool) -> list[str]:
    queue, control, flows = name.split()

    def three(what: str, digits: int) -> str:
        return " / ".join(f"{both[world][what]:.{digits}f}" for world in (_HERE, _SIM, _KERNEL))

    shown = [three("queue_ms", 1), three("p99_ms", 1), three("goodput_mbps", 2), three("drops", 0)]
    return [queue, control, flows, *shown, yes(holds)]


_ANSWER = """Mean queueing delay and goodput of iperf3 behind `sojourn shell` are within 3 % of the simulation's in
    {plain} of {of_plain} cells with DropTail, and within 10 % in {managed} of {of_managed} with an AQM. Both bounds
    were chosen before the runs. A ping on the idle path takes {beyond_ms[timer]:.2f} ms more than delay and
    serialisation, {beyond_ms[busy]:.2f} ms with `--timing busy` and {beyond_ms[real-time]:.2f} ms with
    `--timing real-time`; one to the same host takes {bare_ms:.2f} ms."""
_CELLS = """A value is program / simulation / kernel. The program is iperf3 with a real kernel's TCP behind Sojourn's
    queues in real time; the kernel is the same TCP behind its own queues (the world `linux`)."""
_LATE = """How much later a packet left than the path said, with FQ-CoDel and one CUBIC flow: iperf3's two ends and
    the path share the processors. A run is marked whose 99th percentile is over 1 ms."""

if __name__ == "__main__":
    sys.exit(main())
