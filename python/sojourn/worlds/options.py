"""How a world states its options: as fields of a frozen dataclass, from which all else about them is derived."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.reading import input_error, shown, unknown_name
from sojourn.spelling import spelled

_META = "sojourn.option"
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}


@dataclass(frozen=True)
class Option:
    """One option of a world."""

    name: str
    summary: str
    default: Any
    kind: type = str
    """str, int, float, bool or Path."""
    choices: tuple[str, ...] = ()
    """What is allowed, where it is one of a few names."""
    metavar: str = ""
    """What stands for its value in help texts."""

    @property
    def allowed(self) -> str:
        """What a value may be, for messages."""
        return " or ".join(map(repr, self.choices)) or self.metavar or _WORDS[self.kind]

    def checked(self, value: Any) -> Any:
        """Return a value as the world takes it; raises InputError."""
        found = value
        if self.kind is Path and isinstance(value, str | os.PathLike):
            found = Path(value)
        elif self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            found = float(value)
        is_right = isinstance(found, self.kind) and (self.kind is bool or not isinstance(found, bool))
        if not is_right or (self.choices and found not in self.choices):
            message = f"{spelled(self.name)}: {shown(value)}; allowed: {self.allowed}"
            raise input_error(message, key=self.name, found=shown(value), allowed=self.allowed)
        return found


def option(
    summary: str, default: Any = None, *, kind: type = str, choices: tuple[str, ...] = (), metavar: str = ""
) -> Any:
    """Make a field of a dataclass of options; without a default it is None where it is not given."""
    return dataclasses.field(default=default, metadata={_META: Option("", summary, default, kind, choices, metavar)})


def stated(kind: type) -> list[Option]:
    """Return the options that a dataclass states."""
    return [
        dataclasses.replace(field.metadata[_META], name=field.name)
        for field in dataclasses.fields(kind)
        if _META in field.metadata
    ]


def made(kind: type, given: Mapping[str, Any], whose: str) -> Any:
    """Make the dataclass of what is given; None takes the default. Raises InputError for what it does not have."""
    known = {one.name: one for one in stated(kind)}
    for name in given:
        if name not in known:
            if not known:
                message = f"{whose} has no option {spelled(name)}: it has none"
                raise input_error(message, key=name, found=name, allowed="no option")
            raise unknown_name(f"{whose} has no option", name, list(known))
    return kind(**{name: known[name].checked(value) for name, value in given.items() if value is not None})
