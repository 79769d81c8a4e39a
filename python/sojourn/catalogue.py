"""What can be named in a scenario: queue disciplines, congestion controls, transports, ready scenarios.

All of it is declared once, beside each algorithm in the engine; nothing is repeated here.
"""

import functools
import json
from typing import Any, TypedDict, cast

from sojourn import _native


class Parameter(TypedDict):
    """One parameter of an algorithm."""

    name: str
    kind: str
    unit: str | None
    default: str | float | bool
    allowed: str
    description: str


class Preset(TypedDict):
    """A named set of parameter values, for example those of ns-2."""

    name: str
    summary: str
    values: dict[str, str]


class Entry(TypedDict):
    """A queue discipline, a congestion control or a transport."""

    name: str
    summary: str
    sources: list[str]
    parameters: list[Parameter]
    presets: list[Preset]
    holds: str | None
    class_parameters: list[Parameter]
    linux: dict[str, Any]


class ReadyScenario(TypedDict):
    """A scenario that comes with Sojourn."""

    name: str
    summary: str


class Catalogue(TypedDict):
    """Everything that has a name."""

    queues: list[Entry]
    controls: list[Entry]
    transports: list[Entry]
    scenarios: list[ReadyScenario]
    code_points: dict[str, int]


@functools.cache
def catalogue() -> Catalogue:
    """Return everything that can be named in a scenario.

    >>> import sojourn
    >>> [queue["name"] for queue in sojourn.catalogue()["queues"] if queue["name"].startswith("re")]
    ['red']
    """
    return cast("Catalogue", json.loads(_native.catalogue()))


def entries() -> list[tuple[str, Entry]]:
    """Return every queue, control and transport with its kind: "queue", "control" or "transport"."""
    known = catalogue()
    kinds = (("queue", known["queues"]), ("control", known["controls"]), ("transport", known["transports"]))
    return [(kind, entry) for kind, listed in kinds for entry in listed]
