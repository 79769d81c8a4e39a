"""Faces of packages: names that are imported when somebody asks for them, since most commands need few of them."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def by_need(package: str, homes: Mapping[str, Iterable[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose modules have the names listed for each of them."""
    home = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[package])
        found = getattr(importlib.import_module(home[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: sorted({*vars(sys.modules[package]), *home})
