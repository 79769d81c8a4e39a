"""Where studies are found: those of the package, those of other packages by entry point, and any folder."""

import importlib.metadata
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error, unknown_name
from sojourn.study.model import FILE

if TYPE_CHECKING:
    from sojourn.study.load import StudyFolder
    from sojourn.study.model import Study

ENTRY_POINTS = "sojourn.studies"
OWN = Path(__file__).parent.parent / "studies"


def folders() -> Iterator[Path]:
    """Yield the folders of the package's studies, and of those that other packages name by entry point.

    An entry point of the group `sojourn.studies` names a package or module; the study is in the folder that holds it.
    """
    yield from sorted(path.parent for path in OWN.glob(f"*/{FILE}"))
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            module = entry.load()
        except (ImportError, AttributeError) as error:
            raise input_error(f"the entry point {entry.name!r} of {ENTRY_POINTS}: {error}") from None
        yield Path(module.__file__).parent if getattr(module, "__file__", None) else Path(next(iter(module.__path__)))


def titles() -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield name, source and the titles of the items of all studies."""
    for folder in folders():
        tables = _head(folder)
        items = {item["name"]: item.get("title", item["name"]) for item in tables["item"]}
        yield tables.get("name", folder.name), tables["source"], items


def named() -> dict[str, Path]:
    """Return the folders of all studies by their names."""
    return {_head(folder).get("name", folder.name): folder for folder in folders()}


_ITEM = re.compile(r"^\[\[item\]\]$.*?(?=^\[)", re.MULTILINE | re.DOTALL)


def _head(folder: Path) -> Mapping[str, Any]:
    """Return what a study's file says of the study and of its items before their claims and figures.

    Most of a file is claims, and reading all of them takes longer than all else that a list of studies does. A cut
    through a value is no TOML; then the whole file is read, which also says what is wrong with it.
    """
    found: dict[str, Any] = {}
    try:
        text = (folder / FILE).read_text(encoding="utf-8-sig")
        top, *_ = re.split(r"^\[", text, maxsplit=1, flags=re.MULTILINE)
        texts = [
            text,
            *((folder / name).read_text(encoding="utf-8-sig") for name in tomllib.loads(top).get("parts", [])),
        ]
        found = tomllib.loads("".join((top, *(head for one in texts for head in _ITEM.findall(f"{one}\n[")))))
        names = [found.get("name", ""), found["source"], *(item["name"] for item in found["item"])]
        is_whole = all(isinstance(name, str) for name in names)
    except (OSError, ValueError, KeyError, TypeError):
        is_whole = False
    if is_whole:
        return found
    from sojourn.study.load import StudyFolder

    return StudyFolder.load(folder).tables


def studies() -> "list[Study]":
    """Return all studies."""
    from sojourn.study.load import StudyFolder

    return [StudyFolder.load(folder).study() for folder in folders()]


def find(name: str) -> "Study":
    """Return a study by name, or the one of a folder; raises InputError where there is none."""
    if is_folder(name) or name in named():
        return find_folder(name).study()
    raise unknown_name("no study and no folder is called", name, [*named(), "all"])


def find_folder(name: str) -> "StudyFolder":
    """Return the folder of a study by name or path; raises InputError where there is none."""
    from sojourn.study.load import StudyFolder

    if is_folder(name):
        return StudyFolder.load(name)
    known = named()
    if name not in known:
        raise unknown_name("no study of tables and no folder is called", name, list(known))
    return StudyFolder.load(known[name])


def is_folder(name: str) -> bool:
    """Return whether a name is that of a folder: written as a path, or one that holds a study.

    >>> is_folder("./mine"), is_folder("gong")
    (True, False)
    """
    return os.sep in name or name in {".", ".."} or (Path(name) / FILE).is_file()
