"""The RITE study's measures on worked numbers, and its items with few seeds and short runs."""

import math
from pathlib import Path

import pytest

from sojourn.papers.measures import BACKGROUND, check, measure
from sojourn.papers.rite import RITE, cures, drift, gradient, lone, short, signals, web
from sojourn.study.lab import Lab
from sojourn.study.model import Findings
from sojourn.study.numbers import Number


def quick(folder: Path, **keys: str) -> Lab:
    return Lab(folder, 1, overrides={"seeds": 2, **({"set": keys} if keys else {})})


def complete(found: Findings, item: str) -> None:
    assert found.checks, item
    assert found.verdict, item
    assert set(found.figures) == set(found.captions) != set(), item
    for table in found.tables:
        assert table.rows, item
        assert all(len(row) == len(table.columns) for row in table.rows), f"{item}: {table.name}"


def test_welch_and_student() -> None:
    # Two samples of 1, 2, 3: t(0.975, 4) = 2.776, error sqrt(2/3).
    one = Number.of([1.0, 2.0, 3.0])
    low, high = one.minus(one)
    assert high == pytest.approx(2.776445 * math.sqrt(2 / 3), rel=1e-5)
    assert low == -high
    # t(0.975, 2) = 4.303, error 1/sqrt(3).
    assert one.interval()[1] - 2.0 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-5)
    # Nothing varied: no width.
    assert Number(1.0, 0.0, 3).minus(Number(0.5, 0.0, 3)) == (0.5, 0.5)
    assert Number(1.0, 0.0, 3).surely_above(Number(0.5, 0.0, 3))
    assert not one.surely_above(one)


def test_a_climb_ends_where_the_buffer_is_full() -> None:
    times = [60.0 * minute for minute in range(100)]
    stairs = [100.0 * (minute // 10 + 1) for minute in range(100)]
    assert lone.full_min(times, stairs) == 90.0
    # By least squares a staircase of 100 ms in 10 min climbs by a little less than 10 ms/min.
    assert lone.climb_ms_per_min(times, stairs) == pytest.approx(10.0, rel=0.03)
    assert lone.climb_ms_per_min(times, [*stairs[:91], *[500.0] * 9]) == lone.climb_ms_per_min(times, stairs)
    assert lone.full_min(times, [100.0] * 100) is None
    assert math.isnan(lone.climb_ms_per_min(times[:1], stairs[:1]))


def test_the_queue_climbs_and_long_pauses_or_jitter_stop_that(tmp_path: Path) -> None:
    """Minutes of a second each: what hours show, in minutes."""
    fast = {"base_period": "1 s", "target": "50 ms"}
    pauses = cures._pauses(300)
    traffic = {**pauses.extra[f"group.{BACKGROUND}.traffic"], "on": "5 s"}
    cases = {
        ("plain",): lone.control(**fast),
        ("pauses",): {**lone.control(**fast), f"group.{BACKGROUND}.traffic": traffic},
        ("jitter",): {**lone.control(preset="ns2", **fast), f"group.{BACKGROUND}.transport.send_jitter": "100 ms"},
    }
    kept = {"keep": ["series", "probes"], "bin": "5 s"}
    results = measure(Lab(tmp_path, 1), "fast", lone.base(0.1), cases, seeds=2, **kept)
    queues = {key: results.number(key, "bottleneck_queue_ms_max", BACKGROUND) for key in cases}
    assert queues["plain",].mean > 900
    assert queues["pauses",].mean < 300
    assert queues["jitter",].mean < 300
    bases = results.traces("flow_probes", "value", name="base_delay_ms")
    assert set(bases) == {(name, seed) for (name,) in cases for seed in (1, 2)}
    times, values = bases["plain", 1]
    assert times == [5.0 * number for number in range(72)]
    assert max(values) > 5 * values[0]


def test_what_a_full_link_yields_is_what_a_transfer_takes(tmp_path: Path) -> None:
    """Beside LEDBAT the link stays full: the part it yields is size over capacity and time."""
    segments = 200
    count, _ = short.plan(segments)
    alone = ("alone",)
    cases = {("with",): short.transfers(segments), alone: short._nothing(segments)}
    results = measure(Lab(tmp_path, 1), "yield", short.base(), cases, seeds=2)
    part = short.yielded(results, ("with",), alone, segments)
    time_s = results.number(("with",), "fct_ms_mean").mean / 1e3
    taken = segments * 1500 * 8 / (short.RATE_MBPS * 1e6 * time_s)
    assert part.mean == pytest.approx(taken, rel=0.05)
    assert results.values(("with",), "fct_ms_count") == [count, count]


def test_nobody_leaves_the_link_free(tmp_path: Path) -> None:
    cases = {("free",): short.beside(short.NOBODY) | short.transfers(1)}
    results = measure(Lab(tmp_path, 1), "free", short.base(), cases, seeds=1)
    # A handshake and half a round trip.
    assert results.number(("free",), "fct_ms_mean").mean == pytest.approx(1.5 * short.RTT_MS, abs=3)


def test_every_page_is_counted_once(tmp_path: Path) -> None:
    base = web._base(2) | {"duration": "100 s"}
    results = measure(Lab(tmp_path, 1), "pages", base, {("free",): short.beside(short.NOBODY)}, seeds=3)
    times = web.times_ms(results, ("free",), 2)
    assert len(times) == 6
    # Ten objects one after the other take eleven round trips at least.
    assert min(times) > 11 * short.RTT_MS


@pytest.mark.parametrize(
    "item", [one for one in RITE.items if one in drift.ITEMS or one in cures.ITEMS], ids=lambda one: one.name
)
def test_items_of_hours_run_for_minutes(item: object, tmp_path: Path) -> None:
    found = item.find(quick(tmp_path, duration="200 s"))  # type: ignore[attr-defined]
    complete(found, item.name)  # type: ignore[attr-defined]
    assert not all(one.agrees is True for one in found.checks), "200 s are too short for any drift"


def test_hours_can_be_interrupted_and_go_on(tmp_path: Path) -> None:
    cases = {(name,): {"group.background.rtt": name} for name in ("10 ms", "20 ms", "30 ms")}
    done: list[float] = []

    def stop_after_one(_what: str, part: float) -> None:
        done.append(part)
        if part >= 1 / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(Lab(tmp_path, 1, stop_after_one), "hours", lone.base(6), cases, seeds=1)
    assert any(0 < part < 1 / 3 for part in done), "progress within a run of hours"
    parts = {path: path.stat().st_mtime_ns for path in tmp_path.glob("data/hours/runs/*.parquet")}
    assert 1 <= len(parts) < len(cases)
    results = measure(Lab(tmp_path, 1), "hours", lone.base(6), cases, seeds=1)
    assert {path: path.stat().st_mtime_ns for path in parts} == parts, "what was done is not done again"
    assert all(results.values(key, "bottleneck_utilization", BACKGROUND) for key in cases)


def test_the_items_of_cdg(tmp_path: Path) -> None:
    for item in (*gradient.ITEMS, *signals.ITEMS):
        complete(item.find(quick(tmp_path)), item.name)


def test_a_check_says_why_it_disagrees() -> None:
    assert check("a", "1", "2", agrees=False).note == "Open."
