"""Why a comparison falls short: known reasons, and where they are the first difference."""

from dataclasses import dataclass

OPEN = "open"


@dataclass(frozen=True)
class Reason:
    """A rule that Sojourn follows otherwise than the kernel."""

    text: str
    where: frozenset[tuple[str, str]]
    """Pairs of control and workload whose first difference it is."""


REASONS: dict[str, Reason] = {}


def reason(control: str, workload: str) -> str:
    """Return the name of the reason, or "open"."""
    return next((name for name, known in REASONS.items() if (control, workload) in known.where), OPEN)
