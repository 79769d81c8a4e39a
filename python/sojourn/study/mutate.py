"""Changes a study's claims one at a time, and counts how many of the changes its replay notices."""

import ast
import copy
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from sojourn import _native
from sojourn.study.load import CODE, StudyFolder
from sojourn.study.marks import parts
from sojourn.study.relations import relation
from sojourn.study.replay import left_out, rows

_OPPOSITE = {
    "above": "below",
    "not above": "not below",
    "at least": "at most",
    "more than": "less than",
    "rising": "falling",
    "not falling": "not rising",
    "largest": "smallest",
}
_OTHERWISE = {**_OPPOSITE, **{there: here for here, there in _OPPOSITE.items()}, "equal": "above"}
_NUMBERS = ("value", "paper", "tolerance", "often")
_DECIDE = ("value", "paper", "range")
"""Numbers of a claim that its verdict is about."""
_MORE = 1.1
_Change = Callable[[Mapping[str, Any]], Iterator[tuple[str, dict[str, Any]]]]
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


@dataclass(frozen=True)
class Mutant:
    """A study with one change in its claims."""

    what: str
    study: StudyFolder
    item: str | None = None
    """The item that has the claim; None for what may concern all."""


@dataclass(frozen=True)
class Score:
    """How many changes were noticed."""

    caught: int
    survivors: list[str]

    @property
    def part(self) -> float:
        """Return the part that was noticed; 1 where there was nothing to change."""
        total = self.caught + len(self.survivors)
        return self.caught / total if total else 1.0


def score(study: StudyFolder) -> Score:
    """Replay every mutant of a study; a change is noticed where a verdict differs or cannot be had any more."""
    means = study.replayed()
    expected = rows(study, means)
    caught, survivors = 0, []
    absent = left_out(study, means)
    for mutant in mutants(study):
        if mutant.item in absent:
            continue
        try:
            kept = [row for row in expected if mutant.item in {None, row["item"]}]
            noticed = rows(mutant.study, means, mutant.item) != kept
        except (_native.InputError, ArithmeticError, LookupError, TypeError, ValueError):
            noticed = True
        if noticed:
            caught += 1
        else:
            survivors.append(mutant.what)
    return Score(caught, survivors)


def wrong_by_ten(study: StudyFolder) -> Score:
    """Replay each claim that holds with its number ten times as large, and as small: one of them has to break it."""
    means = study.replayed()
    expected = rows(study, means)
    absent = left_out(study, means)
    caught, survivors = 0, []
    for (what, item), pair in itertools.groupby(_of_claims(study, _by_ten), lambda one: (one.what, one.item)):
        if item in absent:
            continue
        before = [row for row in expected if row["item"] == item]
        after = [rows(one.study, means, item) for one in pair]
        # A number may be of one place of several that a claim is about.
        decided = [
            [now["agrees"] for now in both]
            for then, *both in zip(before, *after, strict=True)
            if then["agrees"] and any(now["margin"] != then["margin"] for now in both)
        ]
        if any(all(verdicts) for verdicts in decided):
            survivors.append(what)
        elif decided:
            caught += 1
    return Score(caught, survivors)


def mutants(study: StudyFolder) -> Iterator[Mutant]:
    """Yield the study with one claim changed: a comparison inverted, a tolerance, a number, a place or a metric."""
    yield from _of_claims(study, _changed)
    for what, module in _modules(study):
        yield Mutant(what, replace(study, code=module))


def _of_claims(study: StudyFolder, change: _Change) -> Iterator[Mutant]:
    for index, item in enumerate(study.tables["item"]):
        # With what the item says for all its claims, which guards each of them as their own keys do.
        for number, claim in enumerate(study.claims(item)[: len(item.get("claim", []))]):
            for part in [None, *range(len(claim.get("parts", [])))]:
                tables = claim if part is None else claim["parts"][part]
                for what, changed in change(tables):
                    tables_of_study = copy.deepcopy(dict(study.tables))
                    place = tables_of_study["item"][index]["claim"]
                    if part is None:
                        place[number] = changed
                    else:
                        place[number]["parts"][part] = changed
                    named = f"{item['name']}: {claim.get('name') or claim['text']}: {what}"
                    yield Mutant(named, replace(study, tables=tables_of_study), item["name"])


