"""Table 2: how much each factor changes utilization, queue and share."""

from collections.abc import Callable, Mapping, Sequence

from sojourn.papers.gong.duty import short_cycles
from sojourn.papers.gong.grid import (
    BUFFERS,
    CAPACITY,
    CYCLE_S,
    DUTY,
    DUTY_PERCENT,
    MIXED,
    RATES_MBPS,
    READINGS,
    RTT,
    RTTS,
    SETTING,
    SHORT_CYCLES_S,
    grid,
)
from sojourn.papers.gong.scavengers import CONTROLS, controls
from sojourn.papers.gong.world import AQMS, PACKETS, RATE_MBPS
from sojourn.papers.measures import QUEUE_MS, QUEUE_PACKETS, SHARE, UTILIZATION, Key, Results, check, shown, variation
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

# Table 2: utilization, queue, TCP's share.
PAPER = {
    "AQM": (0.0073, 0.6916, 0.080),
    "LPCC, DropTail": (0.0, 0.038, 0.072),
    "LPCC, AQM": (0.0047, 0.034, 0.048),
    "capacity, DropTail": (0.0003, 1.136, 0.035),
    "capacity, AQM": (0.0042, 0.604, 0.050),
    "duty cycle, DropTail": (0.259, 1.309, 0.120),
    "duty cycle, AQM": (0.313, 1.067, 0.057),
    "RTT heterogeneity, DropTail": (0.0003, 0.022, 0.001),
    "RTT heterogeneity, AQM": (0.0248, 0.052, 0.048),
}
_GROUPS: dict[str, tuple[str, ...]] = {"DropTail": ("DropTail",), "AQM": AQMS}
METRICS = (UTILIZATION, QUEUE_PACKETS, SHARE)
_WHAT = ("utilization", "queue", "TCP's share")
# Where the paper prints in bold; what counts as no variation; and half or twice is the same story.
_BOLD, _SMALL, _FACTOR = 0.5, 0.05, 2.0
# Why a cell may differ, by factor.
_WHY = {
    "AQM": "Open.",
    "LPCC": "It depends on the implementation of NICE, which is not published, and on what is left where all three "
    "yield almost everything: see Fig. 5.",
    "capacity": "The paper does not say over what its row is taken. Here it is all capacities and buffers, in packets: "
    "a queue that fills buffers of 100 to 400 packets varies by 0.52 and no more under DropTail, so that the paper's "
    "1.136 cannot be that. Shares vary because DropTail with 100 packets at 10 Mbit/s keeps no priority: see Table 1. "
    "Other readings are side by side below; none gives all six numbers.",
    "duty cycle": "It depends on how long flows are on, which the paper does not print: see the lines on cycles.",
    "RTT heterogeneity": "Open.",
}


def table2(lab: Lab) -> Findings:
    """Coefficients of variation of the means of cases."""
    found = Findings()
    rows = []
    big: dict[str, list[tuple[str, str]]] = {}
    for reading in READINGS:
        measured = _rows(lab, reading)
        for factor, paper in PAPER.items():
            values = measured[factor]
            rows.append((reading, factor, *(part for pair in zip(paper, values, strict=True) for part in pair)))
            for what, then, now in zip(_WHAT, paper, values, strict=True):
                same = max(then, now) <= _SMALL or (then > 0 and 1 / _FACTOR <= now / then <= _FACTOR)
                claim, why = f"{reading}: {factor}, {what}", _WHY[factor.split(",")[0]]
                found.checks.append(check(claim, f"{then:g}", f"{now:.4f}", agrees=same, why=why))
        big[reading] = [
            (factor, what)
            for factor in PAPER
            for what, value in zip(_WHAT, measured[factor], strict=True)
            if value > _BOLD
        ]
        found.checks.append(
            check(
                f"{reading}: no factor varies TCP's share by more than {_BOLD / 2:g} of its mean",
                "at most 0.12",
                f"at most {max(values[2] for values in measured.values()):.3f}",
                agrees=max(values[2] for values in measured.values()) < _BOLD / 2,
            )
        )
        found.checks.append(
            check(
                f"{reading}: only the queue varies by more than half of its mean",
                "4 cells, all of the queue",
                "; ".join(f"{factor}, {what}" for factor, what in big[reading]),
                agrees=all(what == "queue" for _, what in big[reading]),
            )
        )
    found.checks += [*_by_capacity(lab), *_by_cycle(lab)]
    columns = ("reading", "factor", *(f"{what} {who}" for what in _WHAT for who in ("paper", "measured")))
    found.tables.append(Table("table2", "Coefficients of variation", columns, tuple(rows)))
    cells = [one for one in found.checks if any(one.claim.endswith(f", {what}") for what in _WHAT)]
    close = sum(bool(one.agrees) for one in cells)
    found.verdict = f"{close} of {len(cells)} coefficients are within a factor of two, or small in both."
    return found


