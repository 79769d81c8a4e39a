"""The command `tune`."""

from functools import partial
from pathlib import Path

import click

from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import ExampleCommand, json_option, output
from sojourn.cli.line import twins_option
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.plugins import plugin_options
from sojourn.cli.sweep import cluster_option
from sojourn.cli.targets import page_option, write_page
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn tune gateway-and-modem --vary access.gateway=0.5..1.1 --maximize goodput --goal "p99 of calls < 30 ms"
    sojourn tune line.toml --vary bottleneck.queue.limit=10..500ms --maximize goodput --goal "p99 of pages < 2 s"
    sojourn tune gateway-and-modem --lines cable:6 --vary access.gateway=0.6..1 --minimize "p99 of calls"
    sojourn tune first --vary bottleneck.queue=codel,pie,red --minimize bottleneck_queue_ms_p99 --trials 20
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", shell_complete=scenarios)
@plugin_options
@click.option(
    "--vary", multiple=True, required=True, metavar="KEY=FROM..TO", help="A key that is varied, or KEY=one,other."
)
@click.option("--maximize", metavar="QUANTITY", help='What is to be large, such as goodput or "goodput of upload".')
@click.option("--minimize", metavar="QUANTITY", help='What is to be small, such as "p99 of calls".')
@click.option("--goal", metavar="BOUND", help='A bound to keep, such as "p99 of calls < 150 ms".')
@click.option(
    "--trials",
    type=click.IntRange(min=1, max=100_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Settings that are tried.",
)
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, metavar="N", help="Runs of each.")
@twins_option("Lines that are drawn from what is not known.")
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--lines", metavar="NAMES", help="Serve all of these lines: home:20, cable, or names.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]")
@cluster_option
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@output(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the trials here, and go on with those of before.",
)
@page_option
@json_option
def tune(  # noqa: PLR0913 (one for each option)
    source: str,
    vary: tuple[str, ...],
    maximize: str | None,
    minimize: str | None,
    goal: str | None,
    trials: int,
    runs: int,
    count: int,
    line: str | None,
    lines: str | None,
    overrides: tuple[str, ...],
    jobs: int | None,
    cluster: str | None,
    root: str | None,
    out: Path | None,
    page: Path | None,
    *,
    as_json: bool,
) -> None:
    """Find the settings that keep a goal and make a quantity best.

    A quantity is METRIC.GROUP as summaries have it, "p99 of calls" (or mean, p50, p90, p95, p999; of games, pages,
    transfers or a group), or "goodput" of all bulk flows or of a group. Where the scenario has an `unknown`, the
    settings serve all of its twins; with --lines, all of these lines. The winner is judged on runs, and on twins or
    lines, that the search has not seen.
    """
    from sojourn.tune import tune as search

    scenario = Scenario.load(source, [*on_line(line), *overrides], root=root)
    many = {"lines": lines, "count": count}
    how = {"maximize": maximize, "minimize": minimize, "goal": goal, "trials": trials, "runs": runs, **many}
    with progress(scenario.name) as update:
        found = search(scenario, vary, **how, out=out, jobs=jobs, cluster=cluster, progress=update)  # type: ignore[arg-type]
    write_page(partial(found.page, scenario.name), page)
    if as_json:
        render.print_json(found.document())
        return
    click.echo(found.answer)
    if found.front:
        click.echo("\nThe front: no trial is better in one without being worse in the other\n")
        render.print_grid(found.grid())
    click.echo("\n" + "\n".join(found.notes()))
