"""The page of a sweep's dataset."""

from typing import TYPE_CHECKING, Any

from sojourn._native import InputError
from sojourn.data import metrics
from sojourn.data.describe import columns
from sojourn.pages.laboratory import Link, link
from sojourn.pages.model import MAX_ROWS, Cell, File, Fold, Page, Picture, Table, Tile
from sojourn.pages.pictures import picture
from sojourn.registry import sentence_of
from sojourn.report import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from sojourn.data.dataset import Dataset

_QUEUE = Shown("queue [ms]", "bottleneck_queue_ms_mean")
_USED = Shown("utilization [%]", "bottleneck_utilization", 100, 1)
_MAX_COLOURS = 6
_MAX_TICKS = 12
_MAX_LINKED = 200
_BESIDE = "A link in the last column opens the point in the laboratory, beside the first point."

Line = dict[str, Any]
Place = tuple[Any, ...]
"""The values of the axes at a point."""


def page(dataset: "Dataset", command: str = "") -> Page:
    """Return the page of a dataset; `command` makes it again."""
    lines = dataset.describe(metrics=[_QUEUE.metric, _USED.metric]).lines
    shown = _points(dataset.axes, lines, links := _links(dataset))
    folds = [Fold(f"All {len(shown.rows)} points", tables=[shown])] if len(shown.rows) > MAX_ROWS else []
    failed = dataset.failures()
    return Page(
        title=_finding(dataset.axes, lines),
        kicker=f"Sweep {dataset.name}: {_count(dataset.points, 'point')} with {_count(dataset.seeds, 'run')} each",
        lead=[f"{failed} runs failed; the column `error` of the table `runs` says why."] if failed else [],
        tiles=_tiles(lines),
        pictures=_pictures(dataset),
        heading="What does each point measure?",
        table=shown,
        notes=[
            "± is half of the 95 % interval of the mean.",
            *([_BESIDE] if links else []),
            *(["The first ten points are shown."] if folds else []),
            *([said] if (said := sentence_of(dataset.description.get("plug_ins", []))) else []),
        ],
        folds=[*folds, _described(dataset)],
        command=command,
        files=[File("Base scenario", dataset.base)],
    )


def _points(axes: "Sequence[str]", lines: "Sequence[Line]", links: "Mapping[Place, Link]") -> Table:
    """Return a row for each point: where it is, its queue, its utilization, and what opens it in the laboratory."""
    rows: dict[Place, dict[str, Cell]] = {}
    for line in lines:
        shown = _QUEUE if line["metric"] == _QUEUE.metric else _USED
        rows.setdefault(tuple(line[axis] for axis in axes), {})[shown.metric] = _cell(shown, line)
    nothing = Cell.of(None)
    body = [
        [*map(Cell.of, key), *(found.get(one.metric, nothing) for one in (_QUEUE, _USED))]
        for key, found in rows.items()
    ]
    columns = [*map(metrics.key_words, axes), _QUEUE.label, _USED.label]
    if links:
        columns.append("laboratory")
        for row, key in zip(body, rows, strict=True):
            row.append(Cell("open", address=links[key].address) if key in links else nothing)
    return Table(columns, body, "Points of the sweep")


def _links(dataset: "Dataset") -> dict[Place, Link]:
    """Return what opens each point in the laboratory, beside the first point; none where it cannot run them.

    Of a large sweep only the first rows have links.
    """
    try:
        plan = dataset.plan()
        count = plan.points if plan.points <= _MAX_LINKED else MAX_ROWS
        points = [plan.point(index) for index in range(count)]
        sources = [plan.base.changed(point.changes) for point in points]
        return {
            tuple(point.coordinates.values()): one
            for point, source in zip(points, sources, strict=True)
            for one in link("open", sources[0], source)
        }
    except InputError:
        # A sweep of an older version, or of a world or with a plug-in that is not here.
        return {}


def _cell(shown: Shown, line: "Mapping[str, Any]") -> Cell:
    mean = line.get("mean")
    if mean is None:
        return Cell.of(None)
    low, high = line.get("ci95_low"), line.get("ci95_high")
    ends = None if low is None or high is None else (low, high)
    text = shown.cell({"mean": mean, "sd": line.get("sd"), "ci95": ends, "n": line["n"]})
    return Cell(text, mean * shown.scale)


