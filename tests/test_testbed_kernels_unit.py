"""The parts of the testbed that need no kernel."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import abandoned, wait_for
from tests.testbed_fakes import FakeKernel, stub_tools

from sojourn import InputError
from sojourn.cli.testbed import doctor_text
from sojourn.worlds.linux import places
from sojourn.worlds.linux.clock import steady_clock, wall_offset_s
from sojourn.worlds.linux.doctor import diagnose
from sojourn.worlds.linux.errors import (
    ClockJumpedError,
    JobError,
    KernelError,
    Missing,
    NotInstalledError,
    TestbedError,
)
from sojourn.worlds.linux.kernels import Kernel, choose, kernels, uml
from sojourn.worlds.linux.kernels.uml import Uml
from sojourn.worlds.linux.survey import has_control

pytestmark = pytest.mark.usefixtures("no_root")

PACKAGE = Missing("linux.uml (user-mode Linux)", "user-mode-linux")
BUILD = Missing("a kernel built with virtual time", advice="To build it: sojourn testbed build-kernel")


def test_auto_takes_the_first_kernel_that_is_there() -> None:
    fakes: list[Kernel] = [FakeKernel("uml-virtual", [BUILD]), FakeKernel("uml"), FakeKernel("host")]
    assert choose(among=fakes).name == "uml"
    assert choose("host", fakes).name == "host"
    assert list(kernels()) == ["uml-virtual", "uml", "host"]


def test_no_kernel_names_the_one_command_that_installs_one() -> None:
    fakes: list[Kernel] = [
        FakeKernel("uml-virtual", [BUILD]),
        FakeKernel("uml", [PACKAGE, Missing("modprobe", "kmod")]),
    ]
    with pytest.raises(NotInstalledError) as caught:
        choose(among=fakes)
    assert str(caught.value) == (
        "the kernel uml needs linux.uml (user-mode Linux), modprobe. "
        "To install: sudo apt-get install kmod user-mode-linux"
    )


def test_a_kernel_that_is_not_built_says_how_to_build_it() -> None:
    with pytest.raises(NotInstalledError, match=r"To build it: sojourn testbed build-kernel$"):
        choose("uml-virtual", [FakeKernel("uml-virtual", [BUILD])])


def test_an_unknown_kernel_is_wrong_input() -> None:
    with pytest.raises(InputError, match="no kernel is called 'uml-virtal'; did you mean 'uml-virtual'"):
        choose("uml-virtal")


@pytest.mark.parametrize(("jump_s", "words"), [(-3.0, r"-3\.00 s"), (0.06, r"\+0\.06 s")])
def test_a_clock_that_jumps_is_told(jump_s: float, words: str) -> None:
    offsets = iter([100.0, 100.0 + jump_s])
    with pytest.raises(ClockJumpedError, match=f"jumped by {words}.*uml-virtual"), steady_clock(lambda: next(offsets)):
        pass


def test_a_clock_that_runs_on_is_no_error() -> None:
    with steady_clock():
        time.sleep(0.01)
    # Between two readings of the clocks a busy machine may hold a process up.
    assert min(abs(wall_offset_s() - (time.time() - time.monotonic())) for _ in range(20)) < 0.05


def test_an_error_inside_comes_before_a_jump_of_the_clock() -> None:
    offsets = iter([0.0, 100.0])
    with pytest.raises(JobError), steady_clock(lambda: next(offsets)):
        raise JobError("it failed")


def test_only_a_control_that_the_kernel_has_is_found() -> None:
    assert has_control("reno")
    assert not has_control("no-such-one")


# Where files lie.


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return place


def test_a_work_folder_goes_with_its_context(temporary: Path) -> None:
    with places.work_folder() as folder:
        assert folder.parent == temporary
        (folder / "some").touch()
    assert list(temporary.iterdir()) == []


WORKING = """
import sys, time, tempfile
from sojourn.worlds.linux.places import work_folder
tempfile.tempdir = sys.argv[1]
with work_folder() as folder:
    (folder / "some").touch()
    time.sleep(1000)
