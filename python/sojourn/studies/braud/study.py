"""What tables will not do of Braud et al.: flows, response times by size, the paper's equations, figures."""

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import padding as equations
from sojourn.data.rows import POINT, SEED
from sojourn.study import Means, Number, Outcome, changes, claim, figure, measure
from sojourn.study.means import by_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

UPLOAD, DOWNLOAD, DOWNLOADS, PING = "upload", "download", "downloads", "ping"
GOODPUT, RTT, QUEUE_MS, UTILIZATION = (
    "goodput_mbps",
    "rtt_ms_mean",
    "bottleneck_queue_ms_mean",
    "bottleneck_utilization",
)
DELAY = "voip_delay_ms_mean"
KERNEL, SIM = "kernel", "simulated"
RTT_MS, FULL, PAYLOAD = 94.0, 1500, 1448
FREEBSD: dict[str, Any] = {"preset": "rfc", "initial_window": 3, "initial_rto": "3 s", "min_rto": "230 ms"}
# Vegas aims at one to three segments and doubles in every other round trip. CUBIC leaves 0.8 of the window and has no
# HyStart.
CONTROLS: dict[str, dict[str, Any]] = {
    "Vegas": {"kind": "vegas", "alpha": 1, "beta": 3, "slow_start": "every-other"},
    "NewReno": {"kind": "newreno", "halve": "window", "slow_start_limit": 2},
    "CUBIC": {"kind": "cubic", "beta": 0.8, "hystart": "off", "slow_start_limit": 2},
}
# Who delays acknowledgements, upload and download.
_DELAYED = {
    "delayed": (True, True),
    "every segment": (False, False),
    "the upload's alone delayed": (True, False),
    "the download's alone delayed": (False, True),
}
_PADDING: dict[str, dict[str, Any] | None] = {
    "no UDP": None,
    "125 packets/s": {"kind": "padding", "rate": "125 packets/s"},
    "250 packets/s": {"kind": "padding", "rate": "250 packets/s"},
    "bursts": {"kind": "padding", "rate": "250 packets/s", "burst": 100, "every": "1 s"},
    "adaptive padding": {
        "kind": "adaptive-padding",
        "target": "100 ms",
        "most": "500 packets/s",
        "reach": "bottleneck",
    },
}
_WAYS = {
    "large buffer": "no UDP",
    "with UDP": "250 packets/s",
    "with UDP bursts": "bursts",
    "right-sized buffer": "no UDP",
}
_BUFFERS = {"400 kbit/s": (60, 10), "800 kbit/s": (120, 20)}
"""Large and right-sized, in packets."""
_TODAY: dict[str, Any] = {"control": {"kind": "cubic", "preset": "linux"}, "transport": "linux"}
_UPLOADS: dict[str, dict[str, Any]] = {
    "NewReno of the paper": {},
    "CUBIC of the paper": {"control": CONTROLS["CUBIC"]},
    "CUBIC of today": _TODAY,
    **{
        name: {"control": kind, "transport": "linux"}
        for name, kind in (
            ("BBR", "bbr"),
            ("BBRv3", "bbr3"),
            ("LEDBAT", "ledbat"),
            ("LEDBAT++", "ledbatpp"),
            ("Vegas", "vegas"),
        )
    },
}
# A packet of 64 bytes now and then, which tells what one of somebody else waits on the way.
_PING = {
    "name": PING,
    "rtt": "94 ms",
    "traffic": {"kind": "voip", "frame": "120 ms", "payload": "24 B", "talk": "150 ms", "pause": "700 ms"},
}
Row = tuple[dict[str, Any], str, str, Number]


# Flows.


def host(name: str, **own: Any) -> dict[str, Any]:
    """Return a flow between two of the paper's hosts, which starts within a second."""
    flow = {"name": name, "control": CONTROLS["NewReno"], "transport": FREEBSD, "rtt": "94 ms"}
    return flow | {"start": {"uniform": ["0 s", "1 s"]}} | own


