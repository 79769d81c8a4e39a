"""Python files in the current folder never run: every command that starts processes, in a folder full of them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, SMALL, free_port
from tests.foreign import plant, taken

from sojourn import children
from sojourn.worlds.linux.kernels import kernels

Say = Callable[..., "subprocess.CompletedProcess[str]"]

# A script as installers write it: its own folder is searched, not the current one.
SCRIPT = "from sojourn.__main__ import main\nif __name__ == '__main__':\n    main()\n"
LAB = """
name = "lab"
duration = "1 s"
[bottleneck]
rate = "1 Mbit/s"
queue = {kind = "droptail", limit = "50 packets"}
[[group]]
name = "background"
control = "ledbat"
rtt = "20 ms"
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "bin" / "sojourn"
    file.parent.mkdir()
    file.write_text(SCRIPT, encoding="utf-8")
    return file


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """Give a folder with hostile modules, in which nothing may have been taken at the end."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    mark = plant(folder)
    (folder / "base.toml").write_text(SMALL, encoding="utf-8")
    (folder / "lab.toml").write_text(LAB, encoding="utf-8")
    yield folder
    assert taken(mark) == []


@pytest.fixture
def say(script: Path, here: Path) -> Say:
    """Run a command in the folder."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, str(script), *words]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        return done

    return run


def test_what_lies_in_the_folder_would_run(tmp_path: Path) -> None:
    mark = plant(tmp_path)
    for words in (["-c", "import json"], ["-m", "json.tool", "--help"]):
        subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=False)
        assert taken(mark), words
        mark.unlink()
    subprocess.run(children.module("json.tool", "--help"), cwd=tmp_path, check=True, capture_output=True)
    assert taken(mark) == []


def test_a_process_of_the_package_finds_what_this_one_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.py").write_text("print('mine')\n", encoding="utf-8")
    mark = plant(tmp_path)
    monkeypatch.chdir(tmp_path)
    for given in ("elsewhere", f".{os.pathsep}elsewhere", f"{tmp_path / 'elsewhere'}{os.pathsep}"):
        monkeypatch.setenv("PYTHONPATH", given)
        done = subprocess.run(
            children.module("mine"), env=children.environment(), capture_output=True, text=True, check=True
        )
        assert done.stdout == "mine\n"
        # And what such a process starts is as safe.
        nested = (
            "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import json, sojourn, mine'], check=True)"
        )
        (tmp_path / "elsewhere" / "nested.py").write_text(nested, encoding="utf-8")
        subprocess.run(children.module("nested"), env=children.environment(), check=True, capture_output=True)
    assert taken(mark) == []


def test_the_environment_is_as_before_where_libraries_have_started_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with children.started_safely():
        assert (os.environ["PYTHONSAFEPATH"], os.environ.get("PYTHONPATH")) == ("1", None)
    assert (os.environ.get("PYTHONSAFEPATH"), os.environ["PYTHONPATH"]) == (None, ".")


POOL = """
import os, sys
from sojourn import children
if __name__ == "__main__":
    with children.pool(2) as pool:
        print(len(set(pool.map(os.path.exists, "ab"))), flush=True)
"""


def test_a_pool(tmp_path: Path, here: Path) -> None:
    file = tmp_path / "pool.py"
    file.write_text(POOL, encoding="utf-8")
    done = subprocess.run([sys.executable, file], cwd=here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.testbed
def test_the_doctor(say: Say) -> None:
    assert "host" in say("testbed", "doctor").stdout


@contextmanager
def agent(script: Path, here: Path, port: int) -> Iterator[None]:
    words = ("agent", "--listen", "127.0.0.1", "--port", str(port), "--secret-file", "secret")
    command = [sys.executable, str(script), *words]
    with subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            assert running.stderr.readline()
            yield
        finally:
            running.terminate()


@pytest.mark.long
@pytest.mark.real_time
def test_an_agent_and_a_run_between_hosts(say: Say, script: Path, here: Path) -> None:
    (here / "secret").write_text("a secret of the two hosts", encoding="utf-8")
    (here / "secret").chmod(0o600)
    port = free_port()
    with agent(script, here, port):
        to = ("--world", "hosts", "--peer", f"127.0.0.1:{port}", "--secret-file", "secret")
        say("run", "lab.toml", *to, "--json")


@pytest.mark.long
def test_a_sweep_on_a_cluster(say: Say, here: Path) -> None:
    text = 'base = "base.toml"\nseeds = 2\n[axes]\n"group.tcp.flows" = [1, 2]\n'
    (here / "sweep.toml").write_text(text, encoding="utf-8")
    say("sweep", "sweep.toml", "--out", "out", "--cluster", "local:1", "--yes")


@pytest.mark.long
def test_a_study_drawn_by_several_processes(say: Say) -> None:
    say("paper", "l4s", "safety", "background", "--kept", "--out", "page", "--jobs", "2")


@pytest.mark.testbed
@pytest.mark.parametrize("kernel", ["uml-virtual", "uml"])
def test_a_run_on_a_kernel(say: Say, kernel: str) -> None:
    if kernels()[kernel].missing():
        pytest.skip(f"the kernel {kernel} is not there")
    say("run", "lab.toml", "--world", "linux", "--kernel", kernel, "--json")
