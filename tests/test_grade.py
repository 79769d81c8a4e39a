"""Responsiveness and grades: exact on an idle path, and as bad as the queue under load."""

import json

import pytest
from tests.conftest import Command

import sojourn
from sojourn import grade
from sojourn.figures import under_load

IDLE = {
    "duration": "3 s",
    "bottleneck": {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "50 packets"}},
    "reverse": {"rate": "2 Mbit/s", "queue": {"kind": "droptail", "limit": "50 packets"}},
    "group": [{"name": "ping", "traffic": {"kind": "ping", "packet": "100 B"}, "rtt": "40 ms"}],
}
LOAD = {"name": "load", "control": "cubic", "rtt": "40 ms"}


def test_a_ping_on_an_idle_path_takes_what_arithmetic_says() -> None:
    group = sojourn.scenario(IDLE).run(runs=1, series=False).runs[0].groups.ping
    # 800 bits at 1 Mbit/s there and at 2 Mbit/s back.
    assert group.rtt_ms.mean == pytest.approx(40 + 0.8 + 0.4)
    assert group.rpm == pytest.approx(60_000 / 41.2, rel=1e-3)
    assert group.queue_ms.max == 0


def test_a_path_without_load_has_the_best_grade_and_counts_its_pings_alone() -> None:
    found = grade.graded(sojourn.scenario(IDLE).run(runs=1, series=False))
    assert found is not None
    assert (found.letter, found.increase_ms["mean"], found.load_rpm["mean"]) == ("A+", 0.0, None)
    assert found.rpm == found.pings_rpm


def test_under_load_the_increase_is_the_queue_and_responsiveness_the_mean_of_both_parts() -> None:
    lab = sojourn.scenario({**IDLE, "duration": "30 s", "warmup": "10 s", "group": [*IDLE["group"], LOAD]})
    result = lab.run(runs=2)
    found = grade.graded(result)
    assert found is not None
    waits = [run.groups.ping.queue_ms.mean for run in result.runs]
    # What pings wait at the bottleneck; acknowledgements make them wait a little on the way back.
    assert found.increase_ms["mean"] == pytest.approx(sum(waits) / 2, rel=0.02)
    assert found.letter == grade.letter(found.increase_ms["mean"]) == "F"
    parts = found.pings_rpm["mean"], found.load_rpm["mean"]
    assert found.rpm["mean"] == pytest.approx(sum(parts) / 2)
    assert parts[1] == pytest.approx(60_000 / result.summary["rtt_ms_mean.load"]["mean"], rel=0.05)
    assert grade.sentence(result).startswith(f"Responsiveness: {found.rpm['mean']:.0f}")
    assert len(under_load(result).axes) == 2


def test_only_pings_without_a_mark_count_where_there_are_any() -> None:
    marked = {**IDLE["group"][0], "name": "marked", "dscp": "ef"}
    assert grade.pings({"group": [IDLE["group"][0] | {"traffic": {"kind": "ping"}}]}) == ["ping"]
    both = sojourn.scenario({**IDLE, "group": [*IDLE["group"], marked]}).to_dict()
    assert grade.pings(both) == ["ping"]
    assert grade.pings({"group": both["group"][1:]}) == ["marked"]


def test_an_answer_has_the_mark_of_its_ping() -> None:
    """CAKE on the way back puts it into the tin of its mark."""
    reverse = {"rate": "2 Mbit/s", "queue": {"kind": "cake", "diffserv": "diffserv4"}}
    marked = {**IDLE["group"][0], "dscp": "ef"}
    run = sojourn.scenario({**IDLE, "reverse": reverse, "group": [marked]}).run(runs=1, packets=True).runs[0]
    assert run.reverse.classes.voice.departures == run.reverse.departures > 0


def test_where_no_ping_comes_back_there_is_no_grade() -> None:
    lost = {**IDLE, "bottleneck": {**IDLE["bottleneck"], "loss": 1.0}}
    result = sojourn.scenario(lost).run(runs=1, series=False)
    found = grade.graded(result)
    assert found is not None
    assert (found.letter, grade.sentence(result)) == ("", "")


def test_compare_adds_pings_and_sorts_by_the_grade(command: Command) -> None:
    words = ("compare", "motivating-droptail", "--queue", "droptail,codel", "--runs", "1", "--set", "duration=20 s")
    assert grade.graded(sojourn.Scenario.load("motivating-droptail", {"duration": "2 s"}).run(runs=1)) is None
    rows = json.loads(command(*words, "--grade", "--json").out)
    assert [(row["variant"], row["grade"]) for row in rows] == [("codel", "A"), ("droptail", "D")]
    printed = command(*words, "--grade").out
    assert printed.splitlines()[2].split()[:2] == ["codel", "A"]
    assert "DSLReports" in printed


def test_a_world_without_pings_says_so(command: Command) -> None:
    outcome = command("check", "rrul", "--world", "linux")
    assert outcome.code == 2
    assert "group.ping.traffic.kind: the testbed cannot have ping" in outcome.err


def test_a_change_of_the_path_is_no_increase_and_one_of_the_load_is_left_out() -> None:
    changes = [
        {"at": "1 s", "bottleneck": {"delay": "30 ms"}},
        {"at": "2 s", "group": [{"name": "load", "rtt": "60 ms"}]},
    ]
    later = {**LOAD, "start": "2.9 s"}
    found = grade.graded(sojourn.scenario({**IDLE, "group": [*IDLE["group"], later], "change": changes}).run(runs=1))
    assert found is not None
    assert found.increase_ms["mean"] < 1


def test_a_grade_needs_the_simulation_and_has_no_page(command: Command) -> None:
    words = ("compare", "rrul", "--queue", "droptail,codel", "--grade")
    assert "--kernel does not go with --grade" in command(*words, "--kernel").err
    assert "--page does not go with --grade" in command(*words, "--page", "x.html").err


def test_variants_without_an_answer_have_no_row(command: Command) -> None:
    words = ("compare", "rrul", "--queue", "droptail,codel", "--grade", "--runs", "1", "--format", "csv")
    assert command(*words, "--set", "bottleneck.loss=1", "--set", "duration=11 s").out == (
        "variant,grade,increase_ms,rpm,pings_rpm,load_rpm\n"
    )