def padding(name: str) -> list[dict[str, Any]]:
    """Return the stream of small packets of a name; none where there is none."""
    traffic = _PADDING[name]
    return [] if traffic is None else [{"name": "padding", "rtt": "94 ms", "traffic": traffic}]


def acknowledging(*, delayed: bool) -> dict[str, Any]:
    """Return FreeBSD's transport."""
    return FREEBSD if delayed else FREEBSD | {"ack_every": 1}


@changes("model")
def asked_for(factor: float) -> dict[str, Any]:
    """Return padding at the rate that the equations give for a factor."""
    rate = equations.padding_rate(equations.upload_rate(800e3, FULL), factor)
    stream = {"name": "padding", "rtt": "94 ms", "traffic": {"kind": "padding", "rate": f"{rate:g} packets/s"}}
    return {"group": [host(UPLOAD), *([stream] if rate else [])]}


@changes("table1")
def adsl_flows(flows: str, rtt_ms: int, acks: str) -> dict[str, Any]:
    """Return an upload, a download, padding."""
    like = {"rtt": f"{rtt_ms} ms", "transport": acknowledging(delayed=acks == "delayed")}
    groups = [host(UPLOAD, **like)] if UPLOAD in flows else []
    groups += [host(DOWNLOAD, direction="reverse", **like)] if DOWNLOAD in flows else []
    return {"group": groups + (padding("125 packets/s") if "UDP" in flows else [])}


@changes("table2")
def one_upload(rtt_ms: int, acks: str, padding: str) -> dict[str, Any]:
    """Return an upload with and without padding."""
    flow = host(UPLOAD, rtt=f"{rtt_ms} ms", transport=acknowledging(delayed=acks == "delayed"))
    return {"group": [flow, *_streams(padding)]}


_streams = padding


@changes("table3-runs", "table3-printed")
def both_directions(line: str, way: str, acks: str) -> dict[str, Any]:
    """Return a download and an upload in a way, on a line."""
    up, down = ({"transport": acknowledging(delayed=one)} for one in _DELAYED[acks])
    return _beside(line, way, up, down)


@changes("table3-kernel", "table3-sim")
def both_directions_of_linux(line: str, way: str, control: str) -> dict[str, Any]:
    """Return the same with a control of Linux."""
    return _beside(line, way, linux(control), linux(control))


def _beside(line: str, way: str, up: Mapping[str, Any], down: Mapping[str, Any]) -> dict[str, Any]:
    groups = [host(UPLOAD, start={"uniform": ["20 s", "40 s"]}, **up), host(DOWNLOAD, direction="reverse", **down)]
    packets = _BUFFERS[line][way == "right-sized buffer"]
    return {"bottleneck.queue.limit": f"{packets} packets", "group": groups + padding(_WAYS[way])}


def linux(control: str) -> dict[str, Any]:
    """Return what a flow has of Linux."""
    return {"control": {"kind": control.lower(), "preset": "linux"}, "transport": "linux"}


# Table II's large buffer is on the long path, and its small one on the short path as well: that pair is measured here.
_BASE_MS = {120: 94, 20: 52}


@changes("table2-kernel", "table2-sim")
def one_upload_of_linux(packets: int, control: str, padding: str) -> dict[str, Any]:
    """Return an upload by a control of Linux; the base round-trip time goes with the buffer."""
    flow = host(UPLOAD, rtt=f"{_BASE_MS[packets]} ms", **linux(control))
    return {"group": [flow, *_streams(padding)]}


@changes("today-runs")
def uploads(load: str, flow: str, padding: str) -> dict[str, Any]:
    """Return an upload of today, a thin stream, and padding."""
    return _of_today(load, _UPLOADS[flow], padding)


@changes("remedies-runs")
def remedies(load: str, remedy: str) -> dict[str, Any]:
    """Return the same where the remedy is another upload or padding."""
    return _of_today(load, _UPLOADS.get(remedy, _TODAY), remedy if remedy in _PADDING else "no UDP")


