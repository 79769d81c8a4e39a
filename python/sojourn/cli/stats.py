"""The command `stats`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand

if TYPE_CHECKING:
    from sojourn.sweep.dataset import Dataset

# Format and what tabulate calls it.
_FORMATS = {"table": "simple", "markdown": "github", "latex": "latex_booktabs"}
_DIGITS = ".5g"


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn stats results/capacity-and-buffer
    sojourn stats results/capacity-and-buffer --by bottleneck.rate,group --metric share --format markdown
    sojourn stats results/capacity-and-buffer --bootstrap 1000 --format csv > shares.csv
    sojourn stats results/capacity-and-buffer --sql "select point, avg(share) from runs group by point"
    """,
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--by", metavar="COLUMNS", help="Columns whose values tell the lines apart.  [default: axes and group]")
@click.option("--metric", "metrics", metavar="COLUMNS", help="Columns to describe.  [default: the usual ones]")
@click.option("--bootstrap", type=click.IntRange(min=0), default=0, metavar="N", help="Add intervals of N resamples.")
@click.option(
    "--format",
    "form",
    type=click.Choice([*_FORMATS, "csv", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.option("--sql", metavar="QUERY", help="Print what DuckDB answers instead; tables have the names of the folders.")
def stats(directory: str, by: str | None, metrics: str | None, bootstrap: int, form: str, sql: str | None) -> None:
    """Describe the dataset of a sweep: mean, spread, intervals and quantiles of its metrics."""
    from sojourn.sweep import Dataset

    dataset = Dataset.open(directory)
    if sql is not None:
        _print(dataset.sql(sql).to_pylist(), form)
        return
    lines = dataset.stats(by=_split(by), metrics=_split(metrics), resamples=bootstrap)
    _print(lines, form)
    _remark(dataset)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def _print(lines: Sequence[Mapping[str, Any]], form: str) -> None:
    from sojourn.sweep.stats import columns

    names = columns(lines)
    rows = [[line.get(name) for name in names] for line in lines]
    if form == "json":
        render.print_json(list(lines))
    elif form == "csv":
        _print_csv(names, rows)
    else:
        from tabulate import tabulate

        click.echo(tabulate(rows, headers=names, tablefmt=_FORMATS[form], floatfmt=_DIGITS, missingval="-"))


def _print_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    import csv
    import sys

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)


def _remark(dataset: "Dataset") -> None:
    """Say on stderr what is missing in the numbers."""
    if dataset.missing:
        click.echo(
            f"the sweep is not finished: {len(dataset.missing)} of {len(dataset.batches)} batches lack", err=True
        )
    failed = dataset.failures()
    if failed:
        click.echo(f"{failed} runs failed and are left out: see the column `error`", err=True)
