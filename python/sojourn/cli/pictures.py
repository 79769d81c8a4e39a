"""How wide a picture that a command draws is, and with which letters."""

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


def look_options(command: _Decorated) -> _Decorated:
    """Give a command that draws the options for it; `asked_look` and `save_picture` know what they said."""
    width = output(
        "--plot-width",
        type=click.FloatRange(_LEAST_IN, _MOST_IN),
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
