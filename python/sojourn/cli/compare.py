"""The command `compare`."""

import click

from sojourn import purposes
from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand
from sojourn.cli.plugins import plugin_options
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP

_FORMS = ("table", "markdown", "csv", "json")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn compare backups-beside-calls --for calls --queue droptail,codel,fq_codel,cake
    sojourn compare voip-under-load --queue fq_codel --control cubic,ledbat --runs 20
    sojourn compare cake-lower-effort --variant le:group.background.dscp=le --variant be:group.background.dscp=default
    sojourn compare my-link.toml --queue droptail,codel --metric voip_mos,share --format markdown > table.md
    sojourn compare my-link.toml --queue droptail,codel --kernel
    """,
)
@click.argument("source", metavar="FILE|READY-NAME")
@plugin_options
@click.option("--queue", "queues", metavar="KIND,...", help="Queue disciplines of the bottleneck, with their defaults.")
@click.option("--control", "controls", metavar="KIND,...", help="Congestion controls of the group that has one.")
@click.option("--variant", "own", multiple=True, metavar="NAME:KEY=VALUE,...", help="A variant of your own.")
@click.option("--for", "purpose", type=click.Choice(list(purposes.PURPOSES)), help="Sort by what matters for this.")
@click.option("--metric", "metrics", metavar="NAMES", help="Show these metrics.  [default: by what the scenario has]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key in all variants.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Runs of each.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads to use.  [default: all processors]")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@click.option("--kernel", is_flag=True, help="Run each variant on a real Linux kernel too, and put it beside.")
@click.option(
    "--kernel-runs", type=click.IntRange(min=1), default=3, show_default=True, metavar="N", help="Runs on the kernel."
)
@click.option("--format", "form", type=click.Choice(_FORMS), default="table", show_default=True, help="How to print.")
def compare(  # noqa: PLR0913 (one for each option)
    source: str,
    queues: str | None,
    controls: str | None,
    own: tuple[str, ...],
    purpose: str | None,
    metrics: str | None,
    overrides: tuple[str, ...],
    runs: int,
    jobs: int | None,
    root: str | None,
    kernel: bool,
    kernel_runs: int,
    form: str,
) -> None:
    """Compare variants of a scenario, run with the same seeds: one row for each variant.

    The first variant is the reference. The columns follow from what the scenario contains. A queue or control that
    the scenario has keeps its parameters there; any other one has its defaults.
    """
    from sojourn import comparison
    from sojourn.compared import tabulated
    from sojourn.variants import variants

    scenario = Scenario.load(source, overrides, root=root)
    made = variants(scenario, queues=_split(queues), controls=_split(controls), own=own)
    with progress(scenario.name) as update:
        found = comparison.compare(
            made, runs=runs, purpose=purpose, kernel_runs=kernel_runs * kernel, jobs=jobs, progress=update
        )
    table = tabulated(found, _split(metrics) or None)
    if form in {"json", "csv"}:
        shown = table.columns if metrics else found.columns
        rows = found.rows([column.shown.metric for column in shown])
        if form == "json":
            render.print_json(rows)
        else:
            render.print_csv(list(rows[0]), [list(row.values()) for row in rows])
        return
    notes = table.notes(found)
    if form == "markdown":
        from tabulate import tabulate

        click.echo(tabulate(table.grid.rows, headers=table.grid.headers, tablefmt="github", disable_numparse=True))
        click.echo(f"\n{found.answer}\n\n{' '.join(notes)}")
    else:
        click.echo(f"{found.answer}\n")
        render.print_grid(table.grid)
        click.echo("\n" + "\n".join(notes))


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]