def _of_today(load: str, upload: Mapping[str, Any], stream: str) -> dict[str, Any]:
    download = [host(DOWNLOAD, **_TODAY, direction="reverse")] if load == "upload and download" else []
    return {"group": [host(UPLOAD, **upload), _PING, *download, *padding(stream)]}


# Downloads of random sizes, each over a connection of its own.

_LINES: dict[str, dict[str, Any]] = {
    # Section IV.D tells the testbed's buffer, 60 packets, and its asymmetry, 6: the slower line of Table III.
    "testbed": {
        "bottleneck": {"rate": "400 kbit/s", "queue": {"kind": "droptail", "limit": "60 packets"}},
        "reverse": {"rate": "2400 kbit/s", "queue": {"kind": "droptail", "limit": "60 packets"}},
    },
    "adsl": {
        "bottleneck": {
            "rate": "352 kbit/s",
            "framing": "pppoa-vcmux",
            "queue": {"kind": "droptail", "limit": "30 packets"},
        },
        "reverse": {
            "rate": "5440 kbit/s",
            "framing": "pppoa-vcmux",
            "queue": {"kind": "droptail", "limit": "60 packets"},
        },
    },
}
# What the lines carry of payload; a full packet is 32 cells of 53 bytes.
_PAYLOAD_MBPS = {"testbed": 2.4 * PAYLOAD / FULL, "adsl": 5.44 * PAYLOAD / 1696}
_EXPONENT, _HALF, _MAX_SUMMED = 1.7, 0.5, 20_000_000


@functools.cache
def largest(payload_mbps: float) -> int:
    """Return the largest number of packets for which one download a second of Zipf's mean makes half of a load.

    >>> largest(0.34 * 2.4 * 1448 / 1500)
    28837
    """
    wanted = _HALF * payload_mbps * 1e6 / (8 * PAYLOAD)
    count = 1024
    while True:
        numbers = np.arange(1, count + 1, dtype=float)
        weights = numbers**-_EXPONENT
        means = np.cumsum(numbers * weights) / np.cumsum(weights)
        if means[-1] >= wanted or count > _MAX_SUMMED:
            return int(np.searchsorted(means, wanted)) + 1
        count *= 4


def downloads(line: str, per_s: float, **own: Any) -> dict[str, Any]:
    """Return transfers that arrive as a Poisson process."""
    size = {"kind": "zipf", "unit": "1 packet", "most": largest(_PAYLOAD_MBPS[line]), "exponent": _EXPONENT}
    traffic = {"kind": "transfers", "interval": f"{1e3 / per_s:g} ms", "size": size, "connections": 300}
    flow = {"name": DOWNLOADS, "control": CONTROLS["NewReno"], "transport": FREEBSD, "rtt": "94 ms"}
    return flow | {"direction": "reverse", "traffic": traffic} | own


_TIMES = {"duration": "1000 s", "warmup": "20 s"}


def _load(sweep: str) -> tuple[str, float]:
    """Return a sweep's line and how many downloads begin in a second."""
    line, load = sweep.split("-")[:2]
    return line, 6.0 if load == "6" else 1.0


@changes("testbed-50", "testbed-17", "adsl-1", "adsl-6")
def beside_upload(sweep: str, padding: str, up: str, down: str) -> dict[str, Any]:
    """Return downloads beside an upload."""
    line, per_s = _load(sweep)
    groups = [downloads(line, per_s, control=CONTROLS[down]), host(UPLOAD, control=CONTROLS[up]), *_streams(padding)]
    return {**_TIMES, **_LINES[line], "group": groups}


@changes("testbed-50-alone", "testbed-17-alone", "adsl-1-alone", "adsl-6-alone")
def alone(sweep: str) -> dict[str, Any]:
    """Return downloads alone on their line."""
    line, per_s = _load(sweep)
    return {**_TIMES, **_LINES[line], "group": [downloads(line, per_s)]}


