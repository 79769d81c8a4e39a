"""Section 4.1.2: queues for each flow with and without an AQM, and which part does the work."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from sojourn.papers.measures import JAIN, UTILIZATION, Key, Results, check, measure, shown
from sojourn.papers.rite.drawing import panels, points
from sojourn.papers.rite.plan import DISCIPLINES, NO_AQM, SFQ, bulk, link
from sojourn.papers.rite.web import OBJECTS, PAGE, SIZES
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

RUNS = 10
WARMUP_S, DURATION_S = 10, 70
RATE, RTT, LIMIT = "10 Mbit/s", "50 ms", "400 packets"
DOWNLOADS = 4
CALL, WEB, BULK = "call", "web", "bulk"
# CoDel never acts on a target that no packet of this buffer can reach.
_NEVER = {"target": "100 s", "interval": "1000 s"}
_NEW_FIRST = "FQ-CoDel without CoDel"
QUEUES: dict[str, dict[str, Any]] = {
    NO_AQM: DISCIPLINES[NO_AQM],
    "CoDel": DISCIPLINES["CoDel"],
    "SFQ": SFQ,
    _NEW_FIRST: {**DISCIPLINES["FQ-CoDel"], **_NEVER},
    "FQ-CoDel": DISCIPLINES["FQ-CoDel"],
}


class Metric(NamedTuple):
    """What the users of a group notice; less is better."""

    group: str
    column: str
    words: str
    ticks: tuple[float, ...]


METRICS = (
    Metric(CALL, "queue_ms_p99", "call: 99th percentile of delay [ms]", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    Metric(WEB, PAGE, "page time [ms]", (1000, 2000, 5000, 10000)),
    Metric(BULK, "queue_ms_p50", "downloads: median of their own delay [ms]", (5, 10, 20, 50, 100, 200, 500)),
)


def factors(results: Results, one: str, other: str, metric: Metric) -> Number:
    """Return how many times larger the metric's logarithm is in one discipline, over runs with the same seed."""
    pairs = zip(*(results.values((name,), metric.column, metric.group) for name in (one, other)), strict=True)
    return Number.of([math.log(here / there) for here, there in pairs])


def times(number: Number) -> str:
    """Return a number of logarithms as a factor with its 95 % interval.

    >>> times(Number(math.log(2.0), 0.0, 3))
    '2 (2 to 2)'
    """
    low, high = (math.exp(end) for end in number.interval())
    return f"{math.exp(number.mean):.3g} ({low:.3g} to {high:.3g})"


def isolation(lab: Lab) -> Findings:
    """Take FQ-CoDel apart."""
    base = {
        "name": "rite-isolation",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": link(RATE, LIMIT),
        "group": [
            bulk(DOWNLOADS, RTT, name=BULK),
            {"name": CALL, "rtt": RTT, "traffic": {"kind": "cbr", "rate": "64 kbit/s", "packet": "200 B"}},
            {**bulk(1, RTT, name=WEB), "traffic": _PAGES},
        ],
    }
    cases: dict[Key, Mapping[str, Any]] = {
        (name,): {"bottleneck": link(RATE, LIMIT, queue)} for name, queue in QUEUES.items()
    }
    results = measure(lab, "isolation", base, cases, seeds=RUNS)
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        metric = METRICS[index]
        for position, name in enumerate(QUEUES):
            number = results.number((name,), metric.column, metric.group)
            axes.errorbar(position, number.mean, yerr=number.half, elinewidth=0.8, **points(position))
        axes.set_yscale("log")
        axes.set_yticks(metric.ticks, [f"{tick:g}" for tick in metric.ticks])
        axes.minorticks_off()
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        axes.set_xticks(range(len(QUEUES)), [name.replace(" without ", "\nwithout ") for name in QUEUES])
        axes.tick_params(axis="x", labelrotation=90)

    found.show(
        "isolation",
        panels([metric.words.replace(": ", ":\n") for metric in METRICS], draw, height_in=3.6),
        "What a call, web pages and the downloads themselves notice of queues for each flow and of an AQM; means and "
        "95 % intervals, logarithmic",
    )
    found.tables.append(_table(results))
    found.checks = list(_checks(results))
    parts, downloads = (
        {name: times(factors(results, NO_AQM, name, metric)) for name in ("SFQ", "CoDel", "FQ-CoDel")}
        for metric in (METRICS[0], METRICS[2])
    )
    found.verdict = (
        "A call's tail of delay beside downloads is divided by "
        + ", ".join(f"{part} under {name}" for name, part in parts.items())
        + "; the median of the downloads' own delay by "
        + ", ".join(f"{part} under {name}" for name, part in downloads.items())
        + ": queues of their own do most for the call, the AQM all for the downloads."
    )
    found.text = (
        f"All have room for {LIMIT}. SFQ is fair queueing alone; FQ-CoDel with a target of 100 s is its scheduler "
        "alone, with new flows first. Factors are geometric means over runs with the same seed, with 95 % intervals."
    )
    return found


