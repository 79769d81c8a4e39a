"""TCP's share and the queue against RED's thresholds."""

from collections.abc import Callable

import numpy as np

from sojourn.papers.fluid.beside import PLAIN, Line, Place, compare, simulate
from sojourn.papers.fluid.world import MIN_PACKETS, SETTING
from sojourn.papers.measures import SHARE, check
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item

FLOWS, TARGET = 5, 40
UPPER = (20, 30, 50, 70, 100, 140, 200)
_DRAWN = 40
RULES: dict[str, Callable[[float], tuple[float, float]]] = {
    "min 10": lambda upper: (MIN_PACKETS, upper),
    "min max/10": lambda upper: (upper / 10, upper),
}


def thresholds(lab: Lab) -> Findings:
    """Model and packets over the upper threshold, with the lower one fixed or a tenth of it."""
    lines = {
        title: Line(
            {float(upper): Place(FLOWS, TARGET, rule(upper)) for upper in UPPER},
            {x: Place(FLOWS, TARGET, rule(x)) for x in map(float, np.geomspace(UPPER[0], UPPER[-1], _DRAWN))},
        )
        for title, rule in RULES.items()
    }
    results = simulate(lab, "thresholds", lines)
    found = Findings()
    caption = "TCP's share and queue over RED's upper threshold"
    compare(found, "thresholds", caption, lines, results, "max [packets]")
    for title, line in lines.items():
        first, *_, last = line.packets.values()
        shares = [results.number((*place.key, PLAIN), SHARE) for place in (first, last)]
        found.checks.append(
            check(
                f"{title}: the higher RED's thresholds, the more priority is left to TCP",
                "rises",
                f"{shares[0].text(0, 100)} % at {UPPER[0]}, {shares[1].text(0, 100)} % at {UPPER[-1]} packets",
                agrees=shares[1].above(shares[0]),
            )
        )
    found.verdict = (
        "Higher thresholds let the queue grow towards LEDBAT's target; what TCP gets back of its priority in packets "
        "is less than in the model."
    )
    return found


_SETTING = f"{SETTING}; {FLOWS}+{FLOWS} flows, LEDBAT's target {TARGET} packets, buffer at least 100"
ITEMS = (Item("thresholds", "RED's thresholds", _SETTING, thresholds),)
