"""The reference of the Python API: signatures and docstrings of what `sojourn` offers, read without importing it."""

import functools
import inspect
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import griffe

from handbook.pages import DOCS

PAGE = DOCS / "reference" / "api.md"
_ROOT = DOCS.parent
_Member = TypeVar("_Member", griffe.Attribute, griffe.Function)
_WIDTH = 100
"""A signature that is longer has a line for each parameter."""

SECTIONS: Mapping[str, Sequence[str]] = {
    "Scenarios and runs": ("sojourn.scenario", "sojourn.Scenario", "sojourn.Result"),
    "Comparisons": ("sojourn.compare", "sojourn.Comparison"),
    "Sweeps": ("sojourn.sweep", "sojourn.Plan", "sojourn.Dataset"),
    "What there is": ("sojourn.catalogue",),
    "Algorithms of your own": ("sojourn.control", "sojourn.discipline", "sojourn.traffic", "sojourn.shaper"),
    "Their parameters": (
        "sojourn.number",
        "sojourn.integer",
        "sojourn.time",
        "sojourn.rate",
        "sojourn.flag",
        "sojourn.choice",
    ),
    "What their methods get": (
        "sojourn._native.Ack",
        "sojourn._native.Congestion",
        "sojourn._native.Recovered",
        "sojourn._native.Started",
        "sojourn._native.Packet",
        "sojourn._native.Flow",
        "sojourn._native.Reply",
        "sojourn._native.Random",
    ),
    "Errors": ("sojourn.InputError", "sojourn.PluginError", "sojourn.Interrupted"),
}
_INTRODUCTION = """# Python API

Everything that `import sojourn` offers, from its docstrings. [The guide](../guide/python.md) shows how it is used, and
[algorithms of your own](../guide/your-own.md) how a plug-in is written.
"""


def renew() -> bool:
    """Write the page, and return whether it changed."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(text(), encoding="utf-8")
    return text() != before


def text() -> str:
    """Return the page."""
    package = _package()
    parts = [_INTRODUCTION]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _described(name, _target(package[name.removeprefix("sojourn.")]))
    return "\n".join(parts).rstrip("\n") + "\n"


def offered() -> list[str]:
    """Return the public names of the package that are more than text."""
    return [str(name) for name in _package().exports or () if not str(name).startswith("__")]


@functools.cache
def _package() -> griffe.Module:
    found = griffe.load("sojourn", search_paths=[_ROOT / "python"], resolve_aliases=True, allow_inspection=False)
    if not isinstance(found, griffe.Module):
        raise TypeError(found)
    return found


def _target(found: griffe.Object | griffe.Alias) -> griffe.Object:
    return found.final_target if isinstance(found, griffe.Alias) else found


def _described(name: str, found: griffe.Object) -> Iterator[str]:
    yield f"### `{name.removeprefix('sojourn._native.')}`\n"
    if isinstance(found, griffe.Function):
        yield _signature(name.removeprefix("sojourn."), found)
    yield from _docstring(found)
    if isinstance(found, griffe.Class):
        yield from _properties(found)
        for method in _public(found, griffe.Function):
            yield f"#### `{found.name}.{method.name}`\n"
            yield _signature(method.name, method, found.name if "classmethod" in method.labels else "")
            yield from _docstring(method)
    yield f"Source: {_source(found)}.\n"


def _public(of: griffe.Class, kind: type[_Member]) -> list[_Member]:
    """Return the members of a kind, those that are inherited first."""
    members = [_target(one) for name, one in of.all_members.items() if not name.startswith("_")]
    return [one for one in members if isinstance(one, kind)]


def _properties(of: griffe.Class) -> Iterator[str]:
    rows = [f"| `{one.name}` | {_code(one.annotation)} | {_one_line(one)} |" for one in _public(of, griffe.Attribute)]
    if rows:
        yield "\n".join(["| Attribute | Type | What it is |", "| --- | --- | --- |", *rows, ""])


def _one_line(one: griffe.Object) -> str:
    docstring = "" if one.docstring is None else one.docstring.value
    return " ".join(docstring.split()).replace("|", "\\|")


def _code(annotation: object) -> str:
    shown = str(annotation).strip("\"'").replace("|", "\\|")
    return f"`{shown}`" if annotation is not None else ""


def _signature(name: str, function: griffe.Function, of: str = "") -> str:
    """Return the call of a function; of a class method with its class, of a method without the object."""
    begin, end = (
        f"{of}.{name}(" if of else f"{name}(",
        ")" if function.returns is None else f") -> {str(function.returns).strip(chr(34))}",
    )
    parameters = _parameters(function)
    whole = begin + ", ".join(parameters) + end
    if len(whole) > _WIDTH:
        whole = "\n".join([begin, *(f"    {one}," for one in parameters), end])
    return f"```python\n{whole}\n```\n"


def _parameters(function: griffe.Function) -> list[str]:
    stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
    found: list[str] = []
    for one in function.parameters:
        if one.name in {"self", "cls"}:
            continue
        keyword_only = one.kind is griffe.ParameterKind.keyword_only
        if keyword_only and not any(word.startswith("*") for word in found):
            found.append("*")
        annotation = "" if one.annotation is None else f": {str(one.annotation).strip(chr(34))}"
        default = "" if one.default is None or one.kind in stars else f" = {_value(one.default, function)}"
        found.append(f"{stars.get(one.kind, '')}{one.name}{annotation}{default}")
        if one.kind is griffe.ParameterKind.positional_only and _is_last_positional_only(function, one):
            found.append("/")
    return found


def _value(default: str | griffe.Expr, function: griffe.Function) -> str:
    """Return a default as it is written; of a constant of the module its value."""
    name = str(default)
    if name.isidentifier() and name in function.module.members:
        constant = _target(function.module[name])
        if isinstance(constant, griffe.Attribute) and constant.value is not None:
            name = str(constant.value)
    return f'"{name[1:-1]}"' if name.startswith("'") else name


def _is_last_positional_only(function: griffe.Function, parameter: griffe.Parameter) -> bool:
    only = [one for one in function.parameters if one.kind is griffe.ParameterKind.positional_only]
    return only[-1] is parameter


def _docstring(found: griffe.Object) -> Iterator[str]:
    if found.docstring is None:
        return
    for section in found.docstring.parse("numpy", warnings=False):
        if isinstance(section, griffe.DocstringSectionText):
            yield _prose(section.value)
        elif isinstance(section, griffe.DocstringSectionParameters):
            # Of parameters that share a description the description comes once.
            alike = itertools.groupby(section.value, key=lambda one: one.description)
            yield _list((", ".join(f"`{one.name}`" for one in members), text) for text, members in alike)
        elif isinstance(section, griffe.DocstringSectionRaises):
            yield _list((f"Raises `{one.annotation}`", one.description) for one in section.value)
        elif isinstance(section, griffe.DocstringSectionExamples):
            yield _prose("\n\n".join(text for _, text in section.value))
        else:
            raise NotImplementedError(f"{found.path}: a section of {section.kind.value}")


def _list(items: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {' '.join(text.split())}\n" for name, text in items)


def _prose(text: str) -> str:
    """Return paragraphs; code that a docstring shows is code of the page."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        shown = f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>>") else paragraph
        parts.append(shown)
    return "\n\n".join(parts).replace("```\n\n```pycon\n", "\n") + "\n"


def _source(found: griffe.Object) -> str:
    place = Path(str(found.filepath)).resolve().relative_to(_ROOT.resolve())
    return f"[{place}](../../{place})"
