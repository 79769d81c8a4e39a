"""How wide a picture that a command draws is, and with which letters."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sojourn.cli.examples import output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.look import Look

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any] | click.Command)
_WIDTH, _FONT = "sojourn.plot-width", "sojourn.plot-font"
_LEAST_IN, _MOST_IN = 2.5, 30.0
_UNITS = {"cm": 2.54, "mm": 25.4, "in": 1.0, "pt": 72.0}


class _Inches(click.ParamType):  # type: ignore[type-arg]
    """A width; "9cm" is said in inches rather than taken for 9 of them."""

    name = "inches"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the width in inches, or refuse it."""
        text = str(value).strip().lower()
        number, per_inch = next(
            ((text.removesuffix(unit), many) for unit, many in _UNITS.items() if text.endswith(unit)), (text, 1.0)
        )
        try:
            inches = float(number) / per_inch
        except ValueError:
            inches = math.nan
        if not _LEAST_IN <= inches <= _MOST_IN or per_inch != 1.0:
            meant = f"; {value} is {inches:.3g}" if per_inch != 1.0 and math.isfinite(inches) else ""
            self.fail(f"found {value!r}; allowed: {_LEAST_IN:g} to {_MOST_IN:g}, in inches{meant}", param, ctx)
        return inches


def look_options(command: _Decorated) -> _Decorated:
    """Give a command that draws the options for it; `asked_look` and `save_picture` know what they said."""
    width = output(
        "--plot-width",
        type=_Inches(),
        metavar="INCHES",
        expose_value=False,
        callback=_remembered(_WIDTH),
        help="Width of the picture: 3.5 is a column of a two-column paper, whose panels stand one below the other.",
    )
    font = output(
        "--plot-font",
        metavar="NAME",
        expose_value=False,
        callback=_remembered(_FONT),
        help="A font of this machine, such as the paper's.  [default: DejaVu Sans]",
    )
    return width(font(command))


def save_picture(draw: "Callable[[], Figure]", path: Path) -> None:
    """Draw a figure as the command was asked to, and save it."""
    from sojourn.figures import save_figure
    from sojourn.look import looking
    from sojourn.pages.pictures import as_asked

    with looking(asked_look()):
        save_figure(as_asked(draw()), path)


def asked_look() -> "Look":
    """Return what the command was asked of its pictures."""
    from sojourn.look import Look

    said = click.get_current_context().meta
    return Look(said.get(_FONT), said.get(_WIDTH))


def _remembered(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def remember(context: click.Context, _option: click.Parameter, value: Any) -> None:
        if name == _FONT and value is not None:
            from sojourn.figures.style import check_font

            check_font(value)
        context.meta[name] = value

    return remember
