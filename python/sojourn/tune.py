"""The best settings of a scenario for a goal: searched with Optuna, judged on runs that the search has not seen.

Every trial has the same seeds (common random numbers), and where something of the line is not known the same twins. A
goal counts on the worst twin, what is maximised in the mean over all. The search asks for a fixed number of trials at a
time, so that its path does not depend on how many processors there are.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.api import Scenario
from sojourn.data.statistics import statistic
from sojourn.goals import Goal, Quantity, quantity
from sojourn.imported.line import TWINS
from sojourn.imported.twins import Changes, measure, twins
from sojourn.lines import LINE, chosen
from sojourn.reading import input_error, read_json, shown
from sojourn.spelling import spelled
from sojourn.store import dump_json
from sojourn.sweeps.axis import AxisError, Range, of_text
from sojourn.sweeps.cluster import runner
from sojourn.sweeps.local import Runner
from sojourn.tuned import HELD_OUT, Judged, Trial, Tuned
from sojourn.worlds.world import Progress

if TYPE_CHECKING:
    from types import ModuleType

BATCH = 8
"""Trials that are asked for at a time."""
FILE = "trials.json"
_DIGITS = 4
"""With which a setting is tried, as somebody would enter it."""
_MOST_EXCESS = 1e6


@dataclass(frozen=True)
class Knob:
    """Keys that are varied together."""

    keys: tuple[str, ...]
    span: Range | None
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Knob":
        """Read KEY=FROM..TO or KEY=one,other; raises InputError."""
        try:
            return cls(*of_text(text))
        except AxisError as error:
            keys, equals, values = text.partition("=")
            choices = tuple(one.strip() for one in values.split(",") if one.strip())
            if not equals or ".." in values or len(choices) < 2:  # noqa: PLR2004 (one is no choice)
                allowed = f"{error.allowed}, or KEY=one,other"
                raise input_error(f"vary: found {shown(text)}; allowed: {allowed}", key="vary", found=text) from None
            return cls((keys.strip(),), None, choices)

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return self.keys[0]

    def at(self, value: float | str) -> dict[str, Any]:
        """Return the changes for what the search suggests: a choice, or a part of the range."""
        chosen = value if self.span is None or isinstance(value, str) else self.span.at(value, _DIGITS)
        return dict.fromkeys(self.keys, chosen)


def tune(  # noqa: PLR0913 (one for each thing that may be asked)
    scenario: Scenario,
    vary: Sequence[str],
    *,
    maximize: str | None = None,
    minimize: str | None = None,
    goal: str | None = None,
    trials: int = 100,
    runs: int = 3,
    count: int = TWINS,
    lines: str | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Search the settings of a scenario that keep a goal and make a quantity best.

    Parameters
    ----------
    scenario
        What is tuned; where it has an `unknown`, all of its twins at once.
    vary
        KEY=FROM..TO with a unit, or KEY=one,other.
    maximize, minimize
        The quantity that is to be best; one of them.
    goal
        A bound that another quantity must keep, such as "p99 of calls < 150 ms".
    trials, runs, count
        How many settings are tried, runs of each, and twins.
    lines
        Access lines for all of which the settings are to serve, as `sojourn.lines.chosen` has them ("home:20"); the
        winner is judged on another sample of them.
    out
        Folder in which trials are kept: what it holds already is not run again.
    jobs, progress
        As for `sojourn.sweep`.
    cluster
        A Dask cluster that runs the trials instead, as `sojourn sweep --cluster` names it. What is found is the same.

    Raises
    ------
    InputError
        Where a quantity, a goal or a key is wrong, the folder holds another search, or Optuna is not installed.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.tune import tune
    >>> base = sojourn.Scenario.load("first", {"duration": "5 s", "warmup": "1 s"})
    >>> vary = ["bottleneck.queue.limit=20..400 packets"]
    >>> found = tune(base, vary, maximize="goodput", goal="bottleneck_queue_ms_p99 < 100 ms", trials=8, runs=1)
    >>> found.best.keeps, len(found.trials)
    (True, 8)
    """
    if (maximize is None) == (minimize is None):
        allowed = f"one of {spelled('maximize')} and {spelled('minimize')}"
        raise input_error(f"found {'both' if maximize else 'neither'}; allowed: {allowed}", key="maximize")
    tables = scenario.to_dict()
    search = _Search(
        scenario,
        [Knob.of(one) for one in vary],
        quantity(maximize or minimize or "", tables),
        maximize is not None,
        None if goal is None else Goal.of(goal, tables),
        runs,
        jobs,
    )
    search.check()
    search.drawn = _drawn(scenario, lines, count, seed=1)
    store = _Store(out, search.fingerprint())
    with contextlib.nullcontext() if cluster is None else runner(cluster) as search.run:
        found = search.trials(trials, store, progress)
        made = Tuned(search.objective, search.is_most, search.goal, tuple(found), None, runs, len(search.drawn))
        if made.best is None:
            return made
        return replace(made, judged=search.judged(made.best, _drawn(scenario, lines, count, seed=2)))


