"""How all figures look, and how they are saved."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from sojourn.look import asked
from sojourn.reading import unknown_name
from sojourn.store import whole_file

DPI = 300
PAGE_WIDTH_IN = 7.16

# Okabe and Ito, "Color Universal Design", 2008: told apart with every common colour blindness.
FAMILIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
INK = "#333333"
CAPACITY = "#E4E4E4"
TIP = "tip:"
"""What begins the gid of an artist that says something else than its numbers."""

_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "text.color": INK,
    "savefig.dpi": DPI,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "sojourn",
}

# Without a date the same result gives the same bytes.
_UNDATED = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}


class Drawing(Figure):
    """A figure that any notebook shows."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with styled():
            self.savefig(buffer, format="png", dpi=DPI // 2)
        return buffer.getvalue()


def check_font(name: str) -> None:
    """Raise InputError where this machine has no font of a name."""
    from matplotlib import font_manager

    known = sorted({font.name for font in font_manager.fontManager.ttflist})
    if name not in known:
        raise unknown_name("no font here is called", name, known)


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw in the common style, and leave the caller's settings as they were."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        if asked().font is not None:
            mpl.rcParams["font.family"] = asked().font
        yield


@contextlib.contextmanager
def drawn(height_in: float, width_in: float = PAGE_WIDTH_IN) -> Iterator[Drawing]:
    """Draw a figure of a size in the common style."""
    with styled():
        yield Drawing(figsize=(width_in, height_in), layout="constrained", dpi=DPI)


@contextlib.contextmanager
def laid_out(figure: Figure) -> Iterator[None]:
    """Lay a figure out once for all files that it is saved to meanwhile: laying out takes longer than drawing.

    One that has not changed since it was laid out is left as it is.
    """
    engine = figure.get_layout_engine()
    with styled():
        if figure.stale:
            lay_out(figure)
        # In this style None stands for no engine.
        figure.set_layout_engine(None)
        try:
            yield
        finally:
            figure.set_layout_engine(engine)


def lay_out(figure: Figure) -> None:
    """Find the places of all panels, labels and legends, without drawing them."""
    engine = figure.get_layout_engine()
    if engine is None:
        figure.draw_without_rendering()
    else:
        engine.execute(figure)
    # Whatever is changed from now on makes the figure stale again.
    figure.stale = False


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure as PNG, PDF or SVG, by the suffix of `path`; whole or not at all."""
    with styled(), whole_file(path) as place:
        figure.savefig(place, metadata=_UNDATED[path.suffix.lower()])


def tip(text: str) -> str:
    """Return the gid of an artist over which a page shows a text."""
    return f"{TIP}{text}"


def literal(text: str) -> str:
    r"""Return a text as Matplotlib has to have it so that a $ is a $, and no formula begins.

    >>> literal("$5")
    '\\$5'
    """
    return text.replace("$", r"\$")


def family(position: int) -> str:
    """Return the colour of the group at a position in the scenario."""
    return FAMILIES[position % len(FAMILIES)]


def shades(position: int, count: int) -> list[tuple[float, float, float]]:
    """Return one shade of a group's colour for each of its flows, from strong to light."""
    base = to_rgb(family(position))
    steps = [0.62 * index / max(count - 1, 1) for index in range(count)]
    return [_mixed_with_white(base, step) for step in steps]


def _mixed_with_white(colour: tuple[float, float, float], part: float) -> tuple[float, float, float]:
    red, green, blue = (channel + (1 - channel) * part for channel in colour)
    return red, green, blue
