"""The command `run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn import _native
from sojourn.api import Scenario
from sojourn.cli import render
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import json_option, output
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.pictures import look_options, save_picture
from sojourn.cli.plugins import plugin_options
from sojourn.cli.targets import PAGE_HELP, check_file, check_picture, command_line
from sojourn.cli.worlds import WorldCommand
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP, input_error, read
from sojourn.report import interval_note
from sojourn.worlds import Wanted, choose
from sojourn.worlds.registry import SIM

if TYPE_CHECKING:
    from sojourn.result import Result


@click.command(
    cls=WorldCommand,
    examples="""
    sojourn run motivating-red
    sojourn run my-link.toml --runs 10 --jobs 2 --json > my-link.json
    sojourn run my-link.toml --set bottleneck.queue.kind=red --set "bottleneck.rate=4 Mbit/s"
    sojourn run my-link.toml --out results/my-link --packets --pcap
    sojourn run cellular --plot delay.pdf
    sojourn run web-pages --line cable-100-10-film:down
    sojourn run my-link.toml --runs 10 --page my-link.html
    sojourn run controlled-delay --probes --plot controller.pdf
    sojourn run motivating-red --qlog logs
    sojourn run my-link.toml --world linux --runs 3
    sojourn run my-link.toml --world hosts --peer 192.0.2.7 --secret-file secret
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", shell_complete=scenarios)
@plugin_options
@click.option("--dry-run", is_flag=True, help="Say what the world would do to this machine meanwhile, and end.")
@click.option("--seed", type=int, metavar="N", help="Seed of the first run; later runs count on from it.")
@click.option("--runs", type=int, metavar="N", help="Number of runs, each with its own seed.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads to use.  [default: all processors]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@json_option
@output("--out", type=click.Path(), metavar="DIR", help="Write record, scenario and time series to DIR.")
@output("--force", is_flag=True, help="Let --out replace an old result.")
@output("--plot", type=click.Path(), metavar="FILE", help="Draw the first run as PNG, PDF or SVG.")
@look_options
@output("--page", "page", type=click.Path(), metavar="FILE", help=PAGE_HELP)
@output("--packets", is_flag=True, help="Add rows for each packet to --out: at the bottleneck, sent and received.")
@output("--transfers", is_flag=True, help="Add one row for each transfer that ended to --out.")
@output("--delays", is_flag=True, help="Add one-way delays and start-up times of every group to the record.")
@output("--probes", is_flag=True, help="Add the state of disciplines and controls to --out; draw it with --plot.")
@output("--pcap", is_flag=True, help="Add what crosses the bottleneck to --out, as pcapng.")
@output("--qlog", type=click.Path(), metavar="DIR", help="Write what each sender decides to DIR, as qlog.")
@output("--bin", "bin_text", default="100 ms", metavar="TIME", show_default=True, help="Step of the time series.")
def run(  # noqa: PLR0913 (one for each option)
    source: str,
    world: str,
    dry_run: bool,
    seed: int | None,
    runs: int | None,
    jobs: int | None,
    overrides: tuple[str, ...],
    line: str | None,
    root: str | None,
    as_json: bool,
    out: str | None,
    force: bool,
    plot: str | None,
    page: str | None,
    packets: bool,
    transfers: bool,
    delays: bool,
    probes: bool,
    pcap: bool,
    qlog: str | None,
    bin_text: str,
    **options: Any,
) -> None:
    """Run a scenario file, or a ready scenario by its name (see `sojourn list scenarios`)."""
    wanted_in_out = {"--packets": packets, "--pcap": pcap, "--transfers": transfers}
    _check_places(wanted_in_out, delays=delays and not as_json, probes=probes and plot is None, out=out)
    if pcap and world != SIM:
        raise input_error(f"--pcap writes runs of the world {SIM}; found {world}", key="--pcap", found=world)
    bin_s = _native.seconds("--bin", bin_text)
    wanted = Wanted(
        bin_s if any(target is not None for target in (out, plot, page)) else None,
        probes=probes,
        packets=packets or pcap,
        transfers=transfers,
        delays=delays,
        decisions=qlog is not None,
    )
    chosen = choose(world, options, wanted.keep)
    _check_targets(out, plot, page, qlog, force=force)
    counts = {"seed": seed, "runs": runs}
    numbers = [f"{key}={value}" for key, value in counts.items() if value is not None]
    native = read(source, [*on_line(line), *overrides, *numbers], root)
    render.print_warnings(native.warnings)
    if dry_run:
        _list_steps(chosen.steps(native))
        return
    with progress(native.name) as update:
        result = Scenario(native).run(
            jobs=jobs,
            series=wanted.bin_s is not None,
            bin_s=bin_s,
            packets=wanted.packets,
            probes=wanted.probes,
            transfers=wanted.transfers,
            delays=wanted.delays,
            decisions=wanted.decisions,
            world=world,
            progress=update,
            **options,
        )
    render.print_remarks(result)
    if as_json and result.alike:
        render.print_warnings([interval_note(result)])
    if out is not None:
        result.save(out, force=force, pcap=pcap)
    if qlog is not None:
        result.write_qlogs(qlog)
    if plot is not None:
        _draw(result, Path(plot))
    if page is not None:
        from sojourn.pages import write

        write(result.page(command_line()), Path(page))
    if as_json:
        render.print_json(result.document())
    else:
        render.print_result(result)


def _check_places(wanted: dict[str, bool], *, delays: bool, probes: bool, out: str | None) -> None:
    """Refuse what is written to a folder where there is none, and what has no other place either."""
    needs = {option: "--out DIR" for option, is_wanted in wanted.items() if is_wanted}
    needs |= {"--delays": "--out DIR or --json"} if delays else {}
    needs |= {"--probes": "--out DIR or --plot FILE"} if probes else {}
    for option, place in needs.items() if out is None else ():
        raise input_error(f"{option} needs {place}", key="--out")


def _list_steps(steps: list[str]) -> None:
    """Print the commands by which a run would change this machine."""
    for step in steps:
        click.echo(step)
    if not steps:
        click.echo("a run changes nothing on this machine", err=True)


def _check_targets(out: str | None, plot: str | None, page: str | None, qlog: str | None, *, force: bool) -> None:
    """Refuse what cannot be written before any time is spent."""
    if out is not None:
        from sojourn.store import check_directory

        check_directory(out, force=force)
    if qlog is not None:
        from sojourn.store import check_directory

        check_directory(qlog, force=False, marks=())
    if plot is not None:
        check_picture("--plot", Path(plot))
    if page is not None:
        check_file("--page", Path(page))


def _draw(result: "Result", path: Path) -> None:
    save_picture(result.plot_controller if result.has_probes else result.plot, path)