@changes("adsl-1-sooner", "adsl-6-sooner")
def with_first_timeout_of_today(sweep: str, padding: str, up: str) -> dict[str, Any]:
    """Return downloads whose first timeout comes after 1 s."""
    line, per_s = _load(sweep)
    first = downloads(line, per_s, transport=FREEBSD | {"initial_rto": "1 s"})
    return {**_TIMES, **_LINES[line], "group": [first, host(UPLOAD, control=CONTROLS[up]), *_streams(padding)]}


# Means of what sweeps measured.


def _numbers(
    plan: "Plan", dataset: "Dataset"
) -> Iterator[tuple[dict[str, Any], dict[str, dict[str, list[float | None]]]]]:
    """Yield each point's coordinates, and by group and metric what its runs measured in the order of the seeds."""
    metrics = (GOODPUT, RTT, QUEUE_MS, DELAY)
    for _, runs in itertools.groupby(by_run(plan, dataset, metrics), key=lambda run: tuple(run[0].items())):
        of_runs = [(at, groups) for at, _, groups in runs]
        at, first = of_runs[0]
        yield at, {name: {one: [run[name][one] for _, run in of_runs] for one in metrics} for name in first}


_RATES_KBPS = {"400 kbit/s": (400.0, 2400.0), "800 kbit/s": (800.0, 5000.0)}
# A download with less than this part of its link starves.
_STARVED = 0.2


@measure("table3", of="table3-runs")
@measure("table3-12-down", of="table3-printed")
@measure("table3-linux", of=("table3-kernel", "table3-sim"))
def ways(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield round-trip times, goodput and parts of the links' rates of upload and download."""
    for at, groups in _numbers(plan, dataset):
        place = at | _world(plan) if plan.name in {"table3-kernel", "table3-sim"} else at
        for group, kbps in zip((UPLOAD, DOWNLOAD), _RATES_KBPS[at["line"]], strict=True):
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
        base_ms = _BASE_MS[at["packets"]]
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
    setting = {"setting": _NAMES[plan.name.removesuffix("-sooner")]}
    together: dict[tuple[str, str], list[int]] = {}
    for index in range(plan.points):
        at = plan.point(index).coordinates
        together.setdefault((at["padding"], at["up"]), []).append(index)
        yield setting | at, [index]
    for (stream, up), points in together.items():
        if len(points) > 1:
            yield setting | {"padding": stream, "up": up, "down": "any"}, points


@measure("responses-testbed", of=("testbed-50", "testbed-17"))
@measure("responses-adsl", of=("adsl-1", "adsl-6"))
@measure("responses-sooner", of=("adsl-1-sooner", "adsl-6-sooner"))
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
@measure("sizes-adsl", of=("adsl-1", "adsl-6"))
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
    payload = _PAYLOAD_MBPS[plan.name.partition("-")[0]]
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
            for flow, kbps in zip(flows, _RATES_KBPS["800 kbit/s"], strict=False)
        ]
        lost = Number.of([100 * (1 - sum(run) / len(run)) for run in zip(*parts, strict=True)])
        yield at, "", "lost", lost
        for flow in flows:
            yield at, flow, GOODPUT, Number.of(groups[flow][GOODPUT])


@measure("equations")
def papers_equations() -> Iterator[Row]:
    """Yield what equation 7 says of padding for a tenth of the delay."""
    yield {"factor": 10.0}, "", "overhead", Number(100 * equations.overhead(10.0), 0.0, 1)


# Equations 5 and 7 beside packets.

# Said before the runs: delay within a quarter of equation 5 wherever the link stays busy, which the paper assumes.
_WITHIN, _POINT, _BUSY = 0.25, 1.0, 99.0


