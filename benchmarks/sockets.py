"""A stack over real UDP sockets, behind `sojourn shell`'s path in real time, beside the same stack in virtual time.

Part of `benchmarks.stacks`, which writes the page::

chrt -f 10 python -m benchmarks.stacks --sockets    # the priority, where other programs share the processors
"""

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sojourn
from benchmarks.common import Document, paragraph, say, table, yes
from sojourn.worlds import stacks

STACK, CONTROL = "quinn", "cubic"
GOODPUT_WITHIN, DELAY_WITHIN, SERIALIZATION_MS = 0.05, 0.15, 0.6
"""How far the means may differ from the simulation's and count as agreeing: goodput by a part, the mean delay by a
part or by the serialization time of a packet at 20 Mbit/s, whichever is more. Chosen before the first run."""
DURATION_S, WARMUP_S, RTT_MS, LIMIT_PACKETS = 30, 5, 40, 100
RUNS = 3
LATER_MS = 0.3
"""How much longer the stack's base RTT is in further simulations, which show what a shift of its packets' phase does.
They were added after the first comparison, and nothing is judged by them."""
_OTHER = {"name": "other", "control": "newreno", "transport": "linux", "rtt": f"{RTT_MS} ms"}
CELLS: Mapping[str, tuple[str, list[dict[str, str]]]] = {
    "DropTail": ("droptail", []),
    "FQ-CoDel": ("fq_codel", []),
    "DropTail, beside a simulated flow of NewReno": ("droptail", [_OTHER]),
}
_PORT = 4433


def measure() -> dict[str, Any]:
    """Return what both were on each path."""
    program = stacks.check(STACK, "STACK")
    found = {}
    for name, (queue, others) in CELLS.items():
        say(f"{STACK} {CONTROL} over sockets, {name}")
        path = {
            "name": "sockets",
            "duration": f"{DURATION_S} s",
            "warmup": f"{WARMUP_S} s",
            "bottleneck": {"rate": "20 Mbit/s", "queue": {"kind": queue, "limit": f"{LIMIT_PACKETS} packets"}},
        }
        found[name] = {
            "sockets": [_real(path, others, program) for _ in range(RUNS)],
            "simulated": _simulated(path, others, RTT_MS),
            "later": _simulated(path, others, RTT_MS + LATER_MS),
        }
    return found


def _simulated(path: Mapping[str, Any], others: list[dict[str, str]], rtt_ms: float) -> list[dict[str, float]]:
    group = {"name": "one", "stack": STACK, "control": CONTROL, "rtt": f"{rtt_ms:g} ms"}
    runs = sojourn.scenario({**path, "group": [group, *others]}).run(runs=RUNS, series=False).runs
    return [{"queue_ms": _queue_ms(run), "goodput_mbps": run["groups"]["one"]["goodput_mbps"]} for run in runs]


def _real(path: Mapping[str, Any], others: list[dict[str, str]], program: str) -> dict[str, float]:
    """Run both ends as processes of their own in the namespaces at both ends of the path."""
    carried = {"traffic": "program", "rtt": f"{RTT_MS} ms"}
    groups = [{"name": "sent", **carried}, {"name": "received", "direction": "reverse", **carried}, *others]
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        server = f"{program} --receive 0.0.0.0:{_PORT} {notes} {CONTROL}"
        command = f"{program} --send 10.77.0.1:{_PORT} {CONTROL}"
        scenario = sojourn.scenario({**path, "group": groups})
        (run,) = scenario.run(runs=1, series=False, world="shell", command=command, server=server).runs
        goodput_mbps = goodput(notes.read_text(encoding="utf-8"))
    return {"queue_ms": _queue_ms(run), "goodput_mbps": goodput_mbps, "late_ms": run["shell"]["late_ms_p99"]}


def goodput(notes: str) -> float:
    """Return what the receiver got between the warm-up and the last second, in Mbit/s.

    Lines of its notes have seconds since the first datagram, and bytes.
    """
    lines = [(float(at), int(delivered)) for at, delivered in map(str.split, notes.splitlines())]
    measured = [line for line in lines if WARMUP_S <= line[0] <= DURATION_S - 1]
    (begin_s, before), (end_s, after) = measured[0], measured[-1]
    return (after - before) * 8 / 1e6 / (end_s - begin_s)


