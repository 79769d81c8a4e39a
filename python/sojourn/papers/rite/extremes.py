"""Section 4.1.2: AQMs in a data centre and in rural broadband, as they are and with other constants."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import TCP, UTILIZATION, Key, Results, check, measure
from sojourn.papers.rite.drawing import panels, points
from sojourn.papers.rite.plan import DISCIPLINES, NO_AQM, bulk, link
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

MIDDLE, TAIL = "bottleneck_queue_ms_p50", "bottleneck_queue_ms_p90"
DEFAULT, SCALED = "default", "scaled"
AQMS = ("CoDel", "PIE", "FQ-CoDel")
_ARED_TARGET_MS = 10.0
"""Between Linux's thresholds of 5 and 15 packets at 10 Mbit/s, where they are 6 and 18 ms."""
# Criteria, from before the first run.
_ALIKE = 0.1
"""A discipline does nothing if its median delay is that of DropTail up to this part."""
_USED = 0.9
_FULL = 102
"""Percent, where the axis of utilization ends."""


@dataclass(frozen=True)
class Place:
    """A link far from what the defaults are meant for."""

    name: str
    rate: str
    rtt_ms: float
    limit: str
    scale: float
    """What the times of the disciplines are multiplied by."""
    levels: tuple[int, ...]
    """Numbers of flows."""
    warmup_s: float
    duration_s: float
    start: str
    """Flows begin at random within so much time."""
    runs: int

    def queues(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return each discipline with its default constants, and with its times scaled."""
        found = {(name, DEFAULT): queue for name, queue in DISCIPLINES.items()}
        for name, times in scaled(self.scale).items():
            found[name, SCALED] = {**DISCIPLINES[name], **times}
        return found


def scaled(factor: float) -> dict[str, dict[str, Any]]:
    """Return constants for round-trip times so many times the usual ones: times in proportion, gains in inverse.

    >>> scaled(0.01)["CoDel"]
    {'target': '0.05 ms', 'interval': '1 ms'}
    """

    def ms(value: float) -> str:
        return f"{value * factor:g} ms"

    codel = {"target": ms(5), "interval": ms(100)}
    return {
        "ARED": {"min": ms(_ARED_TARGET_MS / 2), "max": ms(1.5 * _ARED_TARGET_MS), "interval": ms(500)},
        "CoDel": codel,
        "PIE": {
            "target": ms(15),
            "update": ms(15),
            "burst": ms(150),
            "boost_above": ms(250),
            "alpha": 0.125 / factor,
            "beta": 1.25 / factor,
        },
        "FQ-CoDel": codel,
    }


DATACENTRE = Place("datacentre", "10 Gbit/s", 0.1, "1000 packets", 0.01, (2, 16), 0.2, 0.5, "10 ms", 4)
RURAL = Place("rural", "512 kbit/s", 700.0, "90 kB", 7.0, (1, 4), 100, 400, "5 s", 8)


def results_of(lab: Lab, place: Place) -> Results:
    """Return the runs of all disciplines and levels."""
    base = {
        "name": f"rite-{place.name}",
        "duration": f"{place.duration_s:g} s",
        "warmup": f"{place.warmup_s:g} s",
        "bottleneck": link(place.rate, place.limit),
        "group": [{**bulk(1, f"{place.rtt_ms:g} ms"), "start": {"uniform": ["0 s", place.start]}}],
    }
    cases: dict[Key, Mapping[str, Any]] = {
        (*names, flows): {"bottleneck": link(place.rate, place.limit, queue), f"group.{TCP}.flows": flows}
        for names, queue in place.queues().items()
        for flows in place.levels
    }
    return measure(lab, place.name, base, cases, seeds=place.runs)


def _findings(lab: Lab, place: Place) -> tuple[Findings, Results]:
    """Return figure and data of a place, without checks."""
    results = results_of(lab, place)
    found = Findings()
    bars = list(place.queues())
    metrics = (("90th percentile of delay [RTTs]", TAIL, 1 / place.rtt_ms), ("utilization [%]", UTILIZATION, 100.0))

    def draw(index: int, axes: Axes) -> None:
        across, metric, scale = metrics[index]
        for position, flows in enumerate(place.levels):
            numbers = [results.number((*names, flows), metric) for names in bars]
            axes.errorbar(
                [scale * number.mean for number in numbers],
                [at + (position - 0.5) * 0.3 for at in range(len(bars))],
                xerr=[scale * number.half for number in numbers],
                label=_flows(flows),
                elinewidth=0.8,
                **{**points(position), "linestyle": ""},
            )
        names = [name if how == DEFAULT else f"{name}, scaled" for name, how in bars]
        axes.set_yticks(range(len(bars)), names)
        axes.invert_yaxis()
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        axes.set_xlabel(across)
        if metric == TAIL:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
        else:
            axes.set_xlim(right=_FULL)

    found.show(
        place.name,
        panels(["delay", "use of the link"], draw, height_in=3.6, drop=0.2),
        f"{place.rate}, base round-trip time {place.rtt_ms:g} ms: default constants, and times scaled by "
        f"{place.scale:g}; means and 95 % intervals",
    )
    columns = (
        *("discipline", "constants", "flows", "queue_ms_p50", "half_ci95_p50", "queue_ms_p90", "half_ci95_p90"),
        *("utilization", "half_ci95_utilization"),
    )
    rows = []
    for names in bars:
        for flows in place.levels:
            numbers = results.numbers((*names, flows), (MIDDLE, TAIL, UTILIZATION))
            rows.append((*names, flows, *(part for one in numbers for part in (one.mean, one.half))))
    found.tables.append(Table(place.name, "Delay and utilization", columns, tuple(rows)))
    return found, results


def _codel(results: Results, flows: int, metric: str) -> Iterator[Number]:
    """Return a metric without an AQM, under CoDel as it is, and under CoDel with scaled times."""
    for names in ((NO_AQM, DEFAULT), ("CoDel", DEFAULT), ("CoDel", SCALED)):
        yield results.number((*names, flows), metric)


def datacentre(lab: Lab) -> Findings:
    """Ask whether something structural makes AQMs unsuitable for a fast and short link."""
    place = DATACENTRE
    found, results = _findings(lab, place)
    found.checks = list(_fast(place, results))
    flows = place.levels[-1]
    plain, wrong, right = (1e3 * number.mean for number in _codel(results, flows, TAIL))
    found.verdict = (
        f"At {place.rate} and 100 µs the 90th percentile of delay is {plain:.0f} µs without an AQM, {wrong:.0f} µs "
        f"under CoDel as it is, {right:.0f} µs with its times divided by {1 / place.scale:g}: a matter of constants."
    )
    found.text = (
        f"The buffer of {place.limit} takes 1.2 ms to send, twelve round trips, and less than the default targets. "
        "Scaled, all times of a discipline are divided by 100 and PIE's gains, which are per second, multiplied by it. "
        "ARED's thresholds are packets, 5 and 15 of which take 6 and 18 µs: two flows then lose so much that some runs "
        "spend most of the time waiting for timeouts, of 200 ms at least."
    )
    return found


def _fast(place: Place, results: Results) -> Iterator[Check]:
    for flows in place.levels:
        plain = results.number((NO_AQM, DEFAULT, flows), MIDDLE)
        default = {name: results.number((name, DEFAULT, flows), MIDDLE) for name in AQMS}
        yield check(
            f"{_flows(flows)}: with default constants CoDel and PIE do nothing here: median delay within a tenth of "
            "no AQM's",
            "expected: the buffer is shorter than their targets",
            f"{NO_AQM} {_us(plain)}, " + ", ".join(f"{name} {_us(one)}" for name, one in default.items()) + " µs",
            agrees=all(abs(one.mean / plain.mean - 1) < _ALIKE for one in default.values()),
        )
        for name in AQMS:
            tail, used = results.numbers((name, SCALED, flows), (TAIL, UTILIZATION))
            yield check(
                f"{_flows(flows)}: {name} with scaled times keeps the 90th percentile below a round trip and uses 90 "
                "% of the link",
                "a matter of adequate parameters, or structural?",
                f"{_us(tail)} µs, {used.text(1, 100)} %",
                agrees=tail.interval()[1] < place.rtt_ms and used.interval()[0] > _USED,
                why=_LONG_TARGET if name == "PIE" else _NEAR,
            )


_LONG_TARGET = "PIE's target is 15 ms where CoDel's is 5: scaled it is one and a half round trips, and PIE holds it."
_NEAR = "Missed by the width of the interval; it is a tenth of the delay without an AQM."


def _us(number: Number) -> str:
    return number.text(0, 1e3)


def rural(lab: Lab) -> Findings:
    """Ask what default constants cost on a slow and long link."""
    place = RURAL
    found, results = _findings(lab, place)
    found.checks = list(_slow(place, results))
    plain, wrong, right = _codel(results, place.levels[0], UTILIZATION)
    found.verdict = (
        f"At {place.rate} and {place.rtt_ms:g} ms a flow uses {plain.text(0, 100)} % of the link without an AQM, "
        f"{wrong.text(0, 100)} % under CoDel as it is, {right.text(0, 100)} % with its times seven times as long."
    )
    found.text = (
        f"The buffer of {place.limit} is two bandwidth-delay products. A full-size packet takes 23 ms, more than the "
        "default targets. Scaled, all times of a discipline are multiplied by 7, the round-trip time over CoDel's "
        "usual interval, and PIE's gains divided by it; ARED's thresholds are then 35 and 105 ms instead of 5 and 15 "
        "packets, which take 117 and 352 ms."
    )
    return found


def _slow(place: Place, results: Results) -> Iterator[Check]:
    for flows in place.levels:
        plain = results.number((NO_AQM, DEFAULT, flows), UTILIZATION)
        for name in AQMS:
            default, scaled_used = (results.number((name, how, flows), UTILIZATION) for how in (DEFAULT, SCALED))
            yield check(
                f"{_flows(flows)}: {name} with default constants leaves a part of the link unused, and with scaled "
                "times less, both beyond chance",
                "expected: the interval is shorter than a round trip",
                f"{NO_AQM} {plain.text(1, 100)}, default {default.text(1, 100)}, scaled {scaled_used.text(1, 100)} %",
                agrees=plain.surely_above(default) and scaled_used.surely_above(default),
            )
        tails = {name: results.number((name, SCALED, flows), TAIL) for name in AQMS}
        most = results.number((NO_AQM, DEFAULT, flows), TAIL)
        yield check(
            f"{_flows(flows)}: scaled, all still keep the 90th percentile of delay below half of that without an AQM",
            "expected",
            f"{NO_AQM} {most.text(0)}, " + ", ".join(f"{name} {one.text(0)}" for name, one in tails.items()) + " ms",
            agrees=all(one.interval()[1] < most.mean / 2 for one in tails.values()),
        )


def _flows(count: int) -> str:
    return f"{count} flow" if count == 1 else f"{count} flows"


def _setting(place: Place) -> str:
    levels = " and ".join(map(str, place.levels))
    return (
        f"{levels} CUBIC flows, {place.rate}, base round-trip time {place.rtt_ms:g} ms, buffer {place.limit}; "
        f"{place.duration_s - place.warmup_s:g} s after {place.warmup_s:g} s; {place.runs} runs"
    )


ITEMS = (
    Item("datacentre", "Section 4.1.2: a data centre", _setting(DATACENTRE), datacentre),
    Item("rural", "Section 4.1.2: rural broadband", _setting(RURAL), rural),
)
