"""Copies a study's summary into the documentation: `python -m sojourn.papers gong RESULTS docs/papers`.

`python -m sojourn.papers --links docs/papers` renews the links of its pages into the laboratory.
"""

import re
import shutil
import sys
from pathlib import Path

from sojourn.papers.links import linked
from sojourn.study.short import CLAIMS, SHORT

_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


def publish(study: str, results: Path, docs: Path) -> Path:
    """Copy the summary that `sojourn paper` wrote, the pictures that it shows, and its claims; return the page."""
    pictures = docs / study
    pictures.mkdir(parents=True, exist_ok=True)

    def moved(image: re.Match[str]) -> str:
        source = results / image[2]
        shutil.copyfile(source, pictures / source.name)
        return f"![{image[1]}]({study}/{source.name})"

    names = {SHORT: f"{study}.md", CLAIMS: f"{study}-{CLAIMS}"}
    for source, target in names.items():
        text = _IMAGE.sub(moved, (results / source).read_text(encoding="utf-8"))
        for one, other in names.items():
            text = text.replace(f"]({one})", f"]({other})")
        (docs / target).write_text(text, encoding="utf-8")
    return docs / names[SHORT]


def renew_links(*pages: Path) -> None:
    """Write the links of pages into the laboratory anew."""
    for page in pages:
        page.write_text(linked(page.stem, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--links":
        renew_links(*(page for page in sorted(Path(sys.argv[2]).glob("*.md")) if not page.stem.endswith("-claims")))
    else:
        renew_links(publish(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
