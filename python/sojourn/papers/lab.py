"""Where a study's runs are made and kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.sweep.dataset import Dataset
from sojourn.sweep.local import Status, batch_points, run_local
from sojourn.sweep.plan import Plan

DATA = "data"


@dataclass(frozen=True)
class Lab:
    """A folder for datasets, and the processors to fill it with."""

    folder: Path
    jobs: int
    report: Callable[[str, float], None] = lambda what, part: None
    """Told what is under way and its done fraction."""

    def sweep(self, name: str, tables: Mapping[str, Any]) -> Dataset:
        """Return the dataset of a plan, running what the folder lacks of it.

        Another plan under the same name, or one of another version, is run anew.
        """
        plan = Plan.of(tables, name=name)
        folder = self.folder / DATA / name
        dataset = Dataset.create(folder, plan, batch_points(plan), replace=True)

        def report(status: Status) -> None:
            self.report(name, status.done / status.runs)

        run_local(plan, dataset, self.jobs, report)
        return dataset
