"""Which two scenarios of a study's sweep stand for a figure, side by side in the laboratory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn._native import InputError
from sojourn.pages.laboratory import Link, link
from sojourn.study.claims import place
from sojourn.study.means import is_in
from sojourn.sweeps.plan import Plan, Point

Axes = Mapping[str, Mapping[str, Any]]


def links(figure: Mapping[str, Any], plan: Plan, axes: Axes) -> list[Link]:
    """Return the link of a figure's tables to two points of its sweep; none where the laboratory cannot run them.

    Left is the figure's reference, where it has one, else its first point. Right is a point that differs from it in one
    axis only: that of the reference, else that of the colours, else the one across.
    """
    tables = {**figure, **next(iter(figure.get("panels", [])), {})}
    reference = _reference(tables)
    points = list(_points(plan, tables.get("where", {}), reference))
    if not points:
        return []
    left = next((point for point in points if _is_at(point, reference)), points[0])
    asked = [*reference, *_names(tables.get("by")), *_names(tables.get("x"))]
    right, axis = _other(left, points, asked)
    try:
        return link(_words(left, right, axis, axes), *(plan.base.changed(point.changes) for point in (left, right)))
    except InputError:
        # A point of which only another world makes something.
        return []


def _words(left: Point, right: Point, axis: str, axes: Axes) -> str:
    words = [place(point.coordinates, [axis], axes) for point in (right, left)] if axis else []
    return " beside ".join(words) or "its first scenario"


def _reference(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the coordinates that a figure's numbers are compared with."""
    steps = (step[1] for step in tables.get("steps", []) if len(step) > 1)
    return next((step for step in steps if isinstance(step, Mapping) and "sweep" not in step), {})


def _points(plan: Plan, where: Mapping[str, Any], reference: Mapping[str, Any]) -> Iterator[Point]:
    """Yield the points that a figure shows, and its reference's."""
    for point in map(plan.point, range(plan.points)):
        shown = {name: given for name, given in where.items() if name in point.coordinates}
        apart = {name: given for name, given in shown.items() if name not in reference}
        if _is_at(point, shown) or (reference and _is_at(point, reference) and _is_at(point, apart)):
            yield point


def _is_at(point: Point, where: Mapping[str, Any]) -> bool:
    return all(is_in(point.coordinates.get(name), wanted) for name, wanted in where.items())


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])


def _other(left: Point, points: Sequence[Point], asked: Sequence[str]) -> tuple[Point, str]:
    """Return the last point that differs from another in one axis only, and the axis: if possible one asked for."""
    alone: dict[str, Point] = {}
    for point in points:
        axes = [name for name, value in point.coordinates.items() if value != left.coordinates[name]]
        if len(axes) == 1:
            alone[axes[0]] = point
    axis = next((name for name in (*asked, *left.coordinates) if name in alone), "")
    return (alone[axis], axis) if axis else (left, "")
