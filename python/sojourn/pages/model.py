"""What a page is made of: the answer first, then one figure, a short table, folds, and how to repeat it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from sojourn.pages.laboratory import FILE, Link
from sojourn.report import NO_VALUE, Grid

MAX_ROWS = 10
"""Rows of a table that is shown unfolded."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    value: float | None = None
    """What the column is sorted by; None sorts by the text."""
    tone: str = ""
    """`yes` or `no` for a verdict, `best` for the best value of a column."""
    address: str = ""
    """Where the text leads to."""

    @classmethod
    def of(cls, value: object) -> "Cell":
        """Return the cell of a value: a number with four digits, a text as it is.

        >>> Cell.of(0.123456).text, Cell.of(7), Cell.of("red").value
        ('0.1235', Cell(text='7', value=7.0, tone='', address=''), None)
        """
        if value is None:
            return cls(NO_VALUE)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return cls(str(value))
        return cls(str(value) if isinstance(value, int) else f"{value:.4g}", float(value))

    def html(self, *, numeric: bool) -> str:
        """Return it as HTML; `numeric` says that its column holds numbers."""
        text = escape(self.text)
        if self.address:
            text = f'<a href="{escape(self.address)}">{text}</a>'
        kind = " ".join(filter(None, ("n" if numeric else "", self.tone)))
        said = f' class="{kind}"' if kind else ""
        if self.value is not None:
            said += f' data-value="{self.value}"'
        return f"<td{said}>{text}</td>"


@dataclass(frozen=True)
class Table:
    """A table whose columns can be sorted where the browser runs scripts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    """What it shows, for those who do not see the page; also the name of the file that it is saved as."""

    @classmethod
    def of_grid(cls, grid: Grid, caption: str = "") -> "Table":
        """Return a table of text as a page has it: what begins with a number is sorted by it."""
        return cls(grid.headers, [[_from_text(text) for text in row] for row in grid.rows], caption)

    def body(self, most: int = 0) -> str:
        """Return its rows as HTML, or the first `most` of them: a page has 100,000 cells, too many for a template.

        A space stands between cells, since rows are searched by their text.

        >>> Table(["queue", "ms"], [[Cell("a < b"), Cell.of(0.5)]]).body()
        '<tr><td>a &lt; b</td> <td class="n" data-value="0.5">0.5</td></tr>'
        """
        numeric = self.numeric
        rows = self.rows[:most] if most else self.rows
        return "\n".join(
            f"<tr>{' '.join(cell.html(numeric=of) for cell, of in zip(row, numeric, strict=True))}</tr>" for row in rows
        )

    @property
    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers."""
        columns = [list(column) for column in zip(*self.rows, strict=True)]
        return [
            any(cell.value is not None for cell in column)
            and all(cell.value is not None or cell.text == NO_VALUE for cell in column)
            for column in columns
        ] or [False] * len(self.columns)


@dataclass(frozen=True)
class Picture:
    """A figure, drawn once for wide screens and once for narrow ones."""

    wide: str
    """SVG."""
    narrow: str
    """SVG."""
    alt: str
    finding: str
    """What the reader should see in it."""
    caption: str = ""
    """What was run."""
    name: str = "figure"
    """Of the file that it is saved as."""
    laboratory: Sequence[Link] = ()
    """What opens scenarios of it in the laboratory."""


@dataclass(frozen=True)
class Fold:
    """A part of the page that is closed at first."""

    title: str
    paragraphs: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    code: str = ""
    name: str = ""
    """Where links lead to."""
    folds: "Sequence[Fold]" = ()
    """Parts of it that are closed at first."""


@dataclass(frozen=True)
class Tile:
    """A number that stands for a finding."""

    value: str
    label: str


@dataclass(frozen=True)
class File:
    """A text to copy, such as a scenario."""

    name: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page."""

    title: str
    """The finding, or what was run."""
    kicker: str
    """What the page is of, in a line above the title."""
    lead: Sequence[str] = ()
    """The answer, in paragraphs of a few sentences."""
    tiles: Sequence[Tile] = ()
    pictures: Sequence[Picture] = ()
    heading: str = ""
    """The question that the table answers."""
    table: Table | None = None
    notes: Sequence[str] = ()
    """What a reader of the table must know."""
    folds: Sequence[Fold] = ()
    command: str = ""
    """What makes the page again."""
    files: Sequence[File] = ()

    @property
    def has_laboratory(self) -> bool:
        """Whether a figure or a table of it links to the laboratory."""
        tables = [] if self.table is None else [self.table]
        pictures = (*self.pictures, *_pictures(self.folds))
        return any(one.laboratory for one in pictures) or any(
            cell.address.startswith(FILE) for table in tables for row in table.rows for cell in row
        )


def _pictures(folds: Sequence[Fold]) -> Iterator[Picture]:
    for one in folds:
        yield from one.pictures
        yield from _pictures(one.folds)


def _from_text(text: str) -> Cell:
    number = text.split(" ", maxsplit=1)[0].replace(",", "")
    try:
        value = float(number)
    except ValueError:
        return Cell(text)
    return Cell(text, value, "best" if "*" in text else "")
