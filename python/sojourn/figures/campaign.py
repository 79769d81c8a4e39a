"""Figures of datasets: what a metric does over the points of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.data import metrics
from sojourn.data.dataset import Dataset
from sojourn.data.describe import Tables, refuse_mixed_groups, refuse_no_number, replicates
from sojourn.data.statistics import Line, line
from sojourn.figures.style import CAPACITY, INK, drawn, family
from sojourn.reading import input_error
from sojourn.spelling import spelled

if TYPE_CHECKING:
    import pyarrow as pa

_HEIGHT_IN = 3.0
_BAND = 0.2
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """What of a dataset is drawn: rows, and the columns that play each part."""

    table: "pa.Table"
    x: str
    y: tuple[str, ...]
    by: str | None
    tables: Tables

    def parts(self) -> dict[str, "pa.Table"]:
        """Return the rows of each value of `by`, in the table's order; all rows where there is no `by`."""
        if self.by is None:
            return {"": self.table}
        return {str(value): self._where(self.table, self.by, value) for value in self._distinct(self.table, self.by)}

    def cells(self, part: "pa.Table") -> list[tuple[Any, list[float | None]]]:
        """Return the values of the first `y`, one for each seed, at each value of `x`."""
        scale = _scale(self.y[0])
        return [
            (value, [None if one is None else scale * one for one in cell.values])
            for (value,), cell in replicates(part, [self.x], self.y[0]).items()
        ]

    def counts(self) -> str:
        """Say how many runs each mean stands on, and what was averaged before."""
        by = list(dict.fromkeys(filter(None, (self.x, self.by))))
        cells = replicates(self.table, by, self.y[0]).values()
        sizes = sorted({sum(value is not None for value in cell.values) for cell in cells})
        n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
        pooled = [name for name in self.tables.axes if any(name in cell.varied for cell in cells)]
        if not pooled:
            return f"{n} runs" if sizes[-1] != 1 else f"{n} run"
        return f"{n} seeds, each averaged over {', '.join(pooled)}"

    def refuse_what_cannot_be_drawn(self) -> None:
        """Raise InputError where a column to draw holds no numbers, or those of several groups would be mixed."""
        for name in self.y:
            refuse_no_number(self.table, name)
            refuse_mixed_groups(self.tables, name, [self.x, self.by or ""], self.table)

    def _distinct(self, part: "pa.Table", name: str) -> list[Any]:
        values: list[Any] = part[name].unique().to_pylist()
        return values

    def _where(self, part: "pa.Table", name: str, value: Any) -> "pa.Table":
        import pyarrow.compute as pc

        return part.filter(pc.equal(part[name], value))


def numbers(part: "pa.Table", name: str) -> Values:
    """Return the numbers of a column as they are shown, shares in percent; rows without one are left out."""
    column = part[name].drop_null()
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64) * _scale(name)
    except ValueError:
        raise input_error(f"the column {name!r} holds no numbers", key=name) from None


def _scale(name: str) -> float:
    metric = metrics.find(name)
    return 100.0 if metric is not None and metric.percent else 1.0


def view(
    dataset: Dataset, x: str | None, y: Sequence[str], by: str | None, where: Mapping[str, str] | None = None
) -> View:
    """Choose rows and columns of a dataset; raises InputError where there is none of a name."""
    tables = dataset.measured()
    columns = list(filter(None, dict.fromkeys([x, *y, by])))
    rows = tables.holding(columns, where or {})
    return View(rows, x or "", tuple(y), by, tables)


def draw(kind: str, shown: View) -> Figure:
    """Draw a view as one of `KINDS`."""
    if not shown.y:
        raise input_error(f"{spelled('y')} names no column", key="y")
    if kind in _NEED_X and not shown.x:
        raise input_error(f"a figure of the kind {kind} needs {spelled('x')}", key="x")
    if kind == "heatmap" and shown.by is None:
        raise input_error(f"a heat map needs {spelled('by')}, the column of its rows", key="by")
    if kind in _NEED_SEVERAL and len(shown.y) < _NEED_SEVERAL[kind]:
        message = f"a figure of the kind {kind} needs at least {_NEED_SEVERAL[kind]} columns in {spelled('y')}"
        raise input_error(message, key="y", found=", ".join(shown.y))
    shown.refuse_what_cannot_be_drawn()
    with drawn(_HEIGHT_IN) as figure:
        _DRAW[kind](figure, shown)
        if kind in _MEANS:
            what = "mean" if kind == "heatmap" else "mean and its 95 % interval"
            figure.suptitle(f"{what}, {shown.counts()}", fontsize="small", x=0.01, ha="left")
    return figure


