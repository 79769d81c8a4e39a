"""The command `draw`."""

from pathlib import Path

import click

from sojourn.cli.examples import ExampleCommand
from sojourn.cli.pictures import look_options, save_picture
from sojourn.cli.targets import check_picture
from sojourn.faults import input_error
from sojourn.reading import ROOT_HELP, read


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn draw parking-lot --out lot.svg
    sojourn draw parking-lot --run --out lot.png
    sojourn draw my-homes.toml --set hop.down.count=50 --out homes.svg
    """,
)
@click.argument("source", metavar="SCENARIO")
@click.option("--run", "after_run", is_flag=True, help="Run it first, and colour each link by how far it was used.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@click.option("--out", type=click.Path(), metavar="FILE", required=True, help="PNG, PDF or SVG.")
@look_options
def draw(source: str, after_run: bool, overrides: tuple[str, ...], root: str | None, out: str) -> None:
    """Draw the network of SCENARIO: its nodes and links; a chain is drawn as the network that it is.

    Links whose names differ only in the number at the end are drawn as one where there are many.
    """
    from sojourn.api import Scenario
    from sojourn.cli import render
    from sojourn.progress import progress

    path = Path(out)
    check_picture("--out", path)
    native = read(source, list(overrides), root)
    render.print_warnings(native.warnings)
    scenario = Scenario(native)
    try:
        native.as_network()
    except ValueError as error:
        raise input_error(f"{native.name} is not drawn as a network: {error}") from None
    result = None
    if after_run:
        with progress(native.name) as update:
            result = scenario.run(progress=update)
    save_picture(lambda: scenario.draw(result), path)
