"""What can be named in a scenario: queue disciplines, congestion controls, what links are made of, ready scenarios.

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
    """A queue discipline, a congestion control, a transport, or a part of a link."""

    name: str
    summary: str
    sources: list[str]
    parameters: list[Parameter]
    presets: list[Preset]
    holds: str | None
    class_parameters: list[Parameter]
    low_priority: bool
    """Whether it is a congestion control that means to give way to best effort."""
    linux: dict[str, Any]
    origin: dict[str, str] | None
    """Of a plug-in: the file or module it came `from` and a hash of its `content`; None for what is built in."""


class ReadyScenario(TypedDict):
    """A scenario that comes with Sojourn."""

    name: str
    summary: str


class Kind(TypedDict):
    """A kind of traffic; the schema says what can be set of it."""

    name: str
    summary: str
    origin: dict[str, str] | None
    """As that of an `Entry`."""


class Profile(TypedDict):
    """An access line: keys of a link and their values, written as in a file, for each of its directions.

    Where stations share a medium, `down` stands for both, and `station` is the one there is.
    """

    name: str
    summary: str
    sources: list[str]
    down: dict[str, str]
    up: dict[str, str]
    station: str | None


class Catalogue(TypedDict):
    """Everything that has a name."""

    queues: list[Entry]
    controls: list[Entry]
    transports: list[Entry]
    framings: list[Entry]
    media: list[Entry]
    noises: list[Entry]
    protections: list[Entry]
    access: list[Profile]
    traffic: list[Kind]
    scenarios: list[ReadyScenario]


@functools.cache
def catalogue() -> Catalogue:
    """Return everything that can be named in a scenario.

    >>> import sojourn
    >>> [queue["name"] for queue in sojourn.catalogue()["queues"] if queue["name"].startswith("re")]
    ['red']
    """
    return cast("Catalogue", json.loads(_native.catalogue()))


def origins() -> dict[str, dict[str, str]]:
    """Return where the plug-ins among queues, controls and traffic come from, by name."""
    known = catalogue()
    listed = (*known["queues"], *known["controls"], *known["traffic"])
    return {entry["name"]: entry["origin"] for entry in listed if entry["origin"]}


def entries() -> list[tuple[str, Entry]]:
    """Return everything with parameters and what it is: "queue", "control", "transport", "framing", "medium" ..."""
    known = catalogue()
    kinds = (
        ("queue", known["queues"]),
        ("control", known["controls"]),
        ("transport", known["transports"]),
        ("framing", known["framings"]),
        ("medium", known["media"]),
        ("noise", known["noises"]),
        ("protection", known["protections"]),
    )
    return [(kind, entry) for kind, listed in kinds for entry in listed]
