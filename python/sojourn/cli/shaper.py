"""The command `shaper`."""

from pathlib import Path

import click

from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import ExampleCommand, json_option
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.plugins import plugin_options
from sojourn.cli.targets import page_option, split, write_page
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP, input_error

_LEAST_PERCENT, _MOST_PERCENT = 5, 200


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn shaper
    sojourn shaper --line cable-100-10-film --page shaper.html
    sojourn shaper --line fixed-4g-50-10-wifi --parts 50,60,70,80,90,100
    sojourn shaper my-home.toml --set bottleneck.queue=fq_codel
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", default="gateway-and-modem", shell_complete=scenarios)
@plugin_options
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--parts", metavar="PERCENT,...", help="Parts of the line's rate.  [default: 70 to 105]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, metavar="N", help="Runs of each.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads to use.  [default: all processors]")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@page_option
@json_option
def shaper(  # noqa: PLR0913 (one for each option)
    source: str,
    line: str | None,
    parts: str | None,
    overrides: tuple[str, ...],
    runs: int,
    jobs: int | None,
    root: str | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Find the rate to give a gateway's shaper: what calls wait, and what is given up, at parts of the line's rate.

    The scenario has an access line and a call; without one it is gateway-and-modem, a call beside uploads, backups and
    downloads. The shaper is `access.gateway`, before the modem on the way up and behind the ISP on the way down.
    """
    from sojourn.shaping import PARTS, shaper_rates

    scenario = Scenario.load(source, [*on_line(line), *overrides], root=root)
    with progress(scenario.name) as update:
        found = shaper_rates(scenario, _parts(parts) if parts else PARTS, runs=runs, jobs=jobs, progress=update)
    write_page(found.page, page)
    if as_json:
        knees = {direction: found.knee(direction) for direction in found.judged}
        render.print_json({"knees": knees, "answer": found.answer, "rows": found.found.rows()})
        return
    render.print_finding(found.answer, found.grid(), found.notes())


def _parts(text: str) -> list[float]:
    try:
        percents = [float(part.strip().removesuffix("%")) for part in split(text)]
    except ValueError:
        percents = []
    if not percents or not all(_LEAST_PERCENT <= percent <= _MOST_PERCENT for percent in percents):
        allowed = f"numbers in percent, from {_LEAST_PERCENT} to {_MOST_PERCENT}, such as 80,90,100"
        raise input_error(f"--parts: found {text!r}; allowed: {allowed}", key="--parts", found=text, allowed=allowed)
    return [percent / 100 for percent in percents]
