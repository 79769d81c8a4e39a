"""Studies: a sweep or several, what is claimed of them, and what became of it.

A study is a folder with `study.toml` and, where tables will not do, a `study.py` whose functions are marked with the
decorators of this module.
"""

from typing import TYPE_CHECKING

from sojourn.needed import by_need

if TYPE_CHECKING:
    from sojourn.study.marks import Outcome, changes, claim, figure, measure
    from sojourn.study.means import Means
    from sojourn.study.numbers import Number

__all__ = ["Means", "Number", "Outcome", "changes", "claim", "figure", "measure"]
__getattr__, __dir__ = by_need(
    __name__,
    {"marks": ("Outcome", "changes", "claim", "figure", "measure"), "means": ("Means",), "numbers": ("Number",)},
)
