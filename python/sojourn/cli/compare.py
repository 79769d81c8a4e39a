"""The command `compare`."""

import click

from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand
from sojourn.reading import ROOT_HELP

_FORMS = ("table", "markdown", "csv", "json")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn compare voip-under-load --queue droptail,codel,fq_codel,cake
    sojourn compare voip-under-load --queue fq_codel --control cubic,ledbat --runs 20
    sojourn compare cake-lower-effort --variant le:group.background.dscp=le --variant be:group.background.dscp=default
    sojourn compare my-link.toml --queue droptail,codel --format markdown > table.md
    """,
)
@click.argument("source", metavar="FILE|READY-NAME")
@click.option("--queue", "queues", metavar="KIND,...", help="Queue disciplines of the bottleneck, with their defaults.")
@click.option("--control", "controls", metavar="KIND,...", help="Congestion controls of the group that has one.")
@click.option("--variant", "own", multiple=True, metavar="NAME:KEY=VALUE,...", help="A variant of your own.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key in all variants.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Runs of each.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads to use.  [default: all processors]")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@click.option("--format", "form", type=click.Choice(_FORMS), default="table", show_default=True, help="How to print.")
def compare(  # noqa: PLR0913 (one for each option)
    source: str,
    queues: str | None,
    controls: str | None,
    own: tuple[str, ...],
    overrides: tuple[str, ...],
    runs: int,
    jobs: int | None,
    root: str | None,
    form: str,
) -> None:
    """Compare variants of a scenario, run with the same seeds: one row for each variant.

    The first variant is the reference. The columns follow from what the scenario contains. A queue or control that
    the scenario has keeps its parameters there; any other one has its defaults.
    """
    from sojourn import comparison

    scenario = Scenario.load(source, overrides, root=root)
    variants = comparison.variants(scenario, queues=_split(queues), controls=_split(controls), own=own)
    found = comparison.compare(variants, runs=runs, jobs=jobs)
    metrics = [column.shown.metric for column in found.columns]
    if form == "json":
        render.print_json(found.rows(metrics))
    elif form == "csv":
        rows = found.rows(metrics)
        render.print_csv(list(rows[0]), [list(row.values()) for row in rows])
    elif form == "markdown":
        from tabulate import tabulate

        grid = found.grid()
        click.echo(tabulate(grid.rows, headers=grid.headers, tablefmt="github", disable_numparse=True))
    else:
        render.print_grid(found.grid())
    if form in {"table", "markdown"}:
        click.echo(f"\n{runs} run(s) each, seeds from {scenario.seed}. {comparison.LEGEND}.")


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]
