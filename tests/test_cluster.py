"""Sweeps on a Dask cluster: the same bytes as at home, also where workers die, and nobody else runs code on it."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SMALL, Command

import sojourn
from sojourn import InputError
from sojourn.sweeps import Dataset, Plan, cluster
from sojourn.sweeps.cluster import run_cluster
from sojourn.sweeps.local import Status, run_local

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.real_time, pytest.mark.filterwarnings("ignore")]


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


def test_a_worker_takes_a_scenario_and_gives_a_result(small_scenario: sojourn.Scenario) -> None:
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with local as cluster, distributed.Client(cluster) as client:
        found = client.submit(sojourn.Scenario.run, small_scenario, runs=2, packets=True).result()
    here = small_scenario.run(runs=2, packets=True)
    assert found.summary == here.summary
    assert found.packets.equals(here.packets)


def test_workers_that_die_change_nothing(plan: Plan, tmp_path: Path) -> None:
    dataset = Dataset.create(tmp_path / "cluster", plan, 1)
    killed: list[int] = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
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


def listening(pids: set[int]) -> list[int]:
    """Return the TCP ports of IPv4 at which some processes listen."""
    owned = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                owned.add(str(handle.readlink()))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return [int(line[1].rpartition(":")[2], 16) for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in owned]


def descendants(pid: int) -> set[int]:
    found = {pid}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
                if parent == pid:
                    found |= descendants(int(entry.name))
    return found


ATTACK = """
import sys, distributed
keys = distributed.Security.temporary() if sys.argv[1].startswith("tls") else None
client = distributed.Client(sys.argv[1], timeout=3, security=keys)
print(client.run_on_scheduler(lambda: "taken"), flush=True)
"""


def runs_code(address: str) -> bool:
    """Tell whether the scheduler at an address runs what somebody without its keys sends."""
    try:
        attack = [sys.executable, "-W", "ignore", "-c", ATTACK, address]
        done = subprocess.run(attack, capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return False
    return "taken" in done.stdout


def page(port: int) -> int | None:
    """Return the status with which a server answers a browser; None where it is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/status")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def test_nobody_else_runs_code_on_a_local_cluster(plan: Plan, tmp_path: Path) -> None:
    dataset = Dataset.create(tmp_path / "cluster", plan, 1)
    found: dict[str, Any] = {}
    before = set(listening({os.getpid()}))

    def report(status: Status) -> None:
        if not found and status.done > 0:
            place = distributed.default_client().scheduler.address.partition("://")[2]
            found["taken"] = [scheme for scheme in ("tcp", "tls") if runs_code(f"{scheme}://{place}")]
            found["pages"] = {port: page(port) for port in set(listening(descendants(os.getpid()))) - before}

    run_cluster(plan, dataset, "local:1", report)
    assert found["taken"] == []
    # The scheduler and its worker, at the least.
    assert len(found["pages"]) >= 2
    assert 8787 not in found["pages"]
    assert set(found["pages"].values()) <= {None, 404}


def test_a_scheduler_with_keys(plan: Plan, tmp_path: Path) -> None:
    keys = distributed.Security.temporary()
    names = {"ca-file": keys.tls_ca_file, "client.cert": keys.tls_client_cert, "client.key": keys.tls_client_key}
    dataset = Dataset.create(tmp_path / "cluster", plan, 1)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", security=keys
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        with pytest.raises(InputError, match="there are no keys for TLS"):
            run_cluster(plan, dataset, address, lambda status: None)
        with dask.config.set({f"distributed.comm.tls.{name}": value for name, value in names.items()}):
            run_cluster(plan, dataset, address, lambda status: None)
    assert parts(dataset) == parts(at_home(plan, tmp_path / "home"))


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("local:none", "followed by a number of processes"),
        ("local:" + "9" * 5000, "followed by a number of processes"),
        ("tcp://127.0.0.1:9", "no scheduler answers"),
    ],
    ids=["none", "many", "nobody"],
)
def test_what_is_refused(
    plan: Plan, tmp_path: Path, command: Command, address: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.5)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [1]\n', encoding="utf-8")
    refused = command("sweep", str(sweep), "--out", str(tmp_path / "out"), "--cluster", address)
    assert refused.code == 2
    assert complaint in refused.err