def _lines(figure: Figure, shown: View) -> None:
    axes = _axes(figure, shown.x, shown.y[0])
    for position, (name, part) in enumerate(shown.parts().items()):
        cells = shown.cells(part)
        x, lines = _numeric([value for value, _ in cells]), [_line(values) for _, values in cells]
        order = np.argsort(x)
        means = np.array([one.get("mean") for one in lines], dtype=np.float64)
        low, high = (np.array([_end(one, end) for one in lines], dtype=np.float64) for end in ("low", "high"))
        axes.plot(x[order], means[order], "o-", markersize=3, color=family(position), label=name)
        axes.fill_between(x[order], low[order], high[order], color=family(position), alpha=_BAND, linewidth=0)
    _legend(figure, axes, shown)


def _bars(figure: Figure, shown: View) -> None:
    axes = _axes(figure, shown.x, shown.y[0])
    parts = shown.parts()
    labels = _labels(shown)
    width = 0.8 / len(parts)
    for position, (name, part) in enumerate(parts.items()):
        lines = {str(value): _line(values) for value, values in shown.cells(part)}
        places = [labels.index(label) + (position - (len(parts) - 1) / 2) * width for label in lines]
        means = np.array([one.get("mean") for one in lines.values()], dtype=np.float64)
        ends = np.array([[_end(one, end) for one in lines.values()] for end in ("low", "high")], dtype=np.float64)
        errors = np.abs(ends - means)
        bars = {"ecolor": INK, "elinewidth": 0.7, "capsize": 1.5}
        axes.bar(places, means, width, yerr=errors, color=family(position), label=name, error_kw=bars)
    axes.set_xticks(range(len(labels)), labels)
    _legend(figure, axes, shown)


def _boxes(figure: Figure, shown: View) -> None:
    axes = _axes(figure, shown.x, shown.y[0])
    parts = shown.parts()
    labels = _labels(shown)
    width = 0.8 / len(parts)
    for position, (name, part) in enumerate(parts.items()):
        cells = {str(value): [one for one in values if one is not None] for value, values in shown.cells(part)}
        places = [labels.index(label) + (position - (len(parts) - 1) / 2) * width for label in cells]
        colour = family(position)
        drawn = axes.boxplot(
            list(cells.values()),
            positions=places,
            widths=0.8 * width,
            whis=(10, 90),
            patch_artist=True,
            boxprops={"facecolor": colour, "alpha": 0.5, "linewidth": 0.6},
            medianprops={"color": INK},
            flierprops={"marker": ".", "markersize": 2, "markerfacecolor": colour, "markeredgecolor": "none"},
            manage_ticks=False,
        )
        drawn["boxes"][0].set_label(name)
    axes.set_xticks(range(len(labels)), labels)
    _legend(figure, axes, shown)


def _cdfs(figure: Figure, shown: View) -> None:
    axes = _axes(figure, shown.y[0], "fraction of rows")
    for position, (name, part) in enumerate(shown.parts().items()):
        axes.ecdf(numbers(part, shown.y[0]), color=family(position), label=name)
    axes.set_ylim(0, 1)
    _legend(figure, axes, shown)


def _heatmap(figure: Figure, shown: View) -> None:
    axes = _axes(figure, shown.x, shown.by or "")
    labels, parts = _labels(shown), shown.parts()
    means = np.full((len(parts), len(labels)), np.nan)
    for row, part in enumerate(parts.values()):
        for value, values in shown.cells(part):
            means[row, labels.index(str(value))] = line("", values).get("mean", np.nan)
    image = axes.imshow(means, aspect="auto", cmap="cividis", origin="lower")
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(parts)), list(parts))
    middle = (np.nanmin(means) + np.nanmax(means)) / 2 if np.isfinite(means).any() else 0.0
    for row, column in np.argwhere(np.isfinite(means)):
        colour = "white" if means[row, column] < middle else INK
        axes.text(column, row, f"{means[row, column]:.3g}", ha="center", va="center", color=colour)
    figure.colorbar(image, label=metrics.title(shown.y[0]))


