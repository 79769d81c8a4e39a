"""Logs of senders: what `--qlog` writes, and where two logs differ first."""

import json
import tracemalloc
from pathlib import Path

import pytest
from tests.conftest import Command

import sojourn
from sojourn import InputError, qlog

PATH = {
    "duration": "15 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "droptail", "limit": "20 packets"}},
}


def logs(folder: Path, control: str, **changes: str) -> qlog.Log:
    """Return what one flow of a control decides."""
    group = {"name": "a", "control": control, "rtt": "40 ms", "transport": "linux"}
    scenario = sojourn.scenario({**PATH, "group": [group], **changes})
    scenario.run(series=False, decisions=True).write_qlogs(folder)
    return qlog.read(folder / "a-0-1.sqlog")


def texts(file: Path) -> list[dict[str, object]]:
    return [json.loads(text) for text in file.read_text(encoding="utf-8").split("\x1e")[1:]]


@pytest.mark.parametrize(("control", "left"), [("newreno", 0.5), ("cubic", 0.7)])
def test_a_loss_leaves_of_the_window_what_the_control_says(control: str, left: float, tmp_path: Path) -> None:
    # RFC 5681 section 3.1; RFC 9438 section 4.6.
    found = list(logs(tmp_path / "logs", control, duration="60 s").of([qlog.REDUCTION]))
    # One in 8 s at least: path and buffer hold 53 packets, which the window regains in 27 round trips or 3.5 s.
    assert len(found) > 7
    # Windows are whole segments, and these have 38 and more.
    assert all(left - 1 / 38 < one.value <= left for one in found)


def test_a_log_begins_with_what_it_is_and_then_tells_in_order(tmp_path: Path) -> None:
    logs(tmp_path / "logs", "newreno")
    head, *events = texts(tmp_path / "logs" / "a-0-1.sqlog")
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    times = [event["time"] for event in events]
    assert times == sorted(times)  # type: ignore[type-var]
    # A SYN, then the initial window of RFC 6928.
    sent = [event for event in events if event["name"] == "transport:packet_sent"]
    assert [event["data"]["raw"]["length"] for event in sent[:3]] == [52, 1500, 1500]  # type: ignore[index]
    assert {event["time"] for event in sent[1:11]} == {sent[1]["time"]}


def test_the_first_decision_that_differs_is_named(tmp_path: Path) -> None:
    one, other = logs(tmp_path / "one", "newreno"), logs(tmp_path / "other", "newreno")
    alike = qlog.compare(one, other)
    assert alike.difference is None
    assert alike.alike == len(list(one.of(qlog.EXACT))) > 1000
    halved = qlog.compare(one, logs(tmp_path / "cubic", "cubic"), [qlog.REDUCTION])
    assert halved.difference is not None
    assert halved.difference.number == 1
    assert halved.difference.ours is not None
    assert halved.difference.ours.value == pytest.approx(0.5, rel=0.02)


def test_the_command_says_it_and_ends_with_one(command: Command, tmp_path: Path) -> None:
    logs(tmp_path / "one", "newreno")
    logs(tmp_path / "other", "cubic")
    files = [tmp_path / name / "a-0-1.sqlog" for name in ("one", "other")]
    same = command("compare-log", files[0], files[0])
    assert (same.code, same.out.startswith("No decision differs")) == (0, True)
    other = command("compare-log", *files, "--of", "reduction", "--json")
    assert other.code == 1
    assert json.loads(other.out)["difference"]["number"] == 1
    assert command("compare-log", *files).out.count("a-0-1.sqlog") == 8


def test_nothing_is_overwritten_and_other_worlds_have_no_senders(
    command: Command, small_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "logs"
    assert command("run", small_file, "--qlog", target).code == 0
    assert len(list(target.iterdir())) == len(sojourn.Scenario.load(small_file).run().runs[0].flows)
    again = command("run", small_file, "--qlog", target)
    assert again.code == 2
    assert "is not empty; name a new folder" in again.err
    fluid = command("run", small_file, "--world", "fluid", "--qlog", tmp_path / "fluid")
    assert fluid.code == 2
    assert "keeps no decisions" in fluid.err


def test_logs_are_read_side_by_side_and_none_is_held_in_memory(tmp_path: Path) -> None:
    one = logs(tmp_path / "one", "newreno").path
    head, *events = one.read_text(encoding="utf-8").split("\x1e")[1:]
    long = tmp_path / "long.sqlog"
    long.write_text("".join(f"\x1e{text}" for text in (head, *events, *events)), encoding="utf-8")
    tracemalloc.start()
    found = qlog.compare(qlog.read(long), qlog.read(long))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.difference is None
    # 64 kB of each are read at once.
    assert peak_bytes < 2 << 20 < long.stat().st_size


def test_what_is_no_log_of_one_connection_is_refused(tmp_path: Path) -> None:
    for text, said in (
        ("{}", "no traces"),
        ('{"traces": [{}, {}]}', "2 traces"),
        ("no json", "is no qlog"),
        ('{"traces": [{"events": []}]}', "no decision"),
    ):
        file = tmp_path / "log.qlog"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            qlog.read(file)
    with pytest.raises(InputError, match="cannot be read"):
        qlog.read(tmp_path / "none")
