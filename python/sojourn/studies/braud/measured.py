"""What the sweeps of Braud et al. measured: goodput, response times by size, the delay of a thin stream."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import padding as equations
from sojourn.data.rows import POINT, SEED
from sojourn.study import Number, measure
from sojourn.study import fit as fits
from sojourn.study.means import by_run

from .flows import BASE_MS, DOWNLOAD, DOWNLOADS, FULL, PAYLOAD, PAYLOAD_MBPS, PING, RTT_MS, UPLOAD

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

GOODPUT, RTT, QUEUE_MS, DELAY = "goodput_mbps", "rtt_ms_mean", "bottleneck_queue_ms_mean", "voip_delay_ms_mean"
KERNEL, SIM = "kernel", "simulated"
Row = tuple[dict[str, Any], str, str, Number]


def _numbers(
    plan: "Plan", dataset: "Dataset"
) -> Iterator[tuple[dict[str, Any], dict[str, dict[str, list[float | None]]]]]:
    """Yield each point's coordinates, and by group and metric what its runs measured in the order of the seeds."""
    metrics = (GOODPUT, RTT, QUEUE_MS, DELAY)
    for _, runs in itertools.groupby(by_run(plan, dataset, metrics), key=lambda run: tuple(run[0].items())):
        of_runs = [(at, groups) for at, _, groups in runs]
        at, first = of_runs[0]
        yield at, {name: {one: [run[name][one] for _, run in of_runs] for one in metrics} for name in first}


RATES_KBPS = {"400 kbit/s": (400.0, 2400.0), "800 kbit/s": (800.0, 5000.0)}
# A download with less than this part of its link starves.
_STARVED = 0.2


