"""What a person sees of a session: live in a terminal, and as a summary at the end."""

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import click

from sojourn.pad.session import Record
from sojourn.padding import SMALLEST_PACKET_BYTES

_BARS = "▁▂▃▄▅▆▇█"
_SHOWN_S = 60


def sparkline(record: Record) -> str:
    """Return the median delay of each of the last 60 seconds as blocks, the highest one full; a gap is a blank."""
    end = record.elapsed_s
    seconds: dict[int, list[float]] = {}
    for at, rtt in reversed(record.rtts):
        if end - at > _SHOWN_S:
            break
        seconds.setdefault(int(end - at), []).append(rtt - record.base_s)
    values = {second: statistics.median(delays) for second, delays in seconds.items()}
    most = max(values.values(), default=0) or 1.0
    blocks = [
        _BARS[int(values[second] / most * (len(_BARS) - 1))] if second in values else " "
        for second in range(_SHOWN_S, -1, -1)
    ]
    return "".join(blocks).lstrip()


def status(record: Record, duration_s: float) -> str:
    """Return the lines of the live display."""
    recent = record.delays_s(record.elapsed_s - 2, record.elapsed_s + 1)
    delay = f"{1e3 * statistics.median(recent):.0f} ms" if recent else "no answer"
    rate = record.rates[-1][1]
    lines = [
        f"{record.elapsed_s:5.0f} of {duration_s:.0f} s   delay {delay}   padding {rate:.0f}/s   (Ctrl-C ends it)",
        sparkline(record),
    ]
    return "\n".join(lines + [f"{at:5.0f} s  {text}" for at, text in record.notes[-4:]])


def summary(record: Record) -> str:
    """Return what a person reads at the end."""
    lines = []
    found = record.before_and_after()
    span = record.padded()
    if found is None or span is None:
        lines.append("no padding was sent" if not record.padding_packets else "too little padding to compare")
    else:
        before, after = found
        bits = 8 * SMALLEST_PACKET_BYTES * record.padding_packets
        lines += [
            f"delay before    {1e3 * before:6.0f} ms (median of 10 s)",
            f"delay with it   {1e3 * after:6.0f} ms (median of the second half of {span[1] - span[0]:.0f} s)",
            f"padding         {record.padding_packets} packets, {bits / record.elapsed_s / 1e3:.1f} kbit/s on average",
        ]
    return "\n".join(lines)


def document(record: Record) -> dict[str, Any]:
    """Return the session as JSON has it: fields of `Record`, with what was found."""
    found = record.before_and_after()
    base_s = record.base_s if record.rtts else None
    return {
        **asdict(record),
        "base_s": base_s,
        "delay_before_s": found[0] if found else None,
        "delay_after_s": found[1] if found else None,
    }


@contextlib.contextmanager
def live(duration_s: float) -> Iterator[Callable[[Record], None]]:
    """Show a session on stderr: in a terminal as it goes, with the notes left there, else each note as a line."""
    if not sys.stderr.isatty():
        shown = 0

        def tell(record: Record) -> None:
            nonlocal shown
            for at, text in record.notes[shown:]:
                click.echo(f"{at:5.0f} s  {text}", err=True)
            shown = len(record.notes)

        yield tell
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    last: Record | None = None

    def show(record: Record) -> None:
        nonlocal last
        last = record
        display.update(Text(status(record, duration_s)))

    try:
        with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as display:
            yield show
    finally:
        if last is not None:
            click.echo("".join(f"{at:5.0f} s  {text}\n" for at, text in last.notes), err=True, nl=False)
