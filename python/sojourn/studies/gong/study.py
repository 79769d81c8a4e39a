"""What tables will not do of Gong et al.: settings that depend on several axes, and coefficients of variation."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.study import Means, Outcome, changes, claim, measure
from sojourn.study import fit as fits
from sojourn.study.numbers import Number
from sojourn.study.relations import closeness
from sojourn.study.select import Selection

from .figures import CONTROLS

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

# Of a packet in ns-2.35's queue/red.cc, initialize_params: what RED computes of the link where nothing is given.
_MEAN_PACKET_BYTES = 500
_TARGET_DELAY_S = 0.005
_SMALLEST_MIN_PACKETS = 5
_SWEEPS = (
    *("motivating", "disciplines", "buffers", "tiny", "capacity", "duty", "short-cycles", "rtts"),
    *("flows", "fq-codel", "targets", "targets-tcp"),
    *("best-effort", "many", "arrivals"),
)
# They have buffers of their own in ns-2 (25,000 bytes; 40 packets), whatever the link's limit says.
_OWN_BUFFER = ("DRR", "SFQ")
_ALWAYS_PERCENT = 100
_PARTS = ("1/3", "2/3", "1", "4/3", "5/3")


def choke(rate_mbps: float) -> dict[str, Any]:
    """Return CHOKe with the thresholds, weight and probability that ns-2's RED computes for a link.

    CHOKe was a patch of ns-2 that is lost.
    """
    packets_per_s = rate_mbps * 1e6 / (8 * _MEAN_PACKET_BYTES)
    low = _MEAN_PACKET_BYTES * max(_SMALLEST_MIN_PACKETS, _TARGET_DELAY_S * packets_per_s / 2)
    # ns-2 takes 1 - exp(-1/(10 rtt packets_per_s)) with at least 0.1 s for rtt.
    weight = 1 - math.exp(-1 / packets_per_s)
    thresholds = {"min": f"{low:.0f} B", "max": f"{3 * low:.0f} B", "weight": weight}
    return thresholds | {"max_p": 0.1, "gentle": True, "mean_packet": "auto"}


def on_off(percent: int, cycle_s: float) -> dict[str, Any]:
    """Return traffic that is on for a part of the time; always on is bulk."""
    if percent == _ALWAYS_PERCENT:
        return {"kind": "bulk"}
    on_s = cycle_s * percent / _ALWAYS_PERCENT
    return {"kind": "on-off", "on": f"{1000 * on_s:.0f} ms", "off": f"{1000 * (cycle_s - on_s):.0f} ms"}


@changes(*_SWEEPS)
def settings(
    queue: str,
    *,
    rate_mbps: float = 4.0,
    packets: int = 400,
    rtt_ms: float = 50.0,
    rtts: str = "1",
    duty_percent: int = 100,
    cycle_s: float = 10.0,
) -> dict[str, Any]:
    """Return a discipline's limit and thresholds, on and off times, and unequal round-trip times."""
    found: dict[str, Any] = {}
    if queue not in _OWN_BUFFER:
        found["bottleneck.queue.limit"] = f"{packets} packets"
    if queue == "CHOKe":
        found |= {f"bottleneck.queue.{key}": value for key, value in choke(rate_mbps).items()}
    if duty_percent != _ALWAYS_PERCENT:
        found |= _both("traffic", on_off(duty_percent, cycle_s))
    if rtts != "1":
        parts = _PARTS if rtts == "mixed" else (rtts,)
        listed = [f"{float(Fraction(part)) * rtt_ms:.3f} ms" for part in parts]
        found |= _both("rtt", listed if rtts == "mixed" else listed[0])
    return found


@changes("controls")
def controls(queue: str, control: str, sweep: str) -> dict[str, Any]:
    """Return the same for the low-priority controls; among the settings found is which NICE it was."""
    found = settings(queue)
    if control == "NICE" and sweep.endswith("-fit"):
        found["group.background.control"] = {"kind": "nice", "preset": "linux"}
    return found


@changes("own-buckets")
def own_buckets(queue: str, rtt_ms: float, rtts: str) -> dict[str, Any]:
    """Return the same where no two flows share a bucket of a hash."""
    perfect = {"bottleneck.queue.perfect": True} if queue in _OWN_BUFFER else {}
    return settings(queue, rtt_ms=rtt_ms, rtts=rtts) | perfect


