"""What can be named in a scenario: queue disciplines, congestion controls, what links are made of, ready scenarios.

All of it is declared once, beside each algorithm in the engine; nothing is repeated here.
"""

import functools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
    text: str
    """Its file, as TOML."""


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


class Line(TypedDict):
    """An access line of the population: a plan in a home."""

    name: str
    technology: str
    """"fibre", "cable", "vdsl", "adsl", "fixed" (wireless), "radio", "leo" or "geo"."""
    summary: str
    weight: float
    """Its part of all lines, which sum to 1."""


class Catalogue(TypedDict):
    """Everything that has a name."""

    queues: list[Entry]
    controls: list[Entry]
    shapers: list[Entry]
    transports: list[Entry]
    framings: list[Entry]
    media: list[Entry]
    noises: list[Entry]
    protections: list[Entry]
    access: list[Profile]
    lines: list[Line]
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


@dataclass(frozen=True)
class PlugIn:
    """An algorithm or traffic from outside, as it is loaded now."""

    kind: str
    """"queue discipline", "congestion control", "traffic" or "shaper's controller"."""
    name: str
    file: str
    """The file or module that added it."""
    content: str
    """The SHA-256 of its source; empty where nobody knows."""

    def __str__(self) -> str:
        """Say what it is and which version of it.

        >>> print(PlugIn("traffic", "mine", "/home/me/mine.py", "0123456789abcdef"))
        the traffic mine of mine.py (SHA-256 0123456789ab)
        """
        content = f" (SHA-256 {self.content[:_HASH_SHOWN]})" if self.content else ""
        return f"the {self.kind} {self.name} of {Path(self.file).name}{content}"


_HASH_SHOWN = 12


# What a scenario calls the place of an algorithm, and what it then is.
_PLACES = {
    "queue": "queue discipline",
    "control": "congestion control",
    "traffic": "traffic",
    "controller": "shaper's controller",
}


def plug_ins_in(tables: Any) -> list[PlugIn]:
    """Return the plug-ins that a scenario or changes of one use: tables as read from TOML or JSON.

    Only what stands where an algorithm of its kind is named counts: not the name of a group or of a level.
    """
    known = catalogue()
    families = (
        ("queue", known["queues"]),
        ("control", known["controls"]),
        ("traffic", known["traffic"]),
        ("controller", known["shapers"]),
    )
    outside = {
        (place, entry["name"]): PlugIn(_PLACES[place], entry["name"], origin["from"], origin["content"])
        for place, listed in families
        for entry in listed
        if (origin := entry["origin"])
    }
    used = set(_named(tables)) if outside else set()
    return [plug_in for named, plug_in in outside.items() if named in used]


def _named(tables: Any, holder: str = "") -> Iterator[tuple[str, str]]:
    """Yield every algorithm that tables name, each behind its place; `holder` is the key that they stand under."""
    if isinstance(tables, Mapping):
        for key, value in tables.items():
            *path, last = key.split(".")
            place = ((path or [holder])[-1]) if last == "kind" else last
            table = _table(value) if isinstance(value, str) else None
            if isinstance(value, str) and table is None:
                if place in _PLACES:
                    yield place, value
            else:
                yield from _named(value if table is None else table, place)
    elif isinstance(tables, list | tuple):
        for one in tables:
            yield from _named(one, holder)


def _table(text: str) -> Any:
    """Return the table that a change gives as text, such as `{ kind = "red" }`; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return tomllib.loads(f"table = {text}")["table"]
    except tomllib.TOMLDecodeError:
        return None


_SEVERAL = {
    "queue discipline": "queue disciplines",
    "congestion control": "congestion controls",
    "traffic": "kinds of traffic",
    "shaper's controller": "shapers' controllers",
}


def sentence_of(used: Sequence[PlugIn | str]) -> str:
    """Return a sentence that names plug-ins, those of one kind and file together; nothing where there are none.

    >>> sentence_of([PlugIn("traffic", name, "mine.py", "") for name in ("one", "two")])
    'Plug-ins: the kinds of traffic one, two of mine.py.'
    """
    together: dict[tuple[str, str], list[str]] = {}
    for one in map(str, used):
        what, _, origin = one.removeprefix("the ").partition(" of ")
        kind, _, name = what.rpartition(" ")
        together.setdefault((kind, origin), []).append(name)
    parts = [
        f"the {_SEVERAL[kind] if len(names) > 1 else kind} {', '.join(names)} of {origin}"
        for (kind, origin), names in together.items()
    ]
    return f"Plug-ins: {'; '.join(parts)}." if parts else ""


def origins() -> dict[str, dict[str, str]]:
    """Return where the plug-ins among queues, controls, traffic and shapers come from, by name."""
    known = catalogue()
    listed = (*known["queues"], *known["controls"], *known["traffic"], *known["shapers"])
    return {entry["name"]: entry["origin"] for entry in listed if entry["origin"]}


def entries() -> list[tuple[str, Entry]]:
    """Return everything with parameters and what it is: "queue", "control", "transport", "framing", "medium" ..."""
    known = catalogue()
    kinds = (
        ("queue", known["queues"]),
        ("control", known["controls"]),
        ("shaper", known["shapers"]),
        ("transport", known["transports"]),
        ("framing", known["framings"]),
        ("medium", known["media"]),
        ("noise", known["noises"]),
        ("protection", known["protections"]),
    )
    return [(kind, entry) for kind, listed in kinds for entry in listed]
