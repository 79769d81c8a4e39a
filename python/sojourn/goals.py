"""What somebody wants of a scenario: a quantity of its runs, and a bound that one must keep."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.data import metrics
from sojourn.reading import input_error, shown, unknown_name

_PLURALS = {"calls": "voip", "games": "messages", "pages": "web", "transfers": "transfers"}
_DELAYS = {"voip": "voip_delay_ms", "messages": "fct_ms", "web": "page_ms", "transfers": "fct_ms"}
_OF = re.compile(r"\s*(mean|p50|p90|p95|p99|p999)\s+of\s+([\w-]+)\s*")
_GOODPUT = re.compile(r"\s*goodput(?:\s+of\s+([\w-]+))?\s*")
_GOAL = re.compile(r"(.+?)(<=|>=|<|>)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(ms|s|Mbit/s|%)?\s*")
_UNITS = {None: 1.0, "ms": 1.0, "s": 1e3, "Mbit/s": 1.0, "%": 0.01}
_FORMS = 'METRIC.GROUP, "p99 of calls", "goodput", "goodput of upload"'


@dataclass(frozen=True)
class Quantity:
    """A number of a run: one of its metrics, or several of them as one."""

    text: str
    metrics: tuple[str, ...]
    join: Callable[[Sequence[float]], float]

    @property
    def unit(self) -> str:
        """The unit of its metrics, as their names have it; empty for a number without one."""
        name = self.metrics[0].partition(".")[0]
        return "Mbit/s" if name.endswith("_mbps") else "ms" if "_ms" in name else ""

    @property
    def label(self) -> str:
        """What it is called in tables and figures."""
        return f"{self.text} [{self.unit}]" if self.unit else self.text

    def written(self, value: float | None) -> str:
        """Write a value of it."""
        return "nothing" if value is None else f"{value:.4g} {self.unit}".strip()

    def value(self, measured: Mapping[str, float | None]) -> float | None:
        """Return it, of the means of a run's metrics; None where one of them is not known."""
        known = [measured[name] for name in self.metrics]
        return None if any(one is None for one in known) else self.join([one for one in known if one is not None])


def quantity(text: str, scenario: Mapping[str, Any]) -> Quantity:
    """Return the quantity that a text names, of a resolved scenario; raises InputError.

    >>> quantity("p99 of calls", {"group": [{"name": "call", "traffic": {"kind": "voip"}}]}).metrics
    ('voip_delay_ms_p99.call',)
    """
    kinds = {one["name"]: one["traffic"]["kind"] for one in scenario["group"]}
    if match := _OF.fullmatch(text):
        names = _groups(match[2], kinds)
        found = [f"{_DELAYS.get(kinds[name], 'delay_ms')}_{match[1]}.{name}" for name in names]
        return Quantity(text.strip(), tuple(found), max)
    if match := _GOODPUT.fullmatch(text):
        names = _groups(match[1], kinds) if match[1] else [name for name, kind in kinds.items() if kind == "bulk"]
        return Quantity(text.strip(), tuple(f"goodput_mbps.{name}" for name in names or kinds), sum)
    name, dot, group = text.strip().partition(".")
    links = [f"bottleneck_{one.name}" for one in metrics.LINK]
    known = [one.name for one in metrics.GROUP] if dot else [*links, *(one.name for one in metrics.RUN)]
    if name not in known:
        raise unknown_name(f"no quantity is called so ({_FORMS}):", name, known)
    if dot and group not in kinds:
        raise unknown_name("no group is called", group, list(kinds))
    return Quantity(text.strip(), (text.strip(),), max)


def _groups(word: str, kinds: Mapping[str, str]) -> list[str]:
    """Return the groups that a word names: one by its name, or all of a kind of traffic."""
    if word in kinds:
        return [word]
    found = [name for name, kind in kinds.items() if kind == _PLURALS.get(word)]
    if not found:
        raise unknown_name("no group is called, and none does,", word, [*kinds, *_PLURALS])
    return found


@dataclass(frozen=True)
class Goal:
    """A bound that a quantity must keep."""

    quantity: Quantity
    is_most: bool
    """Whether the bound is the most that is allowed; else the least."""
    bound: float

    @classmethod
    def of(cls, text: str, scenario: Mapping[str, Any]) -> "Goal":
        """Read a goal such as "p99 of calls < 150 ms"; raises InputError."""
        match = _GOAL.fullmatch(text)
        if match is None:
            allowed = 'a quantity, < or >, and a number, such as "p99 of calls < 150 ms"'
            raise input_error(f"goal: found {shown(text)}; allowed: {allowed}", key="goal", found=text, allowed=allowed)
        bound = float(match[3]) * _UNITS[match[4]]
        return cls(quantity(match[1], scenario), match[2][0] == "<", bound)

    def excess(self, value: float | None) -> float:
        """Return by what part of the bound a value is beyond it; at most 0 where it keeps it."""
        if value is None:
            return float("inf")
        return (value - self.bound if self.is_most else self.bound - value) / max(abs(self.bound), 1e-9)

    def __str__(self) -> str:
        return f"{self.quantity.text} {'<' if self.is_most else '>'} {self.quantity.written(self.bound)}"
