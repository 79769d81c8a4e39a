"""RITE's items on AQMs, early marking and cellular links: what their numbers mean, with few seeds and short runs."""

from pathlib import Path
from typing import Any

import pytest

import sojourn
from sojourn.papers.measures import Results, label, measure
from sojourn.papers.rite import access, aqms, early, fluctuating, mobile, sensitivity
from sojourn.papers.rite.cellular import PAGE_MS, page
from sojourn.papers.rite.sensitivity import Change, Sensitivity
from sojourn.papers.rite.whiskers import Five
from sojourn.papers.two_worlds import KERNEL, SIM, measure_both
from sojourn.study.lab import Lab
from sojourn.study.numbers import Number

QUICK = {"seeds": 2, "set": {"duration": "31 s"}}
NEAR = mobile.Link("LTE", "4G", "ready:synthetic-lte", 50, 2, 20)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path, 1, overrides=QUICK)


def some_cases(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Return the runs of two disciplines with the same target at one place."""
    monkeypatch.setattr(aqms, "QUEUES", {name: access.QUEUES[name] for name in ("ARED", "CoDel")})
    monkeypatch.setattr(aqms, "conditions", lambda: [(5.0, "light")])
    return aqms.defaults(lab)


def test_goodput_is_what_all_flows_delivered(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    results = some_cases(lab, monkeypatch)
    flows = results.values(("CoDel", 5.0, "light"), "goodput_mbps")
    found = aqms.goodputs(results)
    assert set(found) == {label((name, 5.0, "light")) for name in ("ARED", "CoDel")}
    # There is one bin from the end of the warm-up on, of a second.
    middle = sum(flows) / len(flows)
    assert found["CoDel, 5.0, light"].p50 * aqms.BIN_S == pytest.approx(middle, rel=0.01)


def test_a_spread_is_the_mean_of_the_runs_spreads(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    results = some_cases(lab, monkeypatch)
    key = ("ARED", 5.0, "light")
    low, high = (results.values(key, f"bottleneck_queue_ms_{part}") for part in ("p10", "p90"))
    number = aqms.spread(results, key)
    assert number.runs == 2
    assert number.mean == pytest.approx(sum(high) / 2 - sum(low) / 2)
    assert aqms.five(results, key).width == pytest.approx(number.mean)


def test_every_constant_changes_what_it_names() -> None:
    """A key that no discipline knows is refused, and none is set to what it was."""
    for name, constants in access.CONSTANTS.items():
        usual = access.QUEUES[name](access.TARGET_MS)
        kept = _resolved(usual)
        for constant in constants:
            for changes in constant.changes.values():
                assert _resolved({**usual, **changes}) != kept, f"{name}: {constant.name}"


def _resolved(queue: dict[str, object]) -> str:
    table = access.base() | {"bottleneck": {"rate": "10 Mbit/s", "queue": queue}}
    return str(sojourn.scenario(table).to_dict()["bottleneck"]["queue"])


def test_a_constant_is_a_parameter_from_a_third_of_the_places_on() -> None:
    changes = {(float(place), "light"): [Change(0.3, 0.0, place < 3)] for place in range(9)}
    one = Sensitivity("CoDel", access.CONSTANTS["CoDel"][1], changes)
    assert (one.places, one.is_parameter) == (3, True)
    changes[0.0, "light"] = [Change(0.3, 0.0, False)]
    assert not Sensitivity("CoDel", access.CONSTANTS["CoDel"][1], changes).is_parameter


def test_a_change_counts_by_size_and_beyond_chance() -> None:
    sure, unsure = Number(10.0, 0.1, 8), Number(10.0, 9.0, 8)
    rate = Number(9.0, 0.01, 8)
    assert sensitivity.change((Number(12.5, 0.1, 8), rate), (sure, rate)).counts
    assert not sensitivity.change((Number(11.5, 0.1, 8), rate), (sure, rate)).counts
    assert not sensitivity.change((Number(12.5, 9.0, 8), rate), (unsure, rate)).counts
    assert sensitivity.change((sure, Number(8.7, 0.01, 8)), (sure, rate)).counts
    assert not sensitivity.change((sure, Number(8.9, 0.01, 8)), (sure, rate)).counts


def test_whiskers_hold_percentiles() -> None:
    assert Five.of([float(value) for value in range(101)]) == (10.0, 25.0, 50.0, 75.0, 90.0)


def test_table_4_1_has_24_filled_cells(lab: Lab) -> None:
    found = early.table(lab)
    table, data = found.tables
    assert (len(table.rows), len(table.columns)) == (6, 5)
    assert all("used" in cell for row in table.rows for cell in row[1:])
    assert len(data.rows) == 24
    assert all(value is not None for row in data.rows for value in row)
    assert set(found.figures) == {"table4.1"}


def test_only_the_new_sender_is_marked_early(lab: Lab) -> None:
    results = measure(
        lab,
        "marks",
        early.base(),
        {
            (sender,): {"bottleneck.queue": early.ROUTERS["early marking"], **early.sender("second", sender)}
            for sender in early.SENDERS
        },
    )
    marks = {sender: results.number((sender,), "mark_rate", "second").mean for sender in early.SENDERS}
    assert marks["no ECN"] == 0.0
    assert marks["ECT(1)"] > 10 * marks["ECT(0)"]


def test_a_run_has_one_page_also_beside_downloads(lab: Lab) -> None:
    cases = {
        ("alone",): mobile.alone(NEAR, "CUBIC"),
        ("beside",): mobile.beside(NEAR, "NewReno", "CUBIC", 1),
    }
    results = measure(lab, "pages", mobile.base(), cases)
    assert results.values(("alone",), "page_ms_count", "web") == [1.0, 1.0]
    assert page(results, ("beside",)).mean > page(results, ("alone",)).mean
    slower = results.difference(("beside",), ("alone",), PAGE_MS, "web")
    means = [results.values((name,), PAGE_MS, "web") for name in ("beside", "alone")]
    assert slower.mean == pytest.approx(sum(means[0]) / 2 - sum(means[1]) / 2)


def test_every_discipline_works_on_every_ready_link(lab: Lab) -> None:
    short = {"duration": "6 s", "warmup": "0 s", "group.web.start": "1 s"}
    cases = {
        (link.name, name): {
            **mobile.beside(link, "CUBIC", "BBR", 1),
            "bottleneck.queue": {**queue, "limit": mobile.BUFFER},
            **short,
        }
        for link in mobile.SYNTHETIC
        for name, queue in fluctuating.QUEUES.items()
    }
    results = measure(lab, "links", mobile.base(), cases)
    assert all(results.number(key, "bottleneck_departures", "web").mean > 0 for key in cases)


def test_recorded_links_are_used_where_a_folder_has_them_all(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(mobile.FOLDER_VARIABLE, str(tmp_path / "cellular"))
    assert mobile.sources() == {"synthetic": mobile.SYNTHETIC}
    (tmp_path / "cellular").mkdir()
    for name in ("Verizon-EVDO-driving.down", "TMobile-UMTS-driving.down", "Verizon-LTE-short.down"):
        assert "recorded" not in mobile.sources()
        (tmp_path / "cellular" / name).write_text("".join(f"{ms}\n" for ms in range(1, 100)), encoding="utf-8")
    links = mobile.sources()["recorded"]
    assert [link.name for link in links] == ["EVDO", "UMTS", "LTE"]
    short = mobile.Link("LTE", "4G", links[2].trace, 50, 2, 20)
    results = measure(lab, "recorded", mobile.base(), {("alone",): mobile.alone(short, "CUBIC")})
    # 12 Mbit/s for 100 kB, and two round trips at least.
    assert 160 < page(results, ("alone",)).mean < 1000


def test_only_simulated_pie_has_the_timer_that_the_kernel_has(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def measured(_lab: Lab, name: str, _scenario: Any, cases: Any, **_named: Any) -> None:
        asked[name] = {key[0]: changes["bottleneck.queue"] for key, changes in cases.items()}

    monkeypatch.setattr("sojourn.papers.two_worlds.measure", measured)
    cases = {(kind,): {"bottleneck.queue": {"kind": kind}} for kind in ("pie", "codel")}
    measure_both(Lab(Path(), 1), "x", {}, cases, {KERNEL: 1, SIM: 1})
    assert asked["x-kernel"] == {"pie": {"kind": "pie"}, "codel": {"kind": "codel"}}
    assert asked["x-sim"]["codel"] == {"kind": "codel"}
    assert asked["x-sim"]["pie"]["update"] == "30 ms"
