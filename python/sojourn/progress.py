"""Progress of a long run: lines on stderr, a bar in a terminal or in a notebook."""

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

SHOWN_AFTER_S = 2.0
PLAIN_EVERY_S = 10.0


@contextlib.contextmanager
def shown_progress(label: str, given: Callable[[float], None] | None) -> Iterator[Callable[[float], None] | None]:
    """Give what is told the done fraction: what was given, else in a notebook a bar, else nothing."""
    if given is not None or not in_notebook():
        yield given
    else:
        with progress(label) as update:
            yield update


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
            display = _display(label)
        if display is not None:
            display.show(fraction, note)

    try:
        yield update
    finally:
        if display is not None:
            display.close()


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _display(label: str) -> _Display:
    if in_notebook():
        return _Notebook(label)
    return _Bar(label) if sys.stderr.isatty() else _Lines(label)


class _Notebook:
    """A bar in a notebook, which vanishes at the end."""

    def __init__(self, label: str) -> None:
        shell: Any = importlib.import_module("IPython.display")
        self.label = label
        self.html = shell.HTML
        self.handle = shell.display(self.html(bar_html(label, 0.0, "")), display_id=True)

    def show(self, fraction: float, note: str) -> None:
        self.handle.update(self.html(bar_html(self.label, fraction, note)))

    def close(self) -> None:
        self.handle.update(self.html(""))


def bar_html(label: str, fraction: float, note: str) -> str:
    """Return a bar as HTML."""
    import html

    text = html.escape(f"{fraction:.0%}{f', {note}' if note else ''}")
    return f'<div>{html.escape(label)} <progress value="{fraction:.3f}" max="1"></progress> {text}</div>'


class _Lines:
    """A line every now and then, for logs."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.next_s = 0.0

    def show(self, fraction: float, note: str) -> None:
        now = time.monotonic()
        if now >= self.next_s:
            self.next_s = now + PLAIN_EVERY_S
            sys.stderr.write(f"{self.label}: {fraction:.0%}{f', {note}' if note else ''}\n")
            sys.stderr.flush()

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
