"""How messages name options: as whoever reads them gives them, in Python, at a terminal or in a sweep file."""

import contextlib
import json
from collections.abc import Iterator, Sequence

from sojourn.reading import toml_value

PYTHON, TERMINAL, FILE = "python", "terminal", "file"
_face = PYTHON


@contextlib.contextmanager
def speaking(face: str) -> Iterator[None]:
    """Have messages name options as Python, the terminal or a sweep file does, for a while."""
    global _face  # noqa: PLW0603 (a process has one face at a time)
    before, _face = _face, face
    try:
        yield
    finally:
        _face = before


def spelled(name: str, value: str | None = None, *, python: str | None = None) -> str:
    """Write an option, with a value if there is one, as whoever reads the message gives it.

    `python` is the name of Python's parameter where it is another one.

    >>> spelled("secret_file"), spelled("world", "linux"), spelled("bin", python="bin_s")
    ('secret_file=', "world='linux'", 'bin_s=')
    >>> with speaking(TERMINAL):
    ...     spelled("secret_file"), spelled("world", "linux")
    ('--secret-file', '--world linux')
    """
    if _face == TERMINAL:
        return f"--{name.replace('_', '-')}{'' if value is None else f' {value}'}"
    if _face == FILE:
        return name if value is None else f"{name} = {json.dumps(value)}"
    return f"{python or name}={'' if value is None else repr(value)}"


def spelled_pair(name: str, column: str, value: object) -> str:
    """Write an option that takes a column and its value as whoever reads the message gives it.

    >>> spelled_pair("where", "group", "tcp")
    "where={'group': 'tcp'}"
    """
    return f"--{name} {column}={value}" if _face == TERMINAL else f"{name}={ {column: value}!r}"


def spelled_overrides(overrides: Sequence[str]) -> str:
    """Write texts "dotted.key=value" as whoever reads the message gives them.

    >>> spelled_overrides(["group.tcp.transport.preset=linux"])
    "overrides={'group.tcp.transport.preset': 'linux'}"
    """
    if _face == TERMINAL:
        return " ".join(f"--set {override}" for override in overrides)
    pairs = dict(override.split("=", 1) for override in overrides)
    return f"[set] {toml_value(pairs)}" if _face == FILE else f"overrides={pairs!r}"
