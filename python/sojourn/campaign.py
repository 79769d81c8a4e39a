"""Sweeps from Python: the same plan, dataset and processors as `sojourn sweep`."""

import json
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.api import Scenario
from sojourn.data.dataset import Dataset
from sojourn.processors import usable_processors
from sojourn.progress import shown_progress
from sojourn.reading import Source, find, plain
from sojourn.sweeps.local import Runner, Status, batch_size, run_local
from sojourn.sweeps.plan import Plan
from sojourn.worlds.world import Progress

Base = Scenario | Mapping[str, Any] | str | os.PathLike[str]


def sweep(
    base: Base,
    axes: Mapping[str, Any] | None = None,
    *,
    seeds: int = 10,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    run: Runner | None = None,
    progress: Progress | None = None,
    **keys: Any,
) -> Dataset:
    """Run a scenario at every combination of the axes' values, several seeds each, and return the dataset.

    Parameters
    ----------
    base
        A scenario, its tables, a file, or the name of a ready scenario.
    axes
        Dotted keys and their values: a list, a range, an array, or a table such as {"from": "1 Mbit/s", "to": "16
        Mbit/s", "count": 5, "scale": "log"}.
    seeds
        Runs at each point.
    out
        Folder of the dataset: what it holds already is not run again. Without one the dataset goes with this object.
    jobs
        Processors to use; None takes all that this process may use.
    run
        What runs it instead, such as what `sojourn.sweeps.cluster.runner` gives: a Dask cluster.
    progress
        Told the done fraction, 0 to 1; without it a notebook shows a bar.
    keys
        The other keys of a sweep file: `zip`, `cases`, `set`, `sample`, `keep`, `bin_s`, `world` and options of the
        world.

    Examples
    --------
    >>> import sojourn
    >>> base = sojourn.Scenario.load("motivating-droptail", {"duration": "1 s"})
    >>> dataset = sojourn.sweep(base, axes={"group.tcp.flows": range(1, 3)}, seeds=2)
    >>> sorted(set(dataset.table()["point"].to_pylist()))
    [0, 1]
    """
    given = {"bin": f"{keys.pop('bin_s')} s"} if "bin_s" in keys else {}
    plan = Plan.of(plain({"axes": axes or {}, "seeds": seeds, **given, **keys}), base=_source(base))
    folder = Path(tempfile.mkdtemp(prefix="sojourn-sweep-"), "dataset") if out is None else Path(out)
    dataset = Dataset.create(folder, plan, *batch_size(plan))
    if dataset.remark:
        warnings.warn(f"{folder}: {dataset.remark}", stacklevel=2)
    if out is None:
        # A folder that nobody named lives as long as the object that shows it.
        weakref.finalize(dataset, shutil.rmtree, folder.parent, ignore_errors=True)
    with shown_progress(plan.name, progress) as told:

        def report(status: Status) -> None:
            if told is not None:
                told(status.done / status.runs)

        if run is None:
            run_local(plan, dataset, jobs or usable_processors(), report)
        else:
            run(plan, dataset, report)
    return dataset


def _source(base: Base) -> Source:
    if isinstance(base, Scenario):
        return base.source
    if isinstance(base, Mapping):
        return Source("base", json.dumps(plain(base)), "", is_json=True)
    return find(base)