@measure("table3", of="table3-runs")
@measure("table3-12-down", of="table3-printed")
@measure("table3-linux", of=("table3-kernel", "table3-sim"))
def ways(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield round-trip times, goodput and parts of the links' rates of upload and download."""
    for at, groups in _numbers(plan, dataset):
        place = at | _world(plan) if plan.name in {"table3-kernel", "table3-sim"} else at
        for group, kbps in zip((UPLOAD, DOWNLOAD), RATES_KBPS[at["line"]], strict=True):
            goodputs = groups[group][GOODPUT]
            parts = [1e3 * mbps / kbps for mbps in goodputs if mbps is not None]
            yield place, group, RTT, Number.of(groups[group][RTT])
            yield place, group, GOODPUT, Number.of(goodputs)
            yield place, group, "part", Number.of(parts)
            if group == DOWNLOAD:
                yield place, group, "starved", Number.of([float(part < _STARVED) for part in parts])
        yield place, "", QUEUE_MS, Number.of(groups[UPLOAD][QUEUE_MS])


@measure("table2-linux", of=("table2-kernel", "table2-sim"))
def one_way(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield round-trip time, goodput and what a round trip has beside the base and the queue."""
    for at, groups in _numbers(plan, dataset):
        own, place = groups[UPLOAD], at | _world(plan)
        base_ms = BASE_MS[at["packets"]]
        for metric in (RTT, GOODPUT):
            yield place, UPLOAD, metric, Number.of(own[metric])
        pairs = zip(own[RTT], own[QUEUE_MS], strict=True)
        yield place, UPLOAD, "beyond_ms", Number.of([rtt - queue - base_ms for rtt, queue in pairs if rtt and queue])


def _world(plan: "Plan") -> dict[str, str]:
    return {"world": KERNEL if plan.world == "linux" else SIM}


# Sizes in packets: most transfers, and those that are long enough to fill a window.
_SIZES = {"1 to 9 packets": (1, 10), "10 to 99 packets": (10, 100)}
# From which on transfers are taken together in figures; the last ones are open.
_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 3000)
_FIRST_TIMEOUT_MS, _ENOUGH = 3000, 5
_NAMES = {"testbed-50": "50 %", "testbed-17": "17 %", "adsl-1": "1/s", "adsl-6": "6/s"}
_Times = dict[tuple[int, int], tuple[Any, Any]]


def _transfers(plan: "Plan", dataset: "Dataset") -> _Times:
    """Return sizes in packets and response times in ms of the transfers of each point and seed."""
    table = dataset.table("transfers")
    points, seeds = np.asarray(table[POINT]), np.asarray(table[SEED])
    sizes, times = np.asarray(table["size_bytes"]) / PAYLOAD, np.asarray(table["completion_ms"])
    return {
        (point, seed): (sizes[own], times[own])
        for point in range(plan.points)
        for seed in plan.all_seeds
        for own in [(points == point) & (seeds == seed)]
    }


def _places(plan: "Plan") -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Yield places and the points that belong to them; `down = "any"` is of all downloads' controls together."""
    setting = {"setting": _NAMES["-".join(plan.name.split("-")[:2])]}
    together: dict[tuple[str, str], list[int]] = {}
    for index in range(plan.points):
        at = plan.point(index).coordinates
        together.setdefault((at["padding"], at["up"]), []).append(index)
        yield setting | at, [index]
    for (stream, up), points in together.items():
        if len(points) > 1:
            yield setting | {"padding": stream, "up": up, "down": "any"}, points


@measure("responses-testbed", of=("testbed-50", "testbed-17"))
@measure("responses-testbed-fit", of=("testbed-50-fit", "testbed-17-fit"))
@measure("responses-adsl", of=("adsl-1", "adsl-6"))
@measure("responses-adsl-fit", of=("adsl-1-fit", "adsl-6-fit"))
@measure("responses-sooner", of=("adsl-1-sooner", "adsl-6-sooner"))
@measure("responses-every", of="testbed-17-every")
@measure("responses-more", of=("testbed-50-more", "testbed-17-more"))
def responses(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield mean response times over runs, the median of all transfers, and the part as slow as a first timeout."""
    transfers = _transfers(plan, dataset)
    for place, points in _places(plan):
        for name, (low, high) in _SIZES.items():
            means: dict[int, list[float]] = {}
            every = []
            for point in points:
                for seed in plan.all_seeds:
                    sizes, times = transfers[point, seed]
                    chosen = times[(sizes >= low) & (sizes < high)]
                    every.append(chosen)
                    if len(chosen):
                        means.setdefault(seed, []).append(float(chosen.mean()))
            at, all_times = place | {"size": name}, np.concatenate(every)
            yield at, DOWNLOADS, "response_ms", Number.of([float(np.mean(own)) for own in means.values()])
            yield at, DOWNLOADS, "median_ms", Number(float(np.median(all_times)), 0.0, 1)
            yield at, DOWNLOADS, "slow", Number(100 * float((all_times >= _FIRST_TIMEOUT_MS).mean()), 0.0, 1)


@measure("sizes-testbed", of=("testbed-50", "testbed-17"))
@measure("sizes-testbed-fit", of=("testbed-50-fit", "testbed-17-fit"))
@measure("sizes-adsl", of=("adsl-1", "adsl-6"))
@measure("sizes-adsl-fit", of=("adsl-1-fit", "adsl-6-fit"))
def by_size(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield mean size and mean response time for each class of sizes with enough transfers, over all runs."""
    transfers = _transfers(plan, dataset)
    for place, points in _places(plan):
        if place["down"] == "any":
            continue
        both = zip(*(transfers[point, seed] for point in points for seed in plan.all_seeds), strict=True)
        sizes, times = map(np.concatenate, both)
        for low, high in zip(_EDGES, (*_EDGES[1:], math.inf), strict=True):
            chosen = (sizes >= low) & (sizes < high)
            if chosen.sum() >= _ENOUGH:
                at = place | {"from": low}
                yield at, DOWNLOADS, "size", Number(float(np.exp(np.log(sizes[chosen]).mean())), 0.0, int(chosen.sum()))
                yield at, DOWNLOADS, "response_ms", Number(float(times[chosen].mean()), 0.0, int(chosen.sum()))


@measure("loads-testbed", of=("testbed-50-alone", "testbed-17-alone"))
@measure("loads-adsl", of=("adsl-1-alone", "adsl-6-alone"))
def loads(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield what the downloads of the chosen draws carry alone, as a part of what the line carries."""
    payload = PAYLOAD_MBPS[plan.name.partition("-")[0]]
    for _, groups in _numbers(plan, dataset):
        parts = [mbps / payload for mbps in groups[DOWNLOADS][GOODPUT] if mbps is not None]
        yield {"setting": _NAMES[plan.name.removesuffix("-alone")]}, DOWNLOADS, "part", Number.of(parts)


@measure("today", of="today-runs")
@measure("remedies", of="remedies-runs")
def thin_stream(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield what a packet of the thin stream waits on the way up, and what goodput is lost.

    Lost is the part of what the links could carry that no flow got: of the uplink alone, or the mean of both ways.
    """
    for at, groups in _numbers(plan, dataset):
        delays = groups[PING][DELAY]
        yield at, "", "delay_ms", Number.of([None if one is None else one - RTT_MS / 2 for one in delays])
        flows = [flow for flow in (UPLOAD, DOWNLOAD) if flow in groups]
        parts = [
            [1e3 * (mbps or 0.0) / (PAYLOAD / FULL * kbps) for mbps in groups[flow][GOODPUT]]
            for flow, kbps in zip(flows, RATES_KBPS["800 kbit/s"], strict=False)
        ]
        lost = Number.of([100 * (1 - sum(run) / len(run)) for run in zip(*parts, strict=True)])
        yield at, "", "lost", lost
        for flow in flows:
            yield at, flow, GOODPUT, Number.of(groups[flow][GOODPUT])


@measure("equations")
def papers_equations() -> Iterator[Row]:
    """Yield what equation 7 says of padding for a tenth of the delay."""
    yield {"factor": 10.0}, "", "overhead", Number(100 * equations.overhead(10.0), 0.0, 1)


def _fit(plan: "Plan", dataset: "Dataset") -> fits.Fit:
    return fits.of_dataset(plan, dataset, fits.numbers_for(plan, Path(__file__).with_name("printed.csv")))


@measure("fit", of="printed-runs")
def printed_numbers(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield each number of Tables II and III, as printed, with FreeBSD's defaults and by the best fit."""
    yield from fits.number_rows(_fit(plan, dataset), {"acks": "delayed", "base_ms": 94, "packets": 120})


@measure("fit-weights", of="printed-runs")
def weights(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield the weight of each value of what is not printed."""
    yield from fits.weight_rows(_fit(plan, dataset))
