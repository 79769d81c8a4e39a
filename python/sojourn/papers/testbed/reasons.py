"""Why kernel and simulation differ where they do: by chance, for a reason that is known, or openly."""

from collections.abc import Sequence

from sojourn.papers.measures import Key
from sojourn.papers.testbed.world import LEDBAT, RED
from sojourn.study.numbers import Number

CHANCE, KNOWN, OPEN = "chance", "explained", "open"

_BY_CHANCE = "May be chance: so few runs, which spread as much, cannot tell."
_DCTCP = (
    "On the kernel a DCTCP flow whose first timeout was needless, and was taken back, keeps the window of that moment "
    "for the rest of the run although all its packets are marked: 11 to 25 packets in three of five flows of a run "
    "under FQ-CoDel. With timestamps, F-RTO and D-SACK off, so that nothing is taken back, all come down to two "
    "packets, as all simulated ones do."
)
_LIBUTP = (
    "Where much is lost, libutp takes lost packets for ones that were too large and makes its packets smaller, and "
    "gives a connection up after four timeouts in a row: in a run under PIE one of five flows sent packets of 809 to "
    "1016 B, and two began anew, of which one hardly came through again. The simulated one does neither."
)
_WHY: dict[tuple[str, str], tuple[str, str]] = {
    **{("DCTCP", discipline): (KNOWN, _DCTCP) for discipline in ("CoDel", "FQ-CoDel", "CAKE", "CHOKe")},
    **{(LEDBAT, discipline): (KNOWN, _LIBUTP) for discipline in (RED, "PIE")},
}
"""By control and discipline."""


def reason(key: Key, differing: Sequence[tuple[Number, Number]]) -> tuple[str, str]:
    """Return what kind of difference it is, and the words for it.

    `differing` has the kernel's number and the simulation's of each metric that differs.
    """
    if all(_may_be_chance(*pair) for pair in differing):
        return CHANCE, _BY_CHANCE
    kind, text = _WHY.get((str(key[1]), str(key[2])), (OPEN, ""))
    return kind, f"{kind.capitalize()}. {text}".rstrip()


def _may_be_chance(real: Number, simulated: Number) -> bool:
    """Return whether Welch's interval of the difference of means holds none."""
    low, high = real.minus(simulated)
    return low <= 0 <= high
