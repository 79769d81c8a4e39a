"""The command `export`."""

import click

from sojourn.api import Scenario
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import ExampleCommand
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.plugins import plugin_options
from sojourn.reading import ROOT_HELP, input_error

_FORMS = ("tc", "sqm", "nftables", "netem", "mahimahi", "ns3")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn export gateway-and-modem --as sqm --device wan
    sojourn export gateway-and-modem --line cable-100-10-film --set access.gateway=0.9 --as tc --device eth1
    sojourn export my-home.toml --as tc --device eth1 > queues.sh
    sojourn export voip-under-load --as nftables --device eth1 > marks.nft
    sojourn export first --as mahimahi > shells.sh
    sojourn export voip-under-load --set group.upload.flows=2 --as ns3 > scenario.cc
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", shell_complete=scenarios)
@click.option(
    "--as",
    "form",
    type=click.Choice(_FORMS),
    required=True,
    help="Commands of tc, a section for SQM, rules of nftables, the path for netem or Mahimahi, a program for ns-3.",
)
@click.option("--device", metavar="NAME", help="The device that leads to the line; not for Mahimahi and ns-3.")
@plugin_options
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
def export(
    source: str, form: str, device: str | None, line: str | None, overrides: tuple[str, ...], root: str | None
) -> None:
    """Print what sets a scenario's queues up on a router, or its path in another emulator: nothing is changed here.

    With tc and sqm they are the queues of the bottleneck and of the return link, as the kernel has them; nftables has
    the groups' code points, classes and policers. netem has the path's delay, jitter and loss, mahimahi a script that
    opens its shells. What a form cannot have is refused, or said by its key. The device's name is that of the router.
    """
    from sojourn.exported.emulated import mahimahi, netem
    from sojourn.exported.nftables import rules
    from sojourn.exported.queues import device_name, queues

    scenario = Scenario.load(source, [*on_line(line), *overrides], root=root)
    if form == "mahimahi":
        click.echo("\n".join(mahimahi(scenario)))
        return
    if form == "ns3":
        from sojourn.exported.ns3 import program

        written = program(scenario)
        click.echo(written.text, nl=False)
        for remark in written.remarks:
            click.echo(f"note: {remark}", err=True)
        return
    if device is None:
        raise input_error(f"--as {form} needs --device NAME, such as eth1", key="--device", found="nothing")
    name = device_name(device)
    if form == "netem":
        click.echo("\n".join(netem(scenario, name)))
        return
    if form == "nftables":
        made = rules(scenario, name)
        lines, remarks = made.lines, made.remarks
    else:
        found = queues(scenario)
        lines, remarks = found.tc(name) if form == "tc" else found.sqm(name), found.remarks
    click.echo("\n".join(lines))
    for remark in remarks:
        click.echo(f"note: {remark}", err=True)
