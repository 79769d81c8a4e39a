"""Sweeps on a Dask cluster: the same bytes as at home, also where workers die."""

import os
import signal
import threading
from pathlib import Path

import pytest
from tests.conftest import SMALL, Command

from sojourn.sweep import Dataset, Plan
from sojourn.sweep.cluster import run_cluster
from sojourn.sweep.local import Status, run_local

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    axes = {"bottleneck.rate": {"from": "2 Mbit/s", "to": "20 Mbit/s", "count": 12}}
    tables = {"base": "base.toml", "seeds": 5, "set": {"duration": "20 s"}, "axes": axes}
    return Plan.of(tables, folder=str(tmp_path))


def parts(dataset: Dataset) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (dataset.folder / "runs").iterdir()}


def at_home(plan: Plan, folder: Path) -> Dataset:
    dataset = Dataset.create(folder, plan, 1)
    run_local(plan, dataset, 2, lambda status: None)
    return dataset


def test_workers_that_die_change_nothing(plan: Plan, tmp_path: Path) -> None:
    dataset = Dataset.create(tmp_path / "cluster", plan, 1)
    killed: list[int] = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = [worker.pid for worker in cluster.workers.values()]

        def report(status: Status) -> None:
            # Once early and once late in the sweep, a worker is gone without a word.
            if status.done >= plan.runs * (1 + 5 * len(killed)) / 10 and len(killed) < len(workers):
                killed.append(workers[len(killed)])
                os.kill(killed[-1], signal.SIGKILL)

        run_cluster(plan, dataset, cluster.scheduler_address, report)
    assert len(killed) == 2
    assert dataset.missing == []
    assert parts(dataset) == parts(at_home(plan, tmp_path / "home"))


def test_an_interrupted_sweep_goes_on_elsewhere(plan: Plan, tmp_path: Path) -> None:
    dataset = Dataset.create(tmp_path / "cluster", plan, 1)

    def report(status: Status) -> None:
        if status.done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cluster(plan, dataset, "local:1", report)
    assert 0 < len(dataset.missing) < 12
    run_local(plan, dataset, 2, lambda status: None)
    assert parts(dataset) == parts(at_home(plan, tmp_path / "home"))
    assert not [thread for thread in threading.enumerate() if "Dask-Callback" in thread.name]


@pytest.mark.parametrize(
    ("address", "complaint"),
    [("local:none", "followed by a number of processes"), ("tcp://127.0.0.1:9", "no scheduler answers")],
)
def test_what_is_refused(
    plan: Plan, tmp_path: Path, command: Command, address: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.sweep.cluster._CONNECT_S", 0.5)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [1]\n', encoding="utf-8")
    refused = command("sweep", str(sweep), "--out", str(tmp_path / "out"), "--cluster", address)
    assert refused.code == 2
    assert complaint in refused.err