def _changed(claim: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    said = claim.get("relation")
    if said in _OTHERWISE:
        yield f"{said} becomes {_OTHERWISE[said]}", {**claim, "relation": _OTHERWISE[said]}
    for key in _NUMBERS:
        for named, changed in _numbers(claim.get(key)):
            yield f"{key}{named} is changed", {**claim, key: changed}
    for place in range(len(claim.get("range", []))):
        ends = list(claim["range"])
        ends[place] = _more(ends[place])
        yield f"range[{place}] is changed", {**claim, "range": ends}
    for axis in claim.get("where", {}):
        yield f"where.{axis} is dropped", {**claim, "where": {k: v for k, v in claim["where"].items() if k != axis}}
    for place in range(len(claim.get("steps", []))):
        steps = [step for number, step in enumerate(claim["steps"]) if number != place]
        yield f"step {place + 1} is dropped", {**claim, "steps": steps}
    if "surely" in claim:
        yield "surely is turned round", {**claim, "surely": not claim["surely"]}
    if "order" in claim:
        yield "the order is reversed", {**claim, "order": claim["order"][::-1]}


def _by_ten(claim: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a claim with each number that decides it ten times as large, then as small; zero has no size."""
    said = claim.get("relation", "shown")
    read = ("paper",) if said == "near" else relation(said).keys
    for key in (one for one in _DECIDE if one in read):
        pairs = zip(*(_numbers(claim.get(key), factor) for factor in (10.0, 0.1)), strict=True)
        for pair in pairs:
            for named, changed in pair:
                if changed != claim[key]:
                    yield f"{key}{named} is wrong by ten", {**claim, key: changed}


def _numbers(given: Any, factor: float = _MORE) -> Iterator[tuple[str, Any]]:
    """Yield a value with each number in it changed."""
    if isinstance(given, Mapping | list):
        places = given.items() if isinstance(given, Mapping) else enumerate(given)
        for place, value in places:
            for named, changed in _numbers(value, factor):
                whole: Any = given.copy() if isinstance(given, list) else dict(given)
                whole[place] = changed
                yield f".{place}{named}", whole
    elif isinstance(given, str):
        words = given.split()
        for number, word in enumerate(words):
            if word.replace(".", "", 1).isdigit():
                yield "", " ".join([*words[:number], f"{_more(float(word), factor):g}", *words[number + 1 :]])
    elif isinstance(given, int | float) and not isinstance(given, bool):
        yield "", _more(given, factor)


def _more(number: float, factor: float = _MORE) -> float:
    # Zero stays what it is where a factor is what is asked for.
    return number * factor if number or factor != _MORE else _MORE


def _modules(study: StudyFolder) -> Iterator[tuple[str, ModuleType]]:
    """Yield `study.py` with one change in its claims: a comparison inverted, or a number changed that they name."""
    if study.module is None:
        return
    source = (study.folder / CODE).read_text(encoding="utf-8")
    for number in range(len(list(_comparisons(ast.parse(source))))):
        tree = ast.parse(source)
        node = list(_comparisons(tree))[number]
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
        yield f"{CODE}, line {node.lineno}: a comparison is inverted", _run(study, tree)
    for name in sorted(_names(ast.parse(source))):
        for _, changed in _numbers(vars(study.module).get(name)):
            module = _run(study, ast.parse(source))
            vars(module)[name] = changed
            yield f"{CODE}: {name} is changed", module


def _run(study: StudyFolder, tree: ast.Module) -> ModuleType:
    path = str(study.folder / CODE)
    module = ModuleType("mutant")
    module.__file__ = path
    if study.module is not None:
        # What it imports from its own folder.
        module.__package__ = study.module.__package__
        vars(module).update(parts(study.module))
    # Data classes look up the module that they are defined in.
    sys.modules[module.__name__] = module
    exec(compile(tree, path, "exec"), module.__dict__)  # noqa: S102  the study's own code
    return module


def _comparisons(tree: ast.Module) -> Iterator[ast.Compare]:
    for node in _nodes(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
            yield node


def _names(tree: ast.Module) -> set[str]:
    return {node.id for node in _nodes(tree) if isinstance(node, ast.Name)}


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what the functions are made of that are claims."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and _is_claim(function):
            yield from ast.walk(function)


def _is_claim(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "claim" for mark in function.decorator_list
    )


def as_text(found: Score) -> str:
    r"""Return how many changes were noticed, and which were not, one a line.

    >>> as_text(Score(19, ["fig1: it rises: tolerance is changed"]))
    '19 of 20 changes are noticed (95 %)\nnot noticed: fig1: it rises: tolerance is changed'
    """
    total = found.caught + len(found.survivors)
    head = f"{found.caught} of {total} changes are noticed ({100 * found.part:.0f} %)"
    return "\n".join([head, *(f"not noticed: {one}" for one in found.survivors)])


def ten_as_text(found: Score) -> str:
    r"""Return how many verdicts survive a number that is wrong by ten, and which, one a line.

    >>> ten_as_text(Score(19, ["fig1: it rises: value is wrong by ten"]))
    '1 of 20 verdicts survive a number that is wrong by ten (5 %)\nsurvives: fig1: it rises: value is wrong by ten'
    """
    total = found.caught + len(found.survivors)
    head = f"{len(found.survivors)} of {total} verdicts survive a number that is wrong by ten"
    return "\n".join([f"{head} ({100 * (1 - found.part):.0f} %)", *(f"survives: {one}" for one in found.survivors)])
