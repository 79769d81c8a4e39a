"""What chance decides: the list of disciplines that draw nothing beside what they do, and what a reader is told."""

from typing import Any

import pytest
from tests.conftest import Command

import sojourn
from sojourn import report
from sojourn.chance import STEADY, one_situation
from sojourn.data.statistics import States

GROUPS = [
    {"name": "a", "control": "newreno", "flows": 4, "rtt": ["20 ms", "30 ms", "40 ms", "50 ms"], "start": "0 s"},
    {"name": "u", "rtt": "10 ms", "start": "0 s", "traffic": {"kind": "cbr", "rate": "2 Mbit/s"}},
]
LEAF = {"kind": "droptail", "limit": "50 packets"}


def scenario(queue: dict[str, Any], **keys: Any) -> sojourn.Scenario:
    tables = {"duration": "6 s", "bottleneck": {"rate": "4 Mbit/s", "queue": queue}, "group": GROUPS}
    return sojourn.scenario({**tables, **keys})


@pytest.mark.parametrize("entry", sojourn.catalogue()["queues"], ids=lambda entry: entry["name"])
def test_seeds_change_a_run_under_a_discipline_exactly_where_it_draws(entry: Any) -> None:
    queue: dict[str, Any] = {"kind": entry["name"]}
    names = {parameter["name"] for parameter in entry["parameters"]}
    if "perfect" in names:
        queue["perfect"] = True
    if entry["name"] in {"prio", "wrr", "dwrr", "wfq", "htb"}:
        queue["class"] = [{"name": "one", "groups": ["u"], "queue": LEAF}, {"name": "two", "queue": LEAF}]
    if entry["name"] == "early":
        queue["child"] = LEAF
    result = scenario(queue).run(runs=2, series=False)
    assert result.alike == (entry["name"] in STEADY) == one_situation(result.scenario)
    if entry["name"] in {"pi2", "dualpi2"}:
        drawn = scenario({**queue, "spread": "random"}).run(runs=2, series=False)
        assert (drawn.alike, one_situation(drawn.scenario)) == (False, False)


@pytest.mark.parametrize(
    "change",
    [
        {"bottleneck.loss": 0.01},
        {"bottleneck.jitter": "1 ms"},
        {"group.a.start": {"uniform": ["0 s", "1 s"]}},
        {"group.a.transport.send_jitter": "1 ms"},
        {"group.a.traffic": {"kind": "on-off"}},
        {"change": [{"at": "2 s", "bottleneck": {"loss": 0.1}}]},
        {"bottleneck.queue": "red"},
    ],
)
def test_what_is_drawn_makes_other_situations(change: dict[str, Any]) -> None:
    assert one_situation(scenario({"kind": "droptail"}).to_dict())
    assert not one_situation(scenario({"kind": "droptail"}).with_(change).to_dict())


def test_a_run_says_that_seeds_differ_only_in_what_controls_draw(command: Command) -> None:
    groups = [{"name": name, "control": "bbr", "rtt": "20 ms", "start": "0 s"} for name in ("a", "b")]
    fixed = scenario({"kind": "droptail"}, group=groups).run(runs=2, series=False)
    assert not fixed.alike
    assert "their spread says nothing of other starts" in report.seeds_note(fixed)
    drawn = [{**group, "start": {"uniform": ["0 s", "1 s"]}} for group in groups]
    assert report.seeds_note(scenario({"kind": "droptail"}, group=drawn).run(runs=2, series=False)) == ""
    assert report.seeds_note(scenario({"kind": "droptail"}, group=groups).run(runs=1, series=False)) == ""


def test_two_states_are_said_with_both_places(monkeypatch: pytest.MonkeyPatch) -> None:
    result = scenario({"kind": "red"}).run(runs=2, series=False)
    assert report.seeds_note(result) == ""
    monkeypatch.setattr(report, "states", lambda values: States(4, 0.42, 6, 3.3))
    assert "u, goodput [Mbit/s]: 4 runs near 0.42, 6 near 3.30, and none between" in report.seeds_note(result)
