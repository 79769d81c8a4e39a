"""Writing to the terminal."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sojourn.registry import Entry, Line, Parameter, Profile
from sojourn.store import dump_json

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from sojourn.report import Grid
    from sojourn.result import Result

PIPE_WIDTH = 110
UNLIMITED = 10_000
GAP = 2
"""Blanks between columns."""
NO_VALUE = "-"
_UP = "Up, from the home"
HOLDS = {"child": "one other discipline, its child", "class": "one other discipline for each class"}


def print_json(document: Any) -> None:
    """Print exactly one JSON document."""
    click.echo(dump_json(document), nl=False)


def print_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print comma-separated values."""
    import csv
    import sys

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)


def print_table(rows: Sequence[Sequence[Any]], headers: Sequence[str], form: str = "simple") -> None:
    """Print rows of text under headers, as `tabulate` writes a form of table."""
    from tabulate import tabulate

    click.echo(tabulate(rows, headers, form, disable_numparse=True))


def print_markdown(grid: "Grid") -> None:
    """Print a table as Markdown; a bar in what users wrote is text."""
    headers, *rows = [[cell.replace("|", r"\|") for cell in row] for row in (grid.headers, *grid.rows)]
    print_table(rows, headers, "github")


def print_finding(answer: str, grid: "Grid", notes: Sequence[str], *, markdown: bool = False) -> None:
    """Print the answer, the table behind it, and what a reader of the table must know."""
    if markdown:
        print_markdown(grid)
        click.echo(f"\n{answer}\n\n{' '.join(notes)}")
    else:
        click.echo(f"{answer}\n")
        print_grid(grid)
        click.echo("\n" + "\n".join(notes))


def print_warnings(warnings: Sequence[str]) -> None:
    """Print what is allowed but probably not meant."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def print_note(sentence: str) -> None:
    """Print what a reader of the results should know."""
    click.echo(f"note: {sentence}", err=True)


def print_remarks(result: "Result") -> None:
    """Print what a kernel did otherwise than the scenario says, once for all runs."""
    told = [remark for run in result.runs for remark in run.get("kernel", {}).get("remarks", [])]
    for remark in dict.fromkeys(told):
        print_note(remark)


def print_rows(rows: Sequence[Mapping[str, str]], pipe_width: int = UNLIMITED) -> None:
    """Print rows of text in columns, without a header; in a pipe, one line for each unless it has a width."""
    import shutil
    import sys
    import textwrap

    cells = [list(row.values()) for row in rows]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    left = sum(width + GAP for width in widths)
    whole = shutil.get_terminal_size().columns if sys.stdout.isatty() else pipe_width
    wide = max(whole - left, 1)
    for row in cells:
        beginning = "".join(f"{cell:<{width + GAP}}" for cell, width in zip(row, widths, strict=False))
        click.echo((beginning + f"\n{'':<{left}}".join(textwrap.wrap(row[-1], wide, break_on_hyphens=False))).rstrip())


def print_groups(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as `print_rows` does, with the name of each `group` in a line above its rows."""
    width = max(len(row["name"]) for row in rows)
    for place, group in enumerate(dict.fromkeys(row["group"] for row in rows)):
        if place:
            click.echo()
        click.echo(f"{group}:")
        members = [row for row in rows if row["group"] == group]
        print_rows([{"name": f"  {row['name']:<{width}}", "summary": row["summary"]} for row in members])


def print_entry(kind: str, entry: Entry) -> None:
    """Print everything that is known of one algorithm."""
    presets = [
        [preset["name"], preset["summary"], ", ".join(f"{key} = {value}" for key, value in preset["values"].items())]
        for preset in entry["presets"]
    ]
    _print_known(
        kind,
        entry,
        {
            "Sources": [[source] for source in entry["sources"]],
            "Plug-in from": [[entry["origin"]["from"]]] if entry["origin"] else [],
            "Parameters: default, meaning [allowed]": _parameters(entry["parameters"]),
            "Holds": [[HOLDS[entry["holds"]]]] if entry["holds"] else [],
            "Of each class: default, meaning [allowed]": _parameters(entry["class_parameters"]),
            "Presets: whose, what differs from the defaults": presets,
            "In Linux": _in_linux(kind, entry["linux"]),
        },
    )


def _in_linux(kind: str, linux: Mapping[str, Any]) -> list[list[str]]:
    """Say what an algorithm is in the kernel, how it is told its parameters, and which it cannot be told."""
    if kind not in {"queue", "control", "transport"}:
        return []
    if "absent" in linux:
        return [["not there", linux["absent"]]]
    tool = {"queue": "tc "}.get(kind, "")
    rows = []
    for form in linux["forms"]:
        rows.append([f"{tool}{form['name']} {form['words']}".rstrip(), form["module"]])
        rows += [["  " + setting["parameter"], _said(setting)] for setting in form["settings"]]
        rows += [["  always", f"{name} = {str(value).lower()}"] for name, value in form["fixed"].items()]
        rows += [["  besides", remark] for remark in form["remarks"]]
    return rows


def _said(setting: Mapping[str, Any]) -> str:
    if "yes" in setting:
        return " or ".join(word or "nothing" for word in (setting["yes"], setting["no"]))
    if "words" in setting:
        return ", ".join(f"{choice}: {word or 'nothing'}" for choice, word in setting["words"].items())
    return f"{setting['word']} [{setting['unit']}]"


