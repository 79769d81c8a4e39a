"""Other people's transport stacks: laws by which their programs judge themselves, and shares beside built-in controls.

Programs are called through `sojourn.worlds.stacks`, which says what a stack is.
"""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sojourn.api import Scenario
from sojourn.trial.comparison import CONTROLS, QUEUES, START, Row
from sojourn.trial.laws import SEEDS, Law, lab
from sojourn.worlds import stacks
from sojourn.worlds.stacks import StackError

STACK = "stack"
LONGEST_S = 600.0
"""A run that takes longer of real time is given up. Half a minute of simulated time takes the known stacks a second at
10 Mbit/s. 320 s at 100 Mbit/s, the longest case of a suite, take quiche's CUBIC with its small packets some 90 s of a
processor, which it may have to share."""
LONGEST_LAW_S = 900.0
"""A law takes up to 18 such runs, one after the other."""


@dataclass(frozen=True)
class Stack:
    """A program with a stack, and one of its controls."""

    program: str
    """Its path, a name on the search path, or that of one of Sojourn's own stacks that has been built, as "quinn"."""
    control: str | None = None
    """As the stack names it; None for its own choice."""

    @property
    def name(self) -> str:
        """What reports call it."""
        name = Path(self.program).name.removeprefix("sojourn-stack-")
        return name if self.control is None else f"{name} {self.control}"

    def check(self) -> None:
        """Raise InputError where there is no such program."""
        stacks.check(self.program, "--stack")

    def groups(self, flows: int = 1, name: str = "a") -> dict[str, dict[str, Any]]:
        """Return the group of its connections, which send without end."""
        control = {} if self.control is None else {"control": self.control}
        return {name: {"stack": self.program, "flows": flows, **control}}

    def run(self, path: Scenario, seed: int = 1) -> dict[str, Any]:
        """Return the record of one run, without its processor time.

        Raises StackError with the stack's own words where it fails, takes too long or prints no record.
        """
        record = json.loads(stacks.record_of(stacks.check(self.program, "--stack"), path.to_toml(), seed, LONGEST_S))
        return {key: value for key, value in record.items() if key != "wall_s"}

    def runs(self, path: Scenario) -> list[dict[str, Any]]:
        """Return the records of all seeds."""
        return [self.run(path, seed) for seed in range(1, SEEDS + 1)]


Item = TypeVar("Item")
Found = TypeVar("Found")


def laws(stack: Stack, progress: Callable[[float], None]) -> list[Law]:
    """Return the verdicts of the stack's program, which has the laws of `sojourn-endpoint`.

    One that has none, or does not judge by one, breaks a law, and its own words say why.
    """
    try:
        listed = stacks.laws_of(stack.program, LONGEST_S)
    except StackError as error:
        return [Law("It can be judged by the laws of stacks", holds=False, found=str(error))]
    return side_by_side(lambda law: _judged(*law, stack), listed, progress)


def side_by_side(
    work: Callable[[Item], Found], items: Sequence[Item], progress: Callable[[float], None]
) -> list[Found]:
    """Do the work for each item on all processors, and return what was found in their order."""
    found: list[Found] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(work, items):
            found.append(one)
            progress(len(found) / len(items))
    return found


def _judged(name: str, says: str, stack: Stack) -> Law:
    try:
        return Law(says, *stacks.verdict_of(stack.program, name, stack.control, LONGEST_LAW_S))
    except StackError as error:
        return Law(says, holds=False, found=str(error))


def compare(stack: Stack, progress: Callable[[float], None]) -> list[Row]:
    """Return the stack's shares beside built-in controls under six queues: two connections beside two flows."""
    places = [(queue, other) for queue in QUEUES for other in CONTROLS]
    return side_by_side(lambda place: _beside(stack, *place), places, progress)


def _beside(stack: Stack, queue: str, other: str) -> Row:
    made = {**stack.groups(2, "mine"), "other": {"control": other, "flows": 2, **START}}
    made["mine"].update(START)
    runs = stack.runs(lab(QUEUES[queue], made))
    return Row.of(runs, stack.name, other, queue, lambda run: run["groups"]["mine"]["share"])
