"""What a search of settings found: the winner, judged on runs that the search has not seen, and the front."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.goals import Goal, Quantity
from sojourn.report import Grid

if TYPE_CHECKING:
    from sojourn.pages.model import Page

HELD_OUT = 10
"""Runs on which the winner is judged."""
_ROWS = 10
"""Of the front, in tables."""


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and what they reached."""

    settings: Mapping[str, Any]
    """Keys and values of the scenario."""
    objective: float | None
    """The mean over all twins and seeds."""
    goal: float | None
    """Of the worst twin; None where there is no goal, or nothing is known."""
    keeps: bool
    """Whether it keeps the goal."""


@dataclass(frozen=True)
class Judged:
    """The winner beside the scenario as it is, on runs and twins that the search has not seen."""

    objective: float
    default: float
    difference: tuple[float, float, float]
    """Of the objective, run by run: mean, and 95 % interval."""
    goal: float | None
    default_goal: float | None
    keeps: bool
    default_keeps: bool


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    objective: Quantity
    is_most: bool
    """Whether the objective is maximised."""
    goal: Goal | None
    trials: tuple[Trial, ...]
    judged: Judged | None
    """None where no trial keeps the goal."""
    runs: int
    count: int
    """Of twins."""

    @property
    def best(self) -> Trial | None:
        """The trial that keeps the goal with the best objective."""
        kept = [one for one in self.trials if one.keeps and one.objective is not None]
        return max(kept, key=self._better, default=None)

    def _better(self, one: Trial) -> float:
        value = one.objective if one.objective is not None else float("nan")
        return value if self.is_most else -value

    @property
    def front(self) -> list[Trial]:
        """The trials that none beats in the goal's quantity and in the objective, the strictest first."""
        if self.goal is None:
            return [] if self.best is None else [self.best]
        known = [one for one in self.trials if one.goal is not None and one.objective is not None]
        sign = 1 if self.goal.is_most else -1
        found: list[Trial] = []
        for one in sorted(known, key=lambda one: (sign * (one.goal or 0.0), -self._better(one))):
            if not found or self._better(one) > self._better(found[-1]):
                found.append(one)
        return found

    @property
    def answer(self) -> str:
        """The finding in two or three sentences."""
        best, judged = self.best, self.judged
        if best is None or judged is None:
            nearest = min(self.trials, key=self._excess)
            reached = "nothing" if self.goal is None else self.goal.quantity.written(nearest.goal)
            return f"No trial keeps {self.goal}: the nearest, {words(nearest.settings)}, has {reached}."
        said = f"Best: {words(best.settings)}."
        low, high = judged.difference[1:]
        objective, default = map(self.objective.written, (judged.objective, judged.default))
        said += f" On {HELD_OUT} runs that the search has not seen, "
        said += f"{self.objective.text} is {objective} ({default} as it is)"
        if self.goal is not None and judged.goal is not None:
            reached, default = map(self.goal.quantity.written, (judged.goal, judged.default_goal))
            said += f", and {self.goal.quantity.text} {reached} ({default} as it is)"
        said += "."
        if self.goal is not None and not judged.keeps:
            said += f" There it does not keep {self.goal}: take a stricter goal, or more runs."
        is_better = low > 0 if self.is_most else high < 0
        if judged.default_keeps and not is_better:
            said += " The scenario as it is is as good."
        return said

    def _excess(self, one: Trial) -> float:
        return 0.0 if self.goal is None else self.goal.excess(one.goal)

    def grid(self) -> Grid:
        """Tabulate the front, one row for each trial."""
        names = list(dict.fromkeys(name for one in self.trials for name in one.settings))
        goal = [] if self.goal is None else [self.goal.quantity.label, "kept"]
        rows = [
            [
                *(str(one.settings.get(name, "")) for name in names),
                f"{one.objective:.4g}",
                *([] if self.goal is None else [f"{one.goal:.4g}", "yes" if one.keeps else "no"]),
            ]
            for one in self._shown()
        ]
        return Grid([*names, self.objective.label, *goal], rows)

    def _shown(self) -> list[Trial]:
        """Return a part of the front that can be read: evenly, with the best trial and the one beyond it."""
        front = self.front
        if len(front) <= _ROWS:
            return front
        best = front.index(self.best) if self.best in front else 0
        kept = {round(place * (len(front) - 1) / (_ROWS - 3)) for place in range(_ROWS - 2)}
        return [one for place, one in enumerate(front) if place in kept or place in (best, best + 1)]

    def notes(self) -> list[str]:
        """Return what a reader must know."""
        many = "" if self.count == 1 else f" on each of {self.count} lines; a goal counts on the worst of them"
        runs = f"{self.runs} run{'s' if self.runs > 1 else ''} each{many}"
        first = f"{len(self.trials)} settings, {runs}, all with the same seeds."
        if self.judged is None:
            return [first]
        middle, low, high = self.judged.difference
        interval = f"{middle:+.4g} ({low:+.4g} to {high:+.4g})"
        return [first, f"{self.objective.label}, best less as it is, on {HELD_OUT} other runs: {interval}."]

    def page(self, name: str, command: str = "") -> "Page":
        """Return the page of a scenario's search; `command` is what makes it again."""
        from sojourn.figures.tune import front
        from sojourn.pages.model import Page, Table
        from sojourn.pages.pictures import picture

        points = [
            (one.goal, one.objective, one.keeps)
            for one in self.trials
            if one.goal is not None and one.objective is not None
        ]
        edge = [(one.goal or 0.0, one.objective or 0.0) for one in self.front]
        goal, label = ("", "") if self.goal is None else (self.goal.quantity.text, self.goal.quantity.label)
        drawn = (
            []
            if self.goal is None
            else [
                picture(
                    front(points, edge, self.goal.bound, (label, self.objective.label)),
                    f"No setting has {self.objective.text} beyond the line at its {goal}.",
                    "Each dot is a setting that was tried; hollow ones do not keep the goal, the dashed line.",
                    name="front",
                )
            ]
        )
        return Page(
            title="No setting keeps the goal" if self.best is None else f"Best: {words(self.best.settings)}",
            kicker=f"Settings of {name}",
            lead=[self.answer],
            pictures=drawn,
            heading="What can be had?",
            table=Table.of_grid(self.grid(), "The front"),
            notes=self.notes(),
            command=command,
        )

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "answer": self.answer,
            "best": None if self.best is None else dict(self.best.settings),
            "judged": None if self.judged is None else vars(self.judged),
            "front": [vars(one) for one in self.front],
            "trials": [vars(one) for one in self.trials],
            "twins": self.count,
            "runs": self.runs,
        }


def words(settings: Mapping[str, Any]) -> str:
    """Return settings in words.

    >>> words({"bottleneck.rate": "8 Mbit/s"})
    'bottleneck.rate = 8 Mbit/s'
    """
    return ", ".join(f"{key} = {value}" for key, value in settings.items())