"""


def test_a_work_folder_goes_with_its_process(temporary: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WORKING, str(temporary)]) as process:
        assert wait_for(lambda: bool(list(temporary.glob("*/some"))))
        process.kill()
    assert wait_for(lambda: not list(temporary.iterdir()))


def test_work_folders_of_the_dead_are_removed_and_those_of_others_are_not(temporary: Path) -> None:
    abandoned(temporary / "sojourn-a_dead_1")
    used, foreign = (abandoned(temporary / name) for name in ("sojourn-a_used_1", "other"))
    with (used / "lock").open("r") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with places.work_folder() as folder:
            assert sorted(temporary.iterdir()) == sorted([folder, used, foreign])


def _of_another_user(folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(folder, 12345, 12345)


def _open_to_others(folder: Path) -> None:
    folder.chmod(0o755)


def _with_another_lock(folder: Path) -> None:
    (folder / "lock").write_text("4711\n", encoding="ascii")


def _with_an_empty_lock(folder: Path) -> None:
    (folder / "lock").write_bytes(b"")


def _with_a_lock_open_to_others(folder: Path) -> None:
    (folder / "lock").chmod(0o666)


def _with_a_pipe_for_a_lock(folder: Path) -> None:
    (folder / "lock").unlink()
    os.mkfifo(folder / "lock", 0o600)


def _with_a_lock_elsewhere(folder: Path) -> None:
    elsewhere = folder.parent.parent / "elsewhere"
    (folder / "lock").rename(elsewhere)
    (folder / "lock").symlink_to(elsewhere)


def _elsewhere(folder: Path) -> None:
    elsewhere = folder.parent.parent / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "change",
    [
        _of_another_user,
        _open_to_others,
        _with_another_lock,
        _with_an_empty_lock,
        _with_a_lock_open_to_others,
        _with_a_pipe_for_a_lock,
        _with_a_lock_elsewhere,
        _elsewhere,
    ],
)
def test_a_folder_that_is_not_surely_our_own_is_left_alone(temporary: Path, change: Callable[[Path], None]) -> None:
    folder = abandoned(temporary / "sojourn-abcdefgh")
    (folder / "precious").write_text("thesis", encoding="ascii")
    change(folder)
    assert places.remove_orphans() == []
    assert (folder / "precious").read_text(encoding="ascii") == "thesis"


def test_nothing_is_opened_behind_a_link(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _elsewhere(abandoned(temporary / "sojourn-abcdefgh"))
    opened: list[int] = []
    monkeypatch.setattr(places, "_is_free", lambda handle: bool(opened.append(handle)))
    assert places.remove_orphans() == []
    assert opened == []


def test_a_name_that_comes_to_mean_another_folder_is_left_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, is_free = abandoned(temporary / "sojourn-abcdefgh"), places._is_free

    def swapped(handle: int) -> bool:
        found = is_free(handle)
        folder.rename(temporary / "was")
        abandoned(folder)
        return found

    monkeypatch.setattr(places, "_is_free", swapped)
    assert places.remove_orphans() == []
    assert folder.is_dir()


@pytest.mark.parametrize("name", ["sojourn-abcdefg", "sojourn-ABCDEFGH", "sojourn-abcdefgh.old"])
def test_a_folder_with_another_name_is_left_alone(temporary: Path, name: str) -> None:
    folder = abandoned(temporary / name)
    assert places.remove_orphans() == []
    assert folder.is_dir()


def test_the_folder_of_a_killed_run_is_one_that_is_removed(temporary: Path) -> None:
    with places.keeper_folder() as folder:
        assert places.remove_orphans() == []
        kept = folder.with_name("sojourn-abcdefgh")
        shutil.copytree(folder, kept)
    assert places.remove_orphans() == [kept]
    assert list(temporary.iterdir()) == []


def test_a_folder_whose_name_boot_parameters_do_not_take_is_passed_over(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaced = temporary / "two words"
    spaced.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spaced))
    places.cache_folder().mkdir(parents=True)
    with places.work_folder() as folder:
        assert folder.parent == places.cache_folder()


def test_a_cache_named_by_a_relative_path_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/someone")
    assert places.cache_folder() == Path("/home/someone/.cache/sojourn")


def test_no_room_for_a_kernels_memory_says_what_was_tried(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(free=64 << 20))
    with pytest.raises(KernelError) as caught:
        places.memory_folder(512 << 20)
    assert f"{temporary} has 64 MB left of the 512 MB needed" in str(caught.value)
    assert "cannot be used (No such file or directory)" in str(caught.value)


def test_memory_goes_where_it_may_be_mapped_as_code(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_settings: object) -> object:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("mmap.mmap", refuse)
    with pytest.raises(KernelError, match=f"{temporary} does not let files be written or mapped as code"):
        places.memory_folder(1)


# A user-mode Linux that is not one.


@pytest.fixture
def fake_uml(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Uml]]:
    """Make a program `linux.uml`, with modules, that does what a line of shell says."""

    stub_tools(tmp_path / "stubs", monkeypatch)

    def make(script: str, version: str = "6.1.0") -> Uml:
        program = tmp_path / "usr" / "bin" / "linux.uml"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\n{script}\n', encoding="utf-8")
        program.chmod(0o755)
        (tmp_path / "usr" / "lib" / "uml" / "modules" / "6.1.0").mkdir(parents=True)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return Uml()

    yield make
    assert list(temporary.iterdir()) == []


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "plan.json").write_text("{}", encoding="utf-8")
    return folder


def ends_with(code: str) -> str:
    """Return what a kernel does whose first process ends, with its wait status."""
    return f"echo 'Kernel panic - not syncing: Attempted to kill init! exitcode=0x{code}'; kill -6 $$"


def test_a_kernel_that_can_run_no_program_is_not_there(fake_uml: Callable[[str], Uml], job: Path) -> None:
    kernel = fake_uml(ends_with("0000000b"))
    (lack,) = kernel.missing()
    program = kernel.program()
    assert lack.what == f"a processor on which {program} can run programs (signal 11 killed its first process)"
    with pytest.raises(NotInstalledError, match=r"signal 11 .*\. Use the kernel host, or another machine$"):
        kernel.run(job, timeout_s=10)


def test_the_doctor_says_why_a_kernel_can_run_no_program(fake_uml: Callable[[str], Uml]) -> None:
    kernel = fake_uml(ends_with("0000000b"))
    (finding,) = diagnose([kernel]).kernels
    assert finding.missing == kernel.missing()
    shown = doctor_text(diagnose([kernel])).splitlines()[2:4]
    assert [line.strip() for line in shown] == [
        f"not there: needs {finding.missing[0].what}",
        "Use the kernel host, or another machine",
    ]


def test_auto_passes_over_a_kernel_that_can_run_no_program(fake_uml: Callable[[str], Uml]) -> None:
    assert choose(among=[fake_uml(ends_with("0000008b")), FakeKernel("host")]).name == "host"


def test_a_kernel_is_tried_once_and_only_where_one_before_it_is_not_there(fake_uml: Callable[[str], Uml]) -> None:
    kernel = fake_uml('echo "$@" >>"$0.boots"; ' + ends_with("00000000"))
    boots = Path(f"{kernel.program()}.boots")
    assert choose(among=[FakeKernel("uml-virtual"), kernel]).name == "uml-virtual"
    assert not boots.exists()
    assert [choose(among=[FakeKernel("uml-virtual", [BUILD]), kernel]).name for _ in range(2)] == ["uml", "uml"]
    (line,) = boots.read_text(encoding="utf-8").splitlines()
    assert {"mem=64M", "init=/bin/true", "panic=0"} <= set(line.split())


@pytest.mark.parametrize(
    "script", [ends_with("00000100"), "exit 1", "echo 'Kernel panic - not syncing: No working init found.'", "sleep 60"]
)
def test_a_trial_that_tells_nothing_refuses_no_kernel(
    fake_uml: Callable[[str], Uml], monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(uml, "_TRIAL_S", 0.5)
    assert fake_uml(script).missing() == []


def test_a_trial_without_room_refuses_no_kernel(
    fake_uml: Callable[[str], Uml], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(free=0))
    assert fake_uml(ends_with("0000000b")).missing() == []


def test_a_panic_is_told_with_the_consoles_last_lines(fake_uml: Callable[[str], Uml], job: Path) -> None:
    kernel = fake_uml(
        "echo booting; echo 'Kernel panic - not syncing: No working init found.'; echo ' <trace>'; kill -6 $$"
    )
    with pytest.raises(KernelError) as caught:
        kernel.run(job, timeout_s=10)
    assert str(caught.value).splitlines() == [
        "the kernel uml panicked: Kernel panic - not syncing: No working init found.",
        "  booting",
        "  Kernel panic - not syncing: No working init found.",
        "   <trace>",
    ]


def test_a_kernel_that_does_not_start_is_told(fake_uml: Callable[[str], Uml], job: Path) -> None:
    kernel = fake_uml("echo 'ptrace: Operation not permitted'; exit 1")
    with pytest.raises(
        KernelError, match=r"^the kernel uml ended before the job did\n  ptrace: Operation not permitted$"
    ):
        kernel.run(job, timeout_s=10)


def test_a_kernel_without_its_modules_is_not_there(fake_uml: Callable[..., Uml], job: Path) -> None:
    kernel = fake_uml("exit 1", version="6.1.1")
    with pytest.raises(NotInstalledError, match=r"the modules of .*linux.uml.*apt-get install.* user-mode-linux"):
        kernel.run(job, timeout_s=10)


def test_a_folder_without_a_plan_is_wrong_input(fake_uml: Callable[[str], Uml], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no plan\.json"):
        fake_uml("exit 1").run(tmp_path, timeout_s=10)


def test_a_folder_that_is_another_one_inside_is_wrong_input(
    fake_uml: Callable[[str], Uml], job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "HIDDEN", (job.parent,))
    with pytest.raises(InputError, match="hold something else inside a kernel"):
        fake_uml("exit 1").run(job, timeout_s=10)


def test_every_error_of_the_testbed_ends_the_command_line_with_1() -> None:
    assert issubclass(TestbedError, RuntimeError)
