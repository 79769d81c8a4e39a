"""The commands `import` and `whatif`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import ExampleCommand, json_option, output
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.plugins import plugin_options
from sojourn.cli.targets import check_file, page_option, write_page
from sojourn.imported.line import TWINS
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP, input_error

if TYPE_CHECKING:
    from sojourn.imported import Imported
    from sojourn.imported.twins import Beside


def twins_option(text: str) -> Callable[[Any], Any]:
    """Return the option of a command that runs many lines where something of one is not known."""
    count = click.IntRange(min=1, max=10_000)
    return click.option("--twins", "count", type=count, default=TWINS, show_default=True, metavar="N", help=text)


@click.command(
    "import",
    cls=ExampleCommand,
    examples="""
    sojourn import upload.pcapng --out line.toml       # what a capture of an upload shows of the line
    iperf3 -c 192.0.2.7 --json | sojourn import - --out line.toml
    tc qdisc show | sojourn import -                   # a router's queues; without --out it is printed
    sojourn import rrul-2026-11-29.flent.gz --json
    """,
)
@click.argument("file", metavar="FILE|-")
@click.option("--kind", metavar="NAME", help="Of what kind the file is.  [default: found out]")
@click.option(
    "--way", type=click.Choice(["up", "down"]), help="Of a capture or a link: which direction.  [default: likely]"
)
@output("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where the scenario goes.  [default: printed]")
@output("--force", is_flag=True, help="Overwrite FILE.")
@page_option
@json_option
def import_(
    file: str,
    kind: str | None,
    way: str | None,
    out: Path | None,
    page: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Read a line from a measurement or from a router's settings: a scenario to keep.

    Each value says where it comes from. What the file leaves open is a range, in the scenario's `unknown`, which
    `sojourn whatif` tries. Kinds: capture (pcap, pcapng), flent, iperf3 and ndt7 (JSON), autorate (cake-autorate's
    log), tc, sqm (OpenWrt), mahimahi (a recorded link). Nothing is sent.

    With --out, the twins of the line are run with the traffic that was measured, and stand beside the measurement;
    how many lines that were imported with the right queue fit worse, says whether it may be this line.
    """
    from sojourn.imported import page as pages
    from sojourn.imported import read
    from sojourn.imported.line import TRACE
    from sojourn.imported.twins import nearest

    if out is not None:
        check_file("--out", out)
        _check_new(out, force=force)
    found, compared = nearest(read(file, kind, way))
    write_page(partial(pages.page, found, compared), page)
    if out is None:
        click.echo(found.toml(), nl=False) if not as_json else render.print_json(found.document())
        return
    written = {out: found.toml()}
    if found.trace is not None:
        written[out.parent / TRACE] = "".join(f"{one}\n" for one in found.trace)
        _check_new(out.parent / TRACE, force=force)
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    Scenario.load(str(out))
    if as_json:
        more = {} if compared is None else {"twins": compared.document()}
        render.print_json({**found.document(), **more})
        return
    _show(found, compared)
    click.echo(f"\nWritten: {out}. Next: sojourn whatif {out}")


def _check_new(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        message = "is there already; --force overwrites it"
        raise input_error(message, file=str(path), found="a file", allowed="a new name, or --force")


def _show(found: "Imported", compared: "Beside | None") -> None:
    from sojourn.imported.page import values

    for remark in found.remarks:
        click.echo(remark)
    click.echo()
    told = values(found)
    render.print_table(told.rows, told.headers)
    if compared is not None:
        click.echo("\nThe twins of this line, with the traffic that was measured\n")
        render.print_grid(compared.grid())
        if compared.fit is not None:
            click.echo(f"\n{compared.fit}")
        if compared.missed:
            missed = " and ".join(compared.missed)
            click.echo(f"\nNo twin shows this: {missed}. The queue or the senders may be others, or more was on it.")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn whatif line.toml
    sojourn whatif line.toml --page whatif.html
    sojourn whatif first --set bottleneck.queue.limit=300ms --device eth1
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", shell_complete=scenarios)
@plugin_options
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@twins_option("How many lines are drawn from what is not known.")
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Runs of each.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]")
@click.option("--device", default="DEV", metavar="NAME", help="The router's device that leads to the line.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@page_option
@json_option
def whatif(  # noqa: PLR0913 (one for each option)
    source: str,
    line: str | None,
    overrides: tuple[str, ...],
    count: int,
    runs: int,
    jobs: int | None,
    device: str,
    root: str | None,
    page: Path | None,
    *,
    as_json: bool,
) -> None:
    """Tell what calls, games, pages and bulk flows would have on a line with other queues, shapers and controls.

    The line is a scenario, as `sojourn import` writes one. Twins of it are drawn from what is not known, and each is
    run as it is and with each remedy. The commands at the end set the best one up on a router; nothing is changed here.
    """
    from sojourn.exported.queues import device_name
    from sojourn.whatif import what_if

    name = device_name(device)
    scenario = Scenario.load(source, [*on_line(line), *overrides], root=root)
    with progress(scenario.name) as update:
        found = what_if(scenario, count=count, runs=runs, jobs=jobs, progress=update)
    write_page(found.page, page)
    if as_json:
        render.print_json({**found.document(), "commands": found.commands(name)})
        return
    render.print_finding(found.answer, found.grid(), found.notes())
    commands = found.commands(name)
    if commands:
        click.echo("\nOn the router\n")
        click.echo("\n".join(f"  {one}" for one in commands))
