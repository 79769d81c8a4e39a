"""The link shell's log, the cells as scenarios, and what is said where the shells may not run."""

import os
from pathlib import Path

import pytest
from benchmarks.common import DOCS, load
from benchmarks.mahimahi import __main__ as command
from benchmarks.mahimahi import pages, shell
from benchmarks.mahimahi.shell import ShellError, find, read_log

import sojourn

LOG = """# mahimahi mm-link (Uplink) [link] > log
# base timestamp: 5
100 + 1504
101 + 1504
102 # 1504
110 - 1504 10
120 - 1504 19
130 d 2 3008
60099 - 52 7
60100 - 1504 900
60101 d 1 1504
"""


def test_the_log_ends_with_the_measured_time() -> None:
    # From the first arrival at 100 ms to 60,100 ms: three departures, one drop of two packets.
    measured = read_log(LOG, load=2.5)
    assert (measured.mean_ms, measured.median_ms) == (12, 10)
    assert (measured.packets, measured.drops, measured.load) == (3, 2, 2.5)


def test_a_log_without_packets_is_an_error() -> None:
    with pytest.raises(ShellError, match="no packet"):
        read_log("# nothing\n5 # 1504\n", load=0)


def test_every_cell_is_a_scenario() -> None:
    cells = command.cells(command.OWN)
    assert len({cell.name for cell in cells}) == len(cells) == 18
    for cell in cells:
        assert sojourn.scenario(cell.scenario())


def test_missing_shells_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shell, "_HELPERS", ())
    with pytest.raises(ShellError, match="found no mm-delay and mm-link in"):
        find(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ShellError, match="needs root"):
        find(tmp_path)


def test_a_recording_that_is_not_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["mahimahi", "nowhere"])
    assert command.main() == 2
    assert "found no recording nowhere" in capsys.readouterr().err


def test_the_page_shows_the_stored_numbers() -> None:
    page = "\n\n".join(pages.render(load(command.NAME))).rstrip() + "\n"
    assert page == (DOCS / "validation" / "mahimahi.md").read_text(encoding="utf-8")
