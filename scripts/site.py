"""Lays out docs/ for the generator of the site: README as first page, links that leave docs/ led to the repository.

The laboratory's page comes with it, and links to it stay in the site.
"""

import re
import shutil
import tomllib
from pathlib import Path

from sojourn import lab
from sojourn.pages import laboratory
from sojourn.papers.links import local

ROOT = Path(__file__).parent.parent
DOCS, LAID_OUT = ROOT / "docs", ROOT / "build" / "site-pages"
_NO_LABORATORY = (
    '<!doctype html><html lang="en"><title>Laboratory</title><p>This copy of the site was made without the laboratory: '
    "<code>make web</code> builds it.</p></html>\n"
)
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def lay_out(target: Path = LAID_OUT) -> None:
    """Copy docs/ and the README to a folder from which the site is built."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target)
    for page in target.rglob("*.md"):
        source = DOCS / page.relative_to(target)
        text = local(source.read_text(encoding="utf-8"), "../" * (len(page.relative_to(target).parts) - 1))
        page.write_text(led(text, source.parent), encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (target / "index.md").write_text(led(readme, ROOT, "docs/"), encoding="utf-8")
    lab.write_beside(target / "index.md")
    if not (target / laboratory.FILE).exists():
        (target / laboratory.FILE).write_text(_NO_LABORATORY, encoding="utf-8")


def led(text: str, folder: Path, inside: str = "") -> str:
    """Return a page whose links to files outside docs/ lead to the repository; `inside` is taken off the others."""
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Homepage"]

    def replaced(link: re.Match[str]) -> str:
        place = (folder / link[2]).resolve()
        if "://" in link[2] or place.is_relative_to(DOCS):
            return f"{link[1]}{link[2].removeprefix(inside)}{link[3]}"
        kind = "tree" if place.is_dir() else "blob"
        return f"{link[1]}{repository}/{kind}/main/{place.relative_to(ROOT)}{link[3]}"

    return _LINK.sub(replaced, text)


if __name__ == "__main__":
    lay_out()
