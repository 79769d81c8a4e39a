"""Copies a study's summary into the documentation: `python -m sojourn.papers gong RESULTS docs/papers`.

`python -m sojourn.papers --links docs/papers` renews the links of its pages into the laboratory.
"""

import re
import shutil
import sys
from pathlib import Path

from sojourn.papers.links import linked
from sojourn.study.short import SHORT

_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


def publish(study: str, results: Path, docs: Path) -> Path:
    """Copy the summary that `sojourn paper` wrote, and the pictures that it shows; return the page."""
    pictures = docs / study
    pictures.mkdir(parents=True, exist_ok=True)

    def moved(image: re.Match[str]) -> str:
        source = results / image[2]
        shutil.copyfile(source, pictures / source.name)
        return f"![{image[1]}]({study}/{source.name})"

    page = docs / f"{study}.md"
    page.write_text(_IMAGE.sub(moved, (results / SHORT).read_text(encoding="utf-8")), encoding="utf-8")
    return page


def renew_links(*pages: Path) -> None:
    """Write the links of pages into the laboratory anew."""
    for page in pages:
        page.write_text(linked(page.stem, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--links":
        renew_links(*sorted(Path(sys.argv[2]).glob("*.md")))
    else:
        renew_links(publish(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
