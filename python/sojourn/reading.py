"""What others wrote, read within bounds: scenarios by path or name, TOML and JSON files.

Whatever a file holds, reading it takes bounded time and memory, runs nothing, and ends in a value or an InputError.
"""

import contextlib
import json
import math
import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn import _native, plugins
from sojourn.faults import input_error as input_error  # noqa: PLC0414 (also had from here)
from sojourn.faults import printable as printable  # noqa: PLC0414 (also had from here)
from sojourn.faults import shown as shown  # noqa: PLC0414 (also had from here)
from sojourn.faults import unknown_name as unknown_name  # noqa: PLC0414 (also had from here)
from sojourn.registry import catalogue

MAX_SCENARIO_BYTES = 1 << 20
MAX_JSON_BYTES = 1 << 26
MAX_DEPTH = 32
"""Tables and lists within each other in one file."""
MAX_INTEGER = 1 << 63
MAX_NAME_LENGTH = 200
ROOT_HELP = "Read no file outside DIR that the file names: for what others wrote."
if sys.platform == "win32":
    _OPEN_FLAGS = os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT
else:
    # Without O_NONBLOCK, opening a pipe waits for someone to write to it.
    _OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

STDIN = "-"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
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
    root: str | None = None
    """The only folder in which files may be read that the text names; None for any."""
    changes: tuple[str, ...] = ()
    """Overrides that hold whatever else is changed."""
    plugins: tuple[str, ...] = ()
    """Files and modules with plug-ins that were loaded when it was read: another process loads them first."""

    def changed(self, overrides: Overrides) -> "Source":
        """Return a source with further overrides; later ones win."""
        return replace(self, changes=(*self.changes, *override_list(overrides)))

    def resolve(self, overrides: Overrides = ()) -> _native.Scenario:
        """Return the scenario with some keys changed, checked."""
        plugins.ensure(self.plugins)
        changes = [*self.changes, *override_list(overrides)]
        try:
            return self._resolve(changes)
        except _native.InputError:
            # It may name what an installed package has; others need not wait for the search for these.
            if not plugins.load_announced():
                raise
            return self._resolve(changes)

    def _resolve(self, changes: list[str]) -> _native.Scenario:
        if self.text is None:
            return _native.load_ready(self.name, overrides=changes, root=self.root)
        if self.is_json:
            return _native.load_json(self.text, base_dir=self.folder, overrides=changes, root=self.root)
        name = printable(self.name)
        return _native.load(self.text, file=name, base_dir=self.folder, overrides=changes, root=self.root)


