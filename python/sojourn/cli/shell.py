"""The command `shell`."""

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli import render
from sojourn.cli.completion import scenarios
from sojourn.cli.examples import ExampleCommand, json_option, output
from sojourn.cli.lookup import LINE_HELP, on_line
from sojourn.cli.plugins import plugin_options
from sojourn.cli.targets import page_option, write_page
from sojourn.cli.worlds import with_command
from sojourn.reading import ROOT_HELP, input_error
from sojourn.worlds.shell.ends import NAME, RECEIVER, SENDER, TIMER, TIMINGS, Ends, carried, words

if TYPE_CHECKING:
    from sojourn.worlds.shell.running import Live, Seen


_LOOK_S = 1.0
_SIGNALLED = 128
_BIN_S = 0.1


class BehindCommand(ExampleCommand):
    """A command that takes what stands behind `--` as another one."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Say so in the usage."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the other command aside."""
        return super().parse_args(ctx, with_command(args))


@click.command(
    cls=BehindCommand,
    examples="""
    sojourn shell --line cable-100-10-film
    sojourn shell --line cable-100-10-film -- ping -c 10 10.77.0.1
    sojourn shell --line dsl-16-1-quiet --server "iperf3 -s" -- iperf3 -c 10.77.0.1 -t 20
    sojourn shell --line dsl-16-1-quiet --set access.gateway=0.9 --server "iperf3 -s" -- iperf3 -c 10.77.0.1
    sojourn shell --line cable-100-10-film:down --internet -- curl -o page.html https://example.org/
    sojourn shell web-pages --at receiver --server "python3 -m http.server 80" -- curl http://10.77.0.1/
    sojourn shell my-link.toml --udp 5000:192.0.2.7:5000 --live
    sojourn shell my-link.toml --alone --live --page call.html --server "./server" -- ./client 10.77.0.1
    """,
)
@click.argument("source", metavar="[FILE|READY-NAME|-]", required=False, shell_complete=scenarios)
@click.option("--command", hidden=True)
@plugin_options
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option("--server", metavar="COMMAND", help="What runs at the other end of the path, 10.77.0.1.")
@click.option("--internet", is_flag=True, help="Lead the path on to the Internet, or whatever this machine can reach.")
@click.option(
    "--udp", metavar="PORT:HOST:PORT", help="Without namespaces: datagrams to this port go over the path to HOST:PORT."
)
@click.option(
    "--at",
    type=click.Choice([SENDER, RECEIVER]),
    help="Where the command is: at the end that forward packets come from, or where they go to."
    "  [default: sender; receiver with --line NAME:down]",
)
@click.option(
    "--rtt", metavar="TIME", help="Base RTT of the program's packets.  [default: of the first group, or 20 ms]"
)
@click.option("--alone", is_flag=True, help="Leave out the simulated flows of the scenario and the line.")
@click.option(
    "--timing",
    type=click.Choice(TIMINGS),
    default=TIMER,
    show_default=True,
    help="How the path waits: it sleeps, it never sleeps, or it has real-time priority.",
)
@click.option("--time", "duration", metavar="TIME", help="End the run after so long.  [default: when the command ends]")
@click.option("--seed", type=int, metavar="N", help="Seed of what is random on the path.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@output("--live", is_flag=True, help="Say every second what is delivered, waits and is dropped.")
@output("--out", type=click.Path(), metavar="DIR", help="Write record, scenario and time series to DIR.")
@output("--force", is_flag=True, help="Let --out replace an old result.")
@page_option
@output("--pcap", is_flag=True, help="Add what crosses the bottleneck to --out, as pcapng.")
@json_option
@click.pass_context
def shell(  # noqa: PLR0913 (one for each option)
    context: click.Context,
    source: str | None,
    command: str | None,
    line: str | None,
    server: str | None,
    internet: bool,
    udp: str | None,
    at: str | None,
    rtt: str | None,
    alone: bool,
    timing: str,
    duration: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    root: str | None,
    live: bool,
    out: str | None,
    force: bool,
    page: Path | None,
    pcap: bool,
    as_json: bool,
) -> None:
    """Run a command behind a scenario's path in real time: its links, queues, delays, losses and other traffic.

    The command gets a network of its own, whose only way out is the path; at its other end, 10.77.0.1 and fd77::1, is
    another network, where the server runs; --internet leads on from there. Nothing needs root, and nothing is left
    behind. Without a command it is your shell. The exit status is the command's.
    """
    from sojourn.result import Result
    from sojourn.system import need_linux
    from sojourn.worlds.shell import WORLD, ShellOptions
    from sojourn.worlds.world import Wanted

    need_linux(f"`sojourn {NAME}`")
    from sojourn.worlds.shell import path, running
    from sojourn.worlds.shell.forwarding import addresses

    if out is not None:
        from sojourn.store import check_directory

        check_directory(out, force=force)
    elif pcap:
        raise input_error("--pcap needs --out DIR", key="--out")
    for other, name in ((server, "--server"), (internet, "--internet")):
        if udp is not None and other:
            raise input_error(f"{name} does not go with --udp, which names the other end", key=name)
    seeds = [] if seed is None else [f"seed={seed}"]
    given = [*on_line(line), *overrides, *seeds]
    at = at or path.end(given)
    source_of = path.behind(source, given, at=at, rtt=rtt, alone=alone, duration=duration, root=root)
    native = source_of.resolve()
    render.print_warnings([*native.warnings, *WORLD.fit(native, ShellOptions())])
    program = words(command or ("" if udp else os.environ.get("SHELL", "/bin/sh")), "--")
    way = addresses(udp) if udp else None
    ends = Ends(program, words(server or "", "--server"), at == RECEIVER, way, internet, timing, to_errors=as_json)
    bin_s = None if out is None and page is None else _BIN_S
    wanted = Wanted(bin_s, packets=pcap, delays=True)
    groups = carried(json.loads(native.to_json())["group"])
    names = [group["name"] for group in groups for _ in range(group.get("flows", 1))]
    shown = _live(names) if live else None
    run = running.run(native, native.seed, wanted, ends, None, shown)
    ended = path.ended(source_of, json.loads(run.record())["duration_s"])
    result = Result(ended.resolve(), [run], wanted, ended)
    render.print_remarks(result)
    if out is not None:
        result.save(out, force=force, pcap=pcap)
    write_page(result.page, page)
    if as_json:
        render.print_json(result.document())
    else:
        with contextlib.redirect_stdout(sys.stderr):
            render.print_result(result)
    # As a shell says of what a signal has ended.
    status = run.status or 0
    context.exit(status if status >= 0 else _SIGNALLED - status)


def _live(names: Sequence[str]) -> "Live":
    """Return what says every second what has happened since the last."""
    before: list[tuple[float, Seen]] = [(0.0, [(0, 0, 0, 0)] * len(names))]

    def look(elapsed_s: float, seen: "Seen") -> None:
        since_s, last = before[0]
        if elapsed_s - since_s < _LOOK_S:
            return
        parts = []
        for name, one, other in zip(names, seen, last, strict=True):
            byte, drops, nanos, packets = (now - then for now, then in zip(one, other, strict=True))
            waits = f", queue {nanos / packets / 1e6:.1f} ms" if packets else ""
            lost = f", {drops} dropped" if drops else ""
            parts.append(f"{name} {byte * 8 / (elapsed_s - since_s) / 1e6:.2f} Mbit/s{waits}{lost}")
        click.echo(f"{elapsed_s:6.0f} s: {'; '.join(parts)}", err=True)
        before[0] = elapsed_s, seen

    return look