def _by_capacity(lab: Lab) -> list[Check]:
    """Return the row on capacity as it may have been taken: over buffers or not, in packets or in time."""
    every = [(mbps, packets) for mbps in RATES_MBPS for packets in BUFFERS]
    points = {"all buffers": every, f"{PACKETS} packets": [(mbps, PACKETS) for mbps in RATES_MBPS]}
    checks = []
    for reading in READINGS:
        results = grid(lab, reading)
        for row, names in _GROUPS.items():
            values = {
                f"{words}, {what}": _mean_variation(
                    results, [[(CAPACITY, name, *place) for place in places] for name in names], metric
                )
                for words, places in points.items()
                for what, metric in (("queue in packets", QUEUE_PACKETS), ("in ms", QUEUE_MS), ("TCP's share", SHARE))
            }
            checks.append(
                _readings(f"{reading}: capacity, {row}, by what the row is taken over", "capacity", row, values)
            )
    return checks


def _by_cycle(lab: Lab) -> list[Check]:
    """Return the row on the duty cycle with shorter cycles."""
    short = short_cycles(lab)
    checks = []
    for row, names in _GROUPS.items():
        for cycle_s in SHORT_CYCLES_S:
            keys: list[list[Key]] = [[(name, percent, cycle_s) for percent in DUTY_PERCENT] for name in names]
            values = {what: _mean_variation(short, keys, metric) for what, metric in zip(_WHAT, METRICS, strict=True)}
            claim = f"50 ms: duty cycle, {row}, with cycles of {cycle_s:g} s instead of {CYCLE_S:g} s"
            checks.append(_readings(claim, "duty cycle", row, values))
    return checks


def _readings(claim: str, factor: str, row: str, values: Mapping[str, float]) -> Check:
    paper = zip(_WHAT, PAPER[f"{factor}, {row}"], strict=True)
    return shown(
        claim,
        ", ".join(f"{what} {then:g}" for what, then in paper),
        ", ".join(f"{what} {value:.3f}" for what, value in values.items()),
    )


def _mean_variation(results: Results, keys: Sequence[Sequence[Key]], metric: str) -> float:
    """Return the mean over disciplines of the variation over their cases."""
    return sum(_variation(results, own, metric) for own in keys) / len(keys)


def _rows(lab: Lab, reading: str) -> dict[str, tuple[float, float, float]]:
    results = grid(lab, reading)
    if_controls = controls(lab)

    def over(keys: Callable[[str], Sequence[Key]], names: Sequence[str]) -> tuple[float, float, float]:
        return _three([_mean_variation(results, [keys(name) for name in names], metric) for metric in METRICS])

    def lpcc(names: Sequence[str]) -> tuple[float, float, float]:
        # The order of the numbers in `controls` is queue, share, utilization.
        return _three(
            [
                sum(variation([if_controls[control, name][place].mean for control in CONTROLS]) for name in names)
                / len(names)
                for place in (2, 0, 1)
            ]
        )

    def capacities(name: str) -> list[Key]:
        return [(CAPACITY, name, mbps, packets) for mbps in RATES_MBPS for packets in BUFFERS]

    def duties(name: str) -> list[Key]:
        return [(DUTY, name, percent) for percent in DUTY_PERCENT]

    def rtts(name: str) -> list[Key]:
        return [(RTT, name, RTTS[2]), (MIXED, name)]

    everything: list[Key] = [(CAPACITY, name, RATE_MBPS, PACKETS) for name in AQMS]
    tail = _GROUPS["DropTail"]
    return {
        "AQM": _three([_variation(results, everything, metric) for metric in METRICS]),
        "LPCC, DropTail": lpcc(tail),
        "LPCC, AQM": lpcc(AQMS),
        "capacity, DropTail": over(capacities, tail),
        "capacity, AQM": over(capacities, AQMS),
        "duty cycle, DropTail": over(duties, tail),
        "duty cycle, AQM": over(duties, AQMS),
        "RTT heterogeneity, DropTail": over(rtts, tail),
        "RTT heterogeneity, AQM": over(rtts, AQMS),
    }


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    utilization, queue, share = values
    return utilization, queue, share


def _variation(results: Results, keys: Sequence[Key], metric: str) -> float:
    return variation([results.number(key, metric).mean for key in keys])


ITEMS = (Item("table2", "Table 2: coefficients of variation", f"{SETTING}; low-priority controls at 50 ms", table2),)
