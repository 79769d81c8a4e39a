"""Why kernel and simulation differ where they do: by chance, for a reason that is known, or openly."""

from collections.abc import Sequence

from sojourn.papers.measures import Key, Number

CHANCE, KNOWN, OPEN = "chance", "explained", "open"

_BY_CHANCE = "May be chance: so few runs, which spread as much, cannot tell."
_DCTCP = (
    "On the kernel a DCTCP flow that has sent a segment again needlessly keeps the window of that moment for the rest "
    "of the run, although every packet of it is marked; the others come down to two packets, as all simulated ones do."
)
_WHY: dict[str, tuple[str, str]] = {
    "DCTCP": (KNOWN, _DCTCP),
}
"""By control."""


def reason(key: Key, differing: Sequence[tuple[Number, Number]]) -> tuple[str, str]:
    """Return what kind of difference it is, and the words for it.

    `differing` has the kernel's number and the simulation's of each metric that differs.
    """
    if all(_may_be_chance(*pair) for pair in differing):
        return CHANCE, _BY_CHANCE
    kind, text = _WHY.get(str(key[1]), (OPEN, ""))
    return kind, f"{kind.capitalize()}. {text}".rstrip()


def _may_be_chance(real: Number, simulated: Number) -> bool:
    """Return whether Welch's interval of the difference of means holds none."""
    low, high = real.minus(simulated)
    return low <= 0 <= high