def _cases(means: Means) -> Iterator[tuple[float, float, float, float]]:
    """Yield packets of buffer, factor, what the delay is divided by and goodput lost in percent, of busy links."""
    for cell in means.cells("model", QUEUE_MS):
        packets, factor = cell.at["packets"], cell.at["factor"]
        used = means.number("model", UTILIZATION, packets=packets, factor=factor).mean
        if factor > 1 and used >= _BUSY:
            before = means.number("model", QUEUE_MS, packets=packets, factor=1.0).mean
            goodput, whole = (
                means.number("model", GOODPUT, UPLOAD, packets=packets, factor=one) for one in (factor, 1.0)
            )
            yield packets, factor, before / cell.number.mean, 100 * (1 - goodput.mean / whole.mean)


def _sawtooth(packets: float, factor: float) -> float:
    """Return the mean queue of NewReno's large packets where padding takes the other places of the buffer."""
    path = RTT_MS / 1e3 * equations.upload_rate(800e3, FULL)
    return (3 * packets / factor - path) / 4


@claim(
    "model",
    "while the link is busy the delay is divided by alpha",
    paper="equation 5",
    tolerance="25 %",
)
def equation_5(means: Means) -> Outcome:
    """Compare the quotient of delays with the factor asked for, and with that of NewReno's sawtooth."""
    cases = [
        (measured, factor, _sawtooth(packets, 1.0) / _sawtooth(packets, factor))
        for packets, factor, measured, _ in _cases(means)
    ]
    off = max(abs(measured / factor - 1) for measured, factor, _ in cases)
    cut = max(abs(measured / saw - 1) for measured, _, saw in cases)
    return Outcome(
        off <= _WITHIN,
        f"off by {off:.0%} at most, in {len(cases)} cases",
        margin=_WITHIN - off,
        why="Equation 5 is about a full buffer. The mean of NewReno's sawtooth in a buffer of B packets is "
        "(3 B - P)/4, where the path holds P; with that in place of B, as tested here, what is measured is off by "
        f"{cut:.0%} at most.",
    )


@claim("model", "the cost is that of equation 7 while the link is busy", paper="equation 7", tolerance="1 point")
def equation_7(means: Means) -> Outcome:
    """Compare the goodput lost with the equation's overhead, and with the padding's part of the link."""
    cases = [
        (lost, 100 * equations.overhead(factor), 100 * (factor - 1) * 29 / FULL) for _, factor, _, lost in _cases(means)
    ]
    off = max(abs(lost - said) for lost, said, _ in cases)
    whole = max(abs(lost - part) for lost, _, part in cases)
    return Outcome(
        off <= _POINT,
        f"off by {off:.1f} % of the link at most",
        margin=_POINT - off,
        why="Equation 7 compares padding to padding and a whole link's worth of upload. But they share the link: "
        f"padding takes (alpha - 1) S_U/S_T of it; from that it is {whole:.1f} % at most, where the link idles.",
    )


# Bursts of padding beside a steady stream.

_AS_WELL = 50.0
_ACKS = ("delayed", "every segment")


@claim(
    "table3",
    "{line}, acknowledged: {acks}: bursts do about as well as UDP with fewer packets",
    paper="about as well",
    tolerance="at least 50 % of both gains",
)
def bursts(means: Means) -> Iterator[Outcome]:
    """Compare what bursts gain with what a steady stream gains: the download's part, and the round-trip time."""
    for line in _RATES_KBPS:
        for acks in _ACKS:
            gains = []
            for metric, group in (("part", DOWNLOAD), (RTT, UPLOAD)):
                large, padded, burst = (
                    means.number("table3", metric, group, line=line, acks=acks, way=way).mean
                    for way in ("large buffer", "with UDP", "with UDP bursts")
                )
                gains.append(100 * (burst - large) / (padded - large))
            starved = means.number("table3", "starved", DOWNLOAD, line=line, acks=acks, way="with UDP bursts")
            yield Outcome(
                min(gains) >= _AS_WELL,
                f"{gains[0]:.0f} % of the download's gain, {gains[1]:.0f} % of the delay's",
                margin=min(gains) - _AS_WELL,
                why=f"Runs are of two kinds: in {starved.mean:.0f} % of them the download has less than 20 % of its "
                "link with bursts. What decides which it becomes is open.",
                at={"line": line, "acks": acks},
            )


