"""Many jobs side by side."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, wait_for
from tests.testbed_fakes import FakeKernel

from sojourn.worlds.linux import pool
from sojourn.worlds.linux.errors import JobError, StoppedError
from sojourn.worlds.linux.kernels import Progress

pytestmark = pytest.mark.real_time


def folders(count: int) -> list[Path]:
    return [Path(f"job-{number}") for number in range(count)]


def test_a_pool_runs_all_and_no_more_than_asked_side_by_side() -> None:
    lock, running, most, done, shown = threading.Lock(), 0, 0, [], []

    def job(folder: Path, timeout_s: float, progress: Progress, **_rest: object) -> None:
        nonlocal running, most
        assert timeout_s == 5
        with lock:
            running += 1
            most = max(most, running)
        progress(0.5)
        # The first ones wait for each other.
        assert wait_for(lambda: most == 3)
        time.sleep(0.02)
        with lock:
            running -= 1

    pool.run_all(FakeKernel("fake", job=job), folders(10), timeout_s=5, jobs=3, progress=shown.append, done=done.append)
    assert most == 3
    assert sorted(done) == sorted(folders(10))
    assert shown[-1] == 1.0
    assert shown == sorted(shown)


def test_the_first_failure_stops_the_rest() -> None:
    stopped, begun = [], []

    def job(folder: Path, stopped: Callable[[], bool], **_rest: object) -> None:
        begun.append(folder)
        if folder.name == "job-1":
            raise JobError("it failed")
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if stopped():
                stops.append(folder)
                raise StoppedError("stopped")
            time.sleep(0.01)

    stops = stopped
    with pytest.raises(JobError, match="it failed") as caught:
        pool.run_all(FakeKernel("fake", job=job), folders(10), timeout_s=5, jobs=2)
    assert caught.value.__notes__ == ["in job-1"]
    assert stops == [Path("job-0")]
    assert sorted(begun) == folders(2)


def test_ctrl_c_stops_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    stops = []

    def job(folder: Path, stopped: Callable[[], bool], **_rest: object) -> None:
        while not stopped():
            time.sleep(0.01)
        stops.append(folder)
        raise StoppedError("stopped")

    def interrupt(_part: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run_all(FakeKernel("fake", job=job), folders(4), timeout_s=5, jobs=2, progress=interrupt)
    assert sorted(stops) == folders(2)


@pytest.mark.parametrize(("available_mb", "jobs"), [(1024, 4), (100, 1), (1 << 20, 64)])
def test_little_memory_means_few_jobs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, available_mb: int, jobs: int
) -> None:
    memory = tmp_path / "meminfo"
    memory.write_text(f"MemFree:   1 kB\nMemAvailable:   {available_mb << 10} kB\n", encoding="ascii")
    monkeypatch.setattr(pool, "usable_processors", lambda: 64)
    monkeypatch.setattr(pool, "_MEMORY", memory)
    assert pool.most_jobs() == jobs
