"""Whether a control keeps its low priority beside best effort: a verdict for each queue."""

from collections.abc import Iterable
from dataclasses import dataclass

from sojourn.reading import input_error, unknown_name
from sojourn.trial.comparison import QUEUES, Row, beside
from sojourn.trial.laws import CONTROL, is_low_priority, kind_of

REFERENCE = "newreno"
"""The best-effort control beside which low priority is judged."""
BOUND = 0.10
"""The largest share that counts as low priority, 0 to 1: best effort keeps nine tenths."""
MAX_BOUND = 0.5
"""Two flows beside two have half where nobody gives way, so a larger bound would certify best effort."""


@dataclass(frozen=True)
class Terms:
    """What counts as low priority, and under which queues it is judged; raises InputError for what cannot be."""

    bound: float = BOUND
    """Largest share, 0 to `MAX_BOUND`."""
    queues: tuple[str, ...] = tuple(QUEUES)
    """At least one of `QUEUES`."""

    def __post_init__(self) -> None:
        """Check both."""
        if not 0 <= self.bound <= MAX_BOUND:
            found, allowed = f"{100 * self.bound:g} %", f"0 to {100 * MAX_BOUND:g} %"
            message = f"{found} is no bound of low priority: whoever shares equally has {100 * MAX_BOUND:g} %"
            raise input_error(message, key="low-priority-bound", found=found, allowed=allowed)
        if not self.queues:
            message = "low priority is judged under at least one queue"
            raise input_error(message, key="queue", found="none", allowed=", ".join(QUEUES))
        for queue in self.queues:
            if queue not in QUEUES:
                raise unknown_name("low priority is not judged under", queue, list(QUEUES))


TERMS = Terms()


@dataclass(frozen=True)
class Priority:
    """The verdict for one queue."""

    queue: str
    share: float | None
    """Part of the goodput that two flows of the control have beside two of NewReno, 0 to 1, mean over seeds."""
    bound: float

    @property
    def kept(self) -> bool:
        """Whether the share is known and at most the bound."""
        return self.share is not None and self.share <= self.bound

    @property
    def found(self) -> str:
        """The share and its bound, as text."""
        share = "no goodput" if self.share is None else f"{100 * self.share:.1f} % of the goodput"
        return f"{share} beside NewReno, at most {100 * self.bound:g} %"


def low_priority(name: str, terms: Terms = TERMS) -> list[Priority]:
    """Judge the low priority of a control under each queue; some seconds.

    The list is empty for what does not declare low priority.
    """
    rows = (beside(name, REFERENCE, queue) for queue in terms.queues)
    return judged(rows, terms) if declares(name) else []


def declares(name: str) -> bool:
    """Tell whether it is a control that declares low priority."""
    return kind_of(name) == CONTROL and is_low_priority(name)


def judged(rows: Iterable[Row], terms: Terms) -> list[Priority]:
    """Return the verdicts that a control's rows of a comparison give."""
    return [
        Priority(row.queue, row.share, terms.bound)
        for row in rows
        if row.beside == REFERENCE and row.queue in terms.queues
    ]


def under(found: Iterable[Priority]) -> str:
    """Return "kept under A; lost under B, C", with the parts that are not empty."""
    words = {True: "kept", False: "lost"}
    names = {word: [one.queue for one in found if one.kept is kept] for kept, word in words.items()}
    return "; ".join(f"{word} under {', '.join(some)}" for word, some in names.items() if some)
