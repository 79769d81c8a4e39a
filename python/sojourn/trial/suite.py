"""Suites: cases that a conforming control must pass, as data (`suites/*.toml`), each judged from a run's record.

A file has a title, a source, the tables of a path that all cases share, and cases: what differs of it, how many flows
of the judged control there are and when they start, groups of other controls beside them, and checks. A check names a
number of the record by its keys, or the quotient of two, and bounds it; a number over several seeds is their mean.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.api import Scenario, scenario
from sojourn.data.statistics import statistic
from sojourn.reading import input_error, read_toml, unknown_name
from sojourn.trial.laws import SEEDS, Law
from sojourn.trial.stack import Stack, side_by_side
from sojourn.worlds.stacks import StackError

SUITES = tuple(sorted(Path(file.name).stem for file in resources.files("sojourn").joinpath("suites").iterdir()))
"""The suites that Sojourn brings."""
_KEYS = {"title", "source", "path", "case"}
_CASE_KEYS = {"name", "path", "group", "beside", "check"}
_GROUP_KEYS = {"flows", "start", "ecn"}
_CHECK_KEYS = {"measure", "at_least", "at_most"}
_KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "title": (str, "text"),
    "source": (str, "text"),
    "name": (str, "text"),
    "measure": (str, "text"),
    "at_least": ((int, float), "a number"),
    "at_most": ((int, float), "a number"),
    "path": (dict, "a table"),
    "case": (list, "tables [[case]]"),
    "check": (list, "a list of tables"),
    "group": (dict, "a table"),
    "beside": (list, "a list of tables"),
    "flows": (int, "a whole number"),
    "start": ((str, list, dict), "a time, a list of times, or a table"),
    "ecn": ((bool, str), "true or a text"),
}
_JUDGED = "a"
"""What the group of the judged control or stack is called."""
_OVER = " / "
"""Between the two measures of a quotient."""


@dataclass(frozen=True)
class Check:
    """A number of the record, and its bounds."""

    measure: str
    """Keys of the record with dots between, as "bottleneck.queue_ms.mean" or "flows.0.goodput_mbps"; or two of these
    with " / " between."""
    at_least: float = float("-inf")
    at_most: float = float("inf")

    def judge(self, runs: list[Mapping[str, Any]]) -> tuple[bool, str]:
        """Return whether the mean over these records is within the bounds, and what was found."""
        found = statistic([_number(run, self.measure) for run in runs])["mean"]
        bounds = {"at least": self.at_least, "at most": self.at_most}
        wanted = ", ".join(f"{word} {bound:g}" for word, bound in bounds.items() if math.isfinite(bound))
        shown = "none" if found is None else f"{found:.3g}"
        return found is not None and self.at_least <= found <= self.at_most, f"{self.measure} {shown}, {wanted}"


@dataclass(frozen=True)
class Case:
    """A path and what must be seen on it."""

    name: str
    path: Mapping[str, Any]
    group: Mapping[str, Any]
    """Of the judged flows: how many, when they start, and `ecn`, which a stack decides itself."""
    beside: tuple[Mapping[str, Any], ...]
    """Groups of built-in controls, as in a scenario, but with `ecn` as above."""
    checks: tuple[Check, ...]

    def scenario(self, subject: str | Stack) -> Scenario:
        """Return the path with the flows of a control, or the connections of a stack, and with those beside them."""
        tables = {**self.path}
        rtt = tables.pop("rtt", "40 ms")
        if isinstance(subject, Stack):
            own = {"name": _JUDGED, **subject.groups(name=_JUDGED)[_JUDGED]}
            own |= {key: value for key, value in self.group.items() if key != "ecn"}
        else:
            own = _built_in({"name": _JUDGED, "control": subject, **self.group})
        flows = [own, *map(_built_in, self.beside)]
        return scenario({**tables, "group": [{"rtt": rtt, **table} for table in flows]})

    def judge(self, subject: str | Stack) -> Law:
        """Run it and check."""
        made = self.scenario(subject)
        try:
            runs = subject.runs(made) if isinstance(subject, Stack) else made.run(runs=SEEDS, jobs=1).runs
        except (StackError, _native.PluginError) as error:
            return Law(self.name, holds=False, found=str(error))
        found = [check.judge(list(runs)) for check in self.checks]
        return Law(self.name, all(holds for holds, _ in found), "; ".join(text for _, text in found))


@dataclass(frozen=True)
class Suite:
    """Cases from one source."""

    title: str
    source: str
    cases: tuple[Case, ...]

    @property
    def named(self) -> str:
        """Title and source."""
        return f"{self.title}, from {self.source}" if self.source else self.title

    def judge(self, subject: str | Stack, progress: Callable[[float], None]) -> list[Law]:
        """Return a verdict for each case; some seconds."""
        return side_by_side(lambda case: case.judge(subject), self.cases, progress)


def load(what: str) -> Suite:
    """Read a suite of Sojourn's by its name, or a file; raises InputError that names file and key."""
    if what in SUITES:
        with resources.as_file(resources.files("sojourn").joinpath("suites", f"{what}.toml")) as file:
            return _read(file)
    if what.endswith(".toml") or Path(what).exists():
        return _read(Path(what))
    raise unknown_name("no suite is called", what, SUITES)


