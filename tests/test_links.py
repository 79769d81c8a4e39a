"""Links in a folder that may be somebody else's: nothing is written, emptied or removed where they lead."""

import os
import shutil
from pathlib import Path

import pytest
from tests.conftest import SMALL, Command

from sojourn.store import whole_directory
from sojourn.study.template import make

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links want a right of their own there")

SWEEP = 'base = "base.toml"\nseeds = 1\n[axes]\n"group.tcp.flows" = [1, 2]\n'
TEXT = "what is to stay\n"
LINK = "is a link, and nothing is written through it\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Give a folder with a file that is to stay as it is, beside the folders of a test."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "file").write_text(TEXT)
    return folder


def is_as_before(mine: Path) -> bool:
    return [(one.name, one.read_text()) for one in mine.iterdir()] == [("file", TEXT)]


def sweep(command: Command, tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    assert command("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "theirs").code == 0
    return tmp_path / "theirs"


@pytest.mark.parametrize("name", [".lock", "groups", "queue"])
def test_a_sweep_refuses_a_folder_with_links(command: Command, tmp_path: Path, mine: Path, name: str) -> None:
    theirs = sweep(command, tmp_path)
    expected = (theirs / "runs" / "part-000000.parquet").read_bytes()
    for part in theirs.glob("*/part-*"):
        part.unlink()
    if (theirs / name).is_dir():
        (theirs / name).rmdir()
    else:
        (theirs / name).unlink(missing_ok=True)
    (mine / "file").rename(mine / ".part-half")
    (theirs / name).symlink_to(mine / ".part-half" if name == ".lock" else mine)
    found = command("sweep", tmp_path / "sweep.toml", "--out", theirs)
    assert (found.code, found.err) == (2, f"error: {theirs / name}: {LINK}")
    (mine / ".part-half").rename(mine / "file")
    assert is_as_before(mine)
    # Without the link the sweep is made as ever.
    (theirs / name).unlink()
    assert command("sweep", tmp_path / "sweep.toml", "--out", theirs).code == 0
    assert (theirs / "runs" / "part-000000.parquet").read_bytes() == expected


def test_parts_that_are_links_are_replaced_and_not_followed(command: Command, tmp_path: Path, mine: Path) -> None:
    theirs = sweep(command, tmp_path)
    for part in theirs.glob("*/part-*"):
        part.unlink()
    (theirs / "groups" / "part-000000.parquet").symlink_to(mine / "file")
    (theirs / "sweep.json").rename(mine.parent / "description")
    (theirs / "sweep.json").symlink_to(mine.parent / "description")
    assert command("sweep", tmp_path / "sweep.toml", "--out", theirs).code == 0
    assert is_as_before(mine)
    assert not (theirs / "groups" / "part-000000.parquet").is_symlink()


def study(tmp_path: Path) -> Path:
    """Give a folder with a small study that was made elsewhere."""
    file = make(tmp_path / "theirs")
    return file.parent


def test_what_a_study_keeps_goes_through_no_link(command: Command, tmp_path: Path, mine: Path) -> None:
    theirs = study(tmp_path)
    run = ("study", "run", theirs, "--out", tmp_path / "out", "--keep")
    (theirs / "data").symlink_to(mine)
    found = command(*run)
    assert (found.code, found.err.splitlines()[-1] + "\n") == (2, f"error: {theirs / 'data'}: {LINK}")
    assert is_as_before(mine)
    # A linked file is replaced, and what it leads to stays.
    (theirs / "data").unlink()
    (theirs / "data").mkdir()
    names = [one.name for one in (tmp_path / "out" / "means").iterdir()]
    for name in names:
        (theirs / "data" / name).symlink_to(mine / "file")
    (theirs / "verdicts.parquet").symlink_to(mine / "file")
    assert command(*run).code == 0
    assert is_as_before(mine)
    assert names
    assert not any(one.is_symlink() for one in theirs.rglob("*"))


@pytest.mark.parametrize("name", ["data", "means", "item"])
def test_a_study_writes_its_results_through_no_link(command: Command, tmp_path: Path, mine: Path, name: str) -> None:
    theirs, out = study(tmp_path), tmp_path / "out"
    if name == "item":
        assert command("study", "run", theirs, "--out", out).code == 0
        place = next(one.parent for one in out.glob("*/found.json"))
        shutil.rmtree(place)
    else:
        out.mkdir()
        place = out / name
    place.symlink_to(mine)
    found = command("study", "run", theirs, "--out", out)
    assert (found.code, found.err.splitlines()[-1] + "\n") == (2, f"error: {place}: {LINK}")
    assert is_as_before(mine)


def test_a_folder_that_is_replaced_is_not_followed(tmp_path: Path, mine: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "link").symlink_to(mine)
    with whole_directory(old) as place:
        (place / "new").write_text("new\n")
    assert [one.name for one in old.iterdir()] == ["new"]
    assert is_as_before(mine)
