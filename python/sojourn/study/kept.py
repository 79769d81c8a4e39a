"""What an item found, as a folder keeps it: figures, tables and one file from which a page can be written again."""

import csv
import dataclasses
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.pages import pictures
from sojourn.reading import read_table
from sojourn.store import dump_json, folder_inside, whole_file
from sojourn.study.kinds import is_file_name
from sojourn.study.model import Check, Findings, Item, Study, Table

FOUND = "found.json"


def write_item(folder: Path, study: Study, item: Item, found: Findings, *, page_only: bool = False) -> None:
    """Write an item's figures (PNG, PDF, SVG), tables (CSV) and what it found (JSON) into its folder.

    For the page only, figures are SVG, and PNG those that stand for the study.
    """
    place = folder_inside(folder / item.name)
    for name, figure in found.figures.items():
        stands = (".png",) if (item.name, name) in study.pictures else ()
        pictures.save(figure, place, name, stands if page_only else pictures.PRINTED)
    for table in found.tables:
        with whole_file(place / f"{table.name}.csv") as path:
            path.write_text(csv_text(table), encoding="utf-8")
    with whole_file(place / FOUND) as path:
        path.write_text(dump_json(_document(study, found)), encoding="utf-8")


def read_items(folder: Path, study: Study) -> dict[str, Findings]:
    """Return what a folder keeps of a study, by item, in the order of the study.

    Figures stay in their files: what is read has captions and no drawings. What another study or another version of
    Sojourn wrote is not of this one. Raises InputError for a file that holds something else.
    """
    found = {}
    for item in study.items:
        path = folder / item.name / FOUND
        if path.exists():
            document = read_table(path, "a study's findings", _DOCUMENT)
            if (document["study"], document["version"]) == (study.name, _native.__version__):
                found[item.name] = _findings(document)
    return found


def _document(study: Study, found: Findings) -> dict[str, Any]:
    return {
        "study": study.name,
        "version": _native.__version__,
        "verdict": found.verdict,
        "text": found.text,
        "checks": [vars(check) for check in found.checks],
        "figures": found.captions,
        "tables": [
            vars(table) | {"rows": [[_plain(cell) for cell in row] for row in table.rows]} for table in found.tables
        ],
    }


def _is_of(kind: type, **more: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the condition of having the fields of a dataclass, each of its type or as a condition has it."""
    known = {field.name: field for field in dataclasses.fields(kind)}
    needed = {name for name, field in known.items() if field.default is dataclasses.MISSING}

    def is_right(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and needed <= value.keys() <= known.keys()
            and all(more.get(name, _is_text)(one) for name, one in value.items())
        )

    return is_right


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(cell, list | dict) for cell in value)


def _all(condition: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(condition, value))


def _is_captions(value: Any) -> bool:
    # Each is the name of a file beside this one.
    return isinstance(value, dict) and all(is_file_name(name) and _is_text(one) for name, one in value.items())


_is_check = _is_of(
    Check,
    agrees=lambda value: value is None or isinstance(value, bool),
    held=_is_count,
    points=_is_count,
    margin=lambda value: value is None or (isinstance(value, int | float) and not isinstance(value, bool)),
    main=lambda value: isinstance(value, bool),
    own=lambda value: isinstance(value, bool),
)
_DOCUMENT: dict[str, Callable[[Any], bool]] = {
    "study": _is_text,
    "version": _is_text,
    "verdict": _is_text,
    "text": _is_text,
    "checks": _all(lambda one: _is_check(one) and (one["agrees"] is not False or _has_note(one))),
    "figures": _is_captions,
    "tables": _all(_is_of(Table, columns=_all(_is_text), rows=_all(_is_row))),
}


def _has_note(check: dict[str, Any]) -> bool:
    return bool(str(check.get("note", "")).strip())


def _findings(document: dict[str, Any]) -> Findings:
    tables = [
        Table(one["name"], one["caption"], tuple(one["columns"]), tuple(map(tuple, one["rows"])))
        for one in document["tables"]
    ]
    checks = [Check(**one) for one in document["checks"]]
    return Findings({}, document["figures"], tables, checks, document["text"], document["verdict"])


def _plain(cell: Any) -> Any:
    """Return a cell as JSON has it: what is not a number there is none here."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def csv_text(table: Table) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()
