"""The command `agent`."""

import signal
from pathlib import Path
from typing import NoReturn

import click

from sojourn import _native
from sojourn.cli.examples import ExampleCommand
from sojourn.reading import input_error
from sojourn.system import need_linux

_MAX_FLOWS = 256


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn agent                                           # for runs from this machine
    sojourn agent --listen 192.0.2.7 --secret-file secret   # for a peer that has the same file
    sojourn agent --max-rate "10 Mbit/s" --max-duration "60 s" --once
    """,
)
@click.option("--listen", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Own IPv4 address to be at.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=5340, show_default=True, help="Flows take the next ones."
)
@click.option(
    "--secret-file", type=click.Path(path_type=Path), metavar="FILE", help="The secret shared with the peers."
)
@click.option(
    "--max-rate", default="100 Mbit/s", metavar="RATE", show_default=True, help="Most to send in all, as IP packets."
)
@click.option("--max-duration", default="300 s", metavar="TIME", show_default=True, help="Longest run.")
@click.option(
    "--max-flows", type=click.IntRange(1, _MAX_FLOWS), default=16, show_default=True, help="Most flows of a run."
)
@click.option("--once", is_flag=True, help="End after one run.")
def agent(
    listen: str,
    port: int,
    secret_file: Path | None,
    max_rate: str,
    max_duration: str,
    max_flows: int,
    once: bool,
) -> None:
    """Be the other end of `sojourn run FILE --world hosts --peer ADDRESS`.

    It runs its ends of the flows that a peer asks for, one run at a time, between the two addresses of the peer's own
    connection and no others. Anywhere but on loopback a peer must know the secret, from --secret-file or from
    SOJOURN_SECRET in the environment. Ctrl-C ends it and all flows.
    """
    need_linux("an agent")
    from sojourn.worlds.hosts.admission import Limits
    from sojourn.worlds.hosts.agent import Settings, listening, serve
    from sojourn.worlds.hosts.secret import shared_secret

    rate = _native.quantity(max_rate)
    if rate is None or rate[1] != "bit/s" or rate[0] < 1:
        raise input_error(f'--max-rate is {max_rate!r}; allowed is a rate such as "10 Mbit/s"', key="--max-rate")
    duration_s = _native.seconds("--max-duration", max_duration)
    secret = shared_secret(secret_file)
    limits = Limits(int(rate[0]), duration_s, max_flows)
    signal.signal(signal.SIGTERM, _interrupt)
    with listening(listen, port, secret, limits) as listener:
        _tell(f"listening on port {port} of {listen}; flows take the ports {port + 1} to {port + max_flows}")
        serve(listener, Settings(secret, limits), _tell, once=once)


def _tell(line: str) -> None:
    click.echo(f"agent: {line}", err=True)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
