"""Why kernel and simulation differ where they do: by chance, for a reason that is known, or openly."""

import math
from collections.abc import Sequence

from sojourn.papers.measures import Key, Number
from sojourn.papers.testbed.world import FIFO, RED, SFQ
from sojourn.summary import CONFIDENCE, student_quantile

CHANCE, KNOWN, OPEN = "chance", "explained", "open"

_CAKE = (
    "On the kernel most packets wait about as long, but a few flows keep hundreds of packets "
    "of their slow start for tens of seconds; simulated CAKE drops them sooner. FQ-CoDel agrees."
)
_MARKED = "Who has 5 % of the link waits longer on the kernel; TCP's own packets wait as long in both."
_LONG = (
    "A buffer of 24 s outlasts the first timeouts: how a sender goes on that has sent all again decides how full it "
    "stays, and which flow has the link."
)
_DELAYS: dict[str, tuple[str, str]] = {
    "DRR": (KNOWN, "On the kernel each flow has the 127 packets for itself; simulated flows share one buffer."),
    "CAKE": (OPEN, _CAKE),
    "CAKE, marked": (OPEN, _MARKED),
    FIFO: (OPEN, _LONG),
}
_SHARES: dict[str, tuple[str, str]] = {
    FIFO: (OPEN, _LONG),
    SFQ: (OPEN, "Each flow has a queue of its own; libutp takes less of its part on the kernel."),
    RED: (OPEN, "Every flow has less than a packet for a round trip; what decides is how timeouts are spread."),
}


def reason(key: Key, differing: Sequence[tuple[Number, Number]], *, share: bool, delay: bool) -> tuple[str, str]:
    """Return what kind of difference it is, and the words for it.

    `differing` has the kernel's number and the simulation's of each metric that differs; `share` and `delay` tell which
    these are.
    """
    if all(_by_chance(*pair) for pair in differing):
        return CHANCE, "May be chance: so few runs, which spread as much, cannot tell."
    discipline = str(key[2])
    known = [
        table[discipline] for asked, table in ((share, _SHARES), (delay, _DELAYS)) if asked and discipline in table
    ]
    if not known or (share and discipline not in _SHARES and not _by_chance(*differing[0])):
        return OPEN, " ".join(("Open.", *(text for _, text in known)))
    kind = KNOWN if all(kind == KNOWN for kind, _ in known) else OPEN
    return kind, " ".join((f"{kind.capitalize()}.", *(text for _, text in known)))


def _by_chance(real: Number, simulated: Number) -> bool:
    """Return whether one mean may be the other's, by Student's interval with the spread of both."""
    freedom = real.runs + simulated.runs - 2
    if freedom < 1:
        return False
    squares = (real.runs - 1) * real.sd**2 + (simulated.runs - 1) * simulated.sd**2
    error = math.sqrt(squares / freedom * (1 / real.runs + 1 / simulated.runs))
    return abs(real.mean - simulated.mean) <= student_quantile(0.5 + CONFIDENCE / 2, freedom) * error
