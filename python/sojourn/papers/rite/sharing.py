"""Section 4.1.2: what flows with different round-trip times get from each discipline."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import JAIN_ALL, Key, Results, check, measure, shown
from sojourn.papers.rite.drawing import panels, points
from sojourn.papers.rite.plan import CONTROLS, DISCIPLINES, NO_AQM, SFQ, SINGLE_QUEUE_AQMS, bulk, link
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

RUNS = 8
RTTS_MS = (10, 30, 100, 300)
FLOWS = 2
"""For each round-trip time."""
WARMUP_S, DURATION_S = 30, 150
RATE = "10 Mbit/s"
BUFFER = "125 kB"
"""A bandwidth-delay product at 100 ms."""
_DEEP = "DropTail, 500 kB"
_DEEP_BUFFER = "500 kB"
QUEUES: dict[str, tuple[Mapping[str, Any], str]] = {
    NO_AQM: (DISCIPLINES[NO_AQM], BUFFER),
    _DEEP: (DISCIPLINES[NO_AQM], _DEEP_BUFFER),
    **{name: (DISCIPLINES[name], BUFFER) for name in SINGLE_QUEUE_AQMS},
    # Its packets are evicted from the longest queue: SFQ's own buffer, in full-size packets.
    "SFQ": (SFQ, BUFFER),
    "FQ-CoDel": (DISCIPLINES["FQ-CoDel"], BUFFER),
}
# The interval that RFC 8289 would have: the longest round-trip time.
_LONG = "FQ-CoDel, 300 ms"
QUEUES[_LONG] = ({**DISCIPLINES["FQ-CoDel"], "interval": f"{max(RTTS_MS)} ms"}, BUFFER)
PER_FLOW = ("SFQ", "FQ-CoDel")
# Criteria, from before the first run. An exponent of 0.1 is a quarter more for a tenth of the round-trip time.
_FAIR_EXPONENT = 0.1


def exponent(rates: Sequence[float], rtts_ms: Sequence[float]) -> float:
    """Return b where rates fall with the round-trip time to the power of -b, by least squares of logarithms.

    >>> round(exponent([8.0, 4.0, 2.0], [10.0, 20.0, 40.0]), 3), exponent([3.0, 3.0], [10.0, 20.0])
    (1.0, -0.0)
    """
    fit = statistics.linear_regression([math.log(rtt) for rtt in rtts_ms], [math.log(rate) for rate in rates])
    return -fit.slope


def group(rtt_ms: float) -> str:
    """Return what the flows with a round-trip time are called."""
    return f"rtt{rtt_ms:g}"


def exponents(results: Results, key: Key) -> Number:
    """Return the exponent of a case over its runs, by base round-trip times."""
    runs = zip(*(results.values(key, "goodput_mbps", group(rtt)) for rtt in RTTS_MS), strict=True)
    return Number.of([exponent(rates, RTTS_MS) for rates in runs])


def sharing(lab: Lab) -> Findings:
    """Compare rates by round-trip time."""
    base = {
        "name": "rite-mixed-rtts",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": link(RATE, BUFFER),
        "group": [bulk(FLOWS, f"{rtt} ms", name=group(rtt)) for rtt in RTTS_MS],
    }
    cases: dict[Key, Mapping[str, Any]] = {
        (control, name): {
            **{f"group.{group(rtt)}.control": CONTROLS[control] for rtt in RTTS_MS},
            "bottleneck": link(RATE, limit, queue),
        }
        for control in CONTROLS
        for name, (queue, limit) in QUEUES.items()
    }
    results = measure(lab, "mixed-rtts", base, cases, seeds=RUNS)
    controls = tuple(CONTROLS)
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        for position, name in enumerate(QUEUES):
            numbers = [_rate(results, (controls[index], name), rtt) for rtt in RTTS_MS]
            axes.errorbar(
                RTTS_MS,
                [number.mean for number in numbers],
                yerr=[number.half for number in numbers],
                label=name,
                elinewidth=0.8,
                **points(position),
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(RTTS_MS, [f"{rtt}" for rtt in RTTS_MS])
        axes.minorticks_off()
        axes.set_yticks((0.1, 0.2, 0.5, 1, 2, 5), ("0.1", "0.2", "0.5", "1", "2", "5"))
        axes.set_xlabel("base round-trip time [ms]")
        axes.set_ylabel("goodput of a flow [Mbit/s]")

    found.show(
        "mixed-rtts",
        panels(controls, draw, height_in=3.5, drop=0.17, ncols=3),
        "Goodput of a flow by its base round-trip time; means and 95 % intervals",
    )
    found.tables.append(_table(results))
    found.checks = list(_checks(results))
    biased = exponents(results, ("CUBIC", "CoDel"))
    fair = exponents(results, ("CUBIC", "FQ-CoDel"))
    found.verdict = (
        f"CUBIC's goodput falls with the round-trip time to the power of {biased.text(2)} under CoDel and of "
        f"{fair.text(2)} under FQ-CoDel."
    )
    found.text = (
        "The exponent is that of the base round-trip time, over four times from 10 to 300 ms: 0 is the same rate for "
        "all, 1 a rate in inverse proportion. A queue that is long against the round-trip times makes them alike; an "
        "AQM takes that away, and only queues for each flow put fairness in its place."
    )
    return found


def _rate(results: Results, key: Key, rtt: float) -> Number:
    return Number.of([rate / FLOWS for rate in results.values(key, "goodput_mbps", group(rtt))])


def _table(results: Results) -> Table:
    columns = (
        *("control", "discipline", "exponent", "half_ci95", "jain", "half_ci95_jain"),
        *(f"mbps_{rtt}_ms" for rtt in RTTS_MS),
    )
    rows = []
    for control in CONTROLS:
        for name in QUEUES:
            key = (control, name)
            bias = exponents(results, key)
            jain = results.number(key, JAIN_ALL, group(RTTS_MS[0]))
            rates = (_rate(results, key, rtt).mean for rtt in RTTS_MS)
            rows.append((*key, bias.mean, bias.half, jain.mean, jain.half, *rates))
    return Table("mixed-rtts", "Goodput by round-trip time", columns, tuple(rows))


def _checks(results: Results) -> Iterator[Check]:
    for control in CONTROLS:
        bias = {name: exponents(results, (control, name)) for name in QUEUES}
        yield check(
            f"{control}: an AQM in a single queue favours short round trips more than a deep buffer does, beyond "
            "chance",
            "expected: the long queue made round trips alike",
            ", ".join(f"{name} {bias[name].text(2)}" for name in (_DEEP, *SINGLE_QUEUE_AQMS)),
            agrees=all(bias[name].surely_above(bias[_DEEP]) for name in SINGLE_QUEUE_AQMS),
        )
        yield check(
            f"{control}: with a queue for each flow the exponent is below {_FAIR_EXPONENT:g}",
            "expected of fair queueing",
            ", ".join(f"{name} {bias[name].text(2)}" for name in PER_FLOW),
            agrees=all(abs(end) < _FAIR_EXPONENT for name in PER_FLOW for end in bias[name].interval()),
            why="CoDel's interval of 100 ms is shorter than the longest round trip: it drops from such a flow before "
            "the flow can have answered, which then leaves a part of its share to the others (next check).",
        )
        yield check(
            f"{control}: FQ-CoDel's is, with an interval as long as the longest round trip",
            "expected of RFC 8289's rule for the interval",
            f"{bias[_LONG].text(2)} with 300 ms, {bias['FQ-CoDel'].text(2)} with 100 ms",
            agrees=all(abs(end) < _FAIR_EXPONENT for end in bias[_LONG].interval()),
            why="Half of the bias is gone. NewReno halves its window, and where hardly anything waits a flow with a "
            "long round trip takes long to fill its share again; CUBIC takes less long, and SFQ lets enough wait.",
        )
    newreno, cubic = ({name: exponents(results, (one, name)) for name in SINGLE_QUEUE_AQMS} for one in CONTROLS)
    yield check(
        "CUBIC favours short round trips less than NewReno, under every AQM",
        "expected: its window grows with time, not with round trips",
        ", ".join(f"{name} {cubic[name].text(2)} and {newreno[name].text(2)}" for name in SINGLE_QUEUE_AQMS),
        agrees=all(newreno[name].surely_above(cubic[name]) for name in SINGLE_QUEUE_AQMS),
        why="At these rates CUBIC follows its estimate of what a flow of NewReno would have, which depends on the "
        "round trip as NewReno does.",
    )
    jains = {name: results.number(("CUBIC", name), JAIN_ALL, group(RTTS_MS[0])) for name in QUEUES}
    yield shown(
        "Jain's index of all CUBIC flows", "-", ", ".join(f"{name} {one.text(2)}" for name, one in jains.items())
    )


ITEMS = (
    Item(
        "mixed-rtts",
        "Section 4.1.2: flows with different round-trip times",
        f"{FLOWS} flows each with round-trip times of {', '.join(map(str, RTTS_MS))} ms, all NewReno or all CUBIC, on "
        f"{RATE}; buffer {BUFFER}, once {_DEEP_BUFFER}; {DURATION_S - WARMUP_S} s after {WARMUP_S} s; {RUNS} runs",
        sharing,
    ),
)