def _queue_ms(run: Mapping[str, Any]) -> float:
    return float(run["bottleneck"]["queue_ms"]["mean"])


def agrees(cell: Mapping[str, list[Mapping[str, float]]]) -> bool:
    """Tell whether the means over all runs are as near as was said before."""
    sockets, simulated = (_means(cell[where]) for where in ("sockets", "simulated"))
    delay = max(DELAY_WITHIN * simulated["queue_ms"], SERIALIZATION_MS)
    goodput_mbps = GOODPUT_WITHIN * simulated["goodput_mbps"]
    return (
        abs(sockets["queue_ms"] - simulated["queue_ms"]) <= delay
        and abs(sockets["goodput_mbps"] - simulated["goodput_mbps"]) <= goodput_mbps
    )


def _means(runs: list[Mapping[str, float]]) -> dict[str, float]:
    return {what: statistics.fmean(run[what] for run in runs) for what in runs[0]}


def section(document: Document) -> list[str]:
    """Return what the page says of it, in paragraphs."""
    holds = [agrees(cell) for cell in document.values()]
    late_ms = max(run["late_ms"] for cell in document.values() for run in cell["sockets"])
    return [
        "## Is it the same stack over real sockets?",
        paragraph(
            f"On {sum(holds)} of {len(holds)} paths. {STACK}'s ends, with {CONTROL}, ran as two processes with UDP "
            f"sockets in real time, behind `sojourn shell`'s path of 20 Mbit/s and {RTT_MS} ms with {LIMIT_PACKETS} "
            "packets of buffer, and the simulated stack behind the same path in virtual time. They agree where goodput "
            f"differs by at most {100 * GOODPUT_WITHIN:g} %, and the mean delay by at most {100 * DELAY_WITHIN:g} % or "
            f"{SERIALIZATION_MS:g} ms, the serialization time of a packet. These limits were chosen before any run."
        ),
        table(
            ["path", "ran", "mean queue [ms]>", "goodput [Mbit/s]>", "agrees"],
            [row for name, cell in document.items() for row in _rows(name, cell)],
        ),
        paragraph(
            f"Means of {RUNS} runs of {DURATION_S} s each, less {WARMUP_S} s of warm-up; the lowest and highest are in "
            f"brackets. Packets left the path in real time up to {late_ms:.2f} ms late (99th percentile). "
            "`chrt -f 10 python -m benchmarks.stacks --sockets` repeats this; the priority matters where others share "
            "the processors. Without it a first measurement, with packets up to 4.7 ms late, agreed on one path: "
            "FQ-CoDel had 3.1 ms."
        ),
        paragraph(_PHASE),
    ]


def _rows(name: str, cell: Mapping[str, list[Mapping[str, float]]]) -> list[list[str]]:
    whose = {"sockets": "over sockets", "simulated": "simulated", "later": f"simulated, {LATER_MS:g} ms longer RTT"}
    return [
        [
            name if where == "sockets" else "",
            label,
            _span([run["queue_ms"] for run in cell[where]], 1),
            _span([run["goodput_mbps"] for run in cell[where]], 2),
            yes(agrees(cell)) if where == "simulated" else "",
        ]
        for where, label in whose.items()
    ]


def _span(values: list[float], digits: int) -> str:
    mean, least, most = (f"{value:.{digits}f}" for value in (statistics.fmean(values), min(values), max(values)))
    return f"{mean} ({least} to {most})"


_PHASE = """
Beside a simulated flow the share is probably a matter of phase. Two flows of one base RTT meet a full DropTail queue
at instants that repeat, and whose packets come a moment after one has left finds room (Floyd and Jacobson, On Traffic
Phase Effects in Packet-Switched Gateways, 1992). Real packets are later than simulated ones, since they wait for
processes at both ends; by how much was not measured. With a little more base RTT the simulated stack takes more, too.
Alone, and where each flow has a queue of its own, phase decides nothing.
"""
