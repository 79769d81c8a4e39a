"""The command `stats`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, json_option
from sojourn.cli.targets import conditions

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset

# Format and what tabulate calls it.
_FORMATS = {"table": "simple", "markdown": "github", "latex": "latex_booktabs"}
_DIGITS = ".5g"


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn stats results/capacity-and-buffer
    sojourn stats results/capacity-and-buffer --by bottleneck.rate,group --metric share --format markdown
    sojourn stats results/capacity-and-buffer --bootstrap 1000 --format csv > shares.csv
    sojourn stats results/capacity-and-buffer --by bottleneck.rate --metric share --where group=tcp
    sojourn stats results/queues --metric share --where group=tcp --against case=DropTail
    sojourn stats results/capacity-and-buffer --sql "select point, avg(share) from groups group by point"
    """,
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--by", metavar="COLUMNS", help="Columns whose values tell the lines apart.  [default: axes and group]")
@click.option("--metric", "metrics", metavar="COLUMNS", help="Columns to describe.  [default: the usual ones]")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Describe only rows with this value.")
@click.option(
    "--against",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Describe differences from the lines with this value, of runs with the same seed.",
)
@click.option("--bootstrap", type=click.IntRange(min=0), default=0, metavar="N", help="Add intervals of N resamples.")
@click.option(
    "--format",
    "form",
    type=click.Choice([*_FORMATS, "csv", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@json_option
@click.option("--sql", metavar="QUERY", help="Print what DuckDB answers instead; tables have the names of the folders.")
def stats(  # noqa: PLR0913 (one for each option)
    directory: str,
    by: str | None,
    metrics: str | None,
    where: tuple[str, ...],
    against: tuple[str, ...],
    bootstrap: int,
    sql: str | None,
    *,
    form: str,
    as_json: bool,
) -> None:
    """Describe the dataset of a sweep: mean, spread, intervals and quantiles of its metrics.

    n counts runs. Over axes that --by leaves out, values are averaged within each seed first.
    """
    from sojourn.sweeps import Dataset

    form = "json" if as_json else form
    dataset = Dataset.open(directory)
    if sql is not None:
        _print(dataset.sql(sql).to_pylist(), form)
        return
    found = dataset.describe(
        _split(by),
        _split(metrics),
        where=conditions(where),
        against=conditions(against, "--against"),
        resamples=bootstrap,
    )
    _print(found.lines, form)
    for note in found.notes:
        render.print_note(note)
    _remark(dataset)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def _print(lines: Sequence[Mapping[str, Any]], form: str) -> None:
    from sojourn.data.describe import columns

    names = columns(lines)
    rows = [[line.get(name) for name in names] for line in lines]
    if form == "json":
        render.print_json(list(lines))
    elif form == "csv":
        render.print_csv(names, rows)
    else:
        from tabulate import tabulate

        click.echo(tabulate(rows, headers=names, tablefmt=_FORMATS[form], floatfmt=_DIGITS, missingval="-"))


def _remark(dataset: "Dataset") -> None:
    """Say on stderr what is missing in the numbers."""
    if dataset.missing:
        click.echo(
            f"the sweep is not finished: {len(dataset.missing)} of {len(dataset.batches)} batches lack", err=True
        )
    failed = dataset.failures()
    if failed:
        click.echo(f"{failed} runs failed and are left out: see the column `error` of the table runs", err=True)
    print_alike(dataset)


def print_alike(dataset: "Dataset") -> None:
    """Say on stderr where more than one run is of no use."""
    points = dataset.alike()
    if points:
        click.echo(
            f"warning: at {points} of {dataset.description['points']} points all runs are alike, since nothing "
            "there is random: their spread is zero, and one run would do",
            err=True,
        )
