"""A number that Sojourn measures, and the same computed apart from the engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sojourn


@dataclass(frozen=True)
class Case:
    """One line of the page; the tolerance was set before Sojourn's number was known."""

    name: str
    answer: Callable[[], float]
    """Computes the right number without the engine."""
    found: Callable[[], float]
    """Measures Sojourn's."""
    tolerance: float
    """Largest difference that is allowed: a part of the answer, or with `absolute` in the unit itself."""
    unit: str = ""
    absolute: bool = False


@dataclass(frozen=True)
class Topic:
    """Cases whose answers are computed in one way."""

    title: str
    how: str
    """How the answers are computed, from which sources, and why the tolerance is what it is."""
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Answer:
    """Both numbers of a case."""

    case: Case
    right: float
    found: float

    @property
    def difference(self) -> float:
        """Sojourn's less the right one: a part of the right one, or in the unit itself."""
        apart = self.found - self.right
        return apart if self.case.absolute else apart / self.right

    @property
    def holds(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.difference) <= self.case.tolerance


def ask(case: Case) -> Answer:
    """Compute both numbers of a case."""
    return Answer(case, case.answer(), case.found())


def record(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a scenario once and return its record."""
    return sojourn.scenario(tables).run(series=False).runs[0]


def datagrams(name: str, rate: str, packet_bytes: int = 1500, **keys: Any) -> dict[str, Any]:
    """Return a group of one flow that sends packets at a constant rate."""
    traffic = {"kind": "cbr", "rate": rate, "packet": f"{packet_bytes} B"}
    return {"name": name, "rtt": "2 ms", "start": "0 s", "traffic": traffic, **keys}
