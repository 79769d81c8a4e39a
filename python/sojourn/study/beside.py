"""A study of few: one discipline, which may be one's own, beside those that everybody knows.

A study that says `beside` can be narrowed to a few values of an axis. What it claims of others is left out.
"""

import copy
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.reading import input_error, unknown_name
from sojourn.registry import catalogue
from sojourn.study.load import StudyFolder
from sojourn.study.means import is_in
from sojourn.study.model import FILE

_ALLOWED = {
    "axis": "the name of an axis of queue disciplines",
    "key": "the key that it sets, such as bottleneck.queue",
    "levels": "a list of its values",
}
KEYS = tuple(_ALLOWED)
_EVERYTHING = "*"
_BY_VALUE = ("paper", "value")


def beside(study: StudyFolder, kind: str) -> StudyFolder:
    """Return a study of one queue discipline beside those that the study names for it.

    `kind` is the name of a discipline, or that of a value of the study's axis. Raises InputError where there is
    neither, or the study compares no disciplines.
    """
    if "beside" not in study.tables:
        message = f"{study.name} compares no queue disciplines; allowed: --queue with a study that says `beside`"
        raise input_error(message, key="--queue")
    tables = copy.deepcopy(dict(study.tables))
    said = tables.pop("beside")
    levels = _levels(said, study)
    own = _level(levels, said["key"], kind)
    kept = list(dict.fromkeys([*said["levels"], own]))
    known = list(levels)
    levels = {**levels, own: levels.get(own, {said["key"]: {"kind": kind}})}
    tables["axes"][said["axis"]]["levels"] = {name: levels[name] for name in kept}
    few = _Few(said["axis"], kept, own, {*known, *kept})
    tables["sweep"] = {name: found for name, given in tables["sweep"].items() if (found := few.sweep(given))}
    gone = {*study.tables["sweep"]} - {*tables["sweep"]}
    tables["item"] = [found for item in tables["item"] if (found := few.item(item, gone))]
    for key in ("answer", "pictures"):
        tables.pop(key, None)
    tables |= {
        "name": f"{study.name} --queue {kind}",
        "finding": f"{own} beside {' and '.join(name for name in kept if name != own)}",
    }
    return dataclasses.replace(study, tables=tables)


def _levels(said: Mapping[str, Any], study: StudyFolder) -> Mapping[str, Any]:
    """Return the values of the axis that `beside` names; raises InputError where it names what there is not."""
    file = str(study.folder / FILE)
    for key in said:
        if key not in KEYS:
            raise unknown_name(f"{file}: no key of beside is called", key, KEYS)
    for key in KEYS:
        if key not in said:
            raise input_error(f"beside.{key}: nothing; allowed: {_ALLOWED[key]}", file=file, key=f"beside.{key}")
    named = {name: axis["levels"] for name, axis in study.axes.items() if "levels" in axis}
    if said["axis"] not in named:
        raise unknown_name(f"{file}: beside.axis: no axis with levels is called", said["axis"], list(named))
    levels: Mapping[str, Any] = named[said["axis"]]
    for name in said["levels"]:
        if name not in levels:
            raise unknown_name(f"{file}: beside.levels: the axis {said['axis']!r} has no", name, list(levels))
    return levels


def _level(levels: Mapping[str, Any], key: str, kind: str) -> str:
    """Return the value of the axis that a discipline has: one there is already, or its own name."""
    for name, changes in levels.items():
        queue = changes.get(key)
        if kind.lower() in {name.lower(), queue.get("kind") if isinstance(queue, Mapping) else queue}:
            return name
    queues = [entry["name"] for entry in catalogue()["queues"]]
    if kind not in queues:
        raise unknown_name("no queue discipline is called", kind, [*queues, *levels])
    return kind


@dataclasses.dataclass(frozen=True)
class _Few:
    """A few values of an axis, and what is left of a study's tables with them alone."""

    axis: str
    kept: list[str]
    own: str
    known: set[str]
    """All values of the axis."""

    def sweep(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a sweep with these values; None where it lists values and the own one is not among them."""
        axes = given.get("axes", [])
        listed = axes.get(self.axis) if isinstance(axes, Mapping) else None
        if not isinstance(listed, list):
            return dict(given)
        if self.own not in listed:
            return None
        return {**given, "axes": {**axes, self.axis: [name for name in listed if name in self.kept]}}

    def item(self, given: Mapping[str, Any], gone: Iterable[str]) -> dict[str, Any] | None:
        """Return an item without what needs other values; None where nothing is left of it."""
        found = {key: value for key, value in given.items() if key not in {"claim", "shown", "figure", "found", "text"}}
        defaults = given.get("defaults", {})
        for kind in ("claim", "shown", "figure"):
            tables = [{**defaults, **one} for one in given.get(kind, [])]
            places = [_sweeps(one) & {*gone} for one in tables]
            narrowed = [
                self.tables({**one, "caption": _how(one["caption"])} if kind == "figure" else one)
                for one, missing in zip(given.get(kind, []), places, strict=True)
                if not missing
            ]
            found[kind] = [one for one in narrowed if one is not None]
        return found if found["claim"] or found["figure"] else None

    def tables(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a claim or a figure of these values alone; None where it is about others than the own one.

        Its reasons are those of the disciplines that the study is about, and go. So does what makes it a main claim.
        """
        where = self._where(given)
        if not is_in(self.own, where.get(self.axis, self.own)) or self._is_beside_others(given):
            return None
        found = {key: value for key, value in given.items() if key not in {"why", "where", "main"}}
        if where:
            found["where"] = where
        for key in {"parts", "panels"} & {*found}:
            parts = [self.tables(part) for part in found[key]]
            if None in parts:
                return None
            found[key] = parts
        return found

    def _where(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return where a claim or a figure is about these values, and has a number for each where it lists some."""
        where = dict(given.get("where", {}))
        chosen = where.get(self.axis)
        for numbers in (given.get(key) for key in _BY_VALUE):
            if isinstance(numbers, Mapping) and self.known & {*numbers}:
                chosen = [name for name in _listed(chosen, self.kept) if name in numbers]
        if chosen is not None and not isinstance(chosen, Mapping):
            where[self.axis] = [name for name in _listed(chosen, self.kept) if name in self.kept]
        return where

    def _is_beside_others(self, given: Mapping[str, Any]) -> bool:
        """Return whether a comparison is with a value that is left out."""
        others = [given.get("than", {}), *(one for step in given.get("steps", []) for one in step[1:])]
        values = [other.get(self.axis, _EVERYTHING) for other in others if isinstance(other, Mapping)]
        return any(value not in {*self.kept, _EVERYTHING} for value in values)


def _listed(given: Any, every: list[str]) -> list[str]:
    if given is None or isinstance(given, Mapping):
        return every
    return given if isinstance(given, list) else [given]


def _sweeps(tables: Mapping[str, Any]) -> set[str]:
    every = (tables, *tables.get("panels", []), *tables.get("parts", []))
    return {str(one["sweep"]) for one in every if "sweep" in one}


def _how(caption: str) -> str:
    """Return a caption without its first sentence, which says what becomes of all disciplines."""
    _, _, rest = caption.partition(". ")
    return rest or caption
