"""Variants of a scenario side by side, run with the same seeds."""

import csv
import functools
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import compared, purposes
from sojourn.api import Scenario
from sojourn.differences import Differences
from sojourn.grade import COLUMNS as GRADE_COLUMNS
from sojourn.grade import Grade, graded
from sojourn.pages import PAGE, Page, of_comparison, write
from sojourn.reading import input_error
from sojourn.report import Grid, grid_html
from sojourn.store import check_directory, dump_json, whole_directory
from sojourn.worlds.world import Progress, part_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "comparison"
"""Of the files of a folder that holds one."""
MARKS = (f"{NAME}.json",)
KERNEL = "linux"
"""The world whose results `kernel_runs` puts beside."""


class Comparison(Differences):
    """What several variants measured with the same seeds, in numbers, in words and as a table."""

    @property
    def answer(self) -> str:
        """The finding in one or two sentences."""
        return compared.answer(self)

    def grid(self, names: Sequence[str] | None = None) -> Grid:
        """Tabulate one row for each variant; `sojourn.compared.tabulated` says what is shown."""
        return compared.tabulated(self, names).grid

    @functools.cached_property
    def grades(self) -> dict[str, Grade]:
        """The grade of each variant that has pings and was simulated, the best first; `sojourn.grade` says how."""
        found = {name: graded(one) for name, one in self.results.items() if name not in self.beside}
        known = {name: one for name, one in found.items() if one is not None and one.letter}
        return dict(sorted(known.items(), key=lambda one: one[1].increase_ms["mean"] or 0.0))

    def grade_grid(self) -> Grid:
        """Tabulate the grades."""
        return Grid(
            ["variant", "grade", *(column.label for column in GRADE_COLUMNS)],
            [[name, *one.cells()] for name, one in self.grades.items()],
        )

    def plot(self) -> "Figure":
        """Draw the first metrics of all variants as a matplotlib figure."""
        return of_comparison.figure(self)

    def page(self, command: str = "") -> Page:
        """Return the page of the comparison, which `sojourn.pages.write` writes; `command` is what makes it again."""
        return of_comparison.page(self, command)

    def save(self, directory: str | os.PathLike[str], *, force: bool = False, command: str = "") -> Path:
        """Write the page, its figure (SVG) and all numbers (CSV, JSON) into a folder, and return the page's path.

        Raises InputError where the folder holds something, unless it is an old comparison and `force` is set.
        """
        target = check_directory(directory, force=force, marks=MARKS)
        with whole_directory(target) as place:
            write(self.page(command), place / PAGE)
            from sojourn.figures import save_figure

            save_figure(self.plot(), place / f"{NAME}.svg")
            (place / f"{NAME}.json").write_text(dump_json(self.rows()), encoding="utf-8")
            (place / f"{NAME}.csv").write_text(self.csv(), encoding="utf-8")
        return target / PAGE

    def csv(self, names: Sequence[str] | None = None) -> str:
        """Return `rows` as comma-separated values."""
        rows = self.rows(names)
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def __repr__(self) -> str:
        others = ", ".join(name for name in self.results if name != self.reference)
        return (
            f"<sojourn.Comparison of {self.reference} with {others}: {len(self.results[self.reference].runs)} run(s)>"
        )

    def _repr_html_(self) -> str:
        return grid_html(self.grid())


def compare(
    variants: Mapping[str, Scenario],
    *,
    runs: int = 10,
    purpose: str | None = None,
    kernel_runs: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Run variants with the same seeds; the first one is the reference.

    Parameters
    ----------
    variants
        Scenarios by name; `sojourn.variants.variants` makes those of several queues and controls.
    runs
        Number of runs of each.
    purpose
        "calls", "pages" or "background": sorts the variants by what matters for it.
    kernel_runs
        With a number above 0, each variant also runs so many times on a real Linux kernel; that result is called
        "NAME (linux)".
    progress
        Told the done fraction of all runs, 0 to 1.
    options
        Further ones of `Scenario.run`, for the simulation.

    Raises
    ------
    InputError
        Where there are fewer than two variants, none of their groups is what the purpose is about, or the kernel cannot
        have one of them.
    WorldError
        Where the kernel fails.

    Examples
    --------
    >>> import sojourn
    >>> base = sojourn.Scenario.load("motivating-droptail", {"duration": "2 s"})
    >>> found = sojourn.compare({"droptail": base, "codel": base.with_(queue="codel")}, runs=2, purpose="background")
    >>> found.difference("codel", "bottleneck_queue_ms_mean")["mean"] < 0
    True
    >>> found.order
    ['droptail', 'codel']
    """
    if len(variants) < 2:  # noqa: PLR2004 (one has nothing to differ from)
        raise input_error(f"found {len(variants)} variant(s); allowed: at least two scenarios by name")
    sought = None if purpose is None else purposes.find(purpose, [one.to_dict() for one in variants.values()])
    kernels = {f"{name} ({KERNEL})": name for name in variants} if kernel_runs else {}
    for name in kernels.values():
        variants[name].fit(KERNEL)
    common = {"seed": next(iter(variants.values())).seed, "series": False, **options}
    on_kernel = {"seed": common["seed"], "series": False, "runs": kernel_runs, "world": KERNEL}
    jobs = [(name, variant, {**common, "runs": runs}) for name, variant in variants.items()]
    jobs += [(shown, variants[name], on_kernel) for shown, name in kernels.items()]
    results = {
        name: variant.run(progress=part_of(progress, place, len(jobs)), **settings)
        for place, (name, variant, settings) in enumerate(jobs)
    }
    return Comparison(results, sought, kernels)
