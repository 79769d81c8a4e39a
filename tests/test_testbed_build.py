"""Building a kernel, with a source that takes no time: a Makefile that behaves like the kernel's."""

import fcntl
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import PATIENCE_S, Command, abandoned, wait_for
from tests.testbed_fakes import stub_tools

from sojourn import InputError
from sojourn.worlds.linux import build
from sojourn.worlds.linux.build import Built, build_kernel, built_kernel, kernels_folder
from sojourn.worlds.linux.errors import BuildError, NotInstalledError
from sojourn.worlds.linux.options import Options, read_options
from sojourn.worlds.linux.places import remove
from sojourn.worlds.linux.source import Source, find_source

pytestmark = pytest.mark.usefixtures("no_root")

MAKEFILE = """
NAMES = one two three
x86_64_defconfig:
\t@echo CONFIG_NET=y > $(O)/.config
olddefconfig:
\t@grep -v -x -F -f lacks $(O)/.config > $(O)/.new || true
\t@mv $(O)/.new $(O)/.config
linux: $(NAMES:%=$(O)/%.o)
\t@cp program $(O)/linux
$(O)/%.o:
\t@test ! -e broken || { echo "$*.c:1: error: it is broken" >&2; exit 1; }
\t@while test -e slow; do sleep 0.01; done
\t@echo "  CC      $*.o"
\t@echo $* > $@
\t@touch made-$*
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("make") is None or shutil.which("xz") is None:
        pytest.skip("make and xz are not installed")
    stub_tools(tmp_path / "stubs", monkeypatch)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    folder = tmp_path / "linux-6.1.0"
    (folder / "arch" / "um").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (folder / "lacks").write_text("CONFIG_NONE=y\n", encoding="utf-8")
    (folder / "program").write_text("#!/bin/sh\necho 6.1.0\n", encoding="utf-8")
    (folder / "program").chmod(0o755)
    return folder


def made(tree: Path) -> list[str]:
    return sorted(path.name for path in tree.glob("made-*"))


def build_it(source: Source | None, *, force: bool = False, notes: list[str] | None = None) -> Built:
    def report(part: float, note: str) -> None:
        assert 0 <= part <= 1
        if notes is not None:
            notes.append(note)

    return build_kernel(source, read_options(), jobs=1, force=force, report=report)


def test_a_kernel_is_built_once_and_kept(tree: Path) -> None:
    assert built_kernel() is None
    built = build_it(find_source(tree))
    assert built.fresh
    assert built.absent == []
    assert built_kernel() == built.program
    assert sorted(path.name for path in built.folder.iterdir()) == ["about.json", "config", "linux"]
    assert [path.name for path in kernels_folder().iterdir()] == [built.folder.name]
    config = (built.folder / "config").read_text(encoding="utf-8")
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y\n" in config
    assert "CONFIG_NET_SCH_FQ_CODEL=y\n" in config
    assert "# CONFIG_MODULES is not set\n" in config

    for file in tree.glob("made-*"):
        file.unlink()
    again = build_it(find_source(tree))
    assert (again.folder, again.fresh) == (built.folder, False)
    assert made(tree) == []
    assert build_it(find_source(tree), force=True).fresh
    assert made(tree) == ["made-one", "made-three", "made-two"]
    assert [path.name for path in kernels_folder().iterdir()] == [built.folder.name]


def test_a_tarball_is_unpacked_and_named_by_what_it_holds(tree: Path, tmp_path: Path) -> None:
    tarball = tmp_path / "linux-6.1.0.tar.xz"
    with tarfile.open(tarball, "w:xz") as archive:
        archive.add(tree, "linux-6.1.0")
    notes: list[str] = []
    built = build_it(find_source(tarball), notes=notes)
    assert built.folder.name.startswith("linux-6.1.0-")
    assert any(note.startswith("unpacking, ") for note in notes)
    assert notes[-1].startswith("3 of about ")
    assert made(tree) == []
    other = find_source(tarball)
    assert other is not None
    assert other.key("some options") != other.key("others")
    assert other.key(read_options().digest) == built.folder.name


def test_another_list_of_options_is_another_kernel(tmp_path: Path) -> None:
    text = Path(read_options.__defaults__[0]).read_text(encoding="utf-8")
    (tmp_path / "comment.toml").write_text(f"# told again\n{text}", encoding="utf-8")
    (tmp_path / "fewer.toml").write_text(text.replace('"DUMMY", ', ""), encoding="utf-8")
    assert read_options(tmp_path / "comment.toml").digest == read_options().digest
    assert read_options(tmp_path / "fewer.toml").digest != read_options().digest


def test_disciplines_and_controls_bear_the_names_that_the_kernel_knows() -> None:
    options = read_options()
    assert {"red", "sfq", "htb", "netem", "fq_codel", "cake", "pfifo", "bfifo"} <= set(options.qdiscs)
    assert {"reno", "cubic", "lp", "vegas", "highspeed", "bbr"} <= set(options.controls)
    assert "NET_SCH_FQ_CODEL" in options.wanted
    assert "TCP_CONG_HSTCP" in options.wanted


def test_a_kernel_without_a_required_option_is_refused_and_others_are_named(tree: Path) -> None:
    (tree / "lacks").write_text("CONFIG_TCP_CONG_NV=y\nCONFIG_NET_SCH_CAKE=y\n", encoding="utf-8")
    assert build_it(find_source(tree)).absent == ["NET_SCH_CAKE", "TCP_CONG_NV"]
    assert build_it(find_source(tree)).absent == ["NET_SCH_CAKE", "TCP_CONG_NV"]
    remove(kernels_folder())
    (tree / "lacks").write_text("CONFIG_UML_TIME_TRAVEL_SUPPORT=y\n", encoding="utf-8")
    with pytest.raises(
        BuildError, match=r"^linux-6\.1\.0 cannot be built with UML_TIME_TRAVEL_SUPPORT, which it needs$"
    ):
        build_it(find_source(tree))
    assert built_kernel() is None


def test_a_compiler_that_fails_is_quoted_and_the_build_goes_on_from_there(tree: Path) -> None:
    (tree / "broken").touch()
    with pytest.raises(BuildError, match=r"^make failed; its last lines:\n  one\.c:1: error: it is broken\n"):
        build_it(find_source(tree))
    assert built_kernel() is None
    (tree / "broken").unlink()
    assert build_it(find_source(tree)).fresh


def test_an_interrupted_build_leaves_no_kernel_and_goes_on(tree: Path, tmp_path: Path) -> None:
    (tree / "slow").touch()
    program = "import sys; from sojourn.__main__ import main; main()"
    arguments = ["testbed", "build-kernel", "--jobs", "1", "--source", str(tree)]
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert wait_for(lambda: bool(list(kernels_folder().glob(".work-*/objects/configured"))))
        time.sleep(0.3)
        process.send_signal(2)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert err.strip().endswith("error: interrupted")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert built_kernel() is None
    (tree / "slow").unlink()
    notes: list[str] = []
    assert build_it(find_source(tree), notes=notes).fresh
    assert "configuring" not in notes


def test_two_builds_of_one_kernel_do_not_meet(tree: Path) -> None:
    source = find_source(tree)
    assert source is not None
    work = kernels_folder() / f".work-{source.key(read_options().digest)}"
    work.mkdir(parents=True)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BuildError, match="another process is building this kernel"):
            build_it(source)


def test_a_full_disk_is_told_before_anything_is_done(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(free=100_000_000))
    with pytest.raises(BuildError, match=r"has 0\.1 GB left; to build the kernel takes 0\.4 GB\. XDG_CACHE_HOME names"):
        build_it(find_source(tree))
    assert made(tree) == []


def test_missing_tools_are_named_together_with_one_command(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, **_rest: None if name in {"flex", "bc"} else f"/usr/bin/{name}")
    with pytest.raises(NotInstalledError) as caught:
        build_it(None)
    assert str(caught.value) == (
        "building the kernel uml-virtual needs flex (to build a kernel with virtual time), "
        "bc (to build a kernel with virtual time), a kernel's source (package linux-source, or --source). "
        "To install: sudo apt-get install bc flex linux-source"
    )
    assert not kernels_folder().exists()


def test_the_newest_package_is_taken(tmp_path: Path) -> None:
    for version in ("6.1", "6.12", "5.10"):
        (tmp_path / f"linux-source-{version}.tar.xz").touch()
    found = find_source(None, tmp_path)
    assert found is not None
    assert found.path.name == "linux-source-6.12.tar.xz"
    assert find_source(None, tmp_path / "empty") is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", "this does not exist"),
        ("notes.txt", "this is no tarball"),
        ("folder", "holds no source of a kernel"),
    ],
)
def test_a_source_that_is_none_is_wrong_input(tmp_path: Path, command: Command, name: str, words: str) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=words):
        find_source(tmp_path / name)
    outcome = command("testbed", "build-kernel", "--source", tmp_path / name)
    assert outcome.code == 2
    assert words in outcome.err
    assert "allowed: a folder with a kernel's source, or a file *.tar.xz" in outcome.err


def test_the_commands_build_and_clean(
    tree: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = command("testbed", "build-kernel", "--source", tree)
    assert outcome.code == 0
    assert outcome.out.strip() == str(built_kernel())
    assert "there already" in command("testbed", "build-kernel", "--source", tree).err
    utp = kernels_folder().with_name("libutp")
    (utp / "some").mkdir(parents=True)
    (utp / "some" / "driver").write_bytes(bytes(range(256)) * 4096)
    outcome = command("testbed", "clean")
    kernels_line, utp_line = outcome.out.splitlines()
    assert kernels_line.endswith(f" MB removed from {kernels_folder()}")
    # Folders take room too, on some file systems.
    assert utp_line in [f"{size} MB removed from {utp}" for size in ("1.0", "1.1")]
    assert list(kernels_folder().parent.iterdir()) == []
    assert [line.split(" removed")[0] for line in command("testbed", "clean").out.splitlines()] == ["0.0 MB"] * 2


def test_what_a_killed_run_has_left_is_cleaned_up(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    dead, used = (abandoned(tmp_path / f"sojourn-{name}") for name in ("a_dead_1", "a_used_1"))
    with (used / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = command("testbed", "clean")
    assert outcome.out.splitlines()[2:] == [f"{dead}, which a killed run had left, removed"]
    assert (dead.exists(), used.exists()) == (False, True)


def test_the_command_that_fails_keeps_the_kernel_that_was_there(tree: Path, command: Command) -> None:
    build_it(find_source(tree))
    (tree / "broken").touch()
    outcome = command("testbed", "build-kernel", "--source", tree, "--force")
    assert outcome.code == 1
    # As many objects are compiled at once as there are processors: which is the first to fail is chance.
    told = r"error: the run failed: make failed; its last lines:\n  (one|two|three)\.c:1: error: it is broken\n"
    assert re.search(told, outcome.err), outcome.err
    assert built_kernel() is not None


def test_the_count_of_objects_tells_the_progress() -> None:
    assert build._COMPILED.findall("  CC      net/sched/sch_red.o\n  AR      net/built-in.a\n  AS      a.o\n") == [
        "net/sched/sch_red.o",
        "a.o",
    ]
    assert isinstance(read_options(), Options)
