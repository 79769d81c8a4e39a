"""What only a process of its own shows: signals, closed pipes, full disks, start-up imports."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.real_time

Start = Callable[..., "subprocess.Popen[str]"]

# Far longer than any test waits for it.
ENDLESS = ("--set", "duration=1000 s", "--runs", "10000", "--bin", "100 s")


def test_ctrl_c_ends_with_130_and_leaves_nothing(start: Start, small_file: Path, tmp_path: Path) -> None:
    process = start("run", small_file, *ENDLESS, "--out", tmp_path / "out", "--plot", tmp_path / "p.png")
    assert process.stderr is not None
    assert process.stderr.readline().startswith("small: ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "error: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_long_run_tells_its_progress_on_stderr(start: Start, small_file: Path) -> None:
    process = start("run", small_file, *ENDLESS)
    assert process.stderr is not None
    line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert line.startswith("small: ")
    assert line.endswith("%\n")
    assert out == ""


def test_a_reader_that_goes_away_is_not_an_error_message(start: Start) -> None:
    with start("schema") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_fails_the_run() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "too_heavy"),
    [
        (["--help"], ["rich", "numpy", "pyarrow", "scipy", "matplotlib"]),
        (
            ["run", "motivating-red", "--set", "duration=1 s", "--runs", "1"],
            ["numpy", "pyarrow", "scipy", "matplotlib"],
        ),
    ],
)
def test_a_quick_command_imports_nothing_heavy(arguments: list[str], too_heavy: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "sojourn", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "click" in imported
    assert imported.isdisjoint(too_heavy)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process may ask for")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_needs_more_memory_than_there_is_says_so(tmp_path: Path, jobs: int) -> None:
    import resource

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))

    scenario = tmp_path / "large.toml"
    scenario.write_text(
        'duration = "30 s"\n[bottleneck]\nrate = "1 Mbit/s"\n'
        'queue = { kind = "droptail", limit = "20000000 packets" }\n'
        '[[group]]\nname = "flood"\nrtt = "40 ms"\ntraffic = { kind = "cbr", rate = "100 Gbit/s" }\n'
    )
    words = [sys.executable, "-m", "sojourn", "run", scenario, "--runs", "2", "--jobs", str(jobs)]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=bound, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: the run failed: buffers and lines need more memory than there is"
