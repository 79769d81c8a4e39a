"""Kernels run a job and leave nothing behind, however they end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sojourn import InputError
from sojourn.testbed.errors import (
    JobError,
    KernelError,
    MissingInsideError,
    NotInstalledError,
    StoppedError,
    TimedOutError,
)
from sojourn.testbed.kernels import Kernel, kernels
from sojourn.testbed.places import cache_folder

pytestmark = pytest.mark.testbed
JOBS = "testbed_jobs"
REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(params=["host", "uml", "uml-virtual"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    found = kernels()[request.param]
    if found.missing():
        pytest.skip(str(NotInstalledError(found.name, found.missing())))
    return found


@dataclass
class Place:
    """Where a test's jobs and temporary files lie, so that what is left of them can be found."""

    folder: Path

    def job(self, **plan: object) -> Path:
        folder = self.folder / "job"
        folder.mkdir()
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        return folder

    def processes(self) -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    state = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if str(self.folder) in words and state != "Z":
                    found.append(f"{entry.name} {words}")
        return found

    def left(self) -> list[str]:
        """Everything outside the job's folder that was not there before."""
        temporary = [str(path) for path in (self.folder / "tmp").iterdir()]
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        return self.processes() + temporary + [line for line in mounts if str(self.folder) in line or "nsfs" in line]


def world(home: Path) -> dict[str, object]:
    """What a job might change on the machine, and nobody else does meanwhile."""
    modprobe = Path("/proc/sys/kernel/modprobe")
    return {
        "home": sorted(path.name for path in home.iterdir()),
        "names": sorted(path.name for path in Path("/run").iterdir() if "sojourn" in path.name),
        "modprobe": modprobe.read_text(encoding="utf-8") if modprobe.exists() else None,
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Give a place to run jobs in; at the end nothing is left but the job's folder."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder().parent))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY / 'python'}:{REPOSITORY / 'tests'}")
    before = world(tmp_path / "home")
    here = Place(tmp_path)
    yield here
    # Those who were killed have their traces removed by others, in their own time.
    wait_until(lambda: not here.left())
    assert here.left() == []
    assert world(tmp_path / "home") == before


def wait_until(condition: object, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:  # type: ignore[operator]
        time.sleep(0.02)


def start(kernel: Kernel, folder: Path) -> "subprocess.Popen[str]":
    """Start a job in a process of its own and wait until it runs."""
    program = (
        "import sys; from pathlib import Path; from sojourn.testbed.kernels import kernels\n"
        f"kernels()[sys.argv[1]].run(Path(sys.argv[2]), timeout_s=100, module={JOBS!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, kernel.name, str(folder)], stderr=subprocess.PIPE, text=True
    )
    wait_until((folder / "progress").exists, 30)
    assert (folder / "progress").exists()
    return process


def test_a_job_runs_as_root_of_its_own_network(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="report")
    kernel.run(folder, timeout_s=60, module=JOBS)
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert told["release"] == kernel.version()
    assert told["user"] == 0
    assert told["hardware"] == []
    assert kernel.name != "host" or told["network"] != str(Path("/proc/self/ns/net").readlink())
    assert told["python"] == sys.prefix
    assert told["run"] in (["tmp"], ["modprobe", "modules", "tmp"])
    assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "report.json"]


def test_what_the_guest_writes_is_whole(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="big")
    kernel.run(folder, timeout_s=60, module=JOBS)
    assert (folder / "big").read_bytes() == bytes(range(256)) * 40_000


def test_an_old_report_is_not_taken_for_a_new_one(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="nothing")
    (folder / "report.json").write_text("{}", encoding="utf-8")
    with pytest.raises(JobError, match="ended without a report"):
        kernel.run(folder, timeout_s=60, module=JOBS)


def test_a_job_that_raises_shows_why(kernel: Kernel, place: Place) -> None:
    with pytest.raises(JobError, match=r"exit code 1\n(?s:.*)the job's own reason"):
        kernel.run(place.job(do="raise"), timeout_s=60, module=JOBS)


@pytest.mark.parametrize(
    ("kind", "error"), [("input", InputError), ("missing", MissingInsideError), ("failed", JobError)]
)
def test_a_job_may_report_its_own_error(place: Place, kind: str, error: type[Exception]) -> None:
    kernel = next((found for found in kernels().values() if not found.missing()), None)
    if kernel is None:
        pytest.skip("no kernel is there")
    with pytest.raises(error, match="no such qdisc"):
        kernel.run(place.job(do="error", error={"kind": kind, "message": "no such qdisc"}), timeout_s=60, module=JOBS)


def test_a_job_that_takes_too_long_is_ended(kernel: Kernel, place: Place) -> None:
    seen: list[float] = []
    with pytest.raises(TimedOutError, match=f"longer than 4 s on the kernel {kernel.name}"):
        kernel.run(place.job(do="spawn"), timeout_s=4, module=JOBS, progress=seen.append)
    assert 0.5 in seen
    assert place.left() == []


def test_a_job_can_be_stopped(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="spawn")
    with pytest.raises(StoppedError):
        kernel.run(folder, timeout_s=60, module=JOBS, stopped=(folder / "progress").exists)
    assert place.left() == []


@pytest.mark.parametrize("kernel", ["uml", "uml-virtual"], indirect=True)
def test_a_panic_is_told_with_its_reason(kernel: Kernel, place: Place) -> None:
    with pytest.raises(KernelError, match=f"{kernel.name} panicked: Kernel panic - not syncing: "):
        kernel.run(place.job(do="panic"), timeout_s=60, module=JOBS)
    assert place.left() == []


def test_ctrl_c_leaves_nothing(kernel: Kernel, place: Place) -> None:
    process = start(kernel, place.job(do="spawn"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in err
    assert place.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_killed_parent_leaves_nothing(kernel: Kernel, place: Place, number: signal.Signals) -> None:
    process = start(kernel, place.job(do="spawn"))
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == -number


def test_a_killed_keeper_leaves_nothing(kernel: Kernel, place: Place) -> None:
    process = start(kernel, place.job(do="spawn"))
    os.kill(keeper(place), signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert "ended before the job did" in err


def test_parent_and_keeper_killed_together_leave_only_what_the_next_job_removes(kernel: Kernel, place: Place) -> None:
    process = start(kernel, place.job(do="spawn"))
    for pid in (keeper(place), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=20)
    wait_until(lambda: not place.processes())
    assert place.processes() == []
    (place.folder / "job").rename(place.folder / "old")
    kernel.run(place.job(do="report"), timeout_s=60, module=JOBS)


def keeper(place: Place) -> int:
    (found,) = [int(words.split()[0]) for words in place.processes() if "keeper.py" in words]
    return found
