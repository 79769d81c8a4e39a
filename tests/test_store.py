"""Result directories and files are whole or not there."""

import json
import os
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn.data.lock import held
from sojourn.store import check_directory, whole_directory, whole_file


def test_a_failure_while_writing_leaves_nothing(
    small_result: sojourn.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("pyarrow.parquet.write_table", fail)
    with pytest.raises(OSError, match="no space left"):
        small_result.save(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_replacing_keeps_the_old_result(
    small_result: sojourn.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_result.save(tmp_path / "r")
    before = (tmp_path / "r" / "record.json").read_bytes()

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyarrow.parquet.write_table", interrupt)
    with pytest.raises(KeyboardInterrupt):
        small_result.save(tmp_path / "r", force=True)
    assert (tmp_path / "r" / "record.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_others_may_read_what_the_umask_lets_them(small_result: sojourn.Result, tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        small_result.save(tmp_path / "r")
        with whole_file(tmp_path / "file") as place:
            place.write_bytes(b"")
    finally:
        os.umask(mask)
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_an_empty_directory_may_be_filled(small_result: sojourn.Result, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    assert small_result.save(tmp_path / "r") == tmp_path / "r"
    assert (tmp_path / "r" / "record.json").is_file()


def test_a_captured_run_needs_packets(small_scenario: sojourn.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="packets"):
        small_scenario.run().save(tmp_path / "r", pcap=True)
    assert list(tmp_path.iterdir()) == []


def test_a_parent_of_the_current_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    with pytest.raises(sojourn.InputError, match="current directory"):
        check_directory("..", force=True)


@pytest.mark.parametrize("key", ["seed", "bottleneck", "groups", "flows", "jain_all"])
def test_a_record_that_lacks_what_statistics_need_is_refused(
    key: str, small_result: sojourn.Result, tmp_path: Path
) -> None:
    small_result.save(tmp_path / "r")
    assert sojourn.Result.load(tmp_path / "r").summary == small_result.summary
    file = tmp_path / "r" / "record.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    del document["runs"][1][key]
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(sojourn.InputError, match=r"record\.json: runs: .* or made by another version\?"):
        sojourn.Result.load(tmp_path / "r")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved into its place there")
def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    killed, names = tmp_path / ".page.unfinished-1.html", {"page.html", ".page.1.html", ".page.unfinished-2.html"}
    killed.write_text("half")
    (tmp_path / ".page.1.html").write_text("somebody's own")
    writing = tmp_path / ".page.unfinished-2.html"
    writing.write_text("half")
    with held(writing), whole_file(tmp_path / "page.html") as place:
        place.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == names
    with whole_file(tmp_path / "page.html"):
        pass
    assert not writing.exists()


@pytest.mark.parametrize("moved", [False, True])
def test_a_replacement_that_was_killed_is_finished(tmp_path: Path, *, moved: bool) -> None:
    """The old folder had been put aside, and the new one had come into its place or not."""
    target, old = tmp_path / "results", tmp_path / ".results.replaced"
    old.mkdir()
    (old / "old").touch()
    if moved:
        target.mkdir()
    with pytest.raises(RuntimeError), whole_directory(target):
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert (target / "old").exists() is not moved
