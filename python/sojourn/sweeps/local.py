"""Runs a plan on the processors of this machine."""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from sojourn import _native
from sojourn.data.dataset import Batch, Dataset
from sojourn.sweeps.plan import Plan
from sojourn.sweeps.work import run_batch

# A batch is what is lost when the machine fails, and its overhead is milliseconds; there is a file for each.
_BATCH_S = 0.5
_MAX_BATCHES = 2000
# A short sweep has so many batches, so that processors end at about the same time, but none shorter than this.
_SHARED = 32
_SHORT_S = 0.05
_MAX_LOOKED_AT = 64
_LOOK_EVERY_S = 0.1


@dataclass
class Status:
    """How far a sweep is."""

    runs: int
    done: float
    """Runs that are done, with parts of those under way."""
    saved: int
    """Runs that an earlier process had done."""


Runner = Callable[[Plan, Dataset, Callable[[Status], None]], None]
"""What runs what a dataset lacks of a plan, and reports how far it is."""


def estimate_s(plan: Plan) -> float:
    """Return about how many seconds of processor time the whole plan takes, by points from all over it."""
    looked_at = min(plan.points, _MAX_LOOKED_AT)
    costs = [_run_s(plan, number * plan.points // looked_at) for number in range(looked_at)]
    return sum(costs) / looked_at * plan.runs


def _run_s(plan: Plan, index: int) -> float:
    try:
        scenario = plan.scenario(plan.point(index))
    except _native.InputError:
        return 0.0
    return plan.chosen.estimate_s(scenario)


def batch_size(plan: Plan) -> tuple[int, int]:
    """Return how many points, and how many of their seeds, make a batch: the same on every machine.

    A batch has enough work for one, and a short sweep as many batches as some processors can share. Where there are
    fewer points than batches, each point's seeds are several.
    """
    whole_s = estimate_s(plan)
    wanted = min(max(whole_s / _BATCH_S, min(_SHARED, whole_s / _SHORT_S), 1), _MAX_BATCHES)
    if wanted <= plan.points:
        return math.ceil(plan.points / wanted), plan.seeds
    return 1, max(math.floor(plan.seeds * plan.points / wanted), 1)


def longest_first(plan: Plan, batches: Sequence[Batch], numbers: Sequence[int]) -> Sequence[int]:
    """Return the numbers of batches, those with most work first, so that processors end at about the same time.

    More batches than are ever made at once stay in their order, since the last ones are a small part of the work.
    """
    if len(numbers) > _MAX_BATCHES:
        return numbers

    def work_s(number: int) -> float:
        batch = batches[number]
        return (_run_s(plan, batch.points[0]) + _run_s(plan, batch.points[-1])) * batch.runs

    return sorted(numbers, key=work_s, reverse=True)


def run_local(plan: Plan, dataset: Dataset, jobs: int, report: Callable[[Status], None]) -> None:
    """Run what the dataset lacks on `jobs` processors, or one after the other where the world cannot do otherwise.

    Interrupted, all finished batches are kept.
    """
    with dataset.locked():
        _Pool(plan, dataset, report).run(jobs if plan.chosen.world.parallel else 1)


class _Pool:
    def __init__(self, plan: Plan, dataset: Dataset, report: Callable[[Status], None]) -> None:
        self.plan = plan
        self.dataset = dataset
        self.report = report
        self.batches = dataset.batches
        self.waiting = dataset.missing
        self.stopped = threading.Event()
        saved = plan.runs - sum(self.batches[number].runs for number in self.waiting)
        self.status = Status(plan.runs, saved, saved)
        self.finished = float(saved)
        self.parts: dict[int, float] = {}

    def run(self, jobs: int) -> None:
        pending: set[Future[None]] = set()
        waiting = iter(longest_first(self.plan, self.batches, self.waiting) if jobs > 1 else self.waiting)
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while True:
                    while len(pending) < jobs and (number := next(waiting, None)) is not None:
                        pending.add(pool.submit(self._batch, number))
                    if not pending:
                        return
                    done, pending = wait(pending, timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    self._report()
            except BaseException:
                self.stopped.set()
                raise

    def _batch(self, number: int) -> None:
        batch = self.batches[number]

        def progress(part: float) -> None:
            if self.stopped.is_set():
                raise _native.Interrupted("the sweep was stopped")
            self.parts[number] = part * batch.runs

        parts = run_batch(self.plan, batch, self.dataset.provenance, progress)
        if self.stopped.is_set():
            return
        self.dataset.save(number, parts)
        self.parts.pop(number, None)
        self.finished += batch.runs

    def _report(self) -> None:
        self.status.done = self.finished + sum(list(self.parts.values()))
        self.report(self.status)