def print_profile(profile: Profile) -> None:
    """Print what an access line sets in each direction."""
    down, up = ([list(setting) for setting in profile[way].items()] for way in ("down", "up"))
    station = profile["station"]
    ways = {"Both directions": down, "Stations": [[station]]} if station else {"Down, to the home": down, _UP: up}
    _print_known("access", profile, {"Sources": [[source] for source in profile["sources"]], **ways})


def print_line(line: Line) -> None:
    """Print what a line of the population is, and the tables that it makes of a scenario."""
    from sojourn.cli.lookup import line_document
    from sojourn.reading import toml_text

    document = line_document(line)
    tables = {key: value for key, value in document.items() if isinstance(value, dict | list)}
    click.echo(f"# {line['name']}: {line['summary']}; {100 * line['weight']:.2f} % of all lines\n")
    click.echo(toml_text(tables), nl=False)


def print_traffic(kind: Mapping[str, Any]) -> None:
    """Print a kind of traffic and its keys."""
    keys = [
        [name, NO_VALUE if key["default"] is None else str(key["default"]), key["description"]]
        for name, key in kind["keys"].items()
    ]
    origin = [[kind["origin"]["from"]]] if kind["origin"] else []
    _print_known("traffic", kind, {"Plug-in from": origin, "Keys: default, meaning": keys})


def print_overview(found: Mapping[str, Sequence[str]]) -> None:
    """Print the names of everything, by what they are."""
    rows = [{"what": what, "count": str(len(names)), "names": ", ".join(names)} for what, names in found.items()]
    print_rows(rows, pipe_width=PIPE_WIDTH)
    click.echo("\n`sojourn list queues` says what each one is, `sojourn show NAME` all of it.")


def print_world(world: Mapping[str, Any]) -> None:
    """Print what a world keeps, and its options."""
    options = [
        [
            one["name"],
            NO_VALUE if one["default"] is None else one["default"],
            f"{one['description']} [{one['allowed']}]",
        ]
        for one in world["options"]
    ]
    keeps = [[name] for name in world["keeps"]]
    _print_known("world", world, {"Keeps, besides the record": keeps, "Options: default, meaning [allowed]": options})


def _print_known(kind: str, what: Mapping[str, Any], sections: Mapping[str, list[list[str]]]) -> None:
    """Print the name of something with what it is, its summary, and a section for each heading that has rows."""
    from rich.console import Group
    from rich.text import Text

    parts = (part for heading, rows in sections.items() for part in _section(heading, rows))
    _print(Group(Text(f"{what['name']} ({kind})", style="bold"), Text(what["summary"]), *parts))


def _parameters(parameters: Sequence[Parameter]) -> list[list[str]]:
    return [
        [
            item["name"],
            item["default"] if isinstance(item["default"], str) else json.dumps(item["default"]),
            f"{item['description']} [{item['allowed']}]",
        ]
        for item in parameters
    ]


def print_result(result: "Result") -> None:
    """Print the links and groups of a result, and its phases where it has some."""
    from rich.console import Group
    from rich.text import Text

    from sojourn.grade import sentence
    from sojourn.report import (
        division_grid,
        group_grid,
        interval_note,
        link_grid,
        phase_grid,
        presets_note,
        seeds_note,
        title,
    )

    _print(Group(Text(title(result), style="bold"), Text()))
    print_grid(link_grid(result))
    _print(Text())
    print_grid(group_grid(result))
    for more in (phase_grid(result), division_grid(result)):
        if more is not None:
            _print(Text())
            print_grid(more)
    if responsiveness := sentence(result):
        _print(Group(Text(), Text(responsiveness)))
    notes = [text for text in (interval_note(result), seeds_note(result), presets_note(result)) if text]
    if notes:
        _print(Group(Text(), *(Text(text, style="dim") for text in notes)))


def print_grid(grid: "Grid") -> None:
    """Print a table of numbers; where it is wider than the terminal, turned, or one block for each row."""
    import sys

    from rich.console import Console

    console = Console()

    def fits(table: "Table") -> bool:
        return not sys.stdout.isatty() or console.measure(table, options=_unbounded(console)).maximum <= console.width

    for one in (grid, _turned(grid)):
        table = _numbers_table(one)
        for column in table.columns:
            column.no_wrap = True
        if fits(table):
            _print(table, pipe_width=UNLIMITED)
            return
    for row in grid.rows:
        _print(_stacked(grid.headers, row))


def _turned(grid: "Grid") -> "Grid":
    """Return a table with a row for each column."""
    from sojourn.report import Grid

    columns = zip(*grid.rows, strict=True)
    names, *others = [[header, *cells] for header, cells in zip(grid.headers, columns, strict=True)]
    return Grid(names, others)


def _unbounded(console: "Console") -> "ConsoleOptions":
    return console.options.update(max_width=UNLIMITED)


def _stacked(headers: Sequence[str], row: Sequence[str]) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    table = _bare_table()
    for header, cell in zip(headers[1:], row[1:], strict=True):
        table.add_row("", header, cell)
    return Group(Text(row[0], style="bold"), table)


def _section(heading: str, rows: list[list[str]]) -> list["RenderableType"]:
    from rich.text import Text

    if not rows:
        return []
    table = _bare_table()
    for row in rows:
        table.add_row("", *row)
    return [Text(), Text(heading, style="bold"), table]


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


def _print(content: "RenderableType", pipe_width: int = PIPE_WIDTH) -> None:
    """Print to a terminal as wide as it is; to a pipe plainly, without blanks at the ends of lines."""
    import sys

    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else pipe_width, highlight=False, markup=False, emoji=False)
    if is_terminal:
        console.print(content)
        return
    with console.capture() as captured:
        console.print(content)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
