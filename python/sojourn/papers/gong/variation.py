"""Table 2: how much each factor changes utilization, queue and share."""

from collections.abc import Callable, Sequence

from sojourn.papers.gong.duty import short_cycle
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
    SHORT_CYCLE_S,
    grid,
)
from sojourn.papers.gong.scavengers import CONTROLS, controls
from sojourn.papers.gong.world import AQMS, PACKETS, RATE_MBPS
from sojourn.papers.lab import Lab
from sojourn.papers.measures import QUEUE_PACKETS, SHARE, UTILIZATION, Key, Results, check, shown, variation
from sojourn.papers.study import Findings, Item, Table

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
METRICS = (UTILIZATION, QUEUE_PACKETS, SHARE)
_WHAT = ("utilization", "queue", "TCP's share")
# Where the paper prints in bold; what counts as no variation; and half or twice is the same story.
_BOLD, _SMALL, _FACTOR = 0.5, 0.05, 2.0
# Why a cell may differ, by factor.
_WHY = {
    "AQM": "Open.",
    "LPCC": "It depends on the implementations of NICE and TCP-LP, which the paper does not name: see Fig. 5.",
    "capacity": "Open. The row is taken over all capacities and buffers. A queue that fills buffers of 100 "
    "to 400 packets varies by 0.52 and no more under DropTail; the paper does not say what else its row holds. Shares "
    "vary because DropTail with 100 packets at 10 Mbit/s keeps no priority: see Table 1.",
    "duty cycle": "It depends on how long flows are on, which the paper does not print: see the last two lines.",
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
                f"{reading}: no factor changes TCP's share much",
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
    short = short_cycle(lab)
    for rows_of, names in (("DropTail", ("DropTail",)), ("AQM", AQMS)):
        brief = [
            sum(_variation(short, [(name, percent) for percent in DUTY_PERCENT], metric) for name in names) / len(names)
            for metric in METRICS
        ]
        found.checks.append(
            shown(
                f"50 ms: duty cycle, {rows_of}, with cycles of {SHORT_CYCLE_S:g} s instead of {CYCLE_S:g} s",
                ", ".join(
                    f"{what} {then:g}" for what, then in zip(_WHAT, PAPER[f"duty cycle, {rows_of}"], strict=True)
                ),
                ", ".join(f"{what} {value:.3f}" for what, value in zip(_WHAT, brief, strict=True)),
                "The length of on and off times, which the paper does not print, decides how empty the link is.",
            )
        )
    columns = ("reading", "factor", *(f"{what} {who}" for what in _WHAT for who in ("paper", "measured")))
    found.tables.append(Table("table2", "Coefficients of variation", columns, tuple(rows)))
    cells = [one for one in found.checks if any(one.claim.endswith(f", {what}") for what in _WHAT)]
    close = sum(bool(one.agrees) for one in cells)
    found.verdict = f"{close} of {len(cells)} coefficients are within a factor of two, or small in both."
    return found


def _rows(lab: Lab, reading: str) -> dict[str, tuple[float, float, float]]:
    results = grid(lab, reading)
    if_controls = controls(lab)

    def over(keys: Callable[[str], Sequence[Key]], names: Sequence[str]) -> tuple[float, float, float]:
        """Return the mean over disciplines of the variation over cases."""
        return _three(
            [sum(_variation(results, keys(name), metric) for name in names) / len(names) for metric in METRICS]
        )

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
    tail = ("DropTail",)
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
