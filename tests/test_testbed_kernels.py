"""Kernels run a job and leave nothing behind, however they end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, wait_for

from sojourn import InputError
from sojourn.worlds.linux import pool
from sojourn.worlds.linux.build import built_kernel
from sojourn.worlds.linux.doctor import SURVEY
from sojourn.worlds.linux.errors import (
    JobError,
    KernelError,
    MissingInsideError,
    NotInstalledError,
    StoppedError,
    TimedOutError,
)
from sojourn.worlds.linux.kernels import Kernel, kernels
from sojourn.worlds.linux.places import cache_folder

NOBODY = 65534
pytestmark = [pytest.mark.real_time, pytest.mark.testbed]
JOBS = "testbed_jobs"
LOCKS = Path("/run/sojourn")
REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(params=["host", "uml", "uml-virtual"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    found = kernels()[request.param]
    if found.missing():
        pytest.skip(str(NotInstalledError(f"the kernel {found.name}", found.missing())))
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
        # Namespaces with this name are those of tests that run beside this one.
        ours = [line for line in mounts if str(self.folder) in line or ("nsfs" in line and "/netns/sj" not in line)]
        return self.processes() + temporary + ours


def world(home: Path) -> dict[str, object]:
    """What a job might change on the machine, and nobody else does meanwhile; tests of --shape make LOCKS."""
    modprobe = Path("/proc/sys/kernel/modprobe")
    return {
        "home": sorted(path.name for path in home.iterdir()),
        "names": sorted(path.name for path in Path("/run").iterdir() if "sojourn" in path.name and path != LOCKS),
        "modprobe": modprobe.read_text(encoding="utf-8") if modprobe.exists() else None,
    }


@contextmanager
def place_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Have a place to run jobs in; at the end nothing is left but the job's folder."""
    (folder / "tmp").mkdir()
    (folder / "home").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder().parent))
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY / 'python'}:{REPOSITORY / 'tests'}")
    before = world(folder / "home")
    here = Place(folder)
    yield here
    # Those who were killed have their traces removed by others, in their own time.
    wait_for(lambda: not here.left())
    assert here.left() == []
    assert world(folder / "home") == before


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with place_in(tmp_path, monkeypatch) as here:
        yield here


def start(kernel: Kernel, folder: Path) -> "subprocess.Popen[str]":
    """Start a job in a process of its own and wait until it runs."""
    program = (
        "import sys; from pathlib import Path; from sojourn.worlds.linux.kernels import kernels\n"
        f"kernels()[sys.argv[1]].run(Path(sys.argv[2]), timeout_s=100, module={JOBS!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, kernel.name, str(folder)], stderr=subprocess.PIPE, text=True
    )
    assert wait_for((folder / "progress").exists)
    return process


def test_a_job_runs_as_root_of_its_own_network(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="report")
    kernel.run(folder, timeout_s=PATIENCE_S, module=JOBS)
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert told["release"] == kernel.version()
    assert told["user"] == 0
    assert told["hardware"] == []
    assert kernel.name != "host" or told["network"] != str(Path("/proc/self/ns/net").readlink())
    assert told["python"] == sys.prefix
    assert told["run"] in (["tmp"], ["modprobe", "modules", "tmp"])
    assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "report.json"]


def test_a_survey_finds_what_is_there_and_nothing_else(kernel: Kernel, place: Place) -> None:
    folder = place.job(qdiscs=["tbf", "no-such-one", "pfifo"], controls=["no-such-one", "cubic", "reno"])
    kernel.run(folder, timeout_s=PATIENCE_S, module=SURVEY)
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert told == {"release": kernel.version(), "qdiscs": ["tbf", "pfifo"], "controls": ["cubic", "reno"]}


def test_what_tc_can_add_is_what_the_survey_finds(kernel: Kernel, place: Place) -> None:
    kinds = {"red": "limit 30000 min 5000 max 15000 avpkt 1000", "sfq": "", "codel": "", "cake": "", "ets": "bands 3"}
    folder = place.job(do="tc", kinds=kinds)
    kernel.run(folder, timeout_s=PATIENCE_S, module=JOBS)
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert told["survey"] == told["tc"]


def test_time_in_a_virtual_kernel_begins_and_passes_alike(place: Place) -> None:
    kernel = kernels()["uml-virtual"]
    if kernel.missing():
        pytest.skip(str(NotInstalledError(f"the kernel {kernel.name}", kernel.missing())))
    folder = place.job(do="report", nap_s=1000)
    kernel.run(folder, timeout_s=PATIENCE_S, module=JOBS)
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert 1000 <= told["time"] - datetime(2026, 1, 1, tzinfo=UTC).timestamp() < 1010
    assert told["slept_s"] == pytest.approx(1000, abs=0.001)


AS_NOBODY = """
import sys
from pathlib import Path
from sojourn.worlds.linux.kernels import kernels
kernel = kernels()[sys.argv[1]]
if kernel.missing():
    sys.exit(f"skip: {kernel.missing()}")
kernel.run(Path(sys.argv[2]), timeout_s=100, module="testbed_jobs")
"""


