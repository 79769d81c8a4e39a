"""The sweep file: which points there are, and what is run at each."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from sojourn import _native
from sojourn.data import metrics
from sojourn.data.provenance import Provenance
from sojourn.data.rows import KEPT, PROBES, SERIES
from sojourn.data.schema import AxisColumns, Schema
from sojourn.reading import (
    MAX_INTEGER,
    MAX_NAME_LENGTH,
    Source,
    check_confined,
    check_plain,
    checked_root,
    find,
    input_error,
    is_line,
    is_whole,
    printable,
    read_toml,
    shown,
    toml_value,
    unknown_name,
)
from sojourn.registry import PlugIn, origins, plug_ins_in
from sojourn.spelling import FILE, speaking
from sojourn.sweeps.axes import MAX_SEEDS, MAX_VALUES, Axes, Axis, Tables
from sojourn.worlds import registry
from sojourn.worlds.options import stated
from sojourn.worlds.registry import OWN, SIM, Chosen, choose, options_of
from sojourn.worlds.world import Wanted

KEYS = ("name", "base", "seeds", "world", "keep", "bin", "set", "axes", "zip", "sample", "cases", "points")
OLD_KEYS = {"backend": "world"}
"""Keys that had another name until 0.1.0."""
BIN_S = 0.1
_MAX_CHANGES_SHOWN = 200
# Values of each axis that are checked before anything is run; a longer axis shows its mistakes as rows.
_MAX_TRIED = 1000


_T = TypeVar("_T")


@dataclass(frozen=True)
class Point:
    """One place of the plan."""

    index: int
    coordinates: dict[str, Any]
    """The value of each axis."""
    changes: dict[str, Any]
    """What it changes in the base: dotted keys and values."""


@dataclass(frozen=True)
class Plan:
    """A checked sweep file."""

    name: str
    """Of the sweep."""
    base: Source
    """The scenario that all points change."""
    seeds: int
    """Runs at each point."""
    keep: tuple[str, ...]
    """Tables that are kept beside records."""
    bin_s: float
    """Width of the bins of the time series."""
    fixed: dict[str, Any]
    """Dotted keys with the values that all points have."""
    axes: tuple[Axis, ...]
    """What the points differ in."""
    world: str = SIM
    """The world that runs the points."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the sweep says of the world's options."""
    first_seed: int = 1
    """Seed of the first run of each point."""
    listed: tuple[int, ...] = ()
    """The seeds, where the sweep lists them one by one."""
    links: tuple[str, ...] = (metrics.BOTTLENECK,)
    """The links of any point, with the names that their metrics have in front."""
    files: tuple[str, ...] = ()
    """The traces of any point, and the programs of its stacks that are there."""
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The tables of the sweep file, without the base."""

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None) -> "Plan":
        """Read a sweep file; raises InputError. What it names is read only in the folder `root`, where one is given."""
        file = Path(path)
        tables = read_toml(file)
        return cls.of(tables, name=file.stem, folder=str(file.parent), file=str(path), root=root)

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Any],
        *,
        name: str = "sweep",
        folder: str = "",
        file: str | None = None,
        root: str | os.PathLike[str] | None = None,
        base: Source | None = None,
    ) -> "Plan":
        """Make a plan of the tables of a sweep file; `base` replaces theirs. Raises InputError.

        Values may be sequences of Python or NumPy, and the base a Scenario.
        """
        return _Reader(_renamed(_plain(tables)), name, folder, file, checked_root(root), base).plan()

    @property
    def points(self) -> int:
        """How many points there are."""
        return math.prod(len(axis.rows) for axis in self.axes)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.points * self.seeds

    @property
    def all_seeds(self) -> Sequence[int]:
        """The seeds, the same at every point."""
        return self.listed or range(self.first_seed, self.first_seed + self.seeds)

    @property
    def names(self) -> list[str]:
        """Names of all axes, in the order of the file."""
        return [name for axis in self.axes for name in axis.names]

    def point(self, index: int) -> Point:
        """Return a point; the last axis changes fastest."""
        coordinates: list[tuple[str, Any]] = []
        changes = dict(self.fixed)
        rest = index
        rows: list[tuple[Axis, int]] = []
        for axis in reversed(self.axes):
            rest, row = divmod(rest, len(axis.rows))
            rows.append((axis, row))
        for axis, row in reversed(rows):
            changes.update(axis.changes(row))
            coordinates += zip(axis.names, axis.values(row), strict=True)
        return Point(index, dict(coordinates), changes)

    def scenario(self, point: Point) -> _native.Scenario:
        """Return the scenario of a point, checked."""
        return self.resolve(point.changes)

    def resolve(self, changes: Mapping[str, Any]) -> _native.Scenario:
        """Return the base with changes; raises InputError where it is wrong, or the plan's world cannot have it."""
        scenario = self.base.resolve(changes)
        self.chosen.fit(scenario)
        return scenario

    @cached_property
    def chosen(self) -> Chosen:
        """The world that runs the points, with its options."""
        return choose(self.world, self.options, self.keep)

    @property
    def wanted(self) -> Wanted:
        """What the runs keep besides their records."""
        return Wanted.of(self.keep, self.bin_s)

    def schema(self) -> Schema:
        """Return the columns of the dataset's tables, which depend on the plan alone."""
        return self._schema

    @cached_property
    def _schema(self) -> Schema:
        axes = (
            AxisColumns.of(name, (axis.values(row)[place] for row in range(len(axis.rows))))
            for axis in self.axes
            for place, name in enumerate(axis.names)
        )
        return Schema(tuple(axes), self.links)

    def provenance(self) -> Provenance:
        """Return what the numbers depend on beside the plan: the engine, and the content of scenario and files."""
        return Provenance.of(
            json.dumps([self.base.text or self.base.resolve(()).to_json(), *self.base.changes]),
            [*self.files, *sorted({one.file for one in self.plug_ins() if Path(one.file).is_file()})],
        )

    def plug_ins(self) -> list[PlugIn]:
        """Return the plug-ins that the runs of the plan use."""
        if not origins():
            return []
        changes = [axis.changes(row) for axis in self.axes for row in range(len(axis.rows))]
        return plug_ins_in([json.loads(self.base.resolve(self.fixed).to_json()), *changes])

    def fingerprint(self) -> str:
        """Return a text that is another one for every other plan; what its files hold is a matter of provenance."""
        axes = [(axis.names, axis.rows) for axis in self.axes]
        content: list[Any] = [self.name, self.seeds, self.keep, self.bin_s, self.fixed, axes]
        if self.listed:
            content.append(self.listed)
        if self.world != SIM:
            content += [self.world, repr(self.chosen.options)]
        return hashlib.sha256(json.dumps([content, Path(self.base.name).name]).encode()).hexdigest()


