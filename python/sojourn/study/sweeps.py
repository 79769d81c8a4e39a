"""The sweeps of a study: axes that are named once and shared, and what their values change."""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sojourn.reading import input_error, shown, unknown_name
from sojourn.study.kinds import AXIS, check_known
from sojourn.sweeps import plan as plans
from sojourn.sweeps.axes import filled
from sojourn.sweeps.axis import AxisError, values
from sojourn.worlds.registry import OWN, SIM, options_of

PLUGINS = "plugins"
"""Files of the study's folder with algorithms that a sweep names."""
_OWN = ("axes", "metrics", "runs", PLUGINS)
KEYS = (*plans.KEYS, *_OWN)

_LENGTHS = ("duration", "warmup")
"""What is no condition of a run, and may be shortened everywhere."""
_MAX_DIFFERENT = 4

_MADE, _SWEEP = "made", "sweep"
"""The arguments by which a study's function asks for what the axes change, and for the sweep's name."""

Changes = Callable[..., Mapping[str, Any] | None]
_Point = tuple[dict[str, Any], dict[str, Any]]
"""Where a point is, and what is changed there."""


def sweep_tables(
    name: str,
    given: Mapping[str, Any],
    study: Mapping[str, Any],
    changes: Changes | None,
    asked: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a sweep of a study as the tables of a sweep file: base and seeds of the study, its axes written out.

    What is asked for by key is changed last, at every point.
    """
    options = {option.name for world in OWN for option in options_of(world)}
    for key in given:
        # Options of another package's world are the plan's to check.
        if key not in {*KEYS, *options} and given.get("world", SIM) in OWN:
            raise unknown_name(f"sweep.{name}: no key of a sweep is called", key, [*KEYS, *sorted(options)])
    tables = {key: study[key] for key in ("base", "seeds") if key in study}
    tables |= {key: value for key, value in given.items() if key not in _OWN}
    axes = dict(_axes(name, given.get("axes", []), study.get("axes", {})))
    if changes is None and not asked:
        return tables | {"axes": axes}
    points = list(_points(name, axes, changes or dict))
    for key in asked or {}:
        _check_asked(name, key, points, study.get("readings", []))
    return tables | {"points": [{"at": at, "set": {**made, **(asked or {})}} for at, made in points]}


def _axes(name: str, given: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each axis as a sweep file has it; a list names axes of the study, a table may give them other values."""
    named = dict.fromkeys(given, True) if isinstance(given, list) else dict(given)
    for axis, wanted in named.items():
        if axis not in known:
            if wanted is True:
                raise unknown_name(f"sweep.{name}.axes: the study has no axis", axis, list(known))
            yield axis, wanted
            continue
        yield axis, _axis(f"sweep.{name}.axes.{axis}", known[axis], wanted)


def _axis(key: str, known: Mapping[str, Any], wanted: Any) -> Any:
    check_known(known, AXIS, f"{key}: no key of an axis is called")
    if "levels" in known:
        levels = known["levels"]
        chosen = list(levels) if wanted is True else wanted
        if not isinstance(chosen, list):
            raise input_error(f"{key}: found {shown(chosen)}; allowed: true, or a list of levels", key=key)
        for level in chosen:
            if str(level) not in levels:
                raise unknown_name(f"{key}: there is no", str(level), list(levels))
        return {str(level): levels[str(level)] for level in chosen}
    if "values" not in known:
        raise input_error(f"axes: {key} has neither; allowed: 'values' or 'levels'", key=key)
    chosen = known["values"] if wanted is True else wanted
    return {"values": chosen, "set": known["set"]} if "set" in known else chosen


def _check_asked(name: str, key: str, points: Sequence[_Point], readings: Sequence[str]) -> None:
    """Raise InputError where points differ in a key that is asked for: their names would no longer be true.

    Readings of a source may differ in the preset of an algorithm, which is gone with the algorithm.
    """
    if not all(made.get(key) is None or isinstance(made[key], Mapping) for _, made in points):
        readings = ()
    found: dict[tuple[Any, ...], dict[str, None]] = {}
    for at, made in points:
        found.setdefault(tuple(at.get(axis) for axis in readings), {})[shown(made.get(key))] = None
    different = max(map(list, found.values()), key=len, default=[])
    if len(different) > 1 and key not in _LENGTHS:
        some = ", ".join(different[:_MAX_DIFFERENT]) + (", ..." if len(different) > _MAX_DIFFERENT else "")
        message = f"--set {key}: the points of the sweep {name} differ in it ({some}); allowed: a key that they share"
        raise input_error(message, key=key)


def _points(name: str, axes: Mapping[str, Any], changes: Changes) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every point, and what axes, then the study's function change there; where that returns None is no point."""
    wanted = {} if changes is dict else inspect.signature(changes).parameters
    lists = [list(_values(axis, given)) for axis, given in axes.items()]
    for row in itertools.product(*lists):
        at = {axis: value for axis, (value, _) in zip(axes, row, strict=True)}
        made = {key: change for _, some in row for key, change in some.items()}
        given = {_SWEEP: name, **at, _MADE: made}
        more = changes(**{name: given[name] for name in wanted if name in given})
        if more is not None:
            yield at, {**made, **more}


def _values(axis: str, given: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    if isinstance(given, Mapping) and "values" not in given and "from" not in given:
        yield from given.items()
        return
    made = given.get("set", {}) if isinstance(given, Mapping) and "values" in given else {}
    listed = given["values"] if isinstance(given, Mapping) and "values" in given else given
    try:
        for value in values(listed):
            yield value, filled(made, value)
    except AxisError as error:
        raise input_error(f"axes.{axis}: {error}", key=f"axes.{axis}") from None