@pytest.fixture
def open_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Give a place that every user can come to: pytest's own, each of its runs on a machine closes to others."""
    with tempfile.TemporaryDirectory(prefix="open-") as folder:
        Path(folder).chmod(0o755)
        with place_in(Path(folder), monkeypatch) as here:
            yield here


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_without_any_rights_can_run_it(kernel: Kernel, open_place: Place) -> None:
    python = "/usr/bin/python3"
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=False).stdout.strip()
    if version.rpartition(".")[0] != f"Python {sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip(f"{python}, which every user may run, is not the Python of these packages")
    folder = open_place.job(do="report")
    cache = open_place.folder / "cache" / "sojourn" / "kernels" / "built"
    cache.mkdir(parents=True)
    if (built := built_kernel()) is not None:
        shutil.copy2(built, cache / "linux")
    for path in (folder, *open_place.folder.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    words = [python, "-B", "-c", AS_NOBODY, kernel.name, str(folder)]
    done = subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words],
        env={
            **os.environ,
            "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{packages}",
            "XDG_CACHE_HOME": str(cache.parents[2]),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr)
    assert done.stderr == ""
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert told["user"] == 0
    assert (folder / "report.json").stat().st_uid == NOBODY


def test_a_pool_of_kernels_runs_side_by_side_and_stops_together(kernel: Kernel, place: Place) -> None:
    folders = []
    for number, what in enumerate(["report", "report", "sleep", "raise"]):
        folders.append((place.job(do=what)).rename(place.folder / f"job-{number}"))
    pool.run_all(kernel, folders[:2], timeout_s=PATIENCE_S, jobs=2, module=JOBS)
    assert all((folder / "report.json").exists() for folder in folders[:2])
    with pytest.raises(JobError, match="the job's own reason") as caught:
        pool.run_all(kernel, folders[2:], timeout_s=PATIENCE_S, jobs=2, module=JOBS)
    assert caught.value.__notes__ == [f"in {folders[3]}"]
    assert place.left() == []


def test_what_the_guest_writes_is_whole(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="big")
    kernel.run(folder, timeout_s=PATIENCE_S, module=JOBS)
    assert (folder / "big").read_bytes() == bytes(range(256)) * 40_000


def test_an_old_report_is_not_taken_for_a_new_one(kernel: Kernel, place: Place) -> None:
    folder = place.job(do="nothing")
    (folder / "report.json").write_text("{}", encoding="utf-8")
    with pytest.raises(JobError, match="ended without a report"):
        kernel.run(folder, timeout_s=PATIENCE_S, module=JOBS)


def test_a_job_that_raises_shows_why(kernel: Kernel, place: Place) -> None:
    with pytest.raises(JobError, match=r"exit code 1\n(?s:.*)the job's own reason"):
        kernel.run(place.job(do="raise"), timeout_s=PATIENCE_S, module=JOBS)


@pytest.mark.parametrize(
    ("kind", "error"), [("input", InputError), ("missing", MissingInsideError), ("failed", JobError)]
)
def test_a_job_may_report_its_own_error(place: Place, kind: str, error: type[Exception]) -> None:
    kernel = next((found for found in kernels().values() if not found.missing()), None)
    if kernel is None:
        pytest.skip("no kernel is there")
    with pytest.raises(error, match="no such qdisc"):
        kernel.run(
            place.job(do="error", error={"kind": kind, "message": "no such qdisc"}), timeout_s=PATIENCE_S, module=JOBS
        )


def test_a_job_that_takes_too_long_is_ended(kernel: Kernel, place: Place) -> None:
    with pytest.raises(TimedOutError, match=f"longer than 3 s on the kernel {kernel.name}"):
        kernel.run(place.job(do="spawn"), timeout_s=3, module=JOBS)
    assert place.left() == []


def test_a_job_tells_its_progress_and_can_be_stopped(kernel: Kernel, place: Place) -> None:
    seen: list[float] = []
    with pytest.raises(StoppedError):
        kernel.run(
            place.job(do="spawn"), timeout_s=PATIENCE_S, module=JOBS, progress=seen.append, stopped=lambda: 0.5 in seen
        )
    assert place.left() == []


@pytest.mark.parametrize("kernel", ["uml", "uml-virtual"], indirect=True)
def test_a_panic_is_told_with_its_reason(kernel: Kernel, place: Place) -> None:
    with pytest.raises(KernelError, match=f"{kernel.name} panicked: Kernel panic - not syncing: "):
        kernel.run(place.job(do="panic"), timeout_s=PATIENCE_S, module=JOBS)
    assert place.left() == []


def test_ctrl_c_leaves_nothing(kernel: Kernel, place: Place) -> None:
    process = start(kernel, place.job(do="spawn"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in err
    assert place.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_killed_parent_leaves_nothing(kernel: Kernel, place: Place, number: signal.Signals) -> None:
    process = start(kernel, place.job(do="spawn"))
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -number


def test_a_killed_keeper_leaves_nothing(kernel: Kernel, place: Place) -> None:
    process = start(kernel, place.job(do="spawn"))
    os.kill(keeper(place), signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert "ended before the job did" in err


def test_parent_and_keeper_killed_together_leave_only_what_the_next_job_removes(kernel: Kernel, place: Place) -> None:
    process = start(kernel, place.job(do="spawn"))
    for pid in (keeper(place), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    wait_for(lambda: not place.processes())
    assert place.processes() == []
    (place.folder / "job").rename(place.folder / "old")
    kernel.run(place.job(do="report"), timeout_s=PATIENCE_S, module=JOBS)


def keeper(place: Place) -> int:
    (found,) = [int(words.split()[0]) for words in place.processes() if "keeper.py" in words]
    return found
