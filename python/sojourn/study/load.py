"""Reads a study: a folder with `study.toml`, files that this names, and, where tables will not do, `study.py`."""

import contextlib
import dataclasses
import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sojourn import _native, plugins
from sojourn.api import Scenario
from sojourn.data.dataset import Dataset
from sojourn.faults import MAX_SHOWN
from sojourn.pages.laboratory import Link
from sojourn.reading import input_error, printable, read_toml, shown, unknown_name
from sojourn.registry import PlugIn, sentence_of
from sojourn.study import claims, drawings, scenes
from sojourn.study import means as reduced
from sojourn.study.fitted import change, first_of, in_sweeps, under_fit, under_fit_caption, with_fitted
from sojourn.study.kinds import CLAIM, FIGURE, ITEM, STUDY, check_kinds, check_known
from sojourn.study.lab import Lab
from sojourn.study.marks import Outcome, marked
from sojourn.study.means import Means, Reduced
from sojourn.study.model import FILE, Check, Findings, Item, Study, Table
from sojourn.study.parts import file_names, with_parts
from sojourn.study.sweeps import PLUGINS, sweep_tables
from sojourn.study.units import Unit
from sojourn.study.words import fill
from sojourn.sweeps.plan import Plan
from sojourn.worlds.registry import SIM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CODE, DATA = "study.py", "data"
SHOWN = {"relation": "shown"}
_SET = "@"


