"""Progress of a long run, on stderr."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol

import click

SHOWN_AFTER_S = 2.0
PLAIN_EVERY_S = 10.0


class Update(Protocol):
    """Takes the done fraction, and a note on it for a person."""

    def __call__(self, fraction: float, note: str = "") -> None:
        """Show it, or not yet."""


class _Display(Protocol):
    def show(self, fraction: float, note: str) -> None: ...

    def close(self) -> None: ...


@contextlib.contextmanager
def progress(label: str) -> Iterator[Update]:
    """Give a function to tell the done fraction to; it shows nothing in the first two seconds."""
    begun = time.monotonic()
    display: _Display | None = None

    def update(fraction: float, note: str = "") -> None:
        nonlocal display
        if display is None and time.monotonic() - begun >= SHOWN_AFTER_S:
            display = _Bar(label) if sys.stderr.isatty() else _Lines(label)
        if display is not None:
            display.show(fraction, note)

    try:
        yield update
    finally:
        if display is not None:
            display.close()


class _Lines:
    """A line every now and then, for logs."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.next_s = 0.0

    def show(self, fraction: float, note: str) -> None:
        now = time.monotonic()
        if now >= self.next_s:
            self.next_s = now + PLAIN_EVERY_S
            click.echo(f"{self.label}: {fraction:.0%}{f', {note}' if note else ''}", err=True)

    def close(self) -> None:
        """Leave the lines where they are."""


class _Bar:
    """A bar with the remaining time, for a terminal."""

    def __init__(self, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(label, total=1.0, note="")
        self.bar.start()

    def show(self, fraction: float, note: str) -> None:
        self.bar.update(self.task, completed=fraction, note=note)

    def close(self) -> None:
        self.bar.stop()
