"""The page of a line that was imported: how well it fits, its values, and where each comes from."""

from typing import TYPE_CHECKING

from sojourn.imported.line import Imported
from sojourn.imported.twins import Beside
from sojourn.reading import toml_value
from sojourn.report import Grid

if TYPE_CHECKING:
    from sojourn.pages.model import Page


def values(found: Imported) -> Grid:
    """Tabulate the keys of the scenario that a file tells, and what says each."""
    rows = [[one.key, toml_value(one.value, str), one.source] for one in found.values if one.source]
    return Grid(["key", "value", "from"], rows)


def page(found: Imported, compared: Beside | None, command: str = "") -> "Page":
    """Return the page, which `sojourn.pages.write` writes; `command` is what makes it again."""
    from sojourn.figures.whatif import intervals
    from sojourn.pages.model import Fold, Page, Table
    from sojourn.pages.pictures import picture

    told = None if compared is None else compared.fit
    is_good = told is not None and not told.is_poor
    waits = [] if compared is None else [one for one in compared.measured if one.unit == "ms"]
    pictures, folds = [], []
    if compared is not None and waits:
        pictures = [
            picture(
                intervals(compared.spans(waits), "wait in the queue [ms]", {one.label: one.value for one in waits}),
                "What was measured is among the line's twins."
                if is_good
                else "What was measured is not what twins do.",
                "Crosses were measured; dots are the median over all twins of the line, bars the least and the most.",
                name="twins",
            )
        ]
    if compared is not None:
        folds = [Fold("Measured, and twins", tables=[Table.of_grid(compared.grid(), "Twins")])]
    return Page(
        title="The line fits its measurement" if is_good else "The line of a measurement",
        kicker=f"Imported from {found.file} ({found.kind})",
        lead=[str(told)] if told is not None else [],
        pictures=pictures,
        heading="What is the line like?",
        table=Table.of_grid(values(found), "Values"),
        notes=list(found.remarks),
        folds=[*folds, Fold("The scenario", code=found.toml())],
        command=command,
    )
