"""Links from a page into the laboratory's page, with the scenarios of what is shown."""

import base64
import json
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FILE = "lab.html"
"""The laboratory as one file, in the folder of the page that links to it."""
_READY = "ready:"
_CELLS = ("lte", "5g")
"""Media that the engine in the page leaves out for its size."""


@dataclass(frozen=True)
class Link:
    """A link that opens two scenarios side by side."""

    text: str
    address: str


def fragment(left: str, right: str) -> str:
    """Return what stands behind the page's address: the files of the two scenarios, packed."""
    sides = [{"text": text, "changes": []} for text in (left, right)]
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    packed = packer.compress(json.dumps({"sides": sides}).encode()) + packer.flush()
    return "#" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def link(text: str, left: str, right: str | None = None) -> list[Link]:
    """Return a link to scenarios, given as their files; none where the page cannot run one of them."""
    both = (left, left if right is None else right)
    return [Link(text, FILE + fragment(*both))] if all(map(_can_run, both)) else []


def _can_run(text: str) -> bool:
    """Return whether the page has all that a scenario needs: no file, and no cell."""
    found = list(_settings(tomllib.loads(text)))
    return all(
        not (key == "trace" and isinstance(value, str) and not value.startswith(_READY))
        and not (key == "kind" and value in _CELLS)
        for key, value in found
    )


def _settings(table: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(table, Mapping):
        for key, value in table.items():
            yield key, value
            yield from _settings(value)
    elif isinstance(table, list):
        for one in table:
            yield from _settings(one)
