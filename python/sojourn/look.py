"""What somebody asks of the pictures that are saved. Nothing here needs Matplotlib, which takes a second to load."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """A font, and a width in inches; None is the style's own."""

    font: str | None = None
    width_in: float | None = None


_asked = [Look()]
"""What is asked of pictures now: the last."""


def asked() -> Look:
    """Return what is asked of pictures now."""
    return _asked[-1]


@contextlib.contextmanager
def looking(look: Look) -> Iterator[None]:
    """Draw and save as somebody asks."""
    _asked.append(look)
    try:
        yield
    finally:
        _asked.pop()
