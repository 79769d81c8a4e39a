"""The further files of a study: what `study.toml` names under `parts`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.reading import input_error, read_toml, shown
from sojourn.study.kinds import check_known, is_file_name

_PARTS, _ITEM, _TOML = "parts", "item", ".toml"
_TABLES = ("sets", "units", "axes", "sweep")


def with_parts(folder: Path, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a study with those of its further files; raises InputError for what is stated twice."""
    found = {key: value for key, value in tables.items() if key != _PARTS}
    for name in file_names(tables, _PARTS, _TOML):
        file = folder / name
        part = read_toml(file)
        check_known(part, (*_TABLES, _ITEM), f"{file}: no key of a part of a study is called")
        for key in (key for key in _TABLES if key in part):
            found[key] = _merged(found.get(key, {}), part[key], key, str(file))
        if not all(isinstance(one, list) for one in (part.get(_ITEM, []), found.get(_ITEM, []))):
            raise input_error(f"{_ITEM}: allowed: a list of tables", file=str(file), key=_ITEM)
        found[_ITEM] = [*found.get(_ITEM, []), *part.get(_ITEM, [])]
    return found


def file_names(tables: Mapping[str, Any], key: str, ending: str) -> list[str]:
    """Return the files of the study's folder that a key names; raises InputError for what is no list of them."""
    names = tables.get(key, [])
    if not isinstance(names, list) or not all(
        isinstance(name, str) and name.endswith(ending) and is_file_name(name.removesuffix(ending)) for name in names
    ):
        allowed = f'names of files in the study\'s folder, such as ["more{ending}"]'
        raise input_error(f"{key}: found {shown(names)}; allowed: {allowed}", key=key)
    return names


def _merged(one: Any, other: Any, key: str, file: str) -> dict[str, Any]:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        raise input_error(f"{key}: allowed: a table", file=file, key=key)
    for twice in one.keys() & other.keys():
        said = f"{key}.{twice}: stated twice; allowed: in one file of the study"
        raise input_error(said, file=file, key=f"{key}.{twice}")
    return {**one, **other}
