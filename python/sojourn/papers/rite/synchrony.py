"""Section 4.1.2: whether flows lose packets at the same time, and what AQMs do about it."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from sojourn.data.rows import POINT, SEED
from sojourn.figures.style import family
from sojourn.papers.measures import TCP, UTILIZATION, Key, Results, check, label, measure, shown
from sojourn.papers.rite.drawing import panels
from sojourn.papers.rite.plan import CONTROLS, DISCIPLINES, NO_AQM, SINGLE_QUEUE_AQMS, bulk, link
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number
from sojourn.sweep.plan import CASE

RUNS = 6
FLOWS = 8
WARMUP_S, DURATION_S = 10, 60
RTT_S = 0.1
BUFFER_KB = 125
"""A bandwidth-delay product."""
EPOCH_S = 2 * RTT_S
"""The longest round-trip time there is, that with a full buffer: what answers a loss comes no later."""
_BAR = 0.35


@dataclass(frozen=True)
class Synchrony:
    """How far flows lose together in a run."""

    epochs: int
    """Congestion epochs: each begins with a loss outside of one, and takes so long as a round trip at most takes."""
    share: float
    """Mean over epochs of the share of the flows that lose in it (Hassayoun and Ros 2008): 1/flows to 1."""
    by_chance: float
    """The same share if each epoch's losses were dealt to the flows at random."""
    phi: float
    """Mean over pairs of flows of the correlation of losing in a window as long as an epoch: 0 where they are
    independent, 1 where they always lose together. Windows follow one another, those without losses included."""

    @property
    def excess(self) -> float:
        """Return how far the share is above that by chance; below it one flow loses several packets at once."""
        return self.share - self.by_chance


def synchrony(
    losses: Sequence[tuple[float, int]], flows: int, epoch_s: float, start_s: float, end_s: float
) -> Synchrony:
    """Measure losses, each a time in seconds and the number of its flow, between two times.

    Without any loss the shares are 0. Pairs of which one flow never or always loses have no correlation; without any
    other pair it is 0.
    """
    measured = sorted(loss for loss in losses if start_s <= loss[0] < end_s)
    epochs: list[list[int]] = []
    until = start_s
    for time, flow in measured:
        if time >= until or not epochs:
            epochs.append([])
            until = time + epoch_s
        epochs[-1].append(flow)
    if not epochs:
        return Synchrony(0, 0.0, 0.0, 0.0)
    share = statistics.fmean(len(set(epoch)) / flows for epoch in epochs)
    chance = statistics.fmean(1 - (1 - 1 / flows) ** len(epoch) for epoch in epochs)
    return Synchrony(len(epochs), share, chance, _phi(measured, flows, epoch_s, start_s, end_s))


def _phi(losses: Sequence[tuple[float, int]], flows: int, epoch_s: float, start_s: float, end_s: float) -> float:
    import numpy as np

    lost = np.zeros((flows, max(round((end_s - start_s) / epoch_s), 1)))
    for time, flow in losses:
        lost[flow, min(int((time - start_s) / epoch_s), lost.shape[1] - 1)] = 1
    varied = lost[lost.std(axis=1) > 0]
    if len(varied) <= 1:
        return 0.0
    matrix = np.corrcoef(varied)
    return float(matrix[np.triu_indices(len(varied), 1)].mean())


def measured(results: Results) -> dict[str, list[Synchrony]]:
    """Return the synchrony of each run, by case."""
    table = results.dataset.table("packets", columns=(POINT, SEED, "time_ns", "index"), where={"event": "drop"})
    cases = dict(zip(results.column(POINT), results.column(CASE), strict=True))
    runs: dict[tuple[int, int], list[tuple[float, int]]] = {
        run: [] for run in zip(results.column(POINT), results.column(SEED), strict=True)
    }
    rows = (table[name].to_pylist() for name in (POINT, SEED, "time_ns", "index"))
    for point, seed, time_ns, flow in zip(*rows, strict=True):
        runs[point, seed].append((time_ns / 1e9, flow))
    found: dict[str, list[Synchrony]] = {}
    for (point, _), losses in runs.items():
        found.setdefault(cases[point], []).append(synchrony(losses, FLOWS, EPOCH_S, WARMUP_S, DURATION_S))
    return found


