"""Pages as HTML."""

import base64
import functools
import hashlib
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
    """Return a page as one HTML file, in which no other script runs than the one of every page.

    Figures of a folder are taken as they are, and somebody else may have drawn them: a script in one does not run, and
    nothing in one is fetched from elsewhere.
    """
    from markupsafe import Markup

    values = {"policy": policy(_script()), "script": Markup(_script())}  # noqa: S704 (a file of the package)
    known = {"version": _native.__version__, "most_rows": MAX_ROWS}
    return _environment().get_template("page.html").render(page=page, **known, **values)


def is_ours(page: Path) -> bool:
    """Return whether a page begins as this version writes them, so that its policy holds for all that follows."""
    from markupsafe import escape

    head = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    head += f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(_script()))}">\n'
    with page.open("rb") as file:
        return file.read(len(head)) == head.encode()


def _script() -> str:
    return (_TEMPLATES / "page.js").read_text(encoding="utf-8")


def policy(script: str) -> str:
    """Return the content security policy of a page with one inline script, which is known by its hash."""
    return (
        f"default-src 'none'; script-src {digest(script)}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def write(page: Page, path: Path) -> Path:
    """Write a page, whole or not at all."""
    with whole_file(path) as place:
        place.write_text(render(page), encoding="utf-8")
    return path


def digest(text: str) -> str:
    """Return the hash by which a content security policy knows an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


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
