"""What a study file may hold where: the kind and bounds of each value, told in one sentence where it is another.

A study is data that somebody else may have written. What its tables name is looked up later; here it is made sure that
everything is of the kind that this takes, and that what becomes the name of a file stays in the study's folder.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sojourn.reading import input_error, is_line, shown, unknown_name

Rule = Callable[[str, Any], None]
"""Raises InputError, with the key that it is given, for a value that is not allowed there."""

Rules = Mapping[str, Rule]
"""Those of a table, by its keys: it has no others."""

MAX_TEXT = 20_000
_MAX_NUMBER = 1e15
_MAX_DIGITS = 15
_MAX_HEIGHT_IN = 40
_MAX_PANELS = 50
# What becomes the name of a file: no separator, nothing hidden, nothing that leads elsewhere.
_FILE_NAME = re.compile(r"\w[\w+-]*(?:[ .][\w+-]+)*")
_MAX_FILE_NAME = 80


def check_kinds(tables: Mapping[str, Any], file: str) -> None:
    """Raise InputError for the first value of a study's tables that is not what its key takes."""
    try:
        _keys(STUDY)("", tables)
    except _RefusedError as refused:
        key, found, allowed = refused.args
        message = f"{key}: found {shown(found)}; allowed: {allowed}"
        raise input_error(message, file=file, key=key, found=shown(found), allowed=allowed) from None


class _RefusedError(Exception):
    """Key, what was found, what is allowed."""


def _one(allowed: str, is_right: Callable[[Any], bool]) -> Rule:
    def rule(key: str, value: Any) -> None:
        if not is_right(value):
            raise _RefusedError(key, value, allowed)

    return rule


def _each(rule: Rule, most: int = 100_000) -> Rule:
    """Return the rule of a list."""

    def check_all(key: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) > most:
            raise _RefusedError(key, value, f"a list of at most {most}")
        for place, one in enumerate(value):
            rule(f"{key}[{place}]", one)

    return check_all


def _keys(rules: Mapping[str, Rule]) -> Rule:
    """Return the rule of a table; keys that no rule is for are told where they are read."""

    def check_all(key: str, value: Any) -> None:
        _TABLE(key, value)
        for name, one in value.items():
            if name in rules:
                rules[name](f"{key}.{name}" if key else name, one)

    return check_all


def _named(rule: Rule, name: Rule | None = None) -> Rule:
    """Return the rule of a table whose keys are names."""

    def check_all(key: str, value: Any) -> None:
        _TABLE(key, value)
        for found, one in value.items():
            if name is not None:
                name(key, found)
            rule(f"{key}.{found}", one)

    return check_all


def _or(rule: Rule, other: Rule, kind: type) -> Rule:
    """Return the rule of a value that is either of a kind or something else."""
    return lambda key, value: (rule if isinstance(value, kind) else other)(key, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MAX_NUMBER


def check_known(tables: Mapping[str, Any], keys: Iterable[str], complaint: str) -> None:
    """Raise InputError for a key that is none of those known."""
    for key in tables:
        if key not in keys:
            raise unknown_name(complaint, key, list(keys))


def is_file_name(value: Any) -> bool:
    """Tell whether a file of a study may have a name."""
    return isinstance(value, str) and len(value) <= _MAX_FILE_NAME and bool(_FILE_NAME.fullmatch(value))


def _anything(_key: str, _value: Any) -> None:
    """Allow whatever it is: somebody else checks it."""


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


_TABLE = _one("a table", lambda value: isinstance(value, Mapping))
_TEXT = _one("a text", lambda value: isinstance(value, str) and len(value) <= MAX_TEXT)
_LINE = _one("a text of one line", lambda value: value == "" or is_line(value))
_FLAG = _one("true or false", lambda value: isinstance(value, bool))
_NUMBER = _one("a number", _is_number)
_SCALAR = _one("a text, a number or a flag", _is_scalar)
_FILE = _one("a name of letters, digits, '-' and '_'", is_file_name)
_NAMES = _or(_each(_LINE), _LINE, list)
_PLACE = _named(_or(_each(_SCALAR), _or(_named(_or(_each(_SCALAR), _SCALAR, list)), _SCALAR, dict), list))
"""Values of axes: one, several, or a table such as `{ not = [...] }`."""


def _numbers(key: str, value: Any) -> None:
    """Allow a number, some, or those of each value of one or more axes."""
    if isinstance(value, Mapping):
        _named(_numbers)(key, value)
    elif isinstance(value, list):
        _each(_numbers)(key, value)
    else:
        _NUMBER(key, value)


_RANGE = _one(
    "two numbers",
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)),  # noqa: PLR2004
)
_ARGUMENTS = _each(_or(_PLACE, _SCALAR, dict))


