"""The command `lab`."""

from pathlib import Path

import click

from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand
from sojourn.cli.targets import check_file
from sojourn.reading import ROOT_HELP


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn lab
    sojourn lab my-link.toml
    sojourn lab motivating-droptail --queue codel --export lab.html
    """,
)
@click.argument("source", metavar="[FILE|READY-NAME]", required=False)
@click.option("--queue", metavar="NAME", help="The queue on the right; the left side has the scenario's own.")
@click.option("--export", type=click.Path(), metavar="FILE", help="Write the page as one HTML file, and end.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def lab(
    source: str | None,
    queue: str | None,
    export: str | None,
    overrides: tuple[str, ...],
    root: str | None,
    no_browser: bool,
) -> None:
    """Compare two queues live in the browser, on the same engine.

    Serves the page on 127.0.0.1 until Ctrl-C, at a port and a path that only the printed address tells.
    """
    from sojourn.lab import one_file, open_browser, serving

    scenario = None if source is None else Scenario.load(source, list(overrides), root=root)
    if scenario is None and (overrides or queue):
        option = "--set KEY=VALUE" if overrides else "--queue NAME"
        raise click.UsageError(f"{option.split(maxsplit=1)[0]} needs a scenario: sojourn lab FILE {option}")
    if scenario is not None:
        render.print_warnings(scenario.warnings)
    if export is not None:
        check_file("--export", Path(export))
        Path(export).write_text(one_file(scenario, queue), encoding="utf-8")
        click.echo(f"{export}: open it in a browser")
        return
    with serving(scenario, queue) as (address, server):
        click.echo(address)
        if not no_browser and not open_browser(address):
            click.echo("no browser was found: open the address above", err=True)
        click.echo("serving until Ctrl-C", err=True)
        server.serve_forever()