def find(source: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Source:
    """Read a scenario file, or take a ready scenario by its name.

    `-` is standard input. A source that exists or is written like a path is a file; any other is the name of a ready
    scenario. What the scenario names is read only in the folder `root`, where one is given.
    """
    confined = checked_root(root)
    if source == STDIN:
        text = sys.stdin.read(MAX_SCENARIO_BYTES + 1)
        if len(text.encode()) > MAX_SCENARIO_BYTES:
            raise input_error(f"more than {MAX_SCENARIO_BYTES} bytes; no scenario is that long", file="standard input")
        return Source("standard input", text, "", root=confined, plugins=_plugins(text, Path(), confined))
    path = Path(source)
    names = [ready["name"] for ready in catalogue()["scenarios"]]
    if source in names and path.is_dir():
        # Nobody means a folder; whoever has a file of this name means the file.
        return Source(str(source), None, root=confined, plugins=_plugins("", path, confined))
    # Unlike Path.exists, false for names that no file can have.
    if os.path.exists(path) or _looks_like_a_path(source):  # noqa: PTH110
        text = read_text(path)
        return Source(str(path), text, str(path.parent), root=confined, plugins=_plugins(text, path, confined))
    if source not in names:
        raise unknown_name("no file and no ready scenario is called", str(source), names)
    return Source(str(source), None, root=confined, plugins=_plugins("", path, confined))


def _plugins(text: str, path: Path, root: str | None) -> tuple[str, ...]:
    """Load what a scenario names under `plugins`, where that is allowed; return all that is loaded by now."""
    if "plugins" in text:
        for file in plugins.named(text, path):
            check_confined(file, root, str(file))
            plugins.ask(file, path)
    return tuple(plugins.loaded())


def read(
    source: str | os.PathLike[str], overrides: Overrides = (), root: str | os.PathLike[str] | None = None
) -> _native.Scenario:
    """Find a scenario and resolve it."""
    return find(source, root).resolve(overrides)


def checked_root(root: str | os.PathLike[str] | None) -> str | None:
    """Return the folder that what is read is confined to; raises InputError where it is none."""
    if root is not None and not os.path.isdir(root):  # noqa: PTH112 (false for names that no folder can have)
        raise input_error("root: no such folder", file=str(root), key="root", found=str(root))
    return None if root is None else str(Path(root).resolve())


def check_confined(path: Path, root: str | None, name: str) -> None:
    """Raise InputError for a file outside the folder that what is read is confined to."""
    if root is not None and not Path(os.path.realpath(path)).is_relative_to(root):
        message = f"{shown(name)} lies outside the folder that may be read (root)"
        raise input_error(message, found=name, allowed="a file in that folder")


def override_list(overrides: Overrides) -> list[str]:
    """Write overrides the way the engine takes them: "dotted.key=value".

    >>> override_list({"bottleneck.queue": {"kind": "red", "ecn": True}})
    ['bottleneck.queue={ "kind" = "red", "ecn" = true }']
    """
    if isinstance(overrides, Mapping):
        pairs = plain(overrides).items()
        return [f"{key}={value if isinstance(value, str) else toml_value(value)}" for key, value in pairs]
    changes = [overrides] if isinstance(overrides, str) else list(overrides)
    for change in changes:
        _check_text(change, "an override")
    return changes


def plain(value: Any) -> Any:
    """Return a value as a scenario file can hold it: numbers and arrays of numpy, ranges, paths and scenarios too.

    >>> plain({"flows": range(3), "rtt": ("20 ms",)})
    {'flows': [0, 1, 2], 'rtt': ['20 ms']}
    """
    if isinstance(value, str):
        _check_text(value, "a value")
        return value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    # Numbers and arrays of numpy, pandas and Polars have the one or the other; none of them is imported for this.
    for name in ("tolist", "to_list", "to_dict"):
        if callable(method := getattr(value, name, None)):
            return plain(method())
    message = (
        f"found {shown(value)}, a {type(value).__name__}; allowed: texts, numbers, flags, lists and tables of them"
    )
    raise TypeError(message)


def _check_text(text: str, what: str) -> None:
    """Raise InputError where a terminal gave bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise input_error(f"{what} is not UTF-8 text: {shown(text)}", found=shown(text), allowed="UTF-8 text") from None


def toml_value(value: Any, key: Callable[[str], str] = json.dumps) -> str:
    """Write a value on one line of TOML, whose texts, numbers, flags and lists are those of JSON; `key` writes keys."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {toml_value(one, key)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(one, key) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def toml_text(tables: Mapping[str, Any]) -> str:
    """Write tables as a TOML file: values first, then a section for each table and for each of a list of tables.

    >>> print(toml_text({"group": [{"name": "tcp", "control": {"kind": "cubic"}}], "duration": "9 s"}), end="")
    duration = "9 s"
    <BLANKLINE>
    [[group]]
    name = "tcp"
    control = { kind = "cubic" }
    """
    values, sections = [], []
    for name, value in tables.items():
        if isinstance(value, Mapping):
            sections.append((f"[{_key(name)}]", value))
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            sections += [(f"[[{_key(name)}]]", one) for one in value]
        else:
            values.append((name, value))
    parts = ["".join(_lines(values))] if values else []
    parts += [f"{head}\n{''.join(_lines(table.items()))}" for head, table in sections]
    return "\n".join(parts)


def _lines(pairs: Iterable[tuple[str, Any]]) -> list[str]:
    return [f"{_key(name)} = {toml_value(one, _key)}\n" for name, one in pairs]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _looks_like_a_path(source: str | os.PathLike[str]) -> bool:
    return not isinstance(source, str) or os.sep in source or source.endswith(".toml")


def read_text(path: Path) -> str:
    """Return the text of a file that a person wrote, or raise InputError."""
    name = str(path)
    data = read_bytes(path, "a scenario", MAX_SCENARIO_BYTES)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}"
        message = f"not UTF-8 text: {found}"
        raise input_error(message, file=name, line=line, found=found, allowed="UTF-8 text") from None