@changes("choke")
def settings_of_choke(setting: str, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a setting leaves of CHOKe with RED's thresholds."""
    usual = {} if setting == "Linux" else settings("CHOKe")
    return usual | {key: value for key, value in made.items() if key in usual}


_OTHERS = ("NICE", "TCP-LP")


@changes("unprinted")
def unprinted(queue: str, cycle_s: float | str, case: str, nice: str, ledbat: str) -> dict[str, Any] | None:
    """Return what the cases of the fit are; a setting is varied in the cases that it matters to."""
    cycles = case.endswith("%")
    varied = ((cycle_s, cycles), (nice, case == "NICE"), (ledbat, case not in _OTHERS))
    if any((value == fits.ANY) is matters for value, matters in varied):
        return None
    if (case == "fig2" and queue not in {"DropTail", "RED"}) or (case == "short" and queue != "DropTail"):
        return None
    packets = {"fig2": 500, "short": 10}.get(case, 400)
    rate_mbps = 10.0 if case == "fig2" else 4.0
    found = settings(queue, rate_mbps=rate_mbps, packets=packets, rtts="mixed" if case == "mixed" else "1")
    if cycles:
        found |= _both("traffic", on_off(int(case.removesuffix(" %")), float(cycle_s)))
    return found


@changes("today")
def told(rate_mbps: float, default: str) -> dict[str, Any]:
    """Tell CAKE its rate where low-priority flows say what they are."""
    return {"bottleneck.queue.bandwidth": f"{0.95 * rate_mbps:g} Mbit/s"} if default == "CAKE, told" else {}


def _both(key: str, value: Any) -> dict[str, Any]:
    return {f"group.tcp.{key}": value, f"group.background.{key}": value}


# Table 2: coefficients of variation.

_METRICS = ("bottleneck_utilization", "bottleneck_queue_packets_mean", "share")
_WHAT = ("utilization", "queue", "TCP's share")
_TAIL = ["DropTail"]
_AQMS = ["RED", "CHOKe", "DRR", "SFQ", "CoDel"]
# A hundredth is no variation that ten runs could tell, half or twice is the same story, and the paper prints in bold.
_SMALL, _TOLERANCE, _BOLD = 0.01, "factor 2", 0.5
_ON_CYCLES = "It depends on how long flows are on, which the paper does not print: see the checks on cycles."
_ON_CONTROLS = (
    "It depends on the implementation of NICE, which is not published, and on what is left where all three yield "
    "almost everything: see Fig. 5."
)
_ON_CAPACITY = (
    "The paper does not say over what its row is taken. Here it is all capacities and buffers, in packets. Under "
    "DropTail a queue that fills buffers of 100 to 400 packets varies by 0.52 and no more, so that the paper's 1.136 "
    "cannot be that. Shares vary because DropTail with 100 packets at 10 Mbit/s keeps no priority: see Table 1. Other "
    "readings stand below; none gives all six numbers."
)


@dataclass(frozen=True)
class Row:
    """A row of the table: what is varied, under which disciplines, and what the paper prints."""

    factor: str
    queues: list[str]
    sweep: str
    over: tuple[str, ...]
    paper: tuple[float, float, float]
    where: Mapping[str, Any]
    why: str = "Open."

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return (
            self.factor
            if self.over == ("queue",)
            else f"{self.factor}, {'AQM' if self.queues == _AQMS else 'DropTail'}"
        )

    def variation(self, means: Means, metric: str, **where: Any) -> float:
        """Return the mean over disciplines of the coefficient of variation over what is varied."""
        steps = [["variation", *self.over]]
        if self.over != ("queue",):
            steps.append(["mean", "queue"])
        chosen = Selection(self.sweep, metric, "tcp", {"queue": self.queues, **self.where, **where}, steps)
        (cell,) = chosen.cells(means)
        return cell.number.mean


def _pair(factor: str, sweep: str, over: tuple[str, ...], where: Mapping[str, Any], why: str, *paper: Any) -> list[Row]:
    return [
        Row(factor, queues, sweep, over, one, where, why) for queues, one in zip((_TAIL, _AQMS), paper, strict=True)
    ]


_ROWS = [
    Row("AQM", _AQMS, "capacity", ("queue",), (0.0073, 0.6916, 0.080), {"rate_mbps": 4, "packets": 400}),
    *_pair(
        "LPCC",
        "controls",
        ("control",),
        {"control": list(CONTROLS)},
        _ON_CONTROLS,
        (0.0, 0.038, 0.072),
        (0.0047, 0.034, 0.048),
    ),
    *_pair(
        "capacity",
        "capacity",
        ("rate_mbps", "packets"),
        {},
        _ON_CAPACITY,
        (0.0003, 1.136, 0.035),
        (0.0042, 0.604, 0.050),
    ),
    *_pair("duty cycle", "duty", ("duty_percent",), {}, _ON_CYCLES, (0.259, 1.309, 0.120), (0.313, 1.067, 0.057)),
    *_pair(
        "RTT heterogeneity",
        "rtts",
        ("rtts",),
        {"rtts": ["1", "mixed"]},
        "Open.",
        (0.0003, 0.022, 0.001),
        (0.0248, 0.052, 0.048),
    ),
]


def _cells(means: Means) -> Iterator[tuple[Row, str, int, float]]:
    """Yield every cell of the table: row, reading of the round-trip time, column and coefficient."""
    for row in _ROWS:
        readings = [{}] if row.factor == "LPCC" else [{"rtt_ms": 6}, {"rtt_ms": 50}]
        for where in readings:
            reading = f"RTT {where.get('rtt_ms', 50)} ms"
            for column, metric in enumerate(_METRICS):
                yield row, reading, column, row.variation(means, metric, **where)


@claim("table2", "{reading}: {row}, {what}", tolerance="factor 2, or both at most 0.01")
def coefficients(means: Means) -> Iterator[Outcome]:
    """Compare each cell of the table."""
    for row, reading, column, value in _cells(means):
        paper = row.paper[column]
        number = Number(value, 0.0, 1)
        margin = max(_SMALL - max(paper, value), closeness(number, paper, _TOLERANCE))
        at = {"reading": reading, "row": row.name, "what": _WHAT[column]}
        yield Outcome(margin >= 0, f"{value:.4f}", margin=margin, why=row.why, paper=f"{paper:g}", at=at)


@claim("table2", "no factor varies TCP's share by more than 0.25 of its mean", paper="at most 0.12", tolerance="0.25")
def shares_vary_little(means: Means) -> Outcome:
    """Find the largest coefficient of the share."""
    most = max(value for _, _, column, value in _cells(means) if _WHAT[column] == "TCP's share")
    return Outcome(most < _BOLD / 2, f"at most {most:.3f}", margin=_BOLD / 2 - most)


@claim(
    "table2", "only the queue varies by more than half of its mean", paper="4 cells, all of the queue", tolerance="0.5"
)
def only_the_queue_varies(means: Means) -> Outcome:
    """Find the cells that the paper would print in bold."""
    big = [
        (f"{reading}: {row.name}, {_WHAT[column]}", column)
        for row, reading, column, value in _cells(means)
        if value > _BOLD
    ]
    most = max(value for _, _, column, value in _cells(means) if _WHAT[column] != "queue")
    return Outcome(most <= _BOLD, "; ".join(name for name, _ in big), margin=_BOLD - most)


@claim("table2", "{reading}: capacity, {row}, taken over {over}")
def other_readings_of_capacity(means: Means) -> Iterator[Outcome]:
    """Show the row on capacity over one buffer instead of all, and with the queue in time."""
    for row in _ROWS:
        if row.factor != "capacity":
            continue
        for rtt_ms in (6, 50):
            for over, where in (("all buffers", {}), ("400 packets", {"packets": 400})):
                metrics = {"queue": _METRICS[1], "queue in ms": "bottleneck_queue_ms_mean", "TCP's share": "share"}
                said = {what: row.variation(means, metric, rtt_ms=rtt_ms, **where) for what, metric in metrics.items()}
                at = {"reading": f"RTT {rtt_ms} ms", "row": row.name.split(", ")[1], "over": over}
                yield Outcome(None, _said(said), paper=_said(dict(zip(_WHAT, row.paper, strict=True))), at=at)


@claim("table2", "RTT 50 ms: {row}, with cycles of {cycle_s} s instead of 10 s")
def other_cycles(means: Means) -> Iterator[Outcome]:
    """Show the row on the duty cycle with shorter cycles."""
    for row in _ROWS:
        if row.factor != "duty cycle":
            continue
        short = Row(row.factor, row.queues, "short-cycles", row.over, row.paper, row.where)
        for cycle_s in (2.0, 1.0, 0.5):
            said = {
                what: short.variation(means, metric, cycle_s=cycle_s)
                for what, metric in zip(_WHAT, _METRICS, strict=True)
            }
            at = {"row": row.name, "cycle_s": cycle_s}
            yield Outcome(None, _said(said), paper=_said(dict(zip(_WHAT, row.paper, strict=True))), at=at)


def _said(values: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {value:.4g}" for what, value in values.items())


# What the paper does not print.

_PRINTED = Path(__file__).with_name("printed.csv")
_AS_PRINTED = {
    "cycle_s": 10.0,
    "nice": "its paper",
    "senders": "ns-2",
    "acknowledged": "each",
    "ledbat": "as specified",
    "measured": "from 0 s",
}
"""What the other items have."""


def _fit(plan: "Plan", dataset: "Dataset") -> fits.Fit:
    return fits.of_dataset(plan, dataset, fits.numbers_for(plan, _PRINTED))


@measure("fit", of="unprinted")
def fitted(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield each printed number, and what was simulated for it as the other items have it and by the best fit."""
    yield from fits.number_rows(_fit(plan, dataset), _AS_PRINTED)


@measure("fit-weights", of="unprinted")
def weights(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield the weight of each value of what is not printed."""
    yield from fits.weight_rows(_fit(plan, dataset))


@claim("fit", "{setting}: numbers that are explained", name="fit, {setting}", own=True, tolerance=fits.TOLERANCE)
def explained(means: Means) -> Iterator[Outcome]:
    """Count the numbers that a setting explains."""
    why = "The settings that were tried do not have everything that the paper leaves open; see each number."
    yield from fits.explained(means, "fit", why)


@claim("fit", "weight of the values of {axis}", name="weight, {axis}")
def determined(means: Means) -> Iterator[Outcome]:
    """Show what the numbers determine."""
    yield from fits.determined(means, "fit")


@claim("fit", "{number}")
def each_number(means: Means) -> Iterator[Outcome]:
    """Show each number as the paper has it, as the other items have it, and by the best fit."""
    yield from fits.each_number(means, "fit")
