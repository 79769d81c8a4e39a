"""Writing to the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sojourn.catalogue import Entry
from sojourn.store import dump_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sojourn.report import Grid
    from sojourn.result import Result

WIDTH_OF_A_PIPE = 110


def print_json(document: Any) -> None:
    """Print exactly one JSON document."""
    click.echo(dump_json(document), nl=False)


def print_warnings(warnings: Sequence[str]) -> None:
    """Print what is allowed but probably not meant."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def print_rows(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows of text in columns, without a header."""
    table = _bare_table()
    for row in rows:
        table.add_row(*row.values())
    _console().print(table)


def print_entry(kind: str, entry: Entry) -> None:
    """Print everything that is known of one algorithm."""
    console = _console()
    console.print(f"{entry['name']} ({kind})", style="bold")
    console.print(entry["summary"])
    _print_section(console, "Sources", [[source] for source in entry["sources"]])
    parameters = [
        [
            item["name"],
            item["default"] or "",
            "; ".join(filter(None, (item["description"], item["unit"], item["allowed"]))),
        ]
        for item in entry["parameters"]
    ]
    _print_section(console, "Parameters (name, default, meaning)", parameters)
    presets = [
        [
            preset["name"],
            preset["summary"],
            ", ".join(f"{key} = {value}" for key, value in preset["values"].items()),
        ]
        for preset in entry["presets"]
    ]
    _print_section(console, "Presets", presets)


def print_result(result: "Result") -> None:
    """Print the links and groups of a result."""
    from sojourn.report import group_grid, interval_note, link_grid, title

    console = _console()
    console.print(title(result), style="bold")
    for grid in (link_grid(result), group_grid(result)):
        console.print()
        print_grid(grid)
    if interval_note(result):
        console.print()
        console.print(interval_note(result), style="dim")


def print_grid(grid: "Grid") -> None:
    """Print a table of numbers."""
    _console().print(_numbers_table(grid))


def _print_section(console: "Console", heading: str, rows: list[list[str]]) -> None:
    if not rows:
        return
    console.print(f"\n{heading}", style="bold")
    table = _bare_table()
    for row in rows:
        table.add_row("", *row)
    console.print(table)


def _numbers_table(grid: "Grid") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(grid.headers[0])
    for header in grid.headers[1:]:
        table.add_column(header, justify="right")
    for row in grid.rows:
        table.add_row(*row)
    return table


def _bare_table() -> "Table":
    from rich.table import Table

    return Table.grid(padding=(0, 2))


def _console() -> "Console":
    import sys

    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    return Console(width=width, highlight=False, markup=False, emoji=False)
