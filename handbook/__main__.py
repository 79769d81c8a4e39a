"""Renews what is derived from the project itself: `python -m handbook` the text of all pages.

With `--figures` it draws their figures as well, with `--gallery` only the thumbnails of the gallery, with
`--animation` only the animated queue.
"""

import sys

from handbook import animation, api, changes, gallery
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
    for whole in (gallery, api):
        if whole.renew():
            print(f"renewed {whole.PAGE.name}", file=sys.stderr)
    singles = {"--animation": (animation,), "--figures": (animation, changes)}
    for single in next((singles[word] for word in ("--figures", "--animation") if word in sys.argv[1:]), ()):
        print(f"drew {single.draw().name}", file=sys.stderr)
    if not {"--figures", "--gallery"}.isdisjoint(sys.argv[1:]):
        for path in gallery.draw_all():
            print(f"drew {path.name}", file=sys.stderr)


main()
