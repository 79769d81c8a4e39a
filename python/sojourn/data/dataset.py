"""The folder of a sweep: what was asked, and a Parquet file for each finished batch."""

import contextlib
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _native
from sojourn.data.describe import Description, Tables, alike, describe
from sojourn.data.keys import MAX_ROWS_OF_RUN, check_groups, check_rows, check_runs
from sojourn.data.lock import lock
from sojourn.data.provenance import UNREADABLE, Provenance
from sojourn.data.rows import (
    CLASSES,
    ERROR,
    GROUP,
    GROUPS,
    KEPT,
    LINKS,
    MAX_POINTS,
    PHASE_GROUPS,
    PHASE_LINKS,
    POINT,
    RUNS,
    SEED,
    SIZES,
)
from sojourn.parquet import read_parquet
from sojourn.reading import MAX_INTEGER, Source, input_error, is_line, is_lines, is_whole, read_table
from sojourn.store import check_no_link, check_writable, dump_json, folder_inside, whole_file

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sojourn.sweeps.plan import Plan

DESCRIPTION = "sweep.json"
BASE = "base.toml"
PLAN = "plan.json"
"""What was asked, as it was written: the tables of the sweep file, and the base with its changes."""
_LOCK = ".lock"
# A link that appears meanwhile is not followed, and what it leads to is not emptied.
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_FORMAT = 3
MAX_BATCHES = 1_000_000
_SHOWN_VALUES = 8
_LARGE = tuple(name for names in KEPT.values() for name in names)
TABLES = (RUNS, GROUPS, LINKS, CLASSES, SIZES, PHASE_GROUPS, PHASE_LINKS, *_LARGE)
"""Every table that a dataset may have; other folders beside them are of somebody else."""
# Columns that a table cannot be used without.
_NEEDS = {RUNS: (POINT, SEED, ERROR), GROUPS: (POINT, SEED, GROUP)}
# What a description says, and must be so that it can be trusted.
_KEYS = {
    "version": is_line,
    "name": is_line,
    "axes": is_lines,
    "points": is_whole(1, MAX_POINTS),
    "seeds": is_whole(1, MAX_INTEGER),
    "keep": lambda value: is_lines(value) and set(value) <= set(KEPT),
    "batch_points": is_whole(1, MAX_POINTS),
    "batch_seeds": is_whole(1, MAX_INTEGER),
    "plan": is_line,
}