def study(lab: Lab) -> Findings:
    """Compare how far flows lose together by discipline and control."""
    base = {
        "name": "rite-synchrony",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": link("10 Mbit/s", f"{BUFFER_KB} kB"),
        "group": [bulk(FLOWS, f"{1000 * RTT_S:g} ms")],
    }
    cases: dict[Key, Mapping[str, Any]] = {
        (control, name): {
            f"group.{TCP}.control": CONTROLS[control],
            "bottleneck": link("10 Mbit/s", f"{BUFFER_KB} kB", queue),
        }
        for control in CONTROLS
        for name, queue in DISCIPLINES.items()
    }
    results = measure(lab, "synchrony", base, cases, seeds=RUNS, keep=["packets"])
    runs = measured(results)
    found = Findings()

    def number(control: str, name: str, what: str) -> Number:
        return Number.of([getattr(run, what) for run in runs[label((control, name))]])

    whats = (("share", "share of flows that lose in an epoch"), ("phi", "correlation of two flows' losses"))

    def draw(index: int, axes: Axes) -> None:
        what, up = whats[index]
        for position, control in enumerate(CONTROLS):
            numbers = [number(control, name, what) for name in DISCIPLINES]
            places = [at + (position - 0.5) * _BAR for at in range(len(DISCIPLINES))]
            axes.bar(
                places,
                [one.mean for one in numbers],
                _BAR,
                yerr=[one.half for one in numbers],
                color=family(position),
                label=control,
                error_kw={"elinewidth": 0.8},
            )
            if what == "share":
                chance = [number(control, name, "by_chance").mean for name in DISCIPLINES]
                axes.plot(places, chance, "k_", markersize=9, label="dealt at random" if position else None)
        axes.set_xticks(range(len(DISCIPLINES)), list(DISCIPLINES))
        axes.tick_params(axis="x", labelrotation=20)
        axes.set_ylabel(up)

    found.show(
        "synchrony",
        panels(["per congestion epoch", "per pair of flows"], draw, drop=0.2, ncols=3),
        f"Loss synchronisation of {FLOWS} flows, mean and 95 % interval; left with the share that the same losses "
        "would hit if they were dealt to the flows at random",
    )
    found.tables.append(_table(results, runs))
    found.checks = list(_checks(number, results))
    tail, red = (number("CUBIC", name, "share") for name in (NO_AQM, "ARED"))
    found.verdict = (
        f"Where CUBIC flows lose at a full buffer of one bandwidth-delay product, {tail.text(0, 100)} % of them lose "
        f"in the same epoch, {red.text(0, 100)} % under ARED."
    )
    found.text = (
        f"A congestion epoch begins with a loss that is in none, and lasts {EPOCH_S:g} s, the base round-trip time "
        "and a full buffer; the synchronisation is the mean share of the flows that lose in an epoch, as Hassayoun "
        "and Ros define it (INFOCOM workshops 2008). It grows with the number of losses in an epoch, however these "
        "fall, so the share that as many losses dealt at random would hit stands beside it, and the mean correlation "
        f"of two flows' losses in windows of {EPOCH_S:g} s, which is 0 for independent flows whatever their number."
    )
    return found


def _table(results: Results, runs: Mapping[str, Sequence[Synchrony]]) -> Table:
    whats = ("epochs", "share", "by_chance", "excess", "phi")
    columns = (
        "control",
        "discipline",
        *(part for what in whats for part in (what, f"half_ci95_{what}")),
        "utilization",
    )
    rows = []
    for control in CONTROLS:
        for name in DISCIPLINES:
            numbers = [Number.of([getattr(run, what) for run in runs[label((control, name))]]) for what in whats]
            used = results.number((control, name), UTILIZATION).mean
            rows.append((control, name, *(part for one in numbers for part in (one.mean, one.half)), used))
    return Table("synchrony", "Loss synchronisation", columns, tuple(rows))


def _checks(number: Callable[[str, str, str], Number], results: Results) -> Iterator[Check]:
    for control in CONTROLS:
        for what, words in (("share", "share of flows that lose in an epoch"), ("phi", "correlation of losses")):
            tail = number(control, NO_AQM, what)
            others = {name: number(control, name, what) for name in SINGLE_QUEUE_AQMS}
            yield check(
                f"{control}: AQMs desynchronise flows: smaller {words}, beyond chance",
                "what RED was supposed to do",
                f"{NO_AQM} {tail.text(2)}, " + ", ".join(f"{name} {one.text(2)}" for name, one in others.items()),
                agrees=all(tail.surely_above(one) for one in others.values()),
                why=_WHY,
            )
        yield shown(
            f"{control}: the share above that of the same losses dealt at random",
            "0 where losses fall independently",
            ", ".join(f"{name} {number(control, name, 'excess').text(2)}" for name in DISCIPLINES),
            "Below 0 an epoch's losses hit the same flow several times.",
        )
    queues = {control: (number(control, NO_AQM, "phi"), number(control, "FQ-CoDel", "phi")) for control in CONTROLS}
    yield shown(
        "does a queue for each flow desynchronise? Correlation of losses without an AQM, and under FQ-CoDel",
        "-",
        ", ".join(f"{control} {tail.text(2)} and {own.text(2)}" for control, (tail, own) in queues.items()),
        "It does not: flows with the same round-trip time and the same share go through the same cycle in step.",
    )
    used = {name: results.number(("NewReno", name), UTILIZATION) for name in DISCIPLINES}
    yield shown(
        "use of the link by NewReno flows",
        "-",
        ", ".join(f"{name} {one.text(1, 100)}" for name, one in used.items()) + " %",
    )


_WHY = (
    "With thresholds or a target far below a round trip an AQM signals several times in an epoch: the share counts how "
    "many flows that hits, not whether they are hit together. As many losses dealt at random hit as many flows (next "
    "check), and the correlation, which does not grow with the number of losses, says that they fall more "
    "independently."
)


ITEMS = (
    Item(
        "synchrony",
        "Section 4.1.2: loss synchronisation",
        f"{FLOWS} flows of NewReno or CUBIC, 10 Mbit/s, base round-trip time {1000 * RTT_S:g} ms, buffer {BUFFER_KB} "
        f"kB (one bandwidth-delay product), {DURATION_S - WARMUP_S} s after {WARMUP_S} s; {RUNS} runs",
        study,
    ),
)
