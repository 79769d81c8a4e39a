"""The command `export`."""

import click

from sojourn.api import Scenario
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import ExampleCommand
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.plugins import plugin_options
from sojourn.reading import ROOT_HELP

_FORMS = ("tc", "sqm")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn export gateway-and-modem --as sqm --device wan
    sojourn export gateway-and-modem --line cable-100-10-film --set access.gateway=0.9 --as tc --device eth1
    sojourn export my-home.toml --as tc --device eth1 > queues.sh
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", shell_complete=scenarios)
@click.option("--as", "form", type=click.Choice(_FORMS), required=True, help="Commands of tc, or a section for SQM.")
@click.option("--device", required=True, metavar="NAME", help="The router's device that leads to the line.")
@plugin_options
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
def export(source: str, form: str, device: str, line: str | None, overrides: tuple[str, ...], root: str | None) -> None:
    """Print what sets a scenario's queues up on a router: nothing is changed here.

    They are those of the bottleneck and of the return link, as the kernel has them; what it cannot have is refused.
    The device's name is that of the router.
    """
    from sojourn.export import device_name, queues

    found = queues(Scenario.load(source, [*on_line(line), *overrides], root=root))
    name = device_name(device)
    click.echo("\n".join(found.tc(name) if form == "tc" else found.sqm(name)))
    for remark in found.remarks:
        click.echo(f"note: {remark}", err=True)