def _queues(lines: "Sequence[Line]") -> "list[Line]":
    found = [line for line in lines if line["metric"] == _QUEUE.metric and line.get("mean") is not None]
    return sorted(found, key=lambda line: float(line["mean"]))


def _finding(axes: "Sequence[str]", lines: "Sequence[Line]") -> str:
    queues = _queues(lines)
    if not queues:
        return "No point of the sweep has a queue"
    low, high = (_QUEUE.number(queues[place]["mean"]) for place in (0, -1))
    if low == high:
        return f"Packets wait {low} ms in the mean at every point"
    where = ", ".join(f"{metrics.key_words(axis)} = {queues[0][axis]}" for axis in axes)
    return f"Packets wait between {low} and {high} ms in the mean; the shortest wait is at {where}"


def _tiles(lines: "Sequence[Line]") -> list[Tile]:
    queues = _queues(lines)
    used = [line["mean"] for line in lines if line["metric"] == _USED.metric and line.get("mean") is not None]
    found = [
        Tile(f"{_QUEUE.number(line['mean'])} ms", f"{which} mean queueing delay of all points")
        for which, line in zip(("shortest", "longest"), (queues[0], queues[-1]) if queues else (), strict=False)
    ]
    ends = (("lowest", min), ("highest", max)) if used else ()
    return [
        *found,
        *(Tile(f"{_USED.number(end(used))} %", f"{which} utilization of all points") for which, end in ends),
    ]


def _pictures(dataset: "Dataset") -> list[Picture]:
    """Return the queueing delay over the first axis, with a colour for each value of another one."""
    from sojourn.figures.campaign import draw, view

    runs = dataset.table()
    values = {axis: len(runs[axis].unique()) for axis in dataset.axes}
    if not values:
        return []
    numbers = {axis: _numeric(runs, axis) for axis in values}
    x = max(values, key=lambda axis: (numbers[axis] is not None, values[axis]))
    others = [axis for axis in values if axis != x and values[axis] <= _MAX_COLOURS]
    if numbers[x] is None and values[x] > _MAX_TICKS:
        return []
    kind = "bars" if numbers[x] is None else "line"
    by = max(others, key=lambda axis: (numbers[axis] is None, values[axis]), default=None)
    figure = draw(kind, view(dataset, numbers[x] or x, [_QUEUE.metric], by))
    finding = _seen(dataset, x)
    return [
        picture(
            figure,
            finding,
            f"Means over {_count(dataset.seeds, 'run')} at each point, with their 95 % intervals.",
            name=dataset.name,
        )
    ]


def _seen(dataset: "Dataset", axis: str) -> str:
    """Return between which two of the axis' values the mean wait over all other axes changes most."""
    lines = dataset.describe(by=[axis], metrics=[_QUEUE.metric]).lines
    waits = {str(line[axis]): line["mean"] for line in _queues(lines)}
    if not waits:
        return "No point has a queue."
    name = metrics.key_words(axis)
    low, high = next(iter(waits)), list(waits)[-1]
    return (
        f"Packets wait {_QUEUE.number(waits[low])} ms in the mean where {name} = {low}, "
        f"and {_QUEUE.number(waits[high])} ms where {name} = {high}."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _numeric(runs: "pa.Table", axis: str) -> str | None:
    """Return the column with an axis' numbers: itself, or the one with a unit beside it."""
    import pyarrow as pa

    for name in (axis, *(one for one in runs.column_names if one.startswith(f"{axis}_"))):
        kind = runs.schema.field(name).type
        if pa.types.is_floating(kind) or pa.types.is_integer(kind):
            return str(name)
    return None


def _described(dataset: "Dataset") -> Fold:
    lines = dataset.describe().lines
    names = columns(lines)
    rows = [[Cell.of(line.get(name)) for name in names] for line in lines]
    words = "Shares and rates are fractions here, from 0 to 1, as in the dataset. n counts runs."
    return Fold(
        f"All {len(rows)} means", [words], tables=[Table([metrics.label(name) for name in names], rows, "Means")]
    )