_PAGES = {"kind": "web", "objects": OBJECTS, "size": SIZES, "connections": 1, "think": "1 s"}


_SHARE = (
    "A queue of its own gives a page a fifth of the link and no more: 200 kB at 2 Mbit/s and a round trip for each "
    "object and the connection are 1.4 s, with CoDel or without. In one short queue a burst may take more than that; "
    "beside one download instead of four the difference shrinks."
)


def _table(results: Results) -> Table:
    names = [f"{metric.group}_{metric.column}" for metric in METRICS]
    columns = ("discipline", *(part for name in names for part in (name, f"{name}_half_ci95")), "utilization", "jain")
    rows = []
    for name in QUEUES:
        numbers = [results.number((name,), metric.column, metric.group) for metric in METRICS]
        others = (results.number((name,), metric, BULK).mean for metric in (UTILIZATION, JAIN))
        rows.append((name, *(part for one in numbers for part in (one.mean, one.half)), *others))
    return Table("isolation", "Queues for each flow, with and without CoDel", columns, tuple(rows))


def _checks(results: Results) -> Iterator[Check]:
    call, pages, own = METRICS
    yield _better(results, call, "SFQ", "CoDel", "a call gains more from fair queueing alone than from an AQM alone")
    yield _better(
        results, pages, "SFQ", "CoDel", "pages gain more from fair queueing alone than from an AQM alone", _SHARE
    )
    yield _better(results, own, "CoDel", "SFQ", "downloads' own delay: an AQM alone cuts it more than queues alone")
    for part in ("SFQ", "CoDel"):
        for metric, who, why in ((call, "a call", ""), (pages, "pages", _SHARE)):
            yield _better(results, metric, "FQ-CoDel", part, f"{who}: both together are better than {part} alone", why)
    for metric in METRICS:
        yield shown(
            f"{metric.words}: without either, divided by that with it",
            "-",
            ", ".join(f"{name} {times(factors(results, NO_AQM, name, metric))}" for name in QUEUES if name != NO_AQM),
        )
    jain = _each(results, JAIN, 3)
    yield shown("Jain's index of the downloads", "-", jain)


def _each(results: Results, metric: str, digits: int) -> str:
    return ", ".join(f"{name} {results.number((name,), metric, BULK).text(digits)}" for name in QUEUES)


def _better(results: Results, metric: Metric, name: str, than: str, claim: str, why: str = "") -> Check:
    """Check that a discipline's metric is smaller beyond chance, over runs with the same seed."""
    factor = factors(results, than, name, metric)
    values = [f"{one} {results.number((one,), metric.column, metric.group).text(1)} ms" for one in (name, than)]
    return check(
        f"{claim}, beyond chance",
        "is it fair queueing, the AQM, or both?",
        f"{', '.join(values)}: {times(factor)} times",
        agrees=factor.interval()[0] > 0.0,
        why=why,
    )


ITEMS = (
    Item(
        "isolation",
        "Section 4.1.2: fair queueing with and without an AQM",
        f"{DOWNLOADS} CUBIC downloads, a call of 64 kbit/s in packets of 200 B, and web pages of {OBJECTS} objects a "
        f"second after one another, {RATE}, base round-trip time {RTT}, buffer {LIMIT}; "
        f"{DURATION_S - WARMUP_S} s after {WARMUP_S} s; {RUNS} runs",
        isolation,
    ),
)