def read_bytes(path: Path, what: str, max_bytes: int) -> bytes:
    """Return what a regular file holds; `what` it should be is named by messages.

    Raises InputError for a pipe, a device, a folder, a file that cannot be read or is larger than `max_bytes`.
    """
    with _opened(path, what) as handle, open(handle, "rb", closefd=False) as file:
        try:
            data = file.read(max_bytes + 1)
        except OSError as error:
            # Of a disk with a fault, or a file that is none, such as a process's memory.
            raise input_error(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    if len(data) > max_bytes:
        message = f"too large for {what}: more than {max_bytes} bytes"
        raise input_error(message, file=str(path), allowed=f"at most {max_bytes} bytes")
    return data


def check_regular(path: Path, what: str) -> os.stat_result:
    """Return what the system says of a regular file; raises InputError for anything else."""
    with _opened(path, what) as handle:
        return os.fstat(handle)


@contextlib.contextmanager
def _opened(path: Path, what: str) -> Iterator[int]:
    name = str(path)
    try:
        handle = os.open(path, _OPEN_FLAGS)
    except FileNotFoundError:
        raise input_error("no such file", file=name, found=name, allowed=f"{what} file") from None
    except (OSError, ValueError) as error:
        raise input_error(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=name) from None
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise input_error(f"a directory, not {what} file", file=name, found="a directory")
        if not stat.S_ISREG(mode):
            found = "a device, a pipe or a socket"
            raise input_error(f"{found}, not {what} file", file=name, found=found, allowed="a regular file")
        yield handle
    finally:
        os.close(handle)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file of plain values (`check_plain`), or raise InputError."""
    name, text = str(path), read_text(path)
    try:
        # Some editors begin a file with a byte order mark.
        tables = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise input_error(f"not TOML: {printable(str(error))}", file=name) from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError:
        # Of integers, tomllib leaves the limit to Python.
        raise _too_large(name, "") from None
    check_plain(tables, name)
    return tables


def read_json(path: Path, what: str, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the value in a JSON file of plain values (`check_plain`), or raise InputError."""
    name, data = str(path), read_bytes(path, what, max_bytes)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise input_error(f"cannot be read as JSON, which {what} file is; was it changed by hand?", file=name) from None
    check_plain(value, name)
    return value


def check_plain(value: Any, file: str | None = None) -> None:
    """Raise InputError where a tree of tables and lists is too deep, or holds more than text, numbers and flags.

    Numbers are finite and at most 2^63, names have no control characters.
    """
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        key, one, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(file)
        if isinstance(one, Mapping):
            for name in one:
                _check_key(name, file)
            waiting += [(f"{key}.{name}" if key else name, inner, depth + 1) for name, inner in one.items()]
        elif isinstance(one, list | tuple):
            waiting += [(key, inner, depth + 1) for inner in one]
        else:
            _check_leaf(key, one, file)


def _check_key(name: Any, file: str | None) -> None:
    if not is_line(name):
        allowed = f"a key of at most {MAX_NAME_LENGTH} characters without control characters"
        found = shown(name)
        raise input_error(f"found the key {found}; allowed: {allowed}", file=file, found=found, allowed=allowed)


def _check_leaf(key: str, one: Any, file: str | None) -> None:
    if one is None or isinstance(one, str | bool):
        return
    if isinstance(one, int):
        if abs(one) > MAX_INTEGER:
            raise _too_large(file, key)
        return
    if isinstance(one, float) and math.isfinite(one):
        return
    found = shown(one) if isinstance(one, float) else f"a value of type {type(one).__name__}"
    allowed = "text, finite numbers, true and false, lists and tables of them"
    message = f"{key}: found {found}; allowed: {allowed}"
    raise input_error(message, file=file, key=key, found=found, allowed=allowed)


def _too_deep(file: str | None) -> _native.InputError:
    allowed = f"at most {MAX_DEPTH} tables and lists within each other"
    return input_error(f"found tables or lists nested too deep; allowed: {allowed}", file=file, allowed=allowed)


def _too_large(file: str | None, key: str) -> _native.InputError:
    allowed = "whole numbers from -2^63 to 2^63"
    where = f"{key}: " if key else ""
    return input_error(f"{where}found a larger number; allowed: {allowed}", file=file, key=key, allowed=allowed)


def read_table(path: Path, what: str, keys: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    """Return the object in a JSON file, whose keys hold what the conditions given for them allow.

    Raises InputError; `what` the file should be is named by messages.
    """
    document = read_json(path, what)
    if not isinstance(document, dict):
        raise input_error(f"holds no object, as {what} file does; was it changed by hand?", file=str(path))
    for key, is_right in keys.items():
        if key not in document or not is_right(document[key]):
            found = shown(document[key]) if key in document else "nothing"
            cause = "was it changed by hand, or made by another version?"
            message = f"{key}: found {found}, which {what} file does not have there; {cause}"
            raise input_error(message, file=str(path), key=key, found=found)
    return document


def is_line(value: Any) -> bool:
    """Tell whether a value is a text of one line that a terminal and a title can have."""
    return (
        isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH and printable(value) == value and "\n" not in value
    )


def is_lines(value: Any) -> bool:
    """Tell whether a value is a list of such texts."""
    return isinstance(value, list) and all(map(is_line, value))


def is_whole(low: int, high: int) -> Callable[[Any], bool]:
    """Return the condition of being a whole number within bounds."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