# Figures.


@figure(
    "model", "model", "Equation 5 holds for small factors. Padding for much less delay costs more than equation 7 says."
)
def equations_beside_packets(means: Means) -> "Figure":
    """Draw delay and cost over the factor asked for, by buffer."""
    from sojourn.figures.style import family
    from sojourn.study.panels import panels

    def draw(index: int, axes: "Axes") -> None:
        for position, packets in enumerate((60, 120, 240)):
            metric = (QUEUE_MS, GOODPUT)[index]
            cells = means.cells("model", metric, UPLOAD, packets=packets)
            first = cells[0].number
            x = [cell.at["factor"] for cell in cells]
            if index == 0:
                values = [(first.mean / one.number.mean, _spread(first, one.number)) for one in cells]
            else:
                values = [
                    (100 * (1 - one.number.mean / first.mean), 100 * one.number.half / first.mean) for one in cells
                ]
            middle, error = zip(*values, strict=True)
            axes.errorbar(
                x,
                middle,
                yerr=error,
                marker="o",
                markersize=3,
                elinewidth=0.6,
                color=family(position),
                label=f"{packets} packets",
            )
        formula = [one if index == 0 else 100 * equations.overhead(one) for one in x]
        axes.plot(x, formula, color="#555555", linestyle=":", label="equation")
        axes.set_xlabel("factor alpha asked for")
        axes.set_ylabel(("queueing delay divided by", "goodput lost [%]")[index])

    return panels(("equation 5: delay", "equation 7: cost"), draw)


def _spread(first: Number, other: Number) -> float:
    """Return half of the interval of a quotient whose parts vary independently."""
    return first.mean / other.mean * math.hypot(first.half / first.mean, other.half / other.mean)


@figure(
    "remedies",
    "remedies",
    "FQ-CoDel and CAKE at the modem give the least delay for little goodput. Each remedy beside a CUBIC upload of "
    "today: delay of a thin stream on the way up against the goodput that is lost; bars are 95 % intervals",
)
def every_remedy(means: Means) -> "Figure":
    """Draw each remedy's delay against its cost."""
    from sojourn.figures.style import family
    from sojourn.figures.tidy import name_points
    from sojourn.study.panels import GREY, panels

    loads_ = ("upload alone", "upload and download")

    def draw(index: int, axes: "Axes") -> None:
        for position, (level, names) in enumerate(_LEVELS.items()):
            lost, delay = (
                [means.number("remedies", metric, load=loads_[index], remedy=name) for name in names]
                for metric in ("lost", "delay_ms")
            )
            axes.errorbar(
                [one.mean for one in lost],
                [one.mean for one in delay],
                xerr=[one.half for one in lost],
                yerr=[one.half for one in delay],
                fmt="osD^v"[position],
                markersize=5,
                elinewidth=0.6,
                label=level,
                color=family(position),
            )
            name_points(axes, ((x.mean, y.mean, name) for name, x, y in zip(names, lost, delay, strict=True)))
        axes.set_yscale("log")
        axes.margins(x=0.22, y=0.08)
        axes.axvline(0, color=GREY, linewidth=0.6, zorder=0)
        axes.set_xlabel(("goodput lost, of the uplink [%]", "goodput lost, mean of both ways [%]")[index])
        axes.set_ylabel("mean delay of a thin stream, less the path's [ms]")

    return panels(loads_, draw, height_in=5.0)


_LEVELS = {
    "nothing": ("nothing",),
    "L3: padding": ("125 packets/s", "250 packets/s", "bursts", "adaptive padding"),
    "L3: another control": ("Vegas", "BBR", "BBRv3", "LEDBAT", "LEDBAT++"),
    "L2: one hop before": ("shaper, FQ-CoDel", "shaper, CAKE"),
    "L1: at the modem": ("FQ-CoDel", "CAKE", "20 packets", "5000 B"),
}
