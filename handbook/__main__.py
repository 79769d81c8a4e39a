"""`python -m handbook` renews the tables of all pages, `python -m handbook --figures` their figures as well."""

import sys

from handbook.figures import draw
from handbook.pages import PAGES, renewed


def main() -> None:
    """Renew what is derived, and say what changed."""
    for page in PAGES:
        before = page.path.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            page.path.write_text(after, encoding="utf-8")
            print(f"renewed {page.path.name}", file=sys.stderr)
        if "--figures" in sys.argv[1:]:
            for path in draw(page):
                print(f"drew {path.name}", file=sys.stderr)


main()
