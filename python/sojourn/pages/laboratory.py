"""Links from a page into the laboratory's page, with the scenarios of what is shown."""

import base64
import json
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.reading import Source, toml_text
from sojourn.registry import plug_ins_in
from sojourn.worlds.shell.ends import PROGRAM

FILE = "lab.html"
"""The laboratory as one file, in the folder of the page that links to it."""
_READY = "ready:"
_CELLS = ("lte", "5g")
"""Media that the engine in the page leaves out for its size."""
_LEFT_OUT = ("qdisc", "stack")
"""The keys of a host's queue and of another's transport stack, neither of which it has."""
_RUNS = "runs"
"""The key that the page decides on itself."""


@dataclass(frozen=True)
class Link:
    """A link that opens two scenarios side by side."""

    text: str
    address: str


def fragment(left: Source, right: Source) -> str:
    """Return what stands behind the page's address: the two scenarios as they were written, with their changes."""
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    packed = packer.compress(json.dumps({"sides": [_side(left), _side(right)]}).encode()) + packer.flush()
    return "#" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def link(text: str, left: Source, right: Source | None = None) -> list[Link]:
    """Return a link to scenarios; none where the page cannot run one of them. Raises InputError for a wrong one."""
    both = (left, left if right is None else right)
    return [Link(text, FILE + fragment(*both))] if all(map(_can_run, both)) else []


def _side(source: Source) -> dict[str, Any]:
    """Return a scenario as the page reads it: a ready one by its name, any other by its text, and what was changed."""
    # The page reads TOML only, and holds one value for each key.
    text = toml_text(json.loads(source.text)) if source.is_json and source.text is not None else source.text
    changes = {change.partition("=")[0].strip(): change for change in source.changes}
    side = replace(source, text=text, is_json=False, changes=tuple(changes.values()))
    if _content(side) != _content(source):
        return {"text": source.resolve().to_toml(), "changes": []}
    written = {"name": source.name} if text is None else {"text": text}
    return {
        **written,
        "changes": [[key, change.partition("=")[2]] for key, change in changes.items() if key != _RUNS],
    }


def _content(source: Source) -> dict[str, Any]:
    """Return a scenario with every default, without the name, which is that of its file."""
    found: dict[str, Any] = json.loads(source.resolve().to_json())
    return {**found, "name": ""}


def _can_run(source: Source) -> bool:
    """Return whether the page has all that a scenario needs: no file, cell, host's queue, stack, program or plug-in."""
    tables = tomllib.loads(source.resolve().to_toml())
    names_plug_ins = not source.is_json and "plugins" in tomllib.loads(source.text or "")
    return (
        not names_plug_ins
        and not plug_ins_in([tables])
        and all(
            not (key == "trace" and isinstance(value, str) and not value.startswith(_READY))
            and not (key == "kind" and value in (*_CELLS, PROGRAM))
            and key not in _LEFT_OUT
            for key, value in _settings(tables)
        )
    )


def _settings(table: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(table, Mapping):
        for key, value in table.items():
            yield key, value
            yield from _settings(value)
    elif isinstance(table, list):
        for one in table:
            yield from _settings(one)
