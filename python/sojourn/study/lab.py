"""Where a study's runs are made and kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.data.dataset import Dataset
from sojourn.registry import PlugIn
from sojourn.store import check_no_link, folder_inside
from sojourn.sweeps.local import Status, batch_size, run_local
from sojourn.sweeps.plan import Plan

DATA = "data"


@dataclass(frozen=True)
class Lab:
    """A folder for datasets, and the processors to fill it with."""

    folder: Path
    jobs: int
    report: Callable[[str, float], None] = lambda what, part: None
    """Told what is under way and its done fraction."""
    say: Callable[[str], None] = lambda sentence: None
    """Told what becomes of runs that the folder held before."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Keys of a sweep file that replace those of every plan: fewer seeds and less time, to try a study."""
    ready: dict[str, Dataset] = field(default_factory=dict)
    """Datasets that this process has seen complete, by name: items share them."""
    plug_ins: dict[str, list[PlugIn]] = field(default_factory=dict)
    """The plug-ins of each sweep that was run, by its name."""

    def plan(self, name: str, tables: Mapping[str, Any], folder: Path | None = None) -> Plan:
        """Return a plan with the lab's overrides; files that it names are looked up in `folder`, else in the lab's."""
        return Plan.of({**tables, **self.overrides}, name=name, folder=str(folder or self.folder))

    def sweep(self, name: str, tables: Mapping[str, Any]) -> Dataset:
        """Return the dataset of a plan, running what the folder lacks of it."""
        return self.ready[name] if name in self.ready else self.run(self.plan(name, tables))

    def run(self, plan: Plan) -> Dataset:
        """Return the dataset of a plan, running what the folder lacks of it.

        Another plan under the same name, or one of another version, is removed and run anew, which is said.
        """
        name = plan.name
        self.plug_ins[name] = plan.plug_ins()
        if name in self.ready:
            return self.ready[name]
        data = folder_inside(self.folder / DATA)
        check_no_link(data / name)
        dataset = Dataset.create(data / name, plan, *batch_size(plan), replace=True)
        if dataset.remark:
            self.say(f"{dataset.folder}: {dataset.remark}")

        def report(status: Status) -> None:
            self.report(name, status.done / status.runs)

        run_local(plan, dataset, self.jobs, report)
        self.ready[name] = dataset
        return dataset