def _renamed(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables with today's names of keys; a key beside its old name is the one that counts."""
    return {OLD_KEYS.get(key, key): value for key, value in tables.items() if OLD_KEYS.get(key) not in tables}


def _files_of(scenario: _native.Scenario) -> set[str]:
    """Return the files on whose content a run depends: a stack that is built anew may give other numbers."""
    files = set(scenario.files)
    if scenario.stack is not None:
        from sojourn.worlds.stacks import found

        program = found(scenario.stack[1])
        files |= set() if program is None else {program}
    return files


class _Reader:
    """Checks the tables of a sweep file."""

    def __init__(
        self,
        tables: Mapping[str, Any],
        name: str,
        folder: str,
        file: str | None,
        root: str | None,
        base: Source | None,
    ) -> None:
        self.base = base
        self.tables = Tables(tables, file)
        self.name = name
        self.folder = folder
        self.file = file
        self.root = root

    def plan(self) -> Plan:
        check_plain(self.tables.given, self.file)
        world, options = self._world()
        fixed = dict(self.tables.table("set"))
        if "runs" in fixed:
            raise self.tables.error("set.runs", repr(fixed["runs"]), "seeds = N for the runs at each point")
        axes = Axes(self.tables).bounded()
        keep = self._keep()
        seeds = self._listed()
        plan = Plan(
            name=self._name(),
            base=self._base(),
            seeds=len(seeds) if seeds else self.tables.count("seeds", self.tables.given.get("seeds", 1), MAX_SEEDS),
            listed=seeds,
            keep=keep,
            bin_s=self._bin_s(keep),
            fixed=fixed,
            axes=axes,
            world=world,
            options=options,
            asked={key: value for key, value in self.tables.given.items() if key != "base"},
        )
        self._checked(lambda: plan.chosen)
        return self._tried(plan)

    def _name(self) -> str:
        name = self.tables.given.get("name", printable(self.name)[:MAX_NAME_LENGTH])
        if not is_line(name):
            allowed = f"a text of 1 to {MAX_NAME_LENGTH} characters without control characters"
            raise self.tables.error("name", shown(name), allowed)
        return str(name)

    def _listed(self) -> tuple[int, ...]:
        """Return the seeds that the sweep lists, none where it gives their number."""
        given = self.tables.given.get("seeds")
        if not isinstance(given, list):
            return ()
        if not given or len(set(map(str, given))) < len(given) or not all(map(is_whole(0, MAX_INTEGER), given)):
            raise self.tables.error(
                "seeds", shown(given), f"different whole numbers from 0 to {MAX_INTEGER}, or how many"
            )
        return tuple(given)

    def _keep(self) -> tuple[str, ...]:
        keep = self.tables.given.get("keep", [])
        if not isinstance(keep, list) or any(one not in list(KEPT) for one in keep):
            raise self.tables.error("keep", shown(keep), f"a list of some of {', '.join(map(repr, KEPT))}")
        if PROBES in keep and SERIES not in keep:
            raise self.tables.error("keep", shown(keep), f"{PROBES!r} beside {SERIES!r}, whose bins they have")
        return tuple(keep)

    def _world(self) -> tuple[str, dict[str, Any]]:
        """Return the world's name and what is said of its options, which are keys of a sweep like any other."""
        world = self.tables.given.get("world", SIM)
        own = [one.name for one in stated(self._checked(lambda: registry.find(world)).options)]
        others = {name for world in OWN for name in (one.name for one in options_of(world))}
        for key in self.tables.given:
            if key not in (*KEYS, *own, *others):
                raise unknown_name(f"{self.file or 'the sweep'}: no key of a sweep is called", key, [*KEYS, *own])
        return world, {key: value for key, value in self.tables.given.items() if key not in KEYS}

    def _checked(self, asked: Callable[[], _T]) -> _T:
        """Return what the registry says; its complaints name the file, and options as a file has them."""
        try:
            with speaking(FILE):
                return asked()
        except _native.InputError as error:
            (told,) = error.diagnostics
            raise input_error(**{**told, "file": self.file}) from None

    def _bin_s(self, keep: tuple[str, ...]) -> float:
        found = self.tables.given.get("bin")
        if found is None:
            return BIN_S
        if SERIES not in keep:
            raise self.tables.error("bin", shown(found), f"only with keep = [{SERIES!r}], whose bins these are")
        quantity = _native.quantity(found) if isinstance(found, str) else None
        if quantity is None or quantity[1] != "s" or quantity[0] <= 0:
            raise self.tables.error("bin", shown(found), "a time above zero, such as '10 s'")
        return quantity[0]

    def _base(self) -> Source:
        if self.base is not None:
            return self.base
        base = self.tables.given.get("base")
        if isinstance(base, Mapping):
            return Source("base", json.dumps(base), self.folder or None, is_json=True, root=self.root)
        if not isinstance(base, str):
            allowed = "a file relative to the sweep's, the name of a ready scenario, or a table"
            raise self.tables.error("base", "nothing" if base is None else shown(base), allowed)
        file = Path(self.folder) / base
        # Unlike Path.exists, false for names that no file can have.
        is_file = os.sep in base or base.endswith(".toml") or os.path.exists(file)  # noqa: PTH110
        try:
            if is_file:
                check_confined(file, self.root, base)
            return find(file if is_file else base, self.root)
        except _native.InputError as error:
            raise input_error(f"base: {error}", file=self.file, key="base", found=base) from None

    def _tried(self, plan: Plan) -> Plan:
        """Check every value of every axis once, with the first values of the others; add what the scenarios tell."""
        if plan.points == 0:
            raise self.tables.error("axes", "no point", "at least one value of each axis")
        base = self._resolve(plan, "base", plan.fixed, {})
        links, files = dict.fromkeys(base.links), _files_of(base)
        step = plan.points
        for axis in plan.axes:
            step //= len(axis.rows)
            for row in range(min(len(axis.rows), _MAX_TRIED)):
                changes = plan.point(row * step).changes
                scenario = self._resolve(plan, ", ".join(axis.names), changes, axis.changes(row))
                links |= dict.fromkeys(scenario.links)
                files |= _files_of(scenario)
        return replace(plan, first_seed=base.seed, links=tuple(links), files=tuple(sorted(files)))

    def _resolve(self, plan: Plan, key: str, changes: Mapping[str, Any], tried: Mapping[str, Any]) -> _native.Scenario:
        try:
            with speaking(FILE):
                return plan.resolve(changes)
        except _native.InputError as error:
            what = f" with {_changes_text(tried)}" if tried else ""
            where = f"{self.file}: " if self.file else ""
            wrapped = _native.InputError(f"{where}{key}{what}:\n{error}")
            wrapped.diagnostics = error.diagnostics
            raise wrapped from None


def _plain(given: Any) -> Any:
    """Return tables as TOML has them: sequences as lists, NumPy's numbers as Python's, a Scenario as its tables."""
    if isinstance(given, Mapping):
        return {key: _plain(one) for key, one in given.items()}
    if isinstance(given, list | tuple) or (isinstance(given, range) and len(given) <= MAX_VALUES):
        return [_plain(one) for one in given]
    for name in ("to_dict", "tolist"):
        if callable(made := getattr(given, name, None)):
            return made()
    return given


def _changes_text(changes: Mapping[str, Any]) -> str:
    text = ", ".join(f"{key} = {toml_value(value)}" for key, value in changes.items())
    return text if len(text) <= _MAX_CHANGES_SHOWN else f"{text[:_MAX_CHANGES_SHOWN]}..."
