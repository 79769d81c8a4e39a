"""The command `pad`."""

import ipaddress
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli.examples import ExampleCommand
from sojourn.cli.pictures import look_options, save_picture
from sojourn.cli.targets import check_file, check_picture
from sojourn.reading import input_error
from sojourn.system import need_linux

if TYPE_CHECKING:
    from sojourn.pad.network import Network
    from sojourn.pad.session import Record
    from sojourn.pad.settings import Settings

_INTERRUPTED = 130


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn pad 192.0.2.1                              # asks first, and goes on for a minute
    sojourn pad example.net --duration "5 min" --plot delay.png
    sojourn pad example.net --uplink "800 kbit/s" --target "100 ms" --most 100
    sojourn pad example.net --ttl 2 --data session.json --yes
    """,
)
@click.argument("target", metavar="HOST")
@click.option("--target", "target_text", metavar="TIME", default="150 ms", show_default=True,
              help="Queueing delay to stay below.")  # fmt: skip
@click.option("--duration", metavar="TIME", default="60 s", show_default=True, help="It ends after this; 1 h at most.")
@click.option("--before", metavar="TIME", default="10 s", show_default=True, help="It only measures for so long first.")
@click.option("--most", type=float, metavar="PPS", default=200.0, show_default=True,
              help="Never more packets per second; 1000 at most.")  # fmt: skip
@click.option("--share", type=float, metavar="SHARE", default=0.1, show_default=True,
              help="Never more of the uplink; 0.25 at most.")  # fmt: skip
@click.option("--uplink", metavar="RATE", help="Rate of the uplink.  [default: the most this machine sends]")
@click.option("--base", metavar="TIME", help="Round-trip time of the idle path.  [default: the least measured]")
@click.option("--ttl", type=click.IntRange(1, 64), metavar="N", help="Where padding dies.  [default: by tracing]")
@click.option(
    "--udp-echo", type=click.IntRange(1, 65535), metavar="PORT", help="Probe a UDP echo service, not by ping."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Picture at the end: PNG, PDF or SVG.")
@look_options
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="What was measured, as JSON.")
@click.option("--yes", is_flag=True, help="Do not ask before sending to another's address.")
def pad(  # noqa: PLR0913 (the command's options)
    target: str,
    target_text: str,
    duration: str,
    before: str,
    most: float,
    share: float,
    uplink: str | None,
    base: str | None,
    ttl: int | None,
    udp_echo: int | None,
    plot: Path | None,
    data: Path | None,
    yes: bool,
) -> int:
    """Shorten the queue of your own bloated uplink with a thin stream of tiny packets.

    HOST is any host beyond the uplink that answers pings; padding dies just behind the bottleneck and does not get
    there. Nothing is padded while the delay is short, and padding that does not help is given up. IPv4 only.
    """
    need_linux("padding of a real uplink")
    from sojourn.pad.network import Sockets
    from sojourn.pad.route import way_to
    from sojourn.pad.settings import (
        MAX_BEFORE_S,
        MAX_DURATION_S,
        MAX_PPS,
        MAX_SHARE,
        MAX_TARGET_S,
        Limits,
        Settings,
    )

    duration_s = _seconds("--duration", duration, MAX_DURATION_S)
    before_s = _seconds("--before", before, MAX_BEFORE_S)
    limits = Limits(_bounded("--most", most, MAX_PPS), _bounded("--share", share, MAX_SHARE), duration_s)
    if before_s >= duration_s:
        raise input_error(f"--before {before}: it is shorter than --duration {duration}", key="--before", found=before)
    address = _address(target)
    way = way_to(address)
    if way == "many hosts":
        message = f"HOST: {address} reaches several hosts at once; allowed is the address of one host"
        raise input_error(message, key="HOST", found=target)
    settings = Settings(
        limits,
        target_s=_seconds("--target", target_text, MAX_TARGET_S),
        before_s=before_s,
        uplink_bps=None if uplink is None else _rate(uplink),
        base_s=None if base is None else _seconds("--base", base, MAX_TARGET_S),
        ttl=ttl,
        own_target=way == "own",
    )
    if plot is not None:
        check_picture("--plot", plot)
    if data is not None:
        check_file("--data", data)
    if not (yes or settings.own_target):
        _ask(target, address, limits.most_pps, limits.duration_s)
    network = Sockets(address, udp_echo)
    try:
        record, code = _run(network, settings)
    finally:
        network.close()
    _finish(record, settings, plot, data)
    if code:
        click.echo("error: interrupted", err=True)
    return code


def _run(network: "Network", settings: "Settings") -> "tuple[Record, int]":
    """Run a session; one that was interrupted, or asked to end, is one, too."""
    from sojourn.pad.screen import live
    from sojourn.pad.session import Session

    session = Session(network, settings)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        with live(settings.limits.duration_s) as show:
            return session.run(show), 0
    except KeyboardInterrupt:
        return session.record, _INTERRUPTED


def _finish(record: "Record", settings: "Settings", plot: Path | None, data: Path | None) -> None:
    from sojourn.pad.screen import document, summary
    from sojourn.store import dump_json, whole_file

    click.echo(summary(record))
    if data is not None:
        with whole_file(data) as place:
            place.write_text(dump_json(document(record)), encoding="utf-8")
    if plot is not None:
        from sojourn.pad.picture import picture

        save_picture(lambda: picture(record, settings.target_s), plot)


def _ask(target: str, address: str, most_pps: float, duration_s: float) -> None:
    """Have a person agree to packets towards a host that is not this machine."""
    if not sys.stdin.isatty():
        raise click.UsageError(f"{address} is not this machine's own, and nobody is there to be asked; --yes agrees.")
    name = address if target == address else f"{target} ({address})"
    click.confirm(
        f"Send up to {most_pps:g} small packets a second towards {name} for up to {duration_s:g} s? They are meant to "
        "end on the way. Do so only on a line that is yours.",
        abort=True,
        err=True,
    )


def _address(target: str) -> str:
    try:
        address: str = str(socket.getaddrinfo(target, None, socket.AF_INET, socket.SOCK_DGRAM)[0][4][0])
    except OSError as error:
        raise input_error(f"HOST: {target} has no IPv4 address ({error.strerror})", key="HOST", found=target) from error
    kind = ipaddress.IPv4Address(address)
    if kind.is_multicast or kind.is_unspecified or address == "255.255.255.255":
        raise input_error(f"HOST: {address} is not the address of one host", key="HOST", found=target)
    return address


def _seconds(option: str, text: str, most: float) -> float:
    from sojourn import _native

    return _bounded(option, _native.seconds(option, text), most, text)


def _bounded(option: str, value: float, most: float, text: str | None = None) -> float:
    if not 0 < value <= most:
        found = text or f"{value:g}"
        raise input_error(f"{option} {found}: above 0 and at most {most:g}", key=option, found=found)
    return value


def _rate(text: str) -> float:
    from sojourn import _native

    found = _native.quantity(text)
    if found is None or found[1] != "bit/s" or found[0] <= 0:
        raise input_error(f'--uplink {text}: a rate, such as "800 kbit/s"', key="--uplink", found=text)
    return found[0]
