"""A kept command leaves nothing running, whoever is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, wait_for

from sojourn.worlds.linux.kept import CONSOLE, Kept

pytestmark = pytest.mark.real_time


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "kept"
    place.mkdir()
    return place


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def told(file: Path) -> int:
    assert wait_for(lambda: file.exists() and file.read_text(encoding="ascii").endswith("\n"))
    return int(file.read_text(encoding="ascii"))


def gone(pid: int) -> bool:
    return wait_for(lambda: not alive(pid))


# A grandchild in a session of its own, deaf to polite requests, whose parent has gone.
ORPHAN = "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > {0}; while :; do sleep 1; done' & wait_not=1; {1}"


def orphan(pid_file: Path, then: str) -> list[str]:
    return ["sh", "-c", ORPHAN.format(pid_file, then)]


@pytest.mark.parametrize(("command", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9)])
def test_a_kept_command_tells_its_exit_code(folder: Path, command: str, code: int) -> None:
    with Kept(folder, ["sh", "-c", f"echo said; {command}"], signal.SIGTERM) as kept:
        assert kept.ended(PATIENCE_S)
        assert kept.exit_code == code
        assert (folder / CONSOLE).read_text(encoding="utf-8") == "said\n"
    assert not folder.exists()


def test_a_command_that_is_not_there_is_told(folder: Path) -> None:
    with Kept(folder, ["no-such-command"], signal.SIGTERM) as kept:
        assert kept.ended(PATIENCE_S)
        assert kept.exit_code == 127
        assert (folder / CONSOLE).read_text(encoding="utf-8") == "no-such-command: No such file or directory\n"


def test_orphans_end_with_the_command(folder: Path, tmp_path: Path) -> None:
    with Kept(
        folder, orphan(tmp_path / "pid", f"until [ -s {tmp_path}/pid ]; do sleep 0.01; done"), signal.SIGTERM
    ) as kept:
        assert kept.ended(PATIENCE_S)
        assert not alive(told(tmp_path / "pid"))


def test_all_ends_with_the_context(folder: Path, tmp_path: Path) -> None:
    with Kept(folder, orphan(tmp_path / "pid", "sleep 1000"), signal.SIGTERM) as kept:
        pid = told(tmp_path / "pid")
        assert not kept.ended(0)
    assert not alive(pid)
    assert not folder.exists()


PARENT = """
import signal, sys, time
from pathlib import Path
from sojourn.worlds.linux.kept import Kept
with Kept(Path(sys.argv[1]), sys.argv[2:], signal.SIGTERM):
    time.sleep(1000)
"""


def test_all_ends_with_a_parent_that_is_killed(folder: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-c", PARENT, str(folder), *orphan(tmp_path / "pid", "sleep 1000")]
    with subprocess.Popen(program) as parent:
        pid = told(tmp_path / "pid")
        parent.kill()
    assert gone(pid)
    assert wait_for(lambda: not folder.exists())


def test_ctrl_c_in_a_terminal_reaches_only_the_parent(folder: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-c", PARENT, str(folder), *orphan(tmp_path / "pid", "sleep 1000")]
    with subprocess.Popen(program, start_new_session=True, stderr=subprocess.PIPE, text=True) as parent:
        pid = told(tmp_path / "pid")
        os.killpg(parent.pid, signal.SIGINT)
        _, err = parent.communicate(timeout=PATIENCE_S)
    assert err.strip().endswith("KeyboardInterrupt")
    assert not alive(pid)
    assert not folder.exists()


def test_a_command_that_signals_its_group_does_not_reach_the_keeper(folder: Path) -> None:
    with Kept(folder, ["sh", "-c", "trap '' TERM; kill -TERM 0; exit 5"], signal.SIGTERM) as kept:
        assert kept.ended(PATIENCE_S)
        assert kept.exit_code == 5


def test_a_killed_keeper_takes_the_command_with_it(folder: Path, tmp_path: Path) -> None:
    command = ["sh", "-c", f"echo $$ > {tmp_path}/pid; echo $PPID > {tmp_path}/keeper; exec sleep 1000"]
    with Kept(folder, command, signal.SIGTERM) as kept:
        pid = told(tmp_path / "pid")
        os.kill(told(tmp_path / "keeper"), signal.SIGKILL)
        assert kept.ended(PATIENCE_S)
        assert kept.exit_code is None
        assert gone(pid)
