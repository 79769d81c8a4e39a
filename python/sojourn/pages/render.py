"""Pages as HTML."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.pages.model import MAX_ROWS, Page
from sojourn.store import whole_file

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE = "index.html"
"""Name of the page of a folder."""
_TEMPLATES = Path(__file__).parent / "templates"


def render(page: Page) -> str:
    """Return a page as one HTML file."""
    return _environment().get_template("page.html").render(page=page, version=_native.__version__, most_rows=MAX_ROWS)


def write(page: Page, path: Path) -> Path:
    """Write a page, whole or not at all."""
    with whole_file(path) as place:
        place.write_text(render(page), encoding="utf-8")
    return path


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