def _is_base(value: Any) -> bool:
    """Return whether a value is what `_asked` writes of a base."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("text"), str | None)
        and isinstance(value.get("is_json"), bool)
        and isinstance(value.get("changes"), list)
        and all(isinstance(one, str) for one in value["changes"])
    )


_PLAN_KEYS = {"sweep": lambda value: isinstance(value, dict), "base": _is_base}

# What makes a sweep the same one.
_IDENTITY = ("name", "axes", "points", "seeds", "keep", "plan")


def _asked(plan: "Plan") -> dict[str, Any]:
    base = {key: getattr(plan.base, key) for key in ("name", "text", "is_json", "changes")}
    return {"sweep": plan.asked, "base": base}


@dataclass(frozen=True)
class Batch:
    """Some points of a plan, each with the same of their seeds: what is made and saved at once."""

    points: range
    seeds: range
    """The places of the seeds among those of the plan, from 0."""

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.points) * len(self.seeds)


class Dataset:
    """The results of a sweep, finished or not."""

    def __init__(self, folder: Path, description: Mapping[str, Any]) -> None:
        self.folder: Path = folder
        """Where it is."""
        self.description: Mapping[str, Any] = description
        """What was asked: name, version, axes, seeds, points, size of a batch."""
        self.provenance: Provenance | None = None
        """What parts that are made now depend on; None where none are made."""
        self.remark: str = ""
        """What became of older parts, or of another sweep, in one sentence; empty where there is nothing to say."""
        self._checked: dict[str, int] = {}

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "Dataset":
        """Open the dataset in a folder; raises InputError where there is none."""
        path = Path(folder)
        description = _description(path)
        if description is None:
            raise input_error(f"holds no sweep: there is no {DESCRIPTION}", file=str(folder))
        return cls(path, description)

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        plan: "Plan",
        batch_points: int,
        batch_seeds: int | None = None,
        *,
        replace: bool = False,
        keep_old: bool = False,
    ) -> "Dataset":
        """Begin a dataset, or go on with the one of the same plan that the folder holds.

        A batch is so many points with so many of their seeds, all where that is None. Parts made with another engine,
        base scenario or trace are removed, to be made again, or kept with `keep_old`. The dataset of another plan is
        removed where `replace` says so; else it raises InputError, as it does for a folder with anything else. What was
        removed or is old stands in `remark`.
        """
        path = Path(folder)
        asked = {
            "format": _FORMAT,
            "version": _native.__version__,
            "name": plan.name,
            "axes": plan.names,
            "points": plan.points,
            "seeds": plan.seeds,
            "keep": list(plan.keep),
            "batch_points": batch_points,
            "batch_seeds": plan.seeds if batch_seeds is None else batch_seeds,
            "plan": plan.fingerprint(),
        }
        if used := plan.plug_ins():
            asked["plug_ins"] = [str(one) for one in used]
        found = _description(path)
        replaced = ""
        if found is not None and all(found[key] == asked[key] for key in _IDENTITY):
            # How the work was cut is no matter of its results; the cut that the parts have is kept.
            asked |= {key: found[key] for key in ("batch_points", "batch_seeds")}
        elif found is not None:
            if not replace:
                raise _other_sweep(str(folder), found, asked)
            check_writable(path, str(folder))
            check_no_link(path)
            replaced = f"held {_other(found, asked)}, which is removed: all runs are made anew"
            shutil.rmtree(path)
        elif path.exists() and (not path.is_dir() or any(entry.name != _LOCK for entry in path.iterdir())):
            raise input_error("exists and holds no sweep; it is left alone", file=str(folder))
        check_writable(path if path.exists() else path.parent, str(folder))
        path.mkdir(parents=True, exist_ok=True)
        dataset = cls(path, asked)
        dataset.provenance = plan.provenance()
        dataset.remark = replaced or dataset._renew(keep_old=keep_old)
        if found != asked or dataset.remark:
            dataset._write(BASE, plan.base.resolve(plan.fixed).to_toml(str(path.resolve())))
            dataset._write(PLAN, dump_json(_asked(plan)))
            dataset._write(DESCRIPTION, dump_json(asked))
        return dataset

    def plan(self) -> "Plan":
        """Return the plan, made again from what was asked; raises InputError where that is not there or not right.

        It reads no file outside the folder, and loads no plug-in.
        """
        from sojourn.sweeps.plan import Plan

        asked = read_table(self.folder / PLAN, "a plan", _PLAN_KEYS)
        base, folder = asked["base"], str(self.folder)
        source = Source(base["name"], base["text"], "", base["is_json"], folder, tuple(base["changes"]))
        return Plan.of(asked["sweep"], name=self.name, folder=folder, file=PLAN, root=folder, base=source)

    def _write(self, name: str, text: str) -> None:
        with _named(self.folder / name), whole_file(self.folder / name) as place:
            place.write_text(text, encoding="utf-8")

    def _renew(self, *, keep_old: bool) -> str:
        """Remove the parts that would come out otherwise now, unless old ones are to be kept; return a remark."""
        assert self.provenance is not None, "only who can make parts renews them"  # noqa: S101
        stale: dict[Path, list[str]] = {}
        parts = self._parts(RUNS)
        for part in parts:
            changed = self.provenance.changed_since(Provenance.read(part))
            if changed:
                stale[part] = changed
        if not stale:
            return ""
        what = ", ".join(dict.fromkeys(name for names in stale.values() for name in names))
        count = f"{len(stale)} of {len(parts)} parts"
        if keep_old and UNREADABLE not in what:
            return f"{count} are older than {what} and are kept; their numbers may not come out again"
        with self.locked():
            for part in stale:
                part.unlink()
        if what == UNREADABLE:
            return f"{count} cannot be read and are made again"
        return f"{count} were made before {what} changed and are made again"

    @property
    def batches(self) -> list[Batch]:
        """The points and seeds of each batch."""
        points, seeds = self.description["points"], self.description["seeds"]
        by_points, by_seeds = self.description["batch_points"], self.description["batch_seeds"]
        return [
            Batch(range(point, min(point + by_points, points)), range(seed, min(seed + by_seeds, seeds)))
            for point in range(0, points, by_points)
            for seed in range(0, seeds, by_seeds)
        ]

    @property
    def missing(self) -> list[int]:
        """Numbers of the batches that are not done."""
        return [number for number in range(len(self.batches)) if not self._part(RUNS, number).exists()]

    def save(self, number: int, parts: Mapping[str, bytes]) -> None:
        """Keep the parts of a batch. That of the table of runs comes last: where it is, the batch is done."""
        for name in TABLES:
            if name not in parts:
                self._part(name, number).unlink(missing_ok=True)
        for name in sorted(parts, key=lambda name: name == RUNS):
            target = self._part(name, number)
            with _named(target):
                folder_inside(target.parent)
                with whole_file(target) as place:
                    place.write_bytes(parts[name])

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from working on the dataset; raises InputError where one does, or at a link."""
        for name in (_LOCK, *TABLES):
            check_no_link(self.folder / name)
        with os.fdopen(os.open(self.folder / _LOCK, _LOCK_FLAGS, 0o666), "r+b") as file:
            try:
                lock(file)
            except BlockingIOError:
                raise input_error("another process is working on this sweep", file=str(self.folder)) from None
            self._sweep_up()
            yield

    @property
    def tables(self) -> list[str]:
        """Names of the tables there are."""
        return [name for name in TABLES if self._parts(name)]

    @property
    def axes(self) -> list[str]:
        """Names of the axes."""
        return list(self.description["axes"])

    @property
    def name(self) -> str:
        """Name of the sweep."""
        return str(self.description["name"])

    @property
    def points(self) -> int:
        """Number of points."""
        return int(self.description["points"])

    @property
    def seeds(self) -> int:
        """Number of runs at each point."""
        return int(self.description["seeds"])

    @property
    def base(self) -> str:
        """The scenario of all points, without what the axes change, as TOML."""
        return (self.folder / BASE).read_text(encoding="utf-8")

    def table(
        self, name: str = RUNS, *, columns: Sequence[str] | None = None, where: Mapping[str, Any] | None = None
    ) -> "pa.Table":
        """Return a table of all finished batches, in the order of the plan.

        Of tables that are large only some columns can be read, and only rows that have certain values.
        """
        parts = self._parts(name)
        if not parts:
            raise input_error(f"holds no table {name!r} yet; there is: {', '.join(self.tables)}", file=str(self.folder))
        if name not in _LARGE:
            self._check(name)
        return self._read(name, parts, columns, where)

    def _read(
        self,
        name: str,
        parts: Sequence[Path],
        columns: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> "pa.Table":
        max_rows = self.description["batch_points"] * self.description["batch_seeds"]
        if name != RUNS:
            max_rows = None if name in _LARGE else max_rows * MAX_ROWS_OF_RUN
        return read_parquet(parts, columns, where, needs=_NEEDS.get(name, (POINT,)), max_rows=max_rows)

    def _check(self, name: str) -> None:
        """Raise InputError where the rows of a table and those of the table of runs do not belong together."""
        parts = self._parts(name)
        if self._checked.get(name) == len(parts):
            return
        keys = (POINT, SEED, *self.axes)
        runs = self._read(RUNS, self._parts(RUNS), (*keys, ERROR))
        check_runs(runs, self.folder, self.points)
        if name == GROUPS:
            check_groups(self._read(name, parts, (*keys, GROUP)), runs, self.folder, self.axes)
        elif name != RUNS:
            check_rows(self._read(name, parts, keys), runs, self.folder / name, self.axes)
        self._checked[name] = len(parts)

    def joined(self) -> "pa.Table":
        """Return the table `groups` with the metrics of each group's run beside its own.

        Every number of a run stands there once for each group: to count runs, take `runs`.
        """
        return self.measured().joined()

    def failures(self) -> int:
        """Return how many runs failed."""
        errors = self.table(columns=[ERROR])[ERROR]
        return int(len(errors) - errors.null_count)

    def alike(self) -> int:
        """Return at how many points all of several runs are the same, since nothing there is random."""
        return alike(self.table())

    def describe(
        self,
        by: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        against: Mapping[str, Any] | None = None,
        resamples: int = 0,
    ) -> Description:
        """Return statistics of metrics for each combination of the columns `by`, and sentences on how they were made.

        By default `by` holds all axes and, for metrics of groups, the group. Over axes that `by` leaves out values are
        averaged within each seed first; groups are never mixed. With `against`, such as `{"queue": "droptail"}`, lines
        are of differences: by how much a metric is larger than with these values, in runs with the same seed. Raises
        InputError.
        """
        return describe(self.measured(), by, metrics, where=where, against=against, resamples=resamples)

    def stats(
        self,
        by: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        against: Mapping[str, Any] | None = None,
        resamples: int = 0,
    ) -> list[dict[str, Any]]:
        """Return the lines of `describe`: mean, spread, intervals and quantiles, each with its n."""
        return self.describe(by, metrics, where=where, against=against, resamples=resamples).lines

    def measured(self) -> Tables:
        """Return the tables that hold metrics."""
        return Tables(self.table(RUNS), self.table(GROUPS), self.axes)

    def sql(self, query: str) -> "pa.Table":
        """Return what DuckDB answers to a query; tables have the names of the folders, such as `runs`."""
        try:
            import duckdb
        except ModuleNotFoundError:
            raise input_error("SQL needs the package duckdb: pip install duckdb", key="--sql") from None
        with duckdb.connect() as connection:
            for name in self.tables:
                connection.register(name, self.table(name))
            try:
                return connection.sql(query).to_arrow_table()
            except duckdb.Error as error:
                raise input_error(f"DuckDB: {error}", key="--sql", found=query) from None

    def to_pandas(self, name: str = RUNS) -> "pd.DataFrame":
        """Return a table as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self.table(name).to_pandas()
        return frame

    def to_polars(self, name: str = RUNS) -> "pl.DataFrame":
        """Return a table as a Polars data frame; Polars must be installed."""
        import polars as pl

        frame: pl.DataFrame = pl.from_arrow(self.table(name))
        return frame

    def __repr__(self) -> str:
        points, axes = f"{self.points} point{'s' if self.points > 1 else ''}", ", ".join(self.axes) or "none"
        return f"<sojourn.Dataset {self.name}: {points} of {self.seeds} run(s), axes: {axes}{self._lacks()}>"

    def _repr_html_(self) -> str:
        """Return the values of each axis, and how many rows each table has, for a notebook."""
        import html

        held = self.table() if self.tables else None
        values = {name: _few(held[name].unique().to_pylist()) if held else "" for name in self.axes}
        rows = {name: f"{len(self.table(name, columns=[POINT])):,} rows" for name in self.tables}
        lines = (
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in (*values.items(), *rows.items())
        )
        heading = html.escape(f"{self.name}: {self.points} point(s) of {self.seeds} run(s){self._lacks()}")
        return f"<div><p>{heading}</p><table>{''.join(lines)}</table></div>"

    def _lacks(self) -> str:
        lacking = len(self.missing)
        return f", {lacking} of {len(self.batches)} batches missing" if lacking else ""

    def _parts(self, table: str) -> list[Path]:
        """Return the parts of a table that belong to finished batches: those that the table of runs has too."""
        done = {path.name for path in (self.folder / RUNS).glob("part-*.parquet")}
        return [path for path in sorted((self.folder / table).glob("part-*.parquet")) if path.name in done]

    def _part(self, table: str, number: int) -> Path:
        return self.folder / table / f"part-{number:06d}.parquet"

    def _sweep_up(self) -> None:
        """Remove what a process that was killed left half written."""
        for path in self.folder.glob("*/.part-*"):
            path.unlink()


def _few(values: Sequence[Any]) -> str:
    """Write some values, and how many more there are.

    >>> _few([1, 2]), _few(list(range(20)))
    ('1, 2', '0, 1, 2, 3, 4, 5, 6, 7, and 12 more')
    """
    more = len(values) - _SHOWN_VALUES
    return ", ".join([*map(str, values[:_SHOWN_VALUES]), *([f"and {more} more"] if more > 0 else [])])


def part(name: str, table: "pa.Table", provenance: Provenance | None) -> bytes:
    """Return a table of a batch as the file that a dataset keeps."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # What runs measured has few rows of a hundred numbers: Zstandard would need most of the time to get ready for each
    # column, and save nothing.
    compression = "zstd" if name in _LARGE else "snappy"
    pq.write_table(table if provenance is None else provenance.written_into(table), sink, compression=compression)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@contextlib.contextmanager
def _named(file: Path) -> Iterator[None]:
    """Name the file where the disk is full or fails: the system's messages do not."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, f"{reason}; what was finished is kept", str(file)) from None


def _description(folder: Path) -> dict[str, Any] | None:
    file = folder / DESCRIPTION
    if not file.exists():
        return None
    document = read_table(file, "a sweep's", {"format": lambda _: True})
    if document["format"] != _FORMAT:
        raise input_error("was written by another version; name a new folder", file=str(file))
    description = read_table(file, "a sweep's", _KEYS)
    by_points = math.ceil(description["points"] / description["batch_points"])
    if by_points * math.ceil(description["seeds"] / description["batch_seeds"]) > MAX_BATCHES:
        raise input_error(f"names more than {MAX_BATCHES:,} batches; was it changed by hand?", file=str(file))
    return description


def _other_sweep(folder: str, found: Mapping[str, Any], asked: Mapping[str, Any]) -> _native.InputError:
    return input_error(f"holds {_other(found, asked)}; name a new folder", file=folder)


def _other(found: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return in words which other sweep a folder holds."""
    if found.get("version") != asked["version"]:
        return f"a sweep made by version {found.get('version')}, this is {asked['version']}"
    changed = [key for key in asked if key != "plan" and found.get(key) != asked[key]] or ["values or base scenario"]
    return f"another sweep, {found.get('name')!r} ({', '.join(changed)} differ)"
