"""Table 2: how much each factor changes utilization, queue and share."""

from collections.abc import Callable, Sequence

from sojourn.papers.gong.grid import BUFFERS, CAPACITY, DUTY, DUTY_PERCENT, MIXED, RATES_MBPS, READINGS, RTT, RTTS, SETTING, grid
from sojourn.papers.gong.measures import QUEUE_PACKETS, SHARE, UTILIZATION, Key, Results, check, variation
from sojourn.papers.gong.scavengers import CONTROLS, controls
from sojourn.papers.gong.world import AQMS, PACKETS, RATE_MBPS
from sojourn.papers.lab import Lab
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
_WHY = (
    "The paper gives neither the cases that a row is taken over nor the deviation's form. Here: capacity is all "
    "capacities and buffers, duty cycle 10 to 100 %, heterogeneity the mixed against the equal round-trip times. "
)
_BUFFER = "A queue that fills 100 to 400 packets alone has at most 0.52, whatever the capacity. "


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
                why = _WHY + (_BUFFER if factor == "capacity, DropTail" and what == "queue" else "")
                found.checks.append(check(f"{reading}: {factor}, {what}", f"{then:g}", f"{now:.4f}", agrees=same, why=why))
        big[reading] = [
            (factor, what) for factor in PAPER for what, value in zip(_WHAT, measured[factor], strict=True) if value > _BOLD
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
    columns = ("reading", "factor", *(f"{what} {who}" for what in _WHAT for who in ("paper", "measured")))
    found.tables.append(Table("table2", "Coefficients of variation", columns, tuple(rows)))
    cells = [one for one in found.checks if "only" not in one.claim and "no factor" not in one.claim]
    found.verdict = f"{sum(bool(one.agrees) for one in cells)} of {len(cells)} coefficients are within a factor of two, or small in both."
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
                sum(variation([if_controls[control, name][place].mean for control in CONTROLS]) for name in names) / len(names)
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