def _scatter(figure: Figure, shown: View) -> None:
    axes = _axes(figure, shown.x, shown.y[0])
    for position, (name, part) in enumerate(shown.parts().items()):
        known = part.select([shown.x, shown.y[0]]).drop_null()
        axes.plot(
            numbers(known, shown.x), numbers(known, shown.y[0]), ".", markersize=3, color=family(position), label=name
        )
    _legend(figure, axes, shown)


def _parallel(figure: Figure, shown: View) -> None:
    axes = figure.subplots()
    whole = [numbers(shown.table, name) for name in shown.y]
    places = range(len(shown.y))
    for position, (name, part) in enumerate(shown.parts().items()):
        known = part.select(list(shown.y)).drop_null()
        rows = np.array([_scaled(numbers(known, one), all_) for one, all_ in zip(shown.y, whole, strict=True)])
        axes.plot(places, rows, color=family(position), alpha=min(1.0, 20 / max(rows.shape[1], 1)), linewidth=0.6)
        axes.plot(places, rows.mean(axis=1), color=family(position), linewidth=1.6, label=name)
    axes.vlines(places, 0, 1, color=INK, linewidth=0.6)
    for place, values in zip(places, whole, strict=True):
        axes.annotate(f"{values.max():.3g}", (place, 1), (0, 3), textcoords="offset points", ha="center")
        axes.annotate(f"{values.min():.3g}", (place, 0), (0, -9), textcoords="offset points", ha="center")
    axes.set_xticks(places, shown.y)
    axes.tick_params(axis="x", pad=10)
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    _legend(figure, axes, shown)


def _kiviat(figure: Figure, shown: View) -> None:
    axes = figure.subplots(subplot_kw={"projection": "polar"})
    angles = np.linspace(0, 2 * np.pi, len(shown.y), endpoint=False)
    most = [max(np.abs(numbers(shown.table, name)).max(), 1e-300) for name in shown.y]
    for position, (name, part) in enumerate(shown.parts().items()):
        means = [numbers(part, one).mean() / top for one, top in zip(shown.y, most, strict=True)]
        closed, around = np.append(means, means[0]), np.append(angles, angles[0])
        axes.plot(around, closed, color=family(position), label=name)
        axes.fill(around, closed, color=family(position), alpha=0.1)
    axes.set_xticks(angles, [f"{name}\n(1 = {top:.3g})" for name, top in zip(shown.y, most, strict=True)])
    axes.tick_params(axis="x", pad=18)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.5, 1], labels=["", ""])
    axes.grid(color=CAPACITY)
    _legend(figure, axes, shown)


_DRAW: dict[str, Callable[[Figure, View], None]] = {
    "line": _lines,
    "bars": _bars,
    "box": _boxes,
    "cdf": _cdfs,
    "heatmap": _heatmap,
    "scatter": _scatter,
    "parallel": _parallel,
    "kiviat": _kiviat,
}
KINDS = tuple(_DRAW)
_MEANS = ("line", "bars", "heatmap")
_NEED_X = ("line", "bars", "box", "heatmap", "scatter")
_NEED_SEVERAL = {"parallel": 2, "kiviat": 3}


def _axes(figure: Figure, x: str, y: str) -> Axes:
    axes: Axes = figure.subplots()
    axes.set_xlabel(metrics.title(x))
    axes.set_ylabel(metrics.title(y))
    return axes


def _legend(figure: Figure, axes: Axes, shown: View) -> None:
    if shown.by is not None:
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, title=metrics.title(shown.by), loc="outside right center")


def _labels(shown: View) -> list[str]:
    return [str(value) for value in shown.table[shown.x].unique().to_pylist()]


def _line(values: Sequence[float | None]) -> Line:
    return line("", values)


def _end(one: Line, end: str) -> float | None:
    """Return an end of the interval of a mean; the mean itself where there is but one value."""
    found: float | None = one.get(f"ci95_{end}", one.get("mean"))  # type: ignore[assignment]
    return found


def _numeric(values: Sequence[Any]) -> Values:
    try:
        return np.asarray(values, dtype=np.float64)
    except ValueError:
        message = f"a line needs numbers on its x axis, not {values[0]!r}; a column of quantities has one with a unit"
        raise input_error(message, key="x", found=str(values[0])) from None


def _scaled(values: Values, whole: Values) -> Values:
    low, high = whole.min(), whole.max()
    return (values - low) / (high - low) if high > low else np.full_like(values, 0.5)
