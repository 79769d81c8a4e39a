"""What is said of wrong input: the error that the engine raises too, and how values are quoted in it."""

import unicodedata
from collections.abc import Sequence
from typing import Any

from sojourn import _native

MAX_SHOWN = 80
MAX_LISTED = 30
"""Names that one message lists."""
# So many names are told that are equally near.
_NEAR = 4


def input_error(
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    key: str | None = None,
    found: str | None = None,
    allowed: str | None = None,
    nearest: str | None = None,
) -> _native.InputError:
    """Make the error that the engine raises on wrong input, for what is found before it is asked."""
    where = file if line is None else f"{file}:{line}"
    error = _native.InputError(f"{where}: {message}" if where else message)
    error.diagnostics = [
        {
            "file": file,
            "line": line,
            "key": key,
            "found": found,
            "allowed": allowed,
            "nearest": nearest,
            "message": message,
        }
    ]
    return error


def unknown_name(complaint: str, name: str, known: Sequence[str]) -> _native.InputError:
    """Make the error for a name that is none of those known, with the nearest of them."""
    near = nearest_names(name, known)
    names = list(dict.fromkeys(known))
    allowed = ", ".join(names)
    listed = allowed if len(names) <= MAX_LISTED else f"{', '.join(names[:MAX_LISTED])}, ... ({len(names)} in all)"
    hint = meant(near) or f"there is: {listed}"
    first = next(iter(near), None)
    return input_error(f"{complaint} {shown(name)}; {hint}", found=name, allowed=allowed, nearest=first)


def meant(near: Sequence[str]) -> str:
    """Ask for names that are near; empty where none is.

    >>> meant(["adsl", "sdsl", "vdsl"])
    "did you mean 'adsl', 'sdsl' or 'vdsl'?"
    """
    if not near:
        return ""
    *others, last = map(repr, near)
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


def nearest_names(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names that are spelled most alike, else the shortest one with the name as a part of it.

    >>> nearest_names("codle", ["red", "codel"]), nearest_names("mos", ["voip_mos", "share"])
    (['codel'], ['voip_mos'])
    >>> nearest_names("dsl", ["adsl", "cable", "vdsl"])
    ['adsl', 'vdsl']
    """
    import difflib
    import re

    close = difflib.get_close_matches(name, dict.fromkeys(known), n=_NEAR)
    if close:
        alike = [difflib.SequenceMatcher(None, one, name).ratio() for one in close]
        return sorted(one for one, ratio in zip(close, alike, strict=True) if ratio == alike[0])
    whole = [one for one in known if name in re.split(r"[^a-z0-9]+|_", one)]
    return [min(whole, key=len)] if whole else []


def printable(text: str) -> str:
    """Return a text with its control characters made visible, as a terminal may have it; it keeps its lines.

    >>> printable(chr(27) + "[31mred") == repr(chr(27))[1:-1] + "[31mred"
    True
    """
    if not _unseen(text):
        return text
    return "".join(repr(letter)[1:-1] if letter != "\n" and _unseen(letter) else letter for letter in text)


def shown(value: Any) -> str:
    """Return a value as a message quotes it: on one line, and no longer than anyone reads."""
    text = printable(repr(value))
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _unseen(text: str) -> bool:
    # Control characters, what reorders text, and what has no picture; spaces of all widths may stay.
    return not text.isprintable() and any(
        not letter.isprintable() and unicodedata.category(letter) != "Zs" for letter in text
    )