def _step(key: str, value: Any) -> None:
    _ARGUMENTS(key, value)
    if not value or not isinstance(value[0], str):
        raise _RefusedError(key, value, "a list that begins with the name of a step")


_STEPS = _each(_step)
_SELECTION = {"sweep": _NAMES, "metric": _NAMES, "group": _NAMES, "where": _PLACE, "steps": _STEPS}
_REASONS = _or(_each(_or(_keys({"where": _PLACE, "text": _TEXT}), _TEXT, dict)), _TEXT, list)
_SENTENCE = _keys({"when": _each(_LINE), "unless": _each(_LINE), "text": _TEXT})
_TOLERANCE = _or(_LINE, _NUMBER, str)


def _parts(key: str, value: Any) -> None:
    _each(_keys(CLAIM))(key, value)


def _panels(key: str, value: Any) -> None:
    _each(_keys(FIGURE), _MAX_PANELS)(key, value)


CLAIM: Rules = {
    "name": _LINE,
    "text": _TEXT,
    "each": _NAMES,
    "paper": _numbers,
    "says": _TEXT,
    "why": _REASONS,
    "note": _TEXT,
    "parts": _parts,
    "main": _FLAG,
    **_SELECTION,
    "measured": _TEXT,
    "relation": _LINE,
    "than": _PLACE,
    "value": _numbers,
    "range": _RANGE,
    "tolerance": _or(_each(_TOLERANCE), _TOLERANCE, list),
    "along": _LINE,
    "order": _each(_SCALAR),
    "which": _SCALAR,
    "surely": _FLAG,
    "often": _NUMBER,
    "own": _FLAG,
    "of": _LINE,
}
FIGURE: Rules = {
    "name": _FILE,
    "caption": _TEXT,
    "kind": _LINE,
    "panels": _panels,
    "columns": _one(
        f"a whole number, 1 to {_MAX_PANELS}", lambda value: isinstance(value, int) and 1 <= value <= _MAX_PANELS
    ),
    "each": _NAMES,
    "title": _TEXT,
    "height_in": _one(
        f"inches, up to {_MAX_HEIGHT_IN}", lambda value: _is_number(value) and 0 < value <= _MAX_HEIGHT_IN
    ),
    "mark": _numbers,
    "log": _FLAG,
    "logx": _FLAG,
    "range": _RANGE,
    "horizontal": _FLAG,
    "paper": _numbers,
    "joined": _FLAG,
    **_SELECTION,
    "x": _NAMES,
    "by": _NAMES,
    "against": _PLACE,
    "behind": _PLACE,
    "label": _LINE,
}
ITEM: Rules = {
    "name": _FILE,
    "title": _TEXT,
    "defaults": _TABLE,
    "setting": _TEXT,
    "sweeps": _each(_LINE),
    "found": _or(_each(_SENTENCE), _TEXT, list),
    "text": _TEXT,
    "claim": _each(_keys(CLAIM)),
    "shown": _each(_keys(CLAIM)),
    "figure": _each(_keys(FIGURE)),
    "needs_kernel": _FLAG,
    "by_name": _FLAG,
    "again": _keys({"items": _each(_LINE), "sweeps": _named(_LINE)}),
}
AXIS: Rules = {
    "values": _one("a list or a table", lambda value: isinstance(value, list | Mapping)),
    "levels": _named(_TABLE),
    "set": _TABLE,
    "label": _TEXT,
    "title": _TEXT,
}
_UNIT: dict[str, Rule] = {
    "name": _LINE,
    "scale": _NUMBER,
    "part": _FLAG,
    "digits": _one(
        f"a whole number, 0 to {_MAX_DIGITS}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_DIGITS,
    ),
    "label": _LINE,
}
_SWEEP: dict[str, Rule] = {
    "axes": _or(_each(_LINE), _TABLE, list),
    "metrics": _each(_LINE),
    "runs": _each(_LINE),
    "name": _FILE,
}
_FIT = _keys(
    {
        "items": _each(_LINE),
        "figures": _each(_LINE),
        "sweeps": _named(_FILE, _FILE),
        "measures": _named(_FILE, _FILE),
        "set": _TABLE,
    }
)
_BESIDE = _keys({"axis": _LINE, "key": _LINE, "levels": _each(_LINE)})
STUDY: Rules = {
    "name": _FILE,
    "title": _LINE,
    "source": _TEXT,
    "base": _anything,
    "seeds": _anything,
    "metrics": _each(_LINE),
    "pictures": _each(_LINE),
    "finding": _anything,
    "answer": _each(_SENTENCE),
    "defaults": _TABLE,
    "sets": _TABLE,
    "units": _named(_keys(_UNIT)),
    "axes": _named(_keys(AXIS)),
    "sweep": _named(_keys(_SWEEP), _FILE),
    "item": _each(_keys(ITEM)),
    "beside": _BESIDE,
    "fit": _FIT,
    "readings": _each(_LINE),
}
