"""Lays out docs/ for the generator of the site: README as first page, links that leave docs/ led to the repository."""

import re
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS, LAID_OUT = ROOT / "docs", ROOT / "build" / "site-pages"
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def lay_out(target: Path = LAID_OUT) -> None:
    """Copy docs/ and the README to a folder from which the site is built."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target)
    for page in target.rglob("*.md"):
        source = DOCS / page.relative_to(target)
        page.write_text(led(source.read_text(encoding="utf-8"), source.parent), encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (target / "index.md").write_text(led(readme, ROOT, "docs/"), encoding="utf-8")


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