def _read(file: Path) -> Suite:
    tables = read_toml(file)
    _known(tables, _KEYS, str(file), "")
    shared = tables.get("path", {})
    cases = [_case(table, shared, str(file), number) for number, table in enumerate(tables.get("case", []), 1)]
    if not cases:
        raise input_error("it has no case", file=str(file), key="case", allowed="at least one table [[case]]")
    suite = Suite(tables.get("title", file.stem), tables.get("source", ""), tuple(cases))
    for case in suite.cases:
        _checked(case, str(file))
    return suite


def _built_in(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group with what its `ecn` means: the feedback that its receiver gives.

    A flow has the transport `linux`: cases speak of detection by time and of losses that were none.
    """
    made: dict[str, Any] = {"transport": "linux", **table}
    if (feedback := made.pop("ecn", None)) is not None:
        made["transport"] = {"preset": "linux", "ecn": feedback}
    return made


def _case(table: Mapping[str, Any], shared: Mapping[str, Any], file: str, number: int) -> Case:
    place = f"case.{number}"
    _known(table, _CASE_KEYS, file, place, needed=("name", "check"))
    for check in table["check"]:
        _known(check, _CHECK_KEYS, file, f"{place}.check", needed=("measure",))
        if not check.keys() & {"at_least", "at_most"}:
            message = f"{place}.check: {check['measure']} has no bound, so it cannot fail"
            raise input_error(message, file=file, key=f"{place}.check", allowed="at_least or at_most")
    group, beside = table.get("group", {}), table.get("beside", [])
    _known(group, _GROUP_KEYS, file, f"{place}.group")
    for other in beside:
        if not isinstance(other, dict) or other.get("name") in (None, _JUDGED):
            message = f"{place}.beside: a group needs a name, and {_JUDGED} is the judged one"
            raise input_error(message, file=file, key=f"{place}.beside", found=str(other), allowed="another name")
    path = {**shared, **table.get("path", {})}
    return Case(table["name"], path, group, tuple(beside), tuple(Check(**check) for check in table["check"]))


def _checked(case: Case, file: str) -> None:
    """Raise InputError where a case's path is none, with the name of the case."""
    try:
        case.scenario("newreno")
    except _native.InputError as error:
        raise input_error(f"case {case.name!r}: {error}", file=file, key="path") from None


def _known(table: Any, keys: set[str], file: str, place: str, needed: tuple[str, ...] = ()) -> None:
    """Raise InputError for a table with other keys than these, or without one that is needed."""
    name = place or "suite"
    if not isinstance(table, dict):
        raise input_error(f"{name}: it is no table", file=file, key=name, allowed="a table")
    for key in table.keys() - keys:
        raise input_error(f"{name}: no such key", file=file, key=key, found=key, allowed=", ".join(sorted(keys)))
    for key, value in table.items():
        kind, what = _KINDS[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            message = f"{name}.{key}: it is not {what}"
            raise input_error(message, file=file, key=f"{name}.{key}", found=str(value), allowed=what)
    if "group" in table.get("path", {}):
        message = f"{name}.path: the group is the control, or the stack, that is judged"
        raise input_error(message, file=file, key=f"{name}.path.group", allowed="other tables of a scenario, and rtt")
    for key in needed:
        if not table.get(key):
            raise input_error(f"{name}: {key} is missing", file=file, key=f"{name}.{key}", allowed=f"{key} = ...")


def _number(record: Mapping[str, Any], measure: str) -> float | None:
    """Return the number of a record that `measure` names, or the quotient of two; None where it is not there."""
    first, *others = (_value(record, keys) for keys in measure.split(_OVER))
    for other in others:
        first = first / other if first is not None and other else None
    return first


def _value(record: Mapping[str, Any], keys: str) -> float | None:
    value: Any = record
    for key in keys.split("."):
        if isinstance(value, list):
            value = value[int(key)] if key.isdecimal() and int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
