"""What a study.py marks its functions with: `@changes`, `@measure`, `@claim`, `@figure`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
_MARK = "__sojourn_study__"


@dataclass(frozen=True)
class Outcome:
    """What a claim that is a function finds."""

    holds: bool | None
    """None where the paper's value is only shown."""
    measured: str
    points: tuple[int, int] | None = None
    """At how many of how many points it holds."""
    margin: float | None = None
    """By how much it holds, or fails where negative: the smallest distance from what would decide it."""
    why: str = ""
    """Why it does not hold, where the claim itself cannot say."""
    note: str = ""
    tolerance: str = ""
    paper: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    """The values that the claim's text names in braces, where a function finds several."""


@dataclass(frozen=True)
class Mark:
    """What a function of a study.py is for."""

    kind: str
    names: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def changes(*sweeps: str) -> Callable[[Function], Function]:
    """Mark the function that says what the scenario's keys become at a point of these sweeps.

    It is given those of the point's coordinates that it names, as `made` what the axes themselves change, and as
    `sweep` the sweep's name. It returns dotted keys and values, which come after those of the axes.
    """
    return _marked(Mark("changes", sweeps))


def measure(name: str, of: str | Sequence[str] = ()) -> Callable[[Function], Function]:
    """Mark a function that yields means of its own under a name: coordinates, group, metric and `Number`.

    With `of` it is given the plan of that sweep and its dataset, of several sweeps one after the other; else nothing.
    """
    return _marked(Mark("measure", (name,), {"of": (of,) if isinstance(of, str) else tuple(of)}))


def claim(
    item: str,
    text: str,
    *,
    paper: str = "",
    why: str = "",
    name: str | None = None,
    tolerance: str = "",
    **more: Any,
) -> Callable[[Function], Function]:
    """Mark a function that is given the `Means` and returns an `Outcome` or several.

    `why` is for one that fails; `of` and `own` are as in a claim of a table.
    """
    said = {**more, "text": text, "paper": paper, "why": why, "name": name, "tolerance": tolerance}
    return _marked(Mark("claim", (item,), said))


def figure(item: str, name: str, caption: str) -> Callable[[Function], Function]:
    """Mark a function that is given the `Means` and returns a figure of Matplotlib."""
    return _marked(Mark("figure", (item, name), {"caption": caption}))


def _marked(mark: Mark) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        function.__dict__.setdefault(_MARK, []).append(mark)
        return function

    return add


def marked(module: ModuleType | None, kind: str) -> Sequence[tuple[Mark, Callable[..., Any]]]:
    """Return the functions of a study that have marks of a kind: of the files that it imports, then its own.

    Those of a file come in the order in which it defines them.
    """
    if module is None:
        return []
    values = [value for part in (*parts(module).values(), module) for value in vars(part).values()]
    functions = dict.fromkeys(value for value in values if callable(value) and hasattr(value, "__dict__"))
    return [(mark, function) for function in functions for mark in vars(function).get(_MARK, []) if mark.kind == kind]


def parts(module: ModuleType) -> dict[str, ModuleType]:
    """Return the modules of a study's own folder that its `study.py` imports, by name."""
    package = f"{module.__package__}."
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, ModuleType) and value.__name__.startswith(package)
    }
