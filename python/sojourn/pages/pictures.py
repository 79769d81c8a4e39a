"""Figures of Matplotlib as SVG inside a page: wide, and laid out anew for narrow screens."""

import html
import io
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.pages.hover import told
from sojourn.pages.model import Picture
from sojourn.store import whole_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

    from sojourn.pages.laboratory import Link

NARROW_IN = 3.5
_NARROW_PANEL_IN = 2.3
_MAX_STACKED = 6
"""Panels of several rows that stand one below the other on a narrow screen; of more, the whole would be too long."""


def picture(
    figure: "Figure", finding: str, caption: str = "", *, name: str = "figure", laboratory: "Sequence[Link]" = ()
) -> Picture:
    """Return a figure as a page shows it; the finding is also said where the figure cannot be seen."""
    from sojourn.figures.style import laid_out

    narrow = narrowed(figure)
    with laid_out(figure), laid_out(narrow):
        drawn = svg(figure, name), svg(narrow, f"{name}-narrow")
    return Picture(*drawn, finding, finding, caption, name, laboratory)


PRINTED = (".png", ".pdf")


def save(figure: "Figure", folder: Path, name: str, printed: "Sequence[str]" = PRINTED) -> None:
    """Write a figure as PNG and PDF, and as a page shows it, so that the page can be made again without drawing.

    PNG and PDF are as somebody asks for them; `printed` says which of the two.
    """
    from sojourn.figures.style import laid_out, save_figure

    narrow, wanted = narrowed(figure), as_asked(figure)
    with laid_out(figure), laid_out(narrow):
        for suffix in printed:
            save_figure(wanted, folder / f"{name}{suffix}")
        drawn = svg(figure, name), svg(narrow, f"{name}-narrow")
    for path, text in zip(paths(folder, name), drawn, strict=True):
        with whole_file(path) as place:
            place.write_text(text, encoding="utf-8")


def paths(folder: Path, name: str) -> tuple[Path, Path]:
    """Return where `save` writes the figure for wide screens, and that for narrow ones."""
    return folder / f"{name}.svg", folder / f"{name}-narrow.svg"


def svg(figure: "Figure", name: str) -> str:
    """Return a figure as an SVG element in the page's colours, whose ids are its own in the page."""
    from sojourn.figures.style import CAPACITY, INK, TIP, styled

    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # A page in the dark has another ink.
    for colour, variable in ((INK, "var(--ink)"), (CAPACITY, "var(--line)")):
        text = text.replace(colour, variable).replace(colour.lower(), variable)
    text = re.sub(rf'<g id="{TIP}([^"]*)">', r"<g><title>\1</title>", text)
    prefix = re.sub(r"\W+", "-", name)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    points = told(figure)
    if points:
        text = text.replace("<svg ", f'<svg data-points="{html.escape(points)}" ', 1)
    # The page sets the width; the height follows from the view box.
    return re.sub(
        r'(<svg[^>]*?) height="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1), count=1
    )


def as_asked(figure: "Figure") -> "Figure":
    """Return a figure of the width that somebody asks for."""
    from sojourn.look import asked

    width_in = asked().width_in
    return figure if width_in is None else of_width(figure, width_in)


def of_width(figure: "Figure", width_in: float) -> "Figure":
    """Return a copy of a width; where that is narrow, as `narrowed` lays it out."""
    from sojourn.figures.style import styled

    if width_in <= NARROW_IN:
        return narrowed(figure, width_in)
    copy = _copied(figure)
    copy.set_size_inches(width_in, figure.get_size_inches()[1])
    with styled():
        _lay_out_legends(copy)
    return copy


def narrowed(figure: "Figure", width_in: float = NARROW_IN) -> "Figure":
    """Return a copy whose panels stand one below the other where they stood side by side."""
    from sojourn.figures.style import styled
    from sojourn.figures.tidy import tidy

    copy = _copied(figure)
    panels = [axes for axes in copy.axes if axes.get_subplotspec() is not None]
    height = figure.get_size_inches()[1]
    grid = panels[0].get_gridspec() if panels else None
    stacks = grid is not None and (grid.nrows == 1 or (grid.ncols > 1 and len(panels) <= _MAX_STACKED))
    if grid is not None and stacks and all(axes.get_gridspec() is grid for axes in panels):
        with styled():
            below = copy.add_gridspec(len(panels), 1)
        for row, axes in enumerate(panels):
            axes.set_subplotspec(below[row, 0])
            axes.tick_params(labelleft=True, labelbottom=True)
        height = max(_NARROW_PANEL_IN, height * 0.7 / grid.nrows) * len(panels)
    copy.set_size_inches(width_in, height)
    with styled():
        _lay_out_legends(copy)
        tidy(copy, below=True)
    return copy


def _copied(figure: "Figure") -> "Figure":
    copy: Figure = pickle.loads(pickle.dumps(figure))  # noqa: S301 (what was pickled on the same line)
    return copy


def _lay_out_legends(figure: "Figure") -> None:
    """Make the legends of a figure, and those that stand above its panels, anew with columns that fit."""
    from sojourn.figures import legends

    for legend in list(figure.legends):
        handles, labels, title = _parts(figure, legend)
        legend.remove()
        legends.below(figure, handles, labels, title=title)
    for axes in figure.axes:
        above = axes.get_legend()
        if above is not None and above.get_label() == legends.ABOVE:
            handles, labels, _ = _parts(figure, above)
            legends.above(axes, handles, labels)


def _parts(figure: "Figure", legend: "Legend") -> tuple[list[Any], list[str], str | None]:
    labels = [text.get_text() for text in legend.get_texts()]
    # A legend holds simpler artists than the panels: of a point with its interval only the line.
    drawn = {
        name: handle for axes in figure.axes for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    handles = [drawn.get(label, handle) for label, handle in zip(labels, legend.legend_handles, strict=True)]
    return handles, labels, legend.get_title().get_text() or None
