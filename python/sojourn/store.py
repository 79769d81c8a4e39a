"""Result directories: written beside their place and moved there whole, so that none is ever half there."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from sojourn.data.lock import held, is_abandoned
from sojourn.data.metrics import JAIN_ALL
from sojourn.parquet import read_parquet
from sojourn.reading import input_error, read, read_table
from sojourn.tables import TableName

if TYPE_CHECKING:
    import pyarrow as pa

    from sojourn import _native
    from sojourn.measured import Measured

RECORD = "record.json"
SCENARIO = "scenario.toml"
_UNFINISHED = "unfinished-"
"""In the names of what is being written."""


def dump_json(document: Any) -> str:
    """Return the JSON text of a document, one line per value, ending in a newline."""
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def load(
    directory: str | os.PathLike[str],
) -> "tuple[_native.Scenario, str, list[tuple[int, str]], dict[TableName, pa.Table]]":
    """Read a result: its scenario, the version that ran it, seed and record of each run, and the tables it kept."""
    folder = Path(directory)
    if not (folder / RECORD).is_file() or not (folder / SCENARIO).is_file():
        raise input_error(f"holds no result: there is no {RECORD} beside {SCENARIO}", file=str(directory))
    document = read_table(folder / RECORD, "a result's record", _DOCUMENT)
    records = [(run["seed"], json.dumps(run)) for run in document["runs"]]
    tables: dict[TableName, pa.Table] = {
        name: read_parquet([folder / f"{name}.parquet"])
        for name in get_args(TableName)
        if (folder / f"{name}.parquet").is_file()
    }
    return read(folder / SCENARIO), document["version"], records, tables


# What statistics and tables need of a run's record.
_RUN = {"seed", "bottleneck", "groups", "flows", JAIN_ALL}


def _are_runs(value: Any) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(one, dict) and one.keys() >= _RUN for one in value)
    )


_DOCUMENT = {"version": lambda value: isinstance(value, str), "runs": _are_runs}


def check_directory(
    directory: str | os.PathLike[str], *, force: bool, marks: Sequence[str] = (RECORD, SCENARIO)
) -> Path:
    """Return where a result may be written, or raise InputError: only an old result is ever replaced.

    `marks` are the files by which an old one is known; without them nothing is ever replaced.
    """
    target = Path(directory).resolve()
    name = str(directory)
    if Path.cwd().is_relative_to(target):
        raise input_error("is or holds the current directory; name a new one", file=name)
    if not target.exists():
        check_writable(target.parent, name)
        return target
    if not target.is_dir():
        raise input_error("exists and is not a directory", file=name)
    if any(target.iterdir()):
        if not force:
            way = "--force (force=True) replaces an old result" if marks else "name a new folder"
            raise input_error(f"is not empty; {way}", file=name)
        if not all((target / mark).is_file() for mark in marks):
            raise input_error("is not empty and holds no result; it is left alone", file=name)
    return target


def check_writable(directory: Path, name: str) -> None:
    """Raise InputError where `directory`, or the nearest one above it that exists, cannot be written to."""
    while not directory.exists():
        directory = directory.parent
    if not directory.is_dir() or not os.access(directory, os.W_OK | os.X_OK):
        raise input_error(f"cannot be written: {directory} does not allow it", file=name)


def save(result: "Measured", directory: str | os.PathLike[str], *, force: bool, pcap: bool) -> Path:
    """Write a result: record.json, scenario.toml, a Parquet file for each table that was kept, captures."""
    target = check_directory(directory, force=force)
    with whole_directory(target) as place:
        (place / RECORD).write_text(dump_json(result.document()), encoding="utf-8")
        (place / SCENARIO).write_text(result.to_toml(relative_to=target), encoding="utf-8")
        for name in result.kept:
            _write_parquet(result, name, place / f"{name}.parquet")
        if pcap:
            result.write_pcaps(place)
    return target


def folder_inside(place: Path) -> Path:
    """Make a folder inside one that was named, if it is not there; raises InputError where it is a link.

    A folder may be somebody else's, and a link in it would have what is written go anywhere.
    """
    check_no_link(place)
    place.mkdir(parents=True, exist_ok=True)
    return place


def check_no_link(place: Path) -> None:
    """Raise InputError where a folder or file that is to be written in or to is a link."""
    if place.is_symlink():
        raise input_error("is a link, and nothing is written through it", file=str(place), found="a link")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path beside `path` to write to; move it into place when all went well, else remove it."""
    import tempfile

    target = Path(path)
    start, end = f".{target.stem}.{_UNFINISHED}", target.suffix
    _clear_up(target.parent, start, end)
    handle, name = tempfile.mkstemp(prefix=start, suffix=end, dir=target.parent)
    os.close(handle)
    place = Path(name)
    try:
        place.chmod(0o666 & ~_umask())
        with held(place):
            yield place
        place.replace(target)
    except BaseException:
        place.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """Give a new directory beside `target` to write into; move it into place when all went well, else remove it."""
    import shutil
    import tempfile

    target.parent.mkdir(parents=True, exist_ok=True)
    start = f".{target.name}.{_UNFINISHED}"
    _clear_up(target.parent, start, "")
    _put_back(target)
    place = Path(tempfile.mkdtemp(prefix=start, dir=target.parent))
    try:
        place.chmod(0o777 & ~_umask())
        with held(place):
            yield place
            _move_into_place(place, target)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _clear_up(folder: Path, start: str, end: str) -> None:
    """Remove what processes that were killed have left half written under such names."""
    import shutil

    for place in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not (place.name.startswith(start) and place.name.endswith(end) and is_abandoned(place)):
            continue
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def _replaced(target: Path) -> Path:
    """Return where an old directory is until the new one is in its place."""
    return target.with_name(f".{target.name}.replaced")


def _put_back(target: Path) -> None:
    """Finish what a process that was killed has left of a replacement."""
    import shutil

    old = _replaced(target)
    if old.is_symlink():
        old.unlink()
    elif not old.exists():
        return
    elif target.exists():
        shutil.rmtree(old)
    else:
        old.rename(target)


def _move_into_place(place: Path, target: Path) -> None:
    import shutil

    if not target.exists():
        place.rename(target)
        return
    old = _replaced(target)
    target.rename(old)
    try:
        place.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _write_parquet(result: "Measured", name: TableName, path: Path) -> None:
    import pyarrow.parquet as pq

    # Given a path, Arrow refuses names that are not UTF-8.
    with path.open("wb") as file:
        pq.write_table(result.table(name), file, compression="zstd")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
