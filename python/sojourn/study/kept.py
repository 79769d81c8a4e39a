"""What an item found, as a folder keeps it: figures, tables and one file from which a page can be written again."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.figures import save_figure
from sojourn.store import dump_json, whole_file
from sojourn.study.model import Check, Findings, Item, Study, Table

FOUND = "found.json"


def write_item(folder: Path, study: Study, item: Item, found: Findings) -> None:
    """Write an item's figures (PNG and PDF), tables (CSV) and what it found (JSON) into its folder."""
    place = folder / item.name
    place.mkdir(parents=True, exist_ok=True)
    for name, figure in found.figures.items():
        for suffix in (".png", ".pdf"):
            save_figure(figure, place / f"{name}{suffix}")
    for table in found.tables:
        with whole_file(place / f"{table.name}.csv") as path:
            path.write_text(csv_text(table), encoding="utf-8")
    with whole_file(place / FOUND) as path:
        path.write_text(dump_json(_document(study, found)), encoding="utf-8")


def read_items(folder: Path, study: Study) -> dict[str, Findings]:
    """Return what a folder keeps of a study, by item, in the order of the study.

    Figures stay in their files: what is read has captions and no drawings. What another study or another version of
    Sojourn wrote is not of this one.
    """
    found = {}
    for item in study.items:
        path = folder / item.name / FOUND
        if path.is_file():
            document = json.loads(path.read_text(encoding="utf-8"))
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
