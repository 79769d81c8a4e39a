"""What several commands take: files to write at their end, refused before any time is spent, and conditions."""

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli.examples import output
from sojourn.reading import input_error

if TYPE_CHECKING:
    from sojourn.pages import Page

PICTURES = (".pdf", ".png", ".svg")
PAGE_HELP = "Write one HTML file: finding, figure, tables."


def check_picture(option: str, path: Path) -> None:
    """Raise InputError where the picture that `option` names cannot be drawn or written."""
    if path.suffix.lower() not in PICTURES:
        raise input_error(f"{option}: a picture's name ends in {', '.join(PICTURES)}", file=str(path))
    check_file(option, path)


def check_file(option: str, path: Path) -> None:
    """Raise InputError where the file that `option` names cannot be written."""
    from sojourn.store import check_writable

    if not path.parent.is_dir():
        raise input_error(f"{option}: no such directory", file=str(path.parent))
    check_writable(path.parent, str(path))


def split(names: str | None) -> list[str]:
    """Return the names of an option that takes several.

    >>> split("droptail, codel")
    ['droptail', 'codel']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def conditions(texts: Iterable[str], option: str = "--where") -> dict[str, str]:
    """Return the columns and values of `--where` options, or of others like them.

    >>> conditions(["group=tcp"])
    {'group': 'tcp'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise input_error(f"{option} {text}: COLUMN=VALUE, such as group=tcp", key=option, found=text)
        found[name] = value
    return found


def command_line() -> str:
    """Return the command that is run, as somebody types it to run it again."""
    words = click.get_current_context().find_root().obj or []
    return shlex.join(["sojourn", *words])


def _checked_page(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        check_file("--page", path)
    return path


page_option = output(
    "--page", "page", type=click.Path(path_type=Path), metavar="FILE", callback=_checked_page, help=PAGE_HELP
)
"""Where the page of a command goes: refused before any time is spent where it cannot be written."""


def write_page(page: "Callable[[str], Page]", path: Path | None) -> None:
    """Write the page that a command was asked for, if it was; `page` is given the command that makes it again."""
    if path is not None:
        from sojourn.pages import write

        write(page(command_line()), path)
