"""Replays a study's kept means into verdicts, and compares them with those that the study kept beside them."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sojourn.parquet import read_parquet
from sojourn.reading import input_error
from sojourn.store import folder_inside, whole_file
from sojourn.study.load import DATA, StudyFolder
from sojourn.study.means import Means

VERDICTS = "verdicts.parquet"
"""Beside `study.toml`: what lies in `data` has the name of a sweep."""
Row = dict[str, Any]


def rows(study: StudyFolder, means: Means, only: str | None = None) -> list[Row]:
    """Return what became of every claim of a study, item by item; of one item where `only` names it.

    Items of a kernel, and those that take long, are left out where means are lacking.
    """
    absent = left_out(study, means)
    items = [item for item in study.tables["item"] if only in {None, item["name"]} and item["name"] not in absent]
    return [{"item": item["name"], **asdict(check)} for item in items for check in study.checks(item, means)]


def left_out(study: StudyFolder, means: Means) -> list[str]:
    """Return the items that need a kernel or take long, and whose means were not kept with those of the others."""
    return [
        item["name"]
        for item in study.tables["item"]
        if (item.get("needs_kernel") or item.get("by_name")) and not set(study.sweeps_of(item)) <= set(means.sweeps)
    ]


def differences(study: StudyFolder) -> list[str]:
    """Return, in a sentence each, how the verdicts of the kept means differ from the kept verdicts."""
    return list(compared(kept(study), rows(study, study.replayed())))


def compared(then: list[Row], now: list[Row]) -> Iterator[str]:
    """Yield in a sentence how rows of verdicts differ.

    >>> row = {"item": "one", "claim": "it rises", "agrees": True, "margin": 0.5}
    >>> list(compared([row], [row | {"agrees": False, "margin": -0.5}]))
    ["one: 'it rises': agrees was True and is False, margin was 0.5 and is -0.5"]
    """
    if len(then) != len(now):
        yield f"there are {len(now)} checks; {len(then)} are kept"
    for before, after in zip(then, now, strict=False):
        if before != after:
            changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            said = ", ".join(f"{key} was {before.get(key)!r} and is {after.get(key)!r}" for key in changed)
            yield f"{after['item']}: {before.get('claim')!r}: {said}"


def keep(study: StudyFolder, folder: Path) -> Path:
    """Keep the means of a repetition beside the study, and the verdicts that they give; return the file of these."""
    made = folder / "means"
    there = [name for name in study.kept if (made / f"{name}.parquet").is_file()]
    needed = [item for item in study.tables["item"] if not (item.get("needs_kernel") or item.get("by_name"))]
    missing = sorted({name for item in needed for name in study.sweeps_of(item)} - set(there))
    if missing:
        message = f"lacks the means of {', '.join(missing)}; run all items of the study first"
        raise input_error(message, file=str(made))
    data = folder_inside(study.folder / DATA)
    for name in there:
        with whole_file(data / f"{name}.parquet") as path:
            shutil.copyfile(made / f"{name}.parquet", path)
    write(study.folder / VERDICTS, rows(study, study.replayed()))
    return study.folder / VERDICTS


def write(file: Path, verdicts: list[Row]) -> None:
    """Write rows of verdicts to a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with whole_file(file) as path:
        pq.write_table(pa.Table.from_pylist(verdicts), path, compression="zstd")


def kept(study: StudyFolder) -> list[Row]:
    """Return the verdicts that a study keeps, or raise InputError."""
    file = study.folder / VERDICTS
    if not file.is_file():
        message = "no verdicts are kept; `sojourn study run PATH --out DIR --keep` keeps them"
        raise input_error(message, file=str(file))
    found: list[Row] = read_parquet([file], needs=("item", "claim", "agrees")).to_pylist()
    return found
