"""Find a scenario by path or name, read it within bounds, and hand it to the engine."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.catalogue import catalogue

MAX_SCENARIO_BYTES = 1 << 20

Overrides = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True)
class Source:
    """Where a scenario comes from, read once, to be resolved with different overrides."""

    name: str
    """The file's path, the ready scenario's name, or what messages call a table."""
    text: str | None
    """The text; None for a ready scenario."""
    folder: str | None = None
    """Where the text finds the files that it names."""
    is_json: bool = False

    def resolve(self, overrides: Overrides = ()) -> _native.Scenario:
        """Return the scenario with some keys changed, checked."""
        changes = override_list(overrides)
        if self.text is None:
            return _native.load_ready(self.name, overrides=changes)
        if self.is_json:
            return _native.load_json(self.text, base_dir=self.folder, overrides=changes)
        return _native.load(self.text, file=self.name, base_dir=self.folder, overrides=changes)


def find(source: str | os.PathLike[str]) -> Source:
    """Read a scenario file, or take a ready scenario by its name.

    A source that exists or is written like a path is a file; any other is the name of a ready scenario.
    """
    path = Path(source)
    if path.exists() or _looks_like_a_path(source):
        return Source(str(path), read_text(path), str(path.parent))
    names = [ready["name"] for ready in catalogue()["scenarios"]]
    if source not in names:
        raise unknown_name("no file and no ready scenario is called", str(source), names)
    return Source(str(source), None)


def read(source: str | os.PathLike[str], overrides: Overrides = ()) -> _native.Scenario:
    """Find a scenario and resolve it."""
    return find(source).resolve(overrides)


def override_list(overrides: Overrides) -> list[str]:
    """Write overrides the way the engine takes them: "dotted.key=value".

    >>> override_list({"bottleneck.queue": {"kind": "red", "ecn": True}})
    ['bottleneck.queue={ "kind" = "red", "ecn" = true }']
    """
    if isinstance(overrides, Mapping):
        return [f"{key}={value if isinstance(value, str) else toml_value(value)}" for key, value in overrides.items()]
    return list(overrides)


def toml_value(value: Any) -> str:
    """Write a value on one line of TOML, whose texts, numbers, flags and lists are those of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


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
    import difflib

    near = next(iter(difflib.get_close_matches(name, known, n=1)), None)
    allowed = ", ".join(dict.fromkeys(known))
    hint = f"did you mean {near!r}?" if near else f"there is: {allowed}"
    return input_error(f"{complaint} {name!r}; {hint}", found=name, allowed=allowed, nearest=near)


def _looks_like_a_path(source: str | os.PathLike[str]) -> bool:
    return not isinstance(source, str) or os.sep in source or source.endswith(".toml")


def read_text(path: Path) -> str:
    """Return the text of a file that a person wrote, or raise InputError."""
    name = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SCENARIO_BYTES + 1)
    except FileNotFoundError:
        raise input_error("no such file", file=name, found=name, allowed="a scenario file") from None
    except IsADirectoryError:
        raise input_error("a directory, not a scenario file", file=name, found="a directory") from None
    except OSError as error:
        raise input_error(f"cannot be read: {error.strerror}", file=name) from error
    if len(data) > MAX_SCENARIO_BYTES:
        message = f"too large for a scenario: more than {MAX_SCENARIO_BYTES} bytes"
        raise input_error(message, file=name, allowed=f"at most {MAX_SCENARIO_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}"
        message = f"not UTF-8 text: {found}"
        raise input_error(message, file=name, line=line, found=found, allowed="UTF-8 text") from None