def _drawn(scenario: Scenario, lines: str | None, count: int, seed: int) -> Sequence[Changes]:
    """Return what the settings have to serve: twins of a line, or lines of the population."""
    if lines is None:
        return twins(scenario, count, seed)
    return [{LINE: one["name"]} for one in chosen(lines, seed)]


class _Store:
    """The trials that a folder holds."""

    def __init__(self, folder: Path | None, fingerprint: str) -> None:
        self.path = None if folder is None else folder / FILE
        self.fingerprint = fingerprint
        self.known: dict[str, Any] = {}
        if folder is None or self.path is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            document = read_json(self.path, "the trials of a search")
            if not isinstance(document, dict) or document.get("search") != fingerprint:
                message = "holds the trials of another search"
                raise input_error(message, file=str(self.path), allowed="a new folder, or the same command")
            self.known = dict(document.get("trials", {}))

    def add(self, found: Mapping[str, Any]) -> None:
        """Keep some trials; a search that is interrupted afterwards finds them."""
        self.known |= found
        if self.path is not None:
            new = self.path.with_suffix(".new")
            new.write_text(dump_json({"search": self.fingerprint, "trials": self.known}), encoding="utf-8")
            new.replace(self.path)


@dataclass
class _Search:
    scenario: Scenario
    knobs: Sequence[Knob]
    objective: Quantity
    is_most: bool
    goal: Goal | None
    runs: int
    jobs: int | None
    drawn: Sequence[Changes] = ()
    run: Runner | None = None

    @property
    def _metrics(self) -> list[str]:
        return list(dict.fromkeys([*self.objective.metrics, *(self.goal.quantity.metrics if self.goal else ())]))

    def fingerprint(self) -> str:
        """Return a text that is another one for every other search; more trials go on with the same one."""
        asked = [self.scenario.source.resolve().to_json(), repr(self.knobs), self.objective.text, self.is_most]
        return hashlib.sha256(json.dumps([*asked, str(self.goal), self.runs, *self.drawn]).encode()).hexdigest()

    def check(self) -> None:
        """Refuse keys that the scenario does not have, and ends that it does not take, before anything is run."""
        if not self.knobs:
            raise input_error("found nothing to vary; allowed: KEY=FROM..TO or KEY=one,other", key="vary")
        for knob in self.knobs:
            for end in knob.choices or (0.0, 1.0):
                self.scenario.with_(knob.at(end))

    def trials(self, count: int, store: _Store, progress: Progress | None) -> list[Trial]:
        """Ask for settings, run them, and tell what they reached."""
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(
            seed=self.scenario.seed,
            n_startup_trials=2 * BATCH,
            multivariate=True,
            constant_liar=True,
        )
        study = optuna.create_study(direction="maximize" if self.is_most else "minimize", sampler=sampler)
        made: list[Trial] = []
        while len(made) < count:
            asked = [study.ask() for _ in range(min(BATCH, count - len(made)))]
            settings = [self._settings(one) for one in asked]
            keys = [json.dumps(one, sort_keys=True) for one in settings]
            new = {key: one for key, one in zip(keys, settings, strict=True) if key not in store.known}
            if new:
                store.add(self._measured(new, self.drawn, self.runs))
            for one, key, setting in zip(asked, keys, settings, strict=True):
                trial = self._trial(setting, store.known[key])
                if self.goal is not None:
                    one.set_constraint("goal", min(self.goal.excess(trial.goal), _MOST_EXCESS))
                if trial.objective is None:
                    study.tell(one, state=optuna.trial.TrialState.FAIL)
                else:
                    study.tell(one, trial.objective)
                made.append(trial)
            if progress is not None:
                progress(len(made) / count)
        return made

    def _settings(self, trial: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for knob in self.knobs:
            if knob.span is None:
                found |= knob.at(trial.suggest_categorical(knob.name, list(knob.choices)))
            else:
                found |= knob.at(trial.suggest_float(knob.name, 0.0, 1.0))
        return found

    def _measured(
        self, settings: Mapping[str, Changes], drawn: Sequence[Changes], runs: int, seed: int | None = None
    ) -> dict[str, list[dict[str, list[float | None]]]]:
        """Return by setting, for each twin, the values of each metric."""
        cases = {
            f"{place} {number}": {**twin, **one}
            for place, one in enumerate(settings.values())
            for number, twin in enumerate(drawn)
        }
        base = self.scenario if seed is None else self.scenario.with_({"seed": seed})
        found = measure(base, cases, self._metrics, runs=runs, jobs=self.jobs, run=self.run, progress=_silent)
        return {key: [found[f"{place} {number}"] for number in range(len(drawn))] for place, key in enumerate(settings)}

    def _trial(self, settings: Mapping[str, Any], found: Sequence[Mapping[str, Sequence[float | None]]]) -> Trial:
        each = [self.objective.value(_means(twin)) for twin in found]
        known = [one for one in each if one is not None]
        objective = float(np.mean(known)) if len(known) == len(each) else None
        goal = self._worst(found)
        keeps = objective is not None and (self.goal is None or self.goal.excess(goal) <= 0)
        return Trial(dict(settings), objective, goal, keeps)

    def _worst(self, found: Sequence[Mapping[str, Sequence[float | None]]]) -> float | None:
        if self.goal is None:
            return None
        each = [self.goal.quantity.value(_means(twin)) for twin in found]
        known = [one for one in each if one is not None]
        if len(known) < len(each):
            return None
        return max(known) if self.goal.is_most else min(known)

    def judged(self, best: Trial, drawn: Sequence[Changes]) -> Judged:
        """Run the winner and the scenario as it is on new seeds and new twins."""
        seed = self.scenario.seed + self.runs
        found = self._measured({"best": best.settings, "default": {}}, drawn, HELD_OUT, seed)
        one, other = (self._trial({}, found[name]) for name in ("best", "default"))
        pairs = [self._by_run(found["best"], run) - self._by_run(found["default"], run) for run in range(HELD_OUT)]
        found_difference = statistic(pairs)
        mean, (low, high) = found_difference["mean"] or 0.0, found_difference["ci95"] or (0.0, 0.0)
        reached = (one.objective or 0.0, other.objective or 0.0)
        return Judged(*reached, (mean, low, high), one.goal, other.goal, one.keeps, other.keeps)

    def _by_run(self, found: Sequence[Mapping[str, Sequence[float | None]]], run: int) -> float:
        each = [self.objective.value({name: some[run] for name, some in twin.items()}) for twin in found]
        return float(np.mean([one if one is not None else np.nan for one in each]))


def _means(twin: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """Return the mean of each metric over the runs; None where one has no value."""
    return {
        name: None if not some or any(one is None for one in some) else float(np.mean([one or 0.0 for one in some]))
        for name, some in twin.items()
    }


def _silent(done: float) -> None:
    del done


def _optuna() -> "ModuleType":
    try:
        import optuna
    except ModuleNotFoundError:
        raise input_error('tuning needs optuna: pip install "sojourn[tune]"') from None
    found: ModuleType = optuna
    return found
