"""The figure and the page of a comparison."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn import compared, purposes
from sojourn.data.statistics import Statistic
from sojourn.differences import Differences
from sojourn.pages.laboratory import Link, link
from sojourn.pages.model import MAX_ROWS, Cell, File, Fold, Page, Table, Tile
from sojourn.pages.pictures import picture
from sojourn.report import NO_VALUE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.figures.variants import Panel
    from sojourn.purposes import Column

_MAX_PANELS = 4
# Columns that a caption tells; the tiles have the rest.
_SEEN = 2
_CAPTION = "Each dot is the mean of a variant, and each bar its 95 % interval; squares are the best of a panel."


def page(comparison: Differences, command: str = "") -> Page:
    """Return the page of a comparison; `command` makes it again."""
    table = compared.tabulated(comparison)
    first = comparison.results[comparison.reference]
    record = first.runs[0]
    shown = Table.of_grid(table.grid, "Variants")
    folds = [_everything(comparison)]
    if len(shown.rows) > MAX_ROWS:
        folds.insert(0, Fold("All variants", tables=[shown]))
    return Page(
        title=compared.headline(comparison),
        kicker=f"Comparison of {len(comparison.results)} variants of {first.name}, {len(first.runs)} "
        f"run{'s' if len(first.runs) > 1 else ''} of {record['duration_s']:g} s each",
        lead=[compared.answer(comparison)],
        tiles=_tiles(comparison),
        pictures=[
            picture(
                figure(comparison), _seen(comparison), _CAPTION, name="comparison", laboratory=_laboratory(comparison)
            )
        ],
        heading="What does each variant do?",
        table=shown,
        notes=table.notes(comparison),
        folds=folds,
        command=command,
        files=[File(f"Scenario of {name}", result.to_toml()) for name, result in comparison.results.items()],
    )


def _laboratory(comparison: Differences) -> list[Link]:
    """Return a link for each simulated variant, which opens it beside the reference."""
    reference = comparison.reference
    others = [name for name in comparison.order if name != reference and name not in comparison.beside]
    sources = {name: comparison.results[name].source for name in (reference, *others)}
    return [one for name in others for one in link(f"{name} beside {reference}", sources[reference], sources[name])]


def figure(comparison: Differences) -> "Figure":
    """Draw the main columns of the comparison's table."""
    from sojourn.figures.variants import variants

    return variants(comparison.order, [_panel(comparison, column) for column in _main(comparison)])


def _main(comparison: Differences) -> "list[Column]":
    """Return the columns that stand for the comparison: those that decide, background's share, then the queue."""
    columns = compared.tabulated(comparison).columns
    decides = comparison.purpose or purposes.usual(comparison.scenarios)
    about = [] if decides is None else decides.groups(comparison.scenarios)
    background = purposes.PURPOSES["background"].groups(comparison.scenarios)

    def rank(column: "Column") -> int:
        shares = column.shown.metric.startswith("share.")
        is_about = column.group in about and (shares or not column.shown.metric.startswith("goodput"))
        ranks = (is_about, shares and column.group in background, column.shown.metric == compared.QUEUE, shares)
        return ranks.index(True) if True in ranks else len(ranks)

    return sorted(columns, key=rank)[:_MAX_PANELS]


def _panel(comparison: Differences, column: "Column") -> "Panel":
    from sojourn.figures.variants import Panel

    metric, scale = column.shown.metric, column.shown.scale
    found = {
        name: _scaled(result.summary[metric], scale)
        for name, result in comparison.results.items()
        if metric in result.summary
    }
    best = compared.best_of(comparison, column)
    winners = [
        name
        for name in found
        if (mean := comparison.mean(name, metric)) is not None and column.shown.number(mean) == best
    ]
    return Panel(column.shown.label.replace(": ", ":\n", 1), found, winners)


def _scaled(statistic: Statistic, scale: float) -> Statistic:
    mean, ends = statistic["mean"], statistic["ci95"]
    return {
        **statistic,
        "mean": None if mean is None else mean * scale,
        "ci95": None if ends is None else (ends[0] * scale, ends[1] * scale),
    }


def _changes(comparison: Differences) -> list[tuple[str, list[str]]]:
    """Return the main columns with their values, of the reference and of the best variant where that is another."""
    names = list(dict.fromkeys((comparison.reference, compared.best(comparison))))
    return [
        (column.shown.label, [column.shown.number(mean) for mean in means if mean is not None])
        for column in _main(comparison)
        for means in [[comparison.mean(name, column.shown.metric) for name in names]]
    ]


def _tiles(comparison: Differences) -> list[Tile]:
    """Return the main metrics of the best variant beside those of the reference."""
    arrow = _arrow(comparison)
    return [Tile(" → ".join(values) or NO_VALUE, f"{label}, {arrow}") for label, values in _changes(comparison)]


def _arrow(comparison: Differences) -> str:
    return " → ".join(dict.fromkeys((comparison.reference, compared.best(comparison))))


def _seen(comparison: Differences) -> str:
    """Return what the reader should see in the figure: what changes from the reference to the best variant."""
    seen = [_worded(label, values) for label, values in _changes(comparison) if values][:_SEEN]
    best = compared.best(comparison)
    if best == comparison.reference:
        return f"{best} {compared.criterion(comparison)}: {' and '.join(seen)}."
    return f"{best} instead of {comparison.reference} brings {' and '.join(seen)}."


def _worded(label: str, values: Sequence[str]) -> str:
    """Return a column of the comparison in words.

    >>> _worded("call: one-way delay p99 [ms]", ["565.4", "17.69"])
    'the one-way delay p99 of call from 565.4 ms to 17.69 ms'
    >>> _worded("queue [ms]", ["472.4"])
    'the queue 472.4 ms'
    """
    group, _, metric = label.rpartition(": ")
    metric, _, unit = metric.removesuffix("]").partition(" [")
    owner = f" of {group}" if group else ""
    numbers = [f"{value} {unit}".rstrip() for value in values]
    span = f"from {numbers[0]} to {numbers[1]}" if len(numbers) > 1 else numbers[0]
    return f"the {metric}{owner} {span}"


def _everything(comparison: Differences) -> Fold:
    names = ("variant", "metric", "mean", "difference", "ci95_low", "ci95_high", "n")
    rows = [[Cell.of(row[name]) for name in names] for row in comparison.rows() if row["mean"] is not None]
    words = "Differences are from the reference, with the ends of their 95 % intervals."
    return Fold(f"All {len(rows)} numbers", [words], tables=[Table(names, rows, "All metrics of all variants")])