@dataclass(frozen=True)
class StudyFolder:
    """A study as its folder has it."""

    folder: Path
    tables: Mapping[str, Any]
    code: ModuleType | None = None
    """`study.py`, where it is not the one of the folder."""
    changed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Keys that every scenario of it has changed, and to what."""

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "StudyFolder":
        """Read a study; raises InputError."""
        place = Path(folder)
        file = place / FILE
        if not file.is_file():
            raise input_error(
                f"holds no study: there is no {FILE}; `sojourn study new DIR` makes one", file=str(folder)
            )
        tables = with_parts(place, read_toml(file))
        sets = tables.get("sets", {})
        found = cls(place, _with_sets(tables, sets if isinstance(sets, Mapping) else {}))
        check_kinds(found.tables, str(file))
        found = cls(place, with_fitted(found.tables))
        found.check_names(str(file))
        return found

    def check_names(self, file: str) -> None:
        """Raise InputError for a key that no study has, and for one that is missing."""
        check_known(self.tables, STUDY, f"{file}: no key of a study is called")
        for key in ("title", "source", "sweep", "item", "metrics"):
            if key not in self.tables:
                raise input_error(f"{key}: nothing; allowed: see `sojourn study new DIR`", file=file, key=key)
        names = [item.get("name") for item in self.tables["item"]]
        for item in self.tables["item"]:
            check_known(item, ITEM, f"{file}: no key of an item is called")
            if "name" not in item or names.count(item["name"]) > 1:
                found = shown(item.get("name"))
                raise input_error(f"item: found {found}; allowed: a name of its own", file=file, key="item")
            for kind, needed in (("claim", "text"), ("figure", "name"), ("figure", "caption")):
                for one in item.get(kind, []):
                    if needed not in one:
                        where = f"{kind} of item {shown(item['name'])}"
                        raise input_error(f"{where}: {needed}: nothing; allowed: a text", file=file, key=needed)
        for unit in self.tables.get("units", {}).values():
            check_known(unit, [field.name for field in dataclasses.fields(Unit)], f"{file}: no key of a unit is called")

    @functools.cached_property
    def module(self) -> ModuleType | None:
        """The functions of `study.py`, read when they are needed; raises InputError for one of an item there is not."""
        found = self.code or _module(self.folder / CODE)
        names = [item["name"] for item in self.tables["item"]]
        for mark, _ in (*marked(found, "claim"), *marked(found, "figure")):
            if mark.names[0] not in names:
                raise unknown_name(f"{CODE}: the study has no item", mark.names[0], names)
        return found

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return str(self.tables.get("name", self.folder.resolve().name))

    @property
    def axes(self) -> Mapping[str, Mapping[str, Any]]:
        """The axes that sweeps share, by name."""
        found: Mapping[str, Mapping[str, Any]] = self.tables.get("axes", {})
        return found

    @functools.cached_property
    def units(self) -> dict[str, Unit]:
        """Units of metrics that are the study's own, or shown in another way."""
        return {name: Unit(**unit) for name, unit in self.tables.get("units", {}).items()}

    def study(self) -> Study:
        """Return it as something that can be repeated."""
        items = [
            Item(
                one["name"],
                one.get("title", one["name"]),
                one.get("setting", ""),
                functools.partial(self._find, one),
                bool(one.get("needs_kernel")),
                functools.partial(self._laboratory, one),
                bool(one.get("by_name")),
                functools.partial(self._real_time_s, one),
            )
            for one in self.tables["item"]
        ]
        pictures = [(item, name) for item, _, name in (one.partition("/") for one in self.tables.get("pictures", []))]
        return Study(
            self.name, self.tables["title"], self.tables["source"], items, self._summary, pictures, self._headline
        )

    # Sweeps and what they measured.

    def plan(self, name: str) -> dict[str, Any]:
        """Return a sweep of the study as the tables of a sweep file, and load the plug-ins that it names."""
        known = self.tables["sweep"]
        if name not in known:
            raise unknown_name("the study has no sweep", name, list(known))
        for file in file_names(known[name], PLUGINS, ".py"):
            plugins.load(self.folder / file)
        names = {name, first_of(name, self.tables)}
        made = [function for mark, function in marked(self.module, "changes") if names & {*mark.names}]
        return sweep_tables(name, known[name], self.tables, made[0] if made else None, self.changed)

    def checked(self, name: str) -> Plan:
        """Return a sweep of the study, checked; raises InputError."""
        return Plan.of(self.plan(name), name=name, folder=str(self.folder))

    def scenario(self, name: str, **at: Any) -> Scenario:
        """Return the scenario of a sweep's point at which axes have certain values; raises InputError for none."""
        plan = self.checked(name)
        found = (point for point in map(plan.point, range(plan.points)) if at.items() <= point.coordinates.items())
        point = next(found, None)
        if point is None:
            raise input_error(f"sweep {name}: no point has {shown(at)}; allowed: values of its axes {plan.names}")
        return Scenario(plan.scenario(point))

    def plans(self) -> dict[str, Plan]:
        """Return all sweeps, checked; raises InputError."""
        return {name: self.checked(name) for name in self.tables["sweep"]}

    def _real_time_s(self, item: Mapping[str, Any]) -> dict[str, float]:
        """Return for how long the runs of each sweep of an item go on by the clock."""
        found = {}
        for name in self._sweeps_behind(self.sweeps_of(item)):
            if self.tables["sweep"].get(name, {}).get("world", SIM) != SIM:
                plan = self.checked(name)
                found[name] = plan.runs * plan.chosen.real_time_s(plan.scenario(plan.point(0)))
        return found

    def measured(self, lab: Lab, names: Sequence[str]) -> Means:
        """Return the means of some sweeps and measures, running what the lab's folder lacks of them."""
        found: dict[str, Reduced] = {}
        for name in names:
            if name not in self._measures:
                sweep = self.tables["sweep"].get(name, {})
                metrics = sweep.get("metrics", self.tables["metrics"])
                found[name] = reduced.reduce(*self._run(lab, name), metrics, sweep.get("runs", ()))
                continue
            sweeps, function = self._measures[name]
            runs: list[tuple[Any, ...]] = [self._run(lab, sweep) for sweep in sweeps] or [()]
            found[name] = reduced.reduced_rows(row for given in runs for row in function(*given))
        reduced.write(lab.folder / "means", found)
        return Means(found, self.units, self.scenario)

    def _run(self, lab: Lab, name: str) -> tuple[Plan, Dataset]:
        """Return a sweep's plan and dataset; raises RuntimeError where a run of it failed."""
        plan = lab.plan(name, self.plan(name), self.folder)
        dataset = lab.run(plan)
        reduced.check_complete(plan, dataset)
        return plan, dataset

    @functools.cached_property
    def _measures(self) -> dict[str, tuple[Sequence[str], Callable[..., Any]]]:
        return {mark.names[0]: (mark.settings["of"], function) for mark, function in marked(self.module, "measure")}

    @property
    def kept(self) -> list[str]:
        """Names of the means that items report: of sweeps and of measures."""
        return list(dict.fromkeys(name for item in self.tables["item"] for name in self.sweeps_of(item)))

    def replayed(self) -> Means:
        """Return the means that the folder keeps."""
        return Means(reduced.read(self.folder / DATA, self.kept), self.units, self.scenario)

    # Items.

    def sweeps_of(self, item: Mapping[str, Any]) -> list[str]:
        """Return the names of the means that an item needs."""
        found: dict[str, None] = dict.fromkeys(item.get("sweeps", []))
        for one in (*self.claims(item), *self.figures(item)):
            for tables in (one, *one.get("parts", []), *one.get("panels", [])):
                given = [
                    tables.get("sweep"),
                    tables.get("than", {}).get("sweep"),
                    tables.get("against", {}).get("sweep"),
                ]
                given += [
                    step[1].get("sweep")
                    for step in tables.get("steps", [])
                    if len(step) > 1 and isinstance(step[1], Mapping)
                ]
                for name in given:
                    found |= dict.fromkeys(name if isinstance(name, list) else [name] if name else [])
        return list(found)

    def claims(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the claims of an item, then what it only shows, with what study and item say for all of them."""
        return [*self._own_claims(item), *self._again(item)]

    def _own_claims(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        shown = [{**one, **SHOWN} for one in self._completed(item, "shown", CLAIM)]
        found = [*self._completed(item, "claim", CLAIM), *shown]
        return [{"of": f"{item['name']}: {one['text']}", **one} for one in found]

    def _again(self, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the claims of other items with other sweeps in place of theirs: a further reading of each."""
        said = item.get("again", {})
        items = {one["name"]: one for one in self.tables["item"]}
        for name in said.get("items", []):
            if name not in items:
                raise unknown_name(f"{item['name']}: again: the study has no item", name, list(items))
            for claim in self._own_claims(items[name]):
                relations = {part.get("relation", claim.get("relation")) for part in claim.get("parts", [{}])}
                kept = {key: value for key, value in claim.items() if key not in {"name", "main"}}
                if not relations <= {None, "shown"} and (read := in_sweeps(kept, said.get("sweeps", {}))) is not None:
                    yield {**read, "text": f"{name}: {claim['text']}"}

    def figures(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the figures of an item in the same way."""
        return self._completed(item, "figure", FIGURE)

    def _completed(self, item: Mapping[str, Any], kind: str, keys: Mapping[str, Any]) -> list[dict[str, Any]]:
        defaults = self._defaults(item)
        return [{**{key: defaults[key] for key in defaults if key in keys}, **one} for one in item.get(kind, [])]

    def _defaults(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return what study and item say for all claims and figures of the item."""
        return {**self.tables.get("defaults", {}), **item.get("defaults", {})}

    def checks(self, item: Mapping[str, Any], means: Means) -> Iterator[Check]:
        """Yield what became of an item's claims: those of the table, then those of `study.py`."""
        readings = self.tables.get("readings", [])
        for tables in self.claims(item):
            with _told(f"the claim {shown(tables['text'])}"):
                yield from list(claims.checks(tables, means, self.axes, readings))
        for mark, function in marked(self.module, "claim"):
            if mark.names[0] == item["name"]:
                of = f"{item['name']}: {mark.settings['text']}"
                yield from _judged({"of": of, **self._defaults(item), **mark.settings}, function(means), readings)

    def _find(self, item: Mapping[str, Any], lab: Lab) -> Findings:
        names = self.sweeps_of(item)
        found = self.findings(item, self.measured(lab, names))
        self._name_plug_ins(found, names, lambda sweep: lab.plug_ins.get(sweep, ()))
        return found

    def found_in_kept(self, item: Mapping[str, Any], means: Means) -> Findings:
        """Return what an item finds in the means that the folder keeps."""
        found = self.findings(item, means)
        self._name_plug_ins(found, self.sweeps_of(item), self._planned_plug_ins)
        return found

    def _planned_plug_ins(self, sweep: str) -> list[PlugIn]:
        """Return what a sweep uses from outside; which version its kept means are from is not known."""
        if PLUGINS not in self.tables["sweep"].get(sweep, {}):
            return []
        plan = self.checked(sweep)
        return [dataclasses.replace(one, content="") for one in plan.plug_ins()]

    def _name_plug_ins(self, found: Findings, names: Sequence[str], used_by: Callable[[str], Sequence[PlugIn]]) -> None:
        """Say in an item's text and captions which code from outside its numbers depend on."""
        sweeps = [sweep for name in names for sweep in self._measures.get(name, ((name,), None))[0]]
        used = dict.fromkeys(one for sweep in sweeps for one in used_by(sweep))
        if said := sentence_of(list(used)):
            _say(found, said)

    def findings(self, item: Mapping[str, Any], means: Means) -> Findings:
        """Return what an item finds in means."""
        found = Findings(checks=list(self.checks(item, means)))
        fitted = under_fit(means, item["name"], self.tables)
        for name, caption, draw in self._drawn(item):
            found.show(name, draw(means), caption)
            if fitted is not None and f"{item['name']}/{name}" in self.tables["fit"].get("figures", []):
                found.show(f"{name}-fit", draw(fitted), under_fit_caption(caption))
        found.tables = [self._table(name, means) for name in self.sweeps_of(item)]
        found.verdict = chosen(item.get("found", ""), found.checks)
        found.text = str(item.get("text", ""))
        if fitted is not None:
            short, which = change(found.checks, list(self.checks(item, fitted)))
            found.verdict = f"{found.verdict} {short}".strip()
            found.text = f"{found.text}\n\n{which}".strip()
        return found

    def item(self, name: str) -> dict[str, Any]:
        """Return the tables of an item."""
        return next(one for one in self.tables["item"] if one["name"] == name)

    def longest_first(self, names: Sequence[str]) -> list[str]:
        """Return items in the order in which processes side by side are done soonest: those with most figures first."""
        made = [mark.names[0] for mark, _ in marked(self.module, "figure")]
        return sorted(names, key=lambda name: -len(self.item(name).get("figure", [])) - made.count(name))

    def _drawn(self, item: Mapping[str, Any]) -> Iterator[tuple[str, str, Callable[[Means], "Figure"]]]:
        """Yield name, caption and what draws it of each figure of an item: those of the table, then of `study.py`."""
        for tables in self.figures(item):
            yield tables["name"], tables["caption"], functools.partial(self._draw, tables)
        for mark, function in marked(self.module, "figure"):
            if mark.names[0] == item["name"]:
                yield mark.names[1], mark.settings["caption"], function

    def _draw(self, tables: Mapping[str, Any], means: Means) -> "Figure":
        with _told(f"the figure {shown(tables['name'])}"):
            return drawings.draw(tables, means, self.axes)

    def _laboratory(self, item: Mapping[str, Any]) -> dict[str, list[Link]]:
        """Return the links of an item's figures into the laboratory, by figure."""
        own = {tables["name"]: tables for tables in self.figures(item)}
        made = [mark.names[1] for mark, _ in marked(self.module, "figure") if mark.names[0] == item["name"]]
        plan = functools.cache(self.checked)
        found = {}
        for figure, tables in (own | dict.fromkeys(made, item.get("defaults", {}))).items():
            sweeps = self._sweeps_behind([*self.sweeps_of({"figure": [tables]}), *self.sweeps_of(item)])
            # The page in the browser has no plug-ins.
            shown = sweeps and PLUGINS not in self.tables["sweep"][sweeps[0]]
            found[figure] = scenes.links(tables, plan(sweeps[0]), self.axes) if shown else []
        return found

    def _sweeps_behind(self, names: Sequence[str]) -> list[str]:
        """Return sweeps by their names, and those that measures are made of."""
        return [one for name in names for one in self._measures.get(name, ([name], None))[0]]

    def _table(self, name: str, means: Means) -> Table:
        """Return the means of a sweep as a table: axes, group, metric with its unit, mean, deviation, runs."""
        one = means.sweeps[name]
        rows = []
        for at, group, metric, number in one.rows():
            unit = means.unit(metric)
            shown = number.times(unit.scale)
            rows.append((*at.values(), group, metric, unit.name, shown.mean, shown.sd, shown.runs))
        return Table(name, f"Means of {name}", (*one.axes, "group", "metric", "unit", "mean", "sd", "n"), tuple(rows))

    def _headline(self, findings: dict[str, Findings]) -> str:
        """Return the finding in one sentence, chosen by what became of the claims."""
        return chosen(self.tables.get("finding", ""), [check for found in findings.values() for check in found.checks])

    def _summary(self, findings: dict[str, Findings]) -> str:
        """Return the answer in a few sentences, chosen by what became of the claims."""
        everything = [check for found in findings.values() for check in found.checks]
        answers = self.tables.get("answer", [])
        # What is said whatever became of the claims is about the exceptions.
        last = next((place for place, one in enumerate(answers) if not {"when", "unless"} & set(one)), len(answers))
        said = [chosen([one], everything) for one in answers]
        main = [check for check in everything if check.main]
        if main and any(said):
            held, points = (sum(getattr(check, part) for check in main) for part in ("held", "points"))
            said.insert(last, f"The finding holds at {_of(held, points)}.")
        return "\n\n".join(filter(None, said))


def chosen(given: Any, found: Sequence[Check]) -> str:
    """Return the first sentence whose claims hold; `{name}` in it is what was measured of a claim.

    A sentence with claims in `when` is said where they all hold, and with `unless` where one of them does not.

    >>> held = Check("it rises", "", "1 to 2", True, name="rises")
    >>> chosen([{"when": ["rises"], "text": "It rises from {rises}."}, {"text": "It does not."}], [held])
    'It rises from 1 to 2.'
    """
    if isinstance(given, str):
        return given
    by = {check.name: check for check in found if check.name}
    for one in given:
        asked = [*one.get("when", []), *one.get("unless", [])]
        if any(name not in by for name in asked):
            continue
        holds = all(by[name].agrees is not False for name in asked)
        if holds is ("unless" not in one):
            try:
                return fill(str(one.get("text", "")), {name: check.measured for name, check in by.items()})
            except KeyError as error:
                raise unknown_name(f"{shown(one['text'])}: no claim is called", error.args[0], list(by)) from None
    return ""


def _say(found: Findings, said: str) -> None:
    """Add a sentence to the text and to all captions."""
    found.text = f"{found.text}\n\n{said}".strip()
    found.captions = {name: f"{caption.rstrip('.')}. {said}" for name, caption in found.captions.items()}


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Raise InputError where the tables of a claim or a figure ask for what these numbers do not have.

    Tables may combine anything with anything: an order with a value that the axis lacks, the largest of one.
    """
    try:
        yield
    except _native.InputError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        kind = type(error).__name__
        message = f"{what} does not fit the numbers that it names ({kind}: {printable(str(error))[:MAX_SHOWN]})"
        raise input_error(message) from error


def _of(held: int, points: int) -> str:
    return f"all {points} points" if held == points else f"{held} of {points} points"


def _judged(said: Mapping[str, Any], given: Outcome | Sequence[Outcome], readings: Sequence[str]) -> Iterator[Check]:
    """Yield the checks of a function of study.py."""
    for outcome in [given] if isinstance(given, Outcome) else given:
        held, points = outcome.points or (int(bool(outcome.holds)), int(outcome.holds is not None))
        why = outcome.why or said["why"] or "Open."
        yield Check(
            claim=fill(said["text"], outcome.at),
            paper=outcome.paper or said["paper"],
            measured=outcome.measured,
            agrees=outcome.holds,
            note=why if outcome.holds is False else outcome.note,
            tolerance=outcome.tolerance or said["tolerance"],
            name=fill(said["name"] or "", outcome.at),
            held=held,
            points=points,
            margin=outcome.margin,
            own=said.get("own", not (outcome.paper or said["paper"])),
            of=claims.without_readings(said["of"], outcome.at, readings),
        )


def _with_sets(tables: Any, sets: Mapping[str, Any]) -> Any:
    """Return tables where `@name` is the list that `sets` has under the name."""
    if isinstance(tables, dict):
        return {key: _with_sets(value, sets) for key, value in tables.items()}
    if isinstance(tables, list):
        return [_with_sets(value, sets) for value in tables]
    if isinstance(tables, str) and tables.startswith(_SET):
        if tables[1:] not in sets:
            raise unknown_name("the study has no set", tables[1:], list(sets))
        return sets[tables[1:]]
    return tables


def _module(path: Path) -> ModuleType | None:
    """Return `study.py` as a package, whose modules are the other Python files of its folder."""
    if not path.is_file():
        return None
    name = f"sojourn_study_{path.parent.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise input_error("cannot be imported", file=str(path))
    # Another folder of the same name, or this one before it was changed.
    for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[loaded]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
