"""The RITE study: its measures on worked numbers, the points of its sweeps, and items with few seeds and short runs."""

import itertools
import random
from pathlib import Path

import pytest

import sojourn
from sojourn.study.find import find_folder
from sojourn.study.lab import Lab
from sojourn.study.load import StudyFolder
from sojourn.sweeps.plan import Plan

RITE = find_folder("rite")
assert RITE.module is not None
CODE = RITE.module


def plan(sweep: str) -> Plan:
    return RITE.checked(sweep)


def some(sweep: str, **axes: list[object]) -> StudyFolder:
    """Return the study with a few points of a sweep."""
    changed = {**RITE.tables["sweep"][sweep], "axes": axes}
    return StudyFolder(RITE.folder, {**RITE.tables, "sweep": {**RITE.tables["sweep"], sweep: changed}})


def test_a_climb_ends_where_the_buffer_is_full() -> None:
    times = [60.0 * minute for minute in range(100)]
    stairs = [100.0 * (minute // 10 + 1) for minute in range(100)]
    assert CODE.measured.full_min((times, stairs)) == 90.0
    # By least squares a staircase of 100 ms in 10 min climbs by a little less than 10 ms/min.
    assert CODE.measured.climb_ms_per_min((times, stairs)) == pytest.approx(10.0, rel=0.03)
    assert CODE.measured.climb_ms_per_min((times, [*stairs[:91], *[500.0] * 9])) == CODE.measured.climb_ms_per_min(
        (times, stairs)
    )
    assert CODE.measured.full_min((times, [100.0] * 100)) is None
    assert CODE.measured.climb_ms_per_min((times[:1], stairs[:1])) is None


def test_what_a_full_link_yields_is_what_a_transfer_takes(tmp_path: Path) -> None:
    """Beside LEDBAT the link stays full: the part it yields is size over capacity and time."""
    segments = 200
    few = some("short", beside=["LEDBAT"], segments=[0, segments])
    means = few.measured(Lab(tmp_path, 1, overrides={"seeds": 2}), ["yields"])
    part = means.number("yields", "yielded_percent", segments=segments)
    cost = means.number("yields", "cost_sizes", segments=segments)
    # What the transfer takes is its payload, of which headers take more from the link than from the long flow.
    assert cost.mean == pytest.approx(1.0, rel=0.05)
    assert means.number("yields", "kept_percent", segments=segments).mean == pytest.approx(100 - part.mean)


def test_jitter_lies_where_the_sender_says() -> None:
    points = [plan("drift").point(index) for index in range(plan("drift").points)]
    placed = {tuple(point.coordinates.values()): set(point.changes) for point in points}
    assert len(placed) == 17
    assert "bottleneck.jitter" in placed[2.0, "jitter on the path"]
    assert "group.background.transport.send_jitter" in placed[2.0, "RFC 6817"]


def test_losses_in_an_epoch_are_counted_once_for_each_flow() -> None:
    # Epochs of 1 s: 0.5 to 1.5 with flows 0 and 1, from 1.5 with flow 2 alone; the others lie outside.
    losses = [(0.5, 0), (1.4, 1), (1.4, 1), (1.5, 2), (10.0, 3), (-0.1, 3)]
    found = CODE.measured.Synchrony.of(losses, 4, 1.0, 0.0, 10.0)
    assert found.share == pytest.approx((2 / 4 + 1 / 4) / 2)
    # Three losses dealt to four flows hit 1 - (3/4)^3 of them, one hits a quarter.
    assert found.by_chance == pytest.approx((1 - 0.75**3 + 0.25) / 2)
    assert CODE.measured.Synchrony.of([], 4, 1.0, 0.0, 10.0) == CODE.measured.Synchrony(0.0, 0.0, 0.0)


def test_flows_that_lose_together_are_correlated_and_those_that_take_turns_are_not() -> None:
    together = CODE.measured.Synchrony.of([(5.0 * n, flow) for n in range(20) for flow in range(8)], 8, 1.0, 0.0, 100.0)
    assert (together.share, together.phi) == (1.0, pytest.approx(1.0))
    turns = CODE.measured.Synchrony.of([(float(second), second % 8) for second in range(80)], 8, 1.0, 0.0, 80.0)
    # Each loses in an eighth of the windows, never with another: -(1/64) / (7/64).
    assert turns.phi == pytest.approx(-1 / 7)
    draw = random.Random(1)
    losses = [(window + 0.5, flow) for window in range(4000) for flow in range(6) if draw.random() < 0.5]
    assert abs(CODE.measured.Synchrony.of(losses, 6, 1.0, 0.0, 4000.0).phi) < 0.02


def test_an_exponent_is_that_of_the_power() -> None:
    assert CODE.measured.exponent([7 * rtt**-0.6 for rtt in (10.0, 30.0, 100.0, 300.0)]) == pytest.approx(0.6)


def test_goodput_is_what_all_flows_delivered(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 1, overrides={"seeds": 2, "set": {"duration": "40 s"}})
    few = some("aqms", discipline=["CoDel"], rtt_ms=[5], congestion=["4 flows"])
    means = few.measured(lab, ["aqms", "goodputs"])
    whole = means.number("aqms", "goodput_mbps", "tcp").mean
    assert means.number("goodputs", "goodput_mbps_p50").mean == pytest.approx(whole, rel=0.02)
    parts = [means.number("goodputs", f"goodput_mbps_p{part}").mean for part in (10, 25, 50, 75, 90)]
    assert parts == sorted(parts)


def resolved(sweep: str) -> dict[tuple[object, ...], str]:
    made = plan(sweep)
    points = [made.point(index) for index in range(made.points)]
    return {
        tuple(p.coordinates.values()): str(sojourn.Scenario(made.scenario(p)).to_dict()["bottleneck"]) for p in points
    }


def test_every_constant_changes_what_it_names() -> None:
    """A key that no discipline knows is refused, and none is set to what it was."""
    usual = resolved("aqms")
    for (discipline, constant, factor, rtt_ms, congestion), queue in resolved("aqm-constants").items():
        assert queue != usual[discipline, rtt_ms, congestion], (discipline, constant, factor)


def test_scaled_constants_are_the_defaults_times_a_factor() -> None:
    # PIE's gains are per second of delay: for times half as long they are twice as large.
    halved = CODE.settings.scaled("PIE", "scaled", 0.5)
    assert [halved[f"bottleneck.queue.{key}"] for key in ("alpha", "beta", "target")] == [0.25, 2.5, "7.5 ms"]
    assert CODE.settings.scaled("DropTail", "scaled", 7) is None
    for sweep in ("datacentre", "rural"):
        queues = {key[:2]: queue for key, queue in resolved(sweep).items()}
        assert all(one != other for one, other in itertools.combinations(queues.values(), 2))


def test_only_simulated_pie_has_the_timer_that_the_kernel_has() -> None:
    made = {sweep: RITE.plan(sweep) for sweep in ("kernel", "simulated")}
    assert made["kernel"]["world"] == "linux"
    changed = {
        point["at"]["discipline"] for point in made["simulated"]["points"] if "bottleneck.queue.update" in point["set"]
    }
    assert changed == {"PIE"}


def test_recorded_links_are_used_where_a_folder_has_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sources() -> set[str]:
        return {point["at"]["source"] for point in RITE.plan("cellular")["points"]}

    monkeypatch.delenv(CODE.settings.FOLDER_VARIABLE, raising=False)
    assert sources() == {"synthetic"}
    monkeypatch.setenv(CODE.settings.FOLDER_VARIABLE, str(tmp_path))
    for name in CODE.settings._RECORDED.values():
        assert sources() == {"synthetic"}
        (tmp_path / name).write_text("".join(f"{ms}\n" for ms in range(1, 100)), encoding="utf-8")
    assert sources() == {"synthetic", "recorded"}
    traces = {point["set"]["bottleneck.trace"] for point in RITE.plan("cellular")["points"]}
    assert {Path(trace).name for trace in traces if "ready" not in trace} == set(CODE.settings._RECORDED.values())


def test_a_mark_that_must_leave_half_is_between_those_simulated() -> None:
    line = [(0.8, 10.0), (0.9, 40.0), (0.95, 60.0)]
    assert CODE.crossing(line) == "0.93"


@pytest.mark.long
@pytest.mark.parametrize("name", ["cdg-backoff", "synchrony", "mixed-rtts", "packet-sizes", "isolation"])
def test_items_with_few_seeds_and_short_runs(name: str, tmp_path: Path) -> None:
    item = next(one for one in RITE.study().items if one.name == name)
    short = {} if name == "cdg-backoff" else {"duration": "36 s"}
    found = item.find(Lab(tmp_path, 1, overrides={"seeds": 2, "set": short}))
    assert found.checks
    assert found.verdict
    assert set(found.figures) == set(found.captions) != set()
