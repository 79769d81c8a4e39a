"""Sweeps on a Dask cluster: the same bytes as at home, also where workers die, and nobody else runs code on it."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, SMALL, Command, Start, wait_for

import sojourn
from sojourn import InputError
from sojourn.sweeps import Dataset, Plan, cluster
from sojourn.sweeps.cluster import run_cluster
from sojourn.sweeps.local import Status, run_local

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).parents[1]

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


def test_a_search_of_settings_on_a_cluster_finds_what_it_finds_at_home(small_scenario: sojourn.Scenario) -> None:
    pytest.importorskip("optuna")
    from sojourn.tune import tune

    asked = {"minimize": "bottleneck_queue_ms_p99", "goal": "goodput > 0 Mbit/s", "trials": 10, "runs": 2}
    vary = ["bottleneck.queue.limit=10..100 packets"]
    here = tune(small_scenario, vary, **asked)  # type: ignore[arg-type]
    there = tune(small_scenario, vary, **asked, cluster="local:2")  # type: ignore[arg-type]
    assert there == here
    assert len({one.objective for one in here.trials}) > 1
    with pytest.raises(InputError, match="--cluster local:x"):
        tune(small_scenario, vary, **asked, cluster="local:x")  # type: ignore[arg-type]


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
import signal, sys, distributed
keys = distributed.Security.temporary() if sys.argv[1].startswith("tls") else None
# What is no scheduler may let a client wait for ever.
signal.alarm(10)
try:
    with distributed.Client(sys.argv[1], timeout=3, security=keys) as client:
        print(client.run_on_scheduler(lambda: "taken"), flush=True)
except Exception:
    print("refused", flush=True)
"""


def outcome(address: str) -> str:
    """Return what comes of it where somebody without its keys sends code to an address."""
    attack = [sys.executable, "-W", "ignore", "-c", ATTACK, address]
    done = subprocess.run(attack, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.stdout.strip()


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


@pytest.fixture
def sweeping(tmp_path: Path, start: Start) -> Iterator[int]:
    """Have a sweep on a cluster of its own that nobody waits for; gives its process id."""
    text = 'base = "base.toml"\nset = { duration = "2000 s" }\nseeds = 1000\n[axes]\n"group.tcp.flows" = [1, 2]\n'
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(text, encoding="utf-8")
    process = start("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out", "--cluster", "local:1", "--yes")
    try:
        yield process.pid
        assert process.poll() is None, process.communicate()
    finally:
        for pid in descendants(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)


def test_nobody_else_runs_code_on_a_local_cluster(sweeping: int) -> None:
    """Another process tries each port at which the sweep's processes listen; the sweep is never waited for."""
    # The scheduler, and the process that starts a worker.
    assert wait_for(lambda: len(listening(descendants(sweeping))) >= 3)
    ports = set(listening(descendants(sweeping)))
    addresses = [f"{scheme}://127.0.0.1:{port}" for scheme in ("tcp", "tls") for port in ports]
    with ThreadPoolExecutor(len(addresses)) as threads:
        found = dict(zip(addresses, threads.map(outcome, addresses), strict=True))
    assert "refused" in found.values(), "the attack was tried"
    assert "taken" not in found.values(), found
    pages = {port: page(port) for port in ports}
    assert 8787 not in pages
    assert set(pages.values()) <= {None, 404}


def test_modules_of_another_user_are_not_found(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    """Dask imports from a folder of a known name in the temporary place; whoever made it first owns what is in it."""
    place = tmp_path / "temporary"
    (place / "dask-scratch-space").mkdir(parents=True, mode=0o777)
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    seen: list[str] = []
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    run_cluster(plan, dataset, "local:1", lambda status: seen.extend(map(str, place.rglob("*"))))
    assert any("worker-" in name for name in seen)
    assert [name for name in seen if name.startswith(f"{place}/dask-scratch-space/")] == []
    # Nothing of it stays.
    assert [path.name for path in place.iterdir()] == ["dask-scratch-space"]


def test_help_guide_and_promises_say_whom_a_scheduler_without_keys_trusts(command: Command) -> None:
    assert "who answers at tcp:// is trusted with running code" in " ".join(command("sweep", "--help").out.split())
    guide, promises = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/guide/campaigns.md", "SECURITY.md"))
    assert "**anyone who can connect to the scheduler, as the user of every worker and of this command**" in guide
    assert "Who can connect to a scheduler of Dask without TLS runs code as you" in " ".join(promises.split())


def test_the_extra_has_what_makes_keys() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(one.startswith("cryptography") for one in project["optional-dependencies"]["cluster"])


def test_a_scheduler_with_keys(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = distributed.Security.temporary()
    names = {"ca-file": keys.tls_ca_file, "client.cert": keys.tls_client_cert, "client.key": keys.tls_client_key}
    dataset = Dataset.create(tmp_path / "cluster", plan, 1)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", security=keys
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        # One that is made without keys stays half built, and hinders the next when it is cleared away.
        with monkeypatch.context() as patch:
            patch.setattr(distributed, "Client", None)
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
